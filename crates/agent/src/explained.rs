//! What a person can do about each error of this crate, and how a command ends with it.

use crate::engine::EngineError;
use crate::engine::open::OpenError;
use crate::engine::sensitive::SensitivePathError;
use crate::session::{RememberedError, SessionError};
use std::borrow::Cow;
use tripwire_core::explain::{ExitClass, Explain};

impl Explain for OpenError {
    fn hint(&self) -> Cow<'_, str> {
        Self::hint(self).into()
    }
}

impl Explain for SensitivePathError {
    fn hint(&self) -> Cow<'_, str> {
        Self::hint(self).into()
    }
}

impl Explain for EngineError {
    fn hint(&self) -> Cow<'_, str> {
        Self::hint(self).into()
    }
}

impl Explain for RememberedError {
    fn hint(&self) -> Cow<'_, str> {
        Self::hint(self).into()
    }
}

impl Explain for SessionError {
    fn hint(&self) -> Cow<'_, str> {
        Self::hint(self).into()
    }

    fn exit_class(&self) -> ExitClass {
        match self {
            Self::Driver(error) => error.exit_class(),
            Self::StopStands { .. } => ExitClass::Stopped,
            Self::Hands(_)
            | Self::Engine(_)
            | Self::NotOurs { .. }
            | Self::Over { .. }
            | Self::Changed { .. }
            | Self::Remembered(_)
            | Self::Sole(_) => ExitClass::BadInput,
            Self::File(_) => ExitClass::DoesNotHold,
            Self::Canonical(_) => ExitClass::Internal,
        }
    }
}
