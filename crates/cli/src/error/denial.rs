//! What permissions, reviews and identity have against a verb, for a person: why, and the next command.

use crate::error::Problem;
use crate::exit::Exit;
use tripwire_authority::AuthorityError;
use tripwire_authority::current::CurrentError;
use tripwire_authority::identity::{ConfigurationError, GoldError};
use tripwire_core::counted::{agreeing, counted};
use tripwire_core::decision::SafetyDecision;
use tripwire_core::explain::Explain as _;
use tripwire_sandbox::ApplyError;
use tripwire_session::execution::ExecutionError;
use tripwire_session::review::ReviewError;

/// Why a verb was refused, or why nobody can say whether it may run.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Denial {
    /// The engine refused: permission, review, identity, or the state of the session.
    #[error("{}", .0.reason)]
    Refused(Box<SafetyDecision>),
    /// A permit was for something else.
    #[error(transparent)]
    Execution(ExecutionError),
    /// The permissions cannot be used.
    #[error(transparent)]
    Permissions(AuthorityError),
    /// Examples of a policy file do not hold.
    #[error("{file}: {} {} not hold", counted(*count, "example"), agreeing(*count, "does", "do"))]
    Examples {
        /// The file.
        file: String,
        /// How many.
        count: usize,
    },
    /// The review gate did nothing.
    #[error(transparent)]
    Review(ReviewError),
    /// A review stands before the workspace.
    #[error("a review is required before staged changes may be applied")]
    ReviewRequired,
    /// The agent's configuration has no checksum.
    #[error(transparent)]
    Configuration(ConfigurationError),
    /// There is no gold-standard list that can be trusted.
    #[error(transparent)]
    Gold(GoldError),
    /// The configuration is not on the list.
    #[error("the configuration {checksum} is not on the gold-standard list{changed}")]
    NotGold {
        /// Its checksum.
        checksum: String,
        /// Which parts changed against the nearest entry.
        changed: String,
    },
    /// The manifest names another checksum.
    #[error("the manifest binds the agent to {pinned}, but its configuration is {checksum}")]
    Pinned {
        /// What the manifest says.
        pinned: String,
        /// What it is.
        checksum: String,
    },
    /// A role that may not do critical operations.
    #[error("role `{role}` is not among `identity.authorized_roles`")]
    RoleNotAuthorized {
        /// The role.
        role: String,
    },
    /// A text that is no public key.
    #[error("`{text}` is not a verifier key")]
    NotAKey {
        /// What was given.
        text: String,
    },
    /// Without a home there is nowhere to keep a key.
    #[error("neither HOME nor XDG_STATE_HOME is set, so there is no place for a key outside of the workspace")]
    NoHome,
}

impl Denial {
    /// How the command ends with it.
    pub(crate) fn exit(&self) -> Exit {
        match self {
            Self::Refused(decision) => Exit::of_refusal(decision),
            Self::Permissions(_) | Self::Examples { .. } | Self::NotAKey { .. } | Self::NoHome => Exit::Usage,
            Self::ReviewRequired
            | Self::NotGold { .. }
            | Self::Pinned { .. }
            | Self::RoleNotAuthorized { .. }
            | Self::Gold(GoldError::Missing { .. }) => Exit::Refused,
            Self::Gold(
                GoldError::Signature { .. }
                | GoldError::Entry { .. }
                | GoldError::Read(_)
                | GoldError::Write(_)
                | GoldError::Canonical(_),
            )
            | Self::Configuration(_) => Exit::DoesNotHold,
            Self::Execution(_) => Exit::Internal,
            Self::Review(error) => of_review(error),
        }
    }

    /// What to do next.
    pub(crate) fn hint(&self) -> String {
        match self {
            Self::Refused(decision) => decision
                .error
                .as_ref()
                .map_or_else(|| "see `tripwire why`".to_owned(), |error| error.fix().into_string()),
            Self::Execution(_) => "this is a defect of tripwire; please report it".to_owned(),
            Self::Permissions(error) => error.hint(),
            Self::Examples { .. } => "change the policies or the examples, then run `tripwire policy check`".to_owned(),
            Self::Review(error) => error.hint().into_owned(),
            Self::ReviewRequired => {
                "propose them with `tripwire review propose`, then `tripwire review decide` and `apply`".to_owned()
            }
            Self::Configuration(error) => error.hint(),
            Self::Gold(error) => error.hint(),
            Self::NotGold { .. } | Self::Pinned { .. } => {
                "undo the change, or look at it and vouch for it with `tripwire identity sign`".to_owned()
            }
            Self::RoleNotAuthorized { .. } => {
                "act in an authorized role with `--role`, or edit MANIFEST.yaml".to_owned()
            }
            Self::NotAKey { .. } => "give the line that `tripwire identity show` prints as `key`".to_owned(),
            Self::NoHome => "set HOME to your home folder".to_owned(),
        }
    }
}

/// What was not reviewed as it is now is refused; what cannot be read does not hold.
fn of_review(error: &ReviewError) -> Exit {
    match error {
        ReviewError::NotProposed { .. }
        | ReviewError::Moved { .. }
        | ReviewError::AppliedAlready { .. }
        | ReviewError::Finished
        | ReviewError::Answer(_)
        | ReviewError::Refused(_)
        | ReviewError::Apply(
            ApplyError::Mismatch { .. }
            | ApplyError::Conflict { .. }
            | ApplyError::Protected { .. }
            | ApplyError::Finished
            | ApplyError::Busy,
        ) => Exit::Refused,
        ReviewError::NothingStaged | ReviewError::NoSuchDigest { .. } | ReviewError::PolicyFile(_) => Exit::Usage,
        ReviewError::Execution(_) => Exit::Internal,
        ReviewError::Damaged { .. }
        | ReviewError::Stage(_)
        | ReviewError::Apply(
            ApplyError::Stage(_) | ApplyError::Write { .. } | ApplyError::Torn { .. } | ApplyError::Recover { .. },
        )
        | ReviewError::Driver(_)
        | ReviewError::File(_) => Exit::DoesNotHold,
    }
}

impl From<Denial> for Problem {
    fn from(denial: Denial) -> Self {
        Self::Denial(Box::new(denial))
    }
}

impl From<ReviewError> for Problem {
    /// A refusal of the engine is the same whichever verb asked for it.
    fn from(error: ReviewError) -> Self {
        match error {
            ReviewError::Refused(decision) => Denial::Refused(decision).into(),
            ReviewError::Driver(error) => error.into(),
            ReviewError::PolicyFile(error) => error.into(),
            ReviewError::File(error) => error.into(),
            other @ (ReviewError::NothingStaged
            | ReviewError::NotProposed { .. }
            | ReviewError::Moved { .. }
            | ReviewError::AppliedAlready { .. }
            | ReviewError::Finished
            | ReviewError::Answer(_)
            | ReviewError::NoSuchDigest { .. }
            | ReviewError::Damaged { .. }
            | ReviewError::Stage(_)
            | ReviewError::Apply(_)
            | ReviewError::Execution(_)) => Denial::Review(other).into(),
        }
    }
}

impl From<CurrentError> for Problem {
    fn from(error: CurrentError) -> Self {
        match error {
            CurrentError::Manifest(error) => error.into(),
            CurrentError::Authority(error) => error.into(),
        }
    }
}

/// Errors that become a denial as they are.
macro_rules! denials {
    ($($error:ty => $variant:ident),*) => {
        $(impl From<$error> for Problem {
            fn from(error: $error) -> Self {
                Denial::$variant(error).into()
            }
        })*
    };
}
denials!(AuthorityError => Permissions, ConfigurationError => Configuration, GoldError => Gold, ExecutionError => Execution);
