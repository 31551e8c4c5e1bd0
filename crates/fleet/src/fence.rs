//! Who may go on writing a session's record, read from the record itself. No clock and no storage: a takeover is an entry like any
//! other, and its place in the log decides which lines came before it. What comes behind it does not count.

use crate::log::{Entry, Sequence};
use crate::subject::Name;
use serde::{Deserialize, Serialize};
use tripwire_core::record::chain::Digest;
use tripwire_journal::Tail;
use tripwire_journal::line::{self, LineFault};

/// An entry that is no journal line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mark {
    /// Another machine goes on with the session; this record ends here.
    Takeover(Takeover),
    /// This record goes on where another one was taken over.
    Adopted(Adopted),
}

/// The end of a record by a person's decision.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Takeover {
    /// The machine that goes on.
    pub to: Name,
    /// Who decided it.
    pub by: String,
    /// When, in milliseconds since 1970.
    pub at_ms: u64,
}

/// The beginning of a record that continues another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Adopted {
    /// The subject of the other.
    pub from: String,
    /// The place of its takeover.
    pub takeover: Sequence,
    /// How many lines it has.
    pub records: u64,
    /// The hash of the last one.
    pub hash: Digest,
}

impl Mark {
    /// As an entry.
    #[must_use]
    pub fn text(&self) -> String {
        // Plain members of plain types have a text.
        serde_json::to_string(self).unwrap_or_default()
    }
}

/// A record as far as it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordState {
    /// The place of the last entry.
    pub at: Sequence,
    /// Where the chain of lines has come to.
    pub tail: Tail,
    /// Whether it still grows.
    pub standing: RecordStanding,
}

/// Whether a record still grows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RecordStanding {
    /// Its machine writes it.
    Open,
    /// It was taken over.
    TakenOver(Takeover),
}

/// Why an entry does not continue a record.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RecordFault {
    /// The line does not verify or does not follow.
    #[error("line {index}: {fault}")]
    Line {
        /// The index that belongs there.
        index: u64,
        /// What is wrong.
        fault: LineFault,
    },
    /// Something was written behind a takeover: the old machine does not know, or does not care, that it was replaced.
    #[error("line {index}: written after `{to}` took the session over")]
    AfterTakeover {
        /// The index that belongs there.
        index: u64,
        /// Who goes on.
        to: Name,
    },
    /// A record that claims to continue another, in the middle.
    #[error("line {index}: a record can only begin with an adoption")]
    LateAdoption {
        /// The index that belongs there.
        index: u64,
    },
}

impl RecordState {
    /// A record without entries.
    #[must_use]
    pub fn empty() -> Self {
        Self { at: Sequence(0), tail: Tail::genesis(), standing: RecordStanding::Open }
    }

    /// What the last entry alone says; what comes before it is for the audit to check.
    ///
    /// # Errors
    /// When it is neither a line nor a mark.
    pub fn from_last(entry: &Entry) -> Result<Self, RecordFault> {
        let mut state = Self::empty();
        if let Ok(line) = line::parse(entry.text.as_bytes()) {
            state.tail = line.before();
        }
        state.accept(entry)?;
        Ok(state)
    }

    /// Takes the next entry.
    ///
    /// # Errors
    /// When it does not continue the record. The state stays as it was.
    pub fn accept(&mut self, entry: &Entry) -> Result<(), RecordFault> {
        let index = self.tail.index;
        let mark = if entry.text.starts_with("{\"b\":") { None } else { serde_json::from_str(&entry.text).ok() };
        match (&self.standing, mark) {
            (RecordStanding::TakenOver(takeover), _) => {
                return Err(RecordFault::AfterTakeover { index, to: takeover.to.clone() });
            }
            (RecordStanding::Open, None) => {
                let line = line::check(entry.text.as_bytes(), &self.tail);
                self.tail = line.map_err(|fault| RecordFault::Line { index, fault })?.tail();
            }
            (RecordStanding::Open, Some(Mark::Takeover(takeover))) => {
                self.standing = RecordStanding::TakenOver(takeover);
            }
            (RecordStanding::Open, Some(Mark::Adopted(adopted))) => {
                if self.at != Sequence(0) {
                    return Err(RecordFault::LateAdoption { index });
                }
                self.tail = Tail { hash: adopted.hash, index: adopted.records };
            }
        }
        self.at = entry.sequence;
        Ok(())
    }
}
