//! The frozen replay: a session's trajectory in the seed's shape, written from its journal when it ends (LOG-3).

use super::error::DriverError;
use super::words::in_short;
use crate::body::{ReadBody, ReadDecision, event_text};
use serde::Deserialize;
use std::cell::Cell;
use tripwire_authority::identity::Part;
use tripwire_core::input::Input;
use tripwire_core::record::parity::Parity;
use tripwire_journal::storage::Storage;
use tripwire_journal::{Journal, Place, Record};
use tripwire_workspace::geometry::layout::Layout;
use tripwire_workspace::geometry::replay_file::{self, REPLAY_FORMAT, ReplayHeader, Transition};
use tripwire_workspace::session::SessionId;

/// Records that are frozen without being asked for: ending a session must not take long.
pub const RECORDS_MAX: u64 = 50_000;
/// Records that are read at once.
const PAGE: usize = 512;
/// What is written where a fact was never told.
const UNKNOWN: &str = "unknown";

/// Writes the replay of a session that has just ended, unless it is too long to do so in passing.
pub(super) fn when_it_ends<S: Storage>(
    journal: &Journal<S>,
    layout: &Layout,
    session: &SessionId,
    model: Option<&str>,
) -> Result<(), DriverError> {
    if journal.records() > RECORDS_MAX {
        return Ok(());
    }
    write(journal, layout, session, model)
}

/// Writes the replay of a session, whatever its length. The journal is read three times and never held in memory.
///
/// # Errors
/// When the journal does not verify or the file cannot be written.
pub fn write<S: Storage>(
    journal: &Journal<S>,
    layout: &Layout,
    session: &SessionId,
    model: Option<&str>,
) -> Result<(), DriverError> {
    let mut parity = Parity::new();
    let mut policy_hash = String::new();
    let mut prompt_hash = UNKNOWN.to_owned();
    let mut session_head = None;
    let failure = Cell::new(None);
    for record in FrozenRecords::new(journal, &failure) {
        let wrong = |problem: String| DriverError::Record { index: record.index, problem };
        let body: ReadBody<'_> = serde_json::from_str(&record.body).map_err(|error| wrong(error.to_string()))?;
        if let Some(head) = body.session {
            session_head = serde_json::to_value(&head).ok();
            policy_hash = format!("sha256:{}", head.policy_hash);
            if let Some(prompt) = head.identity.and_then(|identity| identity.parts.get(Part::Prompt)) {
                prompt_hash = format!("sha256:{prompt}");
            }
        }
        if let Some(input) = body.input {
            let input: Input = serde_json::from_str(input.get()).map_err(|error| wrong(error.to_string()))?;
            parity.push_event(&event_text(&input)?);
        }
        if let Some(decision) = body.decision {
            let read: ReadDecision<'_> =
                serde_json::from_str(decision.get()).map_err(|error| wrong(error.to_string()))?;
            parity.push_decision(&read.parity_text());
        }
    }
    fail_if(&failure)?;
    let digests = parity.finish();
    let header = ReplayHeader {
        session_id: session.as_str().to_owned(),
        model_version: model.unwrap_or(UNKNOWN).to_owned(),
        prompt_hash,
        format: REPLAY_FORMAT,
        policy_hash,
        inputs_digest: digests.events.sha256.to_string(),
        decisions_digest: digests.decisions.sha256.to_string(),
        journal_head: journal.place().tail_hash().to_string(),
        session: session_head,
    };
    replay_file::write(layout, session, &header, Steps::new(journal, &failure), inputs(journal, &failure))?;
    fail_if(&failure)
}

fn fail_if(failure: &Cell<Option<DriverError>>) -> Result<(), DriverError> {
    failure.take().map_or(Ok(()), Err)
}

/// The records of a journal one by one; trouble ends them and is left in the cell.
struct FrozenRecords<'a, S: Storage> {
    journal: &'a Journal<S>,
    place: Place,
    page: std::vec::IntoIter<Record>,
    failure: &'a Cell<Option<DriverError>>,
}

impl<'a, S: Storage> FrozenRecords<'a, S> {
    fn new(journal: &'a Journal<S>, failure: &'a Cell<Option<DriverError>>) -> Self {
        Self { journal, place: journal.beginning(), page: Vec::new().into_iter(), failure }
    }
}

impl<S: Storage> Iterator for FrozenRecords<'_, S> {
    type Item = Record;

    fn next(&mut self) -> Option<Record> {
        if let Some(record) = self.page.next() {
            return Some(record);
        }
        match self.journal.read(self.place, PAGE) {
            Ok(page) => {
                (self.place, self.page) = (page.next, page.records.into_iter());
                self.page.next()
            }
            Err(error) => {
                self.failure.set(Some(error.into()));
                None
            }
        }
    }
}

fn inputs<'a, S: Storage>(
    journal: &'a Journal<S>,
    failure: &'a Cell<Option<DriverError>>,
) -> impl Iterator<Item = serde_json::Value> + 'a {
    FrozenRecords::new(journal, failure).filter_map(|record| {
        let body: ReadBody<'_> = serde_json::from_str(&record.body).ok()?;
        serde_json::from_str(body.input?.get()).ok()
    })
}

/// The trajectory in the seed's words: the state is the reported mode, the action what came in.
struct Steps<'a, S: Storage> {
    records: FrozenRecords<'a, S>,
    state: String,
    action: Option<(u64, String)>,
}

#[derive(Deserialize)]
struct FrozenDecision {
    activity: Activity,
    safety: Safety,
}

#[derive(Deserialize)]
struct Activity {
    mode: String,
}

#[derive(Deserialize)]
struct Safety {
    allowed: bool,
    reason: String,
}

impl<'a, S: Storage> Steps<'a, S> {
    fn new(journal: &'a Journal<S>, failure: &'a Cell<Option<DriverError>>) -> Self {
        Self { records: FrozenRecords::new(journal, failure), state: "START".to_owned(), action: None }
    }
}

impl<S: Storage> Iterator for Steps<'_, S> {
    type Item = Transition;

    fn next(&mut self) -> Option<Transition> {
        loop {
            let record = self.records.next()?;
            let Ok(body) = serde_json::from_str::<ReadBody<'_>>(&record.body) else { continue };
            if let Some(input) = body.input.and_then(|input| serde_json::from_str::<Input>(input.get()).ok()) {
                self.action = Some((record.index, in_short(&input.what)));
            }
            let Some(decision) = body.decision else { continue };
            let decided = serde_json::from_str::<FrozenDecision>(decision.get()).ok();
            if let (Some(FrozenDecision { activity, safety }), Some((index, action))) = (decided, self.action.take()) {
                let next_state = match safety.allowed {
                    true => activity.mode.clone(),
                    false => format!("{}, refused: {}", activity.mode, safety.reason),
                };
                let state = std::mem::replace(&mut self.state, activity.mode);
                return Some(Transition { state, action, next_state, index: Some(index) });
            }
        }
    }
}
