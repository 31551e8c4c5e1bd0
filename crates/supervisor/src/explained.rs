//! What a person can do about a run that did not start, and how a command ends with it.

use crate::{ArrangeError, RunError};
use std::borrow::Cow;
use tripwire_core::explain::{ExitClass, Explain};

impl Explain for RunError {
    fn hint(&self) -> Cow<'_, str> {
        Self::hint(self).into()
    }

    fn exit_class(&self) -> ExitClass {
        match self {
            Self::Arrange(ArrangeError::SwitchedOff { .. }) | Self::Record(_) | Self::Setup { .. } => {
                ExitClass::DoesNotHold
            }
            Self::UnknownClient { .. } | Self::NotFound { .. } | Self::Arrange(_) | Self::Tree(_) => {
                ExitClass::BadInput
            }
            Self::Blocked("STOP") => ExitClass::Stopped,
            Self::Blocked(_) => ExitClass::Held,
            Self::Driver(error) => error.exit_class(),
        }
    }
}
