//! Why a program gets no answer. Each of these means: the call must not run.

use crate::types::{AgentId, CallId};
use std::borrow::Cow;
use tripwire_core::explain::{ExitClass, Explain};
use tripwire_session::driver::DriverError;
use tripwire_workspace::WorkspaceError;
use tripwire_workspace::session::SessionIdError;

/// Why a program gets no answer.
#[derive(Debug, thiserror::Error)]
pub enum EmbedError {
    /// The session cannot be driven.
    #[error(transparent)]
    Driver(#[from] DriverError),
    /// There is no workspace at this folder.
    #[error(transparent)]
    Workspace(#[from] WorkspaceError),
    /// The session's name is none.
    #[error(transparent)]
    SessionId(#[from] SessionIdError),
    /// The budget cannot be read.
    #[error("the budget `{text}` cannot be read: {why}")]
    Budget {
        /// As it was written.
        text: String,
        /// What to write instead.
        why: String,
    },
    /// Settings came with a session that goes on.
    #[error("a session that goes on keeps the settings it began with")]
    FrozenSettings,
    /// A result came for a call that is not open.
    #[error("no call `{call}` is open")]
    NoOpenCall {
        /// The call.
        call: CallId,
    },
    /// Too many calls have no result.
    #[error("{open} calls have no result yet")]
    TooManyOpenCalls {
        /// How many.
        open: usize,
    },
    /// A sub-agent acts that was not announced.
    #[error("there is no sub-agent `{agent}`")]
    NoSuchAgent {
        /// Its name.
        agent: AgentId,
    },
    /// The session was closed.
    #[error("the session is closed")]
    Closed,
}

impl Explain for EmbedError {
    fn hint(&self) -> Cow<'_, str> {
        match self {
            Self::Driver(error) => error.hint(),
            Self::Workspace(error) => error.hint(),
            Self::SessionId(error) => error.hint(),
            Self::Budget { .. } => "for example `5usd`".into(),
            Self::FrozenSettings => "begin a new session, or let a person change a limit with `tripwire set`".into(),
            Self::NoOpenCall { .. } => "each call has one result; use the id that `before` gave".into(),
            Self::TooManyOpenCalls { .. } => "report the results with `after`".into(),
            Self::NoSuchAgent { .. } => "announce it with `child` and use the id that it gave".into(),
            Self::Closed => "begin a new session".into(),
        }
    }

    fn exit_class(&self) -> ExitClass {
        match self {
            Self::Driver(error) => error.exit_class(),
            Self::Workspace(error) => error.exit_class(),
            Self::SessionId(error) => error.exit_class(),
            Self::Budget { .. }
            | Self::FrozenSettings
            | Self::NoOpenCall { .. }
            | Self::TooManyOpenCalls { .. }
            | Self::NoSuchAgent { .. }
            | Self::Closed => ExitClass::BadInput,
        }
    }
}
