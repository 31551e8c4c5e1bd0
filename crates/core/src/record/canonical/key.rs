//! Object keys: their text in the writer's arena, and the order of RFC 8785 over them.

use alloc::string::String;
use core::cmp::Ordering;
use core::fmt::{Display, Write as _};

use serde::Serialize;
use serde::ser::Impossible;

use super::error::CanonicalError;
use super::number;

/// Compares two names by their UTF-16 code units.
///
/// The order of UTF-8 bytes is the same except where a character beyond the basic plane meets one above the
/// surrogates, so plain text never pays for the conversion.
pub(super) fn order(left: &str, right: &str) -> Ordering {
    if left.is_ascii() || right.is_ascii() {
        return left.cmp(right);
    }
    left.encode_utf16().cmp(right.encode_utf16())
}

/// Appends the text of a map key to the arena.
pub(super) struct Key<'arena>(pub(super) &'arena mut String);

/// Generates the refusals of everything that is no key.
macro_rules! refuse {
    ($($method:ident($($argument:ty),*) -> $answer:ty;)*) => {
        $(fn $method(self, $(_: $argument),*) -> Result<$answer, CanonicalError> {
            Err(CanonicalError::KeyNotText)
        })*
    };
}

#[expect(clippy::disallowed_types, reason = "the trait asks for floats, and the answer is an error")]
impl serde::Serializer for Key<'_> {
    type Ok = ();
    type Error = CanonicalError;
    type SerializeSeq = Impossible<(), CanonicalError>;
    type SerializeTuple = Impossible<(), CanonicalError>;
    type SerializeTupleStruct = Impossible<(), CanonicalError>;
    type SerializeTupleVariant = Impossible<(), CanonicalError>;
    type SerializeMap = Impossible<(), CanonicalError>;
    type SerializeStruct = Impossible<(), CanonicalError>;
    type SerializeStructVariant = Impossible<(), CanonicalError>;

    fn serialize_i8(self, value: i8) -> Result<(), CanonicalError> {
        number::signed(i64::from(value), self.0)
    }

    fn serialize_i16(self, value: i16) -> Result<(), CanonicalError> {
        number::signed(i64::from(value), self.0)
    }

    fn serialize_i32(self, value: i32) -> Result<(), CanonicalError> {
        number::signed(i64::from(value), self.0)
    }

    fn serialize_i64(self, value: i64) -> Result<(), CanonicalError> {
        number::signed(value, self.0)
    }

    fn serialize_u8(self, value: u8) -> Result<(), CanonicalError> {
        number::unsigned(u64::from(value), self.0)
    }

    fn serialize_u16(self, value: u16) -> Result<(), CanonicalError> {
        number::unsigned(u64::from(value), self.0)
    }

    fn serialize_u32(self, value: u32) -> Result<(), CanonicalError> {
        number::unsigned(u64::from(value), self.0)
    }

    fn serialize_u64(self, value: u64) -> Result<(), CanonicalError> {
        number::unsigned(value, self.0)
    }

    fn serialize_char(self, value: char) -> Result<(), CanonicalError> {
        self.0.push(value);
        Ok(())
    }

    fn serialize_str(self, value: &str) -> Result<(), CanonicalError> {
        self.0.push_str(value);
        Ok(())
    }

    fn serialize_unit_variant(
        self,
        _name: &'static str,
        _index: u32,
        variant: &'static str,
    ) -> Result<(), CanonicalError> {
        self.0.push_str(variant);
        Ok(())
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _name: &'static str,
        value: &T,
    ) -> Result<(), CanonicalError> {
        value.serialize(self)
    }

    fn serialize_some<T: Serialize + ?Sized>(self, _value: &T) -> Result<(), CanonicalError> {
        Err(CanonicalError::KeyNotText)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _name: &'static str,
        _index: u32,
        _variant: &'static str,
        _value: &T,
    ) -> Result<(), CanonicalError> {
        Err(CanonicalError::KeyNotText)
    }

    fn collect_str<T: Display + ?Sized>(self, value: &T) -> Result<(), CanonicalError> {
        write!(self.0, "{value}").map_err(|_fmt| CanonicalError::KeyNotText)
    }

    refuse! {
        serialize_bool(bool) -> ();
        serialize_f32(f32) -> ();
        serialize_f64(f64) -> ();
        serialize_bytes(&[u8]) -> ();
        serialize_none() -> ();
        serialize_unit() -> ();
        serialize_unit_struct(&'static str) -> ();
        serialize_seq(Option<usize>) -> Self::SerializeSeq;
        serialize_tuple(usize) -> Self::SerializeTuple;
        serialize_tuple_struct(&'static str, usize) -> Self::SerializeTupleStruct;
        serialize_tuple_variant(&'static str, u32, &'static str, usize) -> Self::SerializeTupleVariant;
        serialize_map(Option<usize>) -> Self::SerializeMap;
        serialize_struct(&'static str, usize) -> Self::SerializeStruct;
        serialize_struct_variant(&'static str, u32, &'static str, usize) -> Self::SerializeStructVariant;
    }
}
