//! What the ladder remembers: the newest calls, and each rule's own count over them.

use super::failing::{Failing, FailureNews};
use super::history::{CallMark, End, History, PastCall, SPAN, is_change};
use super::paging::Paging;
use super::replies::Replies;
use super::signature::Signed;
use super::stale::Stale;
use super::thrash::Thrash;
use super::{echo, reword, spawn};
use crate::chain::activity::{Sign, Surroundings};
use crate::chain::event::{Action, AgentEvent, Flag};
use crate::effect::Sameness;
use crate::limits::HISTORY_CALLS;
use crate::policy::Policy;
use serde::{Deserialize, Serialize};

/// What taking in an event showed beside the entry.
pub(super) struct Observed {
    /// Whether the same call with the same result is already there from the same turn.
    pub(super) repeated_in_turn: Sign,
    /// Whether what follows belongs to a new epoch.
    pub(super) opens_epoch: Sign,
}

/// The newest calls and each rule's running count.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(super) struct Memory {
    pub(super) history: History,
    pub(super) failing: Failing,
    pub(super) thrash: Thrash,
    pub(super) stale: Stale,
    pub(super) paging: Paging,
    pub(super) signed: Signed,
    pub(super) replies: Replies,
}

impl Memory {
    /// Takes in one call.
    pub(super) fn take(
        &mut self,
        policy: &Policy,
        action: &Action,
        event: &AgentEvent,
        around: &Surroundings,
    ) -> Observed {
        let mut call = PastCall::of(&self.history, action, event, around);
        let (mut fresh, mut parallel) = (true, false);
        for before in self.history.ring.newest_first().filter(|before| before.pair == call.pair) {
            fresh = false;
            parallel |= before.turn == call.turn;
        }
        if !parallel {
            let workspace = self.history.measured.take();
            call.set(CallMark::Moved, workspace == Sameness::Changed);
            call.set(CallMark::Still, workspace == Sameness::Identical);
            call.set(CallMark::Reword, reword::is_one(&self.history, policy, action, event));
            call.set(CallMark::Echo, echo::is_one(&self.history, policy, action, event));
            call.set(CallMark::TaskAgain, spawn::is_one(&self.history, action, event));
            self.history.count(&call);
            self.paging.observe(action, &call, around);
            self.signed.observe(action, around);
            self.history.push(call, action, event);
        }
        let end = End::of(event);
        let turn = self.history.turn();
        // A look that finds nothing yet is no failure of the agent.
        let outcome = if call.takes_its_time() { End::Unknown } else { end };
        self.failing.observe(outcome, self.failure(&call), turn, around);
        self.replies.observe(event, turn, around);
        if is_change(event) {
            self.thrash.observe(end, turn, around);
        } else if call.is_known() && end != End::Unknown {
            self.stale.observe(event.gain, around);
        }
        let moved = self.has_moved(&call, event, fresh);
        Observed { repeated_in_turn: Sign::from(parallel), opens_epoch: Sign::from(moved) }
    }

    /// What a failure says: an error that differs from all before it in this epoch may be a step forward, and one without a
    /// text says nothing.
    fn failure(&self, call: &PastCall) -> FailureNews {
        if !call.has(CallMark::Told) {
            return FailureNews::Untold;
        }
        let alike = |before: &PastCall| before.kind == call.kind && before.index != call.index;
        if self.history.mark(SPAN, alike) != 0 { FailureNews::Known } else { FailureNews::New }
    }

    /// Whether a call moved something: a change that landed for the first time; code that was measured to be in a new state, also
    /// where the call says that it failed, or does not look like a change; a check that failed in this epoch and passes now.
    fn has_moved(&self, call: &PastCall, event: &AgentEvent, fresh: impl Into<Sign>) -> bool {
        let (end, fresh) = (End::of(event), fresh.into().is_present());
        let landed = is_change(event) && end != End::Failed && fresh;
        let measured = self.history.measured.moved() && (fresh || !is_change(event));
        let checks = event.flags.has(Flag::Test) || event.flags.has(Flag::Build);
        let failed_before = |before: &PastCall| before.action == call.action && before.has(CallMark::Failed);
        let passes_now = checks && end == End::Good && self.history.mark(HISTORY_CALLS, failed_before) != 0;
        landed || measured || passes_now
    }

    /// Something moved: what was counted before no longer counts.
    pub(super) fn open_epoch(&mut self) {
        self.history.open_epoch();
        self.failing = Failing::default();
        self.thrash = Thrash::default();
        self.stale = Stale::default();
        self.paging = Paging::default();
        self.signed = Signed::default();
        self.replies = Replies::default();
    }
}
