//! LOOP-2.restart and LOOP-2.chant: what the model itself says from reply to reply, whatever it calls.

use super::rung::{Basis, Reached, RuleView};
use super::streak::Streak;
use crate::chain::activity::Surroundings;
use crate::chain::activity::loops::alarm::About;
use crate::chain::event::{AgentEvent, Flag};
use crate::decision::Level;
use crate::label::Fingerprint;
use crate::rules::Rule;
use crate::sketch::Sketch;
use crate::units::Ratio;
use serde::{Deserialize, Serialize};

/// Two replies are the same if so much of their text is.
const SAME_REPLY: Ratio = Ratio::from_per_mille(900);
/// A call brought news if more than one word in this many of its result is new.
const NEWS: u32 = 2;
/// Equal replies in a row that are overridden.
const CHANTS: u32 = 5;

/// The newest replies since the last change that landed.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(super) struct Replies {
    /// One bit per reply, the newest lowest; set if it says that it starts over.
    restarts: u8,
    since: Streak,
    last: Option<Sketch>,
    chant: Streak,
    turn: Option<u32>,
    newest: NewestReply,
}

/// What the newest event brought of a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
enum NewestReply {
    /// Nothing new: a further call of a turn.
    #[default]
    Counted,
    /// A turn of which no text is known.
    Untold,
    /// A reply.
    Told,
}

impl Replies {
    /// Takes in the reply of an event's turn, once per turn; a turn without a known reply starts nothing over.
    pub(super) fn observe(&mut self, event: &AgentEvent, turn: u32, around: &Surroundings) {
        // Reading that brings new text is progress, whatever the reply says.
        let reads = event.flags.has(Flag::Read) || event.flags.has(Flag::Search);
        let learns = reads && event.gain.is_some_and(|gain| !gain.is_at_most(1, NEWS));
        let retries = event.flags.has(Flag::Retry) && !learns;
        if self.turn == Some(turn) {
            self.newest = NewestReply::Counted;
            return;
        }
        self.turn = Some(turn);
        self.newest = if event.text_sketch.is_some() { NewestReply::Told } else { NewestReply::Untold };
        if self.restarts == 0 {
            self.since = Streak::default();
        }
        self.restarts = self.restarts.wrapping_shl(1) | u8::from(retries);
        if retries {
            self.since.grow(around);
        }
        let alike = |last: Sketch, now: Sketch| last.similarity(&now) >= SAME_REPLY;
        match (self.last, event.text_sketch) {
            (Some(last), Some(now)) if alike(last, now) && learns => {}
            (Some(last), Some(now)) if alike(last, now) => self.chant.grow(around),
            (_, Some(_)) => self.chant.restart(around),
            (_, None) => {}
        }
        self.last = event.text_sketch.or(self.last);
    }
}

/// Overridden when 5 of the last 8 replies say that the way before did not work.
pub(super) fn restart(view: &RuleView<'_>, replies: &Replies) -> Option<Reached> {
    let count = replies.restarts.count_ones();
    let now = replies.newest != NewestReply::Counted && replies.restarts & 1 == 1;
    if !now || count < view.policy.loops.restart_threshold.get() {
        return None;
    }
    let mut reached = view.reached(Rule::LoopRestart, Level::Override, count);
    (reached.key, reached.proof) = (Fingerprint::NONE, Basis::Since(replies.since.start));
    (reached.words, reached.about) = ("of the last 8 replies say that the way before did not work", About::Replies);
    Some(reached)
}

/// Overridden at 5 replies in a row that say the same.
pub(super) fn chant(view: &RuleView<'_>, replies: &Replies) -> Option<Reached> {
    if replies.newest != NewestReply::Told || replies.chant.count < CHANTS {
        return None;
    }
    let mut reached = view.reached(Rule::LoopChant, Level::Override, replies.chant.count);
    (reached.key, reached.proof) = (Fingerprint::NONE, Basis::Since(replies.chant.start));
    (reached.words, reached.about) = ("replies in a row say the same", About::Replies);
    Some(reached)
}
