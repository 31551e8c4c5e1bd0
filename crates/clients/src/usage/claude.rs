//! Claude Code's transcript: one line per block of an answer, each repeating the answer's figures.

use super::count::Count;
use super::{Answer, News, may_answer};
use serde::Deserialize;
use serde_json::value::RawValue;
use std::borrow::Cow;
use tripwire_core::label::Fingerprint;
use tripwire_core::units::Tokens;
use tripwire_core::usage::Usage;

#[derive(Deserialize)]
struct Line<'a> {
    #[serde(borrow, rename = "type")]
    kind: Cow<'a, str>,
    #[serde(default, rename = "isSidechain")]
    sidechain: bool,
    #[serde(borrow)]
    message: Option<Message<'a>>,
    #[serde(borrow, rename = "requestId")]
    request: Option<Cow<'a, str>>,
    #[serde(borrow)]
    uuid: Option<Cow<'a, str>>,
}

#[derive(Deserialize)]
struct Message<'a> {
    #[serde(borrow)]
    id: Option<Cow<'a, str>>,
    #[serde(borrow)]
    model: Option<Cow<'a, str>>,
    usage: Option<ClaudeUsage>,
    #[serde(borrow)]
    content: Option<&'a RawValue>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct ClaudeUsage {
    input_tokens: Count,
    cache_creation_input_tokens: Count,
    cache_read_input_tokens: Count,
    output_tokens: Count,
    cache_creation: Option<Creation>,
    output_tokens_details: Option<Details>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Creation {
    ephemeral_1h_input_tokens: Count,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Details {
    thinking_tokens: Count,
}

#[derive(Deserialize)]
struct Block<'a> {
    #[serde(borrow, rename = "type")]
    kind: Cow<'a, str>,
    #[serde(borrow)]
    id: Option<Cow<'a, str>>,
}

/// Takes one line in; lines that hold no answer are passed over.
pub(super) fn line(text: &str, news: &mut News<'_>) {
    if !text.contains("\"usage\"") {
        return;
    }
    let Ok(line) = serde_json::from_str::<Line<'_>>(text) else { return unread(text, news) };
    let Line { kind, sidechain, message: Some(message), request, uuid } = line else { return };
    let Some(usage) = &message.usage else { return };
    if kind != "assistant" {
        return;
    }
    // An answer without a name is known by what it came with.
    let id = message.id.or(request).or(uuid).unwrap_or(Cow::Borrowed(text));
    if let Some(blocks) = message.content.and_then(|content| serde_json::from_str::<Vec<Block<'_>>>(content.get()).ok())
    {
        let answer = Fingerprint::of(id.as_bytes());
        for call in blocks.iter().filter(|block| block.kind == "tool_use").filter_map(|block| block.id.as_ref()) {
            news.record.calls.push((Fingerprint::of(call.as_bytes()), answer));
        }
    }
    let tokens = usage.classes();
    let context = (!sidechain).then(|| tokens.input());
    news.answer(&Answer { id: &id, model: message.model.as_deref(), tokens, context });
}

/// A line that does not have the form of an answer: one that says that it is one counts by its size.
fn unread(text: &str, news: &mut News<'_>) {
    #[derive(Deserialize)]
    struct Kind<'a> {
        #[serde(borrow, rename = "type")]
        kind: Cow<'a, str>,
    }
    let answers = match serde_json::from_str::<Kind<'_>>(text) {
        Ok(line) => line.kind == "assistant",
        Err(_) => text.starts_with('{') && text.contains("\"assistant\"") && may_answer(super::Client::Claude, text),
    };
    if answers {
        news.unread(text, u64::try_from(text.len()).unwrap_or(u64::MAX));
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
