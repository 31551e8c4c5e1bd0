//! Canonical JSON (RFC 8785), so that a value has exactly one text and therefore exactly one hash.
//!
//! Our numbers are integers below 2^53, so the float formatting of the RFC is not needed: a float is an error, never
//! rounded. A ratio is an integer number of millionths in a newtype named [`RATIO`] and is printed as a decimal.
//! Fields that are declared in sorted order are written straight through; only an object that turns out to be unsorted
//! is put in order when it closes.

mod compound;
mod error;
mod key;
mod number;
mod ratio;
mod writer;

pub use self::error::{CanonicalError, DEPTH_LIMIT, INTEGER_LIMIT, RATIO_LIMIT};

use self::writer::{Escaper, Writer};
use alloc::string::{String, ToString};
use core::fmt::{Display, Write as _};
use serde::Serialize;

/// The serde name of a newtype struct that wraps millionths and is printed as a decimal: `900000` becomes `0.9`.
pub const RATIO: &str = "$tripwire::Ratio";

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
    let mut writer = Writer::new(out);
    let result = value.serialize(&mut writer);
    if result.is_err() {
        out.truncate(start);
    }
    result
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
