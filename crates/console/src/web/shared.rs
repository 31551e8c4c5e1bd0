//! What all answers share: the read model, who may ask, and who hears of changes.

use super::guard::Guard;
use super::limits::CHANGES_MAX;
use crate::host::Host;
use crate::live::Change;
use crate::model::ReadModel;
use std::sync::atomic::AtomicUsize;
use tokio::sync::broadcast;

/// What all answers share.
pub(super) struct Shared {
    pub(super) model: ReadModel,
    pub(super) guard: Guard,
    pub(super) changes: broadcast::Sender<Change>,
    pub(super) connections: AtomicUsize,
    /// Clients that agree on TLS.
    pub(super) handshakes: AtomicUsize,
    pub(super) streams: AtomicUsize,
}

impl Shared {
    pub(super) fn new(host: Host, guard: Guard) -> Self {
        let (changes, _) = broadcast::channel(CHANGES_MAX);
        Self {
            model: ReadModel::new(host),
            guard,
            changes,
            connections: AtomicUsize::new(0),
            handshakes: AtomicUsize::new(0),
            streams: AtomicUsize::new(0),
        }
    }

    /// Tells everybody that something changed.
    pub(super) fn notice(&self, change: Change) {
        self.model.notice(&change);
        // Nobody may be listening.
        drop(self.changes.send(change));
    }
}
