//! OpenAI's Chat Completions, streamed; also LM Studio, Ollama, llama.cpp and vLLM.
//!
//! Usage comes only because it is asked for, in the last chunk, whose `choices` are empty. Cached tokens are inside the
//! prompt figure and reasoning is inside the completion figure. The end mark is `[DONE]`; where a server leaves it out, a
//! `finish_reason` and then a clean end of the body are one.

use super::draft::{Came, Decoder, Draft, chunk};
use super::echo;
use super::refusal::{Fault, Refusal};
use crate::engines::engine::{Question, Turn};
use serde::Deserialize;
use serde_json::{Value, json};
use tripwire_core::run::record::{AnswerEnd, Call};
use tripwire_core::units::Tokens;
use tripwire_core::usage::Usage;
use tripwire_observe::sse::Event;

/// Whose server is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Server {
    /// OpenAI's own.
    OpenAi,
    /// Anyone else's: a local one, a proxy, another provider.
    Other,
}

/// The request for one question.
pub(super) fn body(model: &str, question: &Question<'_>, server: Server) -> Value {
    let mut messages = Vec::new();
    if !question.system.is_empty() {
        messages.push(json!({"role": "system", "content": question.system}));
    }
    for turn in question.turns {
        match turn {
            Turn::User(text) => messages.push(json!({"role": "user", "content": text})),
            Turn::Model { text, calls } => messages.push(said(text, calls)),
            Turn::Results(results) => messages.extend(results.iter().map(|result| {
                // This dialect has no place for failure, so the text says it.
                let text = if result.is_error { format!("[error] {}", result.text) } else { result.text.clone() };
                json!({"role": "tool", "tool_call_id": result.id, "content": text})
            })),
        }
    }
    let tools: Vec<Value> = question
        .tools
        .iter()
        .map(|tool| {
            let function = json!({"name": tool.name, "description": tool.description, "parameters": tool.schema});
            json!({"type": "function", "function": function})
        })
        .collect();
    let mut body = json!({
        "model": model,
        "stream": true,
        "stream_options": {"include_usage": true},
        "messages": messages,
    });
    // OpenAI's newer models know only the new name, most other servers only the old one.
    let limit = match server {
        Server::OpenAi => "max_completion_tokens",
        Server::Other => "max_tokens",
    };
    body[limit] = Value::from(question.output_tokens_max.get());
    if !tools.is_empty() {
        body["tools"] = Value::Array(tools);
    }
    body
}

fn said(text: &str, calls: &[Call]) -> Value {
    let mut message = json!({"role": "assistant", "content": text});
    if !calls.is_empty() {
        let function = |call: &Call| json!({"name": echo::name(&call.tool), "arguments": echo::written_arguments(&call.arguments)});
        message["tool_calls"] =
            calls.iter().map(|call| json!({"id": call.id, "type": "function", "function": function(call)})).collect();
    }
    message
}

/// Reads the event stream.
#[derive(Debug, Default)]
pub(super) struct Chat;

impl Decoder for Chat {
    fn event(&mut self, event: &Event, draft: &mut Draft) -> Result<(), Fault> {
        if event.data.trim() == "[DONE]" {
            draft.came = Came::Whole;
            return Ok(());
        }
        let wire: ChatChunk = chunk(&event.data)?;
        if wire.error.is_some_and(|error| !error.is_null()) {
            let body: Value = chunk(&event.data)?;
            return Err(Fault::Said(Refusal::read(200, &body, &event.data)));
        }
        if let Some(model) = wire.model.filter(|model| !model.is_empty()) {
            draft.model = model;
        }
        if let Some(usage) = wire.usage {
            draft.usage = Some(usage.neutral());
        }
        // Only one choice was asked for.
        let Some(choice) = wire.choices.into_iter().flatten().next() else { return Ok(()) };
        let delta = choice.delta.unwrap_or_default();
        draft.say(delta.content.as_deref().unwrap_or_default())?;
        if let Some(refusal) = delta.refusal {
            draft.say(&refusal)?;
            draft.end = Some(AnswerEnd::Refused);
        }
        for call in delta.tool_calls.into_iter().flatten() {
            Self::call(&call, draft)?;
        }
        if let Some(reason) = choice.finish_reason {
            draft.end = Some(match draft.end.take() {
                Some(AnswerEnd::Refused) => AnswerEnd::Refused,
                Some(AnswerEnd::Finished | AnswerEnd::OutputLimit | AnswerEnd::Other) | None => end(&reason),
            });
        }
        Ok(())
    }

    fn ended(&mut self, draft: &mut Draft) {
        if draft.end.is_some() {
            draft.came = Came::Whole;
        }
    }
}

impl Chat {
    /// A piece of a call. Pieces belong together by `index`; where a server leaves it out, each piece with a name begins
    /// a call and the others continue the last one. Ollama gave several calls one index: a new id begins a new call too.
    fn call(call: &ChatCall, draft: &mut Draft) -> Result<(), Fault> {
        let function = call.function.as_ref();
        let name = function.and_then(|function| function.name.as_deref()).unwrap_or_default();
        let next = draft.next_call();
        let mut index = call.index.unwrap_or(if name.is_empty() { next.saturating_sub(1) } else { next });
        let id = call.id.as_deref().unwrap_or_default();
        if draft.has_call(index) && !id.is_empty() && !name.is_empty() {
            let before = &draft.call(index)?.id;
            index = if before.is_empty() || before == id { index } else { next };
        }
        let entry = draft.call(index)?;
        if !id.is_empty() {
            id.clone_into(&mut entry.id);
        }
        if !name.is_empty() && entry.tool != name {
            entry.tool.push_str(name);
        }
        draft.argue(index, function.and_then(|function| function.arguments.as_deref()).unwrap_or_default())
    }
}

fn end(reason: &str) -> AnswerEnd {
    match reason {
        "stop" | "tool_calls" | "function_call" => AnswerEnd::Finished,
        "length" => AnswerEnd::OutputLimit,
        "content_filter" => AnswerEnd::Refused,
        _ => AnswerEnd::Other,
    }
}

#[derive(Debug, Deserialize)]
struct ChatChunk {
    model: Option<String>,
    choices: Option<Vec<ChatChoice>>,
    usage: Option<ChatUsage>,
    error: Option<Value>,
}

#[derive(Debug, Deserialize)]
struct ChatChoice {
    delta: Option<ChatDelta>,
    finish_reason: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
struct ChatDelta {
    content: Option<String>,
    refusal: Option<String>,
    tool_calls: Option<Vec<ChatCall>>,
}

#[derive(Debug, Deserialize)]
struct ChatCall {
    index: Option<u64>,
    id: Option<String>,
    function: Option<ChatFunction>,
}

#[derive(Debug, Deserialize)]
struct ChatFunction {
    name: Option<String>,
    arguments: Option<String>,
}

#[derive(Debug, Deserialize)]
struct ChatUsage {
    #[serde(default)]
    prompt_tokens: u64,
    #[serde(default)]
    completion_tokens: u64,
    prompt_tokens_details: Option<ChatPrompt>,
    completion_tokens_details: Option<ChatCompletion>,
}

#[derive(Debug, Deserialize)]
struct ChatPrompt {
    cached_tokens: Option<u64>,
    cache_write_tokens: Option<u64>,
}

#[derive(Debug, Deserialize)]
struct ChatCompletion {
    reasoning_tokens: Option<u64>,
}

impl ChatUsage {
    fn neutral(&self) -> Usage {
        let prompt = self.prompt_tokens_details.as_ref();
        inside(Inside {
            input: self.prompt_tokens,
            cached: prompt.and_then(|details| details.cached_tokens).unwrap_or(0),
            written: prompt.and_then(|details| details.cache_write_tokens).unwrap_or(0),
            output: self.completion_tokens,
            reasoning: self
                .completion_tokens_details
                .as_ref()
                .and_then(|details| details.reasoning_tokens)
                .unwrap_or(0),
        })
    }
}

/// OpenAI's arithmetic: the parts are inside the sums.
#[derive(Debug, Clone, Copy)]
pub(super) struct Inside {
    /// All input.
    pub(super) input: u64,
    /// Of it read from a cache.
    pub(super) cached: u64,
    /// Of it written to a cache.
    pub(super) written: u64,
    /// All output.
    pub(super) output: u64,
    /// Of it reasoning.
    pub(super) reasoning: u64,
}

/// The same in classes that do not overlap. A part that is larger than its sum is cut to it, so that nothing is counted
/// twice.
pub(super) fn inside(figures: Inside) -> Usage {
    let cached = figures.cached.min(figures.input);
    let written = figures.written.min(figures.input - cached);
    let reasoning = figures.reasoning.min(figures.output);
    Usage {
        fresh_input: Tokens::new(figures.input - cached - written),
        cache_read: Tokens::new(cached),
        cache_write: Tokens::new(written),
        output: Tokens::new(figures.output - reasoning),
        reasoning: Tokens::new(reasoning),
        ..Usage::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_of_output_has_the_name_that_the_server_knows() {
        let question =
            Question { system: "", tools: &[], turns: &[], output_tokens_max: Tokens::new(7), measured: None };
        let of = |server| body("gpt-5", &question, server);
        let openai = of(Server::OpenAi);
        assert_eq!((&openai["max_completion_tokens"], openai.get("max_tokens")), (&json!(7), None));
        let other = of(Server::Other);
        assert_eq!((&other["max_tokens"], other.get("max_completion_tokens")), (&json!(7), None));
    }
}
