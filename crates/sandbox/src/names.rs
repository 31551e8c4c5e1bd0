//! Which names of a workspace need a wall: what other programs obey, and what is secret.

use std::fs;
use std::path::{Component, Path, PathBuf};

use rustix::fs::FileType;

use crate::layers::l03_reexec::Broken;
use crate::outcome::Layer;
use crate::plan::Kind;
use crate::spec::{HIDDEN_NAMES, PROTECTED_NAMES};
use crate::walk;

/// Protected names that are made up as folders, because others may put something into them during the run: a person's STOP,
/// a client's settings. All other missing names become links to one empty file, which costs the file system no inode each.
const FOLDER_NAMES: [&str; 3] = [".git", ".geometry", ".claude"];

/// The names of a workspace that need a wall, relative to it.
#[derive(Debug, Default)]
pub(crate) struct Names {
    pub(crate) protected: Vec<PathBuf>,
    pub(crate) missing: Vec<(PathBuf, Kind)>,
    pub(crate) hidden: Vec<PathBuf>,
}

impl Names {
    pub(crate) fn find(workspace: &Path) -> Result<Self, Broken> {
        let mut names = Self::default();
        for name in PROTECTED_NAMES {
            names.protect(workspace, Path::new(name))?;
        }
        names.search(workspace)?;
        Ok(names)
    }

    /// Protects one name; every missing part of it is to be made.
    fn protect(&mut self, workspace: &Path, name: &Path) -> Result<(), Broken> {
        let mut so_far = PathBuf::new();
        let count = name.components().count();
        for (index, part) in name.components().enumerate() {
            so_far.push(part);
            let last = index + 1 == count;
            let meta = fs::symlink_metadata(workspace.join(&so_far));
            match meta {
                Ok(meta) if meta.is_symlink() => {
                    let what = format!("protect `{}`: it is a symbolic link", so_far.display());
                    return Err(Broken::new(Layer::Rootfs, 0, what));
                }
                // A repository's pointer file: it is protected itself, and there is nothing below it.
                Ok(meta) if !last && !meta.is_dir() => {
                    self.add_protected(so_far);
                    return Ok(());
                }
                Ok(_) => {}
                Err(_) => {
                    let folder = FOLDER_NAMES.iter().any(|known| so_far == Path::new(known));
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

    fn add_protected(&mut self, name: PathBuf) {
        if !self.protected.contains(&name) {
            self.protected.push(name);
        }
    }

    /// Finds hidden names anywhere, and the hooks and configurations of repositories below the top.
    fn search(&mut self, workspace: &Path) -> Result<(), Broken> {
        let mut repositories: Vec<PathBuf> = Vec::new();
        let walked = walk::walk(workspace, &mut |entry| {
            let name = entry.name_bytes();
            if HIDDEN_NAMES.iter().any(|hidden| hidden.as_bytes() == name) {
                self.hide(workspace, entry.path, entry.kind);
                return walk::Step::Skip;
            }
            if name == b".git" && entry.kind == FileType::Directory {
                repositories.push(entry.path.to_path_buf());
            }
            // Object stores hold thousands of files with names made of digits.
            let store = name == b"objects" && entry.path.parent().is_some_and(|parent| parent.ends_with(".git"));
            if store { walk::Step::Skip } else { walk::Step::Enter }
        });
        let broken = |what: &str| Broken::new(Layer::Rootfs, 0, what.to_owned());
        let walked = walked.map_err(|_| broken("search the workspace for secrets"))?;
        if walked.ended == walk::Ended::TooDeep {
            return Err(broken("search the workspace for secrets: folders are nested too deep"));
        }
        // What cannot be searched could be opened from inside, by the same uid: it is hidden whole.
        self.hidden.extend(walked.closed);
        for repository in repositories {
            for name in ["hooks", "config", "config.worktree", "modules"] {
                let path = repository.join(name);
                let found = fs::symlink_metadata(workspace.join(&path));
                if found.is_ok_and(|meta| !meta.is_symlink()) {
                    self.add_protected(path);
                }
            }
        }
        Ok(())
    }

    /// A link cannot be covered, so what it points at is, if that is in the workspace.
    fn hide(&mut self, workspace: &Path, path: &Path, kind: FileType) {
        if kind != FileType::Symlink {
            self.hidden.push(path.to_path_buf());
            return;
        }
        let target = fs::canonicalize(workspace.join(path)).ok();
        if let Some(inside) = target.as_deref().and_then(|target| target.strip_prefix(workspace).ok())
            && inside.components().all(|part| matches!(part, Component::Normal(_)))
            && inside != Path::new("")
        {
            self.hidden.push(inside.to_path_buf());
        }
    }
}
