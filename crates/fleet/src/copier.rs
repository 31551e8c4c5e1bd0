//! A session whose records must be in the fleet before anything follows from them (`fleet.durability: replicated`): the appender
//! asks here, and goes on when the fleet has acknowledged every line up to theirs. One thread does the copying.

use crate::log::Log;
use crate::record::{RecordError, Replication};
use crate::subject::{Name, Subject};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::mpsc::{self, Receiver, Sender, SyncSender};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tripwire_core::explain::Explain as _;
use tripwire_journal::{SessionId, SessionPaths};

/// The way to ask; when the last one is gone, the thread ends.
#[derive(Debug, Clone)]
pub struct Copier {
    asked: Sender<Ask>,
    known: Arc<Mutex<BTreeSet<SessionId>>>,
    patience: Duration,
}

#[derive(Debug)]
struct Ask {
    place: Name,
    paths: SessionPaths,
    records: u64,
    answer: SyncSender<Result<(), CopyError>>,
}

/// Why a line is not in the fleet for certain.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CopyError {
    /// The fleet did not acknowledge it in time.
    #[error("the fleet did not acknowledge the record within {seconds} s")]
    Late {
        /// How long it was waited for.
        seconds: u64,
    },
    /// It will not be taken.
    #[error("{cause}; {hint}")]
    Refused {
        /// Why.
        cause: String,
        /// What to do.
        hint: String,
    },
}

impl Copier {
    /// Begins to copy for a machine. `patience` is how long a line may take.
    ///
    /// # Errors
    /// When there is no thread to be had.
    pub fn begin(log: Arc<dyn Log>, machine: Name, patience: Duration) -> std::io::Result<Self> {
        let (asked, received) = mpsc::channel();
        let builder = std::thread::Builder::new().name("fleet copier".to_owned());
        // It ends with the last of those who may ask.
        drop(builder.spawn(move || copy_all(log.as_ref(), &machine, &received))?);
        Ok(Self { asked, known: Arc::default(), patience })
    }

    /// Returns when the fleet has acknowledged so many records of a session.
    ///
    /// # Errors
    /// When it has not within the patience, or never will.
    pub fn confirm(&self, place: &Name, paths: &SessionPaths, records: u64) -> Result<(), CopyError> {
        let session = paths.session().clone();
        self.known.lock().unwrap_or_else(PoisonError::into_inner).insert(session);
        let (answer, answered) = mpsc::sync_channel(1);
        let late = || CopyError::Late { seconds: self.patience.as_secs() };
        let ask = Ask { place: place.clone(), paths: paths.clone(), records, answer };
        self.asked.send(ask).map_err(|_gone| late())?;
        answered.recv_timeout(self.patience).unwrap_or_else(|_late| Err(late()))
    }

    /// Whether this is where a session's lines go: nobody else needs to copy them.
    #[must_use]
    pub fn copies(&self, session: &SessionId) -> bool {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).contains(session)
    }
}

fn copy_all(log: &dyn Log, machine: &Name, received: &Receiver<Ask>) {
    let mut copies: BTreeMap<Subject, Replication<'_>> = BTreeMap::new();
    while let Ok(Ask { place, paths, records, answer }) = received.recv() {
        let subject = Subject::record(machine, &place, paths.session());
        let copied = copy(log, &mut copies, &subject, paths, records);
        if copied.is_err() {
            copies.remove(&subject);
        }
        let told =
            copied.map_err(|error| CopyError::Refused { cause: error.to_string(), hint: error.hint().into_owned() });
        // The caller may have given up.
        drop(answer.try_send(told));
    }
}

fn copy<'log>(
    log: &'log dyn Log,
    copies: &mut BTreeMap<Subject, Replication<'log>>,
    subject: &Subject,
    paths: SessionPaths,
    records: u64,
) -> Result<(), RecordError> {
    if !copies.contains_key(subject) {
        copies.insert(subject.clone(), Replication::open(log, subject.clone(), paths)?);
    }
    let Some(copy) = copies.get_mut(subject) else { return Ok(()) };
    loop {
        match copy.advance(LINES_AT_ONCE)? {
            0 if copy.compared() >= records => break,
            0 => std::thread::sleep(LOOK_AGAIN),
            _more => {}
        }
    }
    // The fleet has lines that this journal has lost: the new one has another's place.
    if copy.records() > copy.compared() {
        return Err(RecordError::Differs { subject: subject.to_string(), index: copy.compared() });
    }
    Ok(())
}

const LINES_AT_ONCE: usize = 200;
/// The journal's line is durable before anybody asks; a reader sees it at once.
const LOOK_AGAIN: Duration = Duration::from_millis(1);
