//! `git push`: rewriting or deleting a branch that others stand on.
//!
//! A branch is protected if it fits a pattern of the policy (`identity.protected_branches`), or if the remote's HEAD names
//! it. A lease guards against overwriting what one has not seen, not against rewriting: on a
//! protected branch it counts as force, on any other branch both pass.

use super::command::{Git, PUSH_VALUES};
use crate::effect::Effect;
use crate::hold::{GuardRule, Hold};
use crate::line::call::{Call, Place, operands};
use crate::line::field::{Atom, Field};
use crate::reading::{Act, Branch, Push, Reach};
use crate::site::Site;

/// What makes a refspec fit more than one branch, or one that cannot be known.
const PATTERN: [char; 6] = ['*', '?', '[', '{', '$', '`'];

/// What the options of a push say about all its refspecs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    Plain,
    Forced,
    Deleting,
}

/// What a git command pushes; `None` if it is no push.
pub(super) fn read(git: &Git) -> Option<Push> {
    match git.verb.as_str() {
        "push" => Some(read_push(git)),
        // The parts that a push is made of.
        "send-pack" => {
            let mut push = read_push(git);
            push.reaches.extend(unknown("it updates a repository by hand").reaches);
            Some(push)
        }
        "http-push" | "receive-pack" => Some(unknown("it updates a repository by hand")),
        "" => Some(unknown("which command of git it is cannot be known")),
        _ => None,
    }
}

/// A push that may reach any branch.
pub(super) fn unknown(reason: &'static str) -> Push {
    let reach = Reach { branch: Branch::Any(reason), act: Act::Update };
    Push { remote: "origin".to_owned(), reaches: vec![reach] }
}

/// Whether a word is where a push could go: a remote of the repository, an address or a path.
pub(super) fn names_remote(git: &Git, word: &str) -> bool {
    word == "origin" || word.contains([':', '/']) || git.config(&format!("remote.{word}.url")).is_some()
}

fn read_push(git: &Git) -> Push {
    let call = &without_values(&git.call);
    let mut operands = operands(&call.args, &[]);
    let remote = if operands.is_empty() { None } else { Some(operands.remove(0)) };
    let remote = remote.and_then(|field| field.known()).or_else(|| git.call.option(&["--repo"])?.known());
    let remote = remote.unwrap_or_else(|| default_remote(git));
    let reaches = if is_dry(call) { Vec::new() } else { reaches(git, call, &operands, &remote) };
    Push { remote, reaches }
}

/// Whether a push only shows what it would do: of the options that say so, the last counts.
fn is_dry(call: &Call) -> bool {
    let says = |word: &String| match word.as_str() {
        "--" => None,
        "--dry-run" => Some(true),
        word if word.starts_with("--no-d") => Some(false),
        word if word.starts_with("--") || word.starts_with("-o") => None,
        word if word.starts_with('-') && word.contains('n') => Some(true),
        _ => None,
    };
    let words = call.words();
    words.iter().take_while(|word| *word != "--").filter_map(says).last().unwrap_or(false)
}

/// Judges a push.
pub(super) fn judge(site: &Site<'_>, git: &Git, push: &Push) -> Option<Hold> {
    let remote = push.remote.as_str();
    for reach in &push.reaches {
        let (branch, verb) = match (&reach.branch, reach.act) {
            (_, Act::Update) => continue,
            (Branch::Any(reason), Act::Rewrite | Act::Delete) => {
                return Some(Hold::plain(GuardRule::ForcePush, reason));
            }
            (Branch::Named(branch), Act::Rewrite) => (branch, "rewrites"),
            (Branch::Named(branch), Act::Delete) => (branch, "deletes"),
        };
        if let (".", Act::Delete, Some(repo)) = (remote, reach.act, &git.repo) {
            // The remote is this repository itself.
            let hold = super::branch::lost(repo, branch);
            if hold.is_some() {
                return hold;
            }
        }
        if is_protected(site, git, remote, branch) {
            let reason = format!("it {verb} the protected branch `{branch}` on `{remote}`");
            let effect = Effect {
                branch: Some(format!("{remote}/{branch}")),
                commits: lost(git, remote, branch),
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
        if PUSH_VALUES.contains(&field.text().as_str()) {
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

fn reaches(git: &Git, call: &Call, specs: &[Field], remote: &str) -> Vec<Reach> {
    let any = |reason, act| vec![Reach { branch: Branch::Any(reason), act }];
    if call.has_any(&["--mirror"]) {
        return any("it makes the remote a mirror: every branch there that is not here is deleted", Act::Delete);
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
        return any("it deletes every branch on the remote that is not here", Act::Delete);
    }
    let mode = match (deletes, forced) {
        (true, _) => Mode::Deleting,
        (false, true) => Mode::Forced,
        (false, false) => Mode::Plain,
    };
    if call.has_any(&["--all", "--branches"]) {
        let act = if forced { Act::Rewrite } else { Act::Update };
        return any("it rewrites every branch on the remote", act);
    }
    let mut reaches = Vec::new();
    if git.may_be_set("include") {
        reaches.extend(any("a file that it includes may name any branch", Act::Update));
    }
    for spec in specs {
        match spec.known().or_else(|| destination(spec)) {
            Some(text) => reaches.extend(reach_of(git, &text, mode)),
            None => {
                let plain = mode == Mode::Plain && !spec.text().starts_with(['+', ':']);
                let act = if plain { Act::Update } else { Act::Rewrite };
                reaches.extend(any("which branch it rewrites or deletes cannot be known before it runs", act));
            }
        }
    }
    if specs.is_empty() && !call.has_any(&["--tags"]) {
        let act = if forced { Act::Rewrite } else { Act::Update };
        reaches.extend(implicit(git, remote, act));
    }
    reaches
}

/// A refspec whose source cannot be known, but whose destination can.
fn destination(spec: &Field) -> Option<String> {
    let Some(Atom::Text(end)) = spec.atoms.last() else { return None };
    let (before, target) = end.split_once(':')?;
    let plus = if spec.text().starts_with('+') { "+" } else { "" };
    (!target.is_empty() && !target.contains(':')).then(|| format!("{plus}unknown{before}:{target}"))
}

/// What one refspec does.
fn reach_of(git: &Git, text: &str, mode: Mode) -> Vec<Reach> {
    let (plus, text) = text.strip_prefix('+').map_or((false, text), |rest| (true, rest));
    let moves = if plus || mode == Mode::Forced { Act::Rewrite } else { Act::Update };
    let any = |reason| vec![Reach { branch: Branch::Any(reason), act: moves }];
    if text == ":" {
        return any("it rewrites every branch that has the same name on both sides");
    }
    let (source, target) = text.split_once(':').unwrap_or((text, text));
    let target = if target.is_empty() { source } else { target };
    let deletes = mode == Mode::Deleting || (source.is_empty() && text.starts_with(':'));
    let act = if deletes { Act::Delete } else { moves };
    // Nothing on both sides means every branch that both sides have.
    if target.contains(PATTERN) || target.is_empty() {
        return any("it rewrites every branch on the remote");
    }
    let target = target.strip_prefix("refs/heads/").or_else(|| target.strip_prefix("heads/")).unwrap_or(target);
    if target.starts_with("refs/tags/") || target.starts_with("tags/") {
        return Vec::new();
    }
    let branches = match target {
        "HEAD" | "@" => git.repo.as_ref().map(|repo| repo.branches()).unwrap_or_default(),
        other => vec![other.to_owned()],
    };
    if branches.is_empty() {
        return vec![Reach { branch: Branch::Any("which branch HEAD is cannot be known"), act }];
    }
    branches.into_iter().map(|branch| Reach { branch: Branch::Named(branch), act }).collect()
}

/// A push without a refspec: the current branch, the branch it follows, and what the configuration says.
fn implicit(git: &Git, remote: &str, act: Act) -> Vec<Reach> {
    let any = |reason| vec![Reach { branch: Branch::Any(reason), act }];
    let Some(repo) = &git.repo else {
        return any("which branch it rewrites cannot be known: there is no repository to ask");
    };
    if act != Act::Update && !repo.is_commit("HEAD") {
        return Vec::new(); // A branch without a commit cannot be pushed.
    }
    let included = |(key, _): &(String, String)| key.starts_with("include");
    if act == Act::Update && repo.settings().is_none_or(|settings| settings.iter().any(included)) {
        return any("a file that the configuration includes may name any branch");
    }
    if git.config(&format!("remote.{remote}.mirror")).is_some_and(|value| value != "false") {
        return any("the remote is a mirror: every branch there is rewritten");
    }
    let specs = git.configs(&format!("remote.{remote}.push"));
    if !specs.is_empty() {
        let mode = if act == Act::Update { Mode::Plain } else { Mode::Forced };
        return specs.iter().flat_map(|spec| reach_of(git, spec, mode)).collect();
    }
    let branches = repo.branches();
    if branches.is_empty() && act == Act::Update {
        return any("which branch HEAD is cannot be known");
    }
    branches.into_iter().flat_map(|branch| implicit_on(git, branch, act)).collect()
}

/// The same, standing on one branch.
fn implicit_on(git: &Git, branch: String, act: Act) -> Vec<Reach> {
    let named = |name: String| Reach { branch: Branch::Named(name), act };
    let follows = git.config(&format!("branch.{branch}.merge"));
    let follows = follows.and_then(|name| name.strip_prefix("refs/heads/").map(str::to_owned)).map(named);
    match git.config("push.default").map(|value| value.to_ascii_lowercase()).as_deref() {
        Some("nothing") => Vec::new(),
        Some("matching") => {
            let reason = "`push.default` is `matching`: every branch of the same name is rewritten";
            vec![Reach { branch: Branch::Any(reason), act }]
        }
        Some("current") => vec![named(branch)],
        Some("upstream" | "tracking") => match (follows, act) {
            (Some(follows), _) => vec![follows],
            (None, Act::Update) => vec![named(branch)],
            (None, Act::Rewrite | Act::Delete) => Vec::new(),
        },
        // The usual setting refuses where the names differ; who then names the branch is judged by that name.
        Some(_) | None => follows.filter(|_| act != Act::Update).into_iter().chain([named(branch)]).collect(),
    }
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
