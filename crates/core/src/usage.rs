//! What one answer of a model used: the one type for it, for every client and engine.

use crate::units::Tokens;
use serde::{Deserialize, Serialize};

/// Where a figure comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum FigureSource {
    /// The provider or the client told it.
    #[default]
    Told,
    /// Nobody did: it was estimated.
    Estimated,
}

impl FigureSource {
    /// Whether somebody told it.
    #[must_use]
    pub fn is_told(&self) -> bool {
        *self == Self::Told
    }
}

/// The tokens of one answer, in classes that do not overlap, whatever a provider's own arithmetic is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Usage {
    /// Input read from a cache.
    pub cache_read: Tokens,
    /// Input written to a cache for the provider's usual few minutes.
    pub cache_write: Tokens,
    /// Input written to a cache for an hour or longer, which some providers charge at twice the price; outside
    /// `cache_write`.
    #[serde(default, skip_serializing_if = "Tokens::is_zero")]
    pub cache_write_long: Tokens,
    /// Input that no cache had.
    pub fresh_input: Tokens,
    /// Output without reasoning.
    pub output: Tokens,
    /// Reasoning, charged as output; outside `output`.
    pub reasoning: Tokens,
}

impl Usage {
    /// Joins each class with the same class of another figure.
    #[must_use]
    pub fn with(self, other: Self, join: impl Fn(Tokens, Tokens) -> Tokens) -> Self {
        Self {
            cache_read: join(self.cache_read, other.cache_read),
            cache_write: join(self.cache_write, other.cache_write),
            cache_write_long: join(self.cache_write_long, other.cache_write_long),
            fresh_input: join(self.fresh_input, other.fresh_input),
            output: join(self.output, other.output),
            reasoning: join(self.reasoning, other.reasoning),
        }
    }

    /// Everything that went in; it decides whether the price of a long context holds.
    #[must_use]
    pub const fn input(&self) -> Tokens {
        self.fresh_input.plus(self.cache_read).plus(self.cache_write).plus(self.cache_write_long)
    }

    /// What fills the model's window after the answer: a provider drops the reasoning.
    #[must_use]
    pub const fn context(&self) -> Tokens {
        self.input().plus(self.output)
    }

    /// Everything together.
    #[must_use]
    pub const fn total(&self) -> Tokens {
        self.context().plus(self.reasoning)
    }
}

/// How much of the input is audio, for which some models have a price of its own. It is inside a [`Usage`]: in its fresh input and
/// in what it read from a cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AudioInput {
    /// Read from a cache.
    pub cached: Tokens,
    /// That no cache had.
    pub fresh: Tokens,
}

impl AudioInput {
    /// Whether there is none.
    #[must_use]
    pub const fn is_zero(&self) -> bool {
        self.cached.is_zero() && self.fresh.is_zero()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_class_that_few_providers_have_is_written_only_where_it_is_used() {
        let usage = Usage { fresh_input: Tokens::new(7), ..Usage::default() };
        let text = serde_json::to_string(&usage).unwrap();
        assert_eq!(text, r#"{"cacheRead":0,"cacheWrite":0,"freshInput":7,"output":0,"reasoning":0}"#);
        assert_eq!(serde_json::from_str::<Usage>(&text).unwrap(), usage);
        let long = Usage { cache_write_long: Tokens::new(3), ..usage };
        assert_eq!(serde_json::from_str::<Usage>(&serde_json::to_string(&long).unwrap()).unwrap(), long);
        assert_eq!((long.input(), long.total()), (Tokens::new(10), Tokens::new(10)));
    }
}
