//! LOOP-2.paging: calls in a row that differ only in a number. Most end by themselves, so it is a note; pages past the end,
//! which all show the same, are overridden.

use super::history::PastCall;
use super::rung::{Basis, Reached, RuleView};
use super::streak::Streak;
use crate::chain::activity::Surroundings;
use crate::chain::activity::loops::alarm::About;
use crate::chain::event::Action;
use crate::decision::Level;
use crate::label::{Fingerprint, Label};
use crate::rules::Rule;
use serde::{Deserialize, Serialize};

/// Pages in a row that are noted.
const PAGES_NOTED: u32 = 10;
/// Pages in a row with one and the same content that are overridden.
const PAGES_PAST_THE_END: u32 = 5;

/// The running list.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(super) struct Paging {
    /// Tool and arguments with their numbers masked.
    shape: Fingerprint,
    action: Fingerprint,
    result: Fingerprint,
    pages: Streak,
    /// Those in a row that show the same.
    equal: Streak,
}

impl Paging {
    pub(super) fn observe(&mut self, action: &Action, entry: &PastCall, around: &Surroundings) {
        let shape = action
            .args_shape
            .as_ref()
            .map_or(Fingerprint::NONE, |shape: &Label| action.tool.fingerprint().and(shape.fingerprint()));
        let turned = shape.is_some() && shape == self.shape && entry.action != self.action;
        if turned {
            self.pages.grow(around);
        } else {
            self.pages.restart(around);
        }
        if turned && entry.is_known() && entry.result == self.result {
            self.equal.grow(around);
        } else {
            self.equal.restart(around);
        }
        (self.shape, self.action, self.result) = (shape, entry.action, entry.result);
    }
}

/// Noted at 10 in a row, overridden at 5 that show the same.
pub(super) fn judge(view: &RuleView<'_>, paging: &Paging) -> Option<Reached> {
    let past = paging.equal.count >= PAGES_PAST_THE_END;
    let (level, streak, words) = if past {
        (Level::Override, paging.equal, "pages in a row show the same")
    } else if paging.pages.count >= PAGES_NOTED {
        (Level::Note, paging.pages, "calls in a row that differ only in a number")
    } else {
        return None;
    };
    let mut reached = view.reached(Rule::LoopPaging, level, streak.count);
    (reached.key, reached.proof, reached.words) = (paging.shape, Basis::Since(streak.start), words);
    reached.about = About::Page;
    Some(reached)
}
