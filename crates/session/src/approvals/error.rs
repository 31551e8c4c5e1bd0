//! Why an answer was not taken.

use crate::driver::DriverError;
use crate::review::ReviewError;
use std::borrow::Cow;
use tripwire_core::explain::{ExitClass, Explain};

/// Why an answer was not taken.
#[derive(Debug, thiserror::Error)]
pub enum ApprovalError {
    /// Nothing of this id waits.
    #[error("nothing waits for an answer under `{id}`{}", waiting(.open))]
    NothingWaits {
        /// What was named.
        id: String,
        /// What does wait.
        open: Vec<String>,
    },
    /// Two different things have this id.
    #[error("two different things wait under `{id}`, so nothing is answered")]
    Ambiguous {
        /// What was named.
        id: String,
    },
    /// Another answer came first.
    #[error("`{id}` was answered before: {first}; the first answer counts")]
    AnsweredBefore {
        /// What was named.
        id: String,
        /// The first answer.
        first: String,
    },
    /// A budget was to be raised by nothing.
    #[error("`{id}` asks for a larger budget, and the answer does not say by how much")]
    NoAmount {
        /// What was named.
        id: String,
    },
    /// The session could not be read or written.
    #[error(transparent)]
    Driver(#[from] DriverError),
    /// The review gate refused.
    #[error(transparent)]
    Review(#[from] ReviewError),
}

fn waiting(open: &[String]) -> String {
    if open.is_empty() { String::new() } else { format!("; waiting: {}", open.join(", ")) }
}

impl Explain for ApprovalError {
    fn hint(&self) -> Cow<'_, str> {
        match self {
            Self::NothingWaits { .. } => "see what waits with `tripwire approvals`".into(),
            Self::Ambiguous { .. } => {
                "look at both with `tripwire log --rule FLOOR-1`, and run the one that you want yourself".into()
            }
            Self::AnsweredBefore { .. } => "see who answered with `tripwire log --rule CTRL-1`".into(),
            Self::NoAmount { id } => format!("name the amount: `tripwire approvals approve {id} --raise 5usd`").into(),
            Self::Driver(error) => error.hint(),
            Self::Review(error) => error.hint(),
        }
    }

    fn exit_class(&self) -> ExitClass {
        match self {
            Self::NothingWaits { .. } | Self::Ambiguous { .. } | Self::NoAmount { .. } => ExitClass::BadInput,
            Self::AnsweredBefore { .. } => ExitClass::Refused,
            Self::Driver(error) => error.exit_class(),
            Self::Review(error) => error.exit_class(),
        }
    }
}
