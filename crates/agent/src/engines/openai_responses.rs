//! OpenAI's Responses, streamed.
//!
//! Items are begun, filled and finished one by one; a finished item is the last word on its call. The end mark is
//! `response.completed` or `response.incomplete`, which also brings the usage in OpenAI's arithmetic (parts inside sums);
//! `response.failed` and `error` are refusals inside a 200.

use super::draft::{CallDraft, Came, Decoder, Draft, chunk};
use super::echo;
use super::opaque::OpaqueParts;
use super::openai_chat::{Inside, inside};
use super::refusal::{Fault, Refusal};
use crate::engines::engine::{Question, Turn};
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use tripwire_core::run::record::{AnswerEnd, Call};
use tripwire_core::usage::Usage;
use tripwire_observe::sse::Event;

/// The request for one question. Nothing is stored at the provider, so its encrypted reasoning is asked for and sent back.
pub(super) fn body(model: &str, question: &Question<'_>, kept: &OpaqueParts) -> Value {
    let mut input = Vec::new();
    for turn in question.turns {
        match turn {
            Turn::User(text) => {
                input.push(json!({"role": "user", "content": [{"type": "input_text", "text": text}]}));
            }
            Turn::Model { text, calls } => input.extend(said(text, calls, kept)),
            Turn::Results(results) => input.extend(results.iter().map(|result| {
                // This dialect has no place for failure, so the text says it.
                let text = if result.is_error { format!("[error] {}", result.text) } else { result.text.clone() };
                json!({"type": "function_call_output", "call_id": result.id, "output": text})
            })),
        }
    }
    let tools: Vec<Value> = question
        .tools
        .iter()
        .map(|tool| {
            json!({"type": "function", "name": tool.name, "description": tool.description,
                "parameters": tool.schema, "strict": false})
        })
        .collect();
    let mut body = json!({
        "model": model,
        "stream": true,
        "store": false,
        "max_output_tokens": question.output_tokens_max.get(),
        "input": input,
    });
    if reasons(model) {
        body["include"] = json!(["reasoning.encrypted_content"]);
    }
    if !question.system.is_empty() {
        body["instructions"] = Value::from(question.system);
    }
    if !tools.is_empty() {
        body["tools"] = Value::Array(tools);
    }
    body
}

/// Whether a model thinks before it answers; one that does not refuses to be asked for its encrypted thoughts.
fn reasons(model: &str) -> bool {
    let families = ["gpt-5", "gpt-6", "o1", "o3", "o4", "codex"];
    families.iter().any(|family| model.starts_with(family))
}

/// What the model said, with its own encrypted reasoning where we still have it.
fn said(text: &str, calls: &[Call], kept: &OpaqueParts) -> Vec<Value> {
    if let Some(items) = calls.first().and_then(|first| kept.of(&first.id)) {
        return items.to_vec();
    }
    let mut items = Vec::new();
    if !text.is_empty() {
        items.push(json!({"role": "assistant", "content": [{"type": "output_text", "text": text}]}));
    }
    items.extend(calls.iter().map(|call| {
        json!({"type": "function_call", "call_id": call.id, "name": echo::name(&call.tool),
            "arguments": echo::written_arguments(&call.arguments)})
    }));
    items
}

/// Reads the event stream.
#[derive(Debug, Default)]
pub(super) struct Responses {
    /// Items whose text came in pieces, so that the finished item does not say it again.
    spoken: BTreeSet<u64>,
    items: Vec<Value>,
    reasons: bool,
}

impl Decoder for Responses {
    fn event(&mut self, event: &Event, draft: &mut Draft) -> Result<(), Fault> {
        let data = event.data.as_str();
        // Two readings, so that the long events that only repeat others are skipped without building them.
        let EventKind { kind } = chunk(data)?;
        match kind.as_str() {
            "response.created" => {
                if let Some(model) = chunk::<WholeResponse>(data)?.response.model {
                    draft.model = model;
                }
            }
            "response.output_text.delta" | "response.refusal.delta" => {
                let piece: TextDelta = chunk(data)?;
                self.spoken.insert(piece.output_index);
                if kind == "response.refusal.delta" {
                    draft.end = Some(AnswerEnd::Refused);
                }
                draft.say(&piece.delta)?;
            }
            "response.output_item.added" => {
                let added: ItemAdded = chunk(data)?;
                if added.item.kind == "function_call" {
                    added.item.into_call(draft.call(added.output_index)?);
                }
            }
            "response.function_call_arguments.delta" => {
                let piece: TextDelta = chunk(data)?;
                if !draft.has_call(piece.output_index) {
                    return Err(Fault::Broken("arguments came for a call that never began".to_owned()));
                }
                draft.argue(piece.output_index, &piece.delta)?;
            }
            "response.output_item.done" => self.done(data, draft)?,
            "response.completed" | "response.incomplete" => self.complete(chunk(data)?, draft),
            "response.failed" => {
                let body: Value = chunk(data)?;
                let error = body.get("response").cloned().unwrap_or(Value::Null);
                let usage = error.get("usage").and_then(|usage| ResponsesUsage::deserialize(usage).ok());
                draft.usage = usage.map(|usage| usage.neutral());
                return Err(Fault::Said(Refusal::read(200, &error, data)));
            }
            "error" => {
                let body: Value = chunk(data)?;
                return Err(Fault::Said(Refusal::read(200, &body, data)));
            }
            _ => {}
        }
        Ok(())
    }

    fn ended(&mut self, _draft: &mut Draft) {}
}

impl Responses {
    fn done(&mut self, data: &str, draft: &mut Draft) -> Result<(), Fault> {
        let ItemDone { output_index, item } = chunk(data)?;
        let finished: OutputItem = serde_json::from_value(item.clone()).unwrap_or_default();
        match finished.kind.as_str() {
            "function_call" => {
                let call = draft.call(output_index)?;
                call.arguments.clear();
                let arguments = finished.arguments.clone().unwrap_or_default();
                finished.into_call(call);
                draft.argue(output_index, &arguments)?;
            }
            "message" if !self.spoken.contains(&output_index) => {
                for part in finished.content.iter().flatten() {
                    draft.say(part.text.as_deref().or(part.refusal.as_deref()).unwrap_or_default())?;
                    if part.refusal.is_some() {
                        draft.end = Some(AnswerEnd::Refused);
                    }
                }
            }
            "reasoning" => self.reasons = true,
            _ => {}
        }
        self.items.push(item);
        Ok(())
    }

    fn complete(&mut self, whole: WholeResponse, draft: &mut Draft) {
        let response = whole.response;
        if let Some(model) = response.model {
            draft.model = model;
        }
        draft.usage = response.usage.map(|usage| usage.neutral());
        let reason = response.incomplete_details.and_then(|details| details.reason);
        draft.end = Some(match reason.as_deref() {
            None => draft.end.take().unwrap_or(AnswerEnd::Finished),
            Some("max_output_tokens") => AnswerEnd::OutputLimit,
            Some("content_filter") => AnswerEnd::Refused,
            Some(_) => AnswerEnd::Other,
        });
        draft.came = Came::Whole;
        if self.reasons {
            draft.kept = std::mem::take(&mut self.items);
        }
    }
}

#[derive(Debug, Deserialize)]
struct EventKind {
    #[serde(rename = "type", default)]
    kind: String,
}

#[derive(Debug, Deserialize)]
struct TextDelta {
    #[serde(default)]
    output_index: u64,
    #[serde(default)]
    delta: String,
}

#[derive(Debug, Deserialize)]
struct ItemAdded {
    #[serde(default)]
    output_index: u64,
    item: OutputItem,
}

#[derive(Debug, Deserialize)]
struct ItemDone {
    #[serde(default)]
    output_index: u64,
    item: Value,
}

#[derive(Debug, Default, Deserialize)]
struct OutputItem {
    #[serde(rename = "type", default)]
    kind: String,
    call_id: Option<String>,
    name: Option<String>,
    arguments: Option<String>,
    content: Option<Vec<ContentPart>>,
}

impl OutputItem {
    /// Names the call; the arguments come apart.
    fn into_call(self, call: &mut CallDraft) {
        if let Some(id) = self.call_id {
            call.id = id;
        }
        if let Some(name) = self.name {
            call.tool = name;
        }
    }
}

#[derive(Debug, Deserialize)]
struct ContentPart {
    text: Option<String>,
    refusal: Option<String>,
}

#[derive(Debug, Deserialize)]
struct WholeResponse {
    response: ResponseBody,
}

#[derive(Debug, Deserialize)]
struct ResponseBody {
    model: Option<String>,
    usage: Option<ResponsesUsage>,
    incomplete_details: Option<Incomplete>,
}

#[derive(Debug, Deserialize)]
struct Incomplete {
    reason: Option<String>,
}

#[derive(Debug, Deserialize)]
struct ResponsesUsage {
    #[serde(default)]
    input_tokens: u64,
    #[serde(default)]
    output_tokens: u64,
    input_tokens_details: Option<ResponsesInput>,
    output_tokens_details: Option<ResponsesOutput>,
}

#[derive(Debug, Deserialize)]
struct ResponsesInput {
    cached_tokens: Option<u64>,
    cache_write_tokens: Option<u64>,
}

#[derive(Debug, Deserialize)]
struct ResponsesOutput {
    reasoning_tokens: Option<u64>,
}

impl ResponsesUsage {
    fn neutral(&self) -> Usage {
        let input = self.input_tokens_details.as_ref();
        inside(Inside {
            input: self.input_tokens,
            cached: input.and_then(|details| details.cached_tokens).unwrap_or(0),
            written: input.and_then(|details| details.cache_write_tokens).unwrap_or(0),
            output: self.output_tokens,
            reasoning: self.output_tokens_details.as_ref().and_then(|details| details.reasoning_tokens).unwrap_or(0),
        })
    }
}
