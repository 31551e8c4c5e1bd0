//! A ratio: an integer number of millionths, printed as the decimal that RFC 8785 would print for it.
//!
//! Below 15 digits a decimal and its double name each other uniquely, and the smallest step, 0.000001, is the last one
//! before the RFC's number format turns to exponents: so no float is needed to print what a float printer would print.

use alloc::string::{String, ToString};

use serde::Serialize;
use serde::ser::Impossible;

use super::error::{CanonicalError, RATIO_LIMIT};
use super::number;

/// Accepts one integer and writes it as a decimal; everything else is an error.
pub(super) struct Millionths<'out>(pub(super) &'out mut String);

impl Millionths<'_> {
    fn unsigned(self, value: u64) -> Result<(), CanonicalError> {
        if value >= RATIO_LIMIT {
            return Err(CanonicalError::RatioOutOfRange(value.to_string()));
        }
        number::digits(value / ONE, self.0);
        let mut fraction = value % ONE;
        if fraction == 0 {
            return Ok(());
        }
        self.0.push('.');
        let mut step = ONE / 10;
        while fraction > 0 {
            number::digits(fraction.checked_div(step).unwrap_or(0), self.0);
            fraction = fraction.checked_rem(step).unwrap_or(0);
            step /= 10;
        }
        Ok(())
    }

    fn signed(self, value: i64) -> Result<(), CanonicalError> {
        if value < 0 {
            self.0.push('-');
        }
        self.unsigned(value.unsigned_abs())
    }
}

/// Generates the refusals, so that the file shows the four accepted kinds and not thirty rejected ones.
macro_rules! refuse {
    ($($method:ident($($argument:ty),*) -> $answer:ty;)*) => {
        $(fn $method(self, $(_: $argument),*) -> Result<$answer, CanonicalError> {
            Err(CanonicalError::RatioNotInteger)
        })*
    };
}

#[expect(clippy::disallowed_types, reason = "the trait asks for floats, and the answer is an error")]
impl serde::Serializer for Millionths<'_> {
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
        self.signed(i64::from(value))
    }

    fn serialize_i16(self, value: i16) -> Result<(), CanonicalError> {
        self.signed(i64::from(value))
    }

    fn serialize_i32(self, value: i32) -> Result<(), CanonicalError> {
        self.signed(i64::from(value))
    }

    fn serialize_i64(self, value: i64) -> Result<(), CanonicalError> {
        self.signed(value)
    }

    fn serialize_u8(self, value: u8) -> Result<(), CanonicalError> {
        self.unsigned(u64::from(value))
    }

    fn serialize_u16(self, value: u16) -> Result<(), CanonicalError> {
        self.unsigned(u64::from(value))
    }

    fn serialize_u32(self, value: u32) -> Result<(), CanonicalError> {
        self.unsigned(u64::from(value))
    }

    fn serialize_u64(self, value: u64) -> Result<(), CanonicalError> {
        self.unsigned(value)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _name: &'static str,
        value: &T,
    ) -> Result<(), CanonicalError> {
        value.serialize(self)
    }

    fn serialize_some<T: Serialize + ?Sized>(self, _value: &T) -> Result<(), CanonicalError> {
        Err(CanonicalError::RatioNotInteger)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _name: &'static str,
        _index: u32,
        _variant: &'static str,
        _value: &T,
    ) -> Result<(), CanonicalError> {
        Err(CanonicalError::RatioNotInteger)
    }

    refuse! {
        serialize_bool(bool) -> ();
        serialize_f32(f32) -> ();
        serialize_f64(f64) -> ();
        serialize_char(char) -> ();
        serialize_str(&str) -> ();
        serialize_bytes(&[u8]) -> ();
        serialize_none() -> ();
        serialize_unit() -> ();
        serialize_unit_struct(&'static str) -> ();
        serialize_unit_variant(&'static str, u32, &'static str) -> ();
        serialize_seq(Option<usize>) -> Self::SerializeSeq;
        serialize_tuple(usize) -> Self::SerializeTuple;
        serialize_tuple_struct(&'static str, usize) -> Self::SerializeTupleStruct;
        serialize_tuple_variant(&'static str, u32, &'static str, usize) -> Self::SerializeTupleVariant;
        serialize_map(Option<usize>) -> Self::SerializeMap;
        serialize_struct(&'static str, usize) -> Self::SerializeStruct;
        serialize_struct_variant(&'static str, u32, &'static str, usize) -> Self::SerializeStructVariant;
    }
}

/// The number of millionths in the ratio one.
const ONE: u64 = 1_000_000;
