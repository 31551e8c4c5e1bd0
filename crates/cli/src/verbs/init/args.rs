//! The words of `tripwire init`, and whose settings they are about.

use crate::client_name::InstallName;
use crate::error::Problem;
use crate::print::Form;
use crate::workspace::Where;
use clap::Args;
use std::path::PathBuf;
use tripwire_clients::install::Scope;
use tripwire_workspace::Workspace;

/// Install tripwire's hooks in the settings of Claude Code, Codex and Gemini CLI, or put its guard in front of their
/// tool servers.
///
/// Your own settings are kept. The change is shown as a diff, a backup of the file is kept beside it, and a second
/// run changes nothing. The hooks start in `observe` mode: they record decisions and refuse only what people,
/// explicit limits and the destructive-command guard refuse. `tripwire arm` enforces the whole policy.
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
#[derive(Debug, Args)]
pub(crate) struct InitArgs {
    /// Only this client; may be repeated. By default all clients found.
    #[arg(long, value_name = "NAME")]
    pub(super) client: Vec<InstallName>,
    /// Guard all your sessions (this is the default).
    #[arg(long, conflicts_with = "project")]
    pub(super) user: bool,
    /// Guard the sessions in this workspace only.
    #[arg(long)]
    pub(super) project: bool,
    /// Show what would change, and change nothing.
    #[arg(long)]
    pub(super) print: bool,
    /// Wrap the tool servers (MCP) in the clients' settings, including opencode's, so that each is started through
    /// `tripwire mcp`. With `--remove`, unwrap only the servers.
    #[arg(long, conflicts_with_all = ["statusline", "purge"])]
    pub(super) mcp: bool,
    /// Remove the hooks, and the guard in front of tool servers.
    #[arg(long)]
    pub(super) remove: bool,
    /// With `--remove`: also delete what tripwire wrote, in every workspace where you used it (with `--project` in this one):
    /// journals, reports, policies, your key and your settings. Shown first; refused while a session runs.
    #[arg(long, requires = "remove")]
    pub(super) purge: bool,
    /// Also show tripwire's line in Claude Code's status bar, unless you have a status line of your own.
    #[arg(long, conflicts_with = "remove")]
    pub(super) statusline: bool,
    /// Do not ask. Without a terminal nothing is written unless this flag is given.
    #[arg(long)]
    pub(super) yes: bool,
    #[command(flatten)]
    pub(super) place: Where,
    #[command(flatten)]
    pub(super) form: Form,
}

/// Whose settings they are, and our own program.
pub(super) struct Place {
    /// The workspace, where the settings are its own.
    pub(super) workspace: Option<Workspace>,
    pub(super) scope: Scope,
    pub(super) program: PathBuf,
}

impl Place {
    pub(super) fn of(args: &InitArgs) -> Result<Self, Problem> {
        let workspace = if args.project { Some(args.place.look()?) } else { None };
        let scope = workspace.as_ref().map_or(Scope::User, |workspace| Scope::Project(workspace.root().to_owned()));
        let program =
            std::env::current_exe().and_then(|program| program.canonicalize()).map_err(Problem::OwnProgram)?;
        Ok(Self { workspace, scope, program })
    }
}
