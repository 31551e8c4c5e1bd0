//! The steps of a session that can be taken back, as the report and the page show them.

use crate::host::Host;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use tripwire_undo::UndoPoint;
use tripwire_workspace::Workspace;
use tripwire_workspace::geometry::wall_clock::WallClock;

/// Paths that are named in one line.
const NAMED_MAX: usize = 5;

/// A step that changed files, or that has no snapshot.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ShownUndoPoint {
    /// The number of its decision.
    pub i: u64,
    /// When it began.
    pub at: String,
    /// The call in a few words.
    pub call: String,
    /// How it stands.
    pub state: String,
    /// The paths that it changed, the first of them.
    pub changed: String,
    /// What takes it back; nothing where it was taken back or cannot be.
    pub command: Option<String>,
}

impl ShownUndoPoint {
    fn of(point: &UndoPoint) -> Self {
        let step = &point.step;
        Self {
            i: step.step,
            at: WallClock::from_epoch_ms(step.at_ms).to_string(),
            call: step.label.clone(),
            state: point.state(),
            changed: point.named(NAMED_MAX),
            command: point.is_open().then(|| format!("tripwire undo {} --session {}", step.step, step.session)),
        }
    }
}

/// The numbers of the steps that can be taken back.
pub(crate) fn open_steps(host: &Host, workspace: &Workspace, session: &str) -> BTreeSet<u64> {
    let history = (host.snapshots)(workspace).and_then(|store| store.history().ok()).unwrap_or_default();
    let steps = history.steps().iter().filter(|step| step.session == session);
    steps.filter(|step| step.changed_files() && !step.undone && step.missing.is_none()).map(|step| step.step).collect()
}

/// The newest of them, oldest first; a store that cannot be read has none to show.
pub(crate) fn of_session(host: &Host, workspace: &Workspace, session: &str, max: usize) -> Vec<ShownUndoPoint> {
    let points = (host.snapshots)(workspace).and_then(|store| store.points(Some(session), max).ok());
    let points = points.unwrap_or_default();
    let is_told = |point: &&UndoPoint| point.step.missing.is_some() || !point.changed.is_empty();
    points.iter().filter(is_told).map(ShownUndoPoint::of).collect()
}
