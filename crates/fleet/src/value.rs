//! A value of which only the last state counts, changed by reading it, changing it and writing it on top of what was read.

use crate::log::{Append, Log, LogError, Sequence};
use crate::subject::Subject;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::time::{Duration, Instant};

/// What a change makes of a value.
pub(crate) enum Change<T, R> {
    /// The new value, and what to tell the caller once it is written.
    Write(T, R),
    /// It stays as it is.
    Keep(R),
}

/// The value of a subject and its place.
pub(crate) fn load<T: DeserializeOwned>(log: &dyn Log, subject: &Subject) -> Result<(Option<T>, Sequence), LogError> {
    match log.last(subject)? {
        None => Ok((None, Sequence(0))),
        Some(entry) => {
            let value =
                serde_json::from_str(&entry.text).map_err(|error| LogError::damaged(subject, error.to_string()))?;
            Ok((Some(value), entry.sequence))
        }
    }
}

/// The text of a value.
pub(crate) fn text_of<T: Serialize>(subject: &Subject, value: &T) -> Result<String, LogError> {
    serde_json::to_string(value).map_err(|error| LogError::damaged(subject, error.to_string()))
}

/// Changes a value. `change` is called again after every write that was not plainly acknowledged, on what is there by then: it must
/// make the same of a value that has the change already.
pub(crate) fn update<T: Serialize + DeserializeOwned, R>(
    log: &dyn Log,
    subject: &Subject,
    mut change: impl FnMut(Option<T>) -> Change<T, R>,
) -> Result<R, LogError> {
    let start = Instant::now();
    let mut round = 0_u32;
    loop {
        // Others who write are a fleet that lives: among many a turn takes longer to come.
        let mut patience = PATIENCE;
        let obstacle = match load(log, subject) {
            Ok((value, at)) => match change(value) {
                Change::Keep(result) => return Ok(result),
                Change::Write(value, result) => match log.append(subject, at, &text_of(subject, &value)?) {
                    Ok(Append::Ack(_)) => return Ok(result),
                    Ok(Append::Fenced) => {
                        patience = CONTENDED;
                        "others write at the same time".to_owned()
                    }
                    Ok(Append::Unknown(reason)) => reason,
                    Err(LogError::Unreachable(reason)) => reason,
                    Err(error) => return Err(error),
                },
            },
            Err(LogError::Unreachable(reason)) => reason,
            Err(error) => return Err(error),
        };
        if start.elapsed() >= patience {
            let seconds = patience.as_secs();
            return Err(LogError::Undecided { subject: subject.to_string(), seconds, reason: obstacle });
        }
        std::thread::sleep(pause(round));
        round = round.saturating_add(1);
    }
}

/// Writers that met once should not meet again: the pause depends on the process and thread as well as on the round.
fn pause(round: u32) -> Duration {
    let thread = format!("{:?}{}", std::thread::current().id(), std::process::id());
    let spread = thread.bytes().fold(u64::from(round), |sum, byte| sum.wrapping_mul(31).wrapping_add(u64::from(byte)));
    let most_ms = 1_u64 << round.min(8);
    Duration::from_millis(1 + spread % most_ms.max(2))
}

const PATIENCE: Duration = Duration::from_secs(30);
const CONTENDED: Duration = Duration::from_secs(120);
