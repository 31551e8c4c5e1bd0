//! The briefing for a fresh worker, from what the journal holds: the newest steps, the files, what was refused.

use super::words;
use crate::body::ReadBody;
use crate::geometry::file::{FileError, read_bounded};
use crate::geometry::layout::Layout;
use crate::geometry::reports::{FileSeen, MissionBriefing, Report};
use crate::geometry::wall_clock::WallClock;
use crate::journal::Turn;
use crate::storage::Storage;
use crate::workspace::session::SessionId;
use std::collections::BTreeSet;
use tripwire_core::chain::event::{AgentEvent, Flag};
use tripwire_core::decision::Decision;
use tripwire_core::effect::Effect;
use tripwire_core::input::{Input, What};

/// Journal records that are looked back on: inputs and decisions, one after the other.
const RECORDS_MAX: u64 = 200;
/// Steps that are told word for word.
const STEPS_MAX: usize = 5;
/// Most of `todo.md` that is carried over.
const TODO_BYTES_MAX: u64 = 64 * 1_024;

/// Writes `MISSION_BRIEFING.md` if a decision asks for a compaction (CTX-3).
pub(super) fn write_if_due<S: Storage>(
    turn: &Turn<'_, S>,
    layout: &Layout,
    session: &SessionId,
    decisions: &[&Decision],
    now: WallClock,
) -> Result<(), FileError> {
    let due = |decision: &&Decision| decision.effects.iter().any(|effect| matches!(effect, Effect::Compact));
    if !decisions.iter().any(due) {
        return Ok(());
    }
    write(turn, layout, session, now)
}

/// Writes `MISSION_BRIEFING.md` from what the journal holds.
pub(super) fn write<S: Storage>(
    turn: &Turn<'_, S>,
    layout: &Layout,
    session: &SessionId,
    now: WallClock,
) -> Result<(), FileError> {
    let mut briefing = MissionBriefing {
        at: now,
        session: session.as_str().to_owned(),
        objective: objective(layout),
        last_steps: Vec::new(),
        files_read: Vec::new(),
        edits: Vec::new(),
        refused: Vec::new(),
        todo: todo(layout),
    };
    let inputs = newest_inputs(turn);
    briefing.last_steps = inputs.iter().rev().take(STEPS_MAX).rev().map(words::in_short).collect();
    let mut edits = BTreeSet::new();
    for event in inputs.iter().filter_map(|what| if let What::Event(event) = what { Some(event) } else { None }) {
        note_files(event, &mut briefing, &mut edits);
    }
    briefing.edits = edits.into_iter().collect();
    Report::MissionBriefing.write(layout, &briefing.text())
}

/// The newest inputs, oldest first. A journal that cannot be read now gives none: the briefing is a help, not a gate.
fn newest_inputs<S: Storage>(turn: &Turn<'_, S>) -> Vec<What> {
    let from = turn.records().saturating_sub(RECORDS_MAX);
    let limit = usize::try_from(RECORDS_MAX).unwrap_or(usize::MAX);
    let Ok(page) = turn.journal().find(from).and_then(|place| turn.journal().read(place, limit)) else {
        return Vec::new();
    };
    let input = |text: &str| -> Option<Input> {
        let body: ReadBody<'_> = serde_json::from_str(text).ok()?;
        serde_json::from_str(body.input?.get()).ok()
    };
    page.records.iter().filter_map(|record| input(&record.body)).map(|input| input.what).collect()
}

fn note_files(event: &AgentEvent, briefing: &mut MissionBriefing, edits: &mut BTreeSet<String>) {
    let Some(target) = event.action.as_ref().and_then(|action| action.target.as_ref()) else { return };
    if event.flags.has(Flag::Edit) && !event.failed() {
        edits.insert(target.as_str().to_owned());
    } else if event.flags.has(Flag::Read)
        && let Some(digest) = &event.result_digest
    {
        briefing.files_read.retain(|seen| seen.path != target.as_str());
        briefing.files_read.push(FileSeen { path: target.as_str().to_owned(), digest: digest.as_str().to_owned() });
    }
}

/// The objective as `todo.md` holds it; without one the worker is told where to look.
fn objective(layout: &Layout) -> String {
    let text = todo(layout);
    if text.trim().is_empty() { "not told to tripwire: see the first prompt of the session".to_owned() } else { text }
}

fn todo(layout: &Layout) -> String {
    let bytes = read_bounded(&layout.todo(), TODO_BYTES_MAX).unwrap_or_default();
    String::from_utf8_lossy(&bytes).into_owned()
}
