//! LOOP-2.paging: calls in a row that differ only in a number; most end by themselves, so it is a note and no more.

use super::history::PastCall;
use super::rung::{Basis, Reached, RuleView};
use super::streak::Streak;
use crate::chain::activity::Surroundings;
use crate::chain::event::Action;
use crate::decision::Level;
use crate::label::{Fingerprint, Label};
use crate::rules::Rule;
use serde::{Deserialize, Serialize};

/// Pages in a row that are noted.
const PAGES_NOTED: u32 = 10;

/// The running list.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(super) struct Paging {
    /// Tool and arguments with their numbers masked.
    shape: Fingerprint,
    action: Fingerprint,
    pages: Streak,
}

impl Paging {
    pub(super) fn observe(&mut self, action: &Action, entry: &PastCall, around: &Surroundings) {
        let shape = action
            .args_shape
            .as_ref()
            .map_or(Fingerprint::NONE, |shape: &Label| action.tool.fingerprint().and(shape.fingerprint()));
        if shape.is_some() && shape == self.shape && entry.action != self.action {
            self.pages.grow(around);
        } else {
            self.pages.restart(around);
        }
        (self.shape, self.action) = (shape, entry.action);
    }
}

/// Noted at 10 in a row.
pub(super) fn judge(view: &RuleView<'_>, paging: &Paging) -> Option<Reached> {
    if paging.pages.count < PAGES_NOTED {
        return None;
    }
    let mut reached = view.reached(Rule::LoopPaging, Level::Note, paging.pages.count);
    (reached.key, reached.proof) = (paging.shape, Basis::Since(paging.pages.start));
    reached.words = "calls in a row that differ only in a number";
    Some(reached)
}
