//! `tripwire run --sandbox`: what a person asks for around the client, and the proxy that serves it.

use crate::error::Problem;
use crate::limits;
use crate::verbs::sandbox::network::{self, Allowed, Network, NoNetwork};
use clap::{Args, ValueEnum};
use std::borrow::Cow;
use std::sync::Arc;
use tripwire_clients::launch::Program;
use tripwire_core::explain::Explain;
use tripwire_egress::{RequestRecord, Stage, Verdict};
use tripwire_sandbox::{Budgets, Bytes, MilliCores, WorkspaceAccess};
use tripwire_supervisor::{RunOptions, SandboxOptions, Traffic};

/// The sandbox around the client's whole tree.
#[derive(Debug, Args)]
pub(super) struct SandboxChoice {
    /// Run the client's whole process tree in the sandbox: no keys, no files outside the workspace, no host but the
    /// run's gateway.
    #[arg(long, value_name = "MODE", value_enum, num_args = 0..=1, require_equals = true,
          default_missing_value = "workspace-write")]
    sandbox: Option<SandboxMode>,
    /// Run without the sandbox; the same as `--sandbox=off`.
    #[arg(long, conflicts_with = "sandbox")]
    no_sandbox: bool,
    /// Host that the sandboxed client may reach, `NAME` or `NAME:PORT`; may be given several times.
    #[arg(long, value_name = "HOST")]
    allow_host: Vec<String>,
    /// A loopback port of this machine to which an allowed name may lead; for tests.
    #[arg(long, value_name = "PORT", hide = true)]
    allow_loopback_port: Vec<u16>,
    /// CPU limit of the client's process tree, in processors, such as `1` or `0.5`; works without the sandbox too.
    #[arg(long, value_name = "N", value_parser = limits::processors)]
    cpu: Option<u64>,
    /// Memory of the sandboxed tree, in bytes or such as `4G`.
    #[arg(long, value_name = "SIZE", value_parser = limits::memory)]
    memory: Option<u64>,
    /// Processes and threads of the sandboxed tree.
    #[arg(long, value_name = "N", value_parser = limits::processes)]
    pids: Option<u64>,
    /// All files written by the sandboxed tree.
    #[arg(long, value_name = "SIZE", value_parser = limits::size)]
    disk: Option<u64>,
}

/// What the sandbox lets the client do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum SandboxMode {
    /// Write to the workspace.
    WorkspaceWrite,
    /// Only read it.
    ReadOnly,
    /// No sandbox.
    Off,
}

/// A limit that only the sandbox can hold.
#[derive(Debug, thiserror::Error)]
#[error("`{option}` is held by the sandbox, and this run has none")]
struct NeedsSandboxError {
    option: &'static str,
}

impl Explain for NeedsSandboxError {
    fn hint(&self) -> Cow<'_, str> {
        format!("add `--sandbox`, or leave `{}` out", self.option).into()
    }
}

impl SandboxChoice {
    /// Processor time, with and without the sandbox.
    pub(super) fn cpu(&self) -> Option<MilliCores> {
        self.cpu.map(MilliCores)
    }

    /// What a person is told whose run has no sandbox and who said nothing about one.
    pub(super) fn reason_for_none(&self, options: &RunOptions) -> Option<String> {
        if self.sandbox.is_some() || self.no_sandbox {
            return None;
        }
        let client = options.client.or_else(|| Program::find(&options.command).map(|program| program.client))?;
        let (name, why) = (client.name(), client.adapter().sandbox.not_by_default);
        Some(format!(
            "tripwire: {name} is not confined: {why}; `--sandbox` confines it, `--no-sandbox` leaves this line out"
        ))
    }

    /// Puts the sandbox into the options of a run, if it is wanted; what is given back serves its network.
    pub(super) fn open(&self, options: &mut RunOptions) -> Result<Option<Network>, Problem> {
        let access = match self.sandbox {
            Some(SandboxMode::WorkspaceWrite) => WorkspaceAccess::Write,
            Some(SandboxMode::ReadOnly) => WorkspaceAccess::Read,
            Some(SandboxMode::Off) | None => {
                self.needs_none()?;
                return Ok(None);
            }
        };
        let traffic = Arc::new(Traffic::default());
        let heard = Arc::clone(&traffic);
        let told = move |record: &RequestRecord| match (record.stage, record.verdict) {
            (Stage::Open, Verdict::Allowed) => heard.reached(record.host.as_deref().unwrap_or_default()),
            (Stage::End, Verdict::Refused) => {
                heard.refused(&format!("{} ({})", network::destination(record), record.reason));
            }
            (Stage::Open | Stage::End, Verdict::Allowed | Verdict::Refused | Verdict::Failed) => {}
        };
        // Without a host everything is refused there, and seen.
        let allowed = Allowed { hosts: &self.allow_host, loopback_ports: &self.allow_loopback_port };
        let (network, listener) = network::serve(allowed, told).map_err(NoNetwork::problem)?;
        options.sandbox = Some(SandboxOptions { access, budgets: self.budgets(), network: Some(listener), traffic });
        Ok(Some(network))
    }

    fn needs_none(&self) -> Result<(), NeedsSandboxError> {
        let given = [
            ("--allow-host", !self.allow_host.is_empty()),
            ("--memory", self.memory.is_some()),
            ("--pids", self.pids.is_some()),
            ("--disk", self.disk.is_some()),
        ];
        match given.into_iter().find(|(_, is_given)| *is_given) {
            Some((option, _)) => Err(NeedsSandboxError { option }),
            None => Ok(()),
        }
    }

    fn budgets(&self) -> Budgets {
        let usual = Budgets::of_client();
        let disk = self.disk.map_or(usual.disk, Bytes);
        Budgets {
            memory: self.memory.map_or(usual.memory, Bytes),
            processes: self.pids.unwrap_or(usual.processes),
            cpu: self.cpu(),
            disk,
            file_size: disk,
            ..usual
        }
    }
}
