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
}

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
        self.since = self.since.or_changed(on_disk).or_changed(by_hash);
    }

    /// What was seen since the call before this one, which begins a new span.
    pub(super) fn take(&mut self) -> Sameness {
        core::mem::take(&mut self.since)
    }
}
