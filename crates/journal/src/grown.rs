//! The tree over a journal's records: where it can be grown on from, in a file or in memory.

use serde::{Deserialize, Serialize};

use crate::head::Place;
use crate::line::Tail;
use crate::merkle::Frontier;
use crate::note::Verifier;

/// Where the tree can be grown on from. It proves nothing by itself: its root must be that of a signed checkpoint.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Growth {
    /// The tree so far.
    pub(crate) frontier: Frontier,
    /// Behind its last record.
    pub(crate) place: Place,
}

/// The tree over all records, in a process that signed a checkpoint and appended every record behind it itself.
#[derive(Debug)]
pub(crate) struct GrownTree {
    growth: Growth,
    /// The key that signed the checkpoint.
    signed_by: Verifier,
}

impl GrownTree {
    /// The tree of a checkpoint that this key signed just now.
    pub(crate) const fn signed(growth: Growth, signed_by: Verifier) -> Self {
        Self { growth, signed_by }
    }

    /// Grows by the lines that were appended from a tail to a place; none where it does not end at that tail.
    pub(crate) fn grown_by(mut self, lines: &str, from: Tail, to: Place) -> Option<Self> {
        if self.growth.place.tail != from {
            return None;
        }
        for line in lines.split_terminator('\n') {
            self.growth.frontier.push(line.as_bytes());
        }
        self.growth.place = to;
        Some(self)
    }

    /// The tree, where this key signed its beginning and it ends where the journal does.
    pub(crate) fn at(&self, end: Place, verifier: &Verifier) -> Option<Growth> {
        let is_whole = self.growth.place.tail == end.tail && self.signed_by == *verifier;
        is_whole.then(|| Growth { place: end, ..self.growth.clone() })
    }
}
