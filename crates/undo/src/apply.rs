//! Bringing a plan to the folder. Each name is checked again in the act: what is displaced must be what the plan was made
//! for, else it is put back and kept.

use crate::binary::Decoder;
use crate::error::UndoError;
use crate::index::{Index, Mark};
use crate::node::{Entry, Node};
use crate::objects::{Contents, Objects};
use crate::paths::path_of;
use crate::plan::{PathChange, Plan};
use rustix::fs::{AtFlags, Mode, OFlags, RenameFlags};
use rustix::io::Errno;
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Write as _};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use tripwire_fs::beneath::HeldFolder;

/// What was done.
#[derive(Debug, Default)]
pub(crate) struct Applied {
    pub(crate) changed: Vec<PathBuf>,
    /// What stayed, and where the other version is.
    pub(crate) kept: Vec<(PathBuf, Option<PathBuf>)>,
    pub(crate) failed: Vec<(PathBuf, String)>,
    /// Names that shared their file with others, and have one of their own now.
    pub(crate) unlinked: Vec<PathBuf>,
}

/// Carries a plan out.
pub(crate) struct Applier<'a> {
    pub(crate) root: HeldFolder,
    pub(crate) objects: &'a Objects,
    /// The folder as the plan saw it.
    pub(crate) index: &'a Index,
    pub(crate) done: Applied,
    /// Rights of folders that were opened for a moment.
    lent: BTreeMap<Vec<u8>, u32>,
}

/// What became of one name.
enum Outcome {
    Done,
    /// Someone changed it meanwhile.
    Moved,
    /// A folder that still holds something.
    NotEmpty,
}

impl<'a> Applier<'a> {
    pub(crate) fn new(root: &Path, objects: &'a Objects, index: &'a Index) -> Result<Self, UndoError> {
        let held = HeldFolder::open(root).map_err(UndoError::folder("open", root))?;
        Ok(Self { root: held, objects, index, done: Applied::default(), lent: BTreeMap::new() })
    }

    /// Carries out all of it; what fails is named, and the rest is done.
    pub(crate) fn apply(mut self, plan: &Plan) -> Applied {
        let is_folder = |node: &Option<Node>| node.as_ref().is_some_and(Node::is_folder);
        let leaves = plan.changes.iter().filter(|change| change.from.is_some() && !is_folder(&change.from));
        for change in leaves.filter(|change| change.to.is_none() || is_folder(&change.to)) {
            let removed = self.remove(change);
            self.note(change, removed, Last::of_removal(change));
        }
        for change in plan.changes.iter().rev().filter(|change| is_folder(&change.from) && !is_folder(&change.to)) {
            let removed = self.remove_folder(change);
            self.note(change, removed, Last::of_removal(change));
        }
        for change in plan.changes.iter().filter(|change| is_folder(&change.to) && !is_folder(&change.from)) {
            let made = self.make_folder(change);
            self.note(change, made, Last::Yes);
        }
        for change in plan.changes.iter().filter(|change| change.to.is_some() && !is_folder(&change.to)) {
            let written = self.put(change);
            self.note(change, written, Last::Yes);
        }
        for change in plan.changes.iter().rev() {
            let Some(node) = change.to.filter(Node::is_folder) else { continue };
            self.lent.remove(&change.path);
            let set = self.folder_rights(&change.path, &node);
            if let Err(error) = set {
                self.fail(&change.path, &error);
            }
        }
        for conflict in &plan.conflicts {
            let beside = conflict
                .wanted
                .filter(|node| !node.is_folder())
                .map(|node| self.put_beside(&conflict.path, &node, plan));
            match beside.transpose() {
                Ok(beside) => self.done.kept.push((conflict.path(), beside)),
                Err(error) => self.fail(&conflict.path, &error),
            }
        }
        for (path, mode) in std::mem::take(&mut self.lent) {
            self.set_mode(&path, mode).ok();
        }
        self.done
    }

    fn note(&mut self, change: &PathChange, outcome: io::Result<Outcome>, last: Last) {
        match (outcome, last) {
            (Ok(Outcome::Done), Last::Yes) => self.done.changed.push(change.path()),
            (Ok(Outcome::Done), Last::No) => {}
            (Ok(Outcome::Moved | Outcome::NotEmpty), _) => self.done.kept.push((change.path(), None)),
            (Err(error), _) => self.fail(&change.path, &error),
        }
    }

    fn fail(&mut self, path: &[u8], error: &io::Error) {
        self.done.failed.push((path_of(path), error.to_string()));
    }

    /// The folder of a path, open for changes in it.
    fn folder_of(&mut self, path: &[u8]) -> io::Result<OwnedFd> {
        let parent = path.iter().rposition(|byte| *byte == b'/').map_or(&path[..0], |at| &path[..at]);
        let shown = Path::new(OsStr::from_bytes(parent));
        let dir = self.root.readable(shown);
        let mode = dir.as_ref().ok().and_then(|dir| rustix::fs::fstat(dir).ok()).map(|stat| stat.st_mode & 0o7777);
        match mode {
            Some(mode) if mode & 0o300 != 0o300 && !parent.is_empty() => {
                self.lent.entry(parent.to_vec()).or_insert(mode);
                self.set_mode(parent, mode | 0o700)?;
                self.root.readable(shown)
            }
            Some(_) | None => dir,
        }
    }

    fn set_mode(&self, path: &[u8], mode: u32) -> io::Result<()> {
        self.root.entry(Path::new(OsStr::from_bytes(path)))?.set_dir_mode(mode)
    }

    /// Whether a name is what the plan saw there.
    fn is_as_seen(&self, dir: impl AsFd, name: &OsStr, path: &[u8]) -> io::Result<bool> {
        let seen = self.index.get(path);
        match rustix::fs::statat(dir, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => Ok(seen.is_some_and(|seen| seen.mark.is_same_file(&Mark::of(&stat)))),
            Err(Errno::NOENT) => Ok(seen.is_none()),
            Err(errno) => Err(errno.into()),
        }
    }

    fn remove(&mut self, change: &PathChange) -> io::Result<Outcome> {
        let dir = self.folder_of(&change.path)?;
        let name = name_of(&change.path);
        if !self.is_as_seen(&dir, name, &change.path)? {
            return Ok(Outcome::Moved);
        }
        let aside = aside_name(name);
        rustix::fs::renameat_with(&dir, name, &dir, &aside, RenameFlags::NOREPLACE)?;
        if !self.is_as_seen(&dir, &aside, &change.path)? {
            // Someone put another file there in that very moment: it goes back.
            rustix::fs::renameat_with(&dir, &aside, &dir, name, RenameFlags::NOREPLACE)?;
            return Ok(Outcome::Moved);
        }
        rustix::fs::unlinkat(&dir, &aside, AtFlags::empty())?;
        Ok(Outcome::Done)
    }

    fn remove_folder(&mut self, change: &PathChange) -> io::Result<Outcome> {
        let dir = self.folder_of(&change.path)?;
        self.lent.remove(&change.path);
        match rustix::fs::unlinkat(&dir, name_of(&change.path), AtFlags::REMOVEDIR) {
            Ok(()) | Err(Errno::NOENT) => Ok(Outcome::Done),
            Err(Errno::NOTEMPTY | Errno::EXIST) => Ok(Outcome::NotEmpty),
            Err(errno) => Err(errno.into()),
        }
    }

    fn make_folder(&mut self, change: &PathChange) -> io::Result<Outcome> {
        let dir = self.folder_of(&change.path)?;
        match rustix::fs::mkdirat(&dir, name_of(&change.path), Mode::from_raw_mode(0o700)) {
            Ok(()) => Ok(Outcome::Done),
            // Someone else made it meanwhile; what belongs in it comes next.
            Err(Errno::EXIST) => Ok(Outcome::Done),
            Err(errno) => Err(errno.into()),
        }
    }

    /// Puts a file or a link in its place.
    fn put(&mut self, change: &PathChange) -> io::Result<Outcome> {
        let Some(node) = change.to else { return Ok(Outcome::Done) };
        let dir = self.folder_of(&change.path)?;
        let name = name_of(&change.path);
        let replaces = change.from.is_some_and(|from| !from.is_folder());
        if replaces && !self.is_as_seen(&dir, name, &change.path)? {
            return Ok(Outcome::Moved);
        }
        // Rights belong to the file: where it has other names, this one gets a file of its own.
        let is_own = self.index.get(&change.path).is_some_and(|seen| !seen.mark.is_shared());
        let same = |from: &Node| is_own && from.entry == node.entry && matches!(from.entry, Entry::File { .. });
        if let Some(from) = change.from.filter(same) {
            return self.set_file_rights(&dir, name, (&from, &node));
        }
        let aside = aside_name(name);
        self.write(&dir, &aside, &node).inspect_err(|_| discard(&dir, &aside))?;
        if !replaces {
            return match rustix::fs::renameat_with(&dir, &aside, &dir, name, RenameFlags::NOREPLACE) {
                Ok(()) => Ok(Outcome::Done),
                Err(Errno::EXIST) => {
                    discard(&dir, &aside);
                    Ok(Outcome::Moved)
                }
                Err(errno) => {
                    discard(&dir, &aside);
                    Err(errno.into())
                }
            };
        }
        rustix::fs::renameat_with(&dir, &aside, &dir, name, RenameFlags::EXCHANGE)
            .inspect_err(|_| discard(&dir, &aside))?;
        if !self.is_as_seen(&dir, &aside, &change.path)? {
            rustix::fs::renameat_with(&dir, &aside, &dir, name, RenameFlags::EXCHANGE)?;
            discard(&dir, &aside);
            return Ok(Outcome::Moved);
        }
        let links = rustix::fs::statat(&dir, &aside, AtFlags::SYMLINK_NOFOLLOW).map_or(1, |stat| stat.st_nlink);
        if links > 1 {
            self.done.unlinked.push(change.path());
        }
        discard(&dir, &aside);
        Ok(Outcome::Done)
    }

    /// Puts the version that was not wanted here beside the one that stays.
    fn put_beside(&mut self, path: &[u8], node: &Node, plan: &Plan) -> io::Result<PathBuf> {
        let step = plan.steps.first().copied().unwrap_or_default();
        let name = name_of(path).to_string_lossy().into_owned();
        // A person may have taken the folder away: then it is put at the top.
        let (dir, parent) = match self.folder_of(path) {
            Ok(dir) => (dir, path_of(path).parent().map(Path::to_owned).unwrap_or_default()),
            Err(_) => (self.root.readable(Path::new(""))?, PathBuf::new()),
        };
        let aside = aside_name(OsStr::new(&name));
        self.write(&dir, &aside, node).inspect_err(|_| discard(&dir, &aside))?;
        for number in 1..BESIDE_MAX {
            let more = if number == 1 { String::new() } else { format!("-{number}") };
            let beside = format!("{name}.before-step-{step}{more}");
            match rustix::fs::renameat_with(&dir, &aside, &dir, beside.as_str(), RenameFlags::NOREPLACE) {
                Ok(()) => return Ok(parent.join(beside)),
                Err(Errno::EXIST) => {}
                Err(errno) => {
                    discard(&dir, &aside);
                    return Err(errno.into());
                }
            }
        }
        discard(&dir, &aside);
        Err(io::ErrorKind::AlreadyExists.into())
    }

    /// Writes a new file or link with all its rights.
    fn write(&self, dir: &OwnedFd, name: &OsStr, node: &Node) -> io::Result<()> {
        let lost = |error: UndoError| io::Error::other(error.to_string());
        match node.entry {
            Entry::Link { target } => {
                let Contents::Small(target) = self.objects.contents(&target).map_err(lost)? else {
                    return Err(io::ErrorKind::InvalidData.into());
                };
                rustix::fs::symlinkat(OsStr::from_bytes(&target), dir, name)?;
                Ok(())
            }
            Entry::File { contents, .. } => {
                let contents = self.objects.contents(&contents).map_err(lost)?;
                let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
                let mut file = File::from(rustix::fs::openat(dir, name, flags, Mode::from_raw_mode(0o600))?);
                match contents {
                    Contents::Small(bytes) => file.write_all(&bytes)?,
                    Contents::Large(mut from) => {
                        io::copy(&mut from, &mut file)?;
                    }
                }
                self.set_rights(&file, node)
            }
            Entry::Folder | Entry::Unsaved { .. } => Err(io::ErrorKind::InvalidInput.into()),
        }
    }

    /// Sets the rights of a file that holds the right contents already.
    fn set_file_rights(&self, dir: &OwnedFd, name: &OsStr, (from, to): (&Node, &Node)) -> io::Result<Outcome> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = match rustix::fs::openat(dir, name, flags, Mode::empty()) {
            Ok(file) => File::from(file),
            Err(Errno::ACCESS) => {
                rustix::fs::chmodat(dir, name, Mode::from_raw_mode(from.rights.mode | 0o600), AtFlags::empty())?;
                File::from(rustix::fs::openat(dir, name, flags, Mode::empty())?)
            }
            Err(errno) => return Err(errno.into()),
        };
        if from.attributes != to.attributes {
            self.drop_attributes(&file, from)?;
        }
        self.set_rights(&file, to)?;
        Ok(Outcome::Done)
    }

    fn folder_rights(&mut self, path: &[u8], node: &Node) -> io::Result<()> {
        let shown = Path::new(OsStr::from_bytes(path));
        if let Ok(dir) = self.root.readable(shown) {
            return self.set_rights(&dir, node);
        }
        // Closed to us: its bits are all that can be set.
        self.set_mode(path, node.rights.mode)
    }

    fn set_rights(&self, file: impl AsFd, node: &Node) -> io::Result<()> {
        let stat = rustix::fs::fstat(&file)?;
        if (stat.st_uid, stat.st_gid) != (node.rights.user, node.rights.group) {
            let (user, group) =
                (rustix::process::Uid::from_raw(node.rights.user), rustix::process::Gid::from_raw(node.rights.group));
            // An ordinary user cannot give files away: then they are his.
            rustix::fs::fchown(&file, Some(user), Some(group)).ok();
        }
        rustix::fs::fchmod(&file, Mode::from_raw_mode(node.rights.mode))?;
        for (name, value) in self.attributes(node)? {
            rustix::fs::fsetxattr(&file, OsStr::from_bytes(&name), &value, rustix::fs::XattrFlags::empty())?;
        }
        Ok(())
    }

    fn drop_attributes(&self, file: &File, from: &Node) -> io::Result<()> {
        for (name, _) in self.attributes(from)? {
            rustix::fs::fremovexattr(file, OsStr::from_bytes(&name)).ok();
        }
        Ok(())
    }

    fn attributes(&self, node: &Node) -> io::Result<Vec<(Vec<u8>, Vec<u8>)>> {
        let Some(digest) = node.attributes else { return Ok(Vec::new()) };
        let Ok(Contents::Small(bytes)) = self.objects.contents(&digest) else {
            return Err(io::Error::other("its attributes are not in the store any more"));
        };
        let mut from = Decoder(&bytes);
        let mut list = Vec::new();
        while let (false, Some(name), Some(value)) = (from.is_empty(), from.bytes(), from.bytes()) {
            list.push((name.to_vec(), value.to_vec()));
        }
        Ok(list)
    }
}

/// Whether an act on a name is the last one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Last {
    Yes,
    No,
}

impl Last {
    /// What takes a name away is the last act on it, unless something else comes to its place.
    const fn of_removal(change: &PathChange) -> Self {
        if change.to.is_none() { Self::Yes } else { Self::No }
    }
}

fn name_of(path: &[u8]) -> &OsStr {
    let name = path.rsplit(|byte| *byte == b'/').next().unwrap_or(path);
    OsStr::from_bytes(name)
}

fn discard(dir: &OwnedFd, name: &OsStr) {
    rustix::fs::unlinkat(dir, name, AtFlags::empty()).ok();
}

/// A name for a moment, that no one else uses.
fn aside_name(name: &OsStr) -> OsString {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let stem = &name.as_bytes()[..name.len().min(STEM_BYTES_MAX)];
    let stem = String::from_utf8_lossy(stem);
    OsString::from(format!(".{stem}.tripwire-undo-{}-{number}", std::process::id()))
}

/// How much of a name is in that of its draft: names may have 255 bytes in all.
const STEM_BYTES_MAX: usize = 60;
/// Names that are tried for the other version of a file.
const BESIDE_MAX: u32 = 1_000;
