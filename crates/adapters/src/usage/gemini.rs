//! Gemini CLI's session file: one line per answer, written again when the results of its calls arrive.

use super::{Answer, News};
use serde::Deserialize;
use std::borrow::Cow;
use tripwire_core::units::Tokens;
use tripwire_host::prices::TokenClasses;

#[derive(Deserialize)]
struct Line<'a> {
    #[serde(borrow, rename = "type")]
    kind: Cow<'a, str>,
    #[serde(borrow)]
    id: Cow<'a, str>,
    #[serde(borrow)]
    model: Option<Cow<'a, str>>,
    tokens: Option<Used>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Used {
    input: u64,
    output: u64,
    cached: u64,
    thoughts: u64,
    tool: u64,
}

/// Takes one line in. `$set` lines hold the whole conversation once more and count nothing.
pub(super) fn line(text: &str, news: &mut News<'_>) {
    if text.starts_with("{\"$set\"") || !text.contains("\"tokens\"") {
        return;
    }
    let Ok(Line { kind, id, model, tokens: Some(used) }) = serde_json::from_str(text) else { return };
    if kind != "gemini" {
        return;
    }
    // Cached tokens are inside the input here; thoughts and the tools' prompt are outside of everything.
    let tokens = TokenClasses {
        fresh_input: Tokens::new(used.input.saturating_sub(used.cached).saturating_add(used.tool)),
        cache_read: Tokens::new(used.cached),
        output: Tokens::new(used.output),
        reasoning: Tokens::new(used.thoughts),
        ..TokenClasses::default()
    };
    news.answer(&Answer { id: &id, model: model.as_deref(), tokens, context: Some(tokens.input()) });
}
