//! One call of a hook: which client calls, from where, and what for.

use super::answer::{Answer, Turn};
use super::dialect::{AfterTool, Shortening};
use super::event::{Agent, Event, PersonAsk};
use super::reply::{HookError, Reply};
use super::short_result::ShortResult;
use super::wire::{self, HookInput};
use crate::client::Client;
use serde_json::json;
use std::path::PathBuf;
use tripwire_core::units::Count;

/// One call of the hook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookCall {
    /// Who calls.
    pub client: Client,
    /// The client's own session; sub-agents share their parent's.
    pub session: String,
    /// Where the agent works.
    pub cwd: PathBuf,
    /// The client's own record of the session.
    pub transcript: Option<PathBuf>,
    /// The sub-agent that acts, if it is not the main one.
    pub agent: Option<Agent>,
    /// What the client calls the event.
    pub event_name: String,
    /// What happened.
    pub event: Event,
    /// What a person said, where one speaks.
    pub prompt: Option<String>,
    /// A result in the client's own form, where a hook may put another one in its place.
    pub response: Option<String>,
    /// Why a person is to be asked about the call, where the one who tells of it knows a reason.
    pub asks: Option<PersonAsk>,
    /// Equal calls that are running, where the one who tells of it knows: nothing that a client writes is believed here.
    pub running: Count,
}

impl HookCall {
    /// Whether the engine has anything to say about it; all other events are let pass without a look.
    #[must_use]
    pub const fn concerns_the_engine(&self) -> bool {
        match self.event {
            Event::SessionStarted(_)
            | Event::SessionEnded
            | Event::Prompt
            | Event::ModelAsked { .. }
            | Event::Asked(_)
            | Event::Done(..)
            | Event::Claimed(_)
            | Event::AgentStarted
            | Event::AgentEnded
            | Event::Compacting
            | Event::Compacted => true,
            Event::Other => false,
        }
    }
}

/// Reads what a client sends to its hook.
///
/// # Errors
/// When it is not JSON of the client's form. Unknown fields are ignored and unknown events are [`Event::Other`].
pub fn read(client: Client, bytes: &[u8]) -> Result<HookCall, HookError> {
    let input: HookInput<'_> =
        serde_json::from_slice(bytes).map_err(|error| HookError { problem: error.to_string() })?;
    let event = (client.adapter().hooks.event)(&input)?;
    let transcript = input.agent_transcript_path;
    let agent = input.agent_id.map(|id| Agent { id, transcript });
    let takes_another = matches!(event, Event::Done(..)) && client.adapter().hooks.shortens == Shortening::ByOutput;
    let response = input.tool_response.filter(|_| takes_another).map(|response| response.get().to_owned());
    let prompt = input.prompt.and_then(|prompt| serde_json::from_str(prompt.get()).ok());
    Ok(HookCall {
        client,
        session: input.session_id,
        cwd: input.cwd,
        transcript: input.transcript_path,
        agent,
        event_name: input.hook_event_name.into_owned(),
        event,
        prompt,
        response,
        asks: input.asks.filter(|_| client == Client::Mcp),
        running: Count::ZERO,
    })
}

/// Puts an answer into the client's own words; what an event cannot carry is not said.
#[must_use]
pub fn say(call: &HookCall, answer: &Answer) -> Reply {
    let hooks = call.client.adapter().hooks;
    let (events, can) = (&hooks.context, hooks.after_tool);
    let beside = |event: Option<&str>, text: &str| event.map(|event| Reply::context(event, text)).unwrap_or_default();
    let block = |reason: &str| Reply::json(&json!({"decision": hooks.block, "reason": reason}));
    match (&call.event, answer) {
        (_, Answer::Pass) => Reply::default(),
        (Event::Asked(_) | Event::ModelAsked { .. }, Answer::Refuse { reason, turn }) => (hooks.deny)(reason, *turn),
        (Event::Asked(_), Answer::Tell(text)) => beside(events.before_tool, text),
        (Event::Done(..), Answer::Tell(text)) => beside(Some(&call.event_name), text),
        (Event::Done(..), Answer::Override { text, result }) => match can {
            // A failed call has an event of its own, and a text under another's name is thrown away.
            AfterTool::EndsTurn => beside(Some(&call.event_name), text),
            AfterTool::ReplacesResult => block(&format!("{text}\n\n{result}")),
        },
        (Event::Done(_, outcome), Answer::Shorten(short)) => match hooks.shortens {
            Shortening::No => {
                short.beside.as_deref().map_or_else(Reply::default, |text| beside(Some(&call.event_name), text))
            }
            Shortening::ByReason => {
                let kept = short.of_text(&outcome.output);
                block(&short.beside.as_ref().map_or_else(|| kept.clone(), |text| format!("{text}\n\n{kept}")))
            }
            Shortening::ByOutput => rewritten(call, short),
        },
        (Event::Done(..), Answer::Refuse { reason, turn }) => match (can, turn) {
            (AfterTool::EndsTurn, Turn::Ends) => Reply::json(&json!({"continue": false, "stopReason": reason})),
            (AfterTool::EndsTurn, Turn::GoesOn) => Reply::default(),
            (AfterTool::ReplacesResult, Turn::Ends | Turn::GoesOn) => block(reason),
        },
        (Event::Prompt, Answer::Refuse { reason, .. }) | (Event::Claimed(_), Answer::SendBack(reason)) => block(reason),
        (Event::Prompt, Answer::Tell(text)) => beside(Some(events.prompt), text),
        (Event::SessionStarted(_), Answer::Tell(text)) => beside(Some("SessionStart"), text),
        (Event::AgentStarted, Answer::Tell(text) | Answer::Refuse { reason: text, .. }) => {
            beside(events.agent_start, text)
        }
        (
            Event::SessionStarted(_)
            | Event::SessionEnded
            | Event::Prompt
            | Event::ModelAsked { .. }
            | Event::Asked(_)
            | Event::Done(..)
            | Event::Claimed(_)
            | Event::AgentStarted
            | Event::AgentEnded
            | Event::Compacting
            | Event::Compacted
            | Event::Other,
            Answer::Refuse { .. }
            | Answer::Tell(_)
            | Answer::Override { .. }
            | Answer::Shorten(_)
            | Answer::SendBack(_),
        ) => Reply::default(),
    }
}

/// A result with less in it, in the form in which its client gave it. The event of a failed call takes none.
fn rewritten(call: &HookCall, short: &ShortResult) -> Reply {
    let mut said = json!({"hookEventName": call.event_name});
    if let Some(text) = &short.beside {
        said["additionalContext"] = json!(text);
    }
    if let Some(output) = call.response.as_deref().and_then(|response| short.of_response(response)) {
        said["updatedToolOutput"] = output;
    }
    if said.as_object().is_some_and(|said| said.len() == 1) {
        return Reply::default();
    }
    Reply::json(&json!({"hookSpecificOutput": said}))
}

/// Whether an answer may wait for the end of a pause: what asks for leave to go on, and what would end the turn behind a
/// result. A prompt is a person's, who is told at once.
#[must_use]
pub fn waits_out_pause(call: &HookCall, reply: &Reply) -> bool {
    match call.event {
        Event::Asked(_) | Event::ModelAsked { .. } | Event::Done(..) => *reply != Reply::default(),
        Event::Prompt
        | Event::SessionStarted(_)
        | Event::SessionEnded
        | Event::Claimed(_)
        | Event::AgentStarted
        | Event::AgentEnded
        | Event::Compacting
        | Event::Compacted
        | Event::Other => false,
    }
}

/// Whether an event asks for leave to go on, judged also from an input that is not understood as a whole: if nothing
/// names the event, it does.
#[must_use]
pub fn asks_to_go_on(client: Client, input: &[u8]) -> bool {
    wire::event_name(input).is_none_or(|name| !client.adapter().hooks.reports.contains(&name))
}

/// The answer to an event that could not be decided. What asks to go on is refused (exit code 2 with a reason blocks on
/// every client); what only reports, or wants to end, is let go with a message: refusing an end would keep an agent busy.
#[must_use]
pub fn broken(client: Client, input: &[u8], why: &str) -> Reply {
    let text = format!("tripwire: the guard is broken: {why}");
    if asks_to_go_on(client, input) {
        Reply { stdout: String::new(), stderr: text, exit_code: 2 }
    } else {
        Reply::json(&json!({ "systemMessage": text }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_only_reports_is_known_in_a_broken_input_and_everything_else_asks() {
        assert!(!asks_to_go_on(Client::Claude, br#"{"hook_event_name":"Stop""#));
        assert!(asks_to_go_on(Client::Codex, br#"{"hook_event_name":"PreToolUse""#));
        assert!(asks_to_go_on(Client::Gemini, b"nothing"), "what is not known is refused");
    }
}
