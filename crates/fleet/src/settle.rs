//! What to believe when an append was not plainly acknowledged. The answer is looked up, never guessed: the entry that stands
//! behind the place where ours should be is ours or somebody else's, or there is none and ours may be tried again. Trying
//! again is safe because both attempts name the same place, so at most one of them is taken.

use crate::log::{Append, Entry, Log, LogError, Sequence};
use crate::subject::Subject;
use std::time::{Duration, Instant};

/// What became of an append in the end.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use = "only a written entry may have consequences"]
pub enum Settled {
    /// It is in the log, once.
    Written(Sequence),
    /// Another entry has its place, and ours is not in the log.
    Fenced(Entry),
}

/// What an entry behind the place says about ours.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Finding {
    /// Ours is there.
    Ours(Sequence),
    /// Another one is there: ours never will be.
    Another(Entry),
    /// Neither: ours may still be on its way, or lost.
    Nothing,
}

/// Reads an unclear answer. `next` is the first entry behind the place that ours was to follow. Two writers never write equal
/// texts, because each text names its writer or is a record that only one session can have.
#[must_use]
pub fn resolve(ours: &str, next: Option<Entry>) -> Finding {
    match next {
        Some(entry) if entry.text == ours => Finding::Ours(entry.sequence),
        Some(entry) => Finding::Another(entry),
        None => Finding::Nothing,
    }
}

/// Appends until it is known what became of it.
///
/// # Errors
/// When the log says no, or the answer stays unknown for `patience`.
pub fn append(
    log: &dyn Log,
    subject: &Subject,
    after: Sequence,
    text: &str,
    patience: Duration,
) -> Result<Settled, LogError> {
    let start = Instant::now();
    let mut pause = FIRST_PAUSE;
    loop {
        let reason = match log.append(subject, after, text) {
            Ok(Append::Ack(sequence)) => return Ok(Settled::Written(sequence)),
            Ok(Append::Fenced) => "another entry has its place".to_owned(),
            Ok(Append::Unknown(reason)) => reason,
            Err(LogError::Unreachable(reason)) => reason,
            Err(error) => return Err(error),
        };
        let looked = log.read(subject, after, 1);
        let reason = match looked.map(|entries| resolve(text, entries.into_iter().next())) {
            Ok(Finding::Ours(sequence)) => return Ok(Settled::Written(sequence)),
            Ok(Finding::Another(entry)) => return Ok(Settled::Fenced(entry)),
            Ok(Finding::Nothing) => reason,
            Err(LogError::Unreachable(reason)) => reason,
            Err(error) => return Err(error),
        };
        if start.elapsed() >= patience {
            return Err(LogError::Undecided { subject: subject.to_string(), seconds: patience.as_secs(), reason });
        }
        std::thread::sleep(pause);
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

/// How long a cluster may take to choose a new leader, and then some.
pub const PATIENCE: Duration = Duration::from_secs(30);
const FIRST_PAUSE: Duration = Duration::from_millis(20);
const LONGEST_PAUSE: Duration = Duration::from_millis(500);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::Waited;
    use std::sync::Mutex;

    /// A log whose answers get lost in a way that a test chooses.
    struct Lossy {
        entries: Mutex<Vec<Entry>>,
        /// For each append: whether it arrives, and whether its answer does.
        fate: Mutex<Vec<(Arrives, Answer)>>,
        /// One that has not arrived yet.
        delayed: Mutex<Option<(Sequence, String)>>,
    }

    #[derive(Clone, Copy, PartialEq)]
    enum Arrives {
        Yes,
        No,
        /// Only just before the next one.
        Late,
    }

    #[derive(Clone, Copy, PartialEq)]
    enum Answer {
        Kept,
        Lost,
    }

    impl Lossy {
        fn new(fate: &[(Arrives, Answer)]) -> Self {
            let mut fate = fate.to_vec();
            fate.reverse();
            Self { entries: Mutex::new(Vec::new()), fate: Mutex::new(fate), delayed: Mutex::new(None) }
        }

        fn take(&self, after: Sequence, text: &str) -> Append {
            let mut entries = self.entries.lock().unwrap();
            if entries.last().map_or(Sequence(0), |entry| entry.sequence) != after {
                return Append::Fenced;
            }
            let sequence = Sequence(after.0 + 3);
            entries.push(Entry { sequence, time_ms: 0, text: text.to_owned() });
            Append::Ack(sequence)
        }
    }

    impl Log for Lossy {
        fn append(&self, _: &Subject, after: Sequence, text: &str) -> Result<Append, LogError> {
            let (arrives, answer) = self.fate.lock().unwrap().pop().unwrap_or((Arrives::Yes, Answer::Kept));
            let delayed = self.delayed.lock().unwrap().take();
            if let Some((after, text)) = delayed {
                assert!(matches!(self.take(after, &text), Append::Ack(_)), "it arrives first");
            }
            let result = match arrives {
                Arrives::Yes => self.take(after, text),
                Arrives::No => Append::Unknown("lost".to_owned()),
                Arrives::Late => {
                    *self.delayed.lock().unwrap() = Some((after, text.to_owned()));
                    Append::Unknown("late".to_owned())
                }
            };
            Ok(match answer {
                Answer::Kept => result,
                Answer::Lost => Append::Unknown("no answer".to_owned()),
            })
        }

        fn last(&self, _: &Subject) -> Result<Option<Entry>, LogError> {
            Ok(self.entries.lock().unwrap().last().cloned())
        }

        fn read(&self, _: &Subject, after: Sequence, limit: usize) -> Result<Vec<Entry>, LogError> {
            let entries = self.entries.lock().unwrap();
            Ok(entries.iter().filter(|entry| entry.sequence > after).take(limit).cloned().collect())
        }

        fn subjects(&self, _: &str) -> Result<Vec<Subject>, LogError> {
            Ok(Vec::new())
        }

        fn wait(&self, subject: &Subject, after: Sequence, _: Duration) -> Result<Waited, LogError> {
            self.read(subject, after, 1).map(Waited::Entries)
        }
    }

    #[test]
    fn fleet_1_every_loss_of_request_or_answer_leaves_the_entry_once() {
        use Answer::{Kept, Lost};
        use Arrives::{Late, No, Yes};
        for fate in [
            vec![(Yes, Kept)],
            vec![(Yes, Lost)],
            vec![(No, Lost)],
            vec![(No, Lost), (Yes, Lost)],
            vec![(No, Lost), (No, Kept), (Yes, Kept)],
            vec![(Late, Lost), (Yes, Lost)],
        ] {
            let log = Lossy::new(&fate);
            let settled = append(&log, &Subject::orders(), Sequence(0), "ours", PATIENCE).unwrap();
            assert_eq!(settled, Settled::Written(Sequence(3)));
            assert_eq!(log.entries.lock().unwrap().len(), 1);
        }
    }

    #[test]
    fn fleet_2_an_entry_of_another_writer_is_never_taken_for_ours() {
        let log = Lossy::new(&[]);
        assert!(matches!(log.take(Sequence(0), "theirs"), Append::Ack(_)));
        let settled = append(&log, &Subject::orders(), Sequence(0), "ours", PATIENCE).unwrap();
        assert!(matches!(settled, Settled::Fenced(entry) if entry.text == "theirs"));
        assert_eq!(log.entries.lock().unwrap().len(), 1);
    }

    #[test]
    fn an_answer_that_stays_unknown_is_told_and_not_guessed() {
        let log = Lossy::new(&[(Arrives::No, Answer::Lost); 9]);
        let error = append(&log, &Subject::orders(), Sequence(0), "ours", Duration::ZERO).unwrap_err();
        assert!(matches!(error, LogError::Undecided { .. }), "{error}");
    }
}
