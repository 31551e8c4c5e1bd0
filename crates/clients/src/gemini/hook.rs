//! Gemini CLI's dialect, as measured on the real client.
//!
//! `continue: false` before a tool keeps the tool from running and ends the turn. A denied model request is a true gate
//! for budgets: nothing is asked and the turn ends. `PreCompress` comes before every model request, whether or not
//! anything is compressed, and means nothing.

use crate::hooks::answer::Turn;
use crate::hooks::dialect::{AfterTool, CallIds, ContextEvents, HookDialect, Shortening, StepSource, TurnEnd};
use crate::hooks::event::{Event, ToolCall};
use crate::hooks::reply::{HookError, Reply};
use crate::hooks::wire::{HookInput, raw, text};
use crate::tool_servers::guarded::server_tool;
use crate::transcript::ToolOutput;
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
    shortens: Shortening::No,
    context: ContextEvents { before_tool: None, prompt: "BeforeAgent", agent_start: None },
    project_variables: &["GEMINI_PROJECT_DIR"],
    step_source: StepSource::ModelRequests,
    call_ids: CallIds::Unnamed,
    idle_arguments,
    turn_end: TurnEnd::ByAnswer,
    // Its hooks name no calls.
    announces: |_| false,
    shows_run: |_| true,
    agent_transcript: |_, _| None,
};

/// What an event means.
fn event(wire: &HookInput<'_>) -> Result<Event, HookError> {
    Ok(match wire.hook_event_name.as_ref() {
        "BeforeTool" => Event::Asked(named(wire, wire.tool()?)),
        "AfterTool" => {
            let ended = wire.done(response(wire.tool_response))?;
            if let Event::Done(tool, outcome) = ended { Event::Done(named(wire, tool), outcome) } else { ended }
        }
        "BeforeAgent" => Event::Prompt,
        "BeforeModel" => Event::ModelAsked { model: model(wire.llm_request) },
        "AfterAgent" => wire.claimed(),
        "SessionStart" => wire.started(),
        "SessionEnd" => Event::SessionEnded,
        _ => Event::Other,
    })
}

/// A tool of a server by the name that every door gives it; the client's own has one `_` between the parts.
fn named(wire: &HookInput<'_>, tool: ToolCall) -> ToolCall {
    #[derive(Deserialize)]
    struct ServerTool {
        server_name: String,
        tool_name: String,
    }
    match serde_json::from_str::<ServerTool>(raw(wire.mcp_context)) {
        Ok(of) => ToolCall { name: server_tool(&of.server_name, &of.tool_name), ..tool },
        Err(_) => tool,
    }
}

fn model(request: Option<&RawValue>) -> String {
    #[derive(Deserialize)]
    struct Request {
        model: Option<String>,
    }
    serde_json::from_str::<Request>(raw(request)).ok().and_then(|request| request.model).unwrap_or_default()
}

/// What a tool gave.
fn response(response: Option<&RawValue>) -> ToolOutput {
    #[derive(Deserialize)]
    struct Fields<'a> {
        #[serde(borrow, rename = "llmContent")]
        content: Option<&'a RawValue>,
        #[serde(borrow)]
        error: Option<&'a RawValue>,
    }
    let Ok(fields) = serde_json::from_str::<Fields<'_>>(raw(response)) else {
        return ToolOutput::new(text(response), None);
    };
    let failed = fields.error.is_some_and(|error| error.get() != "null").then_some(true);
    ToolOutput { failed, ..without_frame(&text(fields.content)) }
}

/// Arguments that do not change what a tool does.
fn idle_arguments(tool: &str) -> &'static [&'static str] {
    match tool {
        "run_shell_command" => &["description", "timeout"],
        "read_file" => &["limit"],
        _ => &[],
    }
}

/// A result without the client's own frame: the marks around it, the command's name before it, and the process numbers and
/// exit code behind it.
pub(crate) fn without_frame(content: &str) -> ToolOutput {
    let unmarked: Vec<&str> = content.lines().filter(|line| !line.ends_with("untrusted_context>")).collect();
    let start = unmarked.iter().position(|line| line.starts_with("Output: ") || *line == "Output:");
    let framed = start.filter(|start| {
        let before = unmarked.iter().take(*start);
        before.into_iter().all(|line| line.starts_with("Command: ") || line.starts_with("Directory: "))
    });
    let Some(start) = framed else {
        let own: Vec<&str> = unmarked.into_iter().filter(|line| !line.starts_with("Process Group PGID: ")).collect();
        return ToolOutput::new(own.join("\n"), None);
    };
    let mut lines = unmarked.get(start..).unwrap_or_default().to_vec();
    let mut exit_code = None;
    while let Some(name) = lines.last().and_then(|line| FRAME.iter().find(|name| line.starts_with(**name))) {
        let value = lines.pop().and_then(|line| line.strip_prefix(*name)).unwrap_or_default().trim();
        if *name == "Exit Code: " {
            exit_code = value.parse().ok();
        }
    }
    if let Some(first) = lines.first_mut() {
        *first = first.strip_prefix("Output:").unwrap_or(first).trim_start_matches(' ');
    }
    let text = if lines == ["(empty)"] { String::new() } else { lines.join("\n") };
    ToolOutput { text, failed: None, exit_code }
}

/// The lines behind a command's output.
const FRAME: [&str; 6] =
    ["Error: (none)", "Exit Code: ", "Signal: ", "Background PIDs: ", "Process Group PGID: ", "Process Group PID: "];

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
        let code = |text: &str| (without_frame(text).text, without_frame(text).exit_code);
        assert_eq!(code(content), ("tick".to_owned(), None));
        let failed = "Command: make\nDirectory: (root)\nOutput: a\nb\nError: (none)\nExit Code: 2\nSignal: (none)\nProcess Group PGID: 7";
        assert_eq!(code(failed), ("a\nb".to_owned(), Some(2)));
        assert_eq!(code("Output: (empty)\nExit Code: 1"), (String::new(), Some(1)));
        // A file that is read may hold such lines.
        assert_eq!(code("# Notes\nOutput: x\nExit Code: 1"), ("# Notes\nOutput: x\nExit Code: 1".to_owned(), None));
    }
}
