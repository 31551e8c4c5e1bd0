//! Gemini CLI's session file: one line per answer, written again when the results of its calls arrive.

use super::count::Count;
use super::{Answer, News, may_answer};
use serde::Deserialize;
use std::borrow::Cow;
use tripwire_core::units::Tokens;
use tripwire_core::usage::Usage;

#[derive(Deserialize)]
struct Line<'a> {
    #[serde(borrow, rename = "type")]
    kind: Cow<'a, str>,
    #[serde(borrow)]
    id: Option<Cow<'a, str>>,
    #[serde(borrow)]
    model: Option<Cow<'a, str>>,
    tokens: Option<Used>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Used {
    input: Count,
    output: Count,
    cached: Count,
    thoughts: Count,
    tool: Count,
}

/// Takes one line in. `$set` lines hold the whole conversation once more and count nothing.
pub(super) fn line(text: &str, news: &mut News<'_>) {
    if text.starts_with("{\"$set\"") || !text.contains("\"tokens\"") {
        return;
    }
    let Ok(line) = serde_json::from_str::<Line<'_>>(text) else {
        // An answer whose figures are not to be read counts by its size.
        if text.starts_with('{') && text.contains("\"gemini\"") && may_answer(super::Client::Gemini, text) {
            news.unread(text, u64::try_from(text.len()).unwrap_or(u64::MAX));
        }
        return;
    };
    let Line { kind, id, model, tokens: Some(used) } = line else { return };
    if kind != "gemini" {
        return;
    }
    // An answer without a name is known by its text.
    let id = id.unwrap_or(Cow::Borrowed(text));
    // Cached tokens are inside the input here; thoughts and the tools' prompt are outside of everything.
    let tokens = Usage {
        fresh_input: Tokens::new(used.input.0.saturating_sub(used.cached.0).saturating_add(used.tool.0)),
        cache_read: Tokens::new(used.cached.0),
        output: Tokens::new(used.output.0),
        reasoning: Tokens::new(used.thoughts.0),
        ..Usage::default()
    };
    news.answer(&Answer { id: &id, model: model.as_deref(), tokens, context: Some(tokens.input()) });
}
