//! `tripwire mcp`: the guard between a client and a tool server.

mod address;
mod http;
mod offer;

use crate::error::Problem;
use crate::exit::Exit;
use crate::person::{self, Reason};
use crate::print::{self, Out};
use crate::workspace::{self, Where};
use clap::{Args, Subcommand};
use serde_json::json;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use tripwire_core::counted::counted;
use tripwire_core::input::HumanAct;
use tripwire_core::label::Label;
use tripwire_mcp::guard::{
    CallOrigin, Door, DoorPlace, GuardEnd, GuardOptions, PinStore, RunDoor, ServerName, SessionDoor, serve,
};
use tripwire_sandbox::TreeExit;
use tripwire_session::driver::{Driver, StepOutcome};
use tripwire_session::newest::newest_or_new;
use tripwire_supervisor::Notifier;
use tripwire_supervisor::socket::{SESSION_VARIABLE, SOCKET_VARIABLE};
use tripwire_workspace::clock;
use tripwire_workspace::session::SessionId;

/// Guard an MCP server: the client starts this, or connects to its address, instead of the server.
///
/// Every `tools/call` is decided by the same engine as a hook's call: permissions, the destructive-command guard,
/// budgets, loops, STOP and PAUSE. A refusal is a tool error that states the reason; a call that waits is held here.
/// All other messages pass through unchanged. When the client disconnects, the server's whole process tree is ended.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub(crate) struct McpArgs {
    #[command(subcommand)]
    verb: Option<McpVerb>,
    #[command(flatten)]
    serve: McpServeArgs,
}

#[derive(Debug, Subcommand)]
enum McpVerb {
    Trust(TrustArgs),
    Serve(offer::OfferArgs),
    /// Carry messages between standard streams and an address; the guard starts this for itself.
    #[command(hide = true)]
    Carry,
}

/// Show and trust what changed in a server's tools since they were pinned.
///
/// A new or changed tool is removed from the list that clients get, and calls to it are held as TOOL_CHANGED. Only a
/// person may run this command; it is refused inside a client.
#[derive(Debug, Args)]
struct TrustArgs {
    /// The server's name.
    name: String,
    #[command(flatten)]
    place: Where,
    #[command(flatten)]
    reason: Reason,
    /// Write one JSON object a line.
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
struct McpServeArgs {
    /// The server's name in records and policies; by default its program's name.
    #[arg(long, value_name = "NAME", value_parser = server_name)]
    name: Option<String>,
    /// The session that its calls belong to; by default the session of `tripwire run`, else one per client process.
    #[arg(long, value_name = "ID")]
    session: Option<String>,
    #[command(flatten)]
    place: Where,
    #[command(flatten)]
    http: http::HttpArgs,
    /// Talk to the client over standard input and output, and to the server at `--url`; for clients that start this
    /// command.
    #[arg(long, requires = "url", conflicts_with_all = ["listen", "token_file", "origin", "json"])]
    stdio: bool,
    /// Like `--stdio`, with the server's address and headers from an entry of a client's settings, passed in this
    /// variable.
    #[arg(long, value_name = "VARIABLE", conflicts_with_all = ["url", "stdio"])]
    entry: Option<String>,
    /// The server's command line.
    #[arg(required_unless_present_any = ["url", "entry"], conflicts_with_all = ["url", "entry"], last = true,
        value_name = "COMMAND")]
    command: Vec<OsString>,
}

fn server_name(text: &str) -> Result<String, String> {
    let wrong = || "use letters, digits, `-`, `.` and, inside, single `_`, at most 64: without `__`".to_owned();
    ServerName::new(text).map(|_| text.to_owned()).ok_or_else(wrong)
}

/// Runs the verb.
pub(crate) fn run(args: McpArgs) -> Result<Exit, Problem> {
    match args.verb {
        Some(McpVerb::Trust(args)) => trust(&args),
        Some(McpVerb::Serve(args)) => offer::run(&args),
        Some(McpVerb::Carry) => address::carry(),
        None => guard(args.serve),
    }
}

/// A person trusts what changed.
fn trust(args: &TrustArgs) -> Result<Exit, Problem> {
    person::only("mcp trust", &args.place)?;
    let trusted = pins().trust(&args.name)?;
    let workspace = args.place.open()?;
    let mut driver = newest_or_new(workspace.layout(), workspace::signing(&workspace), None)?;
    let mut out = Out::lock();
    for (server, lines) in &trusted {
        let tools = counted(u64::try_from(lines.len()).unwrap_or(u64::MAX), "tool");
        let act = HumanAct::Other(Label::cut(&format!("trusted {tools} of the tool server `{}`", server.name)));
        driver.take_now(args.reason.sign(act), clock::now)?;
        let command = server.command.join(" ");
        if args.json {
            let shown = json!({"verb": "mcp trust", "server": server.name, "command": command, "trusted": lines,
                "session": driver.session().to_string()});
            out.line(&shown.to_string())?;
        } else {
            out.prose(&format!("trusted now, for `{}` ({command}):", server.name))?;
            for line in lines {
                out.prose(&format!("  {line}"))?;
            }
            out.prose(&format!("journaled in {}", driver.session()))?;
        }
    }
    out.flush()?;
    Ok(Exit::Done)
}

/// The pins of this person.
pub(crate) fn pins() -> PinStore {
    PinStore::below(workspace::homes().own_state().as_deref())
}

fn guard(args: McpServeArgs) -> Result<Exit, Problem> {
    let cwd = std::env::current_dir().map_err(|error| Problem::open(".".as_ref(), error))?;
    let named = args.name.as_deref().and_then(ServerName::new);
    let notifier: Arc<dyn Notifier> = Arc::new(OnStderr);
    let asker = Asker { session: args.session, place: args.place, cwd: cwd.clone() };
    if let Some(carried) = address::Carried::of(args.http.url.as_ref().filter(|_| args.stdio), args.entry.as_deref())? {
        let name = named.unwrap_or_else(|| ServerName::of_host(carried.url.host()));
        let door = asker.door(client_process(), &notifier)?;
        return Ok(ended(serve(carried.guarded(name, cwd, door, pins())?, notifier)?));
    }
    if let Some(url) = &args.http.url {
        let name = named.unwrap_or_else(|| ServerName::of_host(url.host()));
        let guard = http::HttpGuard { url, name, pins: pins(), notifier: &notifier };
        return http::run(&args.http, guard, || asker.door(own_process(), &notifier));
    }
    let name = named.unwrap_or_else(|| ServerName::of_command(&args.command));
    let door = asker.door(client_process(), &notifier)?;
    let (address, variable) = (None, None);
    let options = GuardOptions { name, command: args.command, address, variable, cwd, door, pins: pins() };
    Ok(ended(serve(options, notifier)?))
}

/// What the end of a server means for the process that started us.
fn ended(end: GuardEnd) -> Exit {
    match end {
        GuardEnd::ClientClosed => Exit::Done,
        GuardEnd::ServerEnded(Some(TreeExit::Exited(code))) => Exit::OfCommand(code),
        GuardEnd::ServerEnded(Some(TreeExit::Signaled(_)) | None) => Exit::Internal,
    }
}

/// Who asks about calls: for which session, in which workspace.
struct Asker {
    session: Option<String>,
    place: Where,
    cwd: PathBuf,
}

impl Asker {
    /// Who is asked: the supervisor of the run that this process belongs to, else the session's own driver.
    fn door(&self, client: String, notifier: &Arc<dyn Notifier>) -> Result<Door, Problem> {
        let session = self.session.as_deref().map(SessionId::parse).transpose()?;
        let socket = std::env::var_os(SOCKET_VARIABLE).filter(|path| !path.is_empty() && session.is_none());
        let origin = CallOrigin { client, cwd: self.cwd.clone() };
        if let Some(socket) = socket {
            // The supervisor knows the workspace, and inside a run nothing of its state can be written.
            return Ok(Door::Run(Box::new(RunDoor::new(origin, PathBuf::from(socket)))));
        }
        let named_by_run = || std::env::var(SESSION_VARIABLE).ok().and_then(|text| SessionId::parse(&text).ok());
        let workspace = self.place.open()?;
        let place = DoorPlace {
            homes: workspace::homes(),
            signing: workspace::signing(&workspace),
            role: workspace::role_variable(),
            session: session.or_else(named_by_run),
            state: workspace::state_home(),
            origin,
            workspace,
        };
        Ok(Door::Session(Box::new(SessionDoor::new(place, Arc::clone(notifier)))))
    }
}

/// What tells the client process from others.
fn client_process() -> String {
    named_process(std::os::unix::process::parent_id())
}

/// What tells this process from others: over HTTP the caller is not known.
fn own_process() -> String {
    named_process(std::process::id())
}

/// The number of a process, and when it began.
fn named_process(id: u32) -> String {
    let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
    let began = stat.rsplit_once(')').and_then(|(_, rest)| rest.split_whitespace().nth(19)).unwrap_or_default();
    format!("{id}-{began}")
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
