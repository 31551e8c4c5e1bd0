//! One worker: a client whose hooks are prepared for this run, and its start as one process tree.

use crate::confinement::{self, ConfinedCommand};
use crate::error::RunError;
use crate::folder::RunFolder;
use crate::model_gateway::ModelGateway;
use crate::no_hook::NoHookDiagnosis;
use crate::options::{Output, RunOptions};
use crate::output_tap::{OutputTap, StderrTail};
use crate::run_context::RunContext;
use crate::socket::SOCKET_VARIABLE;
use crate::wire_door::WireDoor;
use std::ffi::OsString;
use std::io::IsTerminal as _;
use std::path::Path;
use tripwire_clients::hook_command;
use tripwire_clients::launch::{GatewayPlace, LaunchError, LaunchPlace, OwnWords, PreparedClient, Program, Routing};
use tripwire_clients::tool_servers::RunGuard;
use tripwire_sandbox::{Tree, TreeStdio};
use tripwire_workspace::clock;

/// A client that is ready to be started.
#[derive(Debug)]
pub(crate) struct Worker {
    pub(crate) program: Program,
    prepared: PreparedClient,
    /// The person's own command line, for a later restart.
    pub(crate) command: Vec<OsString>,
}

/// A worker that was started.
pub(crate) struct StartedWorker {
    pub(crate) tree: Tree,
    pub(crate) output: Option<OutputTap>,
    pub(crate) stderr: Option<StderrTail>,
    pub(crate) no_hook: NoHookDiagnosis,
}

/// Refuses a client whose hooks something switches off: under such a switch nothing would be guarded.
///
/// # Errors
/// When something does.
pub(crate) fn check_hooks(options: &RunOptions, program: Program, command: &[OsString]) -> Result<(), LaunchError> {
    let place = LaunchPlace {
        run_folder: Path::new(""),
        guard_folder: Path::new(""),
        hook: "",
        cwd: &options.cwd,
        root: options.workspace.root(),
        env: &options.env,
        homes: &options.homes,
        gateway: None,
        servers: None,
    };
    let words = OwnWords::of(command, program.arguments);
    let off = (program.client.adapter().launch.switched_off)(&place, &words);
    off.map_or(Ok(()), |by| Err(LaunchError::SwitchedOff { by }))
}

/// Prepares a client for this run.
pub(crate) fn prepare(
    options: &RunOptions,
    folder: &RunFolder,
    gateway: Option<GatewayPlace<'_>>,
    program: Program,
    command: &[OsString],
) -> Result<Worker, LaunchError> {
    check_hooks(options, program, command)?;
    let socket = folder.socket();
    let (guard_folder, hook) = (folder.inner(), hook_command::line(folder.program(), program.client.name()));
    let place = LaunchPlace {
        run_folder: folder.path(),
        guard_folder: &guard_folder,
        hook: &hook,
        cwd: &options.cwd,
        root: options.workspace.root(),
        env: &options.env,
        homes: &options.homes,
        gateway,
        servers: Some(RunGuard { program: folder.program(), variable: SOCKET_VARIABLE, socket: &socket }),
    };
    let mut prepared =
        PreparedClient { command: command.to_vec(), env: options.env.clone(), ..PreparedClient::default() };
    prepared.set(SOCKET_VARIABLE, folder.socket().into_os_string());
    (program.client.adapter().launch.prepare)(&place, program.arguments, &mut prepared)?;
    if matches!(prepared.routing, Routing::Through(_)) {
        prepared.keep_from_proxies();
    }
    Ok(Worker { program, prepared, command: command.to_vec() })
}

impl Worker {
    /// Starts it.
    pub(crate) fn start(&self, context: &RunContext<'_>) -> Result<StartedWorker, RunError> {
        let options = context.options;
        let client = self.program.client;
        context.guard.begin_worker();
        for note in &self.prepared.notes {
            context.notifier.say(&format!("tripwire: {note}"));
        }
        if let Some(gateway) = context.guard.gateway() {
            gateway.begin_worker(&self.prepared.routing, &context.notifier)?;
            let listen = || {
                WireDoor::listen(
                    &context.guard,
                    client,
                    &context.session,
                    options.cwd.clone(),
                    self.prepared.server_tools.clone(),
                )
            };
            let asked = client.is_at_gateway().then(listen).transpose();
            gateway.set_asked(asked.map_err(|error| RunError::Setup { what: "start a thread", error })?);
        }
        let gateway = context.guard.gateway();
        if context.confinement.is_some() {
            confinement::check_routing(&self.prepared.routing)?;
        }
        let mut spec = context.tree(&ConfinedCommand {
            command: &self.prepared.command,
            programs: self.program.arguments,
            env: &self.prepared.env,
            read_only: &context.read_only(&self.prepared.read_only),
            port: gateway.map(ModelGateway::port),
        })?;
        let own = self.command.get(self.program.arguments..).unwrap_or_default();
        let own: Vec<String> = own.iter().map(|word| word.to_string_lossy().into_owned()).collect();
        let (mut output, mut stderr) = (None, None);
        let setup = |error| RunError::Setup { what: "make a pipe", error };
        let mut errors = TreeStdio::Inherit;
        if options.output == Output::Kept {
            let (complaints, writer) = std::io::pipe().map_err(setup)?;
            stderr = Some(StderrTail::start(complaints).map_err(setup)?);
            errors = TreeStdio::Fd(writer.into());
        }
        let input = match options.output {
            Output::Passed => TreeStdio::Inherit,
            Output::Kept => TreeStdio::Null,
        };
        let tells_end = || (client.adapter().launch.output_tells_end)(&own) && !std::io::stdout().is_terminal();
        if options.output == Output::Kept || tells_end() {
            let (reader, writer) = std::io::pipe().map_err(setup)?;
            output = Some(OutputTap::start(client, reader, options.output).map_err(setup)?);
            spec = spec.stdio(input, TreeStdio::Fd(writer.into()), errors);
        } else {
            spec = spec.stdio(input, TreeStdio::Inherit, errors);
        }
        let root = options.workspace.root();
        let no_hook = NoHookDiagnosis::note(self.program, &self.command, root, &options.homes, clock::now());
        let no_hook = no_hook.hearing(output.as_ref());
        let mut tree = spec.start()?;
        for listener in tree.listeners() {
            let served = gateway.map_or(Ok(()), |gateway| gateway.serve_also(listener));
            served.map_err(|error| RunError::Setup { what: "serve the gateway in the sandbox", error })?;
        }
        Ok(StartedWorker { tree, output, stderr, no_hook })
    }
}
