//! git commands that overwrite or delete files of the work tree: only what is dirty or unknown there is lost.

use super::command::Git;
use super::pathspec::Pathspecs;
use crate::effect::Effect;
use crate::hold::{GuardRule, Hold};
use crate::line::call::{Call, Place};
use crate::line::field::Field;
use crate::line::stream::{Since, Stream};
use crate::repository::Status;
use crate::site::Site;
use crate::world::Spot;
use std::path::{Path, PathBuf};
use tripwire_core::counted::counted;

/// Which changes a command throws away.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Lost {
    /// Those of the work tree that are not staged.
    Unstaged,
    /// Those of every file that the last commit knows.
    Changes,
    /// Those, and files that are only in the index.
    All,
}

/// Throws away every change of every tracked file.
pub(super) fn discard_all(git: &Git) -> Option<Hold> {
    discard_everywhere(git, Lost::All)
}

/// Throws away such changes of every tracked file.
pub(super) fn discard_everywhere(git: &Git, lost: Lost) -> Option<Hold> {
    match status(git) {
        RepositoryState::Status(status) => discard(&status, None, lost),
        RepositoryState::Nothing => None,
        RepositoryState::Silent => Some(silent()),
    }
}

/// What is known of the repository.
pub(super) enum RepositoryState {
    Status(Box<Status>),
    /// There is no repository here: git would only complain.
    Nothing,
    /// There may be one, and nobody can know how it stands.
    Silent,
}

pub(super) fn status(git: &Git) -> RepositoryState {
    match (&git.repo, &git.folder) {
        (Some(repo), _) => {
            let Some(mut status) = repo.status() else { return RepositoryState::Silent };
            for submodule in if recurses(git) { repo.submodules() } else { Vec::new() } {
                let Some(inside) = submodule.status() else { return RepositoryState::Silent };
                status.staged.extend_from_slice(&inside.staged);
                status.changed.extend_from_slice(&inside.changed);
            }
            RepositoryState::Status(Box::new(status))
        }
        (None, Some(_)) if git.call.place == Place::Here => RepositoryState::Nothing,
        (None, _) => RepositoryState::Silent,
    }
}

/// Whether a command goes into submodules, by its own word or by the configuration's.
fn recurses(git: &Git) -> bool {
    let given = git.setting("submodule.recurse").map(|value| matches!(value.as_str(), "true" | "1" | "yes" | "on"));
    // The file itself is asked: our own questions to git switch this off.
    let asked = ["config", "--local", "--type=bool", "--get", "submodule.recurse"];
    let set = || {
        let value = git.repo.as_ref().and_then(|repo| repo.ask("config", &asked));
        value.is_some_and(|value| value.trim() == "true")
    };
    let modules = git.repo.as_ref().is_some_and(|repo| repo.root().join(".gitmodules").exists());
    modules
        && !git.call.has_any(&["--no-recurse-submodules"])
        && (git.call.has_any(&["--recurse-submodules"]) || given.unwrap_or_else(set))
}

fn silent() -> Hold {
    Hold::plain(GuardRule::DiscardChanges, "whether it throws away uncommitted changes cannot be known")
}

pub(super) fn discard(status: &Status, only: Option<&Pathspecs>, lost: Lost) -> Option<Hold> {
    let mut candidates: Vec<&PathBuf> = match lost {
        Lost::Unstaged => status.changed.iter().collect(),
        Lost::Changes | Lost::All => status.dirty(),
    };
    if lost == Lost::All {
        candidates.extend(&status.added);
    }
    let mut effect = Effect::default();
    for file in candidates {
        if only.is_none_or(|specs| specs.may_take(file)) {
            effect.uncommitted.add(file);
        }
    }
    let reason = format!("it throws away uncommitted changes in {}", counted(effect.uncommitted.count, "file"));
    (!effect.is_empty()).then(|| Hold::with(GuardRule::DiscardChanges, reason, effect))
}

/// Whether what a command reads says yes to one of its questions; at a terminal a person answers.
pub(super) fn answers(call: &Call, yes: &[char]) -> bool {
    match &call.stdin {
        Stream::Closed => false,
        Stream::Known(text) => text.lines().any(|line| line.trim_start().starts_with(yes)),
        Stream::Name(_)
        | Stream::Paths(_)
        | Stream::Changes(_)
        | Stream::Downloaded
        | Stream::Decoded
        | Stream::Unknown => true,
    }
}

/// `git checkout`: with paths or force it overwrites, with a branch alone it does not.
pub(super) fn checkout(site: &Site<'_>, git: &Git) -> Option<Hold> {
    let call = &git.call;
    if call.has_short(&['f']) || call.has_any(&["--force"]) {
        return discard_all(git);
    }
    let asks = call.has_short(&['p']) || call.has_any(&["--patch"]);
    if call.has_any(&["-b", "-B", "--orphan", "--detach", "-t", "--track"]) || (asks && !answers(call, &['y', 'a'])) {
        return None;
    }
    let status = match status(git) {
        RepositoryState::Status(status) => status,
        RepositoryState::Nothing => return None,
        RepositoryState::Silent => {
            return call.args.iter().any(|field| matches!(field.text().as_str(), "--" | ".")).then(silent);
        }
    };
    let dashes = call.args.iter().position(|field| field.text() == "--");
    let operands: Vec<&Field> = call
        .args
        .iter()
        .skip(1)
        .take(dashes.unwrap_or(usize::MAX).saturating_sub(1))
        .filter(|field| !field.text().starts_with('-'))
        .collect();
    let (specs, lost) = match dashes {
        Some(at) => {
            let specs: Vec<&Field> = call.args.iter().skip(at + 1).collect();
            (specs, if operands.is_empty() { Lost::Unstaged } else { Lost::Changes })
        }
        None => {
            let is_commit = |field: &&Field| {
                let text = field.text();
                text != "." && git.repo.as_ref().is_some_and(|repo| repo.is_commit(&text))
            };
            match operands.split_first() {
                Some((first, rest)) if is_commit(first) => (rest.to_vec(), Lost::Changes),
                _ => (operands, Lost::Unstaged),
            }
        }
    };
    if specs.is_empty() && call.option(&["--pathspec-from-file"]).is_none() && !asks {
        return None;
    }
    discard(&status, Some(&Pathspecs::read(site, git, &specs)), lost)
}

/// `git restore`: only the work tree holds what may be lost; `--staged` alone leaves it as it is.
pub(super) fn restore(site: &Site<'_>, git: &Git) -> Option<Hold> {
    let call = &git.call;
    let staged = call.has_short(&['S']) || call.has_any(&["--staged"]);
    let work_tree = call.has_short(&['W']) || call.has_any(&["--worktree"]);
    let asks = call.has_short(&['p']) || call.has_any(&["--patch"]);
    if (staged && !work_tree) || (asks && !answers(call, &['y', 'a'])) {
        return None;
    }
    let status = match status(git) {
        RepositoryState::Status(status) => status,
        RepositoryState::Nothing => return None,
        RepositoryState::Silent => return Some(silent()),
    };
    let source = call.option(&["-s", "--source"]);
    let from_elsewhere = source.is_some() || staged;
    let specs: Vec<&Field> = call.operands().into_iter().filter(|field| source.as_ref() != Some(*field)).collect();
    if specs.is_empty() && call.option(&["--pathspec-from-file"]).is_none() && !asks {
        return None;
    }
    discard(&status, Some(&Pathspecs::read(site, git, &specs)), if from_elsewhere { Lost::All } else { Lost::Unstaged })
}

/// `git rm -f` deletes changed files; without force git refuses them itself.
pub(super) fn removed(site: &Site<'_>, git: &Git) -> Option<Hold> {
    let call = &git.call;
    let forced = call.has_short(&['f']) || call.has_any(&["--force"]);
    if !forced || call.has_any(&["--cached", "-n", "--dry-run"]) {
        return None;
    }
    let named = Pathspecs::read(site, git, &call.operands());
    let status = match status(git) {
        RepositoryState::Status(status) => status,
        RepositoryState::Nothing => return None,
        RepositoryState::Silent => return Some(silent()),
    };
    let modules = super::submodules::named(git, &named);
    super::submodules::lost(&modules, super::submodules::Taking::Everything)
        .or_else(|| discard(&status, Some(&named), Lost::All))
}

/// `git apply -R` and `patch -R` of what `git diff` shows take the changes back.
pub(super) fn reversed(site: &Site<'_>, git: &Git) -> Option<Hold> {
    let call = &git.call;
    let only_asks = call.has_any(&["--check", "--stat", "--numstat", "--summary", "--dry-run", "--cached"]);
    if only_asks || !(call.has_short(&['R']) || call.has_any(&["--reverse"])) {
        return None;
    }
    // What lies in a file keeps the changes; what comes through a pipe does not.
    let piped = call.operands().iter().find_map(|field| field.known().filter(|name| name.starts_with("/dev/fd/")));
    let stream = match piped {
        Some(name) => site.state.files.get(Path::new(&name)).cloned(),
        None => Some(call.stdin.clone()),
    };
    match stream {
        Some(Stream::Changes(Since::Index)) => discard_everywhere(git, Lost::Unstaged),
        Some(Stream::Changes(Since::Commit)) => discard_everywhere(git, Lost::Changes),
        Some(
            Stream::Closed
            | Stream::Known(_)
            | Stream::Name(_)
            | Stream::Paths(_)
            | Stream::Downloaded
            | Stream::Decoded
            | Stream::Unknown,
        )
        | None => None,
    }
}

/// `git worktree remove --force` of a work tree with changes.
pub(super) fn worktree(site: &Site<'_>, git: &Git) -> Option<Hold> {
    let operands = git.call.operands();
    let (verb, target) = (operands.first()?.text(), operands.get(1)?);
    let forced = git.call.has_short(&['f']) || git.call.has_any(&["--force"]);
    if verb != "remove" || !forced {
        return None;
    }
    for spot in site.world.spots(target, git.folder.as_deref()) {
        let Spot::Path(path) = spot else {
            return Some(Hold::plain(GuardRule::GitHistory, "which work tree it removes cannot be known"));
        };
        let Some(status) = site.world.repository(&path).and_then(|repo| repo.status()) else { continue };
        let mut effect = Effect::default();
        status.dirty().into_iter().for_each(|file| effect.uncommitted.add(file));
        status.untracked.iter().for_each(|file| effect.untracked.add(file));
        if !effect.is_empty() {
            let reason = "it removes a work tree with changes that no commit holds".to_owned();
            return Some(Hold::with(GuardRule::DiscardChanges, reason, effect));
        }
    }
    None
}
