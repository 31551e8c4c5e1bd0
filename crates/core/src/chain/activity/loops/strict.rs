//! The documents to the letter: exact repeats of guardrails, signature counts of Geometry, each on its own.

use super::alarm::{About, Candidate, Proof};
use super::window::{SeenCall, Window};
use crate::chain::activity::Sign;
use crate::decision::{FindingKind, Level};
use crate::policy::Policy;
use crate::rules::Rule;

/// The candidates of both counts, the strictest first: each count is independent (LOOP-2).
pub(crate) fn judge(policy: &Policy, window: &Window) -> (Option<Candidate>, Option<Candidate>) {
    let Some(newest) = window.newest() else { return (None, None) };
    match (exact(policy, window, newest), signature(policy, window, newest)) {
        (Some(exact), Some(signature)) if exact.level > signature.level => (Some(exact), Some(signature)),
        (Some(exact), Some(signature)) => (Some(signature), Some(exact)),
        (one, other) => (one.or(other), None),
    }
}

/// Guardrails: the third identical action in a row, or within a wider window, is overridden, the next one ends the run.
fn exact(policy: &Policy, window: &Window, newest: &SeenCall) -> Option<Candidate> {
    let loops = &policy.loops;
    let threshold = loops.loop_repeat_threshold.get();
    let retries = loops.loop_override_max_retries.get();
    let stop_at = threshold.saturating_add(retries);
    // A window that is no longer than the threshold means: in a row.
    let span = loops.repeat_window.get();
    let wide = span > threshold;
    let within = |span: u32| if wide { window.repeats(span).max(window.exact_run()) } else { window.exact_run() };
    let (level, kind, run, span) = if within(span.saturating_add(retries)) >= stop_at {
        (Level::Stop, FindingKind::SystemError, within(span.saturating_add(retries)), span.saturating_add(retries))
    } else if within(span) >= threshold {
        (Level::Override, FindingKind::LoopOverride, within(span), span)
    } else {
        return None;
    };
    let words = match (wide, level) {
        (false, Level::Stop) => "times in a row, the last time after a warning",
        (false, Level::Note | Level::Override | Level::Hold) => "times in a row",
        (true, Level::Stop) => "times within the window, the last time after a warning",
        (true, Level::Note | Level::Override | Level::Hold) => "times within the window",
    };
    let proof = Proof::Exact(usize::try_from(if wide { span } else { run }).unwrap_or(usize::MAX));
    Some(Candidate {
        level,
        kind,
        rule: Rule::LoopExact,
        count: run,
        key: newest.exact,
        proof,
        words,
        about: About::Call,
        proven: Sign::Present,
    })
}

/// Geometry: equal signatures among the last ten calls, 3 / 5 / 10.
fn signature(policy: &Policy, window: &Window, newest: &SeenCall) -> Option<Candidate> {
    let depth = usize::try_from(policy.safety.signature_history_depth.get()).unwrap_or(usize::MAX);
    let count = window.recent(depth).filter(|call| call.signed == newest.signed).count();
    let count = u32::try_from(count).unwrap_or(u32::MAX);
    let (level, kind) = if count >= policy.loops.infinite_loop_threshold.get() {
        (Level::Stop, FindingKind::InfiniteLoop)
    } else if count >= policy.safety.hard_loop_threshold.get() {
        (Level::Hold, FindingKind::HardLoop)
    } else if count >= policy.safety.soft_loop_threshold.get() {
        (Level::Note, FindingKind::SoftLoop)
    } else {
        return None;
    };
    let words = "calls with one signature among the last ones";
    let proof = Proof::Signature(depth);
    Some(Candidate {
        level,
        kind,
        rule: Rule::LoopSignature,
        count,
        key: newest.signed,
        proof,
        words,
        about: About::Signature,
        proven: Sign::Present,
    })
}
