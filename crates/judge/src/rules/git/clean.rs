//! `git clean`: files that git does not know, and the guard's own folder among what it ignores.

use super::command::Git;
use super::pathspec::{Pathspecs, ignores};
use super::work_tree::{RepositoryState, answers, status};
use crate::effect::Effect;
use crate::hold::{GuardRule, Hold};
use crate::line::field::Field;
use crate::losses;
use crate::site::Site;
use std::path::Path;
use tripwire_core::counted::counted;

/// `git clean`: untracked files, and with `-x` ignored ones, except what a build makes again.
pub(super) fn clean(site: &Site<'_>, git: &Git) -> Option<Hold> {
    if !runs(git) {
        return None;
    }
    let call = &git.call;
    let status = match status(git) {
        RepositoryState::Status(status) => status,
        RepositoryState::Nothing => return None,
        RepositoryState::Silent => {
            return Some(Hold::plain(GuardRule::GitClean, "which files it deletes cannot be known"));
        }
    };
    let folders = call.has_short(&['d']);
    let root = git.repo.as_ref().map(|repo| repo.root().to_owned()).unwrap_or_default();
    let start = git.folder.clone().unwrap_or_default();
    let excluded = call.options(&["-e", "--exclude"]);
    let specs: Vec<&Field> = call.operands().into_iter().filter(|field| !excluded.contains(*field)).collect();
    let named = Pathspecs::read(site, git, &specs);
    let meant = |file: &Path| if specs.is_empty() { file.starts_with(&start) } else { named.may_take(file) };
    let patterns: Vec<String> = excluded.iter().filter_map(Field::known).collect();
    let spared = |file: &Path| {
        let name = file.strip_prefix(&root).unwrap_or(file).to_string_lossy();
        patterns.iter().any(|pattern| ignores(pattern, &name))
    };
    let past = git.repo.as_ref().map(|repo| repo.past()).unwrap_or_default();
    // Once it is in the index, git leaves it; and a repository inside this one needs `-f` twice.
    let left = |file: &Path| past.added.iter().any(|own| own == file) || (is_repository(file) && !forces_twice(git));
    let hit = |file: &Path| {
        let reached = folders || !specs.is_empty() || !is_in_untracked_folder(git, file);
        meant(file) && reached && !spared(file) && !left(file)
    };
    let debris = |file: &Path| losses::is_unexpanded(site.world, file) && !losses::is_secret(file);
    let kept = |file: &Path| losses::is_product(site.world, file) || debris(file);
    let mut effect = Effect::default();
    if !call.has_short(&['X']) {
        for file in status.untracked.iter().filter(|file| hit(file) && !kept(file)) {
            effect.untracked.add(file);
        }
    }
    if call.has_short(&['x', 'X']) {
        for file in status.ignored.iter().filter(|file| meant(file) && !kept(file) && !spared(file)) {
            let guard = is_guard(file);
            if guard && folders {
                return Some(Hold::plain(GuardRule::GitClean, GUARD_CLEANED));
            }
            if !guard && (folders || !file.is_dir()) && !left(file) {
                effect.secrets.add(file);
            }
        }
    }
    if effect.is_empty() {
        return None;
    }
    let paths = counted(effect.untracked.count + effect.secrets.count, "path");
    Some(Hold::with(GuardRule::GitClean, format!("it deletes {paths} that no commit holds"), effect))
}

/// Whether it deletes at all: forced, or asked for by what it reads.
fn runs(git: &Git) -> bool {
    let call = &git.call;
    if call.has_short(&['n']) || call.has_any(&["--dry-run"]) {
        return false;
    }
    if call.has_short(&['i']) || call.has_any(&["--interactive"]) {
        return answers(call, &['c', '1', 'a']);
    }
    let optional = || git.config("clean.requireForce").is_some_and(|value| value == "false");
    call.has_short(&['f']) || call.has_any(&["--force"]) || optional()
}

/// Whether `-f` is given twice, which takes repositories along.
fn forces_twice(git: &Git) -> bool {
    let count = |word: &String| match word.strip_prefix('-') {
        Some(rest) if rest.starts_with('-') => usize::from(rest == "-force"),
        Some(letters) => letters.chars().filter(|letter| *letter == 'f').count(),
        None => 0,
    };
    git.call.words().iter().map(count).sum::<usize>() > 1
}

/// A repository inside this one is one entry that ends with a slash.
fn is_repository(file: &Path) -> bool {
    file.join(".git").exists()
}

/// Without `-d`, git does not go into folders that hold nothing tracked.
fn is_in_untracked_folder(git: &Git, file: &Path) -> bool {
    let (Some(repo), Some(folder)) = (&git.repo, file.parent()) else { return true };
    if folder == repo.root() || git.folder.as_deref() == Some(folder) {
        return false;
    }
    let folder = folder.display().to_string();
    repo.ask("ls-files", &["ls-files", "--", &folder]).is_none_or(|text| text.is_empty())
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
    (stashes && all && hit && there).then(|| Hold::plain(GuardRule::GitClean, GUARD_STASHED))
}

/// Whether a path is the guard's own.
fn is_guard(file: &Path) -> bool {
    file.components().any(|part| part.as_os_str() == GUARD)
}

/// The guard's folder in a workspace.
const GUARD: &str = tripwire_workspace::geometry::layout::FOLDER;
const GUARD_CLEANED: &str =
    "it deletes `.geometry/`, the guard's own records; `git clean` with the folders that are meant leaves them";
const GUARD_STASHED: &str = "it moves `.geometry/`, the guard's own records, into a stash; `git stash -u` leaves them";
