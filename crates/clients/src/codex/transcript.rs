//! Codex CLI's rollout: calls and results as the model saw them, and the tokens of the whole thread, told again and again
//! as they grow.

use crate::hooks::event::ToolCall;
use crate::token_count::TokenCount;
use crate::transcript::{
    Announcement, AnswerFigures, CallOutcome, CountedBy, FigureOrder, Item, LineForm, RawResult, RawToolCall,
    ToolOutput, TranscriptDialect, elements, text_of, value_of,
};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use std::borrow::Cow;
use std::path::Path;
use tripwire_core::units::Tokens;
use tripwire_core::usage::Usage;

/// Its record of a session.
pub(super) static TRANSCRIPT: TranscriptDialect = TranscriptDialect {
    folder: "sessions",
    is_transcript,
    names_workspace: true,
    read_line: read,
    may_be_answer,
    lines_of_whole_file: |_| None,
    figures: FigureOrder::BehindCalls,
    folder_in_line,
};

fn folder_in_line(line: &str) -> Option<String> {
    #[derive(Deserialize)]
    struct Meta {
        payload: Option<MetaFolder>,
    }
    #[derive(Deserialize)]
    struct MetaFolder {
        cwd: Option<String>,
    }
    if !line.contains("\"cwd\"") {
        return None;
    }
    serde_json::from_str::<Meta>(line).ok()?.payload?.cwd
}

fn is_transcript(path: &Path) -> bool {
    let is_rollout = path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"rollout-"));
    is_rollout && path.extension().is_some_and(|extension| extension == "jsonl")
}

/// Tools that run something and pass a hook; the client's other tools act on the client itself.
pub(super) const GUARDED: [&str; 4] = ["exec_command", "shell", "shell_command", "local_shell"];

#[derive(Deserialize)]
struct CodexLine<'a> {
    #[serde(borrow, rename = "type")]
    kind: Cow<'a, str>,
    #[serde(borrow)]
    payload: Option<&'a RawValue>,
    #[serde(borrow)]
    timestamp: Option<&'a RawValue>,
}

/// The fields of all payloads that matter.
#[derive(Deserialize)]
struct CodexPayload<'a> {
    #[serde(borrow, rename = "type")]
    kind: Option<Cow<'a, str>>,
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    #[serde(borrow)]
    model: Option<&'a RawValue>,
    #[serde(borrow)]
    call_id: Option<&'a RawValue>,
    #[serde(borrow)]
    name: Option<&'a RawValue>,
    #[serde(borrow)]
    arguments: Option<&'a RawValue>,
    #[serde(borrow)]
    input: Option<&'a RawValue>,
    #[serde(borrow)]
    action: Option<&'a RawValue>,
    #[serde(borrow)]
    output: Option<&'a RawValue>,
    #[serde(borrow)]
    role: Option<&'a RawValue>,
    #[serde(borrow)]
    content: Option<&'a RawValue>,
    #[serde(borrow)]
    message: Option<&'a RawValue>,
    #[serde(borrow)]
    response_id: Option<&'a RawValue>,
    #[serde(borrow)]
    usage: Option<&'a RawValue>,
    #[serde(borrow)]
    thread_token_usage: Option<&'a RawValue>,
    #[serde(borrow)]
    info: Option<&'a RawValue>,
    model_context_window: Option<u64>,
    #[serde(borrow)]
    item: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct TokenInfo {
    total_token_usage: Option<CodexUsage>,
    last_token_usage: Option<CodexUsage>,
    model_context_window: Option<u64>,
}

#[derive(Deserialize)]
struct CompletedItem<'a> {
    #[serde(borrow, rename = "type")]
    kind: Option<Cow<'a, str>>,
    #[serde(borrow)]
    id: Option<Cow<'a, str>>,
    exit_code: Option<i32>,
}

#[derive(Deserialize)]
struct MessagePart<'a> {
    #[serde(borrow)]
    text: Option<&'a RawValue>,
}

#[derive(Deserialize, Clone, Copy, Default)]
#[serde(default)]
struct CodexUsage {
    input_tokens: TokenCount,
    cached_input_tokens: TokenCount,
    cache_write_input_tokens: TokenCount,
    output_tokens: TokenCount,
    reasoning_output_tokens: TokenCount,
}

/// Reads one line.
fn read<'a>(text: &'a str, items: &mut Vec<Item<'a>>) -> LineForm {
    let Ok(line) = serde_json::from_str::<CodexLine<'a>>(text) else {
        unreadable(text, items);
        return LineForm::Foreign;
    };
    let kinds = ["session_meta", "event_msg", "response_item", "turn_context", "token_usage_record", "compacted"];
    if !kinds.contains(&line.kind.as_ref()) {
        return LineForm::Foreign;
    }
    match line.payload.map(|payload| serde_json::from_str::<CodexPayload<'a>>(payload.get())) {
        Some(Ok(payload)) if read_payload(&line, &payload, items).is_ok() => {}
        Some(Ok(_) | Err(_)) => unreadable(text, items),
        None => {}
    }
    LineForm::Known
}

/// Whether a line that cannot be read may hold figures: they have lines of their own.
fn may_be_answer(line: &str) -> bool {
    line.contains("token_count") || line.contains("token_usage_record")
}

/// A line of figures that does not have their form counts by its size.
fn unreadable(text: &str, items: &mut Vec<Item<'_>>) {
    if text.starts_with('{') && may_be_answer(text) {
        items.push(Item::UnreadableAnswer);
    }
}

fn read_payload<'a>(
    line: &CodexLine<'a>,
    payload: &CodexPayload<'a>,
    items: &mut Vec<Item<'a>>,
) -> Result<(), serde_json::Error> {
    match (line.kind.as_ref(), payload.kind.as_deref()) {
        ("session_meta", _) => items.extend(text_of(payload.id).map(Item::Session)),
        ("turn_context", _) => items.push(Item::Model(text_of(payload.model))),
        ("response_item", Some(kind)) => response_item(kind, payload, line.timestamp, items),
        ("token_usage_record", _) => {
            let usage =
                |raw: Option<&RawValue>| raw.map(|raw| serde_json::from_str::<CodexUsage>(raw.get())).transpose();
            let id = Some(text_of(payload.response_id).unwrap_or_default());
            total(id, usage(payload.thread_token_usage)?, usage(payload.usage)?, items);
        }
        ("event_msg", Some("token_count")) => {
            let Some(info) = payload.info else { return Ok(()) };
            let info: TokenInfo = serde_json::from_str(info.get())?;
            items.extend(info.model_context_window.map(Item::Window));
            total(None, info.total_token_usage, info.last_token_usage, items);
        }
        ("event_msg", Some("task_started")) => items.extend(payload.model_context_window.map(Item::Window)),
        ("event_msg", Some("user_message")) => items.push(Item::Person),
        ("event_msg", Some("item_completed")) => {
            let item = payload.item.and_then(|item| serde_json::from_str::<CompletedItem<'a>>(item.get()).ok());
            match item {
                Some(item) if item.kind.as_deref() == Some("UserMessage") => items.push(Item::Person),
                Some(CompletedItem { id: Some(call), exit_code: Some(code), .. }) => {
                    items.push(Item::ExitCode { call, code });
                }
                Some(_) | None => {}
            }
        }
        ("event_msg", Some("error")) => {
            items.push(Item::ProviderError(text_of(payload.message).unwrap_or_default().into_owned()));
        }
        (_, Some(_) | None) => {}
    }
    Ok(())
}

/// The thread's total, and what of it the last answer was.
fn total<'a>(id: Option<Cow<'a, str>>, total: Option<CodexUsage>, last: Option<CodexUsage>, items: &mut Vec<Item<'a>>) {
    let tokens = total.map(CodexUsage::classes).unwrap_or_default();
    let context = last.map(|last| Tokens::new(last.input_tokens.0)).filter(|_| total.is_some());
    items.push(Item::ThreadTotal(AnswerFigures { id, model: None, tokens, context }));
}

fn response_item<'a>(kind: &str, payload: &CodexPayload<'a>, at: Option<&'a RawValue>, items: &mut Vec<Item<'a>>) {
    let call = |tool: Cow<'a, str>, arguments, decode| {
        let announcement = match kind {
            "function_call" | "custom_tool_call" if GUARDED.contains(&tool.as_ref()) => Announcement::Expected,
            "function_call" if tool == "write_stdin" && types_nothing(arguments) => Announcement::Poll,
            _ => Announcement::NotExpected,
        };
        Item::Call(RawToolCall {
            id: text_of(payload.call_id),
            tool,
            arguments,
            answer: None,
            counted_by: CountedBy::NextTotal,
            at: text_of(at),
            announcement,
            decode,
        })
    };
    let name = || text_of(payload.name).unwrap_or_default();
    match kind {
        "function_call" => items.push(call(name(), payload.arguments, function_call)),
        "custom_tool_call" => items.push(call(name(), payload.input, custom_call)),
        "local_shell_call" => items.push(call("shell".into(), payload.action, shell_call)),
        "function_call_output" | "custom_tool_call_output" => {
            // A refused command is told in words; only one that ran has an exit code or a running process.
            let ran = payload.output.is_some_and(|output| shows_run(output.get()));
            items.push(Item::Result(RawResult {
                call: text_of(payload.call_id).unwrap_or_default(),
                outcome: if ran { CallOutcome::Ran } else { CallOutcome::not_run(payload.output) },
                content: payload.output,
                response: None,
                failed: None,
                decode: output,
            }));
        }
        "message" if text_of(payload.role).as_deref() == Some("assistant") => {
            let parts = elements(payload.content).into_iter();
            let texts = parts.filter_map(|part| serde_json::from_str::<MessagePart<'a>>(part.get()).ok());
            items.extend(texts.filter_map(|part| text_of(part.text)).map(Item::Said));
        }
        _ => {}
    }
}

/// Whether the arguments of `write_stdin` type nothing: with text in them it is a command that was not judged.
fn types_nothing(arguments: Option<&RawValue>) -> bool {
    #[derive(Deserialize)]
    struct TypedText {
        chars: Option<String>,
    }
    let read = text_of(arguments).map(|text| serde_json::from_str::<TypedText>(&text));
    matches!(read, Some(Ok(TypedText { chars })) if chars.as_deref().is_none_or(str::is_empty))
}

fn function_call(call: &RawToolCall<'_>) -> ToolCall {
    let arguments = text_of(call.arguments).unwrap_or_default();
    let args = serde_json::from_str(&arguments).unwrap_or_else(|_| Value::from(arguments.as_ref()));
    as_hooks_see_it(call, args)
}

fn custom_call(call: &RawToolCall<'_>) -> ToolCall {
    let input = json!({ "command": value_of(call.arguments) });
    ToolCall { name: call.tool.clone().into_owned(), input: input.to_string(), call_id: id(call) }
}

fn shell_call(call: &RawToolCall<'_>) -> ToolCall {
    as_hooks_see_it(call, value_of(call.arguments))
}

fn id(call: &RawToolCall<'_>) -> Option<String> {
    call.id.clone().map(Cow::into_owned)
}

/// The client's hooks call every way to run a command `Bash`, with the command's text.
fn as_hooks_see_it(call: &RawToolCall<'_>, args: Value) -> ToolCall {
    let command = match call.tool.as_ref() {
        "exec_command" => Some(&args["cmd"]),
        "shell" | "container.exec" | "shell_command" => Some(&args["command"]),
        _ => None,
    };
    let text = match command {
        Some(Value::String(text)) => Some(text.clone()),
        Some(Value::Array(words)) => {
            let words: Vec<&str> = words.iter().filter_map(Value::as_str).collect();
            // A shell that is given one script stands for the script.
            Some(match words.as_slice() {
                [_, flag, script] if flag.starts_with('-') && flag.ends_with('c') => (*script).to_owned(),
                words => words.join(" "),
            })
        }
        Some(Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_)) | None => None,
    };
    let (name, args) = match text {
        Some(text) => ("Bash".to_owned(), json!({ "command": text })),
        None => (call.tool.clone().into_owned(), args),
    };
    ToolCall { name, input: args.to_string(), call_id: id(call) }
}

/// What a call gave and whether it failed, without the client's own frame, whose numbers differ each time.
fn output(result: &RawResult<'_>) -> Option<ToolOutput> {
    let text = match value_of(result.content) {
        Value::String(text) => text,
        Value::Array(parts) => parts.iter().filter_map(|part| part["text"].as_str()).collect::<Vec<_>>().join("\n"),
        Value::Object(object) => {
            let text = object.get("content").and_then(Value::as_str).unwrap_or_default().to_owned();
            let failed = object.get("success").and_then(Value::as_bool).map(|success| !success);
            return Some(ToolOutput::new(text, failed));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {
            return Some(ToolOutput::new(String::new(), None));
        }
    };
    Some(without_frame(text))
}

/// A result without the lines that the client writes before it, and the exit code that they tell.
pub(super) fn without_frame(text: String) -> ToolOutput {
    // Older versions write the result as an object inside the text.
    if text.starts_with('{')
        && let Ok(inner) = serde_json::from_str::<Value>(&text)
        && let (Some(own), Some(code)) = (inner["output"].as_str(), inner["metadata"]["exit_code"].as_i64())
    {
        return ToolOutput { text: own.to_owned(), failed: None, exit_code: i32::try_from(code).ok() };
    }
    match text.split_once("Output:\n") {
        Some((frame, own)) if frame.lines().any(|line| line.starts_with("Wall time:")) => {
            let exit_code = frame.lines().find_map(exit_code);
            ToolOutput { text: own.to_owned(), failed: None, exit_code }
        }
        Some(_) | None => {
            let failed = is_refusal(&text).then_some(true);
            ToolOutput::new(text, failed)
        }
    }
}

/// Whether a result without the client's frame says that the command was not run.
fn is_refusal(text: &str) -> bool {
    let beginnings = ["exec_command failed", "shell failed", "blocked by ", "Command blocked by "];
    beginnings.iter().any(|beginning| text.starts_with(beginning)) || text.contains("rejected by user")
}

fn exit_code(line: &str) -> Option<i32> {
    line.strip_prefix("Process exited with code ").or_else(|| line.strip_prefix("Exit code: "))?.trim().parse().ok()
}

impl CodexUsage {
    /// Cached tokens are inside the input here, and reasoning inside the output.
    fn classes(self) -> Usage {
        let cached = self.cached_input_tokens.0.saturating_add(self.cache_write_input_tokens.0);
        Usage {
            fresh_input: Tokens::new(self.input_tokens.0.saturating_sub(cached)),
            cache_read: Tokens::new(self.cached_input_tokens.0),
            cache_write: Tokens::new(self.cache_write_input_tokens.0),
            cache_write_long: Tokens::ZERO,
            output: Tokens::new(self.output_tokens.0.saturating_sub(self.reasoning_output_tokens.0)),
            reasoning: Tokens::new(self.reasoning_output_tokens.0),
        }
    }
}
/// Whether the text of a result shows that a command ran: only then it has an exit code or a running process.
pub(super) fn shows_run(output: &str) -> bool {
    output.contains("Process exited with code") || output.contains("Process running with")
}
