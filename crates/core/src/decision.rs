//! What the engine decided and why: a record that can always answer *why*.

use crate::effect::Effect;
use crate::enforcement::EnforcementError;
use crate::label::Fingerprint;
use crate::limits::EVIDENCE_MAX;
use crate::record::canonical::{self, CanonicalError};
use crate::rules::Rule;
use crate::text::{Reason, SignatureText};
use crate::units::{Count, EventIndex, MicroUsd, Price, Ratio, RunMillis, StepId, Tokens};
use alloc::string::String;
use alloc::vec::Vec;
use serde::{Deserialize, Serialize};

/// The answer to one input.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Decision {
    /// What the agent is doing.
    pub activity: ActivityState,
    /// What should happen now.
    pub effects: Vec<Effect>,
    /// What was noticed.
    pub findings: Vec<Finding>,
    /// The index of the input.
    pub i: EventIndex,
    /// What the intent core wants.
    pub intent: IntentDecision,
    /// What the gate lets through.
    pub safety: SafetyDecision,
    /// The step it belongs to.
    #[serde(rename = "stepId")]
    pub step_id: StepId,
}

impl Decision {
    /// The part that the parity hash covers: intent and safety decision, in canonical form (REPLAY-1).
    ///
    /// # Errors
    /// When a figure left the range of JSON integers.
    pub fn parity_text(&self, text: &mut String) -> Result<(), CanonicalError> {
        #[derive(Serialize)]
        struct ParityBody<'a> {
            intent: &'a IntentDecision,
            safety: &'a SafetyDecision,
        }
        canonical::write(&ParityBody { intent: &self.intent, safety: &self.safety }, text)
    }

    /// What was missing when the agent said that it was done: the claim was sent back (DIRTY-1). Such a claim is no refused call,
    /// so the gate's own word is still that the agent may act.
    #[must_use]
    pub fn sent_back(&self) -> Option<&Finding> {
        self.findings.iter().find(|finding| finding.kind == FindingKind::DirtyBitViolation)
    }

    /// The strictest level among the findings.
    #[must_use]
    pub fn level(&self) -> Option<Level> {
        self.findings.iter().map(|finding| finding.level).max()
    }
}

/// A decision with the session it belongs to: the line that is printed and journaled.
#[derive(Debug, Serialize)]
pub struct DecisionRecord<'a> {
    /// What the agent is doing.
    pub activity: &'a ActivityState,
    /// What should happen now.
    pub effects: &'a [Effect],
    /// What was noticed.
    pub findings: &'a [Finding],
    /// The index of the input.
    pub i: EventIndex,
    /// What the intent core wants.
    pub intent: &'a IntentDecision,
    /// The session.
    #[serde(rename = "runId")]
    pub run_id: &'a str,
    /// What the gate lets through.
    pub safety: &'a SafetyDecision,
    /// The step.
    #[serde(rename = "stepId")]
    pub step_id: StepId,
}

impl<'a> DecisionRecord<'a> {
    /// Joins a decision with its session.
    #[must_use]
    pub fn new(run_id: &'a str, decision: &'a Decision) -> Self {
        let Decision { activity, effects, findings, i, intent, safety, step_id } = decision;
        Self { activity, effects, findings, i: *i, intent, run_id, safety, step_id: *step_id }
    }
}

/// What the agent is doing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ActivityState {
    /// How much is going on, against the rolling average.
    pub intensity: Intensity,
    /// What kind of activity it is.
    pub mode: ActivityMode,
    /// Why; never empty.
    pub reason: Reason,
    /// Since when the mode is reported.
    pub since: RunMillis,
}

/// How much is going on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Intensity {
    /// Less than half of the rolling average.
    Low,
    /// About the rolling average.
    #[default]
    Normal,
    /// More than twice the rolling average.
    High,
}

/// The four modes of the master specification.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum ActivityMode {
    /// No event for 30 s or more.
    Idle,
    /// Regular, controlled event flow.
    #[default]
    Working,
    /// Repetitive output.
    Looping,
    /// Uncontrolled acceleration.
    Runaway,
}

/// What the intent core wants.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct IntentDecision {
    /// How sure it is, by one fixed formula.
    pub confidence: Ratio,
    /// To go on, to pause or to stop.
    pub intent: Intent,
    /// Why; never empty.
    pub reason: Reason,
}

/// To go on, to pause or to stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Intent {
    /// Go on.
    Continue,
    /// Pause.
    Pause,
    /// Stop.
    Stop,
}

/// What the gate lets through.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SafetyDecision {
    /// Whether the agent may act.
    pub allowed: bool,
    /// The typed refusal, where it is not a veto.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<EnforcementError>,
    /// The inputs that prove it.
    #[serde(skip_serializing_if = "Evidence::is_empty")]
    pub evidence: Evidence,
    /// System health.
    pub health: Ratio,
    /// What it has cost since the trouble began.
    #[serde(skip_serializing_if = "Price::is_nothing")]
    pub price: Price,
    /// Why; never empty.
    pub reason: Reason,
    /// Tokens left in this minute.
    pub remaining_budget: Tokens,
    /// How long to wait before asking again, where waiting helps.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_after_ms: Option<RunMillis>,
    /// The rule that decided.
    pub rule: Rule,
    /// The veto, where there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub veto_reason: Option<SafetyVeto>,
}

/// The six vetoes. Their order here is their priority, highest first; it never changes (GATE-1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum SafetyVeto {
    /// The agent accelerates uncontrollably.
    RunawayDetected,
    /// The agent is in a loop.
    LoopDetected,
    /// The minute's tokens are used up.
    TokenBudgetExceeded,
    /// The minute's tool calls are used up.
    RateLimitExceeded,
    /// The wait after a veto is not over.
    CooldownActive,
    /// Health is low.
    HealthDegraded,
}

/// One thing that a rule noticed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// How often it was counted.
    #[serde(skip_serializing_if = "Count::is_zero")]
    pub count: Count,
    /// The figures behind it, under the names of the safety log.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub details: Option<FindingDetails>,
    /// The inputs that prove it.
    pub evidence: Evidence,
    /// Its name in the safety log.
    #[serde(rename = "type")]
    pub kind: FindingKind,
    /// How far up the ladder it is.
    pub level: Level,
    /// What it has cost since the first repeat.
    pub price: Price,
    /// In one sentence.
    pub reason: Reason,
    /// The rule that noticed it.
    pub rule: Rule,
    /// What was repeated, in the words of the signature.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub signature: SignatureText,
}

/// The figures behind a finding, under the names that the seed gives them in the safety log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum FindingDetails {
    /// How full the context is.
    Context {
        /// In per cent.
        context_pct: Count,
        /// The threshold that was reached, in per cent.
        threshold: Count,
    },
    /// What was observed of code and tests when the agent said that it was done.
    DirtyBits {
        /// Whether code was changed.
        code_modified: bool,
        /// Whether the documentation followed.
        docs_updated: bool,
        /// Whether the tests passed; absent where they did not run.
        #[serde(skip_serializing_if = "Option::is_none")]
        tests_passing: Option<bool>,
        /// Whether tests ran since.
        tests_run: bool,
    },
    /// How low health is.
    Health {
        /// Now.
        health: Ratio,
        /// The threshold that it is below.
        threshold: Ratio,
    },
    /// How many iterations have begun.
    Iterations {
        /// Begun.
        iteration_count: Count,
        /// Allowed.
        max_iterations: Count,
    },
    /// How much money is left.
    Budget {
        /// The budget.
        budget_micro_usd: MicroUsd,
        /// What was spent of it.
        spent_micro_usd: MicroUsd,
    },
}

/// The ladder, from a remark to the end; the strictest answer wins with `max`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// Logged; the agent does not notice.
    #[default]
    Note,
    /// A typed constraint reaches the agent; the call is allowed.
    Override,
    /// Everything waits.
    Hold,
    /// The session ends.
    Stop,
}

/// The names of the safety log (LOG-2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum FindingKind {
    /// Three of the same.
    SoftLoop,
    /// Five of the same.
    HardLoop,
    /// Ten of the same.
    InfiniteLoop,
    /// A typed constraint was injected.
    LoopOverride,
    /// The same action again after the override, or another error that ends the run.
    SystemError,
    /// Output similarity.
    LoopDetected,
    /// Acceleration.
    RunawayDetected,
    /// The token budget is nearly used up.
    TokenWarning,
    /// The tool-call budget is nearly used up.
    ToolCallWarning,
    /// Iterations that fail in a row.
    NoProgress,
    /// The tests were not run, or failed.
    DirtyBitViolation,
    /// The context fills up.
    CompactionGate,
    /// The iteration cap.
    IterationCap,
    /// A wall clock or step cap ended an iteration.
    CycleTermination,
    /// The wall clock.
    WallClockTimeout,
    /// A permission is missing.
    PermissionDenied,
    /// A review is missing, rejected or for another change.
    ReviewGating,
    /// A premise of the guard broke.
    GuardFailure,
    /// The money budget.
    BudgetWarning,
    /// A threshold was edited on disk.
    PolicyDrift,
    /// A person changed a counter, a bit or the state.
    ManualOverride,
    /// Health fell below a threshold.
    HealthDegraded,
    /// The wall clock stepped back a little and was clamped.
    ClockClamped,
    /// Another engine goes on.
    EngineSwitch,
    /// A tool of a server differs from its pin.
    ToolChanged,
    /// A tool's text speaks to the model, or hides something.
    ToolSuspicious,
    /// The sandbox around an agent kept something from happening.
    SandboxHeld,
}

/// Indices of the inputs that prove a finding: at most [`EVIDENCE_MAX`], oldest first.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[serde(transparent)]
pub struct Evidence(Vec<EventIndex>);

impl Evidence {
    /// The given indices, or the newest of them if they are too many.
    #[must_use]
    pub fn new(mut indices: Vec<EventIndex>) -> Self {
        let surplus = indices.len().saturating_sub(EVIDENCE_MAX);
        indices.drain(..surplus);
        Self(indices)
    }

    /// One index.
    #[must_use]
    pub fn one(index: EventIndex) -> Self {
        Self(alloc::vec![index])
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The indices.
    #[must_use]
    pub fn indices(&self) -> &[EventIndex] {
        &self.0
    }
}

/// A decision in progress: rules add to it, the chain closes it.
#[derive(Debug, Default)]
pub struct Draft {
    /// Findings so far.
    pub findings: Vec<Finding>,
    /// Effects so far.
    pub effects: Vec<Effect>,
}

impl Draft {
    /// Adds a finding.
    pub fn find(&mut self, finding: Finding) {
        self.findings.push(finding);
    }

    /// Adds the figures behind the newest finding.
    pub fn detail(&mut self, details: FindingDetails) {
        if let Some(finding) = self.findings.last_mut() {
            finding.details = Some(details);
        }
    }

    /// Adds an effect.
    pub fn cause(&mut self, effect: Effect) {
        self.effects.push(effect);
    }
}

/// What a loop rule remembers about the last alarm, so that one alarm is reported once and not at every event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Raised {
    /// What it was about.
    pub key: Fingerprint,
    /// How far up the ladder it went.
    pub level: Option<Level>,
}
