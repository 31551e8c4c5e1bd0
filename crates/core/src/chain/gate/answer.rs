//! The one answer of the gate, with its reason, rule, evidence and price.

use super::budget;
use super::iterations::Ended;
use super::state::SafetyGate;
use super::veto::{self, VetoSet};
use crate::chain::activity::loops::Alarm;
use crate::chain::turn::{Source, Turn};
use crate::decision::{Evidence, Level, SafetyDecision, SafetyVeto};
use crate::effect::{HoldReason, StopReason};
use crate::enforcement::{CycleTerminationError, EnforcementError, GuardFailureError, WallClockTimeoutError};
use crate::input::{FloorWeight, What};
use crate::label::Label;
use crate::policy::{Policy, Profile};
use crate::rules::Rule;
use crate::text::Reason;
use crate::units::{Price, RunMillis};
use alloc::format;
use alloc::string::ToString;

/// An answer before it is written down.
#[derive(Debug)]
pub(crate) struct GateOutcome {
    refusal: Option<Refusal>,
    veto: Option<SafetyVeto>,
    /// Whether the refusal holds in observe mode as well.
    binding: Binding,
}

/// Why something is not allowed.
#[derive(Debug)]
struct Refusal {
    rule: Rule,
    reason: Reason,
    error: Option<EnforcementError>,
    evidence: Evidence,
    price: Price,
    retry_after: Option<RunMillis>,
}

/// Whether a refusal binds in observe mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Binding {
    Always,
    WhenArmed,
}

impl GateOutcome {
    /// Finds the strictest answer.
    pub(super) fn of(gate: &SafetyGate, policy: &Policy, turn: &Turn<'_>, vetoes: VetoSet) -> Self {
        let veto = vetoes.first();
        let (refusal, binding) = if let Some(stop) = gate.standing.stopped() {
            // Whatever ended the session ended it while it bound: only a restart opens it again, in any mode.
            (Some(stopped(gate, turn, stop)), Binding::Always)
        } else if let Some((rule, error)) = &turn.refusal {
            let refusal = Refusal { evidence: evidence_of(*rule, turn), ..Refusal::error(*rule, error.clone(), turn) };
            (Some(refusal), binding_of_refusal(*rule))
        } else if let Some(hold) = gate.standing.held() {
            (Some(held(gate, policy, turn, hold)), binding_of_hold(hold))
        } else if let Some((refusal, binding)) = gate.iterations.ended().and_then(|ended| over(policy, turn, ended)) {
            (Some(refusal), binding)
        } else if let Some(veto) = veto {
            (Some(vetoed(gate, policy, turn, veto)), Binding::WhenArmed)
        } else {
            (None, Binding::WhenArmed)
        };
        Self { refusal, veto, binding }
    }

    /// Whether the wait after a veto begins now. In `balanced` the minute's bounds only throttle and never start it.
    pub(super) fn starts_cooldown(&self, profile: Profile) -> bool {
        self.veto.is_some_and(|veto| veto::starts_cooldown(veto, profile))
    }

    /// Writes the answer down.
    pub(super) fn into_decision(self, gate: &SafetyGate, policy: &Policy) -> SafetyDecision {
        let remaining_budget = budget::remaining(policy, &gate.minute, gate.health.level());
        let health = gate.health.level();
        let Some(refusal) = self.refusal else {
            return SafetyDecision {
                allowed: true,
                error: None,
                evidence: Evidence::default(),
                health,
                price: Price::default(),
                reason: Reason::fixed("nothing speaks against it"),
                remaining_budget,
                retry_after_ms: None,
                rule: Rule::GateOpen,
                veto_reason: None,
            };
        };
        let only_watched = !gate.is_armed() && self.binding == Binding::WhenArmed;
        let reason =
            if only_watched { Reason::from(format!("only observed: {}", refusal.reason)) } else { refusal.reason };
        SafetyDecision {
            allowed: only_watched,
            error: refusal.error,
            evidence: refusal.evidence,
            health,
            price: refusal.price,
            reason,
            remaining_budget,
            retry_after_ms: refusal.retry_after,
            rule: refusal.rule,
            veto_reason: self.veto,
        }
    }
}

impl SafetyGate {
    /// Whether a hold keeps an iteration from beginning; a soft suspend refuses its calls, and not its beginning.
    pub(crate) fn is_held_back(&self) -> bool {
        let in_force = |hold: HoldReason| self.is_armed() || binding_of_hold(hold) == Binding::Always;
        self.standing.held().is_some_and(in_force)
    }
}

impl Refusal {
    fn error(rule: Rule, error: EnforcementError, turn: &Turn<'_>) -> Self {
        Self {
            rule,
            reason: Reason::from(error.to_string()),
            error: Some(error),
            evidence: Evidence::one(turn.place.index),
            price: Price::default(),
            retry_after: None,
        }
    }
}

/// What a refusal rests on: the request, and before it what it would obey.
fn evidence_of(rule: Rule, turn: &Turn<'_>) -> Evidence {
    let fact = if let What::Request(request) = turn.what { request.floor.as_ref() } else { None };
    match fact.map(|fact| fact.weight) {
        // A fact that names a later event names none.
        Some(FloorWeight::FromOutside(source)) if rule == Rule::Outside && source < turn.place.index => {
            Evidence::new(alloc::vec![source, turn.place.index])
        }
        Some(_) | None => Evidence::one(turn.place.index),
    }
}

/// The session is over. What led to it is named for as long as it is: first the command that a person types, because
/// clients cut long lines.
fn stopped(gate: &SafetyGate, turn: &Turn<'_>, stop: StopReason) -> Refusal {
    let error = EnforcementError::CycleTermination(CycleTerminationError::Stopped(stop));
    let mut refusal = Refusal { evidence: Evidence::default(), ..Refusal::error(rule_of_stop(stop), error, turn) };
    let of_loop = matches!(stop, StopReason::SystemError | StopReason::InfiniteLoop | StopReason::Refusals);
    if let Some(cause) = &gate.causes.of_end {
        refusal.reason = Reason::from(format!("{}; {}", stop.way_on(), cause.words()));
    }
    if let Some(alarm) = turn.reading.alarm.as_deref().filter(|alarm| of_loop && !alarm.reason.is_empty()) {
        refusal.rule = alarm.rule;
        refusal.evidence = alarm.evidence.clone();
        refusal.price = alarm.price;
    }
    refusal
}

fn held(gate: &SafetyGate, policy: &Policy, turn: &Turn<'_>, hold: HoldReason) -> Refusal {
    let error = match hold {
        HoldReason::GuardFailure => EnforcementError::GuardFailure(GuardFailureError {
            cause: Label::cut("a premise of the guard broke"),
            fix: Label::cut("read the finding, fix what it names, then `tripwire resume`"),
        }),
        HoldReason::Loop
        | HoldReason::NoProgress
        | HoldReason::IterationCap
        | HoldReason::SoftSuspend
        | HoldReason::Money
        | HoldReason::Context
        | HoldReason::Converged
        | HoldReason::UnreadBlocker
        | HoldReason::UnreadCheckpoint
        | HoldReason::Paused => EnforcementError::CycleTermination(CycleTerminationError::Held(hold)),
    };
    let mut refusal = Refusal { evidence: Evidence::default(), ..Refusal::error(rule_of_hold(hold), error, turn) };
    if let Some(cause) = gate.causes.of_hold(hold) {
        refusal.reason = Reason::from(format!("{}; {}", hold.explain(), cause.words()));
    }
    if hold == HoldReason::SoftSuspend {
        let low = gate.low_health(policy.health.soft_suspend_threshold);
        refusal.reason = Reason::from(format!("{}; {low}", hold.way_on()));
    }
    if let Some(alarm) =
        turn.reading.alarm.as_deref().filter(|alarm| hold == HoldReason::Loop && !alarm.reason.is_empty())
    {
        refusal.rule = alarm.rule;
        refusal.evidence = alarm.evidence.clone();
        refusal.price = alarm.price;
    }
    refusal
}

/// An ended iteration binds requests and events until the next one begins; one that is done binds nothing.
fn over(policy: &Policy, turn: &Turn<'_>, ended: Ended) -> Option<(Refusal, Binding)> {
    let (rule, error) = match ended {
        Ended::Done => return None,
        Ended::MaxSteps => (Rule::TermSteps, EnforcementError::CycleTermination(CycleTerminationError::MaxSteps)),
        Ended::Timeout => {
            let hours = policy.limits.max_runtime_hours.get().map_or(0, |hours| u64::from(hours.get()));
            let limit_ms = RunMillis::from_seconds(hours.saturating_mul(3_600));
            (Rule::TermWallClock, EnforcementError::WallClockTimeout(WallClockTimeoutError { limit_ms }))
        }
    };
    match turn.source {
        Source::Event | Source::Request => Some((Refusal::error(rule, error, turn), binding_of_refusal(rule))),
        Source::Other => None,
    }
}

fn vetoed(gate: &SafetyGate, policy: &Policy, turn: &Turn<'_>, veto: SafetyVeto) -> Refusal {
    let at = turn.place.at;
    let cooldown = Some(policy.gate.cooldown_duration_ms);
    let throttle = || {
        let budget = budget::effective(policy, gate.health.level());
        match policy.profile {
            Profile::Strict => cooldown,
            Profile::Balanced => Some(gate.minute.room_in(at, budget, policy.minute_bounds().calls)),
        }
    };
    let mut refusal = Refusal {
        rule: Rule::GateOpen,
        reason: Reason::fixed(""),
        error: None,
        evidence: Evidence::one(turn.place.index),
        price: Price::default(),
        retry_after: None,
    };
    (refusal.rule, refusal.reason, refusal.retry_after) = match veto {
        SafetyVeto::RunawayDetected => {
            (Rule::ActTempo, Reason::fixed("runaway: the agent accelerates uncontrollably"), cooldown)
        }
        SafetyVeto::LoopDetected => {
            (Rule::ActSimilarity, Reason::fixed("loop: the outputs of the last 5 events are alike"), cooldown)
        }
        SafetyVeto::TokenBudgetExceeded => {
            let budget = budget::effective(policy, gate.health.level());
            let used = gate.minute.tokens();
            let reason =
                format!("{used} tokens in the last minute; the limit is {budget} (`gate.max_tokens_per_minute`)");
            (Rule::GateTokens, Reason::from(reason), throttle())
        }
        SafetyVeto::RateLimitExceeded => {
            let (used, limit) = (gate.minute.calls(), policy.minute_bounds().calls);
            let reason = format!(
                "{used} tool calls in the last minute; the limit is {limit} (`gate.max_tool_calls_per_minute`)"
            );
            (Rule::GateCalls, Reason::from(reason), throttle())
        }
        SafetyVeto::CooldownActive => {
            let left = gate.cooldown.left(at);
            (Rule::GateCooldown, Reason::fixed("the wait after a veto is not over"), left)
        }
        SafetyVeto::HealthDegraded => {
            let low = gate.low_health(policy.health.soft_suspend_threshold);
            let reason = format!("{}; {low}", HoldReason::SoftSuspend.way_on());
            (Rule::GateHealth, Reason::from(reason), None)
        }
    };
    if let Some(alike) = turn.reading.similar.as_ref().filter(|_| veto == SafetyVeto::LoopDetected) {
        refusal.evidence = alike.evidence.clone();
        refusal.price = alike.price;
    }
    // A mere note or override beside alike outputs is not what vetoes.
    let vetoes = |alarm: &&Alarm| veto == SafetyVeto::LoopDetected && alarm.level >= Level::Hold;
    if let Some(alarm) = turn.reading.alarm.as_deref().filter(vetoes) {
        refusal.rule = alarm.rule;
        refusal.reason = Reason::fixed("the loop goes on after the alarm");
        if alarm.news.is_present() {
            refusal.reason = alarm.reason.clone();
            refusal.evidence = alarm.evidence.clone();
            refusal.price = alarm.price;
        }
    }
    refusal
}

/// In observe mode only an explicit budget, a wall clock, the guard against destructive commands and what protects a person's controls refuse;
/// everything else is merely noted.
const fn binding_of_refusal(rule: Rule) -> Binding {
    match rule {
        Rule::GateMoney | Rule::TermWallClock | Rule::Reach | Rule::Floor => Binding::Always,
        Rule::FailClosed
        | Rule::FrozenPolicy
        | Rule::ActSimilarity
        | Rule::ActTempo
        | Rule::GateOpen
        | Rule::GateTokens
        | Rule::GateCalls
        | Rule::GateCooldown
        | Rule::GateHealth
        | Rule::GateRunaway
        | Rule::GateAgents
        | Rule::LoopLadder
        | Rule::LoopExact
        | Rule::LoopSignature
        | Rule::LoopRepeat
        | Rule::LoopCycle
        | Rule::LoopError
        | Rule::LoopErrorKind
        | Rule::LoopFailing
        | Rule::LoopThrash
        | Rule::LoopReword
        | Rule::LoopEcho
        | Rule::LoopAction
        | Rule::LoopStale
        | Rule::LoopPaging
        | Rule::LoopIgnored
        | Rule::LoopSpawn
        | Rule::LoopRestart
        | Rule::LoopChant
        | Rule::LoopAdvice
        | Rule::LoopUnanswered
        | Rule::LoopRefusals
        | Rule::Progress
        | Rule::DirtyBits
        | Rule::IterationCap
        | Rule::TermSteps
        | Rule::ContextTiers
        | Rule::ContextSpiral
        | Rule::Publish
        | Rule::Outside
        | Rule::Secret
        | Rule::EngineFallback
        | Rule::ToolPin
        | Rule::ToolLimit
        | Rule::Confinement
        | Rule::Control
        | Rule::Permission
        | Rule::Convergence
        | Rule::Review
        | Rule::Identity => Binding::WhenArmed,
    }
}

const fn binding_of_hold(hold: HoldReason) -> Binding {
    match hold {
        HoldReason::Paused | HoldReason::Money => Binding::Always,
        HoldReason::Loop
        | HoldReason::NoProgress
        | HoldReason::IterationCap
        | HoldReason::SoftSuspend
        | HoldReason::Context
        | HoldReason::GuardFailure
        | HoldReason::UnreadBlocker
        | HoldReason::UnreadCheckpoint
        | HoldReason::Converged => Binding::WhenArmed,
    }
}

const fn rule_of_stop(stop: StopReason) -> Rule {
    match stop {
        StopReason::StoppedByPerson => Rule::Control,
        StopReason::SystemError => Rule::LoopExact,
        StopReason::InfiniteLoop => Rule::LoopSignature,
        StopReason::HardStop => Rule::GateHealth,
        StopReason::Runaway => Rule::GateRunaway,
        StopReason::WallClock => Rule::TermWallClock,
        StopReason::Refusals => Rule::LoopRefusals,
    }
}

const fn rule_of_hold(hold: HoldReason) -> Rule {
    match hold {
        HoldReason::Loop => Rule::LoopLadder,
        HoldReason::NoProgress | HoldReason::UnreadBlocker => Rule::Progress,
        HoldReason::IterationCap | HoldReason::UnreadCheckpoint => Rule::IterationCap,
        HoldReason::SoftSuspend => Rule::GateHealth,
        HoldReason::Money => Rule::GateMoney,
        HoldReason::Context => Rule::ContextTiers,
        HoldReason::GuardFailure => Rule::FailClosed,
        HoldReason::Converged => Rule::Convergence,
        HoldReason::Paused => Rule::Control,
    }
}
