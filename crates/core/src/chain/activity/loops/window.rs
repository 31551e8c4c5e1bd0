//! The newest calls, each as a handful of fingerprints, with run lengths kept up to date so that no rule scans far.

use super::{Alarm, Candidate, Proof, Surroundings};
use crate::chain::activity::{NewStep, Sign};
use crate::chain::event::{Action, AgentEvent};
use crate::decision::{Evidence, Price};
use crate::effect::Sameness;
use crate::label::Fingerprint;
use crate::limits::{CYCLE_PERIOD_MAX, WINDOW_EVENTS};
use crate::ring::Ring;
use crate::units::{Count, EventIndex};
use alloc::string::String;
use alloc::vec::Vec;
use serde::{Deserialize, Serialize};

/// One call as the loop rules remember it. Field names are short in the snapshot: there are many of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct Call {
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
    /// The normalised error; nothing where it did not fail, or only the infrastructure did.
    #[serde(rename = "e")]
    pub(crate) error: Fingerprint,
    /// The epoch it belongs to.
    #[serde(rename = "n")]
    pub(crate) epoch: u32,
    /// The number of the step it belongs to, to count parallel calls once.
    #[serde(rename = "t")]
    pub(crate) turn: u32,
    /// What the session had spent before it.
    #[serde(rename = "p")]
    pub(crate) spent: Price,
}

impl Call {
    /// Action and result together; nothing while the result is unknown.
    pub(crate) fn pair(&self) -> Fingerprint {
        if self.result.is_some() { self.exact.and(self.result) } else { Fingerprint::NONE }
    }
}

/// The newest calls and the run lengths over them.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct Window {
    calls: Ring<Call, WINDOW_EVENTS>,
    epoch: u32,
    turn: u32,
    /// How many identical actions stand in a row, counted in steps.
    exact_run: u32,
    /// How many identical actions with identical results stand in a row, counted in steps.
    pair_run: u32,
    /// For each period p, how many calls in a row equal the one p places before, by action and result.
    cycle_runs: [u32; CYCLE_PERIOD_MAX],
}

impl Window {
    /// Adds a call.
    pub(crate) fn push(&mut self, action: &Action, event: &AgentEvent, around: &Surroundings) {
        if around.new_step == NewStep::Yes {
            self.turn = self.turn.wrapping_add(1);
        }
        // A retry after an infrastructure error says nothing about the action: its result counts as unknown (LOOP-3).
        let (result, error) = match &event.error_digest {
            _ if super::is_infrastructure(event) => (Fingerprint::NONE, Fingerprint::NONE),
            Some(digest) if event.failed() => (digest.fingerprint(), digest.fingerprint()),
            Some(_) | None => (event.result_fingerprint(), Fingerprint::NONE),
        };
        let call = Call {
            index: around.place.index,
            exact: action.exact(),
            signed: action.signed(),
            result,
            error,
            epoch: self.epoch,
            turn: self.turn,
            spent: around.spent,
        };
        self.count_runs(&call);
        self.calls.push(call);
    }

    fn count_runs(&mut self, call: &Call) {
        let last = self.calls.back(0).copied();
        let same_turn = last.is_some_and(|last| last.turn == call.turn);
        let same_epoch = last.is_some_and(|last| last.epoch == call.epoch);
        let same_exact = last.is_some_and(|last| last.exact == call.exact);
        let same_pair = last.is_some_and(|last| last.pair().is_some() && last.pair() == call.pair());
        self.exact_run = run(self.exact_run, same_exact, same_turn);
        self.pair_run = run(self.pair_run, same_pair && same_epoch, same_turn);
        for (period, cycle_run) in (1_usize..).zip(self.cycle_runs.iter_mut()) {
            let before = self.calls.back(period.saturating_sub(1));
            let equal = before.is_some_and(|before| {
                before.pair().is_some() && before.pair() == call.pair() && before.epoch == call.epoch
            });
            *cycle_run = if equal { cycle_run.saturating_add(1) } else { 0 };
        }
    }

    /// Something moved: calls from before no longer count as repeats in `balanced`.
    pub(crate) fn open_epoch(&mut self) {
        self.epoch = self.epoch.wrapping_add(1);
        self.pair_run = 0;
        self.cycle_runs = [0; CYCLE_PERIOD_MAX];
    }

    /// The newest call.
    pub(crate) fn newest(&self) -> Option<&Call> {
        self.calls.back(0)
    }

    /// The newest `depth` calls, newest first.
    pub(crate) fn recent(&self, depth: usize) -> impl Iterator<Item = &Call> {
        self.calls.newest_first().take(depth)
    }

    /// The newest calls of the current epoch among the last `depth`, newest first.
    pub(crate) fn epoch(&self, depth: usize) -> impl Iterator<Item = &Call> {
        self.recent(depth).filter(|call| call.epoch == self.epoch)
    }

    /// How many identical actions stand in a row.
    pub(crate) const fn exact_run(&self) -> u32 {
        self.exact_run
    }

    /// How many identical actions with identical results stand in a row.
    pub(crate) const fn result_run(&self) -> u32 {
        self.pair_run
    }

    /// The shortest period that has held for the most turns: (period, calls in the cycle).
    pub(crate) fn cycle(&self, turns: u32) -> Option<(usize, u32)> {
        (1_usize..).zip(self.cycle_runs.iter()).skip(1).find_map(|(period, run)| {
            let length = u32::try_from(period).unwrap_or(u32::MAX);
            let calls = run.saturating_add(length);
            (calls >= length.saturating_mul(turns) && !self.is_constant(period)).then_some((period, calls))
        })
    }

    /// Whether the last `period` calls are all the same: then it is a plain repeat and no cycle.
    fn is_constant(&self, period: usize) -> bool {
        let equal = self.cycle_runs.first().copied().unwrap_or(0).saturating_add(1);
        usize::try_from(equal).is_ok_and(|equal| equal >= period)
    }
}

impl Window {
    /// Collects the proof of a candidate and puts it into words.
    pub(crate) fn prove(&self, candidate: &Candidate, spent: Price) -> Alarm {
        let newest = self.newest().copied().unwrap_or_default();
        let mut calls: Vec<&Call> = match candidate.proof {
            Proof::Exact(depth) => self.recent(depth).filter(|call| call.exact == newest.exact).collect(),
            Proof::Signature(depth) => self.recent(depth).filter(|call| call.signed == newest.signed).collect(),
            Proof::Pair(depth) => self.epoch(depth).filter(|call| call.pair() == newest.pair()).collect(),
            Proof::Error(depth) => self.epoch(depth).filter(|call| call.error == newest.error).collect(),
            Proof::All(depth) => self.recent(depth).collect(),
        };
        calls.reverse();
        let indices: Vec<EventIndex> = calls.iter().map(|call| call.index).collect();
        // The first call was no repeat yet: the price counts from the second.
        let before = calls.get(1).or_else(|| calls.first()).map(|call| call.spent).unwrap_or_default();
        let mut reason = alloc::format!("{} {} (events ", candidate.count, candidate.words);
        super::push_indices(&mut reason, &indices);
        reason.push(')');
        Alarm {
            level: candidate.level,
            kind: candidate.kind,
            rule: candidate.rule,
            count: Count::new(candidate.count),
            key: candidate.key,
            evidence: Evidence::new(indices),
            price: spent.since(before),
            reason,
            signature: String::new(),
            result: sameness(calls.iter().map(|call| call.result)),
            workspace: if calls.iter().all(|call| call.epoch == self.epoch) {
                Sameness::Identical
            } else {
                Sameness::Changed
            },
            news: Sign::Present,
        }
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
