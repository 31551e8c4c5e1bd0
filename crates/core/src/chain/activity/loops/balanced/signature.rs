//! LOOP-1.signature under `balanced`: calls in a row with one signature; the seed's INFINITE_LOOP count, which on evidence is only a note.

use super::rung::{Basis, Reached, RuleView};
use super::streak::Streak;
use crate::chain::activity::Surroundings;
use crate::chain::activity::loops::alarm::About;
use crate::chain::event::Action;
use crate::decision::Level;
use crate::label::Fingerprint;
use crate::rules::Rule;
use serde::{Deserialize, Serialize};

/// The running signature.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(super) struct Signed {
    signature: Fingerprint,
    row: Streak,
}

impl Signed {
    pub(super) fn observe(&mut self, action: &Action, around: &Surroundings) {
        // A signature that names the tool alone says nothing of what repeats: file after file is read under it.
        let names_something = action.signature.as_ref().is_some_and(|signature| !signature.as_str().ends_with("(...)"));
        let signature = if names_something { action.signed() } else { Fingerprint::NONE };
        if signature == self.signature && signature.is_some() {
            self.row.grow(around);
        } else {
            self.signature = signature;
            self.row.restart(around);
        }
    }
}

/// Noted at ten in a row that name one thing.
pub(super) fn judge(view: &RuleView<'_>, signed: &Signed) -> Option<Reached> {
    if signed.row.count < view.policy.loops.infinite_loop_threshold.get() {
        return None;
    }
    let mut reached = view.reached(Rule::LoopSignature, Level::Note, signed.row.count);
    (reached.key, reached.proof) = (signed.signature, Basis::Since(signed.row.start));
    (reached.words, reached.about) = ("calls in a row with one signature", About::Signature);
    Some(reached)
}
