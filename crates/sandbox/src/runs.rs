//! What a run leaves in the workspace while it lasts, and how it is taken away again, also after a SIGKILL.
//!
//! Protected names that do not exist are made as empty placeholders, because only what exists can be covered by a mount. Each
//! run writes a small record of them into a folder of its own user; the last run in a workspace removes them, and a record
//! whose run is gone is swept at the next start.

use std::fs;
use std::io::{self, Write as _};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::{FlockOperation, flock};

use crate::plan::Kind;
use crate::procfs;

/// The placeholders of one run; dropped, they go.
#[derive(Debug)]
pub(crate) struct Placeholders {
    workspace: PathBuf,
    made: Vec<PathBuf>,
    first_file: Option<PathBuf>,
    record: Option<PathBuf>,
    folder: Option<PathBuf>,
    /// Held until the record is written: nobody may remove a name between our look at it and our record of it.
    lock: Option<fs::File>,
}

impl Placeholders {
    /// Sweeps what dead runs left. Names that another living run made are shared: whoever leaves last removes them.
    pub(crate) fn begin(workspace: &Path) -> io::Result<Self> {
        let folder = own_folder();
        let lock = folder.as_deref().map(lock).transpose()?;
        let made = folder.as_deref().map_or_else(Vec::new, |folder| sweep(folder, workspace));
        Ok(Self { workspace: workspace.to_path_buf(), made, first_file: None, record: None, folder, lock })
    }

    /// The names that other living runs made in this workspace; asked before our own are made.
    pub(crate) fn shared(&self) -> &[PathBuf] {
        &self.made
    }

    /// Makes the missing names and writes a record of them.
    pub(crate) fn fill(&mut self, missing: &[(PathBuf, Kind)]) -> io::Result<()> {
        for (name, kind) in missing {
            self.make_one(name, *kind)?;
        }
        if let Some(folder) = self.folder.as_ref().filter(|_| !self.made.is_empty()) {
            self.record = Some(write_record(folder, &self.workspace, &self.made)?);
        }
        self.lock = None;
        Ok(())
    }

    /// An empty file, as one more link to the first one where that is possible.
    fn make_file(&self, path: &Path) -> io::Result<()> {
        if let Some(first) = &self.first_file
            && fs::hard_link(self.workspace.join(first), path).is_ok()
        {
            return Ok(());
        }
        let mut options = fs::OpenOptions::new();
        options.write(true).create_new(true).mode(0o644);
        options.open(path).map(drop)
    }

    fn make_one(&mut self, name: &Path, kind: Kind) -> io::Result<()> {
        let path = self.workspace.join(name);
        let made = match kind {
            Kind::Dir => fs::create_dir(&path),
            Kind::File => self.make_file(&path),
        };
        match made {
            Ok(()) => {
                if kind == Kind::File && self.first_file.is_none() {
                    self.first_file = Some(name.to_path_buf());
                }
                self.made.push(name.to_path_buf());
                Ok(())
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
            Err(error) => Err(error),
        }
    }
}

impl Drop for Placeholders {
    fn drop(&mut self) {
        let Some(folder) = &self.folder else {
            remove(&self.workspace, &self.made);
            return;
        };
        let lock = self.lock.take().or_else(|| lock(folder).ok());
        if let Some(record) = &self.record {
            // A record that stays is swept at the next start.
            drop(fs::remove_file(record));
        }
        if sweep(folder, &self.workspace).is_empty() {
            remove(&self.workspace, &self.made);
        }
        drop(lock);
    }
}

/// Removes placeholders that are still empty, children before parents.
fn remove(workspace: &Path, made: &[PathBuf]) {
    let mut names = made.to_vec();
    names.sort();
    for name in names.iter().rev() {
        let path = workspace.join(name);
        let Ok(meta) = fs::symlink_metadata(&path) else {
            continue;
        };
        // What is not empty any more is somebody's file and stays.
        if meta.is_dir() {
            drop(fs::remove_dir(&path));
        } else if meta.is_file() && meta.len() == 0 {
            drop(fs::remove_file(&path));
        }
    }
}

/// A folder that only this user can write to, or nothing.
pub(crate) fn own_folder() -> Option<PathBuf> {
    let uid = rustix::process::geteuid().as_raw();
    let base = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from).filter(|path| path.is_absolute());
    let folder = match base {
        Some(base) => base.join("tripwire"),
        None => std::env::temp_dir().join(format!("tripwire-{uid}")),
    };
    let made = fs::DirBuilder::new().mode(0o700).create(&folder);
    if made.is_err_and(|error| error.kind() != io::ErrorKind::AlreadyExists) {
        return None;
    }
    let meta = fs::symlink_metadata(&folder).ok()?;
    (meta.is_dir() && meta.uid() == uid && meta.mode() & 0o022 == 0).then_some(folder)
}

fn lock(folder: &Path) -> io::Result<fs::File> {
    let file = fs::OpenOptions::new().create(true).truncate(false).write(true).mode(0o600).open(folder.join("lock"))?;
    flock(&file, FlockOperation::LockExclusive)?;
    Ok(file)
}

fn write_record(folder: &Path, workspace: &Path, made: &[PathBuf]) -> io::Result<PathBuf> {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let start = procfs::start_time(Path::new("/proc/self")).unwrap_or(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let path = folder.join(format!("run-{}-{start}-{count}", std::process::id()));
    let mut text = workspace.as_os_str().as_bytes().to_vec();
    for name in made {
        text.push(0);
        text.extend_from_slice(name.as_os_str().as_bytes());
    }
    fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path)?.write_all(&text)?;
    Ok(path)
}

/// Cleans up after dead runs; returns the placeholders that living runs hold in this workspace.
fn sweep(folder: &Path, workspace: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else {
        return Vec::new();
    };
    let (mut shared, mut dead) = (Vec::new(), Vec::new());
    for entry in entries.flatten() {
        let name = entry.file_name();
        let Some(owner) = name.to_str().and_then(owner_of) else {
            continue;
        };
        let Some((place, made)) = read_record(&entry.path()) else {
            continue;
        };
        if procfs::is_alive(owner) {
            if place == workspace {
                shared.extend(made);
            }
        } else {
            dead.push((entry.path(), place, made));
        }
    }
    for (record, place, made) in dead {
        // In this workspace a living run may still stand on the same names.
        let free: Vec<PathBuf> = made.into_iter().filter(|name| place != workspace || !shared.contains(name)).collect();
        remove(&place, &free);
        drop(fs::remove_file(record));
    }
    shared.sort();
    shared.dedup();
    shared
}

fn owner_of(name: &str) -> Option<procfs::Identity> {
    let mut parts = name.strip_prefix("run-")?.split('-');
    Some(procfs::Identity { pid: parts.next()?.parse().ok()?, start: parts.next()?.parse().ok()? })
}

fn read_record(path: &Path) -> Option<(PathBuf, Vec<PathBuf>)> {
    let bytes = fs::read(path).ok()?;
    let mut parts = bytes.split(|byte| *byte == 0).map(|part| std::ffi::OsString::from_vec(part.to_vec()));
    let workspace = PathBuf::from(parts.next()?);
    Some((workspace, parts.map(PathBuf::from).collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(top: &Path, missing: &[(PathBuf, Kind)]) -> Placeholders {
        let mut placeholders = Placeholders::begin(top).expect("begins");
        placeholders.fill(missing).expect("makes");
        placeholders
    }

    #[test]
    fn placeholders_come_and_go_and_files_of_others_stay() {
        let top = std::env::temp_dir().join(format!("tripwire-runs-{}", std::process::id()));
        fs::create_dir_all(&top).expect("a folder");
        let missing =
            [(PathBuf::from("a"), Kind::Dir), (PathBuf::from("a/b"), Kind::File), (PathBuf::from("c"), Kind::Dir)];
        let first = made(&top, &missing);
        assert!(top.join("a/b").is_file() && top.join("c").is_dir());
        // A second run at the same time shares them, and the first to leave does not take them away.
        let second = made(&top, &[]);
        drop(first);
        assert!(top.join("a/b").is_file());
        fs::write(top.join("c/STOP"), "").expect("somebody's file");
        drop(second);
        assert!(!top.join("a").exists());
        assert!(top.join("c/STOP").is_file());
        fs::remove_dir_all(&top).expect("clean");
    }

    #[test]
    fn what_a_killed_run_left_is_swept() {
        let top = std::env::temp_dir().join(format!("tripwire-swept-{}", std::process::id()));
        fs::create_dir_all(top.join("left")).expect("a folder");
        let folder = own_folder().expect("a folder of our own");
        let record = folder.join("run-1-1-77");
        let mut text = top.as_os_str().as_bytes().to_vec();
        text.extend_from_slice(b"\0left");
        fs::write(&record, text).expect("a record");
        drop(made(&top, &[]));
        assert!(!top.join("left").exists() && !record.exists());
        fs::remove_dir_all(&top).expect("clean");
    }
}
