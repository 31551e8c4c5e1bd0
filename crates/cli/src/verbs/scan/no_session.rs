//! A session that is asked for and is not there.

use std::borrow::Cow;
use tripwire_core::explain::Explain;

#[derive(Debug, thiserror::Error)]
#[error("no session whose id begins with `{asked}` is among the {}", among.name())]
pub(super) struct NoSuchSessionError {
    pub(super) asked: String,
    pub(super) among: Among,
}

/// What was looked through.
#[derive(Debug, Clone, Copy)]
pub(super) enum Among {
    Transcripts,
    Traces,
}

impl Among {
    const fn name(self) -> &'static str {
        match self {
            Self::Transcripts => "transcripts",
            Self::Traces => "traces",
        }
    }
}

impl Explain for NoSuchSessionError {
    fn hint(&self) -> Cow<'_, str> {
        match self.among {
            Among::Transcripts => "list them with `tripwire scan`, and every one with `tripwire scan --json`".into(),
            Among::Traces => "list them with `tripwire scan --traces FILE --json`".into(),
        }
    }
}
