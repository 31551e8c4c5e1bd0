//! Why a canary could not be sent.

use std::io;

/// Why a canary could not be sent.
#[derive(Debug, thiserror::Error)]
#[error("cannot {what}: {error}")]
pub struct CanaryError {
    what: &'static str,
    error: io::Error,
}

pub(super) fn at(what: &'static str) -> impl Fn(io::Error) -> CanaryError {
    move |error| CanaryError { what, error }
}
