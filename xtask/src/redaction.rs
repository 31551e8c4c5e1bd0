//! Whether redaction changes a decision (SECRET-2): `cargo xtask redaction [FILE]` judges every trace and every made-up session
//! as it is and without its secrets, and compares.

use crate::robust::sessions::{self, Failure, RobustTrace};
use serde_json::Value;
use std::path::Path;
use tripwire_core::policy::Policy;
use tripwire_secrets::{Letters, Redactor};
use tripwire_session::formats::traces;
use tripwire_testing::keys::RandomLetters;

/// What the comparison found.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Comparison {
    /// Traces that were judged twice.
    pub traces: u64,
    /// Those in which something was redacted.
    pub redacted: u64,
    /// Those that were judged differently, by their names.
    pub different: Vec<String>,
}

impl Comparison {
    /// The result in a line.
    #[must_use]
    pub fn line(&self) -> String {
        let different = if self.different.is_empty() { "none".to_owned() } else { self.different.join(", ") };
        format!("{} judged twice, {} with secrets, judged differently: {different}", self.traces, self.redacted)
    }
}

/// Compares the traces of a file and made-up sessions, so many of each kind.
///
/// # Errors
/// When a trace cannot be read.
pub fn compare(file: Option<&Path>, each: u64) -> Result<Comparison, Failure> {
    let mut set = file.map(sessions::read).transpose()?.unwrap_or_default();
    // The made-up sessions hold no keys of their own: each gets one key in all of its outputs, and a new one in each.
    for keys in [Planted::One, Planted::Many] {
        let mut made_up = sessions::made_up(each)?;
        made_up.iter_mut().for_each(|session| plant(&mut session.trace, keys));
        set.extend(made_up);
    }
    of(&set, &Redactor::default())
}

/// Which keys a made-up session shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Planted {
    /// Always the same.
    One,
    /// Another one each time.
    Many,
}

fn plant(trace: &mut Value, keys: Planted) {
    let mut random = RandomLetters::new(7);
    let first = random.letters(Letters::Alnum, 36);
    for event in trace.get_mut("events").and_then(Value::as_array_mut).into_iter().flatten() {
        let Some(Value::String(output)) = event.get_mut("output") else { continue };
        let key = if keys == Planted::One { first.clone() } else { random.letters(Letters::Alnum, 36) };
        output.push_str(&format!("\nauthorized with ghp_{key}"));
    }
}

fn of(set: &[RobustTrace], redactor: &Redactor) -> Result<Comparison, Failure> {
    let policy = Policy::default();
    let mut comparison = Comparison::default();
    for RobustTrace { trace, .. } in set {
        let mut clean = trace.clone();
        let redacted = redact(&mut clean, redactor);
        comparison.traces += 1;
        comparison.redacted += u64::from(redacted);
        if !redacted {
            continue;
        }
        let judged = traces::scan_one(trace.to_string().as_bytes(), &policy)?;
        let again = traces::scan_one(clean.to_string().as_bytes(), &policy)?;
        // Reasons repeat texts, with and without their secrets; everything else is the same.
        if serde_json::to_value(&judged)? != serde_json::to_value(&again)? {
            comparison.different.push(judged.trace_id);
        }
    }
    Ok(comparison)
}

/// Redacts a trace as a recorded call is; says whether it held a secret.
fn redact(trace: &mut Value, redactor: &Redactor) -> bool {
    let events = trace.get_mut("events").and_then(Value::as_array_mut).into_iter().flatten();
    let mut redacted = false;
    for event in events {
        for field in ["args", "output", "text"] {
            let Some(value) = event.get_mut(field) else { continue };
            let clean = match value.as_str() {
                Some(text) => Value::String(redactor.redact(text).into_owned()),
                None => serde_json::from_str(&redactor.redact_json(&value.to_string())).unwrap_or_default(),
            };
            redacted |= clean != *value;
            *value = clean;
        }
    }
    redacted
}
