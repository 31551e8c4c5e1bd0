//! The sandbox around a client's whole tree: what it sees, what it may write to, and what of it comes back.
//!
//! The home is empty but for what is granted below it: programs that the person's `PATH` names, tool chains, the client's own
//! files in a private copy. The network is the run's gateway and the hosts that were named. Nothing here decides; what the walls
//! kept from happening, as far as it is seen, enters the engine as a fact.

mod environment;
mod programs;

use crate::confinement::environment::OwnProxy;
use crate::error::RunError;
use crate::folder::RunFolder;
use crate::options::{Notifier, RunOptions, SandboxOptions};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use tripwire_clients::Client;
use tripwire_clients::launch::Routing;
use tripwire_clients::private_home::{PrivateHome, WriteBack};
use tripwire_core::input::{SandboxHeld, SandboxWall};
use tripwire_core::label::Label;
use tripwire_sandbox::{FindingFate, Planted, Sandbox, SpecError, TreeSurroundings};
use tripwire_workspace::{account, state_name};

/// Below our own state: the private copies of clients' files, a folder for each workspace.
const COPIES: &str = "confined";
/// Tool chains and settings of a home that are shown read-only, as far as they are there. Keys among them are hidden.
const SHOWN_OF_HOME: [&str; 16] = [
    ".asdf",
    ".bun",
    ".cargo",
    ".config/git",
    ".deno",
    ".gitconfig",
    ".local/bin",
    ".local/lib",
    ".local/pipx",
    ".local/share/claude",
    ".nvm",
    ".pyenv",
    ".rustup",
    ".sdkman",
    ".volta",
    "go",
];
/// Variables by which a person names tool chains, certificates and configurations that lie elsewhere.
const SHOWN_BY_VARIABLE: [&str; 10] = [
    "CARGO_HOME",
    "GIT_CONFIG_GLOBAL",
    "GOROOT",
    "NODE_EXTRA_CA_CERTS",
    "NVM_DIR",
    "OPENCODE_CONFIG",
    "REQUESTS_CA_BUNDLE",
    "RUSTUP_HOME",
    "SSL_CERT_DIR",
    "SSL_CERT_FILE",
];

/// The sandbox of a run.
#[derive(Debug)]
pub(crate) struct Confinement {
    wanted: SandboxOptions,
    homes: Vec<PrivateHome>,
}

/// What is confined: a client, or the test command.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ConfinedCommand<'a> {
    pub(crate) command: &'a [OsString],
    /// How many of its first words are programs: the client behind its starters. What else it names is not shown.
    pub(crate) programs: usize,
    /// The environment that it would have.
    pub(crate) env: &'a [(OsString, OsString)],
    /// What it may only read.
    pub(crate) read_only: &'a [PathBuf],
    /// The gateway's port, if it may ask a model.
    pub(crate) port: Option<u16>,
}

impl Confinement {
    /// Makes the private copies and leads the options of the run to them; none if no sandbox is wanted.
    pub(crate) fn prepare(
        options: &mut RunOptions,
        folder: &RunFolder,
        clients: &[Client],
        notifier: &dyn Notifier,
    ) -> Result<Option<Self>, RunError> {
        let Some(wanted) = options.sandbox.clone() else { return Ok(None) };
        let state =
            options.homes.own_state().map(|state| state.join(COPIES).join(state_name(options.workspace.root())));
        let below = state.unwrap_or_else(|| folder.path().join(COPIES));
        let mut homes: Vec<PrivateHome> = Vec::new();
        for client in clients {
            if homes.iter().any(|home| home.client() == *client) {
                continue;
            }
            let made = PrivateHome::make(*client, &options.homes, &below);
            let made = made.map_err(|error| RunError::Setup { what: "copy the client's own files", error })?;
            homes.extend(made);
        }
        for home in &homes {
            for left in home.left_out() {
                notifier.say(&format!("tripwire: too large for the private copy, left out: {}", left.display()));
            }
            for (variable, place) in home.variables() {
                options.homes.given.insert(variable, place.clone());
                options.env.retain(|(name, _)| name != variable);
                options.env.push((OsString::from(variable), place.clone().into_os_string()));
            }
        }
        Ok(Some(Self { wanted, homes }))
    }

    /// The layers around a command of this run.
    pub(crate) fn sandbox(
        &self,
        options: &RunOptions,
        folder: &RunFolder,
        what: &ConfinedCommand<'_>,
    ) -> Result<Sandbox, SpecError> {
        let home = options.homes.home.as_ref().and_then(|home| home.canonicalize().ok());
        let shown = programs::shown(what.command.get(..what.programs).unwrap_or_default(), what.env, home.as_deref());
        let of_home = home.iter().flat_map(|home| SHOWN_OF_HOME.iter().map(|name| home.join(name)));
        let named = what.env.iter().filter(|(name, _)| SHOWN_BY_VARIABLE.iter().any(|known| name == known));
        let more = of_home.chain(named.map(|(_, value)| PathBuf::from(value))).chain([folder.program().to_owned()]);
        let mut sandbox = Sandbox::new(options.workspace.root(), what.command)?
            .budgets(self.wanted.budgets)
            .workspace_access(self.wanted.access);
        for path in shown.into_iter().chain(more.filter(|path| path.is_absolute() && path.exists())) {
            sandbox = sandbox.read(&path)?;
        }
        sandbox = sandbox.write(folder.path())?;
        for path in self.homes.iter().flat_map(PrivateHome::folders) {
            sandbox = sandbox.write(path)?;
        }
        if let Some(network) = &self.wanted.network {
            sandbox = sandbox.bridge(network)?;
        }
        let read_only = what.read_only.iter().filter_map(|path| path.canonicalize().ok()).collect();
        Ok(sandbox.for_tree(TreeSurroundings {
            home: home.unwrap_or_else(|| Path::new("/home/agent").to_owned()),
            user: account::current(),
            ports: what.port.into_iter().collect(),
            read_only,
        }))
    }

    /// What of an environment a confined command gets: no key that the run did not put there itself.
    pub(crate) fn environment(&self, options: &RunOptions, env: &[(OsString, OsString)]) -> Vec<(OsString, OsString)> {
        let proxy = if self.wanted.network.is_some() { OwnProxy::Serves } else { OwnProxy::None };
        environment::kept(&options.env, env, proxy)
    }

    /// What the walls kept from happening: refused hosts, and what a tree left behind.
    pub(crate) fn held(&self, planted: &Planted) -> Vec<SandboxHeld> {
        let hosts = self.wanted.traffic.news().into_iter().map(|what| (SandboxWall::Network, what));
        let found = planted.findings.iter().map(|found| {
            let text = format!("`{}`: {}: {}", found.path.display(), found.kind.name(), found.action);
            (SandboxWall::Scan, text)
        });
        let unseen = planted.unseen.iter().map(|what| (SandboxWall::Scan, format!("not looked at: {what}")));
        let all = hosts.chain(found).chain(unseen);
        all.map(|(wall, what)| SandboxHeld { wall, what: Label::cut(&what) }).collect()
    }

    /// Carries renewed credentials back to the person; what was not carried back is held.
    pub(crate) fn write_back(&self, notifier: &dyn Notifier) -> Vec<SandboxHeld> {
        let mut held = Vec::new();
        for home in &self.homes {
            let name = home.client().name();
            let told = match home.write_back(&|host| self.wanted.traffic.has_reached(host)) {
                WriteBack::Unchanged => continue,
                WriteBack::Written(fields) => format!("{name}: renewed credential taken over: {}", fields.join(", ")),
                WriteBack::Refused { why, written } => {
                    held.push(SandboxHeld {
                        wall: SandboxWall::Credential,
                        what: Label::cut(&format!("{name}: {why}")),
                    });
                    let taken = if written.is_empty() { "nothing".to_owned() } else { written.join(", ") };
                    format!("{name}: {why}; taken over: {taken}")
                }
            };
            notifier.say(&format!("tripwire: {told}"));
        }
        held
    }
}

/// Whether something that a tree planted could not be made harmless, or not be looked at.
pub(crate) fn left_armed(planted: &Planted) -> Option<String> {
    let armed = planted.findings.iter().find(|found| found.fate == FindingFate::StillArmed);
    armed.map(|found| format!("`{}`: {}", found.path.display(), found.action)).or_else(|| planted.unseen.clone())
}

/// A confined client reaches its model through the gateway alone.
pub(crate) fn check_routing(routing: &Routing) -> Result<(), RunError> {
    match routing {
        Routing::Through(_) => Ok(()),
        Routing::Off => Err(RunError::NoWayToModel { why: "the gateway is switched off".to_owned() }),
        Routing::Around(why) => Err(RunError::NoWayToModel { why: why.clone() }),
    }
}
