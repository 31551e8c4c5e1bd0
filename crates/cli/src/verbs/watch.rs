//! `tripwire watch`: the sessions of this machine in the terminal, with one key for each act of a person.

use crate::console;
use crate::error::Problem;
use crate::exit::Exit;
use crate::notify;
use crate::person;
use crate::print::style;
use crate::workspace::{self, Where};
use clap::Args;
use std::borrow::Cow;
use std::io::{self, IsTerminal as _};
use std::path::PathBuf;
use std::process::Command;
use tripwire_console::Host;
use tripwire_console::watch::{self, Palette, WatchOptions};
use tripwire_core::explain::{ExitClass, Explain};
use tripwire_workspace::Workspace;
use tripwire_workspace::open_consoles::OpenConsole;
use tripwire_workspace::session::SessionId;

/// Watch all sessions of this machine in the terminal: agents with their cost and state, live calls, and what waits
/// for your approval.
///
/// One key approves, denies, explains, pauses, resumes or stops; the keys are listed at the bottom, `?` explains
/// them. `/` filters the records as `tripwire log` does. While the view is open, held calls wait for an answer. The
/// terminal is restored however the view ends. With hooks alone, an agent under the same account could read this
/// terminal or type into it, so the view is then not a security boundary.
#[derive(Debug, Args)]
pub(crate) struct WatchArgs {
    /// Only this workspace; may be repeated. By default all workspaces in which tripwire was used.
    #[arg(long, value_name = "DIR")]
    workspace: Vec<PathBuf>,
    /// Only this session.
    #[arg(long, value_name = "ID")]
    session: Option<String>,
}

/// Why there is nothing to look at, or nothing to look on.
#[derive(Debug, thiserror::Error)]
enum WatchVerbError {
    #[error("`tripwire watch` draws on a terminal, and {stream} is none")]
    NoTerminal { stream: &'static str },
    #[error("`tripwire watch` draws on a terminal, and this one says that it is `dumb`")]
    Dumb,
    #[error("there is no session `{session}` in the workspaces that are shown")]
    NoSession { session: String },
}

impl Explain for WatchVerbError {
    fn hint(&self) -> Cow<'_, str> {
        match self {
            Self::NoTerminal { .. } | Self::Dumb => {
                "use `tripwire status` for the state, `tripwire log` for the records, `tripwire approvals` for what waits"
                    .into()
            }
            Self::NoSession { .. } => "list them with `tripwire ls`, or name the workspace with `--workspace DIR`".into(),
        }
    }

    fn exit_class(&self) -> ExitClass {
        ExitClass::BadInput
    }
}

/// Runs the verb: the view is a process of its own, and this one waits to restore the terminal.
pub(crate) fn run(args: &WatchArgs) -> Result<Exit, Problem> {
    checked(args)?;
    let mut view = Command::new(std::env::current_exe().map_err(Problem::OwnProgram)?);
    view.arg(SCREEN_VERB);
    for folder in &args.workspace {
        view.arg("--workspace").arg(folder);
    }
    if let Some(session) = &args.session {
        view.arg("--session").arg(session);
    }
    let status = watch::keep(&mut view)?;
    Ok(match status.code().and_then(|code| u8::try_from(code).ok()) {
        Some(0) => Exit::Done,
        // The view has said what went wrong.
        Some(code) if code != PANICKED => Exit::OfCommand(code),
        Some(_) | None => Exit::Internal,
    })
}

/// How a process ends that panicked.
const PANICKED: u8 = 101;

/// The hidden verb that draws the view.
pub(crate) const SCREEN_VERB: &str = "watch-screen";

/// Runs the hidden verb.
pub(crate) fn screen(args: &WatchArgs) -> Result<Exit, Problem> {
    let host = Host { notify: |driver, taken| notify::notify_with(driver, taken, |_| {}), ..checked(args)? };
    // While the view is open, a held call may wait for its answer.
    let _open = workspace::state_home().and_then(|state| OpenConsole::open(&state).ok());
    let palette = if style::is_on() { Palette::Coloured } else { Palette::Plain };
    watch::show(WatchOptions {
        host,
        session: args.session.clone(),
        palette,
        #[cfg(debug_assertions)]
        breaks: workspace::wants_a_panic(),
    })?;
    Ok(Exit::Done)
}

/// What is shown, where a person may look at it here.
fn checked(args: &WatchArgs) -> Result<Host, Problem> {
    let mut named = Vec::new();
    for folder in &args.workspace {
        named.push(Workspace::locate(folder, &workspace::places())?.root().to_owned());
    }
    if named.is_empty() {
        person::only("watch", &Where::of(None))?;
    }
    for root in &named {
        person::only("watch", &Where::of(Some(root)))?;
    }
    if named.is_empty() && workspace::known().is_none() {
        return Err(Problem::NoHome);
    }
    for (stream, is_terminal) in
        [("standard input", io::stdin().is_terminal()), ("standard output", io::stdout().is_terminal())]
    {
        if !is_terminal {
            return Err(WatchVerbError::NoTerminal { stream }.into());
        }
    }
    if std::env::var_os("TERM").is_some_and(|term| term == "dumb") {
        return Err(WatchVerbError::Dumb.into());
    }
    let host = console::host(named);
    if let Some(name) = &args.session {
        let id = SessionId::parse(name)?;
        let is_there = |workspace: &Workspace| workspace.layout().first_segment(&id).exists();
        if !host.workspaces().iter().any(is_there) {
            return Err(WatchVerbError::NoSession { session: name.clone() }.into());
        }
    }
    Ok(host)
}
