//! The text that is being written, and how strings get into it.

use super::error::{CanonicalError, DEPTH_LIMIT};
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

/// The state of one call: the text so far and, as a stack, where the members of every open object begin.
pub(super) struct Writer<'out> {
    pub(super) out: &'out mut String,
    pub(super) marks: Vec<Member>,
    /// Unescaped names of map members, because the order is defined on them and not on their escaped text.
    pub(super) keys: String,
    depth: usize,
}

/// Where a member of an open object begins in the text, and its name.
#[derive(Clone, Copy)]
pub(super) struct Member {
    pub(super) start: usize,
    pub(super) key: Name,
}

/// A member's name: struct fields lend theirs for free, map keys are kept in the writer's arena.
#[derive(Clone, Copy)]
pub(super) enum Name {
    Field(&'static str),
    Arena { start: usize, end: usize },
}

impl<'out> Writer<'out> {
    /// Writes behind what `out` holds.
    pub(super) fn new(out: &'out mut String) -> Self {
        Self { out, marks: Vec::with_capacity(INITIAL_MARKS), keys: String::new(), depth: 0 }
    }

    pub(super) fn name(&self, name: Name) -> &str {
        match name {
            Name::Field(text) => text,
            Name::Arena { start, end } => self.keys.get(start..end).unwrap_or_default(),
        }
    }

    pub(super) fn string(&mut self, text: &str) {
        self.out.push('"');
        escape(text, self.out);
        self.out.push('"');
    }

    pub(super) fn enter(&mut self) -> Result<(), CanonicalError> {
        self.depth = self.depth.saturating_add(1);
        if self.depth > DEPTH_LIMIT {
            return Err(CanonicalError::TooDeep);
        }
        Ok(())
    }

    pub(super) fn leave(&mut self) {
        self.depth = self.depth.saturating_sub(1);
    }

    /// Opens the one-member object around the content of an enum variant.
    pub(super) fn open_variant(&mut self, variant: &'static str) {
        self.out.push('{');
        self.string(variant);
        self.out.push(':');
    }
}

/// Escapes exactly what RFC 8785 escapes: the quote, the backslash and the 32 control characters.
pub(super) fn escape(text: &str, out: &mut String) {
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
pub(super) struct Escaper<'out>(pub(super) &'out mut String);

impl fmt::Write for Escaper<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        escape(text, self.0);
        Ok(())
    }
}

/// Enough for the members of a common record and of the objects around them.
const INITIAL_MARKS: usize = 16;

const CHUNK_BYTES: usize = 32;
