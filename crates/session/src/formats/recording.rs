//! A session in one file: the records of a run with their hash chain, written by `decide --record`.

use crate::formats::lines::{LineError, Lines};
use serde::Deserialize;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::io::{self, BufRead, Write};
use tripwire_core::explain::{ExitClass, Explain};
use tripwire_core::record::canonical::CanonicalError;
use tripwire_core::record::chain::{Digest, genesis, link};

/// The domain of the chain of a recording.
pub const DOMAIN: &str = "tripwire recording v1";

/// Why a recording could not be written.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// The file could not be written.
    #[error("the recording cannot be written: {0}")]
    Io(#[from] io::Error),
    /// A record has no canonical form.
    #[error("a record has no canonical form: {0}")]
    Canonical(#[from] CanonicalError),
}

impl Explain for WriteError {
    fn hint(&self) -> Cow<'_, str> {
        "choose another place with `--record FILE`".into()
    }

    fn exit_class(&self) -> ExitClass {
        ExitClass::Internal
    }
}

/// Writes records, each bound to the one before.
#[derive(Debug)]
pub struct Recorder<W> {
    out: W,
    previous: Digest,
    index: u64,
}

impl<W: Write> Recorder<W> {
    /// Begins a recording.
    pub fn new(out: W) -> Self {
        Self { out, previous: genesis(DOMAIN), index: 0 }
    }

    /// Adds a record whose body is canonical text.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn add(&mut self, body: &str) -> Result<(), WriteError> {
        let hash = link(&self.previous, self.index, body)?;
        let Self { out, previous, index } = self;
        writeln!(out, "{{\"b\":{body},\"h\":\"{hash}\",\"i\":{index},\"p\":\"{previous}\",\"t\":{{}}}}")?;
        self.previous = hash;
        self.index += 1;
        Ok(())
    }

    /// Makes sure that everything is written.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn finish(mut self) -> Result<(), WriteError> {
        Ok(self.out.flush()?)
    }
}

/// Why a recording does not verify.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// A line cannot be read.
    #[error(transparent)]
    Line(#[from] LineError),
    /// A line is no record.
    #[error("record {index}: is no record: {problem}")]
    NoRecord {
        /// Its index.
        index: u64,
        /// Why.
        problem: String,
    },
    /// A record does not fit the one before, or was changed.
    #[error("record {index}: {problem}; the file was changed after it was written")]
    Broken {
        /// The first bad index.
        index: u64,
        /// What is wrong.
        problem: &'static str,
    },
}

impl Explain for ReadError {
    fn hint(&self) -> Cow<'_, str> {
        "keep the file as evidence; record again with `tripwire decide --record FILE`".into()
    }

    fn exit_class(&self) -> ExitClass {
        ExitClass::DoesNotHold
    }
}

/// Reads records and checks the chain as it goes.
#[derive(Debug)]
pub struct Records<R> {
    lines: Lines<R>,
    buffer: Vec<u8>,
    previous: Digest,
    index: u64,
}

#[derive(Deserialize)]
struct RecordedLine<'a> {
    #[serde(borrow)]
    b: &'a RawValue,
    h: Digest,
    i: u64,
    p: Digest,
}

impl<R: BufRead> Records<R> {
    /// Begins to read.
    pub fn new(reader: R) -> Self {
        Self { lines: Lines::new(reader), buffer: Vec::new(), previous: genesis(DOMAIN), index: 0 }
    }

    /// The body of the next record; `None` at the end.
    ///
    /// # Errors
    /// When a record was changed, removed, added or moved: the index of the first bad one.
    pub fn next_body(&mut self) -> Result<Option<&str>, ReadError> {
        if !self.lines.next_into(&mut self.buffer)? {
            return Ok(None);
        }
        let index = self.index;
        let no_record = |problem: String| ReadError::NoRecord { index, problem };
        let record: RecordedLine<'_> =
            serde_json::from_slice(&self.buffer).map_err(|error| no_record(error.to_string()))?;
        let problem = if record.i != index {
            Some("its index is not the next one")
        } else if record.p != self.previous {
            Some("it does not follow the record before")
        } else if link(&record.p, record.i, record.b.get()).ok() != Some(record.h) {
            Some("its content does not fit its hash")
        } else {
            None
        };
        if let Some(problem) = problem {
            return Err(ReadError::Broken { index, problem });
        }
        self.previous = record.h;
        self.index += 1;
        Ok(Some(record.b.get()))
    }
}

/// Whether a first line is that of a recording, and not of a plain stream of events.
#[must_use]
pub fn is_recording(first_line: &[u8]) -> bool {
    serde_json::from_slice::<RecordedLine<'_>>(first_line).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recorded() -> String {
        let mut out = Vec::new();
        let mut recorder = Recorder::new(&mut out);
        for body in ["{\"a\":1}", "{\"a\":2}", "{\"a\":3}"] {
            recorder.add(body).unwrap();
        }
        recorder.finish().unwrap();
        String::from_utf8(out).unwrap()
    }

    fn read(text: &str) -> Result<Vec<String>, ReadError> {
        let mut records = Records::new(text.as_bytes());
        let mut bodies = Vec::new();
        while let Some(body) = records.next_body()? {
            bodies.push(body.to_owned());
        }
        Ok(bodies)
    }

    #[test]
    fn log_4_a_changed_moved_or_removed_record_is_named_by_its_index() {
        let text = recorded();
        let lines: Vec<&str> = text.lines().collect();
        let broken = |text: &str| match read(text) {
            Err(ReadError::Broken { index, .. } | ReadError::NoRecord { index, .. }) => index,
            other @ (Ok(_) | Err(ReadError::Line(_))) => panic!("{other:?}"),
        };
        assert_eq!(broken(&text.replace("{\"a\":2}", "{\"a\":9}")), 1);
        assert_eq!(broken(&[lines[0], lines[2]].join("\n")), 1);
        assert_eq!(broken(&[lines[1], lines[0], lines[2]].join("\n")), 0);
        assert_eq!(broken(&format!("{}\n{{", lines[0])), 1);
    }

    #[test]
    fn log_4_an_untouched_recording_is_read_back() {
        assert_eq!(read(&recorded()).unwrap(), ["{\"a\":1}", "{\"a\":2}", "{\"a\":3}"]);
        assert!(is_recording(recorded().lines().next().unwrap().as_bytes()));
        assert!(!is_recording(br#"{"timestamp":1}"#));
    }
}
