//! The clients by the names that people write.

use clap::ValueEnum;
use tripwire_clients::hooks::Client;

/// A client, as a flag names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ClientName {
    /// Claude Code.
    Claude,
    /// Codex CLI.
    Codex,
    /// Gemini CLI.
    Gemini,
}

impl ClientName {
    /// The client of this name.
    pub(crate) const fn client(self) -> Client {
        match self {
            Self::Claude => Client::Claude,
            Self::Codex => Client::Codex,
            Self::Gemini => Client::Gemini,
        }
    }
}
