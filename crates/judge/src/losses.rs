//! What would be lost for good if a path inside the workspace were deleted.
//!
//! The line is drawn at what nobody gets back: tracked and unchanged files come back with git, build products come back
//! with a build, what the run made itself is its own. Uncommitted changes, files that git does not know, secrets and
//! data that git ignores, and repositories with commits found nowhere else do not come back.

use crate::effect::{CARD_ENTRIES_MAX, Count, ENTRIES_MAX, Effect, Target};
use crate::repository::Repo;
use crate::world::{Budget, World, Zone};
use std::path::{Path, PathBuf};
use tripwire_secrets::is_env_file;

/// Folders that a build or an installation makes again.
const PRODUCTS: [&str; 60] = [
    "target",
    "node_modules",
    "dist",
    "build",
    "out",
    "__pycache__",
    ".pytest_cache",
    ".mypy_cache",
    ".ruff_cache",
    ".tox",
    ".nox",
    ".venv",
    "venv",
    ".cache",
    ".next",
    ".nuxt",
    ".turbo",
    ".parcel-cache",
    ".svelte-kit",
    "coverage",
    "htmlcov",
    ".nyc_output",
    ".gradle",
    "obj",
    ".eggs",
    "CMakeFiles",
    "DerivedData",
    "Pods",
    ".dart_tool",
    ".terraform",
    "_build",
    "elm-stuff",
    ".stack-work",
    "dist-newstyle",
    "zig-cache",
    "zig-out",
    ".zig-cache",
    "bower_components",
    ".serverless",
    ".aws-sam",
    "_site",
    "tmp",
    "temp",
    ".tmp",
    ".hypothesis",
    ".ipynb_checkpoints",
    ".output",
    ".vite",
    ".angular",
    ".docusaurus",
    "storybook-static",
    ".expo",
    ".pnpm-store",
    ".yarn",
    "bazel-out",
    "bazel-bin",
    ".pytype",
    ".import-cache",
    "cmake-build-debug",
    "cmake-build-release",
];
/// Endings of files that are made again or meant to be thrown away.
const JUNK: [&str; 24] = [
    ".o",
    ".obj",
    ".a",
    ".so",
    ".pyc",
    ".pyo",
    ".class",
    ".log",
    ".tmp",
    ".temp",
    ".swp",
    ".swo",
    ".orig",
    ".rej",
    ".cache",
    ".gcda",
    ".gcno",
    ".profraw",
    ".rlib",
    ".rmeta",
    ".tsbuildinfo",
    ".egg-info",
    ".DS_Store",
    "~",
];
/// Names of files that hold secrets or data, whatever git thinks of them.
const SECRET_ENDINGS: [&str; 14] = [
    ".pem",
    ".key",
    ".p12",
    ".pfx",
    ".kdbx",
    ".jks",
    ".sqlite",
    ".sqlite3",
    ".db",
    ".tfstate",
    ".ovpn",
    ".keystore",
    ".gpg",
    ".asc",
];

/// What would be lost.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Losses {
    pub(crate) effect: Effect,
    /// The files that git does not know.
    pub(crate) unknown: Vec<PathBuf>,
    /// Whether git was asked and gave no answer.
    pub(crate) unanswered: Option<PathBuf>,
}

impl Losses {
    /// Whether something is lost for good.
    pub(crate) fn is_empty(&self) -> bool {
        let Effect { uncommitted, untracked, secrets, repositories, .. } = &self.effect;
        let none = uncommitted.is_empty() && untracked.is_empty() && secrets.is_empty() && repositories.is_empty();
        none && self.unanswered.is_none()
    }

    /// The kinds of loss, in words.
    pub(crate) fn words(&self) -> String {
        let Effect { uncommitted, untracked, secrets, repositories, .. } = &self.effect;
        let mut words = Vec::new();
        if !uncommitted.is_empty() {
            words.push("uncommitted changes");
        }
        if !untracked.is_empty() {
            words.push("files that git does not know");
        }
        if !secrets.is_empty() {
            words.push("secrets or data that git ignores");
        }
        if !repositories.is_empty() {
            words.push("a repository with work found nowhere else");
        }
        if self.unanswered.is_some() {
            words.push("what git could not tell");
        }
        words.join(" and ")
    }
}

/// What lies below a path.
#[derive(Default)]
struct Inspected {
    files: Vec<PathBuf>,
    repositories: Vec<PathBuf>,
    count: u64,
    bytes: u64,
    counted: Count,
}

impl Inspected {
    const fn target(&self, path: String) -> Target {
        Target { path, files: self.count, bytes: self.bytes, counted: self.counted }
    }
}

/// What lies at a path that is held wherever it is: the first entries are enough for a card.
pub(crate) fn card(world: &World, path: &Path) -> Effect {
    let seen = look(world, path, CARD_ENTRIES_MAX);
    let mut effect = Effect { targets: vec![seen.target(path.display().to_string())], ..Effect::default() };
    // A folder of the system is held whatever it contains. Asking git about each repository in it takes seconds.
    if world.zone(path) != Zone::System {
        add_busy(world, &seen, &mut effect);
    }
    effect
}

/// Whether a repository at or below a path has work that is found nowhere else.
pub(crate) fn holds_busy_repository(world: &World, path: &Path) -> bool {
    let mut effect = Effect::default();
    add_busy(world, &look(world, path, ENTRIES_MAX), &mut effect);
    !effect.repositories.is_empty()
}

fn add_busy(world: &World, seen: &Inspected, effect: &mut Effect) {
    for root in seen.repositories.iter().take(8) {
        if world.repository(root).is_some_and(|repo| is_busy(&repo)) {
            effect.repositories.add(root);
        }
    }
}

/// What would be lost with this path.
pub(crate) fn losses(world: &World, path: &Path) -> Losses {
    let mut losses = Losses::default();
    let Ok(metadata) = path.symlink_metadata() else { return losses };
    if metadata.is_symlink() {
        return losses;
    }
    let seen = look(world, path, ENTRIES_MAX);
    losses.effect.targets.push(seen.target(shown(world, path)));
    add_busy(world, &seen, &mut losses.effect);
    let own = |file: &&PathBuf| !seen.repositories.iter().any(|root| file.starts_with(root));
    let files: Vec<&PathBuf> = seen.files.iter().filter(own).filter(|file| !is_of_the_run(world, file)).collect();
    let repository = path.parent().and_then(|parent| world.repository(parent));
    match repository {
        Some(repo) => tracked_losses(world, &repo, path, &files, &mut losses),
        None => {
            for file in files.into_iter().filter(|file| !is_product(world, file)) {
                unknown_file(world, file, &mut losses);
            }
        }
    }
    losses
}

fn tracked_losses(world: &World, repo: &Repo, path: &Path, files: &[&PathBuf], losses: &mut Losses) {
    let Some(status) = repo.status() else {
        losses.unanswered = Some(repo.root().to_owned());
        return;
    };
    for file in status.dirty().into_iter().filter(|file| file.starts_with(path)) {
        losses.effect.uncommitted.add(&relative(world, file));
    }
    // A repository inside this one is one untracked entry here; what it holds was looked at on its own.
    let nested = |file: &Path| file.join(".git").exists();
    let kept = |file: &Path| is_product(world, file) || is_of_the_run(world, file) || nested(file);
    for file in status.untracked.iter().filter(|file| file.starts_with(path) && !kept(file)) {
        unknown_file(world, file, losses);
    }
    let ignored = |file: &Path| status.ignored.iter().any(|entry| file.starts_with(entry));
    for file in files.iter().filter(|file| is_secret(file) && !kept(file) && ignored(file)) {
        losses.effect.secrets.add(&relative(world, file));
    }
}

/// Notes a file that no commit holds and no build makes.
fn unknown_file(world: &World, file: &Path, losses: &mut Losses) {
    if is_secret(file) {
        losses.effect.secrets.add(&relative(world, file));
    } else if !is_unexpanded(world, file) {
        losses.effect.untracked.add(&relative(world, file));
        losses.unknown.push(file.to_owned());
    }
}

/// Whether a file lies in a folder of the workspace that is named like an expansion which a shell never made: `~`,
/// `~user`, `$HOME`, `${NAME}`.
///
/// Such a folder is the debris of a quoting mistake. A program wanted to write to another place, and what lies here is
/// not work that somebody put here; deleting the folder is how the mistake is corrected. Secrets, changes of tracked files
/// and repositories inside it still count, because those are lost wherever they lie.
pub(crate) fn is_unexpanded(world: &World, file: &Path) -> bool {
    let Ok(inside) = file.strip_prefix(world.workspace()) else { return false };
    let plain = |text: &str| text.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_');
    let unexpanded = |name: &str| {
        let variable = name.strip_prefix('$').map(|rest| rest.trim_start_matches('{').trim_end_matches('}'));
        name.strip_prefix('~').is_some_and(plain) || variable.is_some_and(|rest| !rest.is_empty() && plain(rest))
    };
    let folders = inside.parent().into_iter().flat_map(Path::components);
    folders.filter_map(|part| part.as_os_str().to_str()).any(unexpanded)
}

/// Whether a repository holds work that is found nowhere else.
fn is_busy(repo: &Repo) -> bool {
    let Some(status) = repo.status() else { return true };
    if !status.dirty().is_empty() || !status.untracked.is_empty() {
        return true;
    }
    let unpushed = repo.count(&["rev-list", "--count", "--all", "--not", "--remotes"]);
    // A repository without a commit has nothing to lose.
    unpushed.is_some_and(|count| count > 0)
}

/// Whether a file is made again by a build or meant to be thrown away. A path outside the workspace never is.
pub(crate) fn is_product(world: &World, path: &Path) -> bool {
    path.strip_prefix(world.workspace()).is_ok_and(is_product_name)
}

/// The same by the names alone.
pub(crate) fn is_product_name(path: &Path) -> bool {
    let folder = path
        .components()
        .any(|part| PRODUCTS.iter().any(|name| part.as_os_str() == *name) || ends(part.as_os_str(), &[".egg-info"]));
    folder || path.file_name().is_some_and(|name| ends(name, &JUNK))
}

/// Whether a file's name says that it holds secrets or data.
pub(crate) fn is_secret(path: &Path) -> bool {
    let Some(name) = path.file_name().map(|name| name.to_string_lossy().into_owned()) else { return false };
    let example = ["example", "sample", "template", "dist"].iter().any(|word| name.ends_with(word));
    let named = name.starts_with("id_rsa")
        || name.starts_with("id_ed25519")
        || name.starts_with("credentials")
        || name.starts_with("secrets");
    (named && !example) || is_env_file(&name) || ends(name.as_ref(), &SECRET_ENDINGS)
}

/// Whether a file was born after the session began.
pub(crate) fn is_of_the_run(world: &World, file: &Path) -> bool {
    let Some(began) = world.facts.began else { return false };
    file.symlink_metadata().and_then(|metadata| metadata.created()).is_ok_and(|born| born >= began)
}

fn ends(name: &std::ffi::OsStr, endings: &[&str]) -> bool {
    name.to_str().is_some_and(|name| endings.iter().any(|ending| name.ends_with(ending)))
}

/// A path as a card shows it.
pub(crate) fn shown(world: &World, path: &Path) -> String {
    relative(world, path).display().to_string()
}

fn relative(world: &World, path: &Path) -> PathBuf {
    path.strip_prefix(world.workspace()).map_or_else(|_| path.to_owned(), Path::to_owned)
}

/// Walks a path without following links, up to a number of entries.
fn look(world: &World, path: &Path, entries_max: u64) -> Inspected {
    let mut seen = Inspected::default();
    let mut todo = vec![path.to_owned()];
    let mut entries = 0_u64;
    while let Some(next) = todo.pop() {
        let Ok(metadata) = next.symlink_metadata() else { continue };
        entries += 1;
        if entries > entries_max || world.look_once() == Budget::Spent {
            seen.counted = Count::AtLeast;
            break;
        }
        if !metadata.is_dir() {
            seen.count += 1;
            seen.bytes += metadata.len();
            seen.files.push(next);
            continue;
        }
        let Ok(children) = next.read_dir() else { continue };
        let mut children: Vec<PathBuf> = children.filter_map(|child| child.ok().map(|child| child.path())).collect();
        children.sort();
        if children.iter().any(|child| child.file_name().is_some_and(|name| name == ".git")) {
            seen.repositories.push(next);
        }
        todo.extend(children.into_iter().rev());
    }
    seen
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::Facts;

    #[test]
    fn floor_1_only_a_folder_of_the_workspace_is_made_again_by_a_build() {
        let world = World::new(&Facts { workspace: "/w".into(), cwd: "/w".into(), ..Facts::default() });
        assert!(is_product(&world, Path::new("/w/build/a.o")));
        assert!(!is_product(&world, Path::new("/elsewhere/build/other/work.txt")));
    }
}
