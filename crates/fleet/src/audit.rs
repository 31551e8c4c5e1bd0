//! The comparison of what the fleet holds with what this machine holds: every record from its first line, against the journal on
//! disk and its signed checkpoints. The first difference of each session is named.

use crate::fence::{Mark, RecordStanding};
use crate::log::{Log, LogError, Sequence};
use crate::record::{self, RecordError, WholeRecord};
use crate::subject::{Name, RECORDS, Subject};
use serde::Serialize;
use tripwire_journal::storage::Disk;
use tripwire_journal::verify::{self, Trust};
use tripwire_journal::{Follower, SessionPaths};

/// A journal of this machine.
#[derive(Debug, Clone)]
pub struct LocalJournal {
    /// The machine and workspace under which it is replicated.
    pub machine: Name,
    /// The workspace.
    pub place: Name,
    /// Where it is.
    pub paths: SessionPaths,
    /// Whose checkpoints count.
    pub trust: Trust,
}

/// What was found about one session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Audited {
    /// Its record.
    pub subject: String,
    /// How many of its lines verify in the fleet.
    pub records: u64,
    /// The machine that went on with it.
    pub taken_over_by: Option<Name>,
    /// What this machine has of it.
    pub local: Option<LocalFinding>,
    /// The first difference.
    pub difference: Option<Difference>,
}

/// What this machine has of a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LocalFinding {
    /// How many lines the journal has.
    pub records: u64,
    /// How many of them are not in the fleet yet.
    pub behind: u64,
    /// Checkpoints of a trusted key that agree.
    pub checkpoints: u64,
}

/// Something that should be equal and is not.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// The first line that differs, where it is one.
    pub index: Option<u64>,
    /// In words.
    pub what: String,
}

impl Difference {
    fn at(index: u64, what: impl Into<String>) -> Option<Self> {
        Some(Self { index: Some(index), what: what.into() })
    }
}

/// Audits every record of the fleet.
///
/// # Errors
/// When the fleet cannot be read. What is wrong in it is among the findings.
pub fn audit(log: &dyn Log, journals: &[LocalJournal]) -> Result<Vec<Audited>, LogError> {
    let mut audited = Vec::new();
    for subject in log.subjects(RECORDS)? {
        let journal = journals
            .iter()
            .find(|journal| Subject::record(&journal.machine, &journal.place, journal.paths.session()) == subject);
        audited.push(one(log, &subject, journal)?);
    }
    Ok(audited)
}

fn one(log: &dyn Log, subject: &Subject, journal: Option<&LocalJournal>) -> Result<Audited, LogError> {
    let mut found =
        Audited { subject: subject.to_string(), records: 0, taken_over_by: None, local: None, difference: None };
    let whole = match record::read_whole(log, subject) {
        Ok(whole) => whole,
        Err(RecordError::Log(LogError::Unreachable(reason))) => return Err(LogError::Unreachable(reason)),
        Err(error) => {
            found.difference = Some(Difference { index: None, what: error.to_string() });
            return Ok(found);
        }
    };
    found.records = whole.state.tail.index;
    if let RecordStanding::TakenOver(takeover) = &whole.state.standing {
        found.taken_over_by = Some(takeover.to.clone());
    }
    found.difference = predecessor(log, &whole)?;
    if let Some(journal) = journal.filter(|_| found.difference.is_none()) {
        compare(&mut found, &whole, journal);
    }
    Ok(found)
}

/// Whether a record that continues another does so where that one ended.
fn predecessor(log: &dyn Log, whole: &WholeRecord) -> Result<Option<Difference>, LogError> {
    let Some(adopted) = &whole.adopted else { return Ok(None) };
    let Some(from) = Subject::parse(&adopted.from) else {
        return Ok(Difference::at(adopted.records, format!("it continues `{}`, which is no record", adopted.from)));
    };
    let before = Sequence(adopted.takeover.0.saturating_sub(1));
    let entry = log.read(&from, before, 1)?.into_iter().next().filter(|entry| entry.sequence == adopted.takeover);
    let is_takeover = entry.is_some_and(|entry| matches!(serde_json::from_str(&entry.text), Ok(Mark::Takeover(_))));
    match record::read_whole(log, &from) {
        Err(RecordError::Log(error)) => Err(error),
        Ok(old) if is_takeover && old.state.tail.index == adopted.records && old.state.tail.hash == adopted.hash => {
            Ok(None)
        }
        Ok(_) | Err(_) => {
            Ok(Difference::at(adopted.records, format!("it does not continue `{from}` where that was taken over")))
        }
    }
}

fn compare(found: &mut Audited, whole: &WholeRecord, journal: &LocalJournal) {
    let first = whole.adopted.as_ref().map_or(0, |adopted| adopted.records);
    let mut follower = Follower::from_start(Disk, journal.paths.clone());
    let mut records = 0_u64;
    loop {
        let lines = match follower.next_lines(PAGE) {
            Ok(lines) if lines.is_empty() => break,
            Ok(lines) => lines,
            Err(error) => {
                found.difference = Difference::at(records, format!("the journal on this machine: {error}"));
                return;
            }
        };
        for line in lines {
            let ours = records.checked_sub(first).and_then(|at| whole.lines.get(usize::try_from(at).ok()?));
            if ours.is_some_and(|ours| *ours != line) {
                found.difference = Difference::at(records, "the line in the fleet is not the one on this machine");
                return;
            }
            records += 1;
        }
    }
    let in_fleet = whole.state.tail.index;
    let behind = records.saturating_sub(in_fleet);
    let checked = verify::verify(&Disk, &journal.paths, &journal.trust);
    let checkpoints = checked.as_ref().map_or(0, |report| report.checkpoints_trusted);
    found.local = Some(LocalFinding { records, behind, checkpoints });
    found.difference = match checked {
        Ok(report) if !report.holds() => Some(Difference {
            index: report.first_bad_index,
            what: format!("the journal on this machine: {}", report.cause.unwrap_or_default()),
        }),
        Err(error) => Difference::at(0, format!("the journal on this machine: {error}")),
        Ok(_) if records < in_fleet => {
            Difference::at(records, "the fleet has lines that the journal on this machine has lost")
        }
        Ok(_) => None,
    };
}

const PAGE: usize = 1_000;
