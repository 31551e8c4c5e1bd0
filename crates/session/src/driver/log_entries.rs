//! What the safety log says of a decision, read from the decision as it was journaled (LOG-2).
//!
//! The line that is appended at once and the one that a rebuild writes come from the same text by the same code, so they can
//! be compared: what is in the journal and not in the log was taken out of it.

use super::dir::SessionDir;
use crate::body::ReadBody;
use serde::Deserialize;
use serde_json::{Map, Value};
use tripwire_core::decision::Level;
use tripwire_workspace::geometry::safety_log::{ActionTaken, EventType, LogEntry};
use tripwire_workspace::geometry::wall_clock::WallClock;

/// A journaled decision, as far as the log tells it.
#[derive(Debug, Deserialize)]
struct LoggedDecision {
    i: u64,
    effects: Vec<Value>,
    findings: Vec<LoggedFinding>,
    safety: LoggedSafety,
}

#[derive(Debug, Deserialize)]
struct LoggedFinding {
    #[serde(default)]
    count: u64,
    #[serde(default)]
    details: Map<String, Value>,
    level: Level,
    reason: String,
    rule: String,
    #[serde(default)]
    signature: String,
    #[serde(rename = "type")]
    kind: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct LoggedSafety {
    allowed: bool,
    error: Option<Value>,
    reason: String,
    remaining_budget: u64,
    retry_after_ms: Option<u64>,
    rule: String,
    veto_reason: Option<EventType>,
}

/// Whether the input was a request: a call that is refused in a held session is an entry, an event in it is not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Asked {
    Request,
    SomethingElse,
}

impl Asked {
    /// By the text of the input.
    pub(super) fn of(input: &str) -> Self {
        #[derive(Deserialize)]
        struct LoggedInput {
            what: Value,
        }
        let read: Result<LoggedInput, _> = serde_json::from_str(input);
        match read.is_ok_and(|input| input.what.get("request").is_some()) {
            true => Self::Request,
            false => Self::SomethingElse,
        }
    }
}

/// The entries of an input and its decision, as two bodies of the journal.
pub(super) fn of_pair(pair: &[String], dir: SessionDir<'_>, at: WallClock) -> Vec<LogEntry> {
    let [input, decision] = pair else { return Vec::new() };
    let read = |body| serde_json::from_str::<ReadBody<'_>>(body).ok();
    match (read(input).and_then(|body| body.input), read(decision).and_then(|body| body.decision)) {
        (Some(input), Some(decision)) => of(decision.get(), Asked::of(input.get()), dir, at),
        (Some(_) | None, Some(_) | None) => Vec::new(),
    }
}

/// The entries of one decision, from its journaled text; none for one that this version does not understand.
pub(super) fn of(decision: &str, asked: Asked, dir: SessionDir<'_>, at: WallClock) -> Vec<LogEntry> {
    let Ok(decision) = serde_json::from_str::<LoggedDecision>(decision) else { return Vec::new() };
    let found = decision.findings.iter().filter_map(|finding| of_finding(&decision, finding, dir, at));
    let mut entries: Vec<LogEntry> = found.collect();
    if let Some(entry) = of_refusal(&decision, asked, at)
        && !entries.iter().any(|known| known.event == entry.event)
    {
        entries.push(entry);
    }
    entries.into_iter().map(|entry| entry.with("index", decision.i).with("session", dir.session.as_str())).collect()
}

fn of_finding(
    decision: &LoggedDecision,
    finding: &LoggedFinding,
    dir: SessionDir<'_>,
    at: WallClock,
) -> Option<LogEntry> {
    let event: EventType = serde_json::from_value(Value::String(finding.kind.clone())).ok()?;
    let mut entry = LogEntry::new(at, event, action_taken(decision, finding, event, dir))
        .with("rule", finding.rule.as_str())
        .with("reason", finding.reason.as_str());
    entry.details.extend(finding.details.clone());
    if !finding.signature.is_empty() {
        entry = entry.with("signature", finding.signature.as_str());
    }
    if finding.count > 0 {
        entry = entry.with("count", finding.count);
    }
    Some(entry)
}

/// What was refused without a finding of its own: a veto of the minute or the cooldown, a role, a review, an identity.
fn of_refusal(decision: &LoggedDecision, asked: Asked, at: WallClock) -> Option<LogEntry> {
    let safety = &decision.safety;
    if safety.allowed {
        return None;
    }
    let (event, facts) = match &safety.error {
        None => (safety.veto_reason?, None),
        Some(error) => {
            let (kind, facts) = error.as_object()?.iter().next()?;
            (event_of_error(kind, asked)?, facts.as_object())
        }
    };
    let mut entry = LogEntry::new(at, event, ActionTaken::Blocked)
        .with("rule", safety.rule.as_str())
        .with("reason", safety.reason.as_str());
    entry.details.extend(facts.cloned().unwrap_or_default());
    if let Some(wait) = safety.retry_after_ms {
        entry = entry.with("retry_after_ms", wait);
    }
    if event == EventType::TokenBudgetExceeded {
        entry = entry.with("remaining_budget", safety.remaining_budget);
    }
    Some(entry)
}

/// The log's name for an enforcement error. What a held or ended session refuses is told per call.
fn event_of_error(kind: &str, asked: Asked) -> Option<EventType> {
    match (kind, asked) {
        ("PermissionDenied" | "FloorHeld", _) => Some(EventType::PermissionDenied),
        ("ReviewGating", _) => Some(EventType::ReviewGating),
        ("WallClockTimeout", Asked::Request) => Some(EventType::WallClockTimeout),
        ("CycleTermination", Asked::Request) => Some(EventType::CycleTermination),
        ("GuardFailure", Asked::Request) => Some(EventType::GuardFailure),
        _ => None,
    }
}

fn action_taken(
    decision: &LoggedDecision,
    finding: &LoggedFinding,
    event: EventType,
    dir: SessionDir<'_>,
) -> ActionTaken {
    let causes =
        |name: &str| decision.effects.iter().any(|effect| effect.as_str() == Some(name) || effect.get(name).is_some());
    match finding.level {
        Level::Stop if causes("stop") => return ActionTaken::Stopped,
        Level::Hold if causes("hold") => return ActionTaken::Held,
        Level::Override if causes("inject") => return ActionTaken::InjectedOverride,
        // An alarm that did not bind, in a session that only observes or has ended before.
        Level::Stop | Level::Hold | Level::Override | Level::Note => {}
    }
    if event == EventType::LoopOverride && causes("inject") {
        ActionTaken::InjectedOverride
    } else if event == EventType::DirtyBitViolation && causes("prompt") {
        ActionTaken::InjectedTestPrompt
    } else if event == EventType::EngineSwitch {
        ActionTaken::RestartedSession
    } else if event == EventType::CompactionGate && causes("compact") {
        if restarts(dir) { ActionTaken::RestartedSession } else { ActionTaken::WroteBriefing }
    } else if causes("stop") {
        ActionTaken::Stopped
    } else if causes("hold") {
        ActionTaken::Held
    } else if decision.safety.allowed {
        ActionTaken::ContinuedMonitoring
    } else {
        ActionTaken::Blocked
    }
}

/// Whether something starts a new context when this one is full: our own loop, or the supervisor of a run. Hooks alone write the
/// briefing, and the client goes on as it likes.
fn restarts(dir: SessionDir<'_>) -> bool {
    dir.layout.loop_of(dir.session).exists() || dir.layout.run_of(dir.session).exists()
}
