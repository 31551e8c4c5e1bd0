//! What a git command leaves behind for the commands after it on the same line.
//!
//! `git stash && git stash drop` loses what was uncommitted, though there is no stash before it runs; `git commit -am x
//! && git reset --hard` loses nothing, though the tree is dirty before it runs; `git add -A && git reset --hard` deletes
//! files that git did not know before.

use super::branch;
use super::command::Git;
use super::pathspec::Pathspecs;
use crate::line::call::{Call, operands};
use crate::line::field::Field;
use crate::line::state::State;
use crate::losses;
use crate::repository::past::{Head, Keeps, Operation, Past};
use crate::repository::{Repo, RepoOrigin, Status};
use crate::site::Site;
use crate::world::{Last, World};
use std::path::{Path, PathBuf};

/// Options of `git commit` that take a value.
const COMMIT_VALUES: [&str; 17] = [
    "-m",
    "-F",
    "-C",
    "-c",
    "-t",
    "--message",
    "--file",
    "--author",
    "--date",
    "--template",
    "--trailer",
    "--fixup",
    "--squash",
    "--reuse-message",
    "--reedit-message",
    "--cleanup",
    "--pathspec-from-file",
];
/// Options of `git clone` and `git init` that take a value.
const MAKE_VALUES: [&str; 20] = [
    "-b",
    "--branch",
    "--initial-branch",
    "--depth",
    "-o",
    "--origin",
    "-c",
    "--config",
    "--reference",
    "--reference-if-able",
    "--template",
    "-j",
    "--jobs",
    "--filter",
    "-u",
    "--upload-pack",
    "--separate-git-dir",
    "--shallow-since",
    "--shallow-exclude",
    "--object-format",
];

/// Notes what this command does, if it succeeds.
pub(super) fn note(world: &World, state: &mut State, git: &Git) {
    match git.verb.as_str() {
        "config" => return note_config(state, git),
        "init" | "clone" => return made(world, state, git),
        _ => {}
    }
    let site = &Site { world, state };
    let Some(repo) = &git.repo else { return };
    branch::note(git, repo);
    if git.verb == "rebase"
        && git.call.has_any(&["--abort", "--continue", "--skip"])
        && let Some(branch) = rebased_branch(repo)
    {
        repo.steer(|course| course.go(Head::Detached, Head::Branch(branch)));
    }
    match git.verb.as_str() {
        "add" | "stage" => add(site, git, repo),
        "commit" => commit(site, git, repo),
        "stash" => stash(site, git, repo),
        "reset" | "restore" | "checkout" | "switch" | "rm" => unstaged(site, git, repo),
        "merge" | "rebase" | "cherry-pick" | "revert" | "am" if git.call.has_any(&["--abort"]) => {
            repo.later(|repo| repo.note(|past| past.operation = Operation::GivenUp));
        }
        _ => {}
    }
}

/// `git config KEY VALUE`: from now on that is so; an alias makes the word mean something.
fn note_config(state: &mut State, git: &Git) {
    let asks = ["--get", "--get-all", "--get-regexp", "--unset", "--unset-all", "--list", "--file", "--blob", "--edit"];
    if git.call.has_any(&asks) || git.call.has_short(&['f', 'l', 'e']) {
        return;
    }
    let words: Vec<String> = git.call.operands().iter().map(|field| Field::to_code(field)).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).filter(|word| *word != "set").collect();
    let [key, text] = words.as_slice() else { return };
    if let Some(name) = key.strip_prefix("alias.") {
        state.git_aliases.insert(name.to_owned(), (*text).to_owned());
    }
    if let Some(repo) = &git.repo {
        repo.steer(|course| course.config.push(((*key).to_owned(), (*text).to_owned())));
    }
}

/// `git init`, `git clone`: the folder is a repository from now on.
fn made(world: &World, state: &mut State, git: &Git) {
    let Some(folder) = &git.folder else { return };
    if git.call.has_any(&["--bare", "--mirror"]) {
        return;
    }
    let named = operands(&git.call.args, &MAKE_VALUES);
    let (origin, name) = match (git.verb.as_str(), named.as_slice()) {
        ("init", []) => (RepoOrigin::Made, Some(".".to_owned())),
        ("init", [name]) => (RepoOrigin::Made, name.known()),
        ("clone", [url]) => (RepoOrigin::Cloned, url.known().map(|url| clone_name(&url))),
        ("clone", [_, name]) => (RepoOrigin::Cloned, name.known()),
        _ => return,
    };
    let Some(name) = name else { return };
    let root = world.real(&folder.join(name), Last::Followed);
    if root.join(".git").exists() {
        return;
    }
    world.make_repository(&root, origin);
    state.made.insert(root.join(".git"));
    if !root.exists() {
        state.made.insert(root);
    }
}

/// The folder that a clone makes of an address.
fn clone_name(url: &str) -> String {
    let last = url.trim_end_matches('/').rsplit(['/', ':']).next().unwrap_or_default();
    last.strip_suffix(".git").unwrap_or(last).to_owned()
}

/// The branch that a rebase would go back to.
fn rebased_branch(repo: &Repo) -> Option<String> {
    let own = repo.own_folder()?;
    let names = ["rebase-merge/head-name", "rebase-apply/head-name"].map(|name| own.join(name));
    let text = names.iter().find_map(|name| tripwire_workspace::git::short_text(name))?;
    text.trim().strip_prefix("refs/heads/").map(str::to_owned)
}

fn add(site: &Site<'_>, git: &Git, repo: &Repo) {
    let call = &git.call;
    if call.has_short(&['n', 'p', 'i', 'e']) || call.has_any(&["--dry-run", "--patch", "--interactive", "--edit"]) {
        return;
    }
    let fields: Vec<&Field> = call.operands();
    let tracked_only = call.has_short(&['u']) || call.has_any(&["--update"]);
    let listed = call.has_any(&["--pathspec-from-file"]);
    let all = call.has_short(&['A']) || call.has_any(&["--all"]) || tracked_only;
    if !(all || listed || !fields.is_empty()) {
        return;
    }
    let named = Pathspecs::read(site, git, &fields);
    let forced = call.has_short(&['f']) || call.has_any(&["--force"]);
    // Only an intention stands in the index then, or it cannot be known what does.
    let surely = !listed && !call.has_short(&['N']) && !call.has_any(&["--intent-to-add"]);
    repo.later(move |repo| {
        let Some(status) = repo.status() else { return };
        let untracked = status.untracked.iter().filter(|_| !tracked_only);
        let ignored = status.ignored.iter().filter(|_| forced && !tracked_only);
        let unknown: Vec<&PathBuf> = untracked.chain(ignored).filter(|file| is_exposed(repo, &named, file)).collect();
        let added = status.changed.iter().chain(unknown.iter().copied()).filter(|file| surely && named.takes(file));
        repo.note(|past| {
            past.added.extend(added.cloned());
            past.exposed.extend(unknown.iter().copied().cloned());
        });
    });
}

/// Whether a file that git does not know is one that it deletes once it is added.
fn is_exposed(repo: &Repo, named: &Pathspecs, file: &Path) -> bool {
    let inside = file.strip_prefix(repo.root()).unwrap_or(file);
    named.may_take(file) && !losses::is_product_name(inside) && !file.join(".git").exists()
}

fn commit(site: &Site<'_>, git: &Git, repo: &Repo) {
    let call = &git.call;
    if call.has_any(&["--dry-run", "-p", "--patch", "--interactive"]) {
        return;
    }
    branch::committed(repo);
    let named = commit_paths(call);
    if !named.is_empty() {
        let specs = Pathspecs::read(site, git, &named);
        return repo.later(move |repo| {
            let status = repo.status().unwrap_or_default();
            let kept = status.dirty().into_iter().filter(|file| specs.takes(file)).cloned();
            repo.note(|past| past.kept.extend(kept));
        });
    }
    if call.has_any(&["--only", "-o", "--pathspec-from-file"]) {
        return;
    }
    let all = call.has_any(&["--all"]) || call.words().iter().any(|word| has_letter(word, 'a'));
    let held = move |past: &mut Past| {
        past.keeps = past.keeps.max(if all { Keeps::Tracked } else { Keeps::Staged });
        past.settled += std::mem::take(&mut past.applied);
        past.cover();
    };
    repo.later(move |repo| repo.note(held));
}

/// The paths that a commit names: then it holds only those.
fn commit_paths(call: &Call) -> Vec<&Field> {
    let mut named = Vec::new();
    let mut only_paths = false;
    let mut args = call.args.iter().skip(1);
    while let Some(field) = args.next() {
        let word = field.text();
        // `-am`: the value follows, if the letter that takes it is the last one.
        let cluster = word.strip_prefix('-').filter(|rest| !rest.starts_with('-')).unwrap_or_default();
        let joined = cluster.find(['m', 'F', 'C', 'c', 't']).is_some_and(|at| at + 1 == cluster.len());
        match word.as_str() {
            _ if only_paths => named.push(field),
            "--" => only_paths = true,
            value if COMMIT_VALUES.contains(&value) || joined => {
                args.next();
            }
            option if option.starts_with('-') => {}
            _ => named.push(field),
        }
    }
    named
}

/// Whether a run of short options holds a letter before one that takes a value: `-am`, but not `-ma`.
fn has_letter(word: &str, letter: char) -> bool {
    let Some(cluster) = word.strip_prefix('-').filter(|rest| !rest.starts_with('-')) else { return false };
    cluster.chars().take_while(|own| !"mFCct".contains(*own)).any(|own| own == letter)
}

/// Commands that take files out of the index or put the work tree back: what they leave is no longer git's to delete,
/// and what a stash had brought back is gone.
fn unstaged(site: &Site<'_>, git: &Git, repo: &Repo) {
    let call = &git.call;
    let hard = call.has_any(&["--hard", "--merge", "--keep", "--force"]) || call.has_short(&['f']);
    let staged = call.has_any(&["--staged", "--cached"]) || call.has_short(&['S']);
    match git.verb.as_str() {
        "reset" if !hard && !call.has_any(&["--soft"]) => {
            let named = call.operands();
            let names: Vec<String> = named.iter().filter_map(|field| field.known()).collect();
            let specs = Pathspecs::read(site, git, &named);
            // `git reset HEAD` names a commit, and then everything is meant.
            forget(repo, move |repo, file| specs.takes(file) || names.iter().all(|name| repo.is_commit(name)));
        }
        "restore" | "rm" if staged => {
            let specs = Pathspecs::read(site, git, &call.operands());
            forget(repo, move |_, file| specs.takes(file));
        }
        "switch" | "reset" if !hard => {}
        "checkout" if !hard && call.operands().len() < 2 && !call.args.iter().any(|field| field.text() == "--") => {
            if call.operands().first().is_some_and(|field| field.text() == ".") {
                repo.later(|repo| repo.note(|past| past.applied = 0));
            }
        }
        _ => repo.later(|repo| repo.note(|past| past.applied = 0)),
    }
}

fn forget(repo: &Repo, taken: impl Fn(&Repo, &Path) -> bool + 'static) {
    repo.later(move |repo| {
        repo.note(|past| {
            past.added.retain(|file| !taken(repo, file));
            past.exposed.retain(|file| !taken(repo, file));
        });
    });
}

fn stash(site: &Site<'_>, git: &Git, repo: &Repo) {
    let values = ["-m", "--message", "--pathspec-from-file"];
    let named = operands(&git.call.args, &values);
    let verb = named.first().map(Field::text).unwrap_or_default();
    let dashes = git.call.args.get(1).is_some_and(|field| field.text() == "--");
    match verb.as_str() {
        _ if dashes => stashed(site, git, repo, &named),
        "" | "save" => stashed(site, git, repo, &[]),
        "push" => stashed(site, git, repo, named.get(1..).unwrap_or_default()),
        "pop" | "branch" => repo.later(popped),
        "apply" => repo.later(|repo| repo.note(|past| past.applied += 1)),
        _ => {}
    }
}

/// What a stash held is back in the work tree, and nothing else holds it.
fn popped(repo: &Repo) {
    let own = repo.past().stashes > 0;
    let restored = if own { Vec::new() } else { stashed_files(repo) };
    repo.note(|past| {
        past.uncover();
        (past.added, past.kept, past.keeps) = (Vec::new(), Vec::new(), Keeps::default());
        (past.applied, past.settled, past.restored) = (0, 0, restored);
        past.stashes = past.stashes.saturating_sub(1);
    });
}

/// `git stash push`: of what is named, or of everything.
fn stashed(site: &Site<'_>, git: &Git, repo: &Repo, named: &[Field]) {
    let call = &git.call;
    let untracked = call.has_short(&['u', 'a']) || call.has_any(&["--include-untracked", "--all"]);
    let partly = call.has_any(&["--patch", "--keep-index", "--staged", "--pathspec-from-file"])
        || call.has_short(&['p', 'k', 'S']);
    let whole = named.is_empty();
    let specs = Pathspecs::read(site, git, &named.iter().collect::<Vec<_>>());
    repo.later(move |repo| {
        let status = repo.status().unwrap_or_default();
        let Status { added, untracked: unknown, .. } = &status;
        let others = unknown.iter().filter(|_| untracked);
        let taken = status.dirty().into_iter().chain(added).chain(others).filter(|file| specs.takes(file));
        let taken: Vec<PathBuf> = taken.cloned().collect();
        repo.note(|past| {
            past.stashes += u64::from(!taken.is_empty());
            match (partly, whole) {
                (true, _) => {}
                (false, true) => {
                    past.keeps = past.keeps.max(if untracked { Keeps::Everything } else { Keeps::Tracked });
                    past.cover();
                }
                (false, false) => past.kept.extend(taken),
            }
        });
    });
}

/// The files that the newest stash would bring back: after a `pop` nothing else holds them.
fn stashed_files(repo: &Repo) -> Vec<PathBuf> {
    let question = ["diff-tree", "-r", "--no-commit-id", "--name-only", "-z", "refs/stash^1", "refs/stash"];
    let names = repo.ask("diff-tree", &question).unwrap_or_default();
    names.split_terminator('\0').map(|name| repo.root().join(name)).collect()
}
