//! What is specific to a client: tables, one each in its `hook.rs`, `transcript.rs`, `settings.rs` and `launch.rs`, and in
//! `servers.rs` if its settings name tool servers. Everything else is shared by all clients.

use crate::hooks::dialect::HookDialect;
use crate::install::form::HookSettings;
use crate::install::trust::HookTrust;
use crate::launch::dialect::LaunchDialect;
use crate::private_files::PrivateFiles;
use crate::tool_servers::table::ServerSettings;
use crate::transcript::TranscriptDialect;
use std::fmt::{Debug, Formatter, Result};

/// One client's dialect.
pub struct Adapter {
    /// The name for people.
    pub title: &'static str,
    /// Its name in our commands, its own folder, and the file that holds its hooks.
    pub settings: &'static HookSettings,
    /// How it comes to trust our hooks, where it runs only trusted ones.
    pub trust: Option<&'static dyn HookTrust>,
    /// What its hooks are told and what they answer.
    pub hooks: &'static HookDialect,
    /// Its own record of a session.
    pub transcript: &'static TranscriptDialect,
    /// Its start and its output.
    pub launch: &'static LaunchDialect,
    /// The tool servers that its settings name, where it has such.
    pub servers: Option<&'static ServerSettings>,
    /// Where it is guarded.
    pub door: Door,
    /// Its own files, of which a confined run has a private copy; none where it keeps none that we know.
    pub private: Option<&'static PrivateFiles>,
    /// How it takes to the sandbox around its whole tree.
    pub sandbox: SandboxUse,
}

/// How a client takes to the sandbox around its whole tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SandboxUse {
    /// The version whose work and whose attempts to get out were tried in it, as root and as an ordinary user; none where they
    /// were not.
    pub measured: Option<&'static str>,
    /// Why `tripwire run` does not confine it unless it is told to.
    pub not_by_default: &'static str,
}

impl SandboxUse {
    /// A client that was seen to work in the sandbox. It stays a person's choice, because of what does not work there.
    #[must_use]
    pub const fn measured(version: &'static str) -> Self {
        let not_by_default =
            "its tools would reach no host but those of `--allow-host`, and no session begun outside could be resumed";
        Self { measured: Some(version), not_by_default }
    }

    /// A client whose own files are not known, so that it would begin without its settings.
    pub const WITHOUT_OWN_FILES: Self = Self {
        measured: None,
        not_by_default: "it would begin without its own settings, and it was not measured there",
    };
}

/// Where a client is guarded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Door {
    /// Its hooks call us before and after each tool.
    Hooks,
    /// It has no hooks of ours: what it does is read from its model calls, at the gateway of a supervised run.
    Gateway,
    /// It is no client: the MCP guard asks about each call itself.
    OwnGuard,
}

impl Debug for Adapter {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> Result {
        formatter.write_str(self.title)
    }
}
