//! Gemini CLI's dialect, as measured on the real client.
//!
//! `continue: false` before a tool keeps the tool from running and ends the turn. A denied model request is a true gate
//! for budgets: nothing is asked and the turn ends. `PreCompress` comes before every model request, whether or not
//! anything is compressed, and means nothing.

use crate::hooks::answer::Turn;
use crate::hooks::dialect::{AfterTool, CallIds, ContextEvents, HookDialect, StepSource, TurnEnd};
use crate::hooks::event::Event;
use crate::hooks::reply::{HookError, Reply};
use crate::hooks::wire::{HookInput, raw, text};
use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;

/// The dialect of its hooks.
pub(super) static HOOKS: HookDialect = HookDialect {
    event,
    reports: &[
        "AfterAgent",
        "AfterModel",
        "BeforeToolSelection",
        "SessionStart",
        "SessionEnd",
        "PreCompress",
        "Notification",
    ],
    deny,
    block: "deny",
    after_tool: AfterTool::EndsTurn,
    context: ContextEvents { before_tool: None, after_tool: "AfterTool", prompt: "BeforeAgent", agent_start: None },
    project_variables: &["GEMINI_PROJECT_DIR"],
    step_source: StepSource::ModelRequests,
    call_ids: CallIds::Unnamed,
    turn_end: TurnEnd::ByAnswer,
    agent_transcript: |_, _| None,
};

/// What an event means.
fn event(wire: &HookInput<'_>) -> Result<Event, HookError> {
    Ok(match wire.hook_event_name.as_ref() {
        "BeforeTool" => Event::Asked(wire.tool()?),
        "AfterTool" => {
            let response = Response::read(wire.tool_response);
            wire.done(response.output, response.failed)?
        }
        "BeforeAgent" => Event::Prompt,
        "BeforeModel" => Event::ModelAsked { model: model(wire.llm_request) },
        "AfterAgent" => wire.claimed(),
        "SessionStart" => wire.started(),
        "SessionEnd" => Event::SessionEnded,
        _ => Event::Other,
    })
}

fn model(request: Option<&RawValue>) -> String {
    #[derive(Deserialize)]
    struct Request {
        model: Option<String>,
    }
    serde_json::from_str::<Request>(raw(request)).ok().and_then(|request| request.model).unwrap_or_default()
}

/// What a tool gave.
struct Response {
    output: String,
    failed: Option<bool>,
}

impl Response {
    fn read(response: Option<&RawValue>) -> Self {
        #[derive(Deserialize)]
        struct Fields<'a> {
            #[serde(borrow, rename = "llmContent")]
            content: Option<&'a RawValue>,
            #[serde(borrow)]
            error: Option<&'a RawValue>,
        }
        let Ok(fields) = serde_json::from_str::<Fields<'_>>(raw(response)) else {
            return Self { output: text(response), failed: None };
        };
        let failed = fields.error.is_some_and(|error| error.get() != "null").then_some(true);
        Self { output: plain(&text(fields.content)), failed }
    }
}

/// A result without the client's own wrapper, whose process number differs each time.
pub(crate) fn plain(content: &str) -> String {
    let own = |line: &&str| !line.starts_with("Process Group PGID: ") && !line.ends_with("untrusted_context>");
    content.lines().filter(own).collect::<Vec<_>>().join("\n")
}

fn deny(reason: &str, turn: Turn) -> Reply {
    Reply::json(&match turn {
        Turn::GoesOn => json!({"decision": "deny", "reason": reason}),
        Turn::Ends => json!({"continue": false, "stopReason": reason, "decision": "deny", "reason": reason}),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clients_wrapper_is_no_part_of_a_result() {
        let content = "<untrusted_context>\nOutput: tick\nProcess Group PGID: 21106\n</untrusted_context>";
        assert_eq!(plain(content), "Output: tick");
    }
}
