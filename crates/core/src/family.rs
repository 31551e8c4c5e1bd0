//! The families of model APIs and how each carries a key: gateway, clients and configurations name them alike.

use serde::{Deserialize, Serialize};

/// A family of APIs, as a provider's `api` names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Family {
    /// Messages.
    Anthropic,
    /// Chat Completions and Responses.
    OpenAi,
    /// `generateContent`.
    Gemini,
}

impl Family {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Anthropic, Self::OpenAi, Self::Gemini];

    /// The first segment of its route in the gateway, and its name in a configuration.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Anthropic => "anthropic",
            Self::OpenAi => "openai",
            Self::Gemini => "gemini",
        }
    }
}

/// The header that carries a provider's key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum KeyHeader {
    /// The one that the API documents.
    #[default]
    Usual,
    /// `Authorization: Bearer`, which other servers of the same API may want.
    Bearer,
}
