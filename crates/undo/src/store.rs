//! The store of one folder's snapshots, in the person's state folder.

use crate::diff::{self, Difference};
use crate::error::UndoError;
use crate::history::{History, StepSummary};
use crate::index::Index;
use crate::log::{self, Act, LogWriter, Record, StepMark};
use crate::node::{Entry, Tree};
use crate::objects::{Contents, ObjectPaths, Objects};
use crate::paths::{joined, path_of};
use crate::settings::Settings;
use crate::snapshot::{Gap, Look, LookFailure, Looked, Taken, look};
use crate::watch::Watch;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tripwire_core::policy::{Policy, Switch};
use tripwire_core::record::chain::Digest;
use tripwire_fs::file;
use tripwire_fs::lock::{KeptFileLock, KeptLockFile, Wait};
use tripwire_workspace::clock;

/// Larger than any index of the files that a snapshot may have.
const INDEX_BYTES_MAX: u64 = 1 << 30;
/// How long another process may hold the store before there is no snapshot.
const LOCK_WAIT: Duration = Duration::from_secs(30);
/// Folders that are watched by one of several processes.
const WATCHED_FEW: usize = 256;
/// How often a process that stays writes its index.
const INDEX_EVERY: Duration = Duration::from_secs(10);
/// The largest contents that are shown as a difference.
const SHOWN_BYTES_MAX: usize = 1 << 20;

/// The store of one folder's snapshots.
#[derive(Debug)]
pub struct UndoStore {
    root: PathBuf,
    folder: PathBuf,
    settings: Settings,
    /// The index that this process knows, with the file that it is the same as.
    index: Mutex<Option<(FileStamp, Index)>>,
    /// What the system tells of the folder, in a process that stays.
    watch: Mutex<Option<Watch>>,
    lock: KeptLockFile,
    writer: Mutex<LogWriter>,
}

/// The store's lock.
#[derive(Debug)]
pub(crate) struct Held(#[expect(dead_code, reason = "the lock ends with it")] KeptFileLock);

/// What tells one version of the index file from another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct FileStamp(u64, u64, i64, i64);

impl FileStamp {
    /// Whether the file was written within this time.
    fn is_younger_than(self, age: Duration) -> bool {
        let written = u64::try_from(self.2).unwrap_or(0).saturating_mul(1_000);
        clock::now().epoch_ms().saturating_sub(written) < u64::try_from(age.as_millis()).unwrap_or(u64::MAX)
    }

    fn of(path: &Path) -> Self {
        path.symlink_metadata()
            .map_or(Self::default(), |meta| Self(meta.ino(), meta.size(), meta.ctime(), meta.ctime_nsec()))
    }
}

impl UndoStore {
    /// The store for a folder under this policy; none where snapshots are switched off or there is no place for them.
    #[must_use]
    pub fn under(own_state: Option<&Path>, root: &Path, policy: &Policy) -> Option<Self> {
        let own_state = own_state.filter(|_| policy.undo.snapshots == Switch::On)?;
        Some(Self::of(own_state, root, Settings::of(policy)))
    }

    /// The store for a folder, in the folder of our own state; nothing is made yet.
    #[must_use]
    pub fn of(own_state: &Path, root: &Path, settings: Settings) -> Self {
        let folder = Self::parent(own_state).join(tripwire_workspace::state_name(root));
        Self {
            root: root.to_owned(),
            lock: KeptLockFile::at(&folder.join("lock")),
            folder,
            settings,
            index: Mutex::new(None),
            watch: Mutex::new(None),
            writer: Mutex::default(),
        }
    }

    /// The same in a process that stays: what moves in the folder is followed between looks.
    #[must_use]
    pub fn watching(self) -> Self {
        Self { watch: Mutex::new(Watch::new(usize::MAX)), ..self }
    }

    /// The same in one of several such processes, which only watches a folder with few others in it: the system's watches are
    /// for all programs of a person.
    #[must_use]
    pub fn watching_few(self) -> Self {
        Self { watch: Mutex::new(Watch::new(WATCHED_FEW)), ..self }
    }

    /// The folder that holds the stores of all folders.
    #[must_use]
    pub fn parent(own_state: &Path) -> PathBuf {
        own_state.join("undo")
    }

    /// Where the store is.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The folder whose snapshots it holds.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// What is kept.
    #[must_use]
    pub const fn settings(&self) -> &Settings {
        &self.settings
    }

    /// A session begins.
    ///
    /// # Errors
    /// When there is no snapshot; the step that comes next can then not be taken back.
    pub fn begin(&self, session: &str, deadline: Option<Instant>) -> Result<Taken, UndoError> {
        let held = self.hold(deadline)?;
        self.collect_if_due(&held)?;
        self.take(&held, Act::Begin { session: session.to_owned() }, deadline)
    }

    /// A step is about to run.
    ///
    /// # Errors
    /// When there is no snapshot: this step cannot be taken back. That is written down too, where it can be.
    pub fn before(&self, mark: &StepMark, deadline: Option<Instant>) -> Result<Taken, UndoError> {
        let mark = mark.bounded();
        let held = self.hold(deadline)?;
        let taken = self.take(&held, Act::Before(mark.clone()), deadline);
        if let Err(error) = &taken {
            // Where even this cannot be written, the caller says it.
            self.write_down(&held, Act::Missing { mark, why: error.to_string() }, None).ok();
        }
        taken
    }

    /// A step has ended.
    ///
    /// # Errors
    /// When there is no snapshot: what the step changed is told apart only at the next one.
    pub fn after(&self, session: &str, call: &str, deadline: Option<Instant>) -> Result<Taken, UndoError> {
        let held = self.hold(deadline)?;
        self.take(&held, Act::After { session: session.to_owned(), call: call.to_owned() }, deadline)
    }

    /// A snapshot by hand.
    ///
    /// # Errors
    /// When there is none.
    pub fn look_now(&self) -> Result<Taken, UndoError> {
        let held = self.hold(None)?;
        self.take(&held, Act::Look, None)
    }

    fn take(&self, held: &Held, act: Act, deadline: Option<Instant>) -> Result<Taken, UndoError> {
        let tree = self.look(held, deadline)?;
        let number = self.write_down(held, act, Some(tree))?;
        Ok(Taken { tree, number })
    }

    /// The steps and whose each change was.
    ///
    /// # Errors
    /// When the list cannot be read.
    pub fn history(&self) -> Result<History, UndoError> {
        Ok(History::of(&log::read(&self.log())?))
    }

    /// What differs between the folder before a step and before another one; without the second, and the folder now.
    ///
    /// # Errors
    /// When a step has no snapshot, or the store is damaged.
    pub fn differences(&self, from: &StepSummary, to: Option<&StepSummary>) -> Result<Vec<Difference>, UndoError> {
        let none = |step: &StepSummary| UndoError::NoStep {
            step: step.step,
            session: step.session.clone(),
            nearest: Vec::new(),
        };
        let old = from.before.ok_or_else(|| none(from))?;
        let new = match to {
            Some(to) => to.after.or(to.before).ok_or_else(|| none(to))?,
            None => self.look(&self.hold(None)?, None)?,
        };
        Ok(shown(&diff::between(&self.objects()?, &old, &new)?))
    }

    /// The texts on both sides of a difference; nothing for what is large, no text, or not kept.
    ///
    /// # Errors
    /// When the store is damaged.
    pub fn texts(&self, difference: &Difference) -> Result<Option<(String, String)>, UndoError> {
        let objects = self.objects()?;
        let text = |digest: &Option<Digest>| -> Result<Option<String>, UndoError> {
            let Some(digest) = digest else { return Ok(Some(String::new())) };
            Ok(match objects.contents(digest)? {
                Contents::Small(bytes) if bytes.len() <= SHOWN_BYTES_MAX => String::from_utf8(bytes).ok(),
                Contents::Small(_) | Contents::Large(_) => None,
            })
        };
        Ok(text(&difference.old)?.zip(text(&difference.new)?))
    }

    /// What the newest snapshot does not hold, and why.
    ///
    /// # Errors
    /// When the store is damaged.
    pub fn gaps(&self) -> Result<Vec<Gap>, UndoError> {
        let Some(root) = self.history()?.newest else { return Ok(Vec::new()) };
        let objects = self.objects()?;
        let mut gaps = Vec::new();
        let mut open = vec![(Vec::new(), root)];
        while let Some((path, tree)) = open.pop() {
            let Tree(names) = objects.tree(&tree)?;
            for (name, node) in names {
                let below = joined(&path, &name);
                match (node.entry, node.tree) {
                    (Entry::Unsaved { why, .. }, _) => gaps.push(Gap { path: path_of(&below), why }),
                    (Entry::Folder, Some(tree)) => open.push((below, tree)),
                    (Entry::Folder | Entry::File { .. } | Entry::Link { .. }, _) => {}
                }
            }
        }
        gaps.sort_by(|one, two| one.path.cmp(&two.path));
        Ok(gaps)
    }

    /// Takes the store's lock and makes its folders.
    pub(crate) fn hold(&self, deadline: Option<Instant>) -> Result<Held, UndoError> {
        let until = Instant::now() + LOCK_WAIT;
        let wait = Wait::Until(deadline.map_or(until, |deadline| deadline.min(until)));
        if let Some(lock) = self.lock.relock(wait)? {
            return Ok(Held(lock));
        }
        self.make_folders()?;
        Ok(Held(self.lock.take(wait)?))
    }

    fn make_folders(&self) -> Result<(), UndoError> {
        let paths = self.paths();
        if !paths.large.is_dir() || !paths.packs.is_dir() {
            file::make_folder(&paths.packs)?;
            file::make_folder(&paths.large)?;
            let root = self.root.as_os_str().as_encoded_bytes();
            file::replace(&self.folder.join("workspace"), &[root, b"\n"].concat())?;
        }
        Ok(())
    }

    pub(crate) fn paths(&self) -> ObjectPaths {
        ObjectPaths::of(&self.folder)
    }

    pub(crate) fn objects(&self) -> Result<Objects, UndoError> {
        Objects::open(self.paths())
    }

    pub(crate) fn log(&self) -> PathBuf {
        self.folder.join("snapshots.jsonl")
    }

    pub(crate) fn index_path(&self) -> PathBuf {
        self.folder.join("index")
    }

    pub(crate) fn records(&self, _held: &Held) -> Result<Vec<Record>, UndoError> {
        log::read(&self.log())
    }

    pub(crate) fn write_down(&self, _held: &Held, act: Act, tree: Option<Digest>) -> Result<u64, UndoError> {
        let mut writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        writer.append(&self.log(), clock::now().epoch_ms(), act, tree)
    }

    /// Looks at the folder; its objects are on the disk then, and no list names them yet.
    pub(crate) fn look(&self, held: &Held, deadline: Option<Instant>) -> Result<Digest, UndoError> {
        let mut kept = self.known_index(held);
        let mut watch = self.watch.lock().unwrap_or_else(PoisonError::into_inner);
        let still = watch.as_mut().and_then(Watch::still);
        if let Some(tree) = still.zip(kept.as_ref()).and_then(|(still, (_, index))| still.whole(&self.root, index)) {
            return Ok(tree);
        }
        // Someone may have removed them while the lock file stayed open.
        self.make_folders()?;
        let index = kept.take().map_or_else(|| Index::new(self.settings.choice()), |(_, index)| index);
        let paths = self.paths();
        let (root, folder, settings) = (&self.root, &self.folder, &self.settings);
        match look(Look { root, folder, settings, paths: &paths, deadline, still }, &index) {
            Ok(Looked { tree, index, moved }) => {
                // Where the system has no room for more, everything is looked at from now on.
                let is_watched = watch.as_mut().is_some_and(|watch| watch.follow(root, &index));
                if !is_watched {
                    *watch = None;
                }
                // A process that stays knows its index, and leaves it behind once in a while. It can be rebuilt: that it
                // was not written is no reason against the snapshot.
                let is_young = FileStamp::of(&self.index_path()).is_younger_than(INDEX_EVERY);
                if moved && !(is_watched && is_young) {
                    file::write_unsynced(&self.index_path(), &index.encode()).ok();
                }
                *kept = Some((FileStamp::of(&self.index_path()), index));
                Ok(tree)
            }
            Err(LookFailure { error, index }) => {
                // What was told of the folder is used up.
                if let Some(used) = watch.take() {
                    *watch = Watch::new(used.folders_max);
                }
                if let Some(index) = index {
                    file::write_unsynced(&self.index_path(), &index.encode()).ok();
                }
                Err(error)
            }
        }
    }

    /// The index of the last look of this process.
    pub(crate) fn index(&self, held: &Held) -> Result<Index, UndoError> {
        let kept = self.known_index(held);
        kept.as_ref().map(|(_, index)| index.clone()).ok_or(UndoError::Nothing { why: "the folder was not looked at" })
    }

    /// The index, read again where another process has written it.
    fn known_index(&self, _held: &Held) -> MutexGuard<'_, Option<(FileStamp, Index)>> {
        let mut kept = self.index.lock().unwrap_or_else(PoisonError::into_inner);
        let stamp = FileStamp::of(&self.index_path());
        if kept.as_ref().is_none_or(|(known, _)| *known != stamp) {
            let bytes = file::read_bounded(&self.index_path(), INDEX_BYTES_MAX).ok();
            let index = bytes.and_then(|bytes| Index::decode(&bytes, &self.settings.choice()));
            *kept = index.map(|index| (stamp, index));
        }
        kept
    }

    /// Forgets the index: the next look reads everything.
    pub(crate) fn forget_index(&self, _held: &Held) -> Result<(), UndoError> {
        *self.index.lock().unwrap_or_else(PoisonError::into_inner) = None;
        file::remove(&self.index_path())?;
        Ok(())
    }
}

/// Differences as people see them, without git's own bookkeeping.
pub(crate) fn shown(deltas: &[diff::Delta]) -> Vec<Difference> {
    let is_git = |path: &[u8]| path.split(|byte| *byte == b'/').any(|name| name == b".git");
    deltas.iter().filter(|delta| !is_git(&delta.path)).map(Difference::of).collect()
}
