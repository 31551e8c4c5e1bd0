//! Why a session cannot be begun or go on.

use super::saved_engines::SavedEnginesError;
use super::tool_runner::ToolRunnerError;
use crate::engines::EngineError;
use std::borrow::Cow;
use std::path::PathBuf;
use tripwire_core::explain::{ExitClass, Explain};
use tripwire_core::record::canonical::CanonicalError;
use tripwire_core::run::ending::Ending;
use tripwire_fs::file::FileError;
use tripwire_session::driver::DriverError;
use tripwire_workspace::geometry::report_parts::UnreadReportError;
use tripwire_workspace::loop_lock::LoopLockError;

/// Why a session cannot be begun or go on.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    /// The session cannot be driven: nothing happens.
    #[error(transparent)]
    Driver(#[from] DriverError),
    /// Another process runs it.
    #[error(transparent)]
    Locked(#[from] LoopLockError),
    /// The tools cannot be set up.
    #[error(transparent)]
    Tools(#[from] ToolRunnerError),
    /// An engine cannot answer, and nothing was begun.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// A file cannot be written.
    #[error(transparent)]
    File(#[from] FileError),
    /// A person's order to stop is in force.
    #[error("`{}` is set: a person stopped this workspace", path.display())]
    StopStands {
        /// The order.
        path: PathBuf,
    },
    /// A report waits for a person.
    #[error(transparent)]
    Unread(#[from] UnreadReportError),
    /// The session was begun by something else.
    #[error("session {session} is not one of `tripwire agent`")]
    NotOurs {
        /// The session.
        session: String,
    },
    /// There is nothing to go on with.
    #[error("session {session} is over: {}", ending.explain())]
    Over {
        /// The session.
        session: String,
        /// How it ended.
        ending: Ending,
    },
    /// The prompt or the tools are not those that the session was frozen with.
    #[error("the {what} of this tripwire is not the one that session {session} was frozen with")]
    Changed {
        /// The session.
        session: String,
        /// What differs.
        what: &'static str,
    },
    /// The names of its engines cannot be read or kept.
    #[error(transparent)]
    SavedEngines(#[from] SavedEnginesError),
    /// What a question costs cannot be written down.
    #[error("the ledger of model calls cannot be written: {why}")]
    Ledger {
        /// Why.
        why: String,
    },
    /// A line has no canonical form.
    #[error(transparent)]
    Canonical(#[from] CanonicalError),
}

impl Explain for SessionError {
    fn hint(&self) -> Cow<'_, str> {
        match self {
            Self::Driver(error) => error.hint(),
            Self::Locked(error) => error.hint(),
            Self::Tools(error) => error.hint(),
            Self::Engine(error) => error.hint(),
            Self::File(error) => error.hint(),
            Self::StopStands { .. } => "lift the stop with `tripwire resume`".into(),
            Self::NotOurs { .. } => "list the sessions with `tripwire status`".into(),
            Self::Unread(error) => error.hint(),
            Self::Over { session, ending } if ending.can_be_restarted() => {
                format!("open it again with `tripwire resume --restart --session {session}`, then say the same again")
                    .into()
            }
            Self::Over { .. } | Self::Changed { .. } => "begin a new session with `tripwire agent --task FILE`".into(),
            Self::SavedEngines(error) => error.hint(),
            Self::Ledger { .. } => "make room on the disk, then go on with `tripwire agent --resume SESSION`".into(),
            Self::Canonical(_) => "this is a defect of tripwire; please report it".into(),
        }
    }

    fn exit_class(&self) -> ExitClass {
        match self {
            Self::StopStands { .. } => ExitClass::Stopped,
            Self::Tools(_)
            | Self::Engine(_)
            | Self::NotOurs { .. }
            | Self::Over { .. }
            | Self::Changed { .. }
            | Self::SavedEngines(_)
            | Self::Locked(_) => ExitClass::BadInput,
            Self::Unread(error) => error.exit_class(),
            Self::Driver(error) => error.exit_class(),
            Self::File(_) | Self::Ledger { .. } => ExitClass::DoesNotHold,
            Self::Canonical(_) => ExitClass::Internal,
        }
    }
}
