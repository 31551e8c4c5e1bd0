//! What `strict` looks back on: the newest calls, each as a handful of fingerprints, and the run of identical ones.

use super::alarm::{Alarm, Candidate, Named, Proof, clause, cost, push_indices};
use super::measured::Measured;
use crate::chain::activity::{NewStep, Sign, Surroundings};
use crate::chain::event::{Action, AgentEvent};
use crate::decision::Evidence;
use crate::effect::Sameness;
use crate::label::Fingerprint;
use crate::limits::WINDOW_EVENTS;
use crate::ring::Ring;
use crate::units::{Count, EventIndex, Price};
use alloc::vec::Vec;
use serde::{Deserialize, Serialize};

/// One call as the loop rules remember it. Field names are short in the snapshot: there are many of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct SeenCall {
    /// Its index in the session.
    #[serde(rename = "i")]
    pub(crate) index: EventIndex,
    /// Action type, tool, arguments and target.
    #[serde(rename = "x")]
    pub(crate) exact: Fingerprint,
    /// The normalised signature.
    #[serde(rename = "s")]
    pub(crate) signed: Fingerprint,
    /// The normalised result; nothing where it is not known.
    #[serde(rename = "r")]
    pub(crate) result: Fingerprint,
    /// The epoch it belongs to.
    #[serde(rename = "n")]
    pub(crate) epoch: u32,
    /// The number of the step it belongs to, to count parallel calls once.
    #[serde(rename = "t")]
    pub(crate) turn: u32,
    /// What the session had spent before it.
    #[serde(rename = "p")]
    pub(crate) spent: Price,
    /// What happened to the workspace since the call before it.
    #[serde(rename = "w")]
    workspace: Sameness,
}

/// The newest calls and the run lengths over them.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct Window {
    calls: Ring<SeenCall, WINDOW_EVENTS>,
    epoch: u32,
    turn: u32,
    /// How many identical actions came in a row, counted in steps.
    exact_run: u32,
    /// What was measured of the workspace.
    measured: Measured,
}

impl Window {
    /// A step begins, with a call or with the model's turn alone: what follows is not parallel to what came before.
    pub(crate) const fn open_step(&mut self, step: NewStep) {
        match step {
            NewStep::Yes => self.turn = self.turn.wrapping_add(1),
            NewStep::No => {}
        }
    }

    /// Adds a call.
    pub(crate) fn push(&mut self, action: &Action, event: &AgentEvent, around: &Surroundings) {
        // A retry after an infrastructure error says nothing about the action: its result counts as unknown (LOOP-3).
        let result = match &event.error_digest {
            _ if event.is_infrastructure_error() => Fingerprint::NONE,
            Some(digest) if event.failed() => digest.fingerprint(),
            Some(_) | None => event.result_fingerprint(),
        };
        let call = SeenCall {
            index: around.place.index,
            exact: action.exact(),
            signed: action.signed(),
            result,
            epoch: self.epoch,
            turn: self.turn,
            spent: around.spent,
            workspace: self.measured.take(),
        };
        self.count_runs(&call);
        self.calls.push(call);
    }

    fn count_runs(&mut self, call: &SeenCall) {
        let last = self.calls.back(0).copied();
        let same_turn = last.is_some_and(|last| last.turn == call.turn);
        let same_exact = last.is_some_and(|last| last.exact == call.exact);
        self.exact_run = run(self.exact_run, same_exact, same_turn);
    }

    /// Something moved meanwhile: an alarm then says so.
    pub(crate) const fn open_epoch(&mut self) {
        self.epoch = self.epoch.wrapping_add(1);
    }

    /// The newest call.
    pub(crate) fn newest(&self) -> Option<&SeenCall> {
        self.calls.back(0)
    }

    /// The newest `depth` calls, newest first.
    pub(crate) fn recent(&self, depth: usize) -> impl Iterator<Item = &SeenCall> {
        self.calls.newest_first().take(depth)
    }

    /// In how many steps the newest action came among the newest `span` calls.
    pub(crate) fn repeats(&self, span: u32) -> u32 {
        let Some(newest) = self.newest() else { return 0 };
        let (mut count, mut last) = (0_u32, None);
        for call in self.recent(usize::try_from(span).unwrap_or(usize::MAX)) {
            if call.exact == newest.exact && last != Some(call.turn) {
                (count, last) = (count.saturating_add(1), Some(call.turn));
            }
        }
        count
    }

    /// How many identical actions came in a row.
    pub(crate) const fn exact_run(&self) -> u32 {
        self.exact_run
    }
}

impl Window {
    /// What an event without a call says of the workspace.
    pub(crate) fn look(&mut self, event: &AgentEvent) {
        self.measured.look(event);
    }

    /// Collects the proof of a candidate and puts it into words.
    pub(crate) fn prove(&self, candidate: &Candidate, spent: Price, action: &Action) -> Alarm {
        let newest = self.newest().copied().unwrap_or_default();
        let mut calls: Vec<&SeenCall> = match candidate.proof {
            Proof::Exact(depth) => self.recent(depth).filter(|call| call.exact == newest.exact).collect(),
            Proof::Signature(depth) => self.recent(depth).filter(|call| call.signed == newest.signed).collect(),
        };
        calls.reverse();
        let indices: Vec<EventIndex> = calls.iter().map(|call| call.index).collect();
        // The first call was no repeat yet: the price counts from the second.
        let before = calls.get(1).or_else(|| calls.first()).map(|call| call.spent).unwrap_or_default();
        let workspace = self.workspace(&calls);
        let (object, subject) = Named { action, error: None, ignored: None }.subject(candidate.about, &[]);
        let (cost, way_out) = (cost(spent.since(before)), candidate.about.way_out());
        let mut reason = alloc::format!(
            "{subject}: {} {}{}{cost}: {way_out} (see ",
            candidate.count,
            candidate.words,
            clause(workspace)
        );
        push_indices(&mut reason, &indices);
        reason.push(')');
        Alarm {
            level: candidate.level,
            kind: candidate.kind,
            rule: candidate.rule,
            count: Count::new(candidate.count),
            key: candidate.key,
            evidence: Evidence::new(indices),
            price: spent.since(before),
            reason: reason.into(),
            signature: action.shown().into(),
            object,
            result: sameness(calls.iter().map(|call| call.result)),
            workspace,
            news: Sign::Present,
            proven: candidate.proven,
        }
    }

    /// What happened to the workspace since the first of these calls: an edit that succeeded counts as a change, and only
    /// what was measured counts as none.
    fn workspace(&self, calls: &[&SeenCall]) -> Sameness {
        let first = calls.first().map(|call| call.index).unwrap_or_default();
        let edited = calls.iter().any(|call| call.epoch != self.epoch);
        let since = self.calls.newest_first().filter(|call| call.index > first).map(|call| call.workspace);
        if edited { Sameness::Changed } else { Sameness::of_all(since) }
    }
}

/// Whether all are known and equal.
fn sameness(mut all: impl Iterator<Item = Fingerprint>) -> Sameness {
    match all.next() {
        Some(first) if first.is_some() => {
            if all.all(|other| other == first) {
                Sameness::Identical
            } else {
                Sameness::Changed
            }
        }
        Some(_) | None => Sameness::Unknown,
    }
}

/// Continues or restarts a run; an equal parallel call of the same turn does not add to it.
fn run(length: u32, same: impl Into<Sign>, same_turn: impl Into<Sign>) -> u32 {
    match (same.into().is_present(), same_turn.into().is_present()) {
        (true, true) => length.max(1),
        (true, false) => length.saturating_add(1),
        (false, _) => 1,
    }
}
