//! What is known of a reply: filled by each API's file, read when the call is settled.

use super::chant::ReplyWatch;
use super::facts::Api;
use super::figure::Figures;
use super::json::Json;
use super::tool_calls::CallCollector;
use tripwire_core::ledger::ModelUsage;
use tripwire_core::usage::{AudioInput, Usage};

/// What is known of a reply so far.
#[derive(Debug, Default)]
pub struct ReplyFacts {
    /// What the provider said it used.
    pub usage: Option<Usage>,
    /// How much of the input it said was audio, where it said so.
    pub audio: Option<AudioInput>,
    /// What other models used for the reply, inside `usage`.
    pub others: Vec<ModelUsage>,
    /// The model that answered.
    pub model: Option<String>,
    /// The bytes of text, reasoning and arguments.
    pub said_bytes: u64,
    /// Whether it came to its end.
    pub is_complete: bool,
    /// The error that it is, or ended with.
    pub refusal: Option<Refusal>,
    /// Calls of the provider's own tools.
    pub server_calls: u64,
    /// How many times the list price it says it cost, in thousandths; 0 where it says nothing.
    pub price_per_mille: u64,
    /// Whether a figure was no figure: then none is believed.
    trust: Trust,
    /// Looks for repetition, where the reply can still be cut.
    watch: Option<ReplyWatch>,
    /// The calls of tools, where somebody wants to know them.
    pub calls: Option<Box<CallCollector>>,
}

/// Whether a reply's figures are believed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Trust {
    #[default]
    Believed,
    Doubtful,
}

/// What kind of error a reply is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// The provider has too much to do.
    Overloaded,
    /// Anything else.
    Other,
}

impl ReplyFacts {
    /// Of a reply that is watched for repetition while it comes.
    pub(super) fn watched() -> Self {
        Self { watch: Some(ReplyWatch::default()), ..Self::default() }
    }

    pub(super) fn named(&mut self, model: Option<&Json<'_>>) {
        if let Some(model) = model.and_then(Json::as_str).filter(|model| !model.is_empty()) {
            self.model = Some(model.to_owned());
        }
    }

    /// A text that is no JSON may ask for anything, unless it is empty.
    pub(super) fn miss_calls(&mut self, text: &str) {
        if let Some(calls) = self.calls.as_mut().filter(|_| !text.trim().is_empty()) {
            calls.miss();
        }
    }

    /// Takes in the calls of an event or a whole reply, where somebody wants to know them.
    pub(super) fn hear_calls(&mut self, api: Api, value: &Json<'_>) {
        if let Some(calls) = &mut self.calls {
            calls.hear(api, value);
        }
    }

    pub(super) fn say(&mut self, text: &str) {
        self.said_bytes += text.len() as u64;
        if let Some(watch) = &mut self.watch {
            watch.say(text);
        }
    }

    pub(super) const fn argue(&mut self, bytes: usize) {
        self.said_bytes += bytes as u64;
    }

    pub(super) fn tell(&mut self, usage: Usage, figures: &Figures<'_>) {
        if figures.is_broken {
            self.trust = Trust::Doubtful;
        }
        self.usage = Some(usage);
    }

    pub(super) fn refused(&mut self, error: Option<&Json<'_>>) {
        let text = |name: &str| error.and_then(|error| error.get(name)).and_then(Json::as_str).unwrap_or_default();
        let code = error.and_then(|error| error.get("code")).and_then(Json::as_u64);
        let words = [text("type"), text("code"), text("status")];
        let is_busy = words.iter().any(|word| {
            let word = word.to_ascii_lowercase();
            word.contains("overloaded") || word.contains("unavailable") || word == "server_is_overloaded"
        });
        self.refusal =
            Some(if is_busy || matches!(code, Some(503 | 529)) { Refusal::Overloaded } else { Refusal::Other });
    }

    /// The figures that may be believed.
    #[must_use]
    pub fn told(&self) -> Option<Usage> {
        self.usage.filter(|_| self.trust == Trust::Believed)
    }

    /// Whether the text repeats itself and would not end.
    #[must_use]
    pub fn chants(&self) -> bool {
        self.watch.as_ref().is_some_and(ReplyWatch::is_chant)
    }
}
