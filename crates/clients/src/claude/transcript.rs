//! Claude Code's transcript: one line per block of an answer, each repeating the answer's figures, and one per result.

use super::hook::{failure, response};
use crate::hooks::event::ToolCall;
use crate::token_count::TokenCount;
use crate::transcript::{
    Announcement, AnswerFigures, CallOutcome, CountedBy, FigureOrder, Item, LineForm, RawResult, RawToolCall,
    ToolOutput, TranscriptDialect, elements, is_true, text_of, value_of,
};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use std::borrow::Cow;
use tripwire_core::units::Tokens;
use tripwire_core::usage::Usage;

/// Its record of a session.
pub(super) static TRANSCRIPT: TranscriptDialect = TranscriptDialect {
    folder: "projects",
    is_transcript: |path| path.extension().is_some_and(|extension| extension == "jsonl"),
    names_workspace: true,
    read_line: read,
    may_be_answer,
    lines_of_whole_file: |_| None,
    figures: FigureOrder::BeforeCalls,
    folder_in_line,
};

fn folder_in_line(line: &str) -> Option<String> {
    #[derive(Deserialize)]
    struct Folder {
        cwd: Option<String>,
    }
    if !line.contains("\"cwd\"") {
        return None;
    }
    serde_json::from_str::<Folder>(line).ok()?.cwd
}

#[derive(Deserialize)]
struct ClaudeLine<'a> {
    #[serde(borrow, rename = "type")]
    kind: Option<Cow<'a, str>>,
    #[serde(borrow)]
    message: Option<&'a RawValue>,
    #[serde(borrow, rename = "isSidechain")]
    sidechain: Option<&'a RawValue>,
    #[serde(borrow, rename = "isMeta")]
    meta: Option<&'a RawValue>,
    #[serde(borrow, rename = "isCompactSummary")]
    summary: Option<&'a RawValue>,
    #[serde(borrow, rename = "isApiErrorMessage")]
    api_error: Option<&'a RawValue>,
    #[serde(borrow, rename = "sessionId")]
    session: Option<&'a RawValue>,
    #[serde(borrow)]
    timestamp: Option<&'a RawValue>,
    #[serde(borrow, rename = "requestId")]
    request: Option<&'a RawValue>,
    #[serde(borrow)]
    uuid: Option<&'a RawValue>,
    #[serde(borrow, rename = "toolUseResult")]
    response: Option<&'a RawValue>,
}

#[derive(Deserialize, Default)]
struct ClaudeMessage<'a> {
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    #[serde(borrow)]
    model: Option<&'a RawValue>,
    #[serde(borrow)]
    usage: Option<&'a RawValue>,
    #[serde(borrow)]
    content: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct ContentBlock<'a> {
    #[serde(borrow, rename = "type")]
    kind: Option<Cow<'a, str>>,
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    #[serde(borrow)]
    name: Option<&'a RawValue>,
    #[serde(borrow)]
    input: Option<&'a RawValue>,
    #[serde(borrow)]
    text: Option<&'a RawValue>,
    #[serde(borrow)]
    tool_use_id: Option<&'a RawValue>,
    #[serde(borrow)]
    is_error: Option<&'a RawValue>,
    #[serde(borrow)]
    content: Option<&'a RawValue>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct ClaudeUsage {
    input_tokens: TokenCount,
    cache_creation_input_tokens: TokenCount,
    cache_read_input_tokens: TokenCount,
    output_tokens: TokenCount,
    cache_creation: Option<CacheCreation>,
    output_tokens_details: Option<OutputDetails>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct CacheCreation {
    ephemeral_1h_input_tokens: TokenCount,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct OutputDetails {
    thinking_tokens: TokenCount,
}

/// Reads one line.
fn read<'a>(text: &'a str, items: &mut Vec<Item<'a>>) -> LineForm {
    let Ok(line) = serde_json::from_str::<ClaudeLine<'a>>(text) else {
        // A torn line that says that it is an answer counts by its size.
        if text.starts_with('{') && text.contains("\"usage\"") && text.contains("\"assistant\"") && may_be_answer(text)
        {
            items.push(Item::UnreadableAnswer);
        }
        return LineForm::Foreign;
    };
    match line.kind.as_deref() {
        Some("assistant") => answer(&line, text, items),
        Some("user") => user(&line, items),
        // Requests are written down as well, with every call of the past in them.
        Some(_) | None => return LineForm::Foreign,
    }
    LineForm::Known
}

/// Whether a line that is too long to be read may be an answer: what a tool or a person said shows at its beginning.
fn may_be_answer(beginning: &str) -> bool {
    let others = ["\"type\":\"user\"", "\"role\":\"user\"", "\"type\":\"system\""];
    !others.iter().any(|other| beginning.contains(other))
}

fn answer<'a>(line: &ClaudeLine<'a>, text: &'a str, items: &mut Vec<Item<'a>>) {
    let message = match line.message.map(|message| serde_json::from_str::<ClaudeMessage<'a>>(message.get())) {
        Some(Ok(message)) => message,
        Some(Err(_)) if text.contains("\"usage\"") => return items.push(Item::UnreadableAnswer),
        Some(Err(_)) | None => return,
    };
    let mut counted_by = None;
    match message.usage.map(|usage| serde_json::from_str::<ClaudeUsage>(usage.get())) {
        Some(Ok(usage)) => {
            // An answer without a name is known by what it came with.
            let named = text_of(message.id).or_else(|| text_of(line.request)).or_else(|| text_of(line.uuid));
            let id = named.unwrap_or(Cow::Borrowed(text));
            counted_by = Some(id.clone());
            let tokens = usage.classes();
            let context = (!is_true(line.sidechain)).then(|| tokens.input());
            items.push(Item::Answer(AnswerFigures { id: Some(id), model: text_of(message.model), tokens, context }));
        }
        Some(Err(_)) => items.push(Item::UnreadableAnswer),
        None => {}
    }
    for block in blocks(&message) {
        match block.kind.as_deref() {
            Some("text") => {
                if is_true(line.api_error) {
                    items.push(Item::ProviderError(text_of(block.text).unwrap_or_default().into_owned()));
                }
                items.extend(text_of(block.text).map(Item::Said));
            }
            Some("tool_use") => items.push(Item::Call(RawToolCall {
                id: text_of(block.id),
                tool: text_of(block.name).unwrap_or_default(),
                arguments: block.input,
                answer: text_of(message.id),
                counted_by: counted_by.clone().map_or(CountedBy::Unknown, CountedBy::Answer),
                at: text_of(line.timestamp),
                announcement: Announcement::Expected,
                decode: tool_call,
            })),
            Some(_) | None => {}
        }
    }
}

/// A result, or a person's words; the client's own notes and summaries are neither.
fn user<'a>(line: &ClaudeLine<'a>, items: &mut Vec<Item<'a>>) {
    items.extend(text_of(line.session).map(Item::Session));
    let message: ClaudeMessage<'a> =
        line.message.and_then(|message| serde_json::from_str(message.get()).ok()).unwrap_or_default();
    let blocks = blocks(&message);
    let results = blocks.iter().filter(|block| block.kind.as_deref() == Some("tool_result")).count();
    for block in blocks {
        match block.kind.as_deref() {
            Some("tool_result") => {
                let failed = is_true(block.is_error);
                items.push(Item::Result(RawResult {
                    call: text_of(block.tool_use_id).unwrap_or_default(),
                    outcome: if failed { CallOutcome::not_run(block.content) } else { CallOutcome::Ran },
                    content: block.content,
                    // The tool's own response stands beside the result where that is the only one.
                    response: line.response.filter(|own| results == 1 && own.get().starts_with('{')),
                    failed: Some(failed),
                    decode: output,
                }));
            }
            Some("text") if is_true(line.api_error) => {
                items.push(Item::ProviderError(text_of(block.text).unwrap_or_default().into_owned()));
            }
            Some(_) | None => {}
        }
    }
    if results == 0 && ![line.meta, line.sidechain, line.summary].into_iter().any(is_true) {
        items.push(Item::Person);
    }
}

fn blocks<'a>(message: &ClaudeMessage<'a>) -> Vec<ContentBlock<'a>> {
    elements(message.content).into_iter().filter_map(|block| serde_json::from_str(block.get()).ok()).collect()
}

fn tool_call(call: &RawToolCall<'_>) -> ToolCall {
    ToolCall {
        name: call.tool.clone().into_owned(),
        input: call.arguments.map_or_else(|| "null".to_owned(), |arguments| arguments.get().to_owned()),
        call_id: call.id.clone().map(Cow::into_owned),
    }
}

/// Hooks see the tool's own response.
fn output(result: &RawResult<'_>) -> Option<ToolOutput> {
    let text = match result.response.filter(|_| result.failed != Some(true)) {
        Some(own) => response(Some(own)),
        None => text_of_content(&value_of(result.content)),
    };
    Some(if result.failed == Some(true) { failure(text) } else { ToolOutput::new(text, result.failed) })
}

/// The text of a result: a string, or blocks of text.
fn text_of_content(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(blocks) => blocks.iter().filter_map(|block| block["text"].as_str()).collect::<Vec<_>>().join("\n"),
        Value::Null => String::new(),
        Value::Bool(_) | Value::Number(_) | Value::Object(_) => content.to_string(),
    }
}

impl ClaudeUsage {
    /// Cached tokens are outside the input here; reasoning is inside the output.
    fn classes(&self) -> Usage {
        let long = self.cache_creation.as_ref().map_or(0, |creation| creation.ephemeral_1h_input_tokens.0);
        let reasoning = self.output_tokens_details.as_ref().map_or(0, |details| details.thinking_tokens.0);
        Usage {
            fresh_input: Tokens::new(self.input_tokens.0),
            cache_read: Tokens::new(self.cache_read_input_tokens.0),
            cache_write: Tokens::new(self.cache_creation_input_tokens.0.saturating_sub(long)),
            cache_write_long: Tokens::new(long.min(self.cache_creation_input_tokens.0)),
            output: Tokens::new(self.output_tokens.0.saturating_sub(reasoning)),
            reasoning: Tokens::new(reasoning.min(self.output_tokens.0)),
        }
    }
}
