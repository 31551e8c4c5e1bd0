//! The supervisor: someone else's agent under our guard for one run, with nothing installed.
//!
//! It begins the session, prepares the client's hooks for this run only, starts the client as one process tree, and is the
//! session's only writer: hooks hand over what the client sent them, and the answers come from here. It freezes the tree
//! while something holds the session and ends it with a receipt. Nothing here decides; what the engine decides is carried
//! out whether the client likes it or not.

mod closing;
mod confinement;
mod ending;
mod engine_thread;
mod error;
mod folder;
mod guard;
mod hook_silence;
mod late_hooks;
mod model_gateway;
mod no_hook;
mod options;
mod output_tap;
mod report;
mod run_context;
mod run_loop;
mod serve;
pub mod socket;
mod sources;
mod traffic;
mod transcript_audit;
mod verify;
mod watch;
mod wire_door;
mod worker;

pub use ending::Ending;
pub use error::RunError;
pub use options::{GatewaySwitch, Notifier, Output, Presence, RunOptions, SandboxOptions, StderrUse, WatchLimits};
pub use report::{EngineSwitch, GatewayReport, GatewayState, Isolation, Proof, RunReport};
pub use traffic::Traffic;
pub use verify::Verified;

use confinement::Confinement;
use folder::RunFolder;
use model_gateway::WaitingGateway;
use run_context::RunPlace;
use run_loop::{FallbackEngine, RunLoop};
use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;
use tripwire_authority::identity::Configuration;
use tripwire_clients::Client;
use tripwire_clients::launch::Program;
use tripwire_sandbox::interrupts;
use tripwire_session::driver::{Driver, Reporting};
use tripwire_workspace::clock;
use tripwire_workspace::control::ControlFile;
use tripwire_workspace::geometry::report_parts::nothing_unread_but_loops;
use tripwire_workspace::{Workspace, exclude, test_command};

/// Runs a client under the guard to its end.
///
/// # Errors
/// When nothing was started. What happens after the start is in the report.
pub fn run(options: &RunOptions, notifier: Arc<dyn Notifier>) -> Result<RunReport, RunError> {
    let program = find(&options.command, options.client)?;
    let mut fallbacks = Vec::new();
    for words in &options.fallbacks {
        fallbacks.push(FallbackEngine { program: find(words, None)?, command: words.clone() });
    }
    for command in [&options.command].into_iter().chain(&options.fallbacks) {
        is_there(command, &options.cwd, &options.env)?;
    }
    for FallbackEngine { program, command } in &fallbacks {
        worker::check_hooks(options, *program, command)?;
    }
    nothing_blocks(&options.workspace)?;
    if options.reporting == Reporting::Own {
        nothing_unread_but_loops(options.workspace.layout())?;
    }
    let setup = |what| move |error| RunError::Setup { what, error };
    let folder = RunFolder::make(&options.temporary, &options.program).map_err(setup("make the run's folder"))?;
    // A repository in which `.geometry/` cannot be excluded is no reason to run unguarded.
    if let Err(error) = exclude::exclude_geometry(options.workspace.root()) {
        notifier.say(&format!("note: `.geometry/` is not excluded from git: {error}"));
    }
    interrupts::watch().map_err(setup("watch for interrupts"))?;
    let mut options = options.clone();
    let clients: Vec<Client> =
        [program].iter().chain(fallbacks.iter().map(|next| &next.program)).map(|found| found.client).collect();
    let confinement = Confinement::prepare(&mut options, &folder, &clients, notifier.as_ref())?;
    let options = &options;
    let gateway = WaitingGateway::open(options).map_err(setup("open a port for the gateway"))?;
    let place = gateway.as_ref().map(WaitingGateway::place);
    let first = worker::prepare(options, &folder, place, program, &options.command)?;
    let (layout, signing) = (options.workspace.layout(), options.signing.clone());
    let driver = Driver::begin_signed(layout, signing, clock::now(), Configuration::default(), |policy| {
        options.settings.iter().try_for_each(|(path, text)| policy.set(path, text))?;
        test_command::fill_in(options.workspace.root(), policy)
    })?
    .with_reporting(options.reporting)
    .replicated_by(options.replica.clone());
    notifier.begun(driver.session());
    let gateway = gateway.map(|gateway| gateway.serve(options, &driver, &notifier)).transpose()?;
    let place = RunPlace { options, folder: &folder, confinement: confinement.as_ref() };
    RunLoop::open(place, driver, notifier, gateway)?.run(first, fallbacks)
}

fn find(command: &[OsString], named: Option<Client>) -> Result<Program, RunError> {
    let found = match named {
        Some(client) if !command.is_empty() => Some(Program::named(client, command)),
        Some(_) | None => Program::find(command),
    };
    found.ok_or_else(|| RunError::UnknownClient { program: command.first().cloned().unwrap_or_default() })
}

/// Whether the program of a command line can be found: what is not there is reported before anything begins.
///
/// # Errors
/// When it is not there.
pub fn is_there(command: &[OsString], cwd: &Path, env: &[(OsString, OsString)]) -> Result<(), RunError> {
    let program = command.first().cloned().unwrap_or_default();
    let found = if program.as_encoded_bytes().contains(&b'/') {
        cwd.join(&program).is_file()
    } else {
        let path = env.iter().find(|(name, _)| name == "PATH").map(|(_, value)| value.clone());
        let folders = path.unwrap_or_else(|| "/usr/bin:/bin".into());
        std::env::split_paths(&folders).any(|folder| cwd.join(folder).join(&program).is_file())
    };
    if found { Ok(()) } else { Err(RunError::NotFound { program }) }
}

/// A leftover order blocks a new session before it is begun.
fn nothing_blocks(workspace: &Workspace) -> Result<(), RunError> {
    for (file, name) in [(ControlFile::Stop, "STOP"), (ControlFile::Pause, "PAUSE")] {
        if file.path(workspace.layout()).symlink_metadata().is_ok() {
            return Err(RunError::Blocked(name));
        }
    }
    Ok(())
}
