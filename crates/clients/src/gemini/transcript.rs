//! Gemini CLI's session file: one line per answer, written again with its calls when their results arrive.

use super::hook::without_frame;
use crate::hooks::event::ToolCall;
use crate::token_count::TokenCount;
use crate::transcript::{
    Announcement, AnswerFigures, CallOutcome, CountedBy, FigureOrder, Item, LineForm, RawResult, RawToolCall,
    ToolOutput, TranscriptDialect, elements, text_of, value_of,
};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::path::Path;
use tripwire_core::units::Tokens;
use tripwire_core::usage::Usage;

/// Its record of a session; it names the workspace by a hash.
pub(super) static TRANSCRIPT: TranscriptDialect = TranscriptDialect {
    folder: "tmp",
    is_transcript,
    names_workspace: false,
    read_line: read,
    may_be_answer,
    lines_of_whole_file,
    figures: FigureOrder::BeforeCalls,
    folder_in_line: |_| None,
};

fn is_transcript(path: &Path) -> bool {
    let in_chats = path.parent().and_then(Path::file_name).is_some_and(|folder| folder == "chats");
    let is_session = path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"session-"));
    in_chats && is_session && path.extension().is_some_and(|ending| ending == "json" || ending == "jsonl")
}

#[derive(Deserialize)]
struct GeminiLine<'a> {
    #[serde(borrow, rename = "type")]
    kind: Option<Cow<'a, str>>,
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    #[serde(borrow)]
    model: Option<&'a RawValue>,
    #[serde(borrow)]
    tokens: Option<&'a RawValue>,
    #[serde(borrow)]
    content: Option<&'a RawValue>,
    #[serde(borrow, rename = "sessionId")]
    session: Option<&'a RawValue>,
    #[serde(borrow, rename = "toolCalls")]
    calls: Option<&'a RawValue>,
    #[serde(borrow, rename = "$set")]
    set: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct GeminiCall<'a> {
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    #[serde(borrow)]
    name: Option<&'a RawValue>,
    #[serde(borrow)]
    args: Option<&'a RawValue>,
    #[serde(borrow)]
    status: Option<&'a RawValue>,
    #[serde(borrow)]
    timestamp: Option<&'a RawValue>,
    #[serde(borrow)]
    result: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct GeminiPart<'a> {
    #[serde(borrow)]
    text: Option<&'a RawValue>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct GeminiUsage {
    input: TokenCount,
    output: TokenCount,
    cached: TokenCount,
    thoughts: TokenCount,
    tool: TokenCount,
}

/// Reads one line. `$set` lines hold the whole conversation once more and add nothing.
fn read<'a>(text: &'a str, items: &mut Vec<Item<'a>>) -> LineForm {
    let Ok(line) = serde_json::from_str::<GeminiLine<'a>>(text) else {
        if text.contains("\"tokens\"") {
            unreadable(text, items);
        }
        return LineForm::Foreign;
    };
    if let Some(session) = text_of(line.session) {
        items.push(Item::Session(session));
        return LineForm::Known;
    }
    match line.kind.as_deref() {
        Some("user") => {
            if is_persons_text(line.content) {
                items.push(Item::Person);
            }
        }
        Some("gemini") => answer(&line, text, items),
        Some("info" | "error" | "warning") => {}
        None if line.set.is_some_and(|set| set.get().starts_with('{')) => {}
        Some(_) => return LineForm::Foreign,
        None => {
            calls(&line, items);
            return LineForm::Foreign;
        }
    }
    LineForm::Known
}

/// The lines of the one object that older versions write as a whole file.
fn lines_of_whole_file(text: &str) -> Option<Vec<String>> {
    let Ok(Value::Object(whole)) = serde_json::from_str::<Value>(text) else { return None };
    let messages = whole.get("messages").and_then(Value::as_array)?;
    Some(messages.iter().map(Value::to_string).collect())
}

/// Whether a line that is too long to be read may be an answer: what a person said shows at its beginning.
fn may_be_answer(beginning: &str) -> bool {
    let others = ["{\"$set\"", "\"type\":\"user\"", "\"type\":\"info\""];
    !others.iter().any(|other| beginning.contains(other))
}

/// An answer whose figures cannot be read counts by its size.
fn unreadable(text: &str, items: &mut Vec<Item<'_>>) {
    if text.starts_with('{') && text.contains("\"gemini\"") && may_be_answer(text) {
        items.push(Item::UnreadableAnswer);
    }
}

fn is_persons_text(content: Option<&RawValue>) -> bool {
    let has_text = |part: &RawValue| {
        serde_json::from_str::<GeminiPart<'_>>(part.get()).is_ok_and(|part| text_of(part.text).is_some())
    };
    text_of(content).is_some() || elements(content).into_iter().any(has_text)
}

fn answer<'a>(line: &GeminiLine<'a>, text: &'a str, items: &mut Vec<Item<'a>>) {
    match line.tokens.map(|tokens| serde_json::from_str::<GeminiUsage>(tokens.get())) {
        Some(Ok(used)) => {
            // Cached tokens are inside the input here; thoughts and the tools' prompt are outside of everything.
            let tokens = Usage {
                fresh_input: Tokens::new(used.input.0.saturating_sub(used.cached.0).saturating_add(used.tool.0)),
                cache_read: Tokens::new(used.cached.0),
                output: Tokens::new(used.output.0),
                reasoning: Tokens::new(used.thoughts.0),
                ..Usage::default()
            };
            // An answer without a name is known by its text.
            let id = Some(text_of(line.id).unwrap_or(Cow::Borrowed(text)));
            let (model, context) = (text_of(line.model), Some(tokens.input()));
            items.push(Item::Answer(AnswerFigures { id, model, tokens, context }));
        }
        Some(Err(_)) => unreadable(text, items),
        None => {}
    }
    if elements(line.calls).is_empty() {
        items.extend(text_of(line.content).map(Item::Said));
    }
    calls(line, items);
}

/// Calls are written down together with their results, under an id that hooks do not get.
fn calls<'a>(line: &GeminiLine<'a>, items: &mut Vec<Item<'a>>) {
    for call in elements(line.calls) {
        let Ok(call) = serde_json::from_str::<GeminiCall<'a>>(call.get()) else { continue };
        items.push(Item::Call(RawToolCall {
            id: text_of(call.id),
            tool: text_of(call.name).unwrap_or_default(),
            arguments: call.args,
            answer: text_of(line.id),
            counted_by: CountedBy::Unknown,
            at: text_of(call.timestamp),
            announcement: Announcement::NotExpected,
            decode: tool_call,
        }));
        let status = text_of(call.status);
        let ran = status.as_deref() == Some("success");
        items.push(Item::Result(RawResult {
            call: text_of(call.id).unwrap_or_default(),
            outcome: if ran { CallOutcome::Ran } else { CallOutcome::not_run(call.result) },
            content: call.result,
            response: None,
            failed: (status.as_deref() == Some("error")).then_some(true),
            decode: output,
        }));
    }
}

fn tool_call(call: &RawToolCall<'_>) -> ToolCall {
    ToolCall {
        name: call.tool.clone().into_owned(),
        input: call.arguments.map_or_else(|| "null".to_owned(), |arguments| arguments.get().to_owned()),
        call_id: call.id.clone().map(Cow::into_owned),
    }
}

fn output(result: &RawResult<'_>) -> Option<ToolOutput> {
    let value = value_of(result.content);
    let response = &value[0]["functionResponse"]["response"];
    let (output, error) = (response["output"].as_str(), response["error"].as_str());
    let failed = result.failed.or_else(|| error.map(|_| true));
    error.or(output).map(|text| ToolOutput { failed, ..without_frame(text) })
}
