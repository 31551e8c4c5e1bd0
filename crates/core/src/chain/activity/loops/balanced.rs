//! The same ladder counted on evidence: the same action with the same result while nothing else moves.

use super::window::{Call, Window};
use super::{Candidate, Proof};
use crate::decision::{FindingKind, Level};
use crate::label::Fingerprint;
use crate::policy::Policy;
use crate::rules::Rule;

/// Calls among which the same action with the same result is counted.
const REPEAT_DEPTH: usize = 12;
/// Turns of a cycle that are overridden.
const CYCLE_TURNS_OVERRIDE: u32 = 3;
/// Turns of a cycle that are held.
const CYCLE_TURNS_HOLD: u32 = 4;
/// Calls among which the same error is counted.
const ERROR_DEPTH: usize = 8;
/// Equal errors that are overridden.
const ERRORS_OVERRIDE: u32 = 4;
/// Equal errors that are held.
const ERRORS_HOLD: u32 = 6;

/// The strictest candidate of all rules.
pub(crate) fn judge(policy: &Policy, window: &Window, overridden: Option<Fingerprint>) -> Option<Candidate> {
    let newest = window.newest()?;
    let candidates = [
        run(policy, window, newest, overridden),
        repeat(policy, window, newest),
        cycle(window, newest),
        error(policy, window, newest),
        signature(policy, window, newest),
    ];
    candidates.into_iter().flatten().max_by_key(|candidate| candidate.level)
}

/// The same action with the same result in a row: overridden at the third, ended when the override is ignored.
fn run(policy: &Policy, window: &Window, newest: &Call, overridden: Option<Fingerprint>) -> Option<Candidate> {
    let run = window.result_run();
    let threshold = policy.loops.loop_repeat_threshold.get();
    let key = newest.pair();
    if !key.is_some() || run < threshold {
        return None;
    }
    let ignored = overridden == Some(key) && run > threshold;
    let (level, kind, words) = if ignored {
        let words = "identical actions with identical results in a row, the last one after the override";
        (Level::Stop, FindingKind::SystemError, words)
    } else {
        (Level::Override, FindingKind::LoopOverride, "identical actions with identical results in a row")
    };
    let proof = Proof::Pair(usize::try_from(run).unwrap_or(usize::MAX));
    Some(Candidate { level, kind, rule: Rule::LoopExact, count: run, key, proof, words })
}

/// The same action with the same result again and again in one epoch, with other calls between.
fn repeat(policy: &Policy, window: &Window, newest: &Call) -> Option<Candidate> {
    let key = newest.pair();
    if !key.is_some() {
        return None;
    }
    let count = distinct_turns(window, key);
    let (level, kind) = if count >= policy.safety.hard_loop_threshold.get() {
        (Level::Hold, FindingKind::HardLoop)
    } else if count > policy.safety.soft_loop_threshold.get() {
        (Level::Override, FindingKind::LoopOverride)
    } else if count >= policy.safety.soft_loop_threshold.get() {
        (Level::Note, FindingKind::SoftLoop)
    } else {
        return None;
    };
    let words = "times the same action with the same result, and nothing moved between";
    Some(Candidate { level, kind, rule: Rule::LoopRepeat, count, key, proof: Proof::Pair(REPEAT_DEPTH), words })
}

/// In how many different turns a pair was seen: parallel calls of one turn count once.
fn distinct_turns(window: &Window, key: Fingerprint) -> u32 {
    let mut last_turn = None;
    let mut turns = 0_u32;
    for call in window.epoch(REPEAT_DEPTH).filter(|call| call.pair() == key) {
        if last_turn != Some(call.turn) {
            turns = turns.saturating_add(1);
            last_turn = Some(call.turn);
        }
    }
    turns
}

/// A cycle of two to eight calls, each time with the same results.
fn cycle(window: &Window, newest: &Call) -> Option<Candidate> {
    let (level, kind, (period, count)) = match (window.cycle(CYCLE_TURNS_HOLD), window.cycle(CYCLE_TURNS_OVERRIDE)) {
        (Some(found), _) => (Level::Hold, FindingKind::HardLoop, found),
        (None, Some(found)) => (Level::Override, FindingKind::LoopOverride, found),
        (None, None) => return None,
    };
    // The key must be the same wherever in the cycle it is noticed: the smallest fingerprint of one turn.
    let key = window.epoch(period).map(Call::pair).min().unwrap_or(newest.pair());
    let proof = Proof::All(usize::try_from(count).unwrap_or(usize::MAX));
    let words = "calls that repeat in a cycle with the same results";
    Some(Candidate { level, kind, rule: Rule::LoopCycle, count, key, proof, words })
}

/// One normalised error from calls that differ: the agent varies its arguments and hits the same wall.
fn error(policy: &Policy, window: &Window, newest: &Call) -> Option<Candidate> {
    let key = newest.error;
    if !key.is_some() {
        return None;
    }
    let count = window.epoch(ERROR_DEPTH).filter(|call| call.error == key).count();
    let count = u32::try_from(count).unwrap_or(u32::MAX);
    let (level, kind) = if count >= ERRORS_HOLD {
        (Level::Hold, FindingKind::HardLoop)
    } else if count >= ERRORS_OVERRIDE {
        (Level::Override, FindingKind::LoopOverride)
    } else if count >= policy.safety.soft_loop_threshold.get() {
        (Level::Note, FindingKind::SoftLoop)
    } else {
        return None;
    };
    let words = "calls that ended in the same error";
    Some(Candidate { level, kind, rule: Rule::LoopError, count, key, proof: Proof::Error(ERROR_DEPTH), words })
}

/// Equal signatures alone are normal work: they give notes and nothing more.
fn signature(policy: &Policy, window: &Window, newest: &Call) -> Option<Candidate> {
    let depth = usize::try_from(policy.safety.signature_history_depth.get()).unwrap_or(usize::MAX);
    let count = window.epoch(depth).filter(|call| call.signed == newest.signed).count();
    let count = u32::try_from(count).unwrap_or(u32::MAX);
    (count >= policy.safety.hard_loop_threshold.get()).then_some(Candidate {
        level: Level::Note,
        kind: FindingKind::SoftLoop,
        rule: Rule::LoopSignature,
        count,
        key: newest.signed,
        proof: Proof::Signature(depth),
        words: "equal signatures among the last calls",
    })
}
