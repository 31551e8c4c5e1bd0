//! Why a canary could not be sent.

use std::borrow::Cow;
use std::io;
use tripwire_core::explain::{ExitClass, Explain};

/// Why a canary could not be sent.
#[derive(Debug, thiserror::Error)]
#[error("cannot {what}: {error}")]
pub struct CanaryError {
    what: &'static str,
    error: io::Error,
}

impl Explain for CanaryError {
    fn hint(&self) -> Cow<'_, str> {
        "make the folder in TMPDIR writable".into()
    }

    fn exit_class(&self) -> ExitClass {
        ExitClass::DoesNotHold
    }
}

pub(super) fn at(what: &'static str) -> impl Fn(io::Error) -> CanaryError {
    move |error| CanaryError { what, error }
}
