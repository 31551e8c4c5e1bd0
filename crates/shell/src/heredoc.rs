//! Here-documents: their bodies are data; only an unquoted delimiter lets expansions in them run.

use super::ast::{Piece, Word};
use super::lexer::{Lexer, Until};
use super::pending::{Expands, Pending, Tabs};
use super::syntax_error::SyntaxError;
use alloc::string::String;
use alloc::vec;

impl Lexer<'_> {
    /// Reads the bodies that were announced on the line that just ended.
    pub(super) fn read_bodies(&mut self) -> Result<(), SyntaxError> {
        for pending in core::mem::take(&mut self.pending) {
            let text = self.body_of(&pending);
            let word = match pending.expands {
                Expands::No => Word { pieces: vec![Piece::Quoted(text)] },
                Expands::Yes => Lexer::new(&text, self.depth).pieces(Until::End)?,
            };
            // A body is announced once, so it is set once.
            let _first = pending.body.set(word);
        }
        Ok(())
    }

    /// Everything up to the delimiter's line, or up to the end, as bash takes it.
    fn body_of(&mut self, pending: &Pending) -> String {
        let mut body = String::new();
        while self.at < self.text.len() {
            let rest = self.rest();
            let end = rest.find('\n').unwrap_or(rest.len());
            let line = rest.get(..end).unwrap_or_default();
            self.at += (end + 1).min(rest.len());
            let line = match pending.tabs {
                Tabs::Kept => line,
                Tabs::Stripped => line.trim_start_matches('\t'),
            };
            if line == pending.delimiter {
                // The line end belongs to the list that goes on behind the body.
                return body;
            }
            body.push_str(line);
            body.push('\n');
        }
        body
    }
}
