//! Our own loop, run again from its journal.

use super::error::DriverError;
use super::records::head_of;
use crate::body::ReadBody;
use tripwire_core::chain::Chain;
use tripwire_core::input::Input;
use tripwire_core::run::line::Line;
use tripwire_core::run::record::{FaultKind, RUN_VERSION, ReviewAnswer, RunRecord};
use tripwire_core::run::{LoopEffect, Run, RunInput};
use tripwire_core::units::EventIndex;
use tripwire_journal::Journal;
use tripwire_journal::storage::Storage;
use tripwire_workspace::geometry::safety_log::{ActionTaken, EventType, LogEntry};
use tripwire_workspace::geometry::wall_clock::WallClock;

/// The most of a reviewer's words that the safety log repeats.
const REVIEW_BYTES_MAX: usize = 500;
/// Records that are read at once.
const PAGE: usize = 512;

/// Runs the loop of a session again, without models and tools, and shows what it shows, with the time and the newest decision. `None` when the session is not
/// one of our own loop.
///
/// # Errors
/// When the journal does not verify, or holds what no loop wrote.
pub fn again<S: Storage>(
    journal: &Journal<S>,
    mut show: impl FnMut(&LoopEffect, WallClock, EventIndex),
) -> Result<Option<Run>, DriverError> {
    let mut place = journal.beginning();
    let mut chain: Option<Chain> = None;
    let mut run: Option<Run> = None;
    let mut decided = EventIndex::default();
    loop {
        let page = journal.read(place, PAGE)?;
        if page.records.is_empty() {
            return Ok(run);
        }
        for record in &page.records {
            let wrong = |problem: String| DriverError::Record { index: record.index, problem };
            let Some(chain) = &mut chain else {
                chain = Some(Chain::new(head_of(&record.body)?.policy()?)?);
                continue;
            };
            let body: ReadBody<'_> = serde_json::from_str(&record.body).map_err(|error| wrong(error.to_string()))?;
            let views = match (body.run, body.input) {
                (Some(text), _) => {
                    let learnt = serde_json::from_str(text.get()).map_err(|error| wrong(error.to_string()))?;
                    relearn(&mut run, &learnt, chain).map_err(wrong)?
                }
                (None, Some(text)) => {
                    let input: Input = serde_json::from_str(text.get()).map_err(|error| wrong(error.to_string()))?;
                    let decision = chain.step(&input).decision;
                    decided = decision.i;
                    run.as_mut().map(|run| run.take(RunInput::Decided(&input.what, &decision))).unwrap_or_default()
                }
                (None, None) => Vec::new(),
            };
            let at = WallClock::from_epoch_ms(record.times.wall_ms);
            views.iter().for_each(|view| show(view, at, decided));
        }
        place = page.next;
    }
}

fn relearn(run: &mut Option<Run>, record: &RunRecord, chain: &Chain) -> Result<Vec<LoopEffect>, String> {
    match (record, run) {
        (RunRecord::Begun(setup), run @ None) => {
            if setup.version != RUN_VERSION {
                return Err(format!(
                    "the loop is of version {}, this program knows version {RUN_VERSION}",
                    setup.version
                ));
            }
            let (begun, views) = Run::new(setup.clone(), chain.policy());
            *run = Some(begun);
            Ok(views)
        }
        (RunRecord::Begun(_), Some(_)) => Err("the loop begins a second time".to_owned()),
        (record, Some(run)) => Ok(run.take(RunInput::Record(record))),
        (_, None) => Err("the loop has not begun".to_owned()),
    }
}

/// What the safety log says of a view, if it is one of its types.
#[must_use]
pub fn log_entry(view: &LoopEffect, at: WallClock) -> Option<LogEntry> {
    let LoopEffect::Line(line) = view else { return None };
    if let Line::Fault { call, fault } = line {
        let kind = match fault.kind {
            FaultKind::UnknownTool => EventType::UnknownTool,
            FaultKind::ValidationError => EventType::ValidationError,
        };
        let entry = LogEntry::new(at, kind, ActionTaken::Blocked);
        return Some(entry.with("call", call.as_str()).with("reason", fault.text.as_str()));
    }
    if let Line::Review { answer: answer @ (ReviewAnswer::Rejected | ReviewAnswer::Unclear), proposal, text } = line {
        let problem = if *answer == ReviewAnswer::Rejected { "rejected" } else { "not clearly approved" };
        let entry = LogEntry::new(at, EventType::ReviewGating, ActionTaken::Blocked)
            .with("problem", problem)
            .with("reason", tripwire_core::label::cut(text, REVIEW_BYTES_MAX));
        return Some(match proposal {
            Some(digest) => entry.with("proposal", digest.to_string()),
            None => entry,
        });
    }
    None
}
