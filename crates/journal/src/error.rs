//! What can go wrong with a journal, each with its cause and the next command.

use std::borrow::Cow;
use std::io;
use std::path::{Path, PathBuf};
use tripwire_core::explain::{ExitClass, Explain};

use tripwire_core::record::canonical::CanonicalError;

use super::line::LineFault;

/// Why the journal refused or failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum JournalError {
    /// The disk failed; the handle that met it is poisoned.
    #[error("cannot {action} `{}`: {source}", path.display())]
    Io {
        /// What was tried.
        action: &'static str,
        /// On which file.
        path: PathBuf,
        /// What the disk said.
        source: io::Error,
    },
    /// Another process kept the lock for longer than this one may wait.
    #[error("another process holds the lock `{}`", path.display())]
    Locked {
        /// The locked file.
        path: PathBuf,
    },
    /// The journal does not verify.
    #[error(transparent)]
    Damaged(#[from] Damage),
    /// The ledger of model calls does not verify.
    #[error("the ledger of model calls is damaged at record {index} in `{}`: {cause}", file.display())]
    Ledger {
        /// The file that holds the record, as far as one does.
        file: PathBuf,
        /// The first bad record.
        index: u64,
        /// What is wrong with it.
        cause: String,
    },
    /// This handle met an I/O error before, so what it believes about the file may be wrong.
    #[error("this journal handle failed before and accepts nothing more")]
    Poisoned,
    /// This handle was opened to look at the journal.
    #[error("this journal handle is for reading only")]
    ReadOnly,
    /// A file was written by a newer version.
    #[error("`{}` has version {version}, this program knows up to {known}", path.display())]
    Newer {
        /// The file.
        path: PathBuf,
        /// The version it carries.
        version: u64,
        /// The newest version that is understood here.
        known: u64,
    },
    /// There is no journal of this session.
    #[error("there is no session `{0}` here")]
    NoSession(String),
    /// An entry that cannot be a journal line.
    #[error("entry {position} of the batch cannot be journaled: {cause}")]
    Entry {
        /// Its position in the batch, from zero.
        position: usize,
        /// What is wrong with it.
        cause: String,
    },
    /// A batch beyond what one write may hold.
    #[error("a batch of {bytes} bytes is larger than the limit of {limit}")]
    BatchTooLarge {
        /// Its size on disk.
        bytes: usize,
        /// The limit.
        limit: usize,
    },
    /// A value has no canonical text.
    #[error(transparent)]
    Canonical(#[from] CanonicalError),
    /// A blob is missing or its bytes are not those that were stored.
    #[error("the blob `{digest}` is {state}")]
    Blob {
        /// Its address.
        digest: String,
        /// What was found.
        state: &'static str,
    },
    /// A signing key that cannot be used.
    #[error("the key `{}` cannot be used: {cause}", path.display())]
    Key {
        /// Where it is.
        path: PathBuf,
        /// Why not.
        cause: String,
    },
    /// A checkpoint file that is not a signed note over this journal.
    #[error("the checkpoint `{}` cannot be used: {cause}", path.display())]
    Checkpoint {
        /// Where it is.
        path: PathBuf,
        /// Why not.
        cause: String,
    },
}

impl JournalError {
    pub(super) fn io(action: &'static str, path: &Path, source: io::Error) -> Self {
        Self::Io { action, path: path.to_owned(), source }
    }
}

impl Explain for JournalError {
    fn hint(&self) -> Cow<'_, str> {
        match self {
            Self::Io { source, .. } if source.kind() == io::ErrorKind::StorageFull => {
                "free some disk space and run the same command again: nothing that was acknowledged is lost".into()
            }
            Self::Io { .. } => "check the disk and the permissions, then run `tripwire verify`".into(),
            Self::Locked { .. } => "wait for the other process or end it, then run the same command again".into(),
            Self::Damaged(_) => {
                "run `tripwire verify` for the whole picture; restore the journal from a copy or start a new session"
                    .into()
            }
            Self::Ledger { file, .. } => {
                let folder = file.parent().unwrap_or(file).display();
                format!(
                    "stop the gateway, then restore `{folder}` from a copy, or move it away: the next start begins a new ledger, in \
                     which nothing is spent yet"
                )
                .into()
            }
            Self::Poisoned => "run the same command again: opening the journal again recovers it".into(),
            Self::ReadOnly => "this is a defect of tripwire; please report it".into(),
            Self::Newer { .. } => "use the newer tripwire that wrote the file".into(),
            Self::NoSession(_) => "run `tripwire status` to see the sessions of this workspace".into(),
            Self::Entry { .. } | Self::BatchTooLarge { .. } | Self::Canonical(_) => {
                "nothing was written; report this as a bug with the command that led to it".into()
            }
            Self::Blob { .. } => "restore the blob from a copy, then run `tripwire verify`".into(),
            Self::Key { .. } => {
                "make the key file readable by you alone, or move it away to have a new one made".into()
            }
            Self::Checkpoint { .. } => {
                "run `tripwire verify`; a checkpoint that was changed by hand means the journal cannot be trusted"
                    .into()
            }
        }
    }

    fn exit_class(&self) -> ExitClass {
        match self {
            // A session that was never there is a wrong name.
            Self::NoSession(_) => ExitClass::BadInput,
            // Everything else is a journal that cannot be trusted or used now.
            Self::Io { .. }
            | Self::Locked { .. }
            | Self::Damaged(_)
            | Self::Ledger { .. }
            | Self::Poisoned
            | Self::ReadOnly
            | Self::Newer { .. }
            | Self::Entry { .. }
            | Self::BatchTooLarge { .. }
            | Self::Canonical(_)
            | Self::Blob { .. }
            | Self::Key { .. }
            | Self::Checkpoint { .. } => ExitClass::DoesNotHold,
        }
    }
}

/// A journal that is not what was written: the first record that cannot be trusted, and why.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the journal is damaged at record {index}: {cause}")]
pub struct Damage {
    index: u64,
    cause: DamageCause,
}

impl Damage {
    pub(super) const fn new(index: u64, cause: DamageCause) -> Self {
        Self { index, cause }
    }

    /// The first record that is missing, changed or out of place.
    #[must_use]
    pub const fn index(&self) -> u64 {
        self.index
    }

    /// What is wrong there.
    #[must_use]
    pub const fn cause(&self) -> &DamageCause {
        &self.cause
    }
}

/// How a journal fails to verify.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DamageCause {
    /// A line is not the record that belongs there.
    #[error("{0}")]
    Line(#[from] LineFault),
    /// Records that were acknowledged are gone.
    #[error("{known} records were acknowledged, the rest is missing")]
    Missing {
        /// How many there must be.
        known: u64,
    },
    /// A segment file is gone.
    #[error("the segment file `{name}` is missing")]
    SegmentMissing {
        /// Its name.
        name: String,
    },
    /// A segment file is larger than any that this program writes.
    #[error("the segment file `{name}` is larger than it can be")]
    SegmentTooLarge {
        /// Its name.
        name: String,
    },
    /// The record that `HEAD` names is another one.
    #[error("the record is not the one that `HEAD` names")]
    HeadDisagrees,
    /// The records verify among themselves but are not those that were signed.
    #[error("the records up to {size} are not those of the signed checkpoint")]
    CheckpointDisagrees {
        /// How many records the checkpoint covers.
        size: u64,
    },
    /// The same by the word of a key that is not known here.
    #[error("the records up to {size} are not those of the checkpoint that an unknown key signed")]
    UnknownKeyDisagrees {
        /// How many records the checkpoint covers.
        size: u64,
    },
    /// A checkpoint was changed, so it proves nothing about any record.
    #[error("{which} was changed: it is not what the key signed")]
    CheckpointChanged {
        /// Which one, in words.
        which: String,
    },
    /// The body is a pointer to a blob that is missing or changed.
    #[error("its blob `{digest}` is {state}")]
    Blob {
        /// The blob's address.
        digest: String,
        /// What was found.
        state: &'static str,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    fn io(kind: io::ErrorKind) -> JournalError {
        JournalError::io("read", Path::new("/j/HEAD"), kind.into())
    }

    /// An error with its text, its hint and its class.
    type Said = (JournalError, &'static str, &'static str, ExitClass);

    fn path() -> PathBuf {
        "/j/x".into()
    }

    fn about_the_journal() -> Vec<Said> {
        use ExitClass::{BadInput, DoesNotHold};
        vec![
            (
                io(io::ErrorKind::PermissionDenied),
                "cannot read `/j/HEAD`: permission denied",
                "check the disk and the permissions, then run `tripwire verify`",
                DoesNotHold,
            ),
            (
                io(io::ErrorKind::StorageFull),
                "cannot read `/j/HEAD`: no storage space",
                "free some disk space and run the same command again: nothing that was acknowledged is lost",
                DoesNotHold,
            ),
            (
                JournalError::Locked { path: path() },
                "another process holds the lock `/j/x`",
                "wait for the other process or end it, then run the same command again",
                DoesNotHold,
            ),
            (
                Damage::new(7, DamageCause::HeadDisagrees).into(),
                "the journal is damaged at record 7: the record is not the one that `HEAD` names",
                "run `tripwire verify` for the whole picture; restore the journal from a copy or start a new session",
                DoesNotHold,
            ),
            (
                JournalError::Ledger {
                    file: "/g/ledger/1.jsonl".into(),
                    index: 3,
                    cause: "it is not a price".to_owned(),
                },
                "the ledger of model calls is damaged at record 3 in `/g/ledger/1.jsonl`: it is not a price",
                "stop the gateway, then restore `/g/ledger` from a copy, or move it away: the next start begins a new ledger, \
                 in which nothing is spent yet",
                DoesNotHold,
            ),
            (
                JournalError::Poisoned,
                "this journal handle failed before and accepts nothing more",
                "run the same command again: opening the journal again recovers it",
                DoesNotHold,
            ),
            (
                JournalError::ReadOnly,
                "this journal handle is for reading only",
                "this is a defect of tripwire; please report it",
                DoesNotHold,
            ),
            (
                JournalError::Newer { path: path(), version: 9, known: 1 },
                "`/j/x` has version 9, this program knows up to 1",
                "use the newer tripwire that wrote the file",
                DoesNotHold,
            ),
            (
                JournalError::NoSession("auto-x".to_owned()),
                "there is no session `auto-x` here",
                "run `tripwire status` to see the sessions of this workspace",
                BadInput,
            ),
        ]
    }

    fn about_one_file_or_record() -> Vec<Said> {
        use ExitClass::DoesNotHold;
        let bug = "nothing was written; report this as a bug with the command that led to it";
        vec![
            (
                JournalError::Entry { position: 2, cause: "it is no JSON".to_owned() },
                "entry 2 of the batch cannot be journaled: it is no JSON",
                bug,
                DoesNotHold,
            ),
            (
                JournalError::BatchTooLarge { bytes: 9, limit: 8 },
                "a batch of 9 bytes is larger than the limit of 8",
                bug,
                DoesNotHold,
            ),
            (
                CanonicalError::Float.into(),
                "a floating-point number cannot be recorded, use an integer or a ratio in millionths",
                bug,
                DoesNotHold,
            ),
            (
                JournalError::Blob { digest: "ab".to_owned(), state: "missing" },
                "the blob `ab` is missing",
                "restore the blob from a copy, then run `tripwire verify`",
                DoesNotHold,
            ),
            (
                JournalError::Key { path: path(), cause: "it is no key".to_owned() },
                "the key `/j/x` cannot be used: it is no key",
                "make the key file readable by you alone, or move it away to have a new one made",
                DoesNotHold,
            ),
            (
                JournalError::Checkpoint { path: path(), cause: "it is no note".to_owned() },
                "the checkpoint `/j/x` cannot be used: it is no note",
                "run `tripwire verify`; a checkpoint that was changed by hand means the journal cannot be trusted",
                DoesNotHold,
            ),
        ]
    }

    #[test]
    fn every_error_says_what_went_wrong_what_to_do_and_how_to_exit() {
        for (error, text, hint, class) in about_the_journal().into_iter().chain(about_one_file_or_record()) {
            assert_eq!((error.to_string().as_str(), &*error.hint(), error.exit_class()), (text, hint, class));
        }
        let rootless = JournalError::Ledger { file: "/".into(), index: 0, cause: String::new() };
        assert!(rootless.hint().contains("restore `/` from a copy"), "{}", rootless.hint());
    }

    #[test]
    fn every_damage_names_its_record_and_its_cause() {
        let name = || "00000002.jsonl".to_owned();
        for (cause, text) in [
            (DamageCause::Line(LineFault::Unfinished), "the line is not finished"),
            (LineFault::NotText.into(), "the line is not valid UTF-8"),
            (LineFault::Shape.into(), "the line has not the form of a record"),
            (LineFault::Hash.into(), "the hash does not match the record"),
            (LineFault::Seal.into(), "the part outside the hash was changed"),
            (LineFault::Index { found: 4 }.into(), "another record belongs here, this is number 4"),
            (LineFault::Previous.into(), "the record does not follow the one before it"),
            (DamageCause::Missing { known: 5 }, "5 records were acknowledged, the rest is missing"),
            (DamageCause::SegmentMissing { name: name() }, "the segment file `00000002.jsonl` is missing"),
            (
                DamageCause::SegmentTooLarge { name: name() },
                "the segment file `00000002.jsonl` is larger than it can be",
            ),
            (
                DamageCause::CheckpointDisagrees { size: 6 },
                "the records up to 6 are not those of the signed checkpoint",
            ),
            (
                DamageCause::UnknownKeyDisagrees { size: 6 },
                "the records up to 6 are not those of the checkpoint that an unknown key signed",
            ),
            (
                DamageCause::CheckpointChanged { which: "the copy".to_owned() },
                "the copy was changed: it is not what the key signed",
            ),
            (DamageCause::Blob { digest: "ab".to_owned(), state: "damaged" }, "its blob `ab` is damaged"),
        ] {
            let damage = Damage::new(3, cause.clone());
            assert_eq!((damage.index(), damage.cause()), (3, &cause));
            assert_eq!(damage.to_string(), format!("the journal is damaged at record 3: {text}"));
        }
    }
}
