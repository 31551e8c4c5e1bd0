//! Which names of a workspace need a wall: what other programs obey, and what is secret.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{FileType, Stat};

use crate::layer::LayerError;
use crate::layers::l10_config::values;
use crate::layers::l10_known::Known;
use crate::outcome::Layer;
use crate::plan::Kind;
use crate::spec::{HIDDEN_NAMES, PROTECTED_NAMES};
use crate::walk::{self, Entry, Folder, Visit, WalkEnd, WalkStep, Walked};

/// Protected names that are made up as folders, because others may put something into them during the run: a person's STOP,
/// a client's settings. All other missing names become links to one empty file, which costs the file system no inode each.
const FOLDER_NAMES: [&str; 2] = [".geometry", ".claude"];
/// The same for a tree whose first process may be any client: each reads its own folder and none takes a file for it.
const FOLDER_NAMES_OF_TREES: [&str; 5] = [".geometry", ".claude", ".codex", ".gemini", ".vscode"];
/// The repository of the workspace, which a command may make where there is none: what it put there that git would obey is
/// found by the look afterwards, as in every repository that is new.
const REPOSITORY: &str = ".git";

/// Which missing names are made up for the time of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MadeUp {
    /// All.
    All,
    /// The folders in which clients look for settings. Single files, such as instructions, would be read as empty ones; those
    /// that the tree makes are named afterwards.
    ForTree,
}

/// A configuration beyond this size is not read.
const CONFIG_BYTES_MAX: u64 = 1024 * 1024;

/// The names of a workspace that need a wall, relative to it.
#[derive(Debug, Default)]
pub(crate) struct Names {
    pub(crate) protected: Vec<PathBuf>,
    pub(crate) missing: Vec<(PathBuf, Kind)>,
    /// The protected names that were there; some may be another run's placeholders.
    pub(crate) standing: Vec<PathBuf>,
    pub(crate) hidden: Vec<PathBuf>,
    /// Secrets outside of the workspace to which a link in it leads; absolute.
    pub(crate) hidden_elsewhere: Vec<PathBuf>,
    /// Missing names that are not made up.
    pub(crate) obeyed_later: Vec<PathBuf>,
    /// The repositories that are there before the run.
    pub(crate) known: Known,
}

impl Names {
    pub(crate) fn find(workspace: &Path, made_up: MadeUp) -> Result<Self, LayerError> {
        let mut names = Self::default();
        for name in PROTECTED_NAMES {
            names.protect(workspace, Path::new(name), made_up)?;
        }
        names.search(workspace)?;
        Ok(names)
    }

    /// Protects one name; every missing part of it is to be made.
    fn protect(&mut self, workspace: &Path, name: &Path, made_up: MadeUp) -> Result<(), LayerError> {
        let mut so_far = PathBuf::new();
        let count = name.components().count();
        for (index, part) in name.components().enumerate() {
            so_far.push(part);
            let last = index + 1 == count;
            let meta = fs::symlink_metadata(workspace.join(&so_far));
            match meta {
                Ok(meta) if meta.is_symlink() => {
                    let what = format!("protect `{}`: it is a symbolic link", so_far.display());
                    return Err(LayerError::new(Layer::Rootfs, 0, what));
                }
                // A repository's pointer file: it is protected itself, and there is nothing below it.
                Ok(meta) if !last && !meta.is_dir() => {
                    self.add_standing(so_far);
                    return Ok(());
                }
                Ok(_) if last => {
                    self.add_standing(so_far);
                    return Ok(());
                }
                Ok(_) => {}
                Err(_) if so_far == Path::new(REPOSITORY) => return Ok(()),
                Err(_) => {
                    let folders: &[&str] = match made_up {
                        MadeUp::All => &FOLDER_NAMES,
                        MadeUp::ForTree => &FOLDER_NAMES_OF_TREES,
                    };
                    let folder = folders.iter().any(|known| so_far == Path::new(known));
                    if made_up == MadeUp::ForTree && !folder && count == 1 {
                        self.obeyed_later.push(so_far);
                        return Ok(());
                    }
                    let kind = if folder { Kind::Dir } else { Kind::File };
                    if !self.missing.iter().any(|(known, _)| *known == so_far) {
                        self.missing.push((so_far.clone(), kind));
                    }
                    // Below a name that is made up there is nothing to protect.
                    break;
                }
            }
        }
        self.add_protected(so_far);
        Ok(())
    }

    fn add_standing(&mut self, name: PathBuf) {
        self.standing.push(name.clone());
        self.add_protected(name);
    }

    fn add_protected(&mut self, name: PathBuf) {
        if !self.protected.contains(&name) {
            self.protected.push(name);
        }
    }

    /// Finds hidden names anywhere, and the hooks and configurations of repositories below the top.
    fn search(&mut self, workspace: &Path) -> Result<(), LayerError> {
        let mut search = Search { workspace, names: self, repositories: Vec::new(), linked: BTreeSet::new() };
        let walked = walk::walk_with(workspace, &mut search);
        let Search { repositories, linked, .. } = search;
        self.seen(walked)?;
        if !linked.is_empty() {
            let walked = walk::walk(workspace, &mut |entry| {
                let same = |stat: Stat| stat.st_nlink > 1 && linked.contains(&(stat.st_dev, stat.st_ino));
                if entry.kind == FileType::RegularFile && entry.stat().is_ok_and(same) {
                    self.hidden.push(entry.path.to_path_buf());
                }
                WalkStep::Enter
            });
            self.seen(walked)?;
        }
        for repository in repositories {
            for name in ["hooks", "config", "config.worktree", "modules"] {
                let path = repository.join(name);
                let found = fs::symlink_metadata(workspace.join(&path));
                if found.is_ok_and(|meta| !meta.is_symlink()) {
                    self.add_standing(path);
                }
            }
            for path in obeyed(workspace, &repository) {
                self.add_protected(path);
            }
        }
        Ok(())
    }

    /// What cannot be searched could be opened from inside, by the same uid: it is hidden whole.
    fn seen(&mut self, walked: io::Result<Walked>) -> Result<(), LayerError> {
        let failure = |what: &str| LayerError::new(Layer::Rootfs, 0, what.to_owned());
        let walked = walked.map_err(|_| failure("search the workspace for secrets"))?;
        if walked.ended != WalkEnd::Whole {
            return Err(failure("search the workspace for secrets: folders are too deep or too many"));
        }
        self.hidden.extend(walked.closed);
        Ok(())
    }
}

/// What is found on the way through a workspace.
struct Search<'a> {
    workspace: &'a Path,
    names: &'a mut Names,
    repositories: Vec<PathBuf>,
    /// Secrets that have other names as well.
    linked: BTreeSet<(u64, u64)>,
}

impl Visit for Search<'_> {
    fn folder(&mut self, folder: &Folder<'_>) {
        if folder.is_repository() {
            self.names.known.note(folder.dir, folder.path);
        }
    }

    fn entry(&mut self, entry: &Entry<'_>) -> WalkStep {
        let name = entry.name_bytes();
        if HIDDEN_NAMES.iter().any(|hidden| hidden.as_bytes() == name) {
            self.hide(entry);
            return WalkStep::Skip;
        }
        if name == b".git" && entry.kind == FileType::Directory {
            self.repositories.push(entry.path.to_path_buf());
        }
        // Object stores hold thousands of files in folders with names of two digits.
        let store = entry.path.parent().is_some_and(|parent| parent.ends_with(".git/objects"));
        if store && name.len() == 2 { WalkStep::Skip } else { WalkStep::Enter }
    }
}

impl Search<'_> {
    /// A link cannot be covered, so what it points at is, wherever that is shown.
    fn hide(&mut self, entry: &Entry<'_>) {
        if entry.kind != FileType::Symlink {
            self.names.hidden.push(entry.path.to_path_buf());
            if let Ok(stat) = entry.stat()
                && entry.kind == FileType::RegularFile
                && stat.st_nlink > 1
            {
                self.linked.insert((stat.st_dev, stat.st_ino));
            }
            return;
        }
        let Ok(target) = fs::canonicalize(self.workspace.join(entry.path)) else { return };
        match inside(self.workspace, &target) {
            Some(path) => self.names.hidden.push(path),
            None => self.names.hidden_elsewhere.push(target),
        }
    }
}

/// A path relative to the workspace, if it is one below it.
fn inside(workspace: &Path, path: &Path) -> Option<PathBuf> {
    let inside = path.strip_prefix(workspace).ok()?;
    let plain = inside.components().all(|part| matches!(part, Component::Normal(_)));
    (plain && inside != Path::new("")).then(|| inside.to_path_buf())
}

/// Hooks and further configurations that a repository's own configuration names and that are in the workspace.
fn obeyed(workspace: &Path, repository: &Path) -> Vec<PathBuf> {
    let folder = workspace.join(repository);
    let config = folder.join("config");
    let small = fs::metadata(&config).is_ok_and(|meta| meta.is_file() && meta.len() <= CONFIG_BYTES_MAX);
    let Some(text) = small.then(|| fs::read_to_string(&config).ok()).flatten() else { return Vec::new() };
    let tree = folder.parent().unwrap_or(&folder);
    let hooks = values(&text, "core", "hookspath").into_iter().map(|value| tree.join(value));
    let more = ["include", "includeif"].into_iter().flat_map(|section| values(&text, section, "path"));
    let more = more.map(|value| folder.join(value));
    hooks.chain(more).filter_map(|path| inside(workspace, &fs::canonicalize(path).ok()?)).collect()
}
