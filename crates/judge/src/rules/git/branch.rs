//! Branches: where HEAD is in the course of the line, and what is lost with a branch that is deleted.

use super::command::{Git, PUSH_VALUES};
use crate::effect::Effect;
use crate::hold::{GuardRule, Hold};
use crate::line::call::operands;
use crate::line::field::Field;
use crate::repository::Repo;
use crate::repository::past::Head;
use tripwire_core::counted::counted;

/// Options of `git checkout`, `git switch` and `git branch` that take a value which is no branch.
const VALUES: [&str; 4] = ["--conflict", "--pathspec-from-file", "-u", "--set-upstream-to"];
/// No branch can have this name: all of them are meant.
const EVERY: &str = "*";
/// Options of `git branch` that make it a list.
const LISTS: [&str; 11] = [
    "--list",
    "--merged",
    "--no-merged",
    "--contains",
    "--no-contains",
    "--points-at",
    "--sort",
    "--format",
    "--all",
    "--show-current",
    "--edit-description",
];
const CREATE: [&str; 7] = ["-b", "-B", "-c", "-C", "--create", "--force-create", "--orphan"];

/// `git branch -D` of commits that no other branch, tag or remote holds.
pub(super) fn deleted(git: &Git) -> Option<Hold> {
    let call = &git.call;
    let deletes = call.has_short(&['d']) || call.has_any(&["--delete"]);
    let forced = call.has_short(&['f']) || call.has_any(&["--force"]);
    let remote = call.has_short(&['r']) || call.has_any(&["--remotes"]);
    if remote || !(call.has_short(&['D']) || (deletes && forced)) {
        return None;
    }
    for name in call.operands() {
        let Some(name) = name.known() else {
            let reason = "which branch it deletes cannot be known before it runs";
            return Some(Hold::plain(GuardRule::GitHistory, reason));
        };
        let hold = git.repo.as_ref().and_then(|repo| lost(repo, &name));
        if hold.is_some() {
            return hold;
        }
    }
    None
}

/// `git branch -M OLD NEW` and `-C OLD NEW`: another branch takes the name of one that is there, and its reflog goes with it.
pub(super) fn replaced(git: &Git) -> Option<Hold> {
    let call = &git.call;
    let forced = call.has_short(&['f']) || call.has_any(&["--force"]);
    let moves = call.has_short(&['m']) || call.has_any(&["--move"]);
    let copies = call.has_short(&['c']) || call.has_any(&["--copy"]);
    if !(call.has_short(&['M', 'C']) || (forced && (moves || copies))) {
        return None;
    }
    let repo = git.repo.as_ref()?;
    let names: Vec<String> = operands(&call.args, &VALUES).iter().filter_map(Field::known).collect();
    let (old, new) = match names.as_slice() {
        [new] => (repo.branches(), new),
        [old, new] => (vec![old.clone()], new),
        _ => return None,
    };
    if old.contains(new) { None } else { lost(repo, new) }
}

/// What is lost with a local branch.
pub(super) fn lost(repo: &Repo, name: &str) -> Option<Hold> {
    let course = repo.course();
    if course.safe.iter().any(|safe| safe == name || safe == EVERY) {
        return None;
    }
    let exclude = format!("--exclude={name}");
    let full = format!("refs/heads/{name}");
    let question = ["rev-list", "--count", &full, "--not", &exclude, "--branches", "--tags", "--remotes"];
    let own = course.committed.iter().filter(|branch| *branch == name).count();
    let lost = repo.count(&question).unwrap_or(0).saturating_add(u64::try_from(own).unwrap_or(u64::MAX));
    let commits = counted(lost, "commit");
    let reason = format!("it deletes the branch `{name}` with {commits} that nothing else holds");
    let effect = Effect { branch: Some(name.to_owned()), commits: Some(lost), ..Effect::default() };
    (lost > 0).then(|| Hold::with(GuardRule::GitHistory, reason, effect))
}

/// Notes what a command does to branches, if it succeeds.
pub(super) fn note(git: &Git, repo: &Repo) {
    match git.verb.as_str() {
        "checkout" | "switch" => moved(git, repo),
        "branch" => branch(git, repo),
        "merge" if !git.call.has_any(&["--squash", "--no-commit", "--abort"]) => {
            saved(
                repo,
                operands(&git.call.args, &["-m", "-s", "-X", "--strategy", "--strategy-option", "-F", "--file"]),
            );
        }
        // What stands on a branch holds its commits.
        "rebase" | "reset" if !git.call.has_any(&["--onto", "--abort", "--continue", "--skip"]) => {
            saved(repo, operands(&git.call.args, &["-x", "--exec", "-s", "-X", "-C"]).into_iter().take(1).collect());
        }
        "tag" if !git.call.has_any(&["-d", "--delete", "-l", "--list", "-v", "--verify"]) => {
            let named = operands(&git.call.args, &["-m", "-F", "-u", "--message", "--file", "--local-user"]);
            match named.as_slice() {
                [_] => saved(repo, vec![Field::of("HEAD")]),
                [_, commit] => saved(repo, vec![commit.clone()]),
                _ => {}
            }
        }
        "push" => pushed(git, repo),
        _ => {}
    }
}

/// A commit belongs to the branch that HEAD is on.
pub(super) fn committed(repo: &Repo) {
    let branches = repo.course().now.map(|_| repo.branches()).unwrap_or_default();
    repo.steer(|course| {
        course.safe.retain(|safe| !branches.contains(safe));
        course.committed.extend(branches);
    });
}

/// `git checkout NAME`, `git switch -c NAME START`.
fn moved(git: &Git, repo: &Repo) {
    let call = &git.call;
    if call.args.iter().any(|field| field.text() == "--") || call.has_short(&['p']) || call.has_any(&["--patch"]) {
        return;
    }
    let named = operands(&call.args, &[VALUES.as_slice(), CREATE.as_slice()].concat());
    let first = named.first().and_then(Field::known);
    let head = if let Some(name) = call.option(&CREATE) {
        let Some(name) = name.known() else { return };
        if let Some(start) = first.filter(|_| !call.has_any(&["--no-track"])) {
            follow(repo, &name, &start);
            saved(repo, vec![Field::of(&start)]);
        }
        Head::Branch(name)
    } else if call.has_any(&["--detach"]) || (git.verb == "switch" && call.has_short(&['d'])) {
        Head::Detached
    } else {
        let (Some(name), 1) = (first, named.len()) else { return };
        let tracked = (call.has_any(&["--track"]) || call.has_short(&['t'])).then(|| name.split_once('/')).flatten();
        match (name.as_str(), tracked, git.verb.as_str()) {
            ("-", _, _) => {
                let course = repo.course();
                let Some(before) = course.earlier.last().cloned().or_else(|| previous(repo)) else { return };
                before
            }
            (_, Some((_, branch)), _) => Head::Branch(branch.to_owned()),
            (_, None, "switch") => Head::Branch(name),
            (_, None, _) => Head::Named(name),
        }
    };
    let from = repo.found_head();
    repo.steer(|course| course.go(from, head));
}

/// The branch before this one, as git remembers it.
fn previous(repo: &Repo) -> Option<Head> {
    let name = repo.ask("rev-parse", &["rev-parse", "--abbrev-ref", "@{-1}"])?;
    Some(name.trim()).filter(|name| !name.is_empty()).map(|name| Head::Named(name.to_owned()))
}

/// A branch that begins at a remote's branch follows it.
fn follow(repo: &Repo, branch: &str, start: &str) {
    let Some((remote, theirs)) = start.split_once('/') else { return };
    if repo.config(&format!("remote.{remote}.url")).is_none() {
        return;
    }
    repo.steer(|course| {
        course.config.push((format!("branch.{branch}.remote"), remote.to_owned()));
        course.config.push((format!("branch.{branch}.merge"), format!("refs/heads/{theirs}")));
    });
}

/// `git branch -u`, `git branch -M NEW`, `git branch COPY START`.
fn branch(git: &Git, repo: &Repo) {
    let call = &git.call;
    if call.has_any(&LISTS) || call.has_short(&['l', 'a', 'r', 'v']) {
        return;
    }
    let named: Vec<Field> = operands(&call.args, &VALUES);
    let names: Vec<String> = named.iter().filter_map(Field::known).collect();
    if let Some(start) = call.option(&["-u", "--set-upstream-to"]).and_then(|field| field.known()) {
        let branches = names.first().map_or_else(|| repo.branches(), |name| vec![name.clone()]);
        for branch in branches {
            follow(repo, &branch, &start);
        }
        return;
    }
    let renames = call.has_short(&['m', 'M']) || call.has_any(&["--move"]);
    let deletes = call.has_short(&['d', 'D']) || call.has_any(&["--delete"]);
    match (renames, deletes, names.as_slice()) {
        (true, _, [new]) => repo.steer(|course| course.go(repo.found_head(), Head::Branch(new.clone()))),
        (true, _, [old, new]) if repo.branches().contains(old) => {
            repo.steer(|course| course.go(repo.found_head(), Head::Branch(new.clone())));
        }
        (false, false, [_]) => saved(repo, vec![Field::of("HEAD")]),
        (false, false, [_, start]) => saved(repo, vec![Field::of(start)]),
        _ => {}
    }
}

/// Something else holds the commits of these branches since.
fn saved(repo: &Repo, names: Vec<Field>) {
    let names: Vec<String> = names.iter().filter_map(Field::known).collect();
    let current =
        if names.iter().any(|name| matches!(name.as_str(), "HEAD" | "@")) { repo.branches() } else { Vec::new() };
    // Where HEAD is not sure, none of its branches is surely safe.
    let current = if current.len() == 1 { current } else { Vec::new() };
    repo.steer(|course| course.safe.extend(names.into_iter().chain(current)));
}

fn pushed(git: &Git, repo: &Repo) {
    let call = &git.call;
    if call.has_any(&["--dry-run", "--delete"]) || call.has_short(&['n', 'd']) {
        return;
    }
    let named = operands(&call.args, &PUSH_VALUES);
    if named.first().is_some_and(|remote| remote.text() == ".") {
        return;
    }
    let source = |field: &Field| {
        let text = field.known()?;
        let source = text.trim_start_matches('+').split(':').next().unwrap_or_default().to_owned();
        Some(Field::of(source.strip_prefix("refs/heads/").unwrap_or(&source)))
    };
    if call.has_any(&["--all", "--branches"]) {
        return repo.steer(|course| course.safe.push(EVERY.to_owned()));
    }
    match named.get(1..).filter(|specs| !specs.is_empty()) {
        Some(specs) => saved(repo, specs.iter().filter_map(source).collect()),
        None => saved(repo, vec![Field::of("HEAD")]),
    }
}
