//! Anthropic's Messages, streamed.
//!
//! Input tokens come with `message_start` and exclude the cache; output tokens come with the last `message_delta`, whose
//! figure is the whole sum. The end mark is `message_stop`. An error may come as an event inside a 200.

use super::draft::{Came, Decoder, Draft, chunk};
use super::echo::{self, arguments};
use super::opaque::OpaqueParts;
use super::refusal::{Fault, Refusal};
use crate::engines::engine::{Question, ToolAnswer, Turn};
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use tripwire_core::run::record::{AnswerEnd, Call};
use tripwire_core::units::Tokens;
use tripwire_core::usage::Usage;
use tripwire_observe::sse::Event;

/// The request for one question. Prompt, registry and conversation only ever grow at the end, so both are marked for the
/// cache.
pub(super) fn body(model: &str, question: &Question<'_>, kept: &OpaqueParts) -> Value {
    let mut messages: Vec<Value> = Vec::new();
    for turn in question.turns {
        let (role, blocks) = match turn {
            Turn::User(text) => ("user", vec![text_block(text)]),
            Turn::Model { text, calls } => ("assistant", said(text, calls, kept)),
            Turn::Results(results) => ("user", results.iter().map(result_block).collect()),
        };
        // Turns of one role are one message: results must stand directly behind the calls, before any word of ours.
        match messages.last_mut() {
            Some(last) if last["role"] == role => {
                last["content"].as_array_mut().into_iter().for_each(|content| content.extend(blocks.iter().cloned()));
            }
            Some(_) | None => messages.push(json!({"role": role, "content": blocks})),
        }
    }
    if let Some(block) = messages.last_mut().and_then(|last| last["content"].as_array_mut()?.last_mut()) {
        block["cache_control"] = json!({"type": "ephemeral"});
    }
    let tools: Vec<Value> = question
        .tools
        .iter()
        .map(|tool| json!({"name": tool.name, "description": tool.description, "input_schema": tool.schema}))
        .collect();
    let mut body = json!({
        "model": model,
        "max_tokens": question.output_tokens_max.get(),
        "stream": true,
        "messages": messages,
    });
    if !question.system.is_empty() {
        body["system"] = json!([{"type": "text", "text": question.system, "cache_control": {"type": "ephemeral"}}]);
    }
    if !tools.is_empty() {
        body["tools"] = Value::Array(tools);
    }
    body
}

/// What the model said, with its own signed thinking where we still have it.
fn said(text: &str, calls: &[Call], kept: &OpaqueParts) -> Vec<Value> {
    if let Some(blocks) = calls.first().and_then(|first| kept.of(&first.id)) {
        return blocks.to_vec();
    }
    let mut blocks = Vec::new();
    if !text.trim().is_empty() || calls.is_empty() {
        blocks.push(text_block(text));
    }
    blocks.extend(calls.iter().map(
        |call| json!({"type": "tool_use", "id": call.id, "name": echo::name(&call.tool), "input": arguments(&call.arguments)}),
    ));
    blocks
}

/// A text block; the provider refuses an empty one.
fn text_block(text: &str) -> Value {
    json!({"type": "text", "text": if text.trim().is_empty() { "(nothing)" } else { text }})
}

fn result_block(result: &ToolAnswer) -> Value {
    json!({"type": "tool_result", "tool_use_id": result.id, "content": result.text, "is_error": result.is_error})
}

/// Reads the event stream.
#[derive(Debug, Default)]
pub(super) struct Messages {
    usage: AnthropicUsage,
    /// The blocks as they came, so that thinking can go back unchanged.
    blocks: BTreeMap<u64, Value>,
    thinks: bool,
}

impl Decoder for Messages {
    fn event(&mut self, event: &Event, draft: &mut Draft) -> Result<(), Fault> {
        let wire: MessagesEvent = chunk(&event.data)?;
        match wire.kind.as_str() {
            "message_start" => {
                let message = wire.message.unwrap_or_default();
                if let Some(model) = message.model {
                    draft.model = model;
                }
                self.usage.take(message.usage);
                draft.usage = self.usage.neutral();
            }
            "content_block_start" => self.begin(wire.index, wire.content_block.unwrap_or_default(), draft)?,
            "content_block_delta" => self.extend(wire.index, &wire.delta.unwrap_or_default(), draft)?,
            "message_delta" => {
                if let Some(reason) = wire.delta.and_then(|delta| delta.stop_reason) {
                    draft.end = Some(end(&reason));
                }
                self.usage.take(wire.usage);
                draft.usage = self.usage.neutral();
            }
            "message_stop" => {
                draft.came = Came::Whole;
                if self.thinks {
                    draft.kept = self.finished_blocks(draft)?;
                }
            }
            "error" => {
                let body: Value = chunk(&event.data)?;
                return Err(Fault::Said(Refusal::read(200, &body, &event.data)));
            }
            // `ping`, `content_block_stop`, and what is newer than we are.
            _ => {}
        }
        Ok(())
    }

    fn ended(&mut self, _draft: &mut Draft) {}
}

impl Messages {
    fn begin(&mut self, index: u64, block: Value, draft: &mut Draft) -> Result<(), Fault> {
        let word = |name: &str| block[name].as_str().unwrap_or_default().to_owned();
        match word("type").as_str() {
            "text" => draft.say(&word("text"))?,
            "tool_use" => {
                let call = draft.call(index)?;
                (call.id, call.tool) = (word("id"), word("name"));
                if block["input"].as_object().is_some_and(|input| !input.is_empty()) {
                    draft.argue(index, &block["input"].to_string())?;
                }
            }
            "thinking" | "redacted_thinking" => self.thinks = true,
            _ => {}
        }
        self.blocks.insert(index, block);
        Ok(())
    }

    fn extend(&mut self, index: u64, delta: &BlockDelta, draft: &mut Draft) -> Result<(), Fault> {
        let mut append = |field: &str, text: &str| {
            if let Some(Value::Object(block)) = self.blocks.get_mut(&index) {
                match block.get_mut(field) {
                    Some(Value::String(so_far)) => so_far.push_str(text),
                    Some(_) | None => drop(block.insert(field.to_owned(), Value::from(text))),
                }
            }
        };
        match delta.kind.as_str() {
            "text_delta" => {
                append("text", &delta.text);
                draft.say(&delta.text)
            }
            "input_json_delta" if draft.has_call(index) => draft.argue(index, &delta.partial_json),
            "input_json_delta" => Err(Fault::Broken("arguments came for a call that never began".to_owned())),
            "thinking_delta" => {
                draft.thought_bytes = draft.thought_bytes.saturating_add(delta.thinking.len());
                append("thinking", &delta.thinking);
                Ok(())
            }
            "signature_delta" => {
                append("signature", &delta.signature);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// The blocks with their arguments in place, as the provider wants them back.
    fn finished_blocks(&mut self, draft: &mut Draft) -> Result<Vec<Value>, Fault> {
        for (index, block) in &mut self.blocks {
            if let (true, Value::Object(block)) = (draft.has_call(*index), block) {
                block.insert("input".to_owned(), arguments(&draft.call(*index)?.arguments));
            }
        }
        Ok(std::mem::take(&mut self.blocks).into_values().collect())
    }
}

fn end(reason: &str) -> AnswerEnd {
    match reason {
        "end_turn" | "tool_use" | "stop_sequence" | "pause_turn" => AnswerEnd::Finished,
        "max_tokens" => AnswerEnd::OutputLimit,
        "refusal" => AnswerEnd::Refused,
        _ => AnswerEnd::Other,
    }
}

#[derive(Debug, Default, Deserialize)]
struct MessagesEvent {
    #[serde(rename = "type", default)]
    kind: String,
    #[serde(default)]
    index: u64,
    message: Option<MessageStart>,
    content_block: Option<Value>,
    delta: Option<BlockDelta>,
    usage: Option<AnthropicUsage>,
}

#[derive(Debug, Default, Deserialize)]
struct MessageStart {
    model: Option<String>,
    usage: Option<AnthropicUsage>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct BlockDelta {
    #[serde(rename = "type")]
    kind: String,
    text: String,
    partial_json: String,
    thinking: String,
    signature: String,
    stop_reason: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct AnthropicUsage {
    input_tokens: Option<u64>,
    cache_creation_input_tokens: Option<u64>,
    cache_read_input_tokens: Option<u64>,
    output_tokens: Option<u64>,
    output_tokens_details: Option<AnthropicOutput>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct AnthropicOutput {
    thinking_tokens: Option<u64>,
}

impl AnthropicUsage {
    /// Takes over what a later figure says; what it leaves out stays.
    fn take(&mut self, later: Option<Self>) {
        let Some(later) = later else { return };
        self.input_tokens = later.input_tokens.or(self.input_tokens);
        self.cache_creation_input_tokens = later.cache_creation_input_tokens.or(self.cache_creation_input_tokens);
        self.cache_read_input_tokens = later.cache_read_input_tokens.or(self.cache_read_input_tokens);
        self.output_tokens = later.output_tokens.or(self.output_tokens);
        self.output_tokens_details = later.output_tokens_details.or(self.output_tokens_details.take());
    }

    /// Cached tokens stand beside the input here, thinking stands inside the output.
    fn neutral(&self) -> Option<Usage> {
        let (input, output) = (self.input_tokens?, self.output_tokens?);
        let thinking = self.output_tokens_details.as_ref().and_then(|details| details.thinking_tokens).unwrap_or(0);
        Some(Usage {
            fresh_input: Tokens::new(input),
            cache_read: Tokens::new(self.cache_read_input_tokens.unwrap_or(0)),
            cache_write: Tokens::new(self.cache_creation_input_tokens.unwrap_or(0)),
            output: Tokens::new(output).minus(Tokens::new(thinking)),
            reasoning: Tokens::new(thinking.min(output)),
            ..Usage::default()
        })
    }
}
