//! Writes what a model answered as a cassette.

use super::format::{CassetteCall, CassetteFailure, CassetteUsage, EntryLine, ErrorKind, HeaderLine};
use super::question::digest;
use super::tape::VERSION;
use crate::engines::engine::Question;
use crate::engines::error::EngineError;
use serde::Serialize;
use serde_json::Value;
use std::fs::File;
use std::io::{self, Write as _};
use std::path::Path;
use std::time::Duration;
use tripwire_core::run::record::{Answer, AnswerEnd, Call};
use tripwire_secrets::Redactor;

/// Whether a recorded answer is played to any question or only to its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Binding {
    /// Only to the question with the same digest: a divergence is found at once.
    Exact,
    /// To any question, as when tool results hold times or names that change.
    Loose,
}

/// A cassette while it is recorded.
#[derive(Debug)]
pub struct Recorder {
    file: File,
    binding: Binding,
}

impl Recorder {
    /// Begins a new file; one that exists is never written over.
    ///
    /// # Errors
    /// When the file is there already or cannot be written.
    pub fn create(path: &Path, about: &str, binding: Binding) -> io::Result<Self> {
        let mut recorder = Self { file: File::create_new(path)?, binding };
        recorder.line(&HeaderLine { cassette: VERSION, about: about.to_owned() })?;
        Ok(recorder)
    }

    /// Adds what one question was answered. Our own doing (the deadline, a cut) is no answer and is not recorded.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn record(
        &mut self,
        question: &Question<'_>,
        heard: &Result<Answer, EngineError>,
        redactor: &Redactor,
    ) -> io::Result<()> {
        let mut entry = match heard {
            Ok(answer) => of_answer(answer),
            Err(error) => match of_error(error) {
                Some(error) => EntryLine { error: Some(error), ..EntryLine::default() },
                None => return Ok(()),
            },
        };
        if self.binding == Binding::Exact {
            entry.question = Some(digest(question));
        }
        let line = serde_json::to_string(&entry)?;
        self.write(&redactor.redact_json(&line))
    }

    fn line(&mut self, value: &impl Serialize) -> io::Result<()> {
        self.write(&serde_json::to_string(value)?)
    }

    fn write(&mut self, line: &str) -> io::Result<()> {
        self.file.write_all(format!("{line}\n").as_bytes())
    }
}

fn of_answer(answer: &Answer) -> EntryLine {
    let usage = &answer.usage;
    EntryLine {
        text: Some(answer.text.to_string()),
        calls: answer.calls.iter().map(of_call).collect(),
        usage: Some(CassetteUsage {
            input: usage.fresh_input,
            cache_read: usage.cache_read,
            cache_write: usage.cache_write,
            output: usage.output,
            reasoning: usage.reasoning,
        }),
        model: Some(answer.model.to_string()),
        end: match answer.end {
            AnswerEnd::Finished => None,
            AnswerEnd::OutputLimit => Some("outputLimit".to_owned()),
            AnswerEnd::Refused => Some("refused".to_owned()),
            AnswerEnd::Other => Some("other".to_owned()),
        },
        ..EntryLine::default()
    }
}

/// A call. Arguments stand as an object only where that gives back the same bytes.
fn of_call(call: &Call) -> CassetteCall {
    let object = serde_json::from_str::<Value>(&call.arguments).ok().filter(|value| {
        let written = value.to_string();
        value.is_object() && call.arguments == *written
    });
    let arguments = object.unwrap_or_else(|| Value::from(call.arguments.as_str()));
    CassetteCall { id: call.id.to_string(), tool: call.tool.to_string(), arguments }
}

fn of_error(error: &EngineError) -> Option<CassetteFailure> {
    let millis = |wait: &Option<Duration>| wait.map(|wait| u64::try_from(wait.as_millis()).unwrap_or(u64::MAX));
    let (kind, said, retry_after_ms, status) = match error {
        EngineError::Overloaded { said, retry_after, .. } => (ErrorKind::Overloaded, said, millis(retry_after), None),
        EngineError::RateLimited { said, retry_after, .. } => (ErrorKind::RateLimited, said, millis(retry_after), None),
        EngineError::ContextExhausted { said, .. } => (ErrorKind::ContextExhausted, said, None, None),
        EngineError::Unreachable { why, .. } => (ErrorKind::Unreachable, why, None, None),
        EngineError::Broken { why, .. } => (ErrorKind::Broken, why, None, None),
        EngineError::KeyRefused { said, .. } => (ErrorKind::KeyRefused, said, None, None),
        EngineError::UnknownModel { said, .. } => (ErrorKind::UnknownModel, said, None, None),
        EngineError::Refused { status, said, .. } => (ErrorKind::Refused, said, None, Some(*status)),
        EngineError::NoKey { .. }
        | EngineError::CassetteEnded { .. }
        | EngineError::NotStarted { .. }
        | EngineError::TooSensitive { .. }
        | EngineError::NoMoney { .. }
        | EngineError::Deadline { .. }
        | EngineError::Cut { .. } => return None,
    };
    Some(CassetteFailure { kind, said: Some(said.clone()), retry_after_ms, status })
}
