//! Cassettes: answers written down beforehand, by hand or by `--record`, one JSON object on each line.
//!
//! ```text
//! {"cassette": 1, "about": "finds the bug"}
//! {"text": "I look first.", "calls": [{"tool": "read_file", "arguments": {"path": "sum.sh"}}]}
//! {"expect": "lines_shown", "text": "I see it.", "usage": {"input": 900, "output": 12}}
//! {"error": {"kind": "overloaded", "retryAfterMs": 2000}}
//! ```
//!
//! The first object says the version. Empty lines and lines that begin with `#` are skipped. The same may be one JSON
//! object with the list `answers`. A field that is not known is an error: a misspelt one must not be ignored in silence.

mod record;
mod wire;

pub use record::{Binding, Recorder};

use super::{Answer, EngineError, Question, ToolAnswer, ToolCall, Turn};
use sha2::{Digest as _, Sha256};
use std::fs::File;
use std::io::Read as _;
use std::path::Path;
use std::time::Duration;

/// The version of the format that is read and written here.
pub const VERSION: u64 = 1;

/// The bytes of a cassette.
const FILE_BYTES_MAX: u64 = 256 << 20;

/// The answers of a cassette, repeats counted once.
const ENTRIES_MAX: usize = 100_000;

/// A cassette that was read whole and found good.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cassette {
    /// What it is for, in its author's words.
    pub about: String,
    /// What is played, in order.
    pub entries: Vec<Entry>,
}

/// One thing to play.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
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

impl CassetteError {
    /// The next step for a person.
    #[must_use]
    pub const fn hint(&self) -> &'static str {
        match self {
            Self::Unreadable { .. } => "give the path of a cassette: `--engine scripted:FILE`",
            Self::Bad { .. } | Self::NoHeader => "the format is in docs/reference/engines.md",
            Self::Version { .. } => "record it again with `tripwire agent --record FILE`, or use a newer tripwire",
        }
    }
}

impl Cassette {
    /// Reads a file.
    ///
    /// # Errors
    /// When it cannot be read or is not a good cassette; it is never played in part.
    pub fn load(path: &Path) -> Result<Self, CassetteError> {
        let unreadable = |why: String| CassetteError::Unreadable { path: path.display().to_string(), why };
        let file = File::open(path).map_err(|error| unreadable(error.to_string()))?;
        let mut text = String::new();
        let read = file.take(FILE_BYTES_MAX + 1).read_to_string(&mut text);
        match read.map_err(|error| unreadable(error.to_string()))? {
            bytes if bytes as u64 > FILE_BYTES_MAX => Err(unreadable(format!("longer than {FILE_BYTES_MAX} bytes"))),
            _ => Self::parse(&text),
        }
    }

    /// Reads a text.
    ///
    /// # Errors
    /// When it is not a good cassette: the line, the field, and why.
    pub fn parse(text: &str) -> Result<Self, CassetteError> {
        let mut lines = text
            .lines()
            .enumerate()
            .map(|(index, line)| (format!("line {}", index + 1), line.trim()))
            .filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
        let Some((place, first)) = lines.next() else { return Err(CassetteError::NoHeader) };
        let Ok(header) = serde_json::from_str::<serde_json::Value>(first) else {
            // Not one object on the line: perhaps one object over many lines.
            return wire::list(text);
        };
        if header.get("answers").is_some() {
            return wire::list(text);
        }
        let about = wire::header(&place, first)?;
        let entries = lines.map(|(place, line)| wire::entry(place, line)).collect::<Result<Vec<Entry>, _>>()?;
        Self::of(about, entries)
    }

    fn of(about: String, entries: Vec<Entry>) -> Result<Self, CassetteError> {
        if entries.len() > ENTRIES_MAX {
            let why = format!("more than {ENTRIES_MAX} answers");
            return Err(CassetteError::Bad { place: "the end".to_owned(), field: String::new(), why });
        }
        Ok(Self { about, entries })
    }
}

/// The digest that binds a recorded answer to its question: every part with its length, so that no two questions are one.
#[must_use]
pub fn digest(question: &Question<'_>) -> String {
    let mut hash = Sha256::new();
    let mut add = |part: &str| {
        hash.update(u64::try_from(part.len()).unwrap_or(u64::MAX).to_be_bytes());
        hash.update(part.as_bytes());
    };
    add("tripwire question 1");
    add(question.system);
    for tool in question.tools {
        ["tool", &tool.name, &tool.description, &tool.schema.to_string()].into_iter().for_each(&mut add);
    }
    for turn in question.turns {
        match turn {
            Turn::User(text) => ["user", text].into_iter().for_each(&mut add),
            Turn::Model { text, calls } => {
                ["model", text].into_iter().for_each(&mut add);
                for ToolCall { id, tool, arguments } in calls {
                    ["call", id, tool, arguments].into_iter().for_each(&mut add);
                }
            }
            Turn::Results(results) => {
                for ToolAnswer { id, tool, text, is_error } in results {
                    let kind = if *is_error { "failure" } else { "result" };
                    [kind, id, tool, text].into_iter().for_each(&mut add);
                }
            }
        }
    }
    add(&question.output_tokens_max.to_string());
    let hex: String = hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    format!("sha256:{hex}")
}

/// Everything that was said since the model's last answer: where an `expect` is looked for.
#[must_use]
pub(super) fn latest_words(question: &Question<'_>) -> String {
    let since = question.turns.iter().rposition(|turn| matches!(turn, Turn::Model { .. })).map_or(0, |last| last + 1);
    let mut words = String::new();
    for turn in question.turns.iter().skip(since) {
        match turn {
            Turn::User(text) | Turn::Model { text, .. } => words.push_str(text),
            Turn::Results(results) => results.iter().for_each(|result| {
                words.push_str(&result.text);
                words.push('\n');
            }),
        }
        words.push('\n');
    }
    words
}
