//! Why a value has no canonical text, and the limits beyond which it has none.

use crate::explain::{ExitClass, Explain};
use alloc::borrow::Cow;
use alloc::string::{String, ToString};
use core::fmt::Display;

/// Why a value has no canonical text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CanonicalError {
    /// An integer that a reader with doubles could not hold exactly.
    #[error("the integer `{0}` is not below 2^53 in magnitude")]
    IntegerOutOfRange(String),
    /// A ratio with more digits than a double keeps.
    #[error("the ratio of `{0}` millionths has more than 15 digits")]
    RatioOutOfRange(String),
    /// A floating-point number, which would not replay bit for bit.
    #[error("a floating-point number cannot be recorded, use an integer or a ratio in millionths")]
    Float,
    /// A ratio newtype around something that is not an integer.
    #[error("a ratio must wrap an integer number of millionths")]
    RatioNotInteger,
    /// Two members of one object share a name, so readers would disagree about the value.
    #[error("the key `{0}` appears twice in one object")]
    DuplicateKey(String),
    /// An object key that has no text form.
    #[error("an object key must be a text, an integer or a unit variant")]
    KeyNotText,
    /// Nesting beyond [`DEPTH_LIMIT`].
    #[error("the value is nested deeper than {DEPTH_LIMIT} levels")]
    TooDeep,
    /// A serde extension of another format that would be written as something else than it means.
    #[error("the serde extension `{0}` has no canonical form")]
    Extension(&'static str),
    /// A `Serialize` implementation gave up by itself.
    #[error("{0}")]
    Custom(String),
}

impl Explain for CanonicalError {
    fn hint(&self) -> Cow<'_, str> {
        Cow::Borrowed("this is a defect of tripwire; please report it")
    }

    fn exit_class(&self) -> ExitClass {
        ExitClass::Internal
    }
}

impl serde::ser::Error for CanonicalError {
    fn custom<T: Display>(message: T) -> Self {
        Self::Custom(message.to_string())
    }
}

/// Numbers at or beyond this magnitude are refused: a reader that holds numbers as doubles would round them.
pub const INTEGER_LIMIT: u64 = 1 << 53;

/// Ratios at or beyond this many millionths are refused: 15 digits are what every double keeps.
pub const RATIO_LIMIT: u64 = 1_000_000_000_000_000;

/// Nesting beyond this is refused, so that a foreign value cannot exhaust the stack.
pub const DEPTH_LIMIT: usize = 128;
