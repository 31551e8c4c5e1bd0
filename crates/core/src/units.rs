//! Numbers with their units: nothing bare crosses a module boundary, and nothing here is a float.
//!
//! Each type checks its bound once, when it is decoded; inside the engine an invalid value does not exist. All
//! arithmetic saturates, because a figure that leaves its range must never wrap into a harmless one.

use core::fmt;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The largest integer that every JSON reader carries exactly (2^53 - 1).
pub const JSON_INTEGER_MAX: u64 = 9_007_199_254_740_991;

/// Declares a bounded unsigned unit with saturating arithmetic.
macro_rules! unit {
    ($(#[$doc:meta])* $name:ident, $inner:ty, $max:expr, $what:literal) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
        pub struct $name($inner);

        impl $name {
            /// The smallest value.
            pub const ZERO: Self = Self(0);
            /// The largest value that may enter from outside.
            pub const MAX: Self = Self($max);

            /// The value, capped at [`Self::MAX`].
            #[must_use]
            pub const fn new(value: $inner) -> Self {
                Self(if value > $max { $max } else { value })
            }

            /// The bare number, for printing and for arithmetic in one place.
            #[must_use]
            pub const fn get(self) -> $inner {
                self.0
            }

            /// Whether there is nothing to show.
            #[must_use]
            pub const fn is_zero(&self) -> bool {
                self.0 == 0
            }

            /// The sum, capped at [`Self::MAX`].
            #[must_use]
            pub const fn plus(self, other: Self) -> Self {
                Self::new(self.0.saturating_add(other.0))
            }

            /// The difference, never below zero.
            #[must_use]
            pub const fn minus(self, other: Self) -> Self {
                Self(self.0.saturating_sub(other.0))
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                self.0.serialize(serializer)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let value = <$inner>::deserialize(deserializer)?;
                if value > $max {
                    return Err(D::Error::custom(format_args!(
                        concat!("{} is more than the largest allowed ", $what, " ({})"),
                        value,
                        Self::MAX
                    )));
                }
                Ok(Self(value))
            }
        }
    };
}

unit!(
    /// Milliseconds since the session's start, or a span of them.
    RunMillis, u64, JSON_INTEGER_MAX, "number of milliseconds"
);
unit!(
    /// A number of tokens; a single event may carry at most a trillion.
    Tokens, u64, 1_000_000_000_000, "number of tokens"
);
unit!(
    /// Money in millionths of a US dollar; a single figure is at most a billion dollars.
    MicroUsd, u64, 1_000_000_000_000_000, "number of micro-dollars"
);
unit!(
    /// A small count: tool calls of one event, repeats, iterations.
    Count, u32, 1_000_000_000, "count"
);
unit!(
    /// The position of an input in its session, from 0.
    EventIndex, u64, JSON_INTEGER_MAX, "index"
);
unit!(
    /// The number of a step (one model turn with its tool calls), from 0.
    StepId, u64, JSON_INTEGER_MAX, "step number"
);

impl RunMillis {
    /// A span given in whole seconds.
    #[must_use]
    pub const fn from_seconds(seconds: u64) -> Self {
        Self::new(seconds.saturating_mul(1_000))
    }
}

impl Count {
    /// One more.
    #[must_use]
    pub const fn next(self) -> Self {
        self.plus(Self(1))
    }
}

impl MicroUsd {
    /// Reads an amount as people write it: `5usd`, `$0.50`, `2.5`; at most six places.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let plain = text.trim().to_ascii_lowercase();
        let plain = plain.strip_prefix('$').unwrap_or(&plain);
        let plain = plain.strip_suffix("usd").unwrap_or(plain).trim();
        let (whole, part) = plain.split_once('.').unwrap_or((plain, ""));
        let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        if whole.is_empty() || !digits(whole) || !digits(part) || part.len() > 6 {
            return None;
        }
        let dollars: u64 = whole.parse().ok()?;
        let micro: u64 = alloc::format!("{part:0<6}").parse().ok()?;
        let sum = dollars.checked_mul(1_000_000)?.checked_add(micro)?;
        (sum <= Self::MAX.get()).then_some(Self(sum))
    }

    /// The amount as people read it, with every digit: `$0.015`; what is less than a cent in cents: `0.5¢`.
    #[must_use]
    pub fn in_dollars(self) -> alloc::string::String {
        const DOLLAR: u64 = 1_000_000;
        const CENT: u64 = 10_000;
        let amount = self.get();
        if (1..CENT).contains(&amount) {
            let fraction = alloc::format!("{amount:04}");
            return alloc::format!("0.{}¢", fraction.trim_end_matches('0'));
        }
        let whole = amount.checked_div(DOLLAR).unwrap_or_default();
        let fraction = alloc::format!("{:06}", amount.checked_rem(DOLLAR).unwrap_or_default());
        alloc::format!("${whole}.{:0<2}", fraction.trim_end_matches('0'))
    }
}

impl Tokens {
    /// Bytes of text that are counted as one token. English prose has about four; code, JSON and other languages have
    /// fewer, and an estimate that a budget counts with must rather be too high.
    const ESTIMATE_BYTES: usize = 3;

    /// The tokens of a text whose provider gave no figure. A missing figure must not count as nothing, so this rounds up.
    #[must_use]
    pub fn estimate(bytes: usize) -> Self {
        Self::new(u64::try_from(bytes.div_ceil(Self::ESTIMATE_BYTES)).unwrap_or(u64::MAX))
    }
}

/// What an alarm is worth: spent since the first repeat.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Price {
    /// Money.
    pub micro_usd: MicroUsd,
    /// Tokens.
    pub tokens: Tokens,
}

impl Price {
    /// What was spent between two totals.
    #[must_use]
    pub const fn since(self, earlier: Self) -> Self {
        Self { micro_usd: self.micro_usd.minus(earlier.micro_usd), tokens: self.tokens.minus(earlier.tokens) }
    }

    /// The sum of two.
    #[must_use]
    pub const fn plus(self, other: Self) -> Self {
        Self { micro_usd: self.micro_usd.plus(other.micro_usd), tokens: self.tokens.plus(other.tokens) }
    }

    /// Whether nothing was spent.
    #[must_use]
    pub const fn is_nothing(&self) -> bool {
        self.micro_usd.get() == 0 && self.tokens.get() == 0
    }
}

/// A ratio in millionths (900,000 is 0.9), printed as a decimal.
///
/// Health, similarity, confidence and thresholds share this one type, so that no comparison mixes scales.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Ratio(u32);

impl Ratio {
    /// 0.
    pub const ZERO: Self = Self(0);
    /// 1.
    pub const ONE: Self = Self(Self::SCALE);
    /// The name under which the canonical writer knows this type and prints it as a decimal.
    pub const SERDE_NAME: &'static str = "$tripwire::Ratio";
    /// Millionths in one.
    pub const SCALE: u32 = 1_000_000;

    /// From millionths, capped at one.
    #[must_use]
    pub const fn from_millionths(millionths: u32) -> Self {
        match millionths {
            ..=Self::SCALE => Self(millionths),
            _ => Self(Self::SCALE),
        }
    }

    /// From per mille, capped at one.
    #[must_use]
    pub const fn from_per_mille(per_mille: u32) -> Self {
        Self::from_millionths(per_mille.saturating_mul(1_000))
    }

    /// `part / whole`, rounded down and capped at one; 0 when `whole` is 0.
    #[must_use]
    pub fn of(part: u64, whole: u64) -> Self {
        let scaled = u128::from(part).saturating_mul(u128::from(Self::SCALE));
        let millionths = scaled.checked_div(u128::from(whole)).unwrap_or(0);
        Self::from_millionths(u32::try_from(millionths).unwrap_or(Self::SCALE))
    }

    /// The bare millionths.
    #[must_use]
    pub const fn millionths(self) -> u32 {
        self.0
    }

    /// The sum, capped at one.
    #[must_use]
    pub const fn plus(self, other: Self) -> Self {
        Self::from_millionths(self.0.saturating_add(other.0))
    }

    /// The difference, never below zero.
    #[must_use]
    pub const fn minus(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }

    /// The product, rounded down.
    #[must_use]
    pub fn times(self, other: Self) -> Self {
        Self::of(
            u64::from(self.0).saturating_mul(u64::from(other.0)),
            u64::from(Self::SCALE).saturating_mul(u64::from(Self::SCALE)),
        )
    }

    /// This share of a number, rounded down.
    #[must_use]
    pub fn share_of(self, whole: u64) -> u64 {
        let scaled = u128::from(whole).saturating_mul(u128::from(self.0));
        u64::try_from(scaled.checked_div(u128::from(Self::SCALE)).unwrap_or(0)).unwrap_or(u64::MAX)
    }

    /// Reads a plain decimal between 0 and 1 with at most six places, as a person writes it.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
        let plain = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
        if whole.is_empty() || whole.len() > 9 || fraction.len() > 6 || !plain(whole) || !plain(fraction) {
            return None;
        }
        let mut millionths = u64::from(whole.parse::<u32>().ok()?).saturating_mul(u64::from(Self::SCALE));
        let mut place = u64::from(Self::SCALE);
        for digit in fraction.bytes() {
            place = place.checked_div(10)?;
            millionths = millionths.saturating_add(u64::from(digit.saturating_sub(b'0')).saturating_mul(place));
        }
        u32::try_from(millionths).ok().filter(|value| *value <= Self::SCALE).map(Self)
    }
}

impl fmt::Display for Ratio {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let whole = self.0.checked_div(Self::SCALE).unwrap_or(0);
        let mut fraction = self.0.checked_rem(Self::SCALE).unwrap_or(0);
        if fraction == 0 {
            return write!(f, "{whole}");
        }
        let mut places = 6_usize;
        while fraction.checked_rem(10) == Some(0) {
            fraction = fraction.checked_div(10).unwrap_or(0);
            places = places.saturating_sub(1);
        }
        write!(f, "{whole}.{fraction:0places$}")
    }
}

impl Serialize for Ratio {
    /// The canonical writer knows this name and prints the decimal; any other writer shows the bare millionths.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_newtype_struct(Self::SERDE_NAME, &self.0)
    }
}

impl<'de> Deserialize<'de> for Ratio {
    /// Reads the bare millionths: snapshots only. A person's decimal is read at the edge with [`Ratio::parse`].
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let millionths = u32::deserialize(deserializer)?;
        if millionths > Self::SCALE {
            return Err(D::Error::custom("a ratio is at most 1000000 millionths"));
        }
        Ok(Self(millionths))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn a_ratio_prints_as_the_shortest_decimal() {
        for (millionths, text) in [(0, "0"), (1, "0.000001"), (50_000, "0.05"), (900_000, "0.9"), (1_000_000, "1")] {
            assert_eq!(Ratio::from_millionths(millionths).to_string(), text);
            assert_eq!(Ratio::parse(text), Some(Ratio::from_millionths(millionths)));
        }
    }

    #[test]
    fn a_ratio_that_is_no_plain_decimal_between_0_and_1_is_refused() {
        for text in ["", ".5", "1.1", "-0.5", "0.1234567", "1e-3", "0,5", "+1", "0x1"] {
            assert_eq!(Ratio::parse(text), None, "{text}");
        }
    }

    #[test]
    fn figures_saturate_and_never_wrap() {
        assert_eq!(Tokens::new(u64::MAX), Tokens::MAX);
        assert_eq!(Tokens::new(5).minus(Tokens::new(9)), Tokens::ZERO);
        assert_eq!(Count::MAX.next(), Count::MAX);
        assert_eq!(Ratio::of(7, 0), Ratio::ZERO);
        assert_eq!(Ratio::of(9, 3), Ratio::ONE);
        assert_eq!(Ratio::from_per_mille(500).share_of(50_000), 25_000);
        assert_eq!(Ratio::from_per_mille(500).times(Ratio::from_per_mille(500)), Ratio::from_per_mille(250));
    }

    #[test]
    fn a_figure_beyond_its_bound_is_refused_by_name() {
        let error = serde_json::from_str::<Tokens>("1152921504606846976").unwrap_err().to_string();
        assert!(error.contains("number of tokens"), "{error}");
        assert!(serde_json::from_str::<Tokens>("-1").is_err());
        assert!(serde_json::from_str::<Tokens>("1.5").is_err());
    }
}
