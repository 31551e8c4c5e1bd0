//! What the ladder remembers: the newest calls, and each rule's own count over them.

use super::failing::Failing;
use super::history::{CallMark, End, History, PastCall, is_change};
use super::paging::Paging;
use super::signature::Signed;
use super::stale::Stale;
use super::thrash::Thrash;
use super::{echo, reword};
use crate::chain::activity::{Sign, Surroundings};
use crate::chain::event::{Action, AgentEvent};
use crate::effect::Sameness;
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
            self.history.count(&call);
            self.paging.observe(action, &call, around);
            self.signed.observe(action, around);
            self.history.push(call, action, event);
        }
        let end = End::of(event);
        let turn = self.history.turn();
        self.failing.observe(end, turn, around);
        if is_change(event) {
            self.thrash.observe(end, turn, around);
        } else if call.is_known() && end != End::Unknown {
            self.stale.observe(event.gain, around);
        }
        let moved = is_change(event) && end != End::Failed && fresh;
        Observed { repeated_in_turn: Sign::from(parallel), opens_epoch: Sign::from(moved) }
    }

    /// Something moved: what was counted before no longer counts.
    pub(super) fn open_epoch(&mut self) {
        self.history.open_epoch();
        self.failing.end_row();
        self.stale = Stale::default();
        self.paging = Paging::default();
        self.signed = Signed::default();
    }

    /// A person spoke: nothing from before counts.
    pub(super) fn person_spoke(&mut self) {
        self.open_epoch();
        self.failing = Failing::default();
        self.thrash = Thrash::default();
    }
}
