//! The change set of a stage: sorted, complete, and named by one SHA-256, so that a review can bind to it.

use std::collections::BTreeMap;
use std::fs;
use std::io::Read as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};
use tripwire_core::record::chain::Digest;

use crate::error::StageError;
use tripwire_fs::beneath::{EntryKind, HeldFolder, leads_nowhere};

/// Tells these hashes from all others.
const DOMAIN: &[u8] = b"tripwire change set 1\0";
const READ_BYTES: usize = 64 * 1024;

/// The runtime's own records: they grow while a command runs, no command may write them, and so they are never staged.
pub(crate) const RECORDS: &str = ".geometry";

/// What a path is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Node {
    File { digest: Digest, bytes: u64, mode: u32 },
    Dir { mode: u32 },
    Link { target: PathBuf },
}

/// The kinds of changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChangeKind {
    /// The path is new.
    Add,
    /// Its content, mode or kind differs.
    Modify,
    /// It is gone.
    Delete,
}

impl ChangeKind {
    /// The name used in results.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Add => "add",
            Self::Modify => "modify",
            Self::Delete => "delete",
        }
    }
}

/// One changed path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    pub(crate) path: PathBuf,
    pub(crate) before: Option<Node>,
    pub(crate) after: Option<Node>,
}

impl Change {
    /// The path, relative to the workspace.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What happens to it.
    #[must_use]
    pub fn kind(&self) -> ChangeKind {
        match (&self.before, &self.after) {
            (None, Some(_) | None) => ChangeKind::Add,
            (Some(_), Some(_)) => ChangeKind::Modify,
            (Some(_), None) => ChangeKind::Delete,
        }
    }

    /// The new state in words: kind, mode, size and digest; and the link that gives way to it, because a reader would not
    /// guess it from the new state.
    #[must_use]
    pub fn summary(&self) -> String {
        let new = self.new_state();
        match (&self.before, &self.after) {
            (Some(Node::Link { target }), Some(Node::Dir { .. } | Node::File { .. })) => {
                format!("{new}, instead of a link to `{}`", target.display())
            }
            (None | Some(Node::File { .. } | Node::Dir { .. } | Node::Link { .. }), _) => new,
        }
    }

    fn new_state(&self) -> String {
        match self.after.as_ref().or(self.before.as_ref()) {
            Some(Node::File { digest, bytes, mode }) => format!("file {mode:04o} {bytes} bytes sha256 {digest}"),
            Some(Node::Dir { mode }) => format!("folder {mode:04o}"),
            Some(Node::Link { target }) => format!("link to `{}`", target.display()),
            None => String::new(),
        }
    }
}

/// All changes of a stage.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ChangeSet(Vec<Change>);

impl ChangeSet {
    /// The changes in path order.
    #[must_use]
    pub fn changes(&self) -> &[Change] {
        &self.0
    }

    /// The name of exactly these changes to exactly this state: every path with its old and new content, mode and kind.
    #[must_use]
    pub fn digest(&self) -> Digest {
        let mut hash = Sha256::new();
        hash.update(DOMAIN);
        for change in &self.0 {
            field(&mut hash, change.path.as_os_str().as_bytes());
            node(&mut hash, change.before.as_ref());
            node(&mut hash, change.after.as_ref());
        }
        Digest::from_bytes(hash.finalize().into())
    }

    fn from_pairs(pairs: BTreeMap<PathBuf, (Option<Node>, Option<Node>)>) -> Self {
        let mut changes: Vec<Change> = pairs
            .into_iter()
            .filter(|(_, (before, after))| before != after)
            .map(|(path, (before, after))| Change { path, before, after })
            .collect();
        // Bytes, not components: the order must not depend on how a path type compares.
        changes.sort_by(|a, b| a.path.as_os_str().as_bytes().cmp(b.path.as_os_str().as_bytes()));
        Self(changes)
    }
}

fn field(hash: &mut Sha256, bytes: &[u8]) {
    hash.update((bytes.len() as u64).to_le_bytes());
    hash.update(bytes);
}

fn node(hash: &mut Sha256, node: Option<&Node>) {
    match node {
        None => hash.update([0]),
        Some(Node::File { digest, bytes, mode }) => {
            hash.update([1]);
            hash.update(digest.as_bytes());
            hash.update(bytes.to_le_bytes());
            hash.update(mode.to_le_bytes());
        }
        Some(Node::Dir { mode }) => {
            hash.update([2]);
            hash.update(mode.to_le_bytes());
        }
        Some(Node::Link { target }) => {
            hash.update([3]);
            field(hash, target.as_os_str().as_bytes());
        }
    }
}

type Pairs = BTreeMap<PathBuf, (Option<Node>, Option<Node>)>;

/// The changes of an overlay's upper folder against the workspace below it.
pub(crate) fn of_overlay(lower: &Path, upper: &Path) -> Result<ChangeSet, StageError> {
    let tops = (open_top(lower)?, open_top(upper)?);
    let mut overlay = Overlay { lower, upper, tops, pairs: Pairs::new() };
    overlay.folder(Path::new(""))?;
    Ok(ChangeSet::from_pairs(overlay.pairs))
}

struct Overlay<'a> {
    lower: &'a Path,
    upper: &'a Path,
    /// The two trees again, held open.
    tops: (HeldFolder, HeldFolder),
    pairs: Pairs,
}

impl Overlay<'_> {
    fn folder(&mut self, below: &Path) -> Result<(), StageError> {
        let dir = self.upper.join(below);
        for name in names(&dir)? {
            self.entry(&below.join(name))?;
        }
        Ok(())
    }

    fn entry(&mut self, path: &Path) -> Result<(), StageError> {
        let full = self.upper.join(path);
        let meta = fs::symlink_metadata(&full).map_err(|source| StageError::Read { path: full.clone(), source })?;
        if meta.file_type().is_char_device() && meta.rdev() == 0 {
            return self.delete(path);
        }
        // A folder of the workspace that is a link there has nothing below it that a change could touch: what the command wrote
        // under that name stands in a folder of its own, which takes the link's place.
        let before = read_node(&self.tops.0, path)?;
        let after = read_node(&self.tops.1, path)?;
        let was_dir = matches!(before, Some(Node::Dir { .. }));
        let is_dir = meta.is_dir();
        let hides_lower = !is_dir || is_opaque(&full);
        self.pairs.insert(path.to_path_buf(), (before, after));
        if was_dir && hides_lower {
            // Everything that was in the folder and is not in the new one is gone.
            for name in names(&self.lower.join(path))? {
                if !full.join(&name).symlink_metadata().is_ok_and(|_| is_dir) {
                    self.delete(&path.join(name))?;
                }
            }
        }
        if is_dir { self.folder(path) } else { Ok(()) }
    }

    /// The path and everything that was below it is gone.
    fn delete(&mut self, path: &Path) -> Result<(), StageError> {
        let before = read_node(&self.tops.0, path)?;
        if matches!(before, Some(Node::Dir { .. })) {
            for name in names(&self.lower.join(path))? {
                self.delete(&path.join(name))?;
            }
        }
        if before.is_some() {
            self.pairs.insert(path.to_path_buf(), (before, None));
        }
        Ok(())
    }
}

/// Whether a folder of the upper layer stands alone instead of being merged with the lower one.
fn is_opaque(path: &Path) -> bool {
    #[cfg(target_os = "linux")]
    {
        let mut value = [0_u8; 1];
        rustix::fs::lgetxattr(path, "user.overlay.opaque", &mut value[..])
            .is_ok_and(|length| length == 1 && value == *b"y")
    }
    #[cfg(not(target_os = "linux"))]
    {
        let _ = path;
        false
    }
}

/// The changes of a whole copy against the workspace.
pub(crate) fn of_copy(workspace: &Path, copy: &Path) -> Result<ChangeSet, StageError> {
    let mut pairs = Pairs::new();
    let mut before = |path, node| pairs.entry(path).or_default().0 = Some(node);
    collect(workspace, &open_top(workspace)?, Path::new(""), &mut before)?;
    let mut after = |path, node| pairs.entry(path).or_default().1 = Some(node);
    collect(copy, &open_top(copy)?, Path::new(""), &mut after)?;
    Ok(ChangeSet::from_pairs(pairs))
}

fn collect(
    tree: &Path,
    top: &HeldFolder,
    below: &Path,
    found: &mut dyn FnMut(PathBuf, Node),
) -> Result<(), StageError> {
    for name in names(&tree.join(below))? {
        let path = below.join(name);
        if path == Path::new(RECORDS) {
            continue;
        }
        let node = match read_node(top, &path) {
            Ok(Some(node)) => node,
            // Sockets and pipes are not copied, so they are no difference.
            Ok(None) | Err(StageError::Unsupported { .. }) => continue,
            Err(error) => return Err(error),
        };
        let is_dir = matches!(node, Node::Dir { .. });
        found(path.clone(), node);
        if is_dir {
            collect(tree, top, &path, found)?;
        }
    }
    Ok(())
}

fn names(dir: &Path) -> Result<Vec<std::ffi::OsString>, StageError> {
    let at = |source| StageError::Read { path: dir.to_path_buf(), source };
    let mut names = fs::read_dir(dir)
        .map_err(at)?
        .map(|entry| Ok(entry.map_err(at)?.file_name()))
        .collect::<Result<Vec<_>, StageError>>()?;
    names.sort();
    Ok(names)
}

/// The state of a path below `top`, if it exists there. What is reached only through a link is not there: it belongs to
/// whatever the link points at.
pub(crate) fn read_node(top: &HeldFolder, path: &Path) -> Result<Option<Node>, StageError> {
    let at = |source| StageError::Read { path: path.to_path_buf(), source };
    let place = match top.entry(path) {
        Ok(place) => place,
        Err(error) if leads_nowhere(&error) => return Ok(None),
        Err(error) => return Err(at(error)),
    };
    match place.kind().map_err(at)? {
        EntryKind::Nothing => Ok(None),
        EntryKind::Dir { mode } => Ok(Some(Node::Dir { mode })),
        EntryKind::Link => Ok(Some(Node::Link { target: place.link_target().map_err(at)? })),
        EntryKind::File { mode } => {
            let (digest, bytes) = place.open_file().and_then(digest_of).map_err(at)?;
            Ok(Some(Node::File { digest, bytes, mode }))
        }
        EntryKind::Special(..) => Err(StageError::Unsupported {
            path: path.to_path_buf(),
            why: "only files, folders and links can be staged",
        }),
    }
}

/// Opens a tree that changes are read from.
pub(crate) fn open_top(path: &Path) -> Result<HeldFolder, StageError> {
    HeldFolder::open(path).map_err(|source| StageError::Read { path: path.to_path_buf(), source })
}

fn digest_of(mut file: fs::File) -> std::io::Result<(Digest, u64)> {
    let (mut hash, mut total) = (Sha256::new(), 0_u64);
    let mut buffer = vec![0_u8; READ_BYTES];
    loop {
        let count = file.read(&mut buffer)?;
        if count == 0 {
            return Ok((Digest::from_bytes(hash.finalize().into()), total));
        }
        hash.update(buffer.get(..count).unwrap_or_default());
        total += count as u64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::Scratch;
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    fn folder() -> Scratch {
        let dir = Scratch::new();
        fs::create_dir_all(dir.join("a/sub")).expect("a folder");
        fs::create_dir_all(dir.join("b/sub")).expect("a folder");
        dir
    }

    fn listed(set: &ChangeSet) -> Vec<String> {
        set.changes().iter().map(|change| format!("{} {}", change.kind().name(), change.path().display())).collect()
    }

    #[test]
    fn the_runtimes_own_records_are_no_change_of_a_copy() {
        let dir = Scratch::new();
        let (a, b) = (dir.join("a"), dir.join("b"));
        for top in [&a, &b] {
            fs::create_dir_all(top).expect("a folder");
        }
        fs::create_dir_all(a.join(".geometry/journal")).expect("a folder");
        fs::write(b.join("new"), "x").expect("write");
        let changes = of_copy(&a, &b).expect("compares");
        let paths: Vec<&Path> = changes.changes().iter().map(Change::path).collect();
        assert_eq!(paths, [Path::new("new")]);
    }

    #[test]
    fn equal_trees_have_no_changes_and_every_kind_of_change_is_seen() {
        let dir = folder();
        let (a, b) = (dir.join("a"), dir.join("b"));
        for top in [&a, &b] {
            fs::write(top.join("same"), "same").expect("write");
            fs::write(top.join("sub/mode"), "x").expect("write");
        }
        assert!(of_copy(&a, &b).expect("compares").changes().is_empty());
        fs::write(a.join("gone"), "x").expect("write");
        fs::write(b.join("same"), "other").expect("write");
        fs::write(b.join("new"), "x").expect("write");
        symlink("new", b.join("link")).expect("link");
        fs::set_permissions(b.join("sub/mode"), fs::Permissions::from_mode(0o755)).expect("mode");
        let set = of_copy(&a, &b).expect("compares");
        assert_eq!(listed(&set), ["delete gone", "add link", "add new", "modify same", "modify sub/mode"]);
    }

    #[test]
    fn the_digest_changes_with_content_mode_target_and_base_and_with_nothing_else() {
        let dir = folder();
        let (a, b) = (dir.join("a"), dir.join("b"));
        fs::write(b.join("f"), "one").expect("write");
        symlink("x", b.join("l")).expect("link");
        let digest = || of_copy(&a, &b).expect("compares").digest();
        let first = digest();
        assert_eq!(first, digest());
        fs::write(b.join("f"), "one").expect("write again");
        assert_eq!(first, digest(), "times do not count");
        let mut seen = vec![first];
        let mut check = |what: &str, now: Digest| {
            assert!(!seen.contains(&now), "{what} did not change the digest");
            seen.push(now);
        };
        fs::write(b.join("f"), "two").expect("write");
        check("content", digest());
        fs::set_permissions(b.join("f"), fs::Permissions::from_mode(0o700)).expect("mode");
        check("mode", digest());
        fs::remove_file(b.join("l")).expect("remove");
        symlink("y", b.join("l")).expect("link");
        check("target", digest());
        fs::write(a.join("f"), "base").expect("write");
        check("base", digest());
        assert_eq!(first.to_string().parse::<Digest>(), Ok(first));
        assert!("12ab".parse::<Digest>().is_err());
    }
}
