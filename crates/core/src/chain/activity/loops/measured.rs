//! What is known of the workspace between two calls: only what was measured, never what was not seen.

use crate::chain::event::AgentEvent;
use crate::effect::Sameness;
use crate::label::{Fingerprint, Label};
use serde::{Deserialize, Serialize};

/// What was measured of the workspace, from event to event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(super) struct Measured {
    /// The newest hash of the workspace.
    #[serde(rename = "h")]
    hash: Fingerprint,
    /// What was seen since the last call.
    #[serde(rename = "s")]
    since: Sameness,
    /// The state of the workspace that code was left in, of late; a state that comes back is an undoing, not a movement.
    #[serde(rename = "k")]
    states: [Fingerprint; STATES],
    /// Whether code moved to a new state with the newest event.
    #[serde(rename = "m")]
    moved: bool,
}

/// States of the workspace that are remembered.
const STATES: usize = 4;

impl Measured {
    /// Takes in what an event says: files that changed on disk, and the hash of the tree.
    pub(super) fn look(&mut self, event: &AgentEvent) {
        let on_disk =
            event.changes.as_ref().map_or(Sameness::Unknown, |changes| Sameness::from_equal(changes.is_empty()));
        let hash = event.workspace_hash.as_ref().map_or(Fingerprint::NONE, Label::fingerprint);
        let by_hash = match (self.hash.is_some(), hash.is_some()) {
            (true, true) => Sameness::from_equal(self.hash == hash),
            (false, _) | (_, false) => Sameness::Unknown,
        };
        if hash.is_some() {
            self.hash = hash;
        }
        self.moved = self.is_movement(event, hash, by_hash);
        self.since = self.since.or_changed(on_disk).or_changed(by_hash);
    }

    /// Whether the event left the code in a state that it was not in before: files that a test could check, as far as they
    /// were listed, else the hash of the tree. A log that grows is no movement.
    fn is_movement(&mut self, event: &AgentEvent, hash: Fingerprint, by_hash: Sameness) -> bool {
        let changed = match &event.changes {
            Some(changes) => !changes.code.is_empty(),
            None => by_hash == Sameness::Changed,
        };
        let known = hash.is_some() && self.states.contains(&hash);
        if hash.is_some() && !known {
            self.states.rotate_right(1);
            if let Some(first) = self.states.first_mut() {
                *first = hash;
            }
        }
        changed && !known
    }

    /// Whether code moved with the newest event, as it was measured.
    pub(super) const fn moved(&self) -> bool {
        self.moved
    }

    /// What was seen since the call before this one, which begins a new span.
    pub(super) fn take(&mut self) -> Sameness {
        core::mem::take(&mut self.since)
    }
}
