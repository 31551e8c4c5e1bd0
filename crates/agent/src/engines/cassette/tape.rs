//! What a cassette holds once it was read and found good, and why one cannot be played.

use crate::engines::error::EngineError;
use std::borrow::Cow;
use std::time::Duration;
use tripwire_core::explain::Explain;
use tripwire_core::run::record::Answer;

/// The version of the format that is read and written here.
pub const VERSION: u64 = 1;

/// The answers of a cassette, repeats counted once.
const ENTRIES_MAX: usize = 100_000;

/// A cassette that was read whole and found good.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cassette {
    /// What it is for, in its author's words.
    pub about: String,
    /// What is played, in order.
    pub entries: Vec<CassetteEntry>,
}

/// One thing to play.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CassetteEntry {
    /// Its line in the file, or its number in the list, for messages.
    pub place: String,
    /// Texts that must occur in what was said since the model's last answer.
    pub expect: Vec<String>,
    /// The digest of the question for which it was recorded.
    pub question: Option<String>,
    /// How long it lets wait.
    pub delay: Duration,
    /// How often it is played, at least once.
    pub times: u32,
    /// What it plays.
    pub play: Play,
}

/// What an entry plays.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Play {
    /// An answer. Calls without an id get one when they are played.
    Answer(Answer),
    /// An error, still without the engine's name.
    Error(EngineError),
}

/// Why a cassette cannot be played.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CassetteError {
    /// The file cannot be read.
    #[error("the cassette `{path}` cannot be read: {why}")]
    Unreadable {
        /// The file.
        path: String,
        /// Why.
        why: String,
    },
    /// Something in it is wrong.
    #[error("{place} of the cassette: {field}{why}")]
    Bad {
        /// Where: `line 3`, `answer 2`.
        place: String,
        /// The field and a colon, or nothing.
        field: String,
        /// What is wrong with it.
        why: String,
    },
    /// It is of a version that this program does not know.
    #[error("the cassette has version {found}, and this program reads version {VERSION}")]
    Version {
        /// The version that it says.
        found: u64,
    },
    /// It does not say that it is one.
    #[error("this is no cassette: its first object must be {{\"cassette\": {VERSION}}}")]
    NoHeader,
}

impl Explain for CassetteError {
    fn hint(&self) -> Cow<'_, str> {
        match self {
            Self::Unreadable { .. } => "give the path of a cassette: `--engine scripted:FILE`".into(),
            Self::Bad { .. } | Self::NoHeader => "the format is in `tripwire help engines`".into(),
            Self::Version { .. } => {
                "record it again with `tripwire agent --record FILE`, or use a newer tripwire".into()
            }
        }
    }
}

impl Cassette {
    /// A cassette of these entries.
    pub(super) fn of(about: String, entries: Vec<CassetteEntry>) -> Result<Self, CassetteError> {
        if entries.len() > ENTRIES_MAX {
            let why = format!("more than {ENTRIES_MAX} answers");
            return Err(CassetteError::Bad { place: "the end".to_owned(), field: String::new(), why });
        }
        Ok(Self { about, entries })
    }
}
