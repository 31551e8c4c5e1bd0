//! `tripwire mcp`: the guard between a client and a tool server.

use crate::error::Problem;
use crate::exit::Exit;
use crate::print;
use crate::workspace::{self, Where};
use clap::Args;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use tripwire_mcp::guard::{Door, DoorPlace, GuardEnd, GuardOptions, RunDoor, ServerName, SessionDoor, serve};
use tripwire_sandbox::TreeExit;
use tripwire_session::driver::{Driver, StepOutcome};
use tripwire_supervisor::Notifier;
use tripwire_supervisor::socket::{SESSION_VARIABLE, SOCKET_VARIABLE};
use tripwire_workspace::session::SessionId;

/// Guard an MCP server: a client starts this in the place of the server.
///
/// Every `tools/call` is decided by the same engine as a hook's call: permissions, the destructive-command guard, budgets, loops,
/// STOP and PAUSE. A refusal is a tool error that says why; a call that waits is held here. Everything else passes as it came.
/// When the client closes, the server's whole tree ends.
#[derive(Debug, Args)]
pub(crate) struct McpArgs {
    /// The server's name in records and policies; by default that of its program.
    #[arg(long, value_name = "NAME", value_parser = server_name)]
    name: Option<String>,
    /// The session that its calls belong to; by default that of `tripwire run`, else one for each client process.
    #[arg(long, value_name = "ID")]
    session: Option<String>,
    #[command(flatten)]
    place: Where,
    /// The server's command line.
    #[arg(required = true, last = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

fn server_name(text: &str) -> Result<String, String> {
    let wrong = || "use letters, digits, `-`, `_` and `.`, at most 64, without `__`".to_owned();
    ServerName::new(text).map(|_| text.to_owned()).ok_or_else(wrong)
}

/// Runs the verb.
pub(crate) fn run(args: McpArgs) -> Result<Exit, Problem> {
    let session = args.session.as_deref().map(SessionId::parse).transpose()?;
    let workspace = args.place.open()?;
    let cwd = std::env::current_dir().map_err(|error| Problem::open(".".as_ref(), error))?;
    let named = args.name.as_deref().and_then(ServerName::new);
    let name = named.unwrap_or_else(|| ServerName::of_command(&args.command));
    let notifier: Arc<dyn Notifier> = Arc::new(OnStderr);
    let socket = std::env::var_os(SOCKET_VARIABLE).filter(|path| !path.is_empty() && session.is_none());
    let named_by_run = || std::env::var(SESSION_VARIABLE).ok().and_then(|text| SessionId::parse(&text).ok());
    let place = DoorPlace {
        homes: workspace::homes(),
        signing: workspace::signing(&workspace),
        role: workspace::role_variable(),
        session: session.or_else(named_by_run),
        client: client_process(),
        state: workspace::state_home(),
        cwd: cwd.clone(),
        workspace,
    };
    let door = match socket {
        Some(socket) => Door::Run(Box::new(RunDoor::new(place, PathBuf::from(socket)))),
        None => Door::Session(Box::new(SessionDoor::new(place, Arc::clone(&notifier)))),
    };
    let end = serve(GuardOptions { name, command: args.command, cwd, door }, notifier)?;
    Ok(match end {
        GuardEnd::ClientClosed => Exit::Done,
        GuardEnd::ServerEnded(Some(TreeExit::Exited(code))) => Exit::OfCommand(code),
        GuardEnd::ServerEnded(Some(TreeExit::Signaled(_)) | None) => Exit::Internal,
    })
}

/// What tells the client process from others: its number, and when it began.
fn client_process() -> String {
    let parent = std::os::unix::process::parent_id();
    let stat = std::fs::read_to_string(format!("/proc/{parent}/stat")).unwrap_or_default();
    let began = stat.rsplit_once(')').and_then(|(_, rest)| rest.split_whitespace().nth(19)).unwrap_or_default();
    format!("{parent}-{began}")
}

/// What a person is told, beside what the server says there.
struct OnStderr;

impl Notifier for OnStderr {
    fn say(&self, line: &str) {
        print::say(line);
    }

    fn taken(&self, driver: &Driver, taken: &StepOutcome) {
        crate::notify::notify(driver, taken);
    }
}
