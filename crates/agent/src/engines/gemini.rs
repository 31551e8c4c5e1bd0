//! Google's generateContent, streamed.
//!
//! Every chunk repeats the usage so far, so the last one counts: cached tokens are inside the prompt, thoughts are outside
//! the candidates. There is no end mark of its own: a `finishReason` and then a clean end of the body are one.

use super::draft::{Came, Decoder, Draft, MADE_ID, chunk};
use super::echo::{self, arguments};
use super::opaque::OpaqueParts;
use super::openai_chat::{Inside, inside};
use super::refusal::{Fault, Refusal};
use crate::engines::engine::{Question, ToolAnswer, Turn};
use serde::Deserialize;
use serde_json::{Value, json};
use tripwire_core::run::record::{AnswerEnd, Call};
use tripwire_core::units::Tokens;
use tripwire_core::usage::Usage;
use tripwire_observe::sse::Event;

/// What Google's documentation gives for calls whose own signature is lost, as after a restart or a change of engines.
const NO_SIGNATURE: &str = "skip_thought_signature_validator";

/// The request for one question.
pub(super) fn body(model: &str, question: &Question<'_>, kept: &OpaqueParts) -> Value {
    let mut contents: Vec<Value> = Vec::new();
    for turn in question.turns {
        let (role, parts) = match turn {
            Turn::User(text) => ("user", vec![text_part(text)]),
            Turn::Model { text, calls } => ("model", said(model, text, calls, kept)),
            Turn::Results(results) => ("user", results.iter().map(result_part).collect()),
        };
        contents.push(json!({"role": role, "parts": parts}));
    }
    let declarations: Vec<Value> = question
        .tools
        .iter()
        .map(|tool| json!({"name": tool.name, "description": tool.description, "parametersJsonSchema": tool.schema}))
        .collect();
    let mut body = json!({
        "contents": contents,
        "generationConfig": {"maxOutputTokens": question.output_tokens_max.get()},
    });
    if !question.system.is_empty() {
        body["systemInstruction"] = json!({"parts": [{"text": question.system}]});
    }
    if !declarations.is_empty() {
        body["tools"] = json!([{"functionDeclarations": declarations}]);
    }
    body
}

/// What the model said, with its own signatures where we still have them.
fn said(model: &str, text: &str, calls: &[Call], kept: &OpaqueParts) -> Vec<Value> {
    if let Some(parts) = calls.first().and_then(|first| kept.of(&first.id)) {
        return parts.to_vec();
    }
    let mut parts = Vec::new();
    if !text.is_empty() || calls.is_empty() {
        parts.push(text_part(text));
    }
    for (index, call) in calls.iter().enumerate() {
        let mut function = json!({"name": echo::name(&call.tool), "args": arguments(&call.arguments)});
        name(&mut function, &call.id);
        let mut part = json!({"functionCall": function});
        if index == 0 && model.starts_with("gemini-3") {
            part["thoughtSignature"] = Value::from(NO_SIGNATURE);
        }
        parts.push(part);
    }
    parts
}

/// A text part; the provider refuses an empty one.
fn text_part(text: &str) -> Value {
    json!({"text": if text.trim().is_empty() { "(nothing)" } else { text }})
}

fn result_part(result: &ToolAnswer) -> Value {
    let word = if result.is_error { "error" } else { "output" };
    let mut function = json!({"name": echo::name(&result.tool), "response": {word: result.text}});
    name(&mut function, &result.id);
    json!({"functionResponse": function})
}

/// Puts the provider's own id to a call or its result; one that was made here means nothing there.
fn name(function: &mut Value, id: &str) {
    if !id.starts_with(MADE_ID) {
        function["id"] = Value::from(id);
    }
}

/// Reads the event stream.
#[derive(Debug, Default)]
pub(super) struct Contents {
    parts: Vec<Value>,
    signed: bool,
}

impl Decoder for Contents {
    fn event(&mut self, event: &Event, draft: &mut Draft) -> Result<(), Fault> {
        let wire: ContentsChunk = chunk(&event.data)?;
        if wire.error.is_some_and(|error| !error.is_null()) {
            let body: Value = chunk(&event.data)?;
            return Err(Fault::Said(Refusal::read(200, &body, &event.data)));
        }
        if let Some(model) = wire.model_version {
            draft.model = model;
        }
        if let Some(usage) = wire.usage_metadata {
            draft.usage = Some(usage.neutral());
        }
        if let Some(reason) = wire.prompt_feedback.and_then(|feedback| feedback.block_reason) {
            draft.say(&format!("the question was blocked: {reason}"))?;
            draft.end = Some(AnswerEnd::Refused);
        }
        // Only one candidate was asked for.
        let Some(candidate) = wire.candidates.into_iter().flatten().next() else { return Ok(()) };
        for part in candidate.content.and_then(|content| content.parts).into_iter().flatten() {
            self.part(part, draft)?;
        }
        if let Some(reason) = candidate.finish_reason {
            draft.end = Some(end(&reason));
        }
        Ok(())
    }

    fn ended(&mut self, draft: &mut Draft) {
        if draft.end.is_some() {
            draft.came = Came::Whole;
        }
        if self.signed {
            draft.kept = std::mem::take(&mut self.parts);
        }
    }
}

impl Contents {
    fn part(&mut self, part: Value, draft: &mut Draft) -> Result<(), Fault> {
        let thought = part["thought"].as_bool().unwrap_or(false);
        if let Some(text) = part["text"].as_str().filter(|_| !thought) {
            draft.say(text)?;
        }
        if thought {
            let bytes = part["text"].as_str().map_or(0, str::len);
            draft.thought_bytes = draft.thought_bytes.saturating_add(bytes);
        }
        if let Some(function) = part["functionCall"].as_object() {
            let index = draft.next_call();
            let word = |name: &str| function.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
            let call = draft.call(index)?;
            (call.id, call.tool) = (word("id"), word("name"));
            if let Some(args) = function.get("args") {
                draft.argue(index, &args.to_string())?;
            }
        }
        let signed = part["thoughtSignature"].is_string();
        self.signed |= signed;
        // An empty text says nothing and would be refused; with a signature it is the signature's place.
        if signed || part["text"].as_str() != Some("") {
            self.parts.push(part);
        }
        Ok(())
    }
}

fn end(reason: &str) -> AnswerEnd {
    match reason {
        "STOP" => AnswerEnd::Finished,
        "MAX_TOKENS" => AnswerEnd::OutputLimit,
        "SAFETY" | "RECITATION" | "BLOCKLIST" | "PROHIBITED_CONTENT" | "SPII" => AnswerEnd::Refused,
        _ => AnswerEnd::Other,
    }
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ContentsChunk {
    candidates: Option<Vec<Candidate>>,
    usage_metadata: Option<GeminiUsage>,
    model_version: Option<String>,
    prompt_feedback: Option<Feedback>,
    error: Option<Value>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Candidate {
    content: Option<Content>,
    finish_reason: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Content {
    parts: Option<Vec<Value>>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Feedback {
    block_reason: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct GeminiUsage {
    prompt_token_count: u64,
    cached_content_token_count: u64,
    candidates_token_count: u64,
    thoughts_token_count: u64,
    tool_use_prompt_token_count: u64,
}

impl GeminiUsage {
    fn neutral(&self) -> Usage {
        let usage = inside(Inside {
            input: self.prompt_token_count,
            cached: self.cached_content_token_count,
            written: 0,
            output: self.candidates_token_count,
            reasoning: 0,
        });
        // Both stand beside the sums here: what tools put into the prompt, and the thoughts.
        Usage {
            fresh_input: usage.fresh_input.plus(Tokens::new(self.tool_use_prompt_token_count)),
            reasoning: Tokens::new(self.thoughts_token_count),
            ..usage
        }
    }
}
