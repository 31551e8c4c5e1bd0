//! `git push`: rewriting or deleting a branch that others stand on.
//!
//! A branch is protected if it fits a pattern of the policy (`identity.protected_branches`), or if the remote's HEAD names
//! it. A lease guards against overwriting what one has not seen, not against rewriting: on a
//! protected branch it counts as force, on any other branch both pass.

use super::command::{Git, operands};
use crate::effect::Effect;
use crate::hold::{GuardRule, Hold};
use crate::line::call::{Call, Place};
use crate::line::field::{Atom, Field};
use crate::site::Site;

/// Options of a push that take a value.
pub(super) const VALUES: [&str; 5] = ["-o", "--push-option", "--receive-pack", "--exec", "--repo"];

/// What a push would do to a branch on the remote.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Act {
    Rewrite(String),
    Delete(String),
    /// Every branch, or one that nobody can know.
    Any(&'static str),
}

/// What the options of a push say about all its refspecs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    Plain,
    Forced,
    Deleting,
}

/// Judges a push.
pub(super) fn judge(site: &Site<'_>, git: &Git) -> Option<Hold> {
    let call = &without_values(&git.call);
    let undone = call.words().iter().any(|word| word.starts_with("--no-d"));
    if (call.has_any(&["--dry-run"]) || call.has_short(&['n'])) && !undone {
        return None;
    }
    let mut operands = operands(&call.args, &[]);
    let remote = if operands.is_empty() { None } else { Some(operands.remove(0)) };
    let remote = remote.and_then(|field| field.known()).or_else(|| git.call.option(&["--repo"])?.known());
    let remote = remote.unwrap_or_else(|| default_remote(git));
    for act in acts(git, call, &operands, &remote) {
        let (branch, verb) = match &act {
            Act::Rewrite(branch) => (branch.as_str(), "rewrites"),
            Act::Delete(branch) => (branch.as_str(), "deletes"),
            Act::Any(reason) => return Some(Hold::plain(GuardRule::ForcePush, reason)),
        };
        if let (".", Act::Delete(branch), Some(repo)) = (remote.as_str(), &act, &git.repo) {
            // The remote is this repository itself.
            let hold = super::branch::lost(repo, branch);
            if hold.is_some() {
                return hold;
            }
        }
        if is_protected(site, git, &remote, branch) {
            let reason = format!("it {verb} the protected branch `{branch}` on `{remote}`");
            let effect = Effect {
                branch: Some(format!("{remote}/{branch}")),
                commits: lost(git, &remote, branch),
                ..Effect::default()
            };
            return Some(Hold::with(GuardRule::ForcePush, reason, effect));
        }
    }
    None
}

/// A call without the values of its options, which may look like options themselves.
fn without_values(call: &Call) -> Call {
    let mut kept = Vec::new();
    let mut args = call.args.iter();
    while let Some(field) = args.next() {
        kept.push(field.clone());
        if VALUES.contains(&field.text().as_str()) {
            kept.pop();
            args.next();
        }
    }
    call.with_args(kept)
}

fn default_remote(git: &Git) -> String {
    let branch = git.repo.as_ref().and_then(|repo| repo.branches().into_iter().next());
    let named = branch.and_then(|branch| {
        let keys =
            [format!("branch.{branch}.pushRemote"), "remote.pushDefault".to_owned(), format!("branch.{branch}.remote")];
        keys.iter().find_map(|key| git.config(key))
    });
    named.unwrap_or_else(|| "origin".to_owned())
}

fn acts(git: &Git, call: &Call, specs: &[Field], remote: &str) -> Vec<Act> {
    if call.has_any(&["--mirror"]) {
        return vec![Act::Any("it makes the remote a mirror: every branch there that is not here is deleted")];
    }
    let short = |letter| {
        call.words().iter().any(|word| {
            word.strip_prefix('-')
                .is_some_and(|rest| !rest.starts_with('-') && !rest.starts_with('o') && rest.contains(letter))
        })
    };
    let forced = short('f')
        || call
            .words()
            .iter()
            .any(|word| word == "--force" || word.starts_with("--force-with-lease") || word.starts_with("--force-w"));
    let deletes = short('d') || call.has_any(&["--delete"]);
    if call.has_any(&["--prune"]) {
        return vec![Act::Any("it deletes every branch on the remote that is not here")];
    }
    if forced && call.has_any(&["--all", "--branches"]) {
        return vec![Act::Any("it rewrites every branch on the remote")];
    }
    let mode = match (deletes, forced) {
        (true, _) => Mode::Deleting,
        (false, true) => Mode::Forced,
        (false, false) => Mode::Plain,
    };
    let mut acts = Vec::new();
    for spec in specs {
        let Some(text) = spec.known().or_else(|| destination(spec)) else {
            let plus = spec.text().starts_with(['+', ':']);
            if mode != Mode::Plain || plus {
                acts.push(Act::Any("which branch it rewrites or deletes cannot be known before it runs"));
            }
            continue;
        };
        acts.extend(act_of(git, &text, mode));
    }
    if specs.is_empty() && forced && !call.has_any(&["--tags"]) {
        acts.extend(implicit(git, remote));
    }
    acts
}

/// A refspec whose source cannot be known, but whose destination can.
fn destination(spec: &Field) -> Option<String> {
    let Some(Atom::Text(end)) = spec.atoms.last() else { return None };
    let (before, target) = end.split_once(':')?;
    let plus = if spec.text().starts_with('+') { "+" } else { "" };
    (!target.is_empty() && !target.contains(':')).then(|| format!("{plus}unknown{before}:{target}"))
}

/// What one refspec does.
fn act_of(git: &Git, text: &str, mode: Mode) -> Vec<Act> {
    let forced = mode == Mode::Forced;
    let (plus, text) = text.strip_prefix('+').map_or((false, text), |rest| (true, rest));
    let rewrites = plus || forced;
    if text == ":" {
        let any = Act::Any("it rewrites every branch that has the same name on both sides");
        return rewrites.then_some(any).into_iter().collect();
    }
    let (source, target) = text.split_once(':').unwrap_or((text, text));
    let target = if target.is_empty() { source } else { target };
    // Nothing on both sides means every branch that both sides have.
    if (target.contains('*') || target.is_empty()) && rewrites {
        return vec![Act::Any("it rewrites every branch on the remote")];
    }
    let target = target.strip_prefix("refs/heads/").or_else(|| target.strip_prefix("heads/")).unwrap_or(target);
    if target.starts_with("refs/tags/") || target.starts_with("tags/") {
        return Vec::new();
    }
    let targets = match target {
        "HEAD" | "@" => git.repo.as_ref().map(|repo| repo.branches()).unwrap_or_default(),
        other => vec![other.to_owned()],
    };
    if targets.is_empty() && rewrites {
        return vec![Act::Any("which branch HEAD is cannot be known")];
    }
    let deletes = mode == Mode::Deleting || (source.is_empty() && text.starts_with(':'));
    match (deletes, rewrites) {
        (true, _) => targets.into_iter().map(Act::Delete).collect(),
        (false, true) => targets.into_iter().map(Act::Rewrite).collect(),
        (false, false) => Vec::new(),
    }
}

/// A forced push without a refspec: the current branch, the branch it follows, and what the configuration says.
fn implicit(git: &Git, remote: &str) -> Vec<Act> {
    let Some(repo) = &git.repo else {
        return vec![Act::Any("which branch it rewrites cannot be known: there is no repository to ask")];
    };
    if !repo.is_commit("HEAD") {
        return Vec::new(); // A branch without a commit cannot be pushed.
    }
    if git.config(&format!("remote.{remote}.mirror")).is_some_and(|value| value == "true") {
        return vec![Act::Any("the remote is a mirror: every branch there is rewritten")];
    }
    if let Some(spec) = git.config(&format!("remote.{remote}.push")) {
        return act_of(git, &spec, Mode::Forced);
    }
    repo.branches().into_iter().flat_map(|branch| implicit_on(git, branch)).collect()
}

/// The same, standing on one branch.
fn implicit_on(git: &Git, branch: String) -> Vec<Act> {
    let mut acts = Vec::new();
    let follows = git.config(&format!("branch.{branch}.merge"));
    let follows = follows.and_then(|name| name.strip_prefix("refs/heads/").map(str::to_owned)).map(Act::Rewrite);
    match git.config("push.default").as_deref() {
        Some("nothing") => {}
        Some("matching") => {
            acts.push(Act::Any("`push.default` is `matching`: every branch of the same name is rewritten"));
        }
        Some("current") => acts.push(Act::Rewrite(branch)),
        Some("upstream" | "tracking") => acts.extend(follows),
        // The usual setting refuses where the names differ; who then names the branch is judged by that name.
        Some(_) | None => {
            acts.extend(follows);
            acts.push(Act::Rewrite(branch));
        }
    }
    acts
}

fn is_protected(site: &Site<'_>, git: &Git, remote: &str, branch: &str) -> bool {
    if site.world.facts.protects(branch) {
        return true;
    }
    let here = git.call.place == Place::Here;
    let head = git.repo.as_ref().filter(|_| here).and_then(|repo| repo.remote_head(remote));
    head.is_some_and(|head| head == branch)
}

/// Commits that only the remote's branch holds, as far as the last fetch knows.
fn lost(git: &Git, remote: &str, branch: &str) -> Option<u64> {
    let there = format!("refs/remotes/{remote}/{branch}");
    git.repo.as_ref()?.count(&["rev-list", "--count", &there, "--not", "HEAD"])
}
