//! Why a change was not proposed, decided or applied; each says what to do next.

use super::answer::AnswerError;
use crate::driver::{DriverError, refusal_hint};
use crate::execution::ExecutionError;
use std::borrow::Cow;
use std::path::PathBuf;
use tripwire_core::decision::SafetyDecision;
use tripwire_core::explain::{ExitClass, Explain};
use tripwire_core::record::chain::Digest;
use tripwire_fs::file::FileError;
use tripwire_sandbox::{ApplyError, StageError};
use tripwire_workspace::policy_file::PolicyFileError;

/// Why the review gate did nothing.
#[derive(Debug, thiserror::Error)]
pub enum ReviewError {
    /// There is no change to review.
    #[error("nothing is staged in this workspace")]
    NothingStaged,
    /// The change was never registered.
    #[error("the change `{}` was not proposed", short(*digest))]
    NotProposed {
        /// Its digest.
        digest: Digest,
    },
    /// What is staged now is not what was proposed.
    #[error(
        "the change was edited after it was proposed: `{}` was proposed, `{}` is staged",
        short(*proposed),
        short(*staged)
    )]
    Moved {
        /// What was proposed.
        proposed: Digest,
        /// What is staged.
        staged: Digest,
    },
    /// Another process was first.
    #[error("the change `{}` was applied already, proposed at {at}", short(*digest))]
    AppliedAlready {
        /// Its digest.
        digest: Digest,
        /// When it was proposed.
        at: String,
    },
    /// An apply that was interrupted had been complete.
    #[error("an apply that was interrupted had been complete; only its traces were left, and they are removed now")]
    Finished,
    /// The answer decides nothing.
    #[error(transparent)]
    Answer(#[from] AnswerError),
    /// The engine refused.
    #[error("{}", .0.reason)]
    Refused(Box<SafetyDecision>),
    /// A text that is the beginning of no proposal, or of several.
    #[error("`{text}` is the digest of {count} proposals")]
    NoSuchDigest {
        /// What was given.
        text: String,
        /// How many begin with it.
        count: usize,
    },
    /// A proposal's file is damaged.
    #[error("`{}` is damaged: {cause}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        cause: String,
    },
    /// The stage cannot be read.
    #[error(transparent)]
    Stage(#[from] StageError),
    /// The changes could not be applied.
    #[error(transparent)]
    Apply(#[from] ApplyError),
    /// The permit was for something else.
    #[error(transparent)]
    Execution(#[from] ExecutionError),
    /// The session cannot be driven.
    #[error(transparent)]
    Driver(#[from] DriverError),
    /// The policy cannot be read.
    #[error(transparent)]
    PolicyFile(#[from] PolicyFileError),
    /// A file of `.geometry/` cannot be used.
    #[error(transparent)]
    File(#[from] FileError),
}

impl Explain for ReviewError {
    fn hint(&self) -> Cow<'_, str> {
        match self {
            Self::NothingStaged => "stage a change with `tripwire sandbox exec --stage`".into(),
            Self::NotProposed { .. } | Self::Moved { .. } => {
                "propose what is staged with `tripwire review propose`, then have it reviewed again".into()
            }
            Self::AppliedAlready { .. } | Self::Finished => "look at it with `tripwire review show`".into(),
            Self::Answer(error) => error.hint(),
            Self::Refused(decision) => refusal_hint(decision),
            Self::NoSuchDigest { .. } => "list the proposals with `tripwire review show`".into(),
            Self::Damaged { path, .. } => format!("remove `{}` and propose again", path.display()).into(),
            Self::Stage(_) => "look at the stage with `tripwire sandbox diff`".into(),
            Self::Apply(error) => error.hint(),
            Self::Execution(error) => error.hint(),
            Self::Driver(error) => error.hint(),
            Self::PolicyFile(error) => error.hint(),
            Self::File(error) => error.hint(),
        }
    }

    fn exit_class(&self) -> ExitClass {
        match self {
            // What was not reviewed as it is now is refused.
            Self::NotProposed { .. }
            | Self::Moved { .. }
            | Self::AppliedAlready { .. }
            | Self::Finished
            | Self::Answer(_)
            | Self::Refused(_)
            | Self::Apply(
                ApplyError::Mismatch { .. }
                | ApplyError::Conflict { .. }
                | ApplyError::Protected { .. }
                | ApplyError::Finished
                | ApplyError::Busy,
            ) => ExitClass::Refused,
            Self::NothingStaged | Self::NoSuchDigest { .. } | Self::PolicyFile(_) => ExitClass::BadInput,
            Self::Execution(_) => ExitClass::Internal,
            // What cannot be read does not hold.
            Self::Damaged { .. }
            | Self::Stage(_)
            | Self::Apply(
                ApplyError::Stage(_) | ApplyError::Write { .. } | ApplyError::Torn { .. } | ApplyError::Recover { .. },
            )
            | Self::Driver(_)
            | Self::File(_) => ExitClass::DoesNotHold,
        }
    }
}

/// The first 16 digits, which people are shown.
#[must_use]
pub(super) fn short(digest: Digest) -> String {
    digest.to_string().chars().take(16).collect()
}
