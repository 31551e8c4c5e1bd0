//! Past sessions of the clients on this machine, read from their own transcripts and judged as if they had been guarded.
//!
//! A transcript becomes a trace, the form that `tripwire scan` reads anyway, so both ways give the same decisions. Nothing
//! is written: files are opened for reading and left as they are.

mod reader;

use crate::client::Client;
use reader::PastCall;
use serde_json::json;
use std::borrow::Cow;
use std::io;
use std::path::{Path, PathBuf};
use tripwire_core::explain::Explain;
use tripwire_core::label::Fingerprint;
use tripwire_core::policy::Policy;
use tripwire_core::prices::PriceBasis;
use tripwire_core::units::Price;
use tripwire_session::formats::traces::{self, Scanned, TraceError};

/// The largest transcript that is read: a session of many days fits, a dump does not.
pub const TRANSCRIPT_BYTES_MAX: u64 = 64 << 20;

/// Why a file is passed over.
#[derive(Debug, thiserror::Error)]
pub enum Skipped {
    /// It cannot be read.
    #[error("cannot be read: {0}")]
    Unreadable(io::Error),
    /// It is larger than the bound.
    #[error("{bytes} bytes are more than the {TRANSCRIPT_BYTES_MAX} that are read")]
    TooLarge {
        /// Its size.
        bytes: u64,
    },
    /// No line of it is of the client's form.
    #[error("it is no transcript of {}", client.name())]
    Foreign {
        /// The client in whose folder it lies.
        client: Client,
    },
    /// The engine does not take it.
    #[error("cannot be judged: {0}")]
    Judge(#[from] TraceError),
}

impl Explain for Skipped {
    fn hint(&self) -> Cow<'_, str> {
        match self {
            Self::Unreadable(_) => "give yourself read access to the file".into(),
            Self::TooLarge { .. } | Self::Foreign { .. } => "it is skipped; the other files are read".into(),
            Self::Judge(error) => error.hint(),
        }
    }
}

/// One past session.
#[derive(Debug)]
pub struct PastSession {
    /// Whose it is.
    pub client: Client,
    /// Its file.
    pub path: PathBuf,
    /// The client's own name of it.
    pub session: String,
    /// What it cost in all.
    pub spent: Price,
    /// On what the cost rests; the worst of all answers.
    pub basis: PriceBasis,
    /// Lines that are no JSON; the others are judged all the same.
    pub broken_lines: u64,
    /// The folder in which the client worked, where the transcript names it.
    pub folder: Option<PathBuf>,
    /// What each answer cost that has a name.
    pub answers: Vec<(Fingerprint, Price)>,
    calls: Vec<PastCall>,
}

/// What the engine would have done with a past session.
#[derive(Debug)]
pub struct Judged {
    /// Which level would have fired, and where.
    pub scanned: Scanned,
    /// What was spent behind the call at which it would have been held or stopped, until a person spoke again.
    pub saved: Price,
    /// The same, counted from the first repeat.
    pub since_first_repeat: Price,
    /// The call at which the strictest level fired, as people read it.
    pub call: Option<String>,
}

impl PastSession {
    /// Reads a transcript.
    ///
    /// # Errors
    /// When it cannot be read, is too large or is no transcript of the client.
    pub fn read(client: Client, path: &Path) -> Result<Self, Skipped> {
        let bytes = path.metadata().map_err(Skipped::Unreadable)?.len();
        if bytes > TRANSCRIPT_BYTES_MAX {
            return Err(Skipped::TooLarge { bytes });
        }
        let bytes = std::fs::read(path).map_err(Skipped::Unreadable)?;
        let contents = reader::read(client, &String::from_utf8_lossy(&bytes)).ok_or(Skipped::Foreign { client })?;
        let of_file = || path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
        Ok(Self {
            client,
            path: path.to_owned(),
            session: contents.session.unwrap_or_else(of_file),
            spent: contents.spent,
            basis: contents.basis,
            broken_lines: contents.broken_lines,
            folder: contents.folder.map(PathBuf::from),
            answers: contents.answers,
            calls: contents.calls,
        })
    }

    /// How many calls of tools it has.
    #[must_use]
    pub fn calls(&self) -> usize {
        self.calls.len()
    }

    /// When it was last at work, in milliseconds since 1970: its last call, else the file's last change.
    #[must_use]
    pub fn last_ms(&self) -> Option<u64> {
        let modified = || {
            let time = self.path.metadata().and_then(|metadata| metadata.modified()).ok()?;
            let since = time.duration_since(std::time::UNIX_EPOCH).ok()?;
            u64::try_from(since.as_millis()).ok()
        };
        self.calls.iter().rev().find_map(PastCall::at_ms).or_else(modified)
    }

    /// When a call was made, in milliseconds since 1970, where the transcript says it.
    #[must_use]
    pub fn call_ms(&self, call: u64) -> Option<u64> {
        self.calls.get(usize::try_from(call).ok()?).and_then(PastCall::at_ms)
    }

    /// A call as people read it.
    #[must_use]
    pub fn call_words(&self, call: u64) -> Option<String> {
        self.calls.get(usize::try_from(call).ok()?).map(PastCall::words)
    }

    /// What its calls were, so that a copy of the same transcript is known as one.
    #[must_use]
    pub fn identity(&self) -> Fingerprint {
        self.calls.iter().fold(Fingerprint::NONE, |all, call| all.and(call.identity()))
    }

    /// Judges it under a policy.
    ///
    /// # Errors
    /// When the engine does not take the policy or a value of the transcript.
    pub fn judge(&self, policy: &Policy) -> Result<Judged, Skipped> {
        let scanned = traces::scan_one(self.trace().to_string().as_bytes(), policy)?;
        let saved = scanned.held_at().map_or_else(Price::default, |at| self.behind(at));
        let since_first_repeat = saved.plus(scanned.price);
        let call = scanned.strictest_at().and_then(|at| self.calls.get(usize::try_from(at).ok()?)).map(PastCall::words);
        Ok(Judged { scanned, saved, since_first_repeat, call })
    }

    fn trace(&self) -> serde_json::Value {
        let events: Vec<_> = self.calls.iter().map(|call| call.event(self.client)).collect();
        json!({ "trace_id": self.session, "events": events })
    }

    /// What was spent behind a call, until a person spoke: behind that, it is the person's own choice.
    fn behind(&self, at: u64) -> Price {
        let mut calls = self.calls.iter().skip(usize::try_from(at).unwrap_or(usize::MAX));
        let held = calls.next().map_or_else(Price::default, |call| call.after);
        calls.take_while(|call| !call.user_turn).fold(held, |sum, call| sum.plus(call.spent).plus(call.after))
    }
}

#[cfg(test)]
mod tests;
