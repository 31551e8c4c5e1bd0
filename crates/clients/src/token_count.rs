//! A number of tokens as clients write it: `null` is none, a fraction counts up, and what is no number is an error.

use serde::de::{Deserialize, Deserializer, Error, Visitor};
use std::fmt;

/// Tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct TokenCount(pub(crate) u64);

impl<'de> Deserialize<'de> for TokenCount {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Reader;
        impl Visitor<'_> for Reader {
            type Value = TokenCount;

            fn expecting(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
                to.write_str("a number of tokens")
            }

            fn visit_unit<E: Error>(self) -> Result<TokenCount, E> {
                Ok(TokenCount(0))
            }

            fn visit_u64<E: Error>(self, value: u64) -> Result<TokenCount, E> {
                Ok(TokenCount(value))
            }

            fn visit_i64<E: Error>(self, value: i64) -> Result<TokenCount, E> {
                u64::try_from(value).map(TokenCount).map_err(E::custom)
            }

            fn visit_f64<E: Error>(self, value: f64) -> Result<TokenCount, E> {
                if value < 0.0 {
                    return Err(E::custom("fewer than no tokens"));
                }
                // A cast ends at the largest number and never wraps.
                Ok(TokenCount(value.ceil() as u64))
            }

            fn visit_str<E: Error>(self, value: &str) -> Result<TokenCount, E> {
                value.trim().parse().map(TokenCount).map_err(E::custom)
            }
        }
        from.deserialize_any(Reader)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_way_to_write_a_number_counts_and_nothing_else_does() {
        let read = |text: &str| serde_json::from_str::<TokenCount>(text).ok().map(|count| count.0);
        for (text, tokens) in
            [("7", 7), ("null", 0), ("7.2", 8), ("900000.0", 900_000), ("\"12\"", 12), ("1e30", u64::MAX)]
        {
            assert_eq!(read(text), Some(tokens), "{text}");
        }
        for text in ["-1", "-0.5", "\"many\"", "{}", "[1]", "true"] {
            assert_eq!(read(text), None, "{text}");
        }
    }
}
