//! Assignments: before a command, as a command of their own, and as arguments of `declare` and its like.

use super::ast::{Assign, Assignment, Simple, Word};
use super::lexer::{Lexer, Until, is_meta};
use super::syntax_error::SyntaxError;
use alloc::vec::Vec;

/// Builtins whose arguments may be array assignments.
const DECLARING: [&str; 8] = ["declare", "typeset", "local", "export", "readonly", "alias", "eval", "let"];

/// How far behind the first blank or operator the end of a subscript may be: each word could begin one, and looking for the
/// end of all of them would cost the square.
const SPACED_SUBSCRIPT_BYTES_MAX: usize = 1_024;

impl Lexer<'_> {
    /// `NAME=(…)` as an argument, which only some builtins take.
    pub(super) fn declared_array(&mut self, simple: &Simple) -> Result<Option<Assignment>, SyntaxError> {
        let first = simple.words.first().and_then(Word::literal).unwrap_or_default();
        if !DECLARING.contains(&first) {
            return Ok(None);
        }
        let before = self.at;
        let assignment = self.assignment()?.filter(|one| one.elements.is_some());
        if assignment.is_none() {
            self.at = before;
        }
        Ok(assignment)
    }

    /// `NAME=`, `NAME+=`, `NAME[…]=` and the value.
    pub(super) fn assignment(&mut self) -> Result<Option<Assignment>, SyntaxError> {
        let before = self.at;
        let name = self.name();
        if name.is_empty() || name.starts_with(|first: char| first.is_ascii_digit()) {
            self.at = before;
            return Ok(None);
        }
        let subscript = if self.peek() == Some(b'[') { self.subscript()? } else { Word::default() };
        let how = if self.take("+=") { Assign::Append } else { Assign::Set };
        if how == Assign::Set && !self.take("=") {
            self.at = before;
            return Ok(None);
        }
        if self.take("(") {
            let mut elements = Vec::new();
            loop {
                self.skip_lines()?;
                match self.word()? {
                    Some(word) => elements.push(word),
                    None if self.take(")") => break,
                    None => return Err(SyntaxError::Refused("an array is not closed")),
                }
            }
            return Ok(Some(Assignment { name, subscript, value: Word::default(), elements: Some(elements), how }));
        }
        let value = self.pieces(Until::WordEnd)?;
        Ok(Some(Assignment { name, subscript, value, elements: None, how }))
    }

    /// What stands between the brackets of `NAME[…]=`, if they are those of an assignment.
    fn subscript(&mut self) -> Result<Word, SyntaxError> {
        let mut open = 0_usize;
        let mut quote = None;
        let mut escaped = false;
        let mut limit = usize::MAX;
        // As in bash, blanks and operators between the brackets are part of the text, and so is what is quoted there.
        for (offset, byte) in self.rest().bytes().enumerate() {
            if limit == usize::MAX && is_meta(byte) {
                limit = offset + SPACED_SUBSCRIPT_BYTES_MAX;
            }
            match (byte, quote) {
                _ if offset > limit => break,
                _ if escaped => escaped = false,
                (b'\\', None | Some(b'"')) => escaped = true,
                (b'\n', None) => break,
                (b'\'' | b'"', None) => quote = Some(byte),
                (_, Some(opened)) if byte == opened => quote = None,
                (_, Some(_)) => {}
                (b'[' | b'(', None) => open += 1,
                (b']' | b')', None) => open = open.saturating_sub(1),
                (_, None) => {}
            }
            let after = self.rest().get(offset + 1..).unwrap_or_default();
            if open == 0 {
                if !after.starts_with('=') && !after.starts_with("+=") {
                    break;
                }
                let inside = self.rest().get(1..offset).unwrap_or_default();
                self.at += offset + 1;
                return Lexer::new(inside, self.depth).pieces(Until::End);
            }
        }
        Ok(Word::default())
    }
}
