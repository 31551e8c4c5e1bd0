//! A shell command line as a tree: what bash would run, told apart from what it would only pass on as data.
//!
//! The parser is our own because its bounds are part of the guard: it is linear, never recurses deeper than
//! [`DEPTH_MAX`] and never panics, whatever an agent writes (why no crate: `docs/decisions`). It accepts a little more
//! than bash does; what it refuses, bash refuses too.
//!
//! ```
//! use tripwire_shell::{Command, parse};
//!
//! let parsed = parse("cd /tmp && rm -rf build # rm -rf ~");
//! assert!(parsed.error.is_none());
//! let programs: Vec<_> = parsed.script.items.iter().flat_map(|item| &item.pipeline).filter_map(|command| match command {
//!     Command::Simple(simple) => simple.words.iter().map(|word| word.literal()).collect::<Option<Vec<_>>>(),
//!     Command::Compound(..) | Command::Function(..) => None,
//! }).collect();
//! assert_eq!(programs, [vec!["cd", "/tmp"], vec!["rm", "-rf", "build"]]);
//!
//! // bash runs line after line until one that it cannot parse.
//! let broken = parse("ls\necho (");
//! assert_eq!(broken.script.items.len(), 1);
//! assert!(broken.error.is_some());
//! ```

#![no_std]

extern crate alloc;

mod assign;
mod ast;
mod dollar;
pub mod glob;
mod grammar;
mod heredoc;
mod lexer;
mod pending;
mod syntax_error;
pub mod wrappers;

pub use ast::{
    Assign, Assignment, Command, Compound, Flow, Item, Join, Operation, Parameter, Piece, Quote, Redirect,
    RedirectKind, Script, Sense, Simple, Wait, Word,
};
pub use syntax_error::{DEPTH_MAX, SyntaxError};

/// What of a text would run, and what is wrong with the rest.
#[derive(Debug, Clone)]
pub struct Parsed {
    /// What bash would run.
    pub script: Script,
    /// Why it would stop there.
    pub error: Option<SyntaxError>,
}

/// Reads a command line. bash runs line after line until it meets one that it cannot parse: so does this.
pub fn parse(text: &str) -> Parsed {
    let mut lexer = lexer::Lexer::new(text, 0);
    let error = match lexer.whole() {
        Ok(script) => return Parsed { script, error: None },
        Err(error) => error,
    };
    // Where nesting ends the reading, bash reads on: what it would run cannot be told.
    let lines = if error == SyntaxError::TooDeep { "" } else { text.get(..lexer.line).unwrap_or_default() };
    match lexer::Lexer::new(lines, 0).whole() {
        Ok(script) => Parsed { script, error: Some(error) },
        Err(_) => Parsed { script: Script::default(), error: Some(SyntaxError::TooDeep) },
    }
}

/// Reads as much of a text as can be read: of one that bash would refuse, the commands before the place where it gives
/// up. bash runs less of it; this is for those who ask what a text was meant to do.
pub fn parse_up_to_refusal(text: &str) -> Script {
    let mut lexer = lexer::Lexer::new(text, 0);
    lexer.whole().unwrap_or_else(|_| Script { items: core::mem::take(&mut lexer.before_refusal) })
}
