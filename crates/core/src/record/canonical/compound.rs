//! Arrays and objects; an object that comes unsorted is put in order when it closes.

use alloc::string::String;
use alloc::vec::Vec;
use core::cmp::Ordering;

use serde::Serialize;
use serde::ser::{
    SerializeMap, SerializeSeq, SerializeStruct, SerializeStructVariant, SerializeTuple, SerializeTupleStruct,
    SerializeTupleVariant,
};

use super::error::CanonicalError;
use super::key;
use super::writer::{Member, Name, Writer, escape};

/// What follows the closing bracket: a variant's content sits in an object of its own.
#[derive(Clone, Copy)]
enum Wrapping {
    Bare,
    Variant,
}

/// An open array.
pub(super) struct Array<'writer, 'out> {
    writer: &'writer mut Writer<'out>,
    wrapping: Wrapping,
    separator: Option<char>,
}

impl<'writer, 'out> Array<'writer, 'out> {
    /// Opens an array.
    pub(super) fn open(writer: &'writer mut Writer<'out>) -> Result<Self, CanonicalError> {
        writer.enter()?;
        writer.out.push('[');
        Ok(Self { writer, wrapping: Wrapping::Bare, separator: None })
    }

    /// Marks the array as the content of a variant.
    pub(super) const fn inside_variant(mut self) -> Self {
        self.wrapping = Wrapping::Variant;
        self
    }

    fn push<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), CanonicalError> {
        self.writer.out.extend(self.separator.replace(','));
        value.serialize(&mut *self.writer)
    }

    fn close(self) {
        self.writer.leave();
        self.writer.out.push_str(match self.wrapping {
            Wrapping::Bare => "]",
            Wrapping::Variant => "]}",
        });
    }
}

/// An open object.
pub(super) struct Object<'writer, 'out> {
    writer: &'writer mut Writer<'out>,
    wrapping: Wrapping,
    /// How many marks and arena bytes belong to the objects around this one.
    marks_below: usize,
    keys_below: usize,
    sorting: Sorting,
}

/// Whether the members came in order so far.
#[derive(Clone, Copy)]
enum Sorting {
    Sorted,
    Needed,
}

impl<'writer, 'out> Object<'writer, 'out> {
    /// Opens an object.
    pub(super) fn open(writer: &'writer mut Writer<'out>) -> Result<Self, CanonicalError> {
        writer.enter()?;
        writer.out.push('{');
        Ok(Self {
            marks_below: writer.marks.len(),
            keys_below: writer.keys.len(),
            writer,
            wrapping: Wrapping::Bare,
            sorting: Sorting::Sorted,
        })
    }

    /// Marks the object as the content of a variant.
    pub(super) const fn inside_variant(mut self) -> Self {
        self.wrapping = Wrapping::Variant;
        self
    }

    /// Writes the comma and the name, and notes whether the order still holds.
    fn member(&mut self, name: Name) -> Result<(), CanonicalError> {
        let previous =
            if self.writer.marks.len() > self.marks_below { self.writer.marks.last().copied() } else { None };
        if let Some(previous) = previous {
            self.writer.out.push(',');
            match key::order(self.writer.name(previous.key), self.writer.name(name)) {
                Ordering::Less => {}
                Ordering::Equal => {
                    return Err(CanonicalError::DuplicateKey(self.writer.name(name).into()));
                }
                Ordering::Greater => self.sorting = Sorting::Needed,
            }
        }
        self.writer.marks.push(Member { start: self.writer.out.len(), key: name });
        self.writer.out.push('"');
        match name {
            Name::Field(text) => escape(text, self.writer.out),
            Name::Arena { start, end } => {
                let text = self.writer.keys.get(start..end).unwrap_or_default();
                escape(text, self.writer.out);
            }
        }
        self.writer.out.push_str("\":");
        Ok(())
    }

    fn field<T: Serialize + ?Sized>(&mut self, name: &'static str, value: &T) -> Result<(), CanonicalError> {
        self.member(Name::Field(name))?;
        value.serialize(&mut *self.writer)
    }

    fn close(mut self) -> Result<(), CanonicalError> {
        match self.sorting {
            Sorting::Sorted => {}
            Sorting::Needed => self.sort()?,
        }
        self.writer.marks.truncate(self.marks_below);
        self.writer.keys.truncate(self.keys_below);
        self.writer.leave();
        self.writer.out.push_str(match self.wrapping {
            Wrapping::Bare => "}",
            Wrapping::Variant => "}}",
        });
        Ok(())
    }

    /// Rewrites the members in order; only objects that were declared or filled out of order come here.
    fn sort(&mut self) -> Result<(), CanonicalError> {
        let marks = self.writer.marks.get(self.marks_below..).unwrap_or_default();
        let text_start = marks.first().map_or(self.writer.out.len(), |mark| mark.start);
        let ends = marks.iter().skip(1).map(|next| next.start.saturating_sub(1)).chain([self.writer.out.len()]);
        let mut members: Vec<(Member, usize)> = marks.iter().copied().zip(ends).collect();
        members.sort_by(|(left, _), (right, _)| key::order(self.writer.name(left.key), self.writer.name(right.key)));
        let mut sorted = String::with_capacity(self.writer.out.len().saturating_sub(text_start));
        let mut previous: Option<&str> = None;
        for (mark, end) in &members {
            let name = self.writer.name(mark.key);
            if previous == Some(name) {
                return Err(CanonicalError::DuplicateKey(name.into()));
            }
            if previous.replace(name).is_some() {
                sorted.push(',');
            }
            sorted.push_str(self.writer.out.get(mark.start..*end).unwrap_or_default());
        }
        self.writer.out.truncate(text_start);
        self.writer.out.push_str(&sorted);
        Ok(())
    }
}

/// Generates the four array traits, which differ only in the names of their methods.
macro_rules! array {
    ($($interface:ident::$method:ident;)*) => {
        $(impl $interface for Array<'_, '_> {
            type Ok = ();
            type Error = CanonicalError;

            fn $method<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), CanonicalError> {
                self.push(value)
            }

            fn end(self) -> Result<(), CanonicalError> {
                self.close();
                Ok(())
            }
        })*
    };
}

array! {
    SerializeSeq::serialize_element;
    SerializeTuple::serialize_element;
    SerializeTupleStruct::serialize_field;
    SerializeTupleVariant::serialize_field;
}

/// Generates the two struct traits, which differ only in their names.
macro_rules! object {
    ($($interface:ident)*) => {
        $(impl $interface for Object<'_, '_> {
            type Ok = ();
            type Error = CanonicalError;

            fn serialize_field<T: Serialize + ?Sized>(
                &mut self,
                key: &'static str,
                value: &T,
            ) -> Result<(), CanonicalError> {
                self.field(key, value)
            }

            fn end(self) -> Result<(), CanonicalError> {
                self.close()
            }
        })*
    };
}

object! { SerializeStruct SerializeStructVariant }

impl SerializeMap for Object<'_, '_> {
    type Ok = ();
    type Error = CanonicalError;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), CanonicalError> {
        let start = self.writer.keys.len();
        key.serialize(key::Key(&mut self.writer.keys))?;
        self.member(Name::Arena { start, end: self.writer.keys.len() })
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), CanonicalError> {
        value.serialize(&mut *self.writer)
    }

    fn end(self) -> Result<(), CanonicalError> {
        self.close()
    }
}
