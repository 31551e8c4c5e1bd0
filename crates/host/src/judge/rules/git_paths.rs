//! git commands that overwrite or delete files of the work tree: only what is dirty or unknown there is lost.

use super::git::Git;
use crate::judge::call::Place;
use crate::judge::effect::Effect;
use crate::judge::field::Field;
use crate::judge::hold::{FloorRule, Hold};
use crate::judge::losses;
use crate::judge::repository::Status;
use crate::judge::walk::Walker;
use crate::judge::world::Spot;
use std::path::{Path, PathBuf};

/// Which changes a command throws away.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Lost {
    /// Those of the work tree that are not staged.
    Unstaged,
    /// All.
    All,
}

/// Throws away every change of every tracked file.
pub(super) fn discard_all(git: &Git) -> Option<Hold> {
    match status(git) {
        Answer::Status(status) => discard(&status, &[], Lost::All),
        Answer::Nothing => None,
        Answer::Silent => Some(silent()),
    }
}

/// What is known of the repository.
enum Answer {
    Status(Box<Status>),
    /// There is no repository here: git would only complain.
    Nothing,
    /// There may be one, and nobody can know how it stands.
    Silent,
}

fn status(git: &Git) -> Answer {
    match (&git.repo, &git.folder) {
        (Some(repo), _) => {
            let Some(mut status) = repo.status() else { return Answer::Silent };
            for submodule in if recurses(git) { repo.submodules() } else { Vec::new() } {
                let Some(inside) = submodule.status() else { return Answer::Silent };
                status.staged.extend_from_slice(&inside.staged);
                status.changed.extend_from_slice(&inside.changed);
            }
            Answer::Status(Box::new(status))
        }
        (None, Some(_)) if git.call.place == Place::Here => Answer::Nothing,
        (None, _) => Answer::Silent,
    }
}

/// Whether a command goes into submodules, by its own word or by the configuration's.
fn recurses(git: &Git) -> bool {
    let set =
        || git.repo.as_ref().and_then(|repo| repo.config("submodule.recurse")).is_some_and(|value| value == "true");
    let modules = git.repo.as_ref().is_some_and(|repo| repo.root().join(".gitmodules").exists());
    modules && !git.call.has_any(&["--no-recurse-submodules"]) && (git.call.has_any(&["--recurse-submodules"]) || set())
}

fn silent() -> Hold {
    Hold::plain(FloorRule::DiscardChanges, "whether it throws away uncommitted changes cannot be known")
}

fn discard(status: &Status, only: &[PathBuf], lost: Lost) -> Option<Hold> {
    let candidates = match lost {
        Lost::Unstaged => status.changed.iter().collect(),
        Lost::All => status.dirty(),
    };
    let mut effect = Effect::default();
    for file in candidates {
        if only.is_empty() || only.iter().any(|path| file.starts_with(path)) {
            effect.uncommitted.add(file);
        }
    }
    let reason = format!("it throws away uncommitted changes in {} file(s)", effect.uncommitted.count);
    (!effect.is_empty()).then(|| Hold::with(FloorRule::DiscardChanges, reason, effect))
}

/// The paths that pathspecs name; an empty list means all.
pub(super) fn named(walker: &Walker<'_>, git: &Git, specs: &[&Field]) -> Vec<PathBuf> {
    let root = git.repo.as_ref().map(|repo| repo.root().to_owned());
    let mut paths = Vec::new();
    for spec in specs {
        let text = spec.text();
        if text == ":/" || text.starts_with(":(top)") || text == "*" || spec.unknown().is_some() {
            return root.into_iter().collect();
        }
        if text.starts_with(":!") || text.starts_with(":^") || text.starts_with(":(exclude)") {
            continue;
        }
        if text.contains(['*', '?', '[']) {
            // git matches patterns itself, in every folder: the longest plain folder bounds them.
            let plain = text.split(['*', '?', '[']).next().unwrap_or_default();
            let folder = plain.rsplit_once('/').map_or("", |(folder, _)| folder);
            paths.extend(git.folder.as_ref().map(|cwd| cwd.join(folder)));
            continue;
        }
        for spot in walker.world.spots(spec, git.folder.as_deref()) {
            match spot {
                Spot::Path(path) | Spot::Contents(path) => paths.push(path),
                Spot::Unknown(..) => return root.into_iter().collect(),
            }
        }
    }
    paths
}

/// `git checkout`: with paths or force it overwrites, with a branch alone it does not.
pub(super) fn checkout(walker: &Walker<'_>, git: &Git) -> Option<Hold> {
    let call = &git.call;
    if call.has_short(&['f']) || call.has_any(&["--force"]) {
        return discard_all(git);
    }
    if call.has_any(&["-b", "-B", "--orphan", "--detach", "-p", "--patch", "-t", "--track"]) {
        return None;
    }
    let status = match status(git) {
        Answer::Status(status) => status,
        Answer::Nothing => return None,
        Answer::Silent => {
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
            (specs, if operands.is_empty() { Lost::Unstaged } else { Lost::All })
        }
        None => {
            let is_commit = |field: &&Field| {
                let text = field.text();
                text != "." && git.repo.as_ref().is_some_and(|repo| repo.is_commit(&text))
            };
            match operands.split_first() {
                Some((first, rest)) if is_commit(first) => (rest.to_vec(), Lost::All),
                _ => (operands, Lost::Unstaged),
            }
        }
    };
    if specs.is_empty() && call.option(&["--pathspec-from-file"]).is_none() {
        return None;
    }
    let paths = named(walker, git, &specs);
    discard(&status, &paths, lost)
}

/// `git restore`: only the work tree holds what may be lost; `--staged` alone leaves it as it is.
pub(super) fn restore(walker: &Walker<'_>, git: &Git) -> Option<Hold> {
    let call = &git.call;
    let staged = call.has_short(&['S']) || call.has_any(&["--staged"]);
    let work_tree = call.has_short(&['W']) || call.has_any(&["--worktree"]);
    if (staged && !work_tree) || call.has_any(&["-p", "--patch"]) {
        return None;
    }
    let status = match status(git) {
        Answer::Status(status) => status,
        Answer::Nothing => return None,
        Answer::Silent => return Some(silent()),
    };
    let source = call.option(&["-s", "--source"]);
    let from_elsewhere = source.is_some() || staged;
    let specs: Vec<&Field> = call.operands().into_iter().filter(|field| source.as_ref() != Some(*field)).collect();
    let paths = named(walker, git, &specs);
    if paths.is_empty() {
        return None;
    }
    discard(&status, &paths, if from_elsewhere { Lost::All } else { Lost::Unstaged })
}

/// `git clean`: untracked files, and with `-x` ignored ones, except what a build makes again.
pub(super) fn clean(walker: &Walker<'_>, git: &Git) -> Option<Hold> {
    let call = &git.call;
    let forced = call.has_short(&['f']) || call.has_any(&["--force"]);
    let optional = || git.config("clean.requireForce").is_some_and(|value| value == "false");
    if call.has_short(&['n', 'i']) || call.has_any(&["--dry-run", "--interactive"]) || !(forced || optional()) {
        return None;
    }
    let status = match status(git) {
        Answer::Status(status) => status,
        Answer::Nothing => return None,
        Answer::Silent => return Some(Hold::plain(FloorRule::GitClean, "which files it deletes cannot be known")),
    };
    let folders = call.has_short(&['d']);
    let root = git.folder.clone().unwrap_or_default();
    let excluded = call.option(&["-e", "--exclude"]);
    let specs: Vec<&Field> = call.operands().into_iter().filter(|field| excluded.as_ref() != Some(*field)).collect();
    let paths = if specs.is_empty() { vec![root.clone()] } else { named(walker, git, &specs) };
    let hit = |file: &Path| {
        let below = paths.iter().find(|path| file.starts_with(path));
        below.is_some_and(|path| {
            folders || !specs.is_empty() || file.parent() == Some(path.as_path()) || !is_in_untracked_folder(git, file)
        })
    };
    let debris = |file: &Path| losses::is_unexpanded(walker.world, file) && !losses::is_secret(file);
    let kept = |file: &Path| losses::is_product(walker.world, file) || debris(file);
    let spared = excluded.as_ref().is_some_and(|field| field.text().trim_end_matches('/') == GUARD);
    let mut effect = Effect::default();
    if !call.has_short(&['X']) {
        for file in status.untracked.iter().filter(|file| hit(file) && !kept(file)) {
            effect.untracked.add(file);
        }
    }
    if call.has_short(&['x', 'X']) {
        for file in status.ignored.iter().filter(|file| paths.iter().any(|path| file.starts_with(path)) && !kept(file))
        {
            let guard = is_guard(file);
            if guard && folders && !spared {
                return Some(Hold::plain(FloorRule::GitClean, GUARD_CLEANED));
            }
            if !guard && (folders || !file.is_dir()) {
                effect.secrets.add(file);
            }
        }
    }
    if effect.is_empty() {
        return None;
    }
    let count = effect.untracked.count + effect.secrets.count;
    Some(Hold::with(FloorRule::GitClean, format!("it deletes {count} path(s) that no commit holds"), effect))
}

/// `git stash -a` takes ignored files away, and the guard's records with them.
pub(super) fn stashes_the_guard(git: &Git) -> Option<Hold> {
    let (call, root) = (&git.call, git.repo.as_ref()?.root());
    let operands = call.operands();
    let (verb, specs) = operands.split_first().map_or((None, &[][..]), |(verb, specs)| (Some(verb.text()), specs));
    let stashes = verb.is_none_or(|verb| matches!(verb.as_str(), "push" | "save"));
    let all = call.has_short(&['a']) || call.has_any(&["--all"]);
    let reaches = |spec: &&Field| {
        spec.unknown().is_some() || spec.text().contains(GUARD) || !spec.text().contains(char::is_alphanumeric)
    };
    let hit = specs.is_empty() || specs.iter().any(reaches);
    let there = root.join(GUARD).exists() || git.folder.as_ref().is_some_and(|folder| folder.join(GUARD).exists());
    (stashes && all && hit && there).then(|| Hold::plain(FloorRule::GitClean, GUARD_STASHED))
}

/// Whether a path is the guard's own.
fn is_guard(file: &Path) -> bool {
    file.components().any(|part| part.as_os_str() == GUARD)
}

/// The guard's folder in a workspace.
const GUARD: &str = crate::geometry::layout::FOLDER;
const GUARD_CLEANED: &str =
    "it deletes `.geometry/`, the guard's own records; `git clean` with the folders that are meant leaves them";
const GUARD_STASHED: &str = "it moves `.geometry/`, the guard's own records, into a stash; `git stash -u` leaves them";

/// Without `-d`, git does not go into folders that hold nothing tracked.
fn is_in_untracked_folder(git: &Git, file: &Path) -> bool {
    let (Some(repo), Some(folder)) = (&git.repo, file.parent()) else { return true };
    let folder = folder.display().to_string();
    repo.ask("ls-files", &["ls-files", "--", &folder]).is_none_or(|text| text.is_empty())
}

/// `git rm -f` deletes changed files; without force git refuses them itself.
pub(super) fn removed(walker: &Walker<'_>, git: &Git) -> Option<Hold> {
    let call = &git.call;
    let forced = call.has_short(&['f']) || call.has_any(&["--force"]);
    if !forced || call.has_any(&["--cached", "-n", "--dry-run"]) {
        return None;
    }
    match status(git) {
        Answer::Status(status) => discard(&status, &named(walker, git, &call.operands()), Lost::All),
        Answer::Nothing => None,
        Answer::Silent => Some(silent()),
    }
}
