//! Claude Code's dialect, as measured on the real client.
//!
//! A refused call needs `permissionDecision: "deny"`; to end the turn as well it needs `continue: false` in the same
//! answer, because a denied agent keeps asking its model. `hookEventName` is mandatory, or the whole answer is thrown
//! away. A refused prompt makes no model request at all.

use super::{HookError, Reply, refusal};
use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;
use std::path::PathBuf;
use tripwire_core::chain::event::AgentEvent;
use tripwire_core::decision::Decision;
use tripwire_core::effect::{Effect, LoopOverride};
use tripwire_core::enforcement::{CycleTerminationError, EnforcementError};
use tripwire_core::input::{Authority, Claim, Grant, Permission, Request, What};
use tripwire_core::label::Label;
use tripwire_core::observe::{Observer, RawCall, observe};
use tripwire_core::units::{Count, RunMillis};

/// The client's name in our records.
pub const CLIENT: &str = "claude";

/// One call of the hook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookCall {
    /// The client's own session.
    pub session: String,
    /// Where the agent works.
    pub cwd: PathBuf,
    /// What happened.
    event: Event,
}

/// The events that mean something to the engine; all others are observed and let pass.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Event {
    /// A tool is about to run.
    PreToolUse { tool: String, input: String },
    /// A tool ran.
    PostToolUse { tool: String, input: String, output: String, failed: bool, duration_ms: u64 },
    /// A person, or a script in a person's name, speaks.
    UserPromptSubmit,
    /// The agent says that it is done.
    Stop,
    /// Anything else.
    Other,
}

#[derive(Deserialize)]
struct Wire<'a> {
    session_id: String,
    cwd: PathBuf,
    hook_event_name: String,
    tool_name: Option<String>,
    #[serde(borrow)]
    tool_input: Option<&'a RawValue>,
    #[serde(borrow)]
    tool_response: Option<&'a RawValue>,
    error: Option<String>,
    duration_ms: Option<u64>,
}

/// Reads what the client sends.
///
/// # Errors
/// When it is not JSON of the client's form; unknown fields and unknown events are not an error.
pub fn read(bytes: &[u8]) -> Result<HookCall, HookError> {
    let wire: Wire<'_> = serde_json::from_slice(bytes).map_err(|error| HookError { problem: error.to_string() })?;
    let missing = || HookError { problem: format!("`{}` names no tool", wire.hook_event_name) };
    let text = |value: Option<&RawValue>| value.map_or_else(String::new, |value| value.get().to_owned());
    let event = match wire.hook_event_name.as_str() {
        "PreToolUse" => {
            Event::PreToolUse { tool: wire.tool_name.clone().ok_or_else(missing)?, input: text(wire.tool_input) }
        }
        "PostToolUse" | "PostToolUseFailure" => Event::PostToolUse {
            tool: wire.tool_name.clone().ok_or_else(missing)?,
            input: text(wire.tool_input),
            failed: wire.error.is_some(),
            output: wire.error.unwrap_or_else(|| response_text(wire.tool_response)),
            duration_ms: wire.duration_ms.unwrap_or(0),
        },
        "UserPromptSubmit" => Event::UserPromptSubmit,
        "Stop" => Event::Stop,
        _ => Event::Other,
    };
    Ok(HookCall { session: wire.session_id, cwd: wire.cwd, event })
}

/// What a tool gave, as text: what a command wrote, else the whole response as the client sent it.
fn response_text(response: Option<&RawValue>) -> String {
    #[derive(Deserialize)]
    struct Shell {
        stdout: String,
        #[serde(default)]
        stderr: String,
    }
    let Some(response) = response else { return String::new() };
    match serde_json::from_str::<Shell>(response.get()) {
        Ok(shell) if shell.stderr.is_empty() => shell.stdout,
        Ok(shell) => format!("{}\n{}", shell.stdout, shell.stderr),
        Err(_) => response.get().to_owned(),
    }
}

impl HookCall {
    /// Whether the engine has anything to say about it; all other events are let pass without a look.
    #[must_use]
    pub const fn concerns_the_engine(&self) -> bool {
        match self.event {
            Event::PreToolUse { .. } | Event::PostToolUse { .. } | Event::UserPromptSubmit | Event::Stop => true,
            Event::Other => false,
        }
    }

    /// The input that the engine gets; `None` for events that are only observed. The observer is the session's: what a
    /// result brings anew is judged against what came before.
    #[must_use]
    pub fn input(&self, observer: &mut Observer) -> Option<What> {
        match &self.event {
            Event::PreToolUse { tool, input } => {
                let facts = observe(&RawCall { tool, args: input, ..RawCall::default() });
                let authority = Authority {
                    grant: Grant::Granted,
                    identity: None,
                    permission: Permission::CanExecuteTasks,
                    role: Label::cut("developer"),
                };
                Some(What::Request(Request {
                    action: facts.action,
                    authority: Some(authority),
                    floor: None,
                    proposal: None,
                    reserve_micro_usd: None,
                }))
            }
            Event::PostToolUse { tool, input, output, failed, duration_ms } => {
                let raw =
                    RawCall { tool, args: input, output: Some(output), error: Some(*failed), ..RawCall::default() };
                let facts = observer.observe(&raw);
                Some(What::Event(AgentEvent {
                    action: Some(facts.action),
                    outcome: Some(facts.outcome),
                    flags: facts.flags,
                    latency_ms: RunMillis::new(*duration_ms),
                    output_hash: facts.output_hash,
                    output_length: facts.output_length,
                    result_digest: facts.result_digest,
                    error_digest: facts.error_digest,
                    error_kind: facts.error_kind,
                    gain: facts.gain,
                    sketch: facts.sketch,
                    tool_calls: Count::new(1),
                    ..AgentEvent::default()
                }))
            }
            Event::UserPromptSubmit => Some(What::IterationStarted),
            Event::Stop => Some(What::Claim(Claim::default())),
            Event::Other => None,
        }
    }

    /// The decision in the client's words.
    #[must_use]
    pub fn reply(&self, decision: &Decision) -> Reply {
        match &self.event {
            Event::PreToolUse { .. } if !decision.safety.allowed => deny(&refusal(decision), is_over(decision)),
            Event::PostToolUse { .. } => {
                override_in(decision).map_or_else(Reply::default, |told| context("PostToolUse", &override_text(told)))
            }
            Event::UserPromptSubmit if !decision.safety.allowed => Reply {
                stdout: json!({"decision": "block", "reason": refusal(decision)}).to_string(),
                ..Reply::default()
            },
            Event::Stop => prompt_in(decision).map_or_else(Reply::default, |prompt| Reply {
                stdout: json!({"decision": "block", "reason": prompt}).to_string(),
                ..Reply::default()
            }),
            Event::PreToolUse { .. } | Event::UserPromptSubmit | Event::Other => Reply::default(),
        }
    }
}

/// The refusal of an event that could not even be decided: every event has a form in which this blocks.
#[must_use]
pub fn broken(why: &str) -> Reply {
    Reply { stdout: String::new(), stderr: format!("tripwire: the guard is broken: {why}"), exit_code: 2 }
}

/// Whether the turn is to end as well: a held or paused agent may ask again, an ended session may not.
fn is_over(decision: &Decision) -> Turn {
    match &decision.safety.error {
        Some(EnforcementError::CycleTermination(CycleTerminationError::Stopped(_))) => Turn::Ends,
        Some(
            EnforcementError::CycleTermination(CycleTerminationError::Held(_) | CycleTerminationError::MaxSteps)
            | EnforcementError::PermissionDenied(_)
            | EnforcementError::FloorHeld(_)
            | EnforcementError::WallClockTimeout(_)
            | EnforcementError::ReviewGating(_)
            | EnforcementError::GuardFailure(_),
        )
        | None => Turn::GoesOn,
    }
}

/// Whether the agent's turn goes on after a refusal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Turn {
    GoesOn,
    Ends,
}

fn deny(reason: &str, turn: Turn) -> Reply {
    let decision = json!({
        "hookEventName": "PreToolUse", "permissionDecision": "deny", "permissionDecisionReason": reason,
    });
    let answer = match turn {
        Turn::GoesOn => json!({"hookSpecificOutput": decision}),
        Turn::Ends => json!({"continue": false, "stopReason": reason, "hookSpecificOutput": decision}),
    };
    Reply { stdout: answer.to_string(), ..Reply::default() }
}

fn context(event: &str, text: &str) -> Reply {
    let answer = json!({"hookSpecificOutput": {"hookEventName": event, "additionalContext": text}});
    Reply { stdout: answer.to_string(), ..Reply::default() }
}

fn override_in(decision: &Decision) -> Option<&LoopOverride> {
    decision.effects.iter().find_map(|effect| if let Effect::Inject(told) = effect { Some(told) } else { None })
}

fn prompt_in(decision: &Decision) -> Option<&str> {
    decision
        .effects
        .iter()
        .find_map(|effect| if let Effect::Prompt(text) = effect { Some(text.as_str()) } else { None })
}

fn override_text(told: &LoopOverride) -> String {
    let word = |value: &tripwire_core::effect::Sameness| {
        serde_json::to_value(value).ok().and_then(|value| value.as_str().map(str::to_owned)).unwrap_or_default()
    };
    format!(
        "LOOP_OVERRIDE do_not_repeat={} seen={} result={} workspace={}",
        told.do_not_repeat,
        told.seen,
        word(&told.result),
        word(&told.workspace)
    )
}
