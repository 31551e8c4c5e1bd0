//! Commits, stashes and objects that nothing else holds: stashes, the reflog, `gc`, rewritten history.

use super::clean;
use super::command::Git;
use crate::effect::Effect;
use crate::hold::{GuardRule, Hold};
use crate::line::call::Place;

pub(super) fn held(reason: &str) -> Hold {
    Hold::plain(GuardRule::GitHistory, reason)
}

/// Stashes are found nowhere else; without one there is nothing to drop.
pub(super) fn stash(git: &Git) -> Option<Hold> {
    if let Some(hold) = clean::stashes_the_guard(git) {
        return Some(hold);
    }
    let verb = git.call.operands().first().map(|word| word.text())?;
    if !matches!(verb.as_str(), "drop" | "clear") {
        return None;
    }
    let past = git.repo.as_ref().map(|repo| repo.past()).unwrap_or_default();
    let kept = match &git.repo {
        Some(repo) => repo.count(&["rev-list", "--count", "--walk-reflogs", "refs/stash", "--"]).unwrap_or(0),
        None if git.folder.is_some() && git.call.place == Place::Here => 0,
        None => 1,
    };
    let kept = kept.saturating_add(past.stashes);
    let lost = if verb == "clear" { kept } else { kept.min(1) }.saturating_sub(past.applied + past.settled);
    let effect = Effect { commits: Some(lost), ..Effect::default() };
    (lost > 0).then(|| {
        Hold::with(GuardRule::GitHistory, format!("it throws away {lost} stash(es), found nowhere else"), effect)
    })
}

pub(super) fn prune(git: &Git) -> Option<Hold> {
    let dry = git.call.has_any(&["-n", "--dry-run"]);
    let now = git.call.words().iter().any(|word| {
        matches!(word.as_str(), "--prune=now" | "--prune=all" | "--expire=now" | "--expire=all" | "--prune=0" | "now")
    });
    let whole = git.verb == "prune" && !git.call.words().iter().any(|word| word.starts_with("--expire"));
    let at_once = |value: String| matches!(value.as_str(), "now" | "all" | "0");
    let now = now || (git.verb == "gc" && git.config("gc.pruneExpire").is_some_and(at_once));
    (!dry && (now || whole)).then(|| held("it deletes objects at once that only the reflog could bring back"))
}
