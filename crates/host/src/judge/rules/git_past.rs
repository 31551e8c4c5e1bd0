//! What a git command leaves behind for the commands after it on the same line.
//!
//! `git stash && git stash drop` loses what was uncommitted, though there is no stash before it runs; `git commit -am x
//! && git reset --hard` loses nothing, though the tree is dirty before it runs.

use super::git::Git;
use super::git_paths;
use crate::judge::call::Call;
use crate::judge::repository::{Keeps, Past, Repo};
use crate::judge::walk::Walker;
use std::path::PathBuf;

/// Notes what this command does, if it succeeds.
pub(super) fn note(walker: &mut Walker<'_>, git: &Git) {
    if git.verb == "config" {
        return note_alias(walker, git);
    }
    let Some(repo) = &git.repo else { return };
    match git.verb.as_str() {
        "add" | "stage" => {
            let added = added(walker, git, repo);
            repo.note(|past| past.added.extend(added));
        }
        "commit" => commit(git, repo),
        "stash" => stash(git, repo),
        _ => {}
    }
}

/// `git config alias.x '…'`: from now on the word means that.
fn note_alias(walker: &mut Walker<'_>, git: &Git) {
    let operands: Vec<String> = git.call.operands().iter().map(|field| crate::judge::invoke::as_text(field)).collect();
    let words: Vec<&str> = operands.iter().map(String::as_str).filter(|word| *word != "set").collect();
    if let [key, text] = words.as_slice()
        && let Some(name) = key.strip_prefix("alias.")
    {
        walker.state.git_aliases.insert(name.to_owned(), (*text).to_owned());
    }
}

fn added(walker: &Walker<'_>, git: &Git, repo: &Repo) -> Vec<PathBuf> {
    let call = &git.call;
    let partly = ["-n", "--dry-run", "-u", "--update", "-p", "--patch", "-i", "--interactive", "-N", "--intent-to-add"];
    if call.has_any(&partly) {
        return Vec::new();
    }
    let operands = call.operands();
    if operands.is_empty() {
        let all = call.has_short(&['A']) || call.has_any(&["--all"]);
        return if all { vec![repo.root().to_owned()] } else { Vec::new() };
    }
    // A pattern may fit less than its folder, and nothing unknown is sure to be added.
    let plain = |text: &str| !text.contains(['*', '?', '[', ':']);
    if operands.iter().all(|field| field.known().is_some_and(|text| plain(&text))) {
        git_paths::named(walker, git, &operands)
    } else {
        Vec::new()
    }
}

fn commit(git: &Git, repo: &Repo) {
    let call = &git.call;
    if call.has_any(&["--dry-run", "-p", "--patch", "--interactive", "--only", "-o"]) || names_paths(call) {
        return;
    }
    let all = call.has_any(&["--all"]) || call.words().iter().any(|word| has_letter(word, 'a'));
    repo.note(|past| {
        past.keeps = past.keeps.max(if all { Keeps::Tracked } else { Keeps::Staged });
        let added = std::mem::take(&mut past.added);
        past.kept.extend(added);
    });
}

/// Whether a commit names paths: then it holds only those.
fn names_paths(call: &Call) -> bool {
    let mut words = call.words().into_iter();
    while let Some(word) = words.next() {
        let takes_value = matches!(
            word.as_str(),
            "--message" | "--file" | "--author" | "--date" | "--template" | "--trailer" | "--fixup" | "--squash"
        ) || ["m", "F", "C", "c", "t"].iter().any(|letter| word == format!("-{letter}"))
            || (word.starts_with('-') && !word.starts_with("--") && word.ends_with(['m', 'F']));
        if takes_value {
            words.next();
        } else if !word.starts_with('-') {
            return true;
        }
    }
    false
}

/// Whether a run of short options holds a letter before one that takes a value: `-am`, but not `-ma`.
fn has_letter(word: &str, letter: char) -> bool {
    let Some(cluster) = word.strip_prefix('-').filter(|rest| !rest.starts_with('-')) else { return false };
    cluster.chars().take_while(|own| !"mFCct".contains(*own)).any(|own| own == letter)
}

fn stash(git: &Git, repo: &Repo) {
    let call = &git.call;
    let operands = call.operands();
    let verb = operands.first().map(|word| word.text()).unwrap_or_default();
    match verb.as_str() {
        "" | "push" | "save" => {
            let untracked = call.has_short(&['u', 'a']) || call.has_any(&["--include-untracked", "--all"]);
            let status = repo.status().unwrap_or_default();
            let something = !status.dirty().is_empty() || (untracked && !status.untracked.is_empty());
            let partly = call.has_any(&["-p", "--patch", "-k", "--keep-index", "-S", "--staged", "--"]);
            repo.note(|past| {
                past.stashes += u64::from(something);
                if !partly {
                    past.keeps = past.keeps.max(if untracked { Keeps::Everything } else { Keeps::Tracked });
                }
            });
        }
        "pop" | "branch" => {
            let own = repo.past().stashes > 0;
            let restored = if own { Vec::new() } else { stashed_files(repo) };
            repo.note(|past| {
                *past = Past { stashes: past.stashes.saturating_sub(1), restored, ..Past::default() };
            });
        }
        "apply" => repo.note(|past| past.applied += 1),
        _ => {}
    }
}

/// The files that the newest stash would bring back: after a `pop` nothing else holds them.
fn stashed_files(repo: &Repo) -> Vec<PathBuf> {
    let question = ["diff-tree", "-r", "--no-commit-id", "--name-only", "-z", "refs/stash^1", "refs/stash"];
    let names = repo.ask("diff-tree", &question).unwrap_or_default();
    names.split_terminator('\0').map(|name| repo.root().join(name)).collect()
}
