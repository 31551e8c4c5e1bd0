//! Canonical JSON (RFC 8785), so that a value has exactly one text and therefore exactly one hash.
//!
//! Our numbers are integers below 2^53, so the float formatting of the RFC is not needed: a float is an error, never
//! rounded. A ratio is an integer number of millionths in a newtype named [`RATIO`] and is printed as a decimal.
//! Fields that are declared in sorted order are written straight through; only an object that turns out to be unsorted
//! is put in order when it closes.

use crate::explain::{ExitClass, Explain};
use alloc::borrow::Cow;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt::{self, Display, Write as _};

use serde::Serialize;

mod compound;
mod key;
mod number;
mod ratio;

/// The serde name of a newtype struct that wraps millionths and is printed as a decimal: `900000` becomes `0.9`.
pub const RATIO: &str = "$tripwire::Ratio";

/// Numbers at or beyond this magnitude are refused: a reader that holds numbers as doubles would round them.
pub const INTEGER_LIMIT: u64 = 1 << 53;

/// Ratios at or beyond this many millionths are refused: 15 digits are what every double keeps.
pub const RATIO_LIMIT: u64 = 1_000_000_000_000_000;

/// Nesting beyond this is refused, so that a foreign value cannot exhaust the stack.
pub const DEPTH_LIMIT: usize = 128;

/// Turns a value into its canonical text.
///
/// # Errors
/// See [`CanonicalError`]; nothing is returned half-written.
pub fn to_string<T: Serialize + ?Sized>(value: &T) -> Result<String, CanonicalError> {
    let mut out = String::with_capacity(INITIAL_CAPACITY);
    write(value, &mut out)?;
    Ok(out)
}

/// Appends a value's canonical text to `out`, for callers that reuse one buffer over many records.
///
/// # Errors
/// See [`CanonicalError`]; on an error `out` is as it was before the call.
pub fn write<T: Serialize + ?Sized>(value: &T, out: &mut String) -> Result<(), CanonicalError> {
    let start = out.len();
    let mut writer = Writer { out, marks: Vec::with_capacity(INITIAL_MARKS), keys: String::new(), depth: 0 };
    let result = value.serialize(&mut writer);
    if result.is_err() {
        out.truncate(start);
    }
    result
}

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

/// The state of one call: the text so far and, as a stack, where the members of every open object begin.
struct Writer<'out> {
    out: &'out mut String,
    marks: Vec<Member>,
    /// Unescaped names of map members, because the order is defined on them and not on their escaped text.
    keys: String,
    depth: usize,
}

/// Where a member of an open object begins in the text, and its name.
#[derive(Clone, Copy)]
struct Member {
    start: usize,
    key: Name,
}

/// A member's name: struct fields lend theirs for free, map keys are kept in the writer's arena.
#[derive(Clone, Copy)]
enum Name {
    Field(&'static str),
    Arena { start: usize, end: usize },
}

impl Writer<'_> {
    fn name(&self, name: Name) -> &str {
        match name {
            Name::Field(text) => text,
            Name::Arena { start, end } => self.keys.get(start..end).unwrap_or_default(),
        }
    }

    fn string(&mut self, text: &str) {
        self.out.push('"');
        escape(text, self.out);
        self.out.push('"');
    }

    fn enter(&mut self) -> Result<(), CanonicalError> {
        self.depth = self.depth.saturating_add(1);
        if self.depth > DEPTH_LIMIT {
            return Err(CanonicalError::TooDeep);
        }
        Ok(())
    }

    fn leave(&mut self) {
        self.depth = self.depth.saturating_sub(1);
    }
}

/// Escapes exactly what RFC 8785 escapes: the quote, the backslash and the 32 control characters.
fn escape(text: &str, out: &mut String) {
    if is_plain(text) {
        out.push_str(text);
        return;
    }
    let mut rest = text;
    while let Some(at) = rest.bytes().position(needs_escape) {
        let (plain, tail) = rest.split_at(at);
        out.push_str(plain);
        let mut chars = tail.chars();
        match chars.next() {
            Some('"') => out.push_str("\\\""),
            Some('\\') => out.push_str("\\\\"),
            Some('\u{8}') => out.push_str("\\b"),
            Some('\t') => out.push_str("\\t"),
            Some('\n') => out.push_str("\\n"),
            Some('\u{c}') => out.push_str("\\f"),
            Some('\r') => out.push_str("\\r"),
            Some(control) => {
                out.push_str(if control < '\u{10}' { "\\u000" } else { "\\u001" });
                out.extend(char::from_digit(u32::from(control) & 0xf, 16));
            }
            None => {}
        }
        rest = chars.as_str();
    }
    out.push_str(rest);
}

/// Looks at whole chunks without an early exit, which the compiler turns into vector code.
fn is_plain(text: &str) -> bool {
    text.as_bytes()
        .chunks(CHUNK_BYTES)
        .all(|chunk| !chunk.iter().fold(false, |found, byte| found | needs_escape(*byte)))
}

const fn needs_escape(byte: u8) -> bool {
    byte < 0x20 || byte == b'"' || byte == b'\\'
}

/// Lets `Display` values be written as escaped strings without an intermediate allocation.
struct Escaper<'out>(&'out mut String);

impl fmt::Write for Escaper<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        escape(text, self.0);
        Ok(())
    }
}

impl<'writer, 'out> serde::Serializer for &'writer mut Writer<'out> {
    type Ok = ();
    type Error = CanonicalError;
    type SerializeSeq = compound::Array<'writer, 'out>;
    type SerializeTuple = compound::Array<'writer, 'out>;
    type SerializeTupleStruct = compound::Array<'writer, 'out>;
    type SerializeTupleVariant = compound::Array<'writer, 'out>;
    type SerializeMap = compound::Object<'writer, 'out>;
    type SerializeStruct = compound::Object<'writer, 'out>;
    type SerializeStructVariant = compound::Object<'writer, 'out>;

    fn serialize_bool(self, value: bool) -> Result<(), CanonicalError> {
        self.out.push_str(if value { "true" } else { "false" });
        Ok(())
    }

    fn serialize_i8(self, value: i8) -> Result<(), CanonicalError> {
        number::signed(i64::from(value), self.out)
    }

    fn serialize_i16(self, value: i16) -> Result<(), CanonicalError> {
        number::signed(i64::from(value), self.out)
    }

    fn serialize_i32(self, value: i32) -> Result<(), CanonicalError> {
        number::signed(i64::from(value), self.out)
    }

    fn serialize_i64(self, value: i64) -> Result<(), CanonicalError> {
        number::signed(value, self.out)
    }

    fn serialize_i128(self, value: i128) -> Result<(), CanonicalError> {
        let narrow = i64::try_from(value).map_err(|_wide| CanonicalError::IntegerOutOfRange(value.to_string()))?;
        number::signed(narrow, self.out)
    }

    fn serialize_u8(self, value: u8) -> Result<(), CanonicalError> {
        number::unsigned(u64::from(value), self.out)
    }

    fn serialize_u16(self, value: u16) -> Result<(), CanonicalError> {
        number::unsigned(u64::from(value), self.out)
    }

    fn serialize_u32(self, value: u32) -> Result<(), CanonicalError> {
        number::unsigned(u64::from(value), self.out)
    }

    fn serialize_u64(self, value: u64) -> Result<(), CanonicalError> {
        number::unsigned(value, self.out)
    }

    fn serialize_u128(self, value: u128) -> Result<(), CanonicalError> {
        let narrow = u64::try_from(value).map_err(|_wide| CanonicalError::IntegerOutOfRange(value.to_string()))?;
        number::unsigned(narrow, self.out)
    }

    #[expect(clippy::disallowed_types, reason = "the trait asks, and the answer is an error")]
    fn serialize_f32(self, _value: f32) -> Result<(), CanonicalError> {
        Err(CanonicalError::Float)
    }

    #[expect(clippy::disallowed_types, reason = "the trait asks, and the answer is an error")]
    fn serialize_f64(self, _value: f64) -> Result<(), CanonicalError> {
        Err(CanonicalError::Float)
    }

    fn serialize_char(self, value: char) -> Result<(), CanonicalError> {
        self.string(value.encode_utf8(&mut [0; 4]));
        Ok(())
    }

    fn serialize_str(self, value: &str) -> Result<(), CanonicalError> {
        self.string(value);
        Ok(())
    }

    fn serialize_bytes(self, value: &[u8]) -> Result<(), CanonicalError> {
        self.collect_seq(value)
    }

    fn serialize_none(self) -> Result<(), CanonicalError> {
        self.serialize_unit()
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<(), CanonicalError> {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Result<(), CanonicalError> {
        self.out.push_str("null");
        Ok(())
    }

    fn serialize_unit_struct(self, _name: &'static str) -> Result<(), CanonicalError> {
        self.serialize_unit()
    }

    fn serialize_unit_variant(
        self,
        _name: &'static str,
        _index: u32,
        variant: &'static str,
    ) -> Result<(), CanonicalError> {
        self.serialize_str(variant)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        name: &'static str,
        value: &T,
    ) -> Result<(), CanonicalError> {
        if name == RATIO {
            return value.serialize(ratio::Millionths(self.out));
        }
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _name: &'static str,
        _index: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<(), CanonicalError> {
        self.enter()?;
        self.open_variant(variant);
        value.serialize(&mut *self)?;
        self.leave();
        self.out.push('}');
        Ok(())
    }

    fn serialize_seq(self, _len: Option<usize>) -> Result<Self::SerializeSeq, CanonicalError> {
        compound::Array::open(self)
    }

    fn serialize_tuple(self, _len: usize) -> Result<Self::SerializeTuple, CanonicalError> {
        compound::Array::open(self)
    }

    fn serialize_tuple_struct(
        self,
        _name: &'static str,
        _len: usize,
    ) -> Result<Self::SerializeTupleStruct, CanonicalError> {
        compound::Array::open(self)
    }

    fn serialize_tuple_variant(
        self,
        _name: &'static str,
        _index: u32,
        variant: &'static str,
        _len: usize,
    ) -> Result<Self::SerializeTupleVariant, CanonicalError> {
        self.open_variant(variant);
        Ok(compound::Array::open(self)?.inside_variant())
    }

    fn serialize_map(self, _len: Option<usize>) -> Result<Self::SerializeMap, CanonicalError> {
        compound::Object::open(self)
    }

    fn serialize_struct(self, name: &'static str, _len: usize) -> Result<Self::SerializeStruct, CanonicalError> {
        if name.starts_with('$') {
            return Err(CanonicalError::Extension(name));
        }
        compound::Object::open(self)
    }

    fn serialize_struct_variant(
        self,
        _name: &'static str,
        _index: u32,
        variant: &'static str,
        _len: usize,
    ) -> Result<Self::SerializeStructVariant, CanonicalError> {
        self.open_variant(variant);
        Ok(compound::Object::open(self)?.inside_variant())
    }

    fn collect_str<T: Display + ?Sized>(self, value: &T) -> Result<(), CanonicalError> {
        self.out.push('"');
        write!(Escaper(self.out), "{value}")
            .map_err(|_fmt| CanonicalError::Custom("a value could not be displayed".into()))?;
        self.out.push('"');
        Ok(())
    }
}

/// Large enough for a common record, so that most calls allocate once.
const INITIAL_CAPACITY: usize = 512;

/// Enough for the members of a common record and of the objects around them.
const INITIAL_MARKS: usize = 16;

const CHUNK_BYTES: usize = 32;
