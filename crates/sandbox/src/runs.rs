//! What a run leaves in the workspace while it lasts, and how it is taken away again, also after a SIGKILL.
//!
//! Protected names that do not exist are made as empty placeholders, because only what exists can be covered by a mount. Each
//! run writes a small record of them into a folder of its own user, before it makes them; the last run that stands on a name
//! removes it, and a record whose run is gone is swept at the next start. Removing a name on which somebody stands would take
//! the mount on it away with it, in the middle of that run.
//!
//! One lock for all runs of a user keeps looks and acts together. It is held for a moment at the start, while names are made,
//! and at the end, never while a workspace is walked through: who finds that the names changed meanwhile looks again.

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, Write as _};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::interrupt::Interrupt;
use crate::plan::Kind;
use crate::procfs;

/// The placeholders of one run; dropped, they go.
#[derive(Debug)]
pub(crate) struct Placeholders {
    workspace: PathBuf,
    /// What this run stands on and would remove: names that it found with others, and its own.
    held: Vec<PathBuf>,
    first_file: Option<PathBuf>,
    records: Vec<PathBuf>,
    folder: Option<PathBuf>,
}

/// Whether the names could be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Filled {
    Yes,
    /// Another run made or removed names since this one looked; it must look again.
    MovedOn,
}

impl Placeholders {
    /// Sweeps what dead runs left. Names that another living run made are shared: the last run to leave removes them.
    pub(crate) fn begin(workspace: &Path, patience: &Patience) -> io::Result<Self> {
        Self::begin_in(own_folder(), workspace, patience)
    }

    fn begin_in(folder: Option<PathBuf>, workspace: &Path, patience: &Patience) -> io::Result<Self> {
        let workspace = workspace.to_path_buf();
        let mut new = Self { workspace, held: Vec::new(), first_file: None, records: Vec::new(), folder };
        if let Some(folder) = new.folder.clone() {
            let _lock = Lock::take(&folder, patience)?;
            new.held = new.in_workspace(&sweep(&folder));
            // From here on nobody who leaves takes them away.
            new.record(&new.held.clone())?;
        }
        Ok(new)
    }

    /// The names that other living runs made in this workspace; asked before our own are made.
    pub(crate) fn shared(&self) -> &[PathBuf] {
        &self.held
    }

    /// Makes the missing names, after a record of them. `standing` are names that were seen to exist since the beginning.
    pub(crate) fn fill(
        &mut self,
        missing: &[(PathBuf, Kind)],
        standing: &[PathBuf],
        patience: &Patience,
    ) -> io::Result<Filled> {
        let folder = self.folder.clone();
        let _lock = folder.as_deref().map(|folder| Lock::take(folder, patience)).transpose()?;
        if self.moved_on(standing) {
            return Ok(Filled::MovedOn);
        }
        let absent: Vec<&(PathBuf, Kind)> = missing.iter().filter(|(name, _)| !self.is_there(name)).collect();
        self.record(&absent.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>())?;
        for (name, kind) in absent {
            self.make_one(name, *kind)?;
        }
        Ok(Filled::Yes)
    }

    /// Names that came are not ours to stand on yet, and names that went are no longer there to be covered.
    fn moved_on(&self, standing: &[PathBuf]) -> bool {
        let others = self.folder.as_deref().map(|folder| of_others(folder, &self.records)).unwrap_or_default();
        let came = self.in_workspace(&others).iter().any(|name| !self.held.contains(name));
        came || !standing.iter().all(|name| self.is_there(name))
    }

    fn is_there(&self, name: &Path) -> bool {
        fs::symlink_metadata(self.workspace.join(name)).is_ok()
    }

    fn in_workspace(&self, names: &BTreeSet<PathBuf>) -> Vec<PathBuf> {
        names.iter().filter_map(|name| name.strip_prefix(&self.workspace).ok()).map(Path::to_path_buf).collect()
    }

    fn record(&mut self, names: &[PathBuf]) -> io::Result<()> {
        if let Some(folder) = self.folder.as_ref().filter(|_| !names.is_empty()) {
            self.records.push(write_record(folder, &self.workspace, names)?);
        }
        Ok(())
    }

    /// An empty file, as one more link to the first one where that is possible. Closed for writing: what a person adds to one of
    /// these names meanwhile would stand in all of them; an editor that puts a new file in its place can.
    fn make_file(&self, path: &Path) -> io::Result<()> {
        if let Some(first) = &self.first_file
            && fs::hard_link(self.workspace.join(first), path).is_ok()
        {
            return Ok(());
        }
        let mut options = fs::OpenOptions::new();
        options.write(true).create_new(true).mode(0o444);
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
                self.held.push(name.to_path_buf());
                Ok(())
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
            Err(error) => Err(error),
        }
    }
}

impl Drop for Placeholders {
    fn drop(&mut self) {
        // Who stands on nothing, as one that never got the lock, has nothing to wait for.
        if self.held.is_empty() && self.records.is_empty() {
            return;
        }
        let mut own: BTreeSet<PathBuf> = self.held.iter().map(|name| self.workspace.join(name)).collect();
        let Some(folder) = &self.folder else {
            remove(&own);
            return;
        };
        // A process that does not get the lock leaves names and records: they are swept when this process has ended.
        let patience = Patience { until: Instant::now() + LEAVE_TIME_MAX, interrupt: Interrupt::default() };
        let Ok(_lock) = Lock::take(folder, &patience) else { return };
        for record in &self.records {
            // A record that stays is swept at the next start.
            drop(fs::remove_file(record));
        }
        for name in sweep(folder) {
            own.remove(&name);
        }
        remove(&own);
    }
}

/// How long the end of a run may wait for the lock.
const LEAVE_TIME_MAX: Duration = Duration::from_secs(1);
/// Those who hold the lock do so for a fraction of a millisecond; who waits for one that stands still looks less often.
const LOCK_PAUSE_MIN: Duration = Duration::from_micros(100);
const LOCK_PAUSE_MAX: Duration = Duration::from_millis(10);

/// How long a start may wait: until its deadline, and not when somebody ended it.
#[derive(Debug, Clone)]
pub(crate) struct Patience {
    pub(crate) until: Instant,
    pub(crate) interrupt: Interrupt,
}

impl Patience {
    pub(crate) fn is_over(&self) -> bool {
        self.interrupt.is_raised() || Instant::now() >= self.until
    }
}

/// The right to look at and change the names of all runs, until it is dropped.
struct Lock(fs::File);

impl Lock {
    fn take(folder: &Path, patience: &Patience) -> io::Result<Self> {
        let path = folder.join("lock");
        let file = fs::OpenOptions::new().create(true).truncate(false).write(true).mode(0o600).open(path)?;
        let mut pause = LOCK_PAUSE_MIN;
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(Self(file)),
                Err(fs::TryLockError::WouldBlock) if patience.is_over() => return Err(io::ErrorKind::TimedOut.into()),
                Err(fs::TryLockError::WouldBlock) => {}
                Err(fs::TryLockError::Error(error)) => return Err(error),
            }
            std::thread::sleep(pause);
            pause = (pause * 2).min(LOCK_PAUSE_MAX);
        }
    }
}

impl Drop for Lock {
    /// A child that was just forked has the file open for a moment; the right must not outlive this value by that.
    fn drop(&mut self) {
        self.0.unlock().ok();
    }
}

/// Removes placeholders that are still empty, children before parents.
fn remove(paths: &BTreeSet<PathBuf>) {
    for path in paths.iter().rev() {
        let Ok(meta) = fs::symlink_metadata(path) else {
            continue;
        };
        // What is not empty any more is somebody's file and stays.
        if meta.is_dir() {
            drop(fs::remove_dir(path));
        } else if meta.is_file() && meta.len() == 0 {
            drop(fs::remove_file(path));
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

fn write_record(folder: &Path, workspace: &Path, names: &[PathBuf]) -> io::Result<PathBuf> {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let start = procfs::start_time(Path::new("/proc/self")).unwrap_or(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let path = folder.join(format!("run-{}-{start}-{count}", std::process::id()));
    let mut text = workspace.as_os_str().as_bytes().to_vec();
    for name in names {
        text.push(0);
        text.extend_from_slice(name.as_os_str().as_bytes());
    }
    fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path)?.write_all(&text)?;
    Ok(path)
}

/// Cleans up after dead runs; returns the placeholders that living runs hold, in whatever workspace.
fn sweep(folder: &Path) -> BTreeSet<PathBuf> {
    let (alive, dead): (Vec<Record>, Vec<Record>) = records(folder).partition(Record::is_alive);
    let held: BTreeSet<PathBuf> = alive.into_iter().flat_map(|record| record.names).collect();
    for record in dead {
        // A living run may stand on the same names, in this workspace or in another one.
        remove(&record.names.difference(&held).cloned().collect());
        drop(fs::remove_file(record.path));
    }
    held
}

/// The placeholders of living runs other than the one with these records.
fn of_others(folder: &Path, own: &[PathBuf]) -> BTreeSet<PathBuf> {
    let others = records(folder).filter(|record| !own.contains(&record.path) && record.is_alive());
    others.flat_map(|record| record.names).collect()
}

/// What one run wrote down.
struct Record {
    path: PathBuf,
    owner: procfs::Identity,
    /// Whole paths: workspaces may lie in each other.
    names: BTreeSet<PathBuf>,
}

impl Record {
    fn is_alive(&self) -> bool {
        procfs::is_alive(self.owner)
    }
}

fn records(folder: &Path) -> impl Iterator<Item = Record> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter_map(|entry| {
        let owner = entry.file_name().to_str().and_then(owner_of)?;
        let path = entry.path();
        let names = read_record(&path)?;
        Some(Record { path, owner, names })
    })
}

fn owner_of(name: &str) -> Option<procfs::Identity> {
    let mut parts = name.strip_prefix("run-")?.split('-');
    Some(procfs::Identity { pid: parts.next()?.parse().ok()?, start: parts.next()?.parse().ok()? })
}

fn read_record(path: &Path) -> Option<BTreeSet<PathBuf>> {
    let bytes = fs::read(path).ok()?;
    let mut parts = bytes.split(|byte| *byte == 0).map(|part| std::ffi::OsString::from_vec(part.to_vec()));
    let workspace = PathBuf::from(parts.next()?);
    Some(parts.map(|name| workspace.join(name)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::Scratch;

    /// A folder of records and a workspace, both gone at the end.
    struct Bed {
        top: Scratch,
        folder: PathBuf,
        workspace: PathBuf,
    }

    impl Bed {
        fn new() -> Self {
            let top = Scratch::new();
            let (folder, workspace) = (top.path().join("records"), top.path().join("workspace"));
            fs::create_dir(&folder).expect("a folder");
            fs::create_dir(&workspace).expect("a folder");
            Self { top, folder, workspace }
        }

        fn begin(&self, workspace: &Path) -> Placeholders {
            Placeholders::begin_in(Some(self.folder.clone()), workspace, &long()).expect("begins")
        }

        fn made(&self, missing: &[(PathBuf, Kind)]) -> Placeholders {
            let mut placeholders = self.begin(&self.workspace);
            assert_eq!(placeholders.fill(missing, &[], &long()).expect("makes"), Filled::Yes);
            placeholders
        }

        /// What a run that was killed leaves: its records speak of a process that is not there.
        fn kill(&self, placeholders: Placeholders) {
            for (index, record) in placeholders.records.iter().enumerate() {
                fs::rename(record, self.folder.join(format!("run-{}-1-{index}", i32::MAX))).expect("a dead record");
            }
            std::mem::forget(placeholders);
        }

        fn record_count(&self) -> usize {
            records(&self.folder).count()
        }

        fn is_there(&self, name: &str) -> bool {
            self.workspace.join(name).exists()
        }
    }

    fn long() -> Patience {
        Patience { until: Instant::now() + Duration::from_secs(60), interrupt: Interrupt::default() }
    }

    fn files(names: &[&str]) -> Vec<(PathBuf, Kind)> {
        names.iter().map(|name| (PathBuf::from(name), Kind::File)).collect()
    }

    #[test]
    fn placeholders_come_and_go_and_files_of_others_stay() {
        let bed = Bed::new();
        let missing =
            [(PathBuf::from("a"), Kind::Dir), (PathBuf::from("a/b"), Kind::File), (PathBuf::from("c"), Kind::Dir)];
        let first = bed.made(&missing);
        assert!(bed.workspace.join("a/b").is_file() && bed.workspace.join("c").is_dir());
        // A second run at the same time shares them, and the first to leave does not take them away.
        let second = bed.made(&[]);
        drop(first);
        assert!(bed.workspace.join("a/b").is_file());
        fs::write(bed.workspace.join("c/STOP"), "").expect("somebody's file");
        drop(second);
        assert!(!bed.is_there("a") && bed.workspace.join("c/STOP").is_file());
        assert_eq!(bed.record_count(), 0);
    }

    #[test]
    fn a_name_that_only_one_run_made_goes_with_it_although_others_are_shared() {
        let bed = Bed::new();
        let first = bed.made(&files(&["a"]));
        let second = bed.made(&files(&["b"]));
        drop(second);
        assert!(bed.is_there("a") && !bed.is_there("b"));
        drop(first);
        assert!(!bed.is_there("a"));
    }

    #[test]
    fn what_a_killed_run_left_is_swept() {
        let bed = Bed::new();
        bed.kill(bed.made(&files(&["left"])));
        assert!(bed.is_there("left"));
        drop(bed.begin(bed.top.path()));
        assert!(!bed.is_there("left") && bed.record_count() == 0);
    }

    #[test]
    fn sweeping_a_dead_run_leaves_what_a_living_one_stands_on_in_every_workspace() {
        let bed = Bed::new();
        let dead = bed.made(&files(&["shared", "left"]));
        let alive = bed.made(&[]);
        bed.kill(dead);
        // The run that sweeps is in another workspace; a third one looks from above.
        let other = bed.top.path().join("other");
        drop(bed.begin(&other));
        drop(bed.begin(bed.top.path()));
        assert!(bed.is_there("shared") && bed.is_there("left"));
        drop(alive);
        assert!(!bed.is_there("shared") && !bed.is_there("left"));
    }

    #[test]
    fn a_run_that_is_killed_while_it_makes_its_names_has_written_them_down() {
        let bed = Bed::new();
        let mut killed = bed.begin(&bed.workspace);
        assert!(killed.fill(&files(&["made", "no/folder"]), &[], &long()).is_err());
        assert!(bed.is_there("made"));
        bed.kill(killed);
        drop(bed.begin(&bed.workspace));
        assert!(!bed.is_there("made"));
    }

    #[test]
    fn what_somebody_made_since_the_look_is_not_written_down_as_ours() {
        let bed = Bed::new();
        let mut run = bed.begin(&bed.workspace);
        fs::write(bed.workspace.join("theirs"), "").expect("somebody's file");
        assert_eq!(run.fill(&files(&["theirs"]), &[], &long()).expect("makes"), Filled::Yes);
        bed.kill(run);
        drop(bed.begin(&bed.workspace));
        assert!(bed.is_there("theirs"));
    }

    #[test]
    fn the_lock_is_free_between_the_look_and_the_names_and_a_change_in_between_is_seen() {
        let bed = Bed::new();
        let mut slow = bed.begin(&bed.workspace);
        let quick = bed.made(&files(&["a"]));
        assert_eq!(slow.fill(&files(&["a"]), &[], &long()).expect("looks"), Filled::MovedOn, "a name came");
        drop(slow);
        let mut slow = bed.begin(&bed.workspace);
        drop(quick);
        assert!(bed.is_there("a"), "it is held from the beginning on");
        let standing = [PathBuf::from("a")];
        assert_eq!(slow.fill(&files(&["b"]), &standing, &long()).expect("makes"), Filled::Yes);
        let mut other = bed.begin(&bed.workspace);
        assert_eq!(other.fill(&[], &[PathBuf::from("went")], &long()).expect("looks"), Filled::MovedOn, "a name went");
    }

    #[test]
    fn nobody_waits_for_the_lock_beyond_the_deadline_or_an_interrupt() {
        let bed = Bed::new();
        let mut run = bed.made(&files(&["a"]));
        let lock = Lock::take(&bed.folder, &long()).expect("the lock");
        let late = Patience { until: Instant::now(), interrupt: Interrupt::default() };
        let ended = long();
        ended.interrupt.raise();
        for patience in [late, ended] {
            let begun = Placeholders::begin_in(Some(bed.folder.clone()), &bed.workspace, &patience);
            assert_eq!(begun.expect_err("ends").kind(), io::ErrorKind::TimedOut);
            assert_eq!(run.fill(&[], &[], &patience).expect_err("ends").kind(), io::ErrorKind::TimedOut);
        }
        // The end of a run does not wait for ever either, and leaves names only together with their record.
        drop(run);
        assert!(bed.is_there("a") && bed.record_count() == 1);
        drop(lock);
    }
}
