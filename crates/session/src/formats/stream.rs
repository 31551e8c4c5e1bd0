//! A stream of lines as a source of inputs: decoded one by one, in order of time, bad lines named.

use crate::formats::decode::{Content, DecodeError, Line, decode};
use crate::formats::lines::{LineError, Lines};
use crate::formats::scenario::{Expect, Header};
use std::borrow::Cow;
use std::io::BufRead;
use tripwire_core::explain::Explain;
use tripwire_core::input::Input;
use tripwire_core::units::RunMillis;
use tripwire_observe::Observer;
use tripwire_secrets::Redactor;

/// Why a line of the stream is not taken.
#[derive(Debug, thiserror::Error)]
pub enum StreamError {
    /// It cannot be read, or is too long.
    #[error(transparent)]
    Line(#[from] LineError),
    /// It is no input.
    #[error("line {line}: {error}")]
    Decode {
        /// Its number, from 1.
        line: u64,
        /// What is wrong.
        error: DecodeError,
    },
    /// Time runs backwards.
    #[error("line {line}: field `{field}`: {at} ms is before {before} ms, the time of an earlier line")]
    TimeRunsBack {
        /// Its number, from 1.
        line: u64,
        /// The field that says so.
        field: &'static str,
        /// What it says.
        at: RunMillis,
        /// The newest time before.
        before: RunMillis,
    },
    /// A scenario's head stands in the middle.
    #[error("line {line}: field `scenario`: is allowed only in the first line")]
    LateHeader {
        /// Its number, from 1.
        line: u64,
    },
}

impl StreamError {
    /// Whether the rest of the stream can still be read.
    #[must_use]
    pub const fn is_final(&self) -> bool {
        matches!(self, Self::Line(LineError::Io { .. }))
    }
}

impl Explain for StreamError {
    fn hint(&self) -> Cow<'_, str> {
        match self {
            Self::Line(error) => error.hint(),
            Self::Decode { error, .. } => error.hint(),
            Self::TimeRunsBack { .. } | Self::LateHeader { .. } => {
                "correct the line; the format: `tripwire help events`".into()
            }
        }
    }
}

/// One input with what its line expects.
#[derive(Debug)]
pub struct Item {
    /// The line's number, from 1.
    pub line: u64,
    /// The input.
    pub input: Box<Input>,
    /// What a scenario expects of the decision.
    pub expect: Option<Box<Expect>>,
}

/// Reads inputs from lines.
#[derive(Debug)]
pub struct Inputs<R> {
    lines: Lines<R>,
    buffer: Vec<u8>,
    observer: Observer,
    redactor: Option<Redactor>,
    newest: RunMillis,
    first: Option<Item>,
    begun: bool,
}

impl<R: BufRead> Inputs<R> {
    /// Begins to read.
    pub fn new(reader: R) -> Self {
        let (lines, observer) = (Lines::new(reader), Observer::default());
        Self { lines, buffer: Vec::new(), observer, redactor: None, newest: RunMillis::ZERO, first: None, begun: false }
    }

    /// Observes calls without their secrets, for inputs that are recorded.
    #[must_use]
    pub fn redacting(mut self, redactor: Redactor) -> Self {
        self.redactor = Some(redactor);
        self
    }

    /// The head of a scenario, if the stream begins with one. Call it before the first [`Self::next_input`].
    ///
    /// # Errors
    /// When the first line is neither a head nor an input.
    pub fn header(&mut self) -> Result<Option<Box<Header>>, StreamError> {
        if self.begun {
            return Ok(None);
        }
        self.begun = true;
        match self.read()? {
            Some((_, Line { content: Content::Header(header), .. })) => Ok(Some(header)),
            Some((line, Line { content: Content::Input(input), expect })) => {
                self.first = Some(self.in_order(line, input, expect)?);
                Ok(None)
            }
            None => Ok(None),
        }
    }

    /// The next input; `None` at the end. Blank lines are passed over.
    ///
    /// # Errors
    /// When the line is bad; the next call goes on behind it.
    pub fn next_input(&mut self) -> Result<Option<Item>, StreamError> {
        if let Some(first) = self.first.take() {
            return Ok(Some(first));
        }
        self.begun = true;
        match self.read()? {
            None => Ok(None),
            Some((line, Line { content: Content::Header(_), .. })) if line > 1 => Err(StreamError::LateHeader { line }),
            Some((_, Line { content: Content::Header(_), .. })) => self.next_input(),
            Some((line, Line { content: Content::Input(input), expect })) => {
                self.in_order(line, input, expect).map(Some)
            }
        }
    }

    fn read(&mut self) -> Result<Option<(u64, Line)>, StreamError> {
        while self.lines.next_into(&mut self.buffer)? {
            if self.buffer.iter().all(u8::is_ascii_whitespace) {
                continue;
            }
            let line = self.lines.number();
            let decoded = decode(&self.buffer, &mut self.observer, self.redactor.as_ref());
            return decoded.map(|decoded| Some((line, decoded))).map_err(|error| StreamError::Decode { line, error });
        }
        Ok(None)
    }

    fn in_order(&mut self, line: u64, input: Box<Input>, expect: Option<Box<Expect>>) -> Result<Item, StreamError> {
        if input.at < self.newest {
            let event = matches!(input.what, tripwire_core::input::What::Event(_));
            let field = if event { "timestamp" } else { "at" };
            return Err(StreamError::TimeRunsBack { line, field, at: input.at, before: self.newest });
        }
        self.newest = input.at;
        Ok(Item { line, input, expect })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EVENT: &str = r#"{"timestamp":5,"tokenCount":2,"toolCalls":3,"latencyMs":4,"outputLength":5}"#;
    const EARLIER: &str = r#"{"timestamp":4,"tokenCount":2,"toolCalls":3,"latencyMs":4,"outputLength":5}"#;
    const HEAD: &str = r#"{"scenario":{"title":"t","rule":"LOOP-1","must":"fire"}}"#;

    #[test]
    fn inputs_come_in_order_with_their_line_numbers() {
        let text = format!("{HEAD}\n\n{EVENT}\n{EVENT}\n");
        let mut inputs = Inputs::new(text.as_bytes());
        assert_eq!(inputs.header().unwrap().unwrap().rule, "LOOP-1");
        assert_eq!(inputs.next_input().unwrap().unwrap().line, 3);
        assert_eq!(inputs.next_input().unwrap().unwrap().line, 4);
        assert!(inputs.next_input().unwrap().is_none());
    }

    #[test]
    fn time_that_runs_back_and_a_late_head_are_named_and_can_be_passed_over() {
        let text = format!("{EVENT}\n{EARLIER}\n{HEAD}\nnonsense\n{EVENT}\n");
        let mut inputs = Inputs::new(text.as_bytes());
        assert!(inputs.header().unwrap().is_none());
        assert!(inputs.next_input().unwrap().is_some());
        for expected in ["line 2: field `timestamp`: 4 ms is before 5 ms", "line 3: field `scenario`", "line 4: column"]
        {
            let error = inputs.next_input().unwrap_err();
            assert!(error.to_string().contains(expected) && !error.is_final(), "{error}");
        }
        assert_eq!(inputs.next_input().unwrap().unwrap().line, 5);
    }
}
