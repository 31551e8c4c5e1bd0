//! Codex CLI's rollout: the tokens of the whole thread, told again and again as they grow.

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
    #[serde(borrow)]
    payload: Option<&'a RawValue>,
}

/// The fields of all payloads that matter.
#[derive(Deserialize)]
struct Payload<'a> {
    #[serde(borrow, rename = "type")]
    kind: Option<Cow<'a, str>>,
    #[serde(borrow)]
    model: Option<Cow<'a, str>>,
    #[serde(borrow)]
    call_id: Option<Cow<'a, str>>,
    #[serde(borrow)]
    response_id: Option<Cow<'a, str>>,
    usage: Option<CodexUsage>,
    thread_token_usage: Option<CodexUsage>,
    info: Option<Info>,
    model_context_window: Option<u64>,
    #[serde(borrow)]
    item: Option<Item<'a>>,
}

#[derive(Deserialize)]
struct Info {
    total_token_usage: Option<CodexUsage>,
    last_token_usage: Option<CodexUsage>,
    model_context_window: Option<u64>,
}

#[derive(Deserialize)]
struct Item<'a> {
    #[serde(borrow)]
    id: Option<Cow<'a, str>>,
    exit_code: Option<i32>,
}

#[derive(Deserialize, Clone, Copy, Default)]
#[serde(default)]
struct CodexUsage {
    input_tokens: Count,
    cached_input_tokens: Count,
    cache_write_input_tokens: Count,
    output_tokens: Count,
    reasoning_output_tokens: Count,
}

/// Takes one line in.
pub(super) fn line(text: &str, news: &mut News<'_>) {
    let Ok(line) = serde_json::from_str::<Line<'_>>(text) else { return unread(text, news) };
    let Line { kind, payload: Some(raw) } = line else { return };
    if !matches!(kind.as_ref(), "turn_context" | "response_item" | "token_usage_record" | "event_msg") {
        return;
    }
    let Ok(payload) = serde_json::from_str::<Payload<'_>>(raw.get()) else { return unread(text, news) };
    match (kind.as_ref(), payload.kind.as_deref()) {
        ("turn_context", _) => news.record.model = payload.model.map(Cow::into_owned),
        ("response_item", Some("function_call" | "custom_tool_call" | "local_shell_call")) => {
            news.record.open_calls.extend(payload.call_id.map(|id| Fingerprint::of(id.as_bytes())));
        }
        ("token_usage_record", _) => {
            let id = payload.response_id.unwrap_or_default();
            let answer = Fingerprint::of(id.as_bytes());
            let calls = std::mem::take(&mut news.record.open_calls);
            news.record.calls.extend(calls.into_iter().map(|call| (call, answer)));
            told(news, &id, payload.thread_token_usage, payload.usage);
        }
        ("event_msg", Some("token_count")) => {
            let Some(info) = payload.info else { return };
            if info.model_context_window.is_some() {
                news.record.window = info.model_context_window;
            }
            told(news, "", info.total_token_usage, info.last_token_usage);
        }
        ("event_msg", Some("task_started")) if payload.model_context_window.is_some() => {
            news.record.window = payload.model_context_window;
        }
        ("event_msg", Some("item_completed")) => {
            if let Some(Item { id: Some(id), exit_code: Some(code) }) = payload.item {
                news.record.exits.push((Fingerprint::of(id.as_bytes()), code));
            }
        }
        _ => {}
    }
}

/// A line of figures that does not have their form counts by its size.
fn unread(text: &str, news: &mut News<'_>) {
    if text.starts_with('{') && may_answer(super::Client::Codex, text) {
        news.unread(text, u64::try_from(text.len()).unwrap_or(u64::MAX));
    }
}

fn told(news: &mut News<'_>, id: &str, total: Option<CodexUsage>, last: Option<CodexUsage>) {
    let Some(total) = total else { return };
    let context = last.map(|last| Tokens::new(last.input_tokens.0));
    news.total(&Answer { id, model: None, tokens: total.classes(), context });
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
