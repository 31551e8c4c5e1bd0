//! People's controls: what stands in the control files now, compared with what was seen before.
//!
//! No daemon watches. Every step looks with a handful of `stat` calls; the manifest is read only when its mark moved.
//! A look gives facts, never decisions: the driver journals them and the engine decides. Looking fails closed: what
//! cannot be looked at is an error, and a `.geometry/` that vanished is not taken for reports that a person removed.

mod compare;
pub mod order;
mod policy;

use crate::geometry::layout::Layout;
use crate::geometry::manifest::{Bit, Live, MANIFEST_BYTES_MAX, Manifest};
use crate::geometry::wall_clock::WallClock;
use order::Note;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use tripwire_core::explain::{ExitClass, Explain};
use tripwire_fs::file::{FileAction, FileError, read_bounded, write_unsynced};

/// A file whose presence alone says something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ControlFile {
    /// `STOP`: a person's order to stop, which also blocks new sessions.
    Stop,
    /// `PAUSE`: a person's order to pause; removing it resumes.
    Pause,
    /// `BLOCKER_REPORT.md`: ours; removing it clears the block.
    BlockerReport,
    /// `CHECKPOINT.md`: ours; removing it acknowledges.
    Checkpoint,
}

impl ControlFile {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Stop, Self::Pause, Self::BlockerReport, Self::Checkpoint];

    /// Where it lives.
    #[must_use]
    pub fn path(self, layout: &Layout) -> PathBuf {
        match self {
            Self::Stop => layout.stop(),
            Self::Pause => layout.pause(),
            Self::BlockerReport => layout.blocker_report(),
            Self::Checkpoint => layout.checkpoint(),
        }
    }
}

/// Something that a person did since the last look.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "fact", rename_all = "snake_case")]
pub enum ControlFact {
    /// A control file is there that was not.
    Appeared {
        /// Which.
        file: ControlFile,
        /// What its author wrote into it; empty for a file that was only touched.
        note: Note,
    },
    /// A control file is gone.
    Removed {
        /// Which.
        file: ControlFile,
    },
    /// A counter was edited: honoured, as a manual override.
    CounterEdited {
        /// Which.
        counter: Counter,
        /// The value that was last seen.
        from: u64,
        /// The value now.
        to: u64,
    },
    /// A bit was edited: honoured, as a manual override.
    BitEdited {
        /// Which.
        bit: ManifestBit,
        /// The value that was last seen; nothing for `null`.
        from: Option<Bit>,
        /// The value now.
        to: Option<Bit>,
    },
    /// The list of tool signatures was edited.
    SignaturesEdited {
        /// How many there are now.
        count: u64,
    },
    /// The time of the last compaction was edited.
    LastCompactionEdited {
        /// The value now.
        to: Option<String>,
    },
    /// A threshold or another frozen setting was edited: not applied, `POLICY_DRIFT`.
    SettingDrift {
        /// The dotted path.
        path: String,
        /// The value that was last seen; nothing for a key that was not there.
        from: Option<String>,
        /// The value now; nothing for a key that is gone.
        to: Option<String>,
    },
    /// The manifest is missing or cannot be accepted: the guard holds until a person fixes it.
    ManifestRefused {
        /// Why, in one line.
        reason: String,
        /// What to do about it.
        hint: String,
    },
    /// The manifest can be accepted again.
    ManifestAccepted,
}

/// The counters of the manifest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Counter {
    /// `safety.iteration_count`.
    IterationCount,
    /// `safety.consecutive_failures`.
    ConsecutiveFailures,
    /// `context.estimated_usage_pct`.
    EstimatedUsagePct,
}

/// The bits of the manifest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ManifestBit {
    /// `safety.loop_detected`.
    LoopDetected,
    /// `dirty_bits.code_modified`.
    CodeModified,
    /// `dirty_bits.tests_run`.
    TestsRun,
    /// `dirty_bits.tests_passing`.
    TestsPassing,
    /// `dirty_bits.docs_updated`.
    DocsUpdated,
}

/// What the last look saw: small, and kept with the session's state.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Seen {
    files: BTreeSet<ControlFile>,
    mark: Option<Mark>,
    digest: Option<String>,
    accepted: Option<Accepted>,
    /// Counters and bits as this session showed them last; another session may have shown its own since.
    shown: Option<Live>,
    refused: Option<String>,
    /// The policy file: the digest that was frozen, the mark and the digest that were seen last.
    policy: policy::SeenPolicy,
}

impl Seen {
    /// Notes the policy file that the session froze, which every later look is compared with.
    pub fn froze_policy(&mut self, digest: Option<tripwire_core::record::chain::Digest>) {
        self.policy = policy::SeenPolicy::frozen(digest);
    }

    /// Whether a control file stood there at the last look.
    #[must_use]
    pub fn has(&self, file: ControlFile) -> bool {
        self.files.contains(&file)
    }

    /// Why the manifest was not accepted at the last look, if it was not.
    #[must_use]
    pub fn refused(&self) -> Option<&str> {
        self.refused.as_deref()
    }

    /// Counters and bits as they were last accepted.
    #[must_use]
    pub fn live(&self) -> Option<&Live> {
        self.accepted.as_ref().map(|accepted| &accepted.live)
    }

    /// Counters and bits as this session showed them last, or found them at its beginning.
    #[must_use]
    pub fn shown(&self) -> Option<&Live> {
        self.shown.as_ref().or_else(|| self.live())
    }

    /// Notes a manifest in which this session showed its counters and bits.
    pub fn showed(&mut self, manifest: &Manifest) {
        self.wrote_manifest(manifest);
        self.shown = Some(manifest.live().clone());
    }

    /// Notes a manifest that *we* wrote, so that the next look does not take it for a person's edit.
    pub fn wrote_manifest(&mut self, manifest: &Manifest) {
        self.digest = Some(digest(manifest.text().as_bytes()));
        self.accepted = Some(Accepted::of(manifest));
        self.refused = None;
        // No mark: a person may have edited between our write and now, so the next look compares the contents.
        self.mark = None;
    }

    /// Notes a control file that *we* wrote or removed.
    pub fn set(&mut self, file: ControlFile, presence: Presence) {
        match presence {
            Presence::There => self.files.insert(file),
            Presence::Gone => self.files.remove(&file),
        };
    }
}

/// Whether a control file is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Presence {
    /// It is.
    There,
    /// It is not.
    Gone,
}

/// The parts of a manifest that edits are compared against.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Accepted {
    live: Live,
    settings: BTreeMap<String, String>,
}

impl Accepted {
    fn of(manifest: &Manifest) -> Self {
        let settings = manifest.settings().into_iter().map(|scalar| (scalar.path, scalar.text)).collect();
        Self { live: manifest.live().clone(), settings }
    }
}

/// What tells two versions of a file apart without reading it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Mark {
    inode: u64,
    size: u64,
    modified_ns: i64,
    changed_ns: i64,
    seen_at: WallClock,
}

/// What a look found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Look {
    /// What changed since the last look, in a fixed order.
    pub facts: Vec<ControlFact>,
    /// What to compare the next look with.
    pub seen: Seen,
}

/// Why a look was not possible; the caller holds.
#[derive(Debug, thiserror::Error)]
pub enum ControlError {
    /// The whole folder is gone, so that nothing can be concluded from missing files.
    #[error("`{}` is gone or no folder", path.display())]
    FolderGone {
        /// The folder.
        path: PathBuf,
    },
    /// The file system refused.
    #[error(transparent)]
    File(#[from] FileError),
}

impl Explain for ControlError {
    fn hint(&self) -> Cow<'_, str> {
        match self {
            Self::FolderGone { path } => format!("put `{}` back, or start a new session", path.display()).into(),
            Self::File(error) => error.hint(),
        }
    }

    fn exit_class(&self) -> ExitClass {
        ExitClass::DoesNotHold
    }
}

/// Looks at the control files and tells what changed. `now` only judges how fresh a file's times are.
pub fn look(layout: &Layout, before: &Seen, now: WallClock) -> Result<Look, ControlError> {
    if !layout.folder().symlink_metadata().is_ok_and(|folder| folder.is_dir()) {
        return Err(ControlError::FolderGone { path: layout.folder().to_owned() });
    }
    let (mut facts, mut seen) = (Vec::new(), before.clone());
    for file in ControlFile::ALL {
        let there = stat(&file.path(layout))?.is_some();
        if there && seen.files.insert(file) {
            facts.push(ControlFact::Appeared { file, note: Note::read(&file.path(layout)) });
        } else if !there && seen.files.remove(&file) {
            facts.push(ControlFact::Removed { file });
        }
    }
    look_at_manifest(layout, now, &mut seen, &mut facts)?;
    policy::look(&layout.policy(), now, &mut seen.policy, &mut facts)?;
    Ok(Look { facts, seen })
}

/// Looks at the manifest: by its mark, then by its digest, and only then by reading it.
fn look_at_manifest(
    layout: &Layout,
    now: WallClock,
    seen: &mut Seen,
    facts: &mut Vec<ControlFact>,
) -> Result<(), ControlError> {
    let path = &layout.manifest();
    let mark = stat(path)?.map(|metadata| Mark::of(&metadata, now));
    if let (Some(mark), Some(before)) = (&mark, &seen.mark)
        && before.still_means(mark)
    {
        return Ok(());
    }
    // A file that is read while someone writes it is read again at the next look, because its mark moved on.
    let bytes = read_bounded(path, MANIFEST_BYTES_MAX);
    let found = bytes.as_deref().ok().map(digest);
    seen.mark = mark;
    if found.is_some() && found == seen.digest {
        return Ok(());
    }
    let ours = found.as_deref().is_some_and(|found| is_shown(layout, found));
    seen.digest = found;
    let read = match bytes {
        Ok(bytes) => Manifest::parse(path, bytes),
        // Loading says why in the words of the manifest; if it works now, the better.
        Err(_) => Manifest::load(path),
    };
    match read {
        Ok(manifest) if manifest.is_empty() => {
            let reason = format!("`{}` is empty", path.display());
            refuse(seen, facts, reason, "write it back, or remove it and start a new session".to_owned());
        }
        Ok(manifest) => {
            let mut accepted = Accepted::of(&manifest);
            if let Some(before) = &seen.accepted {
                accepted.live = manifest.live_over(&before.live);
            }
            if seen.refused.take().is_some() {
                facts.push(ControlFact::ManifestAccepted);
            }
            if let Some(before) = &mut seen.accepted {
                // Another session of ours showed its own counters and bits: they are neither this session's nor a person's.
                if ours {
                    before.live = accepted.live.clone();
                }
                compare::edits(before, &accepted, facts);
            }
            seen.accepted = Some(accepted);
        }
        Err(error) => refuse(seen, facts, error.to_string(), error.hint().into_owned()),
    }
    Ok(())
}

/// Tells every session that this text of the manifest is ours and no person's. Before it is written: whoever looks in between
/// sees the text before it.
pub fn will_show(layout: &Layout, text: &str) -> Result<(), FileError> {
    write_unsynced(&layout.shown_manifest(), digest(text.as_bytes()).as_bytes())
}

/// Whether the manifest with this digest was written by one of our sessions.
fn is_shown(layout: &Layout, found: &str) -> bool {
    read_bounded(&layout.shown_manifest(), 1_024).is_ok_and(|shown| shown == found.as_bytes())
}

/// Notes a manifest that is not accepted; the same refusal is told once.
fn refuse(seen: &mut Seen, facts: &mut Vec<ControlFact>, reason: String, hint: String) {
    if seen.refused.as_ref() != Some(&reason) {
        facts.push(ControlFact::ManifestRefused { reason: reason.clone(), hint });
    }
    seen.refused = Some(reason);
}

impl Mark {
    fn of(metadata: &std::fs::Metadata, seen_at: WallClock) -> Self {
        let nanoseconds = |seconds: i64, rest: i64| seconds.saturating_mul(1_000_000_000).saturating_add(rest);
        Self {
            inode: metadata.ino(),
            size: metadata.size(),
            modified_ns: nanoseconds(metadata.mtime(), metadata.mtime_nsec()),
            changed_ns: nanoseconds(metadata.ctime(), metadata.ctime_nsec()),
            seen_at,
        }
    }

    /// Whether a file with this mark certainly holds what it held then.
    ///
    /// File times move in steps of some milliseconds. A file that was looked at within that time of its last change
    /// may have changed again without its times showing it, so such a mark proves nothing.
    fn still_means(&self, now: &Self) -> bool {
        let same = (self.inode, self.size, self.modified_ns, self.changed_ns)
            == (now.inode, now.size, now.modified_ns, now.changed_ns);
        let settled_ms = self.changed_ns.max(self.modified_ns) / 1_000_000 + FILE_TIME_STEP_MS;
        same && i64::try_from(self.seen_at.epoch_ms()).is_ok_and(|seen_ms| seen_ms > settled_ms)
    }
}

/// Looks at a file without following a link; a missing file is no error, everything else is.
fn stat(path: &Path) -> Result<Option<std::fs::Metadata>, FileError> {
    match path.symlink_metadata() {
        Ok(metadata) => Ok(Some(metadata)),
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(cause) => Err(FileError::at(path, FileAction::Inspect)(cause)),
    }
}

/// SHA-256 in hexadecimal.
fn digest(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The coarsest step in which a local file system moves its times, with room to spare.
const FILE_TIME_STEP_MS: i64 = 50;

#[cfg(test)]
mod tests;
