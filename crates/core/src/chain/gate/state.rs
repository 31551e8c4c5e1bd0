//! What the gate remembers, and what follows from that alone.

use super::agents::Agents;
use super::cause::{Cause, Causes};
use super::context::ContextState;
use super::cooldown::Cooldown;
use super::dirty_bits::DirtyBits;
use super::floor::Floor;
use super::health::{Condition, HealthState, Weight};
use super::incidents::Incidents;
use super::iterations::{Ended, Iterations};
use super::minute::Minute;
use super::money::MoneyState;
use super::permit::Permit;
use super::review::Reviews;
use super::standing::Standing;
use super::tool_limits::ToolCounts;
use crate::chain::event::{AgentEvent, ErrorClass, Flag};
use crate::chain::turn::Turn;
use crate::effect::HoldReason;
use crate::input::{Mode, Request};
use crate::label::{Fingerprint, Label};
use crate::limits::ERROR_RATE_EVENTS;
use crate::policy::{Policy, Profile};
use crate::units::{Count, Ratio, RunMillis};
use serde::{Deserialize, Serialize};

/// Everything that the gate remembers.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct SafetyGate {
    pub(crate) minute: Minute,
    pub(crate) cooldown: Cooldown,
    pub(crate) health: HealthState,
    pub(crate) incidents: Incidents,
    pub(crate) standing: Standing,
    pub(crate) causes: Causes,
    pub(crate) iterations: Iterations,
    pub(crate) context: ContextState,
    pub(crate) dirty: DirtyBits,
    #[serde(default)]
    pub(crate) floor: Floor,
    pub(crate) reviews: Reviews,
    pub(crate) money: MoneyState,
    pub(crate) agents: Agents,
    pub(crate) tools: ToolCounts,
    pub(crate) mode: Mode,
    /// Failed tool calls in a row.
    failed_calls: Count,
    /// The model turn in which the last of them failed.
    failed_turn: Fingerprint,
    /// The result of the call at hand was an execution error and was charged: its event costs nothing more.
    charged: bool,
    /// Execution errors since the last call that did what was asked.
    broken_calls: Count,
    /// When the session's wall clock was wound up: at its start, or at a person's restart.
    clock_from: RunMillis,
    /// The newest outcomes, one bit each, the newest lowest; a set bit is a failure.
    outcomes: u64,
    /// How many outcomes were seen, up to the number that is kept.
    outcomes_seen: u32,
    /// Since when a runaway persists, in `balanced`.
    pub(super) runaway_since: Option<RunMillis>,
    /// Warnings that were given and not yet taken back: see [`super::consequence`].
    pub(super) warned: u8,
}

impl SafetyGate {
    /// Lets time pass.
    pub(crate) fn advance(&mut self, policy: &Policy, at: RunMillis) {
        self.minute.advance(at);
        self.health.advance(&policy.health, at);
        self.incidents.begin(self.health.level());
    }

    /// The execution itself broke, as its result says: it costs health now, and its event costs nothing more.
    pub(crate) fn charge_result(&mut self, policy: &Policy) {
        self.charge_broken_call(policy);
        self.charged = true;
    }

    /// One execution error. On evidence one or two of them prove nothing once another call does what was asked.
    fn charge_broken_call(&mut self, policy: &Policy) {
        self.broken_calls = self.broken_calls.next();
        self.charge(policy, policy.health.incident_cost, Weight::Proof);
    }

    /// Takes the cost of an incident off health. On evidence, hints alone never suspend a session.
    pub(crate) fn charge(&mut self, policy: &Policy, cost: Ratio, weight: Weight) {
        let floor = match policy.profile {
            Profile::Strict => Ratio::ZERO,
            Profile::Balanced => policy.health.soft_suspend_threshold,
        };
        self.health.fall(cost, weight, floor);
    }

    /// A call did what was asked: a single execution error before it was an accident.
    fn note_success(&mut self, policy: &Policy) {
        let few = self.broken_calls.get();
        if policy.profile == Profile::Balanced && few < policy.health.failed_calls_from.get() {
            let cost = (0..few).fold(Ratio::ZERO, |all, _| all.plus(policy.health.incident_cost));
            self.health.take_back(cost, policy.health.soft_suspend_threshold);
        }
        self.broken_calls = Count::ZERO;
    }

    /// Another call is asked for: what the one before cost is settled.
    pub(crate) const fn begin_call(&mut self) {
        self.charged = false;
    }

    /// Takes in the costs and the outcome of an event. An execution error costs once, whether its result or its event told of it.
    pub(crate) fn observe(&mut self, policy: &Policy, event: &AgentEvent, at: RunMillis) {
        self.minute.add(at, event.budget_tokens(), event.tool_calls);
        let Some(outcome) = event.outcome else { return };
        let charged = core::mem::take(&mut self.charged);
        let failed = event.failed() && !event.is_infrastructure_error();
        self.outcomes = (self.outcomes << 1) | u64::from(failed);
        self.outcomes_seen = self.outcomes_seen.saturating_add(1).min(ERROR_RATE_EVENTS);
        // On evidence, parallel calls of one turn are one step: a batch that fails with its first call failed once.
        let turn = event.turn_id.as_ref().filter(|_| failed).map_or(Fingerprint::NONE, Label::fingerprint);
        let same_turn = turn.is_some() && turn == self.failed_turn && policy.profile == Profile::Balanced;
        let counted = failed && same_turn && self.failed_calls > Count::ZERO;
        if !counted {
            (self.failed_calls, self.failed_turn) =
                if failed { (self.failed_calls.next(), turn) } else { (Count::ZERO, Fingerprint::NONE) };
        }
        let broken = outcome.error_class.is_some_and(ErrorClass::is_execution_error);
        if broken && !charged {
            self.charge_broken_call(policy);
        }
        if !event.failed() && !charged && !event.flags.has(Flag::Silent) {
            self.note_success(policy);
        }
        if failed && !counted && self.failed_calls >= policy.health.failed_calls_from {
            self.charge(policy, policy.health.incident_cost, Weight::Hint);
        }
    }

    /// What holds the session; a soft suspend is a matter of health, and binds only while decisions do.
    pub(crate) fn held(&self, policy: &Policy) -> Option<HoldReason> {
        let suspended = self.is_armed() && self.health.condition(&policy.health) == Condition::SoftSuspend;
        self.standing.held().or_else(|| suspended.then_some(HoldReason::SoftSuspend))
    }

    /// A person says that a suspended session goes on: health comes back to the cap, failures count from zero. Nothing else is
    /// a reason to lift it.
    pub(crate) fn end_suspension(&mut self, policy: &Policy) {
        if self.health.condition(&policy.health) == Condition::SoftSuspend {
            self.health.lift(policy.health.recovery_cap.max(policy.health.soft_suspend_threshold));
            self.failed_calls = Count::ZERO;
        }
    }

    /// When the session's wall clock runs out.
    pub(crate) fn session_deadline(&self, policy: &Policy) -> Option<RunMillis> {
        policy.limits.max_session_runtime_ms.get().map(|limit| self.clock_from.plus(limit))
    }

    /// The share of recent calls that failed.
    pub(crate) fn error_rate(&self) -> Ratio {
        let kept = self.outcomes & ((1_u64 << ERROR_RATE_EVENTS).wrapping_sub(1));
        Ratio::of(u64::from(kept.count_ones()), u64::from(self.outcomes_seen))
    }

    /// Makes a permit for an allowed request. Nothing else can.
    pub(crate) fn permit(&self, policy: &Policy, request: &Request, turn: &Turn<'_>) -> Permit {
        let action: Fingerprint = request.action.exact();
        Permit::issue(turn.place.index, action, self.deadline(policy))
    }

    /// When a running call must be cut off: the earlier of the iteration's and the session's wall clock.
    pub(crate) fn deadline(&self, policy: &Policy) -> Option<RunMillis> {
        [self.iterations.deadline(&policy.limits), self.session_deadline(policy)].into_iter().flatten().min()
    }

    /// What led to the end, or to the hold for a loop while that is what holds.
    pub(crate) fn cause(&self) -> Option<&Cause> {
        match (self.standing.stopped(), self.standing.held()) {
            (Some(_), _) => self.causes.of_end.as_ref(),
            (None, Some(hold)) => self.causes.of_hold(hold),
            (None, None) => None,
        }
    }

    /// Whether a stricter level than the standing one may bind: in observe mode only people's controls do.
    pub(crate) fn is_armed(&self) -> bool {
        match self.mode {
            Mode::Armed => true,
            Mode::Observe => false,
        }
    }

    /// Whether the running iteration was ended from outside: by the session's end, the step cap or a wall clock.
    pub(crate) fn is_cut_short(&self) -> bool {
        let ended = matches!(self.iterations.ended(), Some(Ended::MaxSteps | Ended::Timeout));
        ended || self.standing.stopped().is_some()
    }

    /// A person's restart: everything that held or ended the session is cleared; health comes back to the cap only, and the
    /// session's wall clock starts over.
    pub(crate) fn restart(&mut self, policy: &Policy, at: RunMillis) {
        self.standing.restart();
        self.clock_from = at;
        self.begin_anew(policy, at);
    }

    /// The session is no longer over; what holds it stays.
    pub(crate) fn reopen(&mut self, policy: &Policy, at: RunMillis) {
        self.standing.reopen();
        self.begin_anew(policy, at);
    }

    fn begin_anew(&mut self, policy: &Policy, at: RunMillis) {
        self.causes = Causes::default();
        self.cooldown = Cooldown::default();
        self.health.lift(policy.health.recovery_cap.max(policy.health.soft_suspend_threshold));
        self.runaway_since = None;
        self.failed_calls = Count::ZERO;
        let count = self.iterations.count();
        self.iterations = Iterations::default();
        self.iterations.set_count(count.minus(Count::new(1)));
        let _begun = self.iterations.begin(&policy.safety, at);
    }
}
