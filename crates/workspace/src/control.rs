//! People's controls: the content of the control files, compared with what was seen before.
//!
//! No daemon watches. Every step looks with a handful of `stat` calls; the manifest is read only when its mark moved.
//! A look gives facts, never decisions: the driver journals them and the engine decides. Looking fails closed: what
//! cannot be looked at is an error, and a `.geometry/` that vanished is not taken for reports that a person removed.

mod absent;
mod compare;
mod fact;
mod kept_folder;
pub mod order;
mod policy;
mod watched;

pub(crate) use self::absent::AbsentFiles;
pub use self::absent::ControlLooks;
pub use self::fact::{ControlFact, ControlFile, Counter, ManifestBit};

use crate::geometry::layout::Layout;
use crate::geometry::manifest::{Live, MANIFEST_BYTES_MAX, Manifest};
use crate::geometry::wall_clock::WallClock;
use crate::mark::Mark;
use crate::policy_file::{self, PolicyFileError};
use crate::session::SessionId;
use compare::Accepted;
use order::Note;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::path::PathBuf;
use tripwire_core::explain::{ExitClass, Explain};
use tripwire_core::record::chain::Digest;
use tripwire_fs::file::{FileError, read_bounded, write_unsynced};

/// What the last look saw: small, and kept with the session's state.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Seen {
    files: BTreeSet<ControlFile>,
    /// Reports with a part that this session wrote.
    own: BTreeSet<ControlFile>,
    /// Whether the session has looked before: what is there at its first look stood before it began.
    looked: bool,
    mark: Option<Mark>,
    digest: Option<String>,
    accepted: Option<Accepted>,
    /// Counters and bits as this session showed them last; another session may have shown its own since.
    shown: Option<Live>,
    refused: Option<String>,
    /// The policy file: the digest that was frozen, the mark and the digest that were seen last.
    policy: policy::SeenPolicy,
    /// Files that the agent's client obeys.
    obeyed: Vec<watched::WatchedFile>,
}

impl Seen {
    /// Whether a later look finds the same from both of them: the marks of files only spare it a read.
    #[must_use]
    pub fn is_same_but_for_marks(&self, other: &Self) -> bool {
        let unmarked = |seen: &Self| {
            let mut seen = seen.clone();
            seen.mark = None;
            seen.policy.forget_mark();
            seen.obeyed.iter_mut().for_each(watched::WatchedFile::forget_mark);
            seen
        };
        self == other || unmarked(self) == unmarked(other)
    }

    /// Notes the policy file that the session froze, which every later look is compared with.
    pub fn froze_policy(&mut self, digest: Option<Digest>) {
        self.policy = policy::SeenPolicy::frozen(digest);
    }

    /// Notes the files that the agent's client obeys, as paths below the workspace: a change of one is reported.
    pub fn watch_obeyed<'a>(&mut self, layout: &Layout, names: impl Iterator<Item = &'a str>, now: WallClock) {
        self.obeyed = layout.workspace().map(|root| watched::begin(root, names, now)).unwrap_or_default();
    }

    /// Whether a control file was there at the last look.
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
        self.digest = Some(Digest::of(manifest.text().as_bytes()).to_string());
        self.accepted = Some(Accepted::of(manifest));
        self.refused = None;
        // No mark: a person may have edited between our write and now, so the next look compares the contents.
        self.mark = None;
    }

    /// The counters and bits in the manifest are not this session's: the next time it shows its own, all of them are written.
    pub fn disown_shown(&mut self) {
        self.shown = self.live().cloned();
    }

    /// Notes a report that *this session* wrote.
    pub fn wrote_report(&mut self, file: ControlFile) {
        self.files.insert(file);
        self.own.insert(file);
    }

    /// Notes a report that *this session* took back itself: other sessions' parts may stand.
    pub fn took_report_back(&mut self, file: ControlFile, presence: Presence) {
        self.own.remove(&file);
        match presence {
            Presence::There => {}
            Presence::Gone => drop(self.files.remove(&file)),
        }
    }

    /// What stands now is not held against the session: it is no new one, or another one answers for it.
    pub const fn accept_standing(&mut self) {
        self.looked = true;
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

/// What a look found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Look<'a> {
    /// What changed since the last look, in a fixed order.
    pub facts: Vec<ControlFact>,
    /// What to compare the next look with: what was seen before, where nothing moved.
    pub seen: Cow<'a, Seen>,
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

/// Looks at the control files for a session and lists what changed. `now` only judges how fresh a file's times are.
pub fn look<'a>(
    layout: &Layout,
    session: &SessionId,
    before: &'a Seen,
    now: WallClock,
) -> Result<Look<'a>, ControlError> {
    look_again(layout, session, before, now, &mut ControlLooks::default())
}

/// The same in a process that stays, which keeps what serves its next look.
pub fn look_again<'a>(
    layout: &Layout,
    session: &SessionId,
    before: &'a Seen,
    now: WallClock,
    looks: &mut ControlLooks,
) -> Result<Look<'a>, ControlError> {
    let folder = layout.folder().symlink_metadata().ok().filter(std::fs::Metadata::is_dir);
    let Some(folder) = folder else {
        return Err(ControlError::FolderGone { path: layout.folder().to_owned() });
    };
    looks.folder.begin(layout.folder(), &folder);
    looks.reports.begin(Some(&folder), now);
    let (mut facts, mut seen) = (Vec::new(), Cow::Borrowed(before));
    for file in ControlFile::ALL {
        let there = match file {
            // What stops an agent is always looked for.
            ControlFile::Stop | ControlFile::Pause => looks.folder.mark(&file.path(layout), now)?.is_some(),
            ControlFile::BlockerReport | ControlFile::Checkpoint => looks.reports.stat(&file.path(layout))?.is_some(),
        };
        // Read only where it matters: while a report stands that is new to this session, or that it wrote itself.
        let is_writer =
            || file.report().is_some_and(|report| report.writers(layout).iter().any(|one| one == session.as_str()));
        if there && !seen.files.contains(&file) {
            seen.to_mut().files.insert(file);
            if is_writer() {
                seen.to_mut().own.insert(file);
            } else if let Some(report) = file.report().filter(|_| !before.looked) {
                facts.push(ControlFact::Stood { file, about: report.about(layout) });
            } else {
                facts.push(ControlFact::Appeared { file, note: Note::read(&file.path(layout)) });
            }
            continue;
        }
        let own_part_gone = there && seen.own.contains(&file) && !is_writer();
        let gone = !there && seen.files.contains(&file);
        if own_part_gone || gone {
            let seen = seen.to_mut();
            seen.own.remove(&file);
            if gone {
                seen.files.remove(&file);
            }
            facts.push(ControlFact::Removed { file });
        }
    }
    if !seen.looked {
        seen.to_mut().looked = true;
    }
    let mark = looks.folder.mark(&layout.manifest(), now)?;
    look_at_manifest(layout, mark, &mut seen, &mut facts);
    let policy = layout.policy();
    if let Some(policy) = policy::look(&policy, || looks.folder.mark(&policy, now), &seen.policy, &mut facts)? {
        seen.to_mut().policy = policy;
    }
    if let Some(root) = layout.workspace() {
        looks.obeyed.begin(root.metadata().ok().as_ref(), now);
        for (at, file) in watched::look(root, &seen.obeyed, now, &mut looks.obeyed, &mut facts) {
            if let Some(known) = seen.to_mut().obeyed.get_mut(at) {
                *known = file;
            }
        }
    }
    Ok(Look { facts, seen })
}

/// Looks at the manifest: by its mark, then by its digest, and only then by reading it.
fn look_at_manifest(layout: &Layout, mark: Option<Mark>, seen: &mut Cow<'_, Seen>, facts: &mut Vec<ControlFact>) {
    let path = &layout.manifest();
    if let (Some(mark), Some(before)) = (&mark, &seen.mark)
        && before.still_means(mark)
    {
        return;
    }
    let seen = seen.to_mut();
    // A file that is read while someone writes it is read again at the next look, because its mark moved on.
    let bytes = read_bounded(path, MANIFEST_BYTES_MAX);
    let found = bytes.as_deref().ok().map(|bytes| Digest::of(bytes).to_string());
    seen.mark = mark;
    if found.is_some() && found == seen.digest {
        return;
    }
    let ours = found.as_deref().is_some_and(|found| is_shown(layout, found));
    seen.digest = found;
    let read = match bytes {
        Ok(bytes) => Manifest::parse(path, bytes),
        // Loading says why in the words of the manifest; if it works now, the better.
        Err(_) => Manifest::load(path),
    };
    let read = read.map_err(PolicyFileError::from);
    match read.and_then(|manifest| policy_file::check_values(&manifest).map(|()| manifest)) {
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
}

/// Notes for every session that this text of the manifest is ours and no person's. Call it before the text is written: a
/// look in between sees the text before it.
pub fn will_show(layout: &Layout, text: &str) -> Result<(), FileError> {
    write_unsynced(&layout.shown_manifest(), Digest::of(text.as_bytes()).to_string().as_bytes())
}

/// Whether the manifest with this digest was written by one of our sessions.
fn is_shown(layout: &Layout, found: &str) -> bool {
    read_bounded(&layout.shown_manifest(), 1_024).is_ok_and(|shown| shown == found.as_bytes())
}

/// Notes a manifest that is not accepted; the same refusal is reported once.
fn refuse(seen: &mut Seen, facts: &mut Vec<ControlFact>, reason: String, hint: String) {
    if seen.refused.as_ref() != Some(&reason) {
        facts.push(ControlFact::ManifestRefused { reason: reason.clone(), hint });
    }
    seen.refused = Some(reason);
}

#[cfg(test)]
mod tests;
