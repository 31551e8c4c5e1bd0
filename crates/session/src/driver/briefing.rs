//! The briefing for a fresh worker, from what the journal holds: the newest steps, the files, what was refused.

use super::dir::SessionDir;
use super::steps::{self, STEPS_MAX};
use super::{objective, words};
use crate::body::ReadBody;
use std::collections::BTreeSet;
use tripwire_core::chain::event::{AgentEvent, Flag};
use tripwire_core::decision::Decision;
use tripwire_core::effect::Effect;
use tripwire_core::input::{Input, What};
use tripwire_fs::file::{FileError, read_bounded};
use tripwire_journal::Turn;
use tripwire_journal::storage::Storage;
use tripwire_workspace::geometry::layout::Layout;
use tripwire_workspace::geometry::reports::{FileSeen, MissionBriefing, Report};
use tripwire_workspace::geometry::wall_clock::WallClock;

/// Journal records that are looked back on: inputs and decisions, one after the other.
const RECORDS_MAX: u64 = 200;
/// Most of `todo.md` that is carried over.
const TODO_BYTES_MAX: u64 = 64 * 1_024;

/// Writes `MISSION_BRIEFING.md` if a decision asks for a compaction (CTX-3).
pub(super) fn write_if_due<S: Storage>(
    turn: &Turn<'_, S>,
    dir: SessionDir<'_>,
    decisions: &[&Decision],
    now: WallClock,
) -> Result<(), FileError> {
    let due = |decision: &&Decision| decision.effects.iter().any(|effect| matches!(effect, Effect::Compact));
    if !decisions.iter().any(due) {
        return Ok(());
    }
    write(turn, dir, now)
}

/// Writes `MISSION_BRIEFING.md` from what the journal holds.
pub(super) fn write<S: Storage>(turn: &Turn<'_, S>, dir: SessionDir<'_>, now: WallClock) -> Result<(), FileError> {
    let mut briefing = MissionBriefing {
        at: now,
        session: dir.session.as_str().to_owned(),
        objective: objective::read(dir.layout, dir.session),
        last_steps: Vec::new(),
        files_read: Vec::new(),
        edits: Vec::new(),
        refused: Vec::new(),
        todo: todo(dir.layout),
    };
    let page = newest(turn);
    let inputs: Vec<What> = page.iter().filter_map(|body| input(body)).collect();
    briefing.refused = refused(&page).into_iter().map(|line| steps::relative(&line, dir)).collect();
    briefing.last_steps = newest_steps(&page, &inputs, dir);
    let mut edits = BTreeSet::new();
    for event in inputs.iter().filter_map(|what| if let What::Event(event) = what { Some(event) } else { None }) {
        note_files(event, &mut briefing, &mut edits);
    }
    briefing.edits = edits.into_iter().collect();
    Report::MissionBriefing.write(dir.layout, &briefing.text())
}

/// The newest records, oldest first. A journal that cannot be read now gives none: the briefing is a help, not a gate.
fn newest<S: Storage>(turn: &Turn<'_, S>) -> Vec<String> {
    let from = turn.records().saturating_sub(RECORDS_MAX);
    let limit = usize::try_from(RECORDS_MAX).unwrap_or(usize::MAX);
    let read = turn.journal().find(from).and_then(|place| turn.journal().read(place, limit));
    read.map(|page| page.records.into_iter().map(|record| record.body).collect()).unwrap_or_default()
}

fn input(body: &str) -> Option<What> {
    let body: ReadBody<'_> = serde_json::from_str(body).ok()?;
    serde_json::from_str::<Input>(body.input?.get()).ok().map(|input| input.what)
}

/// The newest calls word for word; where those are not known, in short; where none ended yet, those that were asked for.
fn newest_steps(page: &[String], inputs: &[What], dir: SessionDir<'_>) -> Vec<String> {
    let own = steps::of_loop(page, dir);
    let whole = if own.is_empty() { steps::kept(dir) } else { own };
    if !whole.is_empty() {
        return whole;
    }
    let newest = |counts: &dyn Fn(&What) -> bool| {
        let told = inputs.iter().filter(|what| counts(what)).rev().take(STEPS_MAX).map(words::in_short);
        told.collect::<Vec<_>>().into_iter().rev().collect::<Vec<_>>()
    };
    let calls = newest(&|what| matches!(what, What::Event(event) if event.action.is_some()));
    if calls.is_empty() { newest(&|what| matches!(what, What::Request(_))) } else { calls }
}

/// What was refused for its own sake, and what an override forbade: not to be tried again. What was refused because of the
/// moment (a full context, a hold, a budget, a throttle) is not among it: it may be the very next thing to do.
fn refused(page: &[String]) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for pair in page.windows(2) {
        let [asked, answer] = pair else { continue };
        let Some(decision) = decision(answer) else { continue };
        let forbidden = decision["effects"].as_array().into_iter().flatten().filter_map(|effect| {
            let told = &effect["inject"];
            Some(format!("{}: repeated {} times to no avail", told["doNotRepeat"].as_str()?, told["seen"]))
        });
        let denied = match input(asked) {
            Some(What::Request(request)) => {
                own_fault(&decision).map(|why| format!("{}: {why}", request.action.named()))
            }
            Some(_) | None => None,
        };
        for line in forbidden.chain(denied) {
            if !lines.contains(&line) {
                lines.push(line);
            }
        }
    }
    lines.drain(..lines.len().saturating_sub(STEPS_MAX));
    lines
}

fn decision(body: &str) -> Option<serde_json::Value> {
    let body: ReadBody<'_> = serde_json::from_str(body).ok()?;
    serde_json::from_str(body.decision?.get()).ok()
}

/// Why a request was refused, if it was for what it is.
fn own_fault(decision: &serde_json::Value) -> Option<&str> {
    const KINDS: [&str; 3] = ["PermissionDenied", "FloorHeld", "ReviewGating"];
    let safety = &decision["safety"];
    let refused = safety["allowed"] == false && KINDS.iter().any(|kind| safety["error"].get(kind).is_some());
    safety["reason"].as_str().filter(|_| refused)
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

fn todo(layout: &Layout) -> String {
    let bytes = read_bounded(&layout.todo(), TODO_BYTES_MAX).unwrap_or_default();
    String::from_utf8_lossy(&bytes).into_owned()
}
