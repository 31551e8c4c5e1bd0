//! Step 4: the single authority. It turns everything that is known into one answer, and it alone makes permits.
//!
//! The strictest answer wins (GATE-6): an ended session, then a refused request, then a hold, then a veto, then a
//! throttle. Vetoes among themselves follow the priority table of [`veto`].

pub(crate) mod agents;
pub(crate) mod answer;
pub(crate) mod budget;
pub(crate) mod consequence;
pub(crate) mod context;
pub(crate) mod cooldown;
pub mod dirty_bits;
pub(crate) mod floor;
pub(crate) mod health;
pub(crate) mod identity;
pub(crate) mod iterations;
pub(crate) mod minute;
pub(crate) mod money;
pub(crate) mod permission;
mod permit;
pub(crate) mod rate;
pub(crate) mod review;
pub(crate) mod standing;
pub mod veto;

pub use permit::Permit;

use self::answer::GateOutcome;
use self::health::HealthState;
use self::iterations::Iterations;
use self::minute::Minute;
use self::standing::Standing;
use self::veto::VetoSet;
use super::Turn;
use super::activity::NewStep;
use super::activity::loops::Alarm;
use super::event::AgentEvent;
use crate::decision::{Level, SafetyDecision, SafetyVeto};
use crate::input::{Mode, Request};
use crate::label::Fingerprint;
use crate::limits::ERROR_RATE_EVENTS;
use crate::policy::{Policy, Profile};
use crate::units::{Count, Ratio, RunMillis};
use serde::{Deserialize, Serialize};

/// Everything that the gate remembers.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct SafetyGate {
    pub(crate) minute: Minute,
    pub(crate) cooldown: cooldown::Cooldown,
    pub(crate) health: HealthState,
    pub(crate) standing: Standing,
    pub(crate) iterations: Iterations,
    pub(crate) context: context::ContextState,
    pub(crate) dirty: dirty_bits::DirtyBits,
    #[serde(default)]
    pub(crate) floor: floor::Floor,
    pub(crate) reviews: review::Reviews,
    pub(crate) money: money::MoneyState,
    pub(crate) agents: agents::Agents,
    pub(crate) mode: Mode,
    /// Failed tool calls in a row.
    failed_calls: Count,
    /// The newest outcomes, one bit each, the newest lowest; a set bit is a failure.
    outcomes: u64,
    /// How many outcomes were seen, up to the number that is kept.
    outcomes_seen: u32,
    /// Since when a runaway persists, in `balanced`.
    runaway_since: Option<RunMillis>,
    /// Warnings that were given and not yet taken back: see [`consequence`].
    warned: u8,
}

impl SafetyGate {
    /// Lets time pass.
    pub(crate) fn advance(&mut self, policy: &Policy, at: RunMillis) {
        self.minute.advance(at);
        self.health.advance(&policy.health, at);
    }

    /// Takes in the costs and the outcome of an event.
    pub(crate) fn observe(&mut self, policy: &Policy, event: &AgentEvent, at: RunMillis, step: NewStep) {
        self.minute.add(at, event.budget_tokens(), event.tool_calls);
        let Some(outcome) = event.outcome else { return };
        let failed = event.failed() && !super::activity::loops::is_infrastructure(event);
        self.outcomes = (self.outcomes << 1) | u64::from(failed);
        self.outcomes_seen = self.outcomes_seen.saturating_add(1).min(ERROR_RATE_EVENTS);
        // On evidence, parallel calls of one turn are one step: a batch that fails with its first call failed once.
        let counted = self.failed_calls > Count::ZERO && step == NewStep::No && policy.profile == Profile::Balanced;
        if outcome.error_class.is_some_and(super::event::ErrorClass::is_execution_error) {
            self.health.fall(policy.health.incident_cost);
        }
        if failed && counted {
            return;
        }
        self.failed_calls = if failed { self.failed_calls.next() } else { Count::ZERO };
        if failed && self.failed_calls >= policy.health.failed_calls_from {
            self.health.fall(policy.health.incident_cost);
        }
    }

    /// The share of recent calls that failed.
    pub(crate) fn error_rate(&self) -> Ratio {
        let kept = self.outcomes & ((1_u64 << ERROR_RATE_EVENTS).wrapping_sub(1));
        Ratio::of(u64::from(kept.count_ones()), u64::from(self.outcomes_seen))
    }

    /// The verdict on everything that is known now.
    pub(crate) fn judge(&mut self, policy: &Policy, turn: &mut Turn<'_>) -> SafetyDecision {
        self.apply_health_cost(policy, turn);
        let vetoes = self.vetoes(policy, turn);
        self.act_on(policy, turn, vetoes);
        let answer = GateOutcome::of(self, policy, turn, vetoes);
        if turn.is_event() && answer.starts_cooldown(policy.profile) {
            self.cooldown.start(turn.place.at, policy.gate.cooldown_duration_ms);
        }
        self.warn(policy, turn);
        answer.into_decision(self, policy)
    }

    /// Makes a permit for an allowed request. Nobody else can.
    pub(crate) fn permit(&self, policy: &Policy, request: &Request, turn: &Turn<'_>) -> Permit {
        let action: Fingerprint = request.action.exact();
        Permit::issue(turn.place.index, action, self.deadline(policy))
    }

    /// When a running call must be cut off: the earlier of the iteration's and the session's wall clock.
    pub(crate) fn deadline(&self, policy: &Policy) -> Option<RunMillis> {
        let session = policy.limits.max_session_runtime_ms.get();
        [self.iterations.deadline(&policy.limits), session].into_iter().flatten().min()
    }

    fn vetoes(&self, policy: &Policy, turn: &Turn<'_>) -> VetoSet {
        let mut vetoes = VetoSet::default();
        let at = turn.place.at;
        if turn.reading.runaway.is_present() {
            vetoes.add(SafetyVeto::RunawayDetected);
        }
        if turn.reading.similar.is_some() || turn.reading.alarm.as_ref().is_some_and(|alarm| alarm.level >= Level::Hold)
        {
            vetoes.add(SafetyVeto::LoopDetected);
        }
        if budget::is_exceeded(&policy.gate, &self.minute, self.health.level()) {
            vetoes.add(SafetyVeto::TokenBudgetExceeded);
        }
        if rate::is_exceeded(&policy.gate, &self.minute) {
            vetoes.add(SafetyVeto::RateLimitExceeded);
        }
        if self.cooldown.left(at).is_some() {
            vetoes.add(SafetyVeto::CooldownActive);
        }
        if self.health.condition(&policy.health) > health::Condition::Good {
            vetoes.add(SafetyVeto::HealthDegraded);
        }
        vetoes
    }

    /// What entering an alarm mode or flipping costs.
    fn apply_health_cost(&mut self, policy: &Policy, turn: &Turn<'_>) {
        use crate::decision::ActivityMode;
        match turn.reading.entered {
            Some(ActivityMode::Looping) => self.health.fall(policy.health.looping_cost),
            Some(ActivityMode::Runaway) => self.health.fall(policy.health.runaway_cost),
            Some(ActivityMode::Idle | ActivityMode::Working) | None => {}
        }
        if turn.reading.flipped.is_present() {
            self.health.fall(policy.health.incident_cost);
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
        let ended = matches!(self.iterations.ended(), Some(iterations::Ended::MaxSteps | iterations::Ended::Timeout));
        ended || self.standing.stopped().is_some()
    }

    /// A person's restart: everything that held or ended the session is cleared; health comes back to the cap only.
    pub(crate) fn restart(&mut self, policy: &Policy, at: RunMillis) {
        self.standing.restart();
        self.cooldown = cooldown::Cooldown::default();
        self.health.lift(policy.health.recovery_cap);
        self.runaway_since = None;
        self.failed_calls = Count::ZERO;
        let count = self.iterations.count();
        self.iterations = Iterations::default();
        self.iterations.set_count(count.minus(Count::new(1)));
        let _begun = self.iterations.begin(&policy.safety, at);
    }

    /// The alarm of the turn, if it is one that has just climbed.
    fn fresh_alarm<'a>(turn: &'a Turn<'_>) -> Option<&'a Alarm> {
        turn.reading.alarm.as_ref().filter(|alarm| alarm.news.is_present())
    }
}
