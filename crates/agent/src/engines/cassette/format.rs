//! A cassette as it is written in its file, and the way from there to what is played.

use super::tape::{Cassette, CassetteEntry, CassetteError, Play, VERSION};
use crate::engines::error::EngineError;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::fs::File;
use std::path::Path;
use std::time::Duration;
use tripwire_core::label::Label;
use tripwire_core::run::record::{Answer, AnswerEnd, Call};
use tripwire_core::units::Tokens;
use tripwire_core::usage::Usage;
use tripwire_fs::bounded;

/// The bytes of a cassette.
const FILE_BYTES_MAX: u64 = 256 << 20;

/// Reads a cassette from a file.
///
/// # Errors
/// When it cannot be read or is not a good cassette; it is never played in part.
pub fn load(path: &Path) -> Result<Cassette, CassetteError> {
    let unreadable = |why: String| CassetteError::Unreadable { path: path.display().to_string(), why };
    let file = File::open(path).map_err(|error| unreadable(error.to_string()))?;
    let bytes = bounded::read_whole(file, FILE_BYTES_MAX).map_err(|error| unreadable(error.to_string()))?;
    parse(std::str::from_utf8(&bytes).map_err(|error| unreadable(error.to_string()))?)
}

/// Reads a cassette from its text.
///
/// # Errors
/// When it is not a good cassette: the line, the field, and why.
pub fn parse(text: &str) -> Result<Cassette, CassetteError> {
    let mut lines = text
        .lines()
        .enumerate()
        .map(|(index, line)| (format!("line {}", index + 1), line.trim()))
        .filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
    let Some((place, first)) = lines.next() else { return Err(CassetteError::NoHeader) };
    let Ok(header) = serde_json::from_str::<serde_json::Value>(first) else {
        // Not one object on the line: perhaps one object over many lines.
        return list(text);
    };
    if header.get("answers").is_some() {
        return list(text);
    }
    let about = about(&place, first)?;
    let entries = lines.map(|(place, line)| entry(place, line)).collect::<Result<Vec<CassetteEntry>, _>>()?;
    Cassette::of(about, entries)
}

/// The first object of a cassette on lines.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct HeaderLine {
    /// The version.
    pub(super) cassette: u64,
    /// What it is for.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(super) about: String,
}

/// A cassette in one object.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct EntryList {
    cassette: u64,
    #[serde(default)]
    about: String,
    answers: Vec<EntryLine>,
}

/// One entry.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub(super) struct EntryLine {
    /// A remark that is not played.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) note: Option<String>,
    /// What the question must hold.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) expect: Option<Words>,
    /// The digest that the question must have.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) question: Option<String>,
    /// How long it lets wait.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) delay_ms: Option<u64>,
    /// How often it is played.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) repeat: Option<u32>,
    /// The text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) text: Option<String>,
    /// The calls.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) calls: Vec<CassetteCall>,
    /// The tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) usage: Option<CassetteUsage>,
    /// The model's name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) model: Option<String>,
    /// Why it ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) end: Option<String>,
    /// An error in place of an answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) error: Option<CassetteFailure>,
}

/// One text or several.
#[derive(Debug, Serialize, Deserialize)]
#[serde(untagged)]
pub(super) enum Words {
    /// One.
    One(String),
    /// Several, all of which must be there.
    Many(Vec<String>),
}

/// One call.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CassetteCall {
    /// Its id; made when it is played if it is left out.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(super) id: String,
    /// The tool.
    pub(super) tool: String,
    /// An object, or a text that is played to the letter even if it is no JSON.
    #[serde(default)]
    pub(super) arguments: Value,
}

/// The tokens.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub(super) struct CassetteUsage {
    /// Fresh input.
    pub(super) input: Tokens,
    /// Read from a cache.
    pub(super) cache_read: Tokens,
    /// Written to a cache.
    pub(super) cache_write: Tokens,
    /// Output without reasoning.
    pub(super) output: Tokens,
    /// Reasoning.
    pub(super) reasoning: Tokens,
}

/// An error to play.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct CassetteFailure {
    /// Which.
    pub(super) kind: ErrorKind,
    /// The provider's words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) said: Option<String>,
    /// How long to wait.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) retry_after_ms: Option<u64>,
    /// The status of a refusal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) status: Option<u16>,
}

/// The errors that can be played: those that come from a provider.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum ErrorKind {
    /// Overloaded.
    #[default]
    Overloaded,
    /// A rate limit or a quota.
    RateLimited,
    /// The context is too long.
    ContextExhausted,
    /// Not reachable.
    Unreachable,
    /// Broken off.
    Broken,
    /// The key is refused.
    KeyRefused,
    /// The model is not known.
    UnknownModel,
    /// Refused for another reason.
    Refused,
}

/// Reads the header line.
fn about(place: &str, line: &str) -> Result<String, CassetteError> {
    let value: Value = serde_json::from_str(line).unwrap_or(Value::Null);
    let version = value.get("cassette").and_then(Value::as_u64).ok_or(CassetteError::NoHeader)?;
    check_version(version)?;
    read::<HeaderLine>(place, line).map(|header| header.about)
}

/// Reads one line.
fn entry(place: String, line: &str) -> Result<CassetteEntry, CassetteError> {
    let wire = read::<EntryLine>(&place, line)?;
    wire.into_entry(place)
}

/// Reads a cassette in one object.
fn list(text: &str) -> Result<Cassette, CassetteError> {
    let value: Value = serde_json::from_str(text).map_err(|error| CassetteError::Bad {
        place: format!("line {}", error.line()),
        field: String::new(),
        why: error.to_string(),
    })?;
    // The version first: a newer cassette may have fields that we would call unknown.
    check_version(value.get("cassette").and_then(Value::as_u64).ok_or(CassetteError::NoHeader)?)?;
    let list: EntryList = read("the object", text)?;
    check_version(list.cassette)?;
    let numbered = list.answers.into_iter().enumerate();
    let entries = numbered.map(|(index, wire)| wire.into_entry(format!("answer {}", index + 1)));
    Cassette::of(list.about, entries.collect::<Result<Vec<CassetteEntry>, _>>()?)
}

const fn check_version(found: u64) -> Result<(), CassetteError> {
    if found == VERSION { Ok(()) } else { Err(CassetteError::Version { found }) }
}

fn read<T: DeserializeOwned>(place: &str, text: &str) -> Result<T, CassetteError> {
    let mut reader = serde_json::Deserializer::from_str(text);
    let value = serde_path_to_error::deserialize(&mut reader).map_err(|error| {
        let field = match error.path().to_string().as_str() {
            // The reader says `?` where the text breaks off.
            "." | "?" => String::new(),
            path => format!("`{path}`: "),
        };
        CassetteError::Bad { place: place.to_owned(), field, why: error.inner().to_string() }
    })?;
    reader.end().map_err(|error| bad(place, "", &error.to_string()))?;
    Ok(value)
}

fn bad(place: &str, field: &str, why: &str) -> CassetteError {
    let field = if field.is_empty() { String::new() } else { format!("`{field}`: ") };
    CassetteError::Bad { place: place.to_owned(), field, why: why.to_owned() }
}

impl EntryLine {
    fn into_entry(self, place: String) -> Result<CassetteEntry, CassetteError> {
        let says = self.text.is_some() || !self.calls.is_empty();
        if says == self.error.is_some() {
            return Err(bad(&place, "", "an entry has either `text` and `calls`, or an `error`"));
        }
        let times = self.repeat.unwrap_or(1);
        if times == 0 {
            return Err(bad(&place, "repeat", "an entry is played at least once"));
        }
        if self.question.as_deref().is_some_and(|digest| !is_digest(digest)) {
            return Err(bad(&place, "question", "a digest is `sha256:` and 64 hexadecimal digits"));
        }
        let expect = match self.expect {
            None => Vec::new(),
            Some(Words::One(word)) => vec![word],
            Some(Words::Many(words)) => words,
        };
        let play = match self.error {
            Some(error) => Play::Error(error.into_error()),
            None => Play::Answer(Answer {
                engine: Label::default(),
                work: None,
                text: self.text.unwrap_or_default().into(),
                calls: self.calls.into_iter().map(|call| call.into_call(&place)).collect::<Result<Vec<_>, _>>()?,
                usage: self.usage.map_or_else(Usage::default, CassetteUsage::into_usage),
                model: Label::cut(self.model.as_deref().unwrap_or("scripted")),
                end: end(self.end.as_deref()),
            }),
        };
        let delay = Duration::from_millis(self.delay_ms.unwrap_or(0));
        Ok(CassetteEntry { place, expect, question: self.question, delay, times, play })
    }
}

fn is_digest(text: &str) -> bool {
    let hex = text.strip_prefix("sha256:").unwrap_or_default();
    hex.len() == 64 && hex.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

impl CassetteCall {
    fn into_call(self, place: &str) -> Result<Call, CassetteError> {
        let arguments = match self.arguments {
            Value::Null => "{}".to_owned(),
            Value::String(text) => text,
            object @ Value::Object(_) => object.to_string(),
            Value::Bool(_) | Value::Number(_) | Value::Array(_) => {
                return Err(bad(place, "calls.arguments", "arguments are an object, or a text to play to the letter"));
            }
        };
        Ok(Call { id: self.id.into(), tool: self.tool.into(), arguments: arguments.into() })
    }
}

impl CassetteUsage {
    fn into_usage(self) -> Usage {
        Usage {
            fresh_input: self.input,
            cache_read: self.cache_read,
            cache_write: self.cache_write,
            output: self.output,
            reasoning: self.reasoning,
            ..Usage::default()
        }
    }
}

fn end(word: Option<&str>) -> AnswerEnd {
    match word {
        None | Some("finished") => AnswerEnd::Finished,
        Some("outputLimit") => AnswerEnd::OutputLimit,
        Some("refused") => AnswerEnd::Refused,
        Some(_) => AnswerEnd::Other,
    }
}

impl CassetteFailure {
    fn into_error(self) -> EngineError {
        let engine = String::new();
        let said = self.said.unwrap_or_else(|| "as the cassette says".to_owned());
        let retry_after = self.retry_after_ms.map(Duration::from_millis);
        match self.kind {
            ErrorKind::Overloaded => EngineError::Overloaded { engine, said, retry_after },
            ErrorKind::RateLimited => EngineError::RateLimited { engine, said, retry_after },
            ErrorKind::ContextExhausted => EngineError::ContextExhausted { engine, said },
            ErrorKind::Unreachable => EngineError::Unreachable { engine, why: said },
            ErrorKind::Broken => EngineError::Broken { engine, why: said },
            ErrorKind::KeyRefused => EngineError::KeyRefused { engine, said },
            ErrorKind::UnknownModel => EngineError::UnknownModel { engine, said },
            ErrorKind::Refused => EngineError::Refused { engine, status: self.status.unwrap_or(400), said },
        }
    }
}
