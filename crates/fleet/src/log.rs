//! The one thing that a fleet needs of its storage: a log of short texts by subject, in which a writer says what it believes to
//! be the last entry and is refused if it is wrong. Budgets, leases, orders and records are built on it, once, so that a folder
//! and a cluster cannot differ in anything but their speed.

use crate::subject::Subject;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::fmt;
use std::time::Duration;
use tripwire_core::explain::{ExitClass, Explain};

/// The place of an entry in the log; 0 is before the first. It grows along a subject, not by one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Sequence(pub u64);

impl fmt::Display for Sequence {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

/// What was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Its place.
    pub sequence: Sequence,
    /// When the log took it, by the log's own clock, in milliseconds since 1970.
    pub time_ms: u64,
    /// One line of text.
    pub text: String,
}

/// What became of an append.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use = "only an acknowledged append may have consequences"]
pub enum Append {
    /// It is in the log, as safe as the log makes anything.
    Ack(Sequence),
    /// Nothing was written: the last entry of the subject is another one.
    Fenced,
    /// It may or may not be in the log. Only a look at the subject decides; a blind retry could write it twice.
    Unknown(String),
}

/// What came of waiting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Waited {
    /// What stands behind the place; nothing if the time is over.
    Entries(Vec<Entry>),
    /// A text that was sent just now. It may be in the log soon, or never: the servers may be choosing a leader.
    Heard(String),
}

/// Where a fleet keeps everything. All methods block, with a bound.
pub trait Log: Send + Sync {
    /// Writes an entry if the last one of its subject is `after`.
    ///
    /// # Errors
    /// Nothing was written, and a retry makes no sense before something changes.
    fn append(&self, subject: &Subject, after: Sequence, text: &str) -> Result<Append, LogError>;

    /// The last entry of a subject. It may be an older one if the log has no leader at the moment; a write on top of it is
    /// then refused.
    ///
    /// # Errors
    /// The log cannot be read.
    fn last(&self, subject: &Subject) -> Result<Option<Entry>, LogError>;

    /// At most `limit` entries of a subject behind a place.
    ///
    /// # Errors
    /// The log cannot be read.
    fn read(&self, subject: &Subject, after: Sequence, limit: usize) -> Result<Vec<Entry>, LogError>;

    /// All subjects that begin so, in order; `prefix` ends with a dot.
    ///
    /// # Errors
    /// The log cannot be read.
    fn subjects(&self, prefix: &str) -> Result<Vec<Subject>, LogError>;

    /// Waits until a subject has entries behind a place or somebody sends one, at most so long.
    ///
    /// # Errors
    /// The log cannot be read.
    fn wait(&self, subject: &Subject, after: Sequence, at_most: Duration) -> Result<Waited, LogError>;

    /// Sends a text to those who wait for this subject now, and keeps nothing. It may be lost: only an append counts. A folder
    /// sends nothing, because everybody looks into it.
    fn announce(&self, _subject: &Subject, _text: &str) {}
}

/// Why the log did not do what was asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LogError {
    /// Nobody answers; later it may be different.
    #[error("the fleet cannot be reached: {0}")]
    Unreachable(String),
    /// It answered, and the answer is no.
    #[error("the fleet refused `{subject}`: {reason}")]
    Refused {
        /// What it was about.
        subject: String,
        /// Its words.
        reason: String,
    },
    /// What is stored cannot be what was written.
    #[error("`{subject}` is damaged: {reason}")]
    Damaged {
        /// What it is about.
        subject: String,
        /// What is wrong.
        reason: String,
    },
    /// Not one line, or too long.
    #[error("an entry of `{subject}` has to be one line of at most {TEXT_BYTES_MAX} bytes")]
    Text {
        /// What it was about.
        subject: String,
    },
    /// The answer stayed unknown for too long.
    #[error("whether `{subject}` was written could not be found out within {seconds} s: {reason}")]
    Undecided {
        /// What it was about.
        subject: String,
        /// How long it was tried.
        seconds: u64,
        /// The last obstacle.
        reason: String,
    },
}

impl LogError {
    /// Damage of a subject.
    pub(crate) fn damaged(subject: &Subject, reason: impl Into<String>) -> Self {
        Self::Damaged { subject: subject.to_string(), reason: reason.into() }
    }

    /// Checks that a text may be an entry.
    ///
    /// # Errors
    /// When it has a line break or is too long.
    pub(crate) fn check_text(subject: &Subject, text: &str) -> Result<(), Self> {
        if text.len() > TEXT_BYTES_MAX || text.is_empty() || text.bytes().any(|byte| byte == b'\n' || byte == b'\r') {
            return Err(Self::Text { subject: subject.to_string() });
        }
        Ok(())
    }
}

impl Explain for LogError {
    fn hint(&self) -> Cow<'_, str> {
        match self {
            Self::Unreachable(_) | Self::Undecided { .. } => "look at `tripwire fleet status`, then try again".into(),
            Self::Refused { .. } => "check the credentials of this machine with `tripwire fleet status`".into(),
            Self::Damaged { .. } => "compare it with the machines' own journals: `tripwire fleet audit`".into(),
            Self::Text { .. } => "shorten it".into(),
        }
    }

    fn exit_class(&self) -> ExitClass {
        match self {
            Self::Unreachable(_) | Self::Damaged { .. } | Self::Undecided { .. } => ExitClass::DoesNotHold,
            Self::Refused { .. } => ExitClass::Refused,
            Self::Text { .. } => ExitClass::BadInput,
        }
    }
}

/// The longest entry: far above a journal line, below what a server takes in one message by default.
pub const TEXT_BYTES_MAX: usize = 512 * 1024;
