//! A session's record in the fleet: each line of its journal, byte for byte, once and in order.

use crate::fence::{Adopted, Mark, RecordFault, RecordStanding, RecordState, Takeover};
use crate::log::{Entry, Log, LogError, Sequence};
use crate::settle::{self, Settled};
use crate::subject::{Name, RECORDS, Subject};
use std::borrow::Cow;
use tripwire_core::explain::{ExitClass, Explain};
use tripwire_journal::line;
use tripwire_journal::storage::Disk;
use tripwire_journal::{Follower, JournalError, SessionPaths};

/// Why a record cannot be continued.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// The fleet.
    #[error(transparent)]
    Log(#[from] LogError),
    /// The journal on this machine.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// What stands in the fleet does not verify.
    #[error("the record `{subject}` does not verify: {fault}")]
    Fault {
        /// Which.
        subject: String,
        /// What is wrong.
        fault: RecordFault,
    },
    /// Another machine went on with the session.
    #[error("`{to}` took this session over; this machine appends nothing more to it")]
    Fenced {
        /// Which machine.
        to: Name,
    },
    /// The journal on this machine is not the one that was replicated.
    #[error("line {index} of the journal is not the one in the fleet's record `{subject}`")]
    Differs {
        /// Which.
        subject: String,
        /// The first line that differs.
        index: u64,
    },
}

impl Explain for RecordError {
    fn hint(&self) -> Cow<'_, str> {
        match self {
            Self::Log(error) => error.hint(),
            Self::Journal(error) => error.hint(),
            Self::Fault { .. } | Self::Differs { .. } => "see what differs with `tripwire fleet audit`".into(),
            Self::Fenced { .. } => "look for the session on that machine".into(),
        }
    }

    fn exit_class(&self) -> ExitClass {
        match self {
            Self::Log(error) => error.exit_class(),
            Self::Journal(error) => error.exit_class(),
            Self::Fault { .. } | Self::Differs { .. } => ExitClass::DoesNotHold,
            Self::Fenced { .. } => ExitClass::Refused,
        }
    }
}

/// The writer of one session's record.
pub struct Recorder<'log> {
    log: &'log dyn Log,
    subject: Subject,
    state: RecordState,
}

impl<'log> Recorder<'log> {
    /// Goes on where the record stands.
    ///
    /// # Errors
    /// When it cannot be read, or does not verify at its end.
    pub fn open(log: &'log dyn Log, subject: Subject) -> Result<Self, RecordError> {
        let state = match log.last(&subject)? {
            None => RecordState::empty(),
            Some(entry) => RecordState::from_last(&entry).map_err(|fault| fault_of(&subject, fault))?,
        };
        Ok(Self { log, subject, state })
    }

    /// How many lines it has.
    #[must_use]
    pub const fn records(&self) -> u64 {
        self.state.tail.index
    }

    /// Appends the next line of the journal. A line that is there already is compared.
    ///
    /// # Errors
    /// When the session was taken over, the line is another one than the one that is there, or the fleet does not answer.
    pub fn append(&mut self, text: &str) -> Result<(), RecordError> {
        if let RecordStanding::TakenOver(takeover) = &self.state.standing {
            return Err(RecordError::Fenced { to: takeover.to.clone() });
        }
        let index = self.state.tail.index;
        let parsed = line::parse(text.as_bytes());
        let parsed = parsed.map_err(|fault| fault_of(&self.subject, RecordFault::Line { index, fault }))?;
        if parsed.tail().index < index {
            return Ok(());
        }
        if parsed.tail() == self.state.tail {
            return Ok(());
        }
        if parsed.before() != self.state.tail {
            return Err(self.differs(parsed.before().index));
        }
        let ours = |sequence| Entry { sequence, time_ms: 0, text: text.to_owned() };
        let found = match settle::append(self.log, &self.subject, self.state.at, text, settle::PATIENCE)? {
            Settled::Written(sequence) => ours(sequence),
            Settled::Fenced(entry) => entry,
        };
        let is_ours = found.text == text;
        self.state.accept(&found).map_err(|_fault| self.differs(index))?;
        match &self.state.standing {
            RecordStanding::TakenOver(takeover) => Err(RecordError::Fenced { to: takeover.to.clone() }),
            RecordStanding::Open if is_ours => Ok(()),
            RecordStanding::Open => Err(self.differs(index)),
        }
    }

    fn differs(&self, index: u64) -> RecordError {
        RecordError::Differs { subject: self.subject.to_string(), index }
    }
}

fn fault_of(subject: &Subject, fault: RecordFault) -> RecordError {
    RecordError::Fault { subject: subject.to_string(), fault }
}

/// The journal of a session on this machine, on its way into the fleet.
pub struct Replication<'log> {
    recorder: Recorder<'log>,
    journal: Follower<Disk>,
    /// Lines of the journal that were read.
    read: u64,
}

impl<'log> Replication<'log> {
    /// Begins where the record stands; lines that are there already are compared on the way.
    ///
    /// # Errors
    /// See [`Recorder::open`].
    pub fn open(log: &'log dyn Log, subject: Subject, paths: SessionPaths) -> Result<Self, RecordError> {
        Ok(Self { recorder: Recorder::open(log, subject)?, journal: Follower::from_start(Disk, paths), read: 0 })
    }

    /// Sends at most `limit` further lines; says how many were read.
    ///
    /// # Errors
    /// See [`Recorder::append`]. After an error the replication has to be opened again.
    pub fn advance(&mut self, limit: usize) -> Result<usize, RecordError> {
        let lines = self.journal.next_lines(limit)?;
        for line in &lines {
            self.recorder.append(line)?;
            self.read += 1;
        }
        Ok(lines.len())
    }

    /// How many lines of the journal are in the record for certain: sent, or found there and compared.
    #[must_use]
    pub const fn compared(&self) -> u64 {
        self.read
    }

    /// How many lines the record has.
    #[must_use]
    pub const fn records(&self) -> u64 {
        self.recorder.records()
    }
}

/// A record that was read whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WholeRecord {
    /// Where it has come to.
    pub state: RecordState,
    /// How many lines come from a record before this one.
    pub adopted: Option<Adopted>,
    /// Its lines.
    pub lines: Vec<String>,
}

/// Reads a record from its beginning and checks every line.
///
/// # Errors
/// When it cannot be read, or does not verify.
pub fn read_whole(log: &dyn Log, subject: &Subject) -> Result<WholeRecord, RecordError> {
    let mut whole = WholeRecord { state: RecordState::empty(), adopted: None, lines: Vec::new() };
    loop {
        let entries = log.read(subject, whole.state.at, PAGE)?;
        if entries.is_empty() {
            return Ok(whole);
        }
        for entry in entries {
            let (before, first) = (whole.state.tail, whole.state.at == Sequence(0));
            whole.state.accept(&entry).map_err(|fault| fault_of(subject, fault))?;
            if entry.text.starts_with("{\"b\":") {
                whole.lines.push(entry.text);
            } else if first
                && before != whole.state.tail
                && let Ok(Mark::Adopted(adopted)) = serde_json::from_str(&entry.text)
            {
                whole.adopted = Some(adopted);
            }
        }
    }
}

/// Ends a record in favour of a machine, whose own begins where this one ends. Gives the lines. An attempt that broke off may be
/// repeated for the same place.
///
/// # Errors
/// When it does not verify, was taken over before, or the fleet does not answer.
pub fn adopt(log: &dyn Log, subject: &Subject, takeover: &Takeover, place: &Name) -> Result<WholeRecord, RecordError> {
    let Some((_, _, session)) = subject.as_record() else {
        return Err(LogError::damaged(subject, "it is not the record of a session").into());
    };
    let continued = Subject::record(&takeover.to, place, &session);
    let whole = take_over(log, subject, takeover, &continued)?;
    let adopted = Adopted {
        from: subject.to_string(),
        takeover: whole.state.at,
        records: whole.state.tail.index,
        hash: whole.state.tail.hash,
    };
    let text = Mark::Adopted(adopted).text();
    match settle::append(log, &continued, Sequence(0), &text, settle::PATIENCE)? {
        Settled::Written(_) => Ok(whole),
        Settled::Fenced(_) => Err(LogError::damaged(&continued, "there is a record of that name already").into()),
    }
}

fn take_over(
    log: &dyn Log,
    subject: &Subject,
    takeover: &Takeover,
    continued: &Subject,
) -> Result<WholeRecord, RecordError> {
    let text = Mark::Takeover(takeover.clone()).text();
    loop {
        let mut whole = read_whole(log, subject)?;
        if let RecordStanding::TakenOver(before) = &whole.state.standing {
            // Our own takeover, of which nothing has come yet, may go on.
            if before.to == takeover.to && !is_continued_elsewhere(log, subject, takeover, continued)? {
                return Ok(whole);
            }
            return Err(RecordError::Fenced { to: before.to.clone() });
        }
        // The old machine may still write: each line that gets in first is part of the session.
        if let Settled::Written(sequence) = settle::append(log, subject, whole.state.at, &text, settle::PATIENCE)? {
            (whole.state.at, whole.state.standing) = (sequence, RecordStanding::TakenOver(takeover.clone()));
            return Ok(whole);
        }
    }
}

/// Whether the machine that took a record over goes on with it in another place.
fn is_continued_elsewhere(
    log: &dyn Log,
    subject: &Subject,
    takeover: &Takeover,
    continued: &Subject,
) -> Result<bool, LogError> {
    for other in log.subjects(&format!("{RECORDS}{}.", takeover.to))? {
        if other == *continued {
            continue;
        }
        let first = log.read(&other, Sequence(0), 1)?.into_iter().next();
        let mark = first.and_then(|entry| serde_json::from_str(&entry.text).ok());
        if matches!(mark, Some(Mark::Adopted(Adopted { from, .. })) if from == subject.as_str()) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Entries that are read at once.
const PAGE: usize = 1_000;
