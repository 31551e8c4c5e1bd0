//! From the engine's decisions to one plain answer, which each client's dialect then puts into its own words.

use super::event::Event;
use super::short_result::ShortResult;
use std::time::Duration;
use tripwire_core::chain::ChainView;
use tripwire_core::decision::{Decision, FindingKind, SafetyVeto};
use tripwire_core::effect::{Effect, HoldReason, LoopOverride, Sameness};
use tripwire_core::enforcement::{CycleTerminationError, EnforcementError};
use tripwire_core::rules::Rule;
use tripwire_core::units::Price;

/// What the client is to be told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// Nothing: it may go on.
    Pass,
    /// It may not.
    Refuse {
        /// Why, with the rule and the next command.
        reason: String,
        /// Whether the agent's turn is to end as well.
        turn: Turn,
    },
    /// Something that the agent should know.
    Tell(String),
    /// The typed constraint of the loop ladder, for the place of the tool's result.
    Override {
        /// The constraint.
        text: String,
        /// The beginning of the result that it takes the place of.
        result: String,
    },
    /// The result is larger than the tool's limit: its beginning, for the place of the whole.
    Shorten(ShortResult),
    /// The agent is not done: it goes back to work with this prompt.
    SendBack(String),
}

/// Whether the agent's turn goes on after a refusal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Turn {
    /// It may ask for something else, or for the same later.
    GoesOn,
    /// It must not ask its model again: a denied agent keeps spending.
    Ends,
}

/// Bytes of a result that stay visible beside an override.
const RESULT_BYTES_MAX: usize = 2_048;

/// The answer to one event, from all decisions that it led to, oldest first. `waiting` holds the remarks that wait for an answer that can carry them.
#[must_use]
pub fn of(event: &Event, decisions: &[&Decision], waiting: &mut Vec<String>) -> Answer {
    waiting.extend(decisions.iter().flat_map(|decision| remarks(decision)));
    // A constraint that came with an event which carries no text waits for the next one that does.
    if !matches!(event, Event::Asked(_) | Event::Done(..)) {
        waiting.extend(decisions.iter().filter_map(|decision| override_in(decision)));
    }
    let Some(last) = decisions.last() else { return Answer::Pass };
    match event {
        Event::Asked(_) => match decisions.iter().rev().find(|decision| refuses_a_call(decision, last)) {
            Some(decision) => refuse(decision),
            // A call that the client denied has no result in whose place the constraint could be.
            None => match decisions.iter().rev().find_map(|decision| override_in(decision)) {
                Some(text) => Answer::Tell(text),
                None => Answer::Pass,
            },
        },
        Event::ModelAsked { .. } | Event::Prompt if is_refused(last) => refuse(last),
        Event::AgentStarted if !last.safety.allowed && last.safety.rule == Rule::GateAgents => refuse(last),
        Event::Done(_, outcome) => {
            if !last.safety.allowed && turn_of(last) == Turn::Ends {
                return refuse(last);
            }
            match decisions.iter().rev().find_map(|decision| override_in(decision)) {
                Some(mut text) => {
                    for remark in waiting.drain(..) {
                        text = format!("{text}\n{remark}");
                    }
                    let result = tripwire_core::label::cut(&outcome.output, RESULT_BYTES_MAX).to_owned();
                    Answer::Override { text, result }
                }
                None => tell(waiting),
            }
        }
        Event::Claimed(_) => match prompt_of_claim(last) {
            Some(prompt) => Answer::SendBack(prompt.to_owned()),
            None => Answer::Pass,
        },
        Event::Prompt => tell(waiting),
        Event::ModelAsked { .. }
        | Event::AgentStarted
        | Event::SessionStarted(_)
        | Event::SessionEnded
        | Event::AgentEnded
        | Event::Compacting
        | Event::Compacted
        | Event::Other => Answer::Pass,
    }
}

/// The request's own refusal, or that of a sub-agent that has no place in the tree.
fn refuses_a_call(decision: &Decision, last: &Decision) -> bool {
    !decision.safety.allowed && (decision.i == last.i || decision.safety.rule == Rule::GateAgents)
}

/// A throttle of the minute must not cost a person's prompt or a model request: the tool call behind it waits.
fn is_refused(decision: &Decision) -> bool {
    !decision.safety.allowed && decision.safety.error.is_some()
}

fn refuse(decision: &Decision) -> Answer {
    let retry = decision.safety.retry_after_ms.map(|wait| format!("; try again in {} s", wait.get().div_ceil(1_000)));
    let reason =
        format!("tripwire: {}{} [{}]", decision.safety.reason, retry.unwrap_or_default(), decision.safety.rule.id());
    Answer::Refuse { reason, turn: turn_of(decision) }
}

/// The same for a held call that waited, and that nobody answered.
pub(super) fn unanswered(answer: Answer, waited: Duration) -> Answer {
    match answer {
        Answer::Refuse { reason, turn } => {
            Answer::Refuse { reason: format!("{reason}; nobody answered within {} s", waited.as_secs()), turn }
        }
        Answer::Pass | Answer::Tell(_) | Answer::Override { .. } | Answer::Shorten(_) | Answer::SendBack(_) => answer,
    }
}

/// The same in a session that is held: whatever is refused there, the turn ends, because nothing else would pass either.
#[must_use]
pub fn in_held_session(answer: Answer, held: &str) -> Answer {
    match answer {
        Answer::Refuse { reason, turn: Turn::GoesOn } => {
            Answer::Refuse { reason: format!("{reason}; {held}"), turn: Turn::Ends }
        }
        Answer::Refuse { turn: Turn::Ends, .. }
        | Answer::Pass
        | Answer::Tell(_)
        | Answer::Override { .. }
        | Answer::Shorten(_)
        | Answer::SendBack(_) => answer,
    }
}

/// What holds or ended the session, in words; nothing where it may go on.
#[must_use]
pub fn held_words(view: &ChainView) -> Option<String> {
    let ended = view.stopped.map(|reason| reason.explain());
    ended.or_else(|| view.binding_hold().map(|hold| hold.explain())).map(str::to_owned)
}

/// Whether the turn is to end: always when only a person, or a new prompt, can change the answer. A permission that is missing
/// for one thing is not missing for the next.
#[must_use]
pub fn turn_of(decision: &Decision) -> Turn {
    match &decision.safety.error {
        Some(EnforcementError::CycleTermination(error)) => match error {
            CycleTerminationError::Held(
                HoldReason::Loop
                | HoldReason::NoProgress
                | HoldReason::IterationCap
                | HoldReason::SoftSuspend
                | HoldReason::Money
                | HoldReason::Context
                | HoldReason::GuardFailure
                | HoldReason::UnreadBlocker
                | HoldReason::UnreadCheckpoint
                | HoldReason::Converged
                | HoldReason::Paused,
            )
            | CycleTerminationError::Stopped(_)
            | CycleTerminationError::MaxSteps => Turn::Ends,
        },
        Some(EnforcementError::WallClockTimeout(_) | EnforcementError::GuardFailure(_)) => Turn::Ends,
        Some(
            EnforcementError::PermissionDenied(_)
            | EnforcementError::FloorHeld(_)
            | EnforcementError::ReviewGating(_)
            | EnforcementError::AgentLimit(_)
            | EnforcementError::ToolLimit(_),
        ) => Turn::GoesOn,
        None if decision.safety.veto_reason == Some(SafetyVeto::HealthDegraded) => Turn::Ends,
        None => Turn::GoesOn,
    }
}

/// The remarks that wait, as one text.
fn tell(waiting: &mut Vec<String>) -> Answer {
    if waiting.is_empty() { Answer::Pass } else { Answer::Tell(std::mem::take(waiting).join("\n")) }
}

/// What a decision has to say to the agent beside its answer: a budget or a context that runs out, a report that waits.
fn remarks(decision: &Decision) -> impl Iterator<Item = String> {
    let context = decision.effects.iter().any(|effect| matches!(effect, Effect::WarnContext | Effect::Compact));
    decision.findings.iter().filter_map(move |finding| match finding.kind {
        FindingKind::CompactionGate if context => Some(format!("tripwire: {}", finding.reason)),
        FindingKind::BudgetWarning => Some(format!("tripwire: {}", finding.reason)),
        // A report of a loop that an earlier session left.
        FindingKind::LoopDetected if finding.rule == Rule::Progress => Some(format!("tripwire: {}", finding.reason)),
        FindingKind::CompactionGate
        | FindingKind::SoftLoop
        | FindingKind::HardLoop
        | FindingKind::InfiniteLoop
        | FindingKind::LoopOverride
        | FindingKind::SystemError
        | FindingKind::LoopDetected
        | FindingKind::RunawayDetected
        | FindingKind::TokenWarning
        | FindingKind::ToolCallWarning
        | FindingKind::NoProgress
        | FindingKind::DirtyBitViolation
        | FindingKind::IterationCap
        | FindingKind::CycleTermination
        | FindingKind::WallClockTimeout
        | FindingKind::PermissionDenied
        | FindingKind::ReviewGating
        | FindingKind::GuardFailure
        | FindingKind::PolicyDrift
        | FindingKind::ManualOverride
        | FindingKind::HealthDegraded
        | FindingKind::ClockClamped
        | FindingKind::EngineSwitch
        | FindingKind::ToolChanged
        | FindingKind::ToolSuspicious
        | FindingKind::SandboxHeld => None,
    })
}

/// The prompt of the dirty-bit gate; other prompts, such as that of a budget, do not refuse an end.
fn prompt_of_claim(decision: &Decision) -> Option<&str> {
    decision.sent_back()?;
    decision
        .effects
        .iter()
        .find_map(|effect| if let Effect::Prompt(text) = effect { Some(text.as_str()) } else { None })
}

/// The typed constraint of a decision as one line, with what the repetition has cost and since when.
fn override_in(decision: &Decision) -> Option<String> {
    let given = |effect: &Effect| if let Effect::Inject(given) = effect { Some(override_text(given)) } else { None };
    let mut text = decision.effects.iter().find_map(given)?;
    if let Some(finding) = decision.findings.iter().max_by_key(|finding| finding.level) {
        if let Some(first) = finding.evidence.indices().first() {
            text.push_str(&format!(" since=#{first}"));
        }
        if !finding.price.is_nothing() {
            let Price { micro_usd, tokens } = finding.price;
            text.push_str(&format!(" cost={} ({tokens} tokens)", micro_usd.in_dollars()));
        }
    }
    text.push_str(" next=\"take another approach, or say what stands in the way\"");
    Some(text)
}

/// What must not be repeated; the advisor's words stay a quoted field of it.
fn override_text(given: &LoopOverride) -> String {
    let mut text = format!("LOOP_OVERRIDE do_not_repeat={:?} seen={}", given.do_not_repeat.as_str(), given.seen);
    for (name, same) in [("result", given.result), ("workspace", given.workspace)] {
        if let Some(word) = word(same) {
            text.push_str(&format!(" {name}={word}"));
        }
    }
    if let Some(advice) = &given.advice {
        text.push_str(&format!(" advice={:?}", advice.as_str()));
    }
    text
}

/// Nothing is stated that was not measured.
const fn word(same: Sameness) -> Option<&'static str> {
    match same {
        Sameness::Identical => Some("identical"),
        Sameness::Changed => Some("changed"),
        Sameness::Unknown => None,
    }
}
