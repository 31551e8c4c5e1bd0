//! A session that is asked for and is not there.

use std::borrow::Cow;
use tripwire_core::explain::Explain;

#[derive(Debug, thiserror::Error)]
#[error("no session whose id begins with `{asked}` is among the {among}")]
pub(super) struct NoSuchSessionError {
    pub(super) asked: String,
    /// What was looked through.
    pub(super) among: &'static str,
}

impl Explain for NoSuchSessionError {
    fn hint(&self) -> Cow<'_, str> {
        "list them with `tripwire scan`, and every one with `tripwire scan --json`".into()
    }
}
