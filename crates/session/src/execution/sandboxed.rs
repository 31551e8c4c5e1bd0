//! The execution adapter for commands: the sandbox, with a hard end.
//!
//! The sandbox itself ends a command at its time limit. Here a second clock stands beside it, because preparing the
//! sandbox can hang as well (a dead network disk, a tree without end): the caller gets an answer soon after the
//! deadline, and what has not started by then never will.

use super::{CommandEnd, Executed, ExecutionError, Executor, Stream, Work, spend};
use std::os::unix::net::UnixListener;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};
use tripwire_core::chain::feedback::{ExecutionResult, ExecutionStatus};
use tripwire_core::chain::gate::Permit;
use tripwire_core::explain::Explain as _;
use tripwire_core::policy::Policy;
use tripwire_core::units::{Count, RunMillis, Tokens};
pub use tripwire_sandbox::{Budgets, Bytes, Interrupt};
use tripwire_sandbox::{MilliCores, Outcome, Report, Sandbox, StageDir, WorkspaceAccess};

/// How long after its time limit a command and its sandbox may need to be gone.
const GRACE: Duration = Duration::from_millis(600);
/// How long a command that has begun may need beyond that: it is dead by then, and only its remains are counted.
const GRACE_OF_A_BEGUN_RUN: Duration = Duration::from_secs(20);
/// How often a waiting executor looks whether it was interrupted.
const LOOK: Duration = Duration::from_millis(20);

/// What commands may touch.
#[derive(Debug)]
pub struct Confinement {
    /// The folder that they work in.
    pub workspace: PathBuf,
    /// What becomes of their writes.
    pub writes: Writes,
    /// Whom they may reach.
    pub network: Network,
    /// Further paths that they may read.
    pub read: Vec<PathBuf>,
    /// Their budgets; the time is that of the work, and at most this one.
    pub budgets: Budgets,
    /// The binary whose `main` begins with the sandbox's inner stage; none means the running one.
    pub inner_program: Option<PathBuf>,
}

/// What becomes of the writes of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Writes {
    /// They fail: the role may only read.
    Refused,
    /// They go to the workspace.
    Workspace,
    /// They go to this stage until it is applied.
    Staged(PathBuf),
}

/// Whom a command may reach.
#[derive(Debug, Clone)]
pub enum Network {
    /// No host.
    Off,
    /// What the proxy behind this socket lets through.
    Through(Arc<UnixListener>),
}

/// The budgets that a session's frozen policy gives to each command.
#[must_use]
pub fn budgets(policy: &Policy) -> Budgets {
    let mebi = |count: Count| Bytes::mebi(u64::from(count.get()));
    let usual = Budgets::default();
    let disk = mebi(policy.sandbox.disk_mib);
    Budgets {
        memory: mebi(policy.sandbox.memory_mib),
        processes: u64::from(policy.sandbox.processes.get()),
        cpu: policy.sandbox.cpu_milli.get().map(|milli| MilliCores(u64::from(milli.get()))),
        file_size: if disk > usual.disk { disk } else { usual.file_size.min(disk) },
        disk,
        output: mebi(policy.sandbox.output_mib),
        time: Duration::from_millis(policy.sandbox.time_limit_ms.get()),
        ..usual
    }
}

impl Confinement {
    /// The usual one: the workspace writable, no network, the default budgets.
    #[must_use]
    pub fn of(workspace: PathBuf) -> Self {
        Self {
            workspace,
            writes: Writes::Workspace,
            network: Network::Off,
            read: Vec::new(),
            budgets: Budgets::default(),
            inner_program: None,
        }
    }
}

/// Runs commands in the sandbox.
#[derive(Debug)]
pub struct SandboxedExecutor {
    confinement: Confinement,
    interrupt: Interrupt,
}

impl SandboxedExecutor {
    /// An executor with one confinement for all its commands.
    #[must_use]
    pub fn new(confinement: Confinement) -> Self {
        Self { confinement, interrupt: Interrupt::default() }
    }

    /// The handle by which another thread ends the running command, and every later one until it is cleared.
    #[must_use]
    pub fn interrupt(&self) -> Interrupt {
        self.interrupt.clone()
    }

    fn specify(&self, work: &Work, interrupt: Interrupt) -> Result<Sandbox, tripwire_sandbox::SpecError> {
        let Confinement { workspace, writes, network, read, budgets, inner_program } = &self.confinement;
        let budgets = Budgets { time: work.time_limit.min(budgets.time), ..*budgets };
        let mut spec = Sandbox::new(workspace, &work.command)?.budgets(budgets).interrupt(interrupt);
        for path in read {
            spec = spec.read(path)?;
        }
        spec = match writes {
            Writes::Refused => spec.workspace_access(WorkspaceAccess::Read),
            Writes::Workspace => spec.workspace_access(WorkspaceAccess::Write),
            Writes::Staged(dir) => spec.stage(StageDir(dir.clone())),
        };
        spec = match network {
            Network::Off => spec,
            Network::Through(socket) => spec.bridge(socket)?,
        };
        Ok(match inner_program {
            Some(program) => spec.inner_exe(program),
            None => spec,
        })
    }
}

impl Executor for SandboxedExecutor {
    fn execute(&mut self, permit: Permit, work: &Work) -> Result<Executed, ExecutionError> {
        let spent = spend(permit, work.action)?;
        let begun = Instant::now();
        let limit = work.time_limit.min(self.confinement.budgets.time);
        // A handle of its own: a run that was given up stays ended when the session goes on.
        let own = Interrupt::default();
        let spec = self
            .specify(work, own.clone())
            .map_err(|error| ExecutionError::Unusable { problem: format!("{error}; {}", error.hint()) })?;
        let outcome = run_until(spec, &own, &self.interrupt, limit)?;
        let report = match outcome {
            Outcome::Ran(report) => report,
            Outcome::NotRun(refused) if begun.elapsed() >= limit || own.is_raised() => {
                drop(refused);
                return Err(ExecutionError::NotStarted { limit_ms: limit.as_millis() });
            }
            Outcome::NotRun(refused) => {
                return Err(ExecutionError::LayerMissing {
                    layer: refused.layer.name().to_owned(),
                    reason: format!("{}; {}", refused.cause, refused.hint),
                });
            }
        };
        let end = ended(&report);
        let latency_ms = RunMillis::new(u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX));
        let status = status(end, &report);
        Ok(Executed {
            result: ExecutionResult { executed: true, latency_ms, status, tokens_used: Tokens::ZERO },
            spent,
            planted: report
                .findings
                .iter()
                .map(|found| format!("`{}`: {}: {}", found.path.display(), found.kind.name(), found.action))
                .chain(report.left_armed().into_iter().map(|what| format!("may still be armed: {what}")))
                .collect(),
            stdout: Stream { total: report.stdout.total, bytes: report.stdout.bytes },
            stderr: Stream { total: report.stderr.total, bytes: report.stderr.bytes },
            end,
        })
    }
}

/// Runs the sandbox beside a clock that nothing inside can stop.
fn run_until(spec: Sandbox, own: &Interrupt, outer: &Interrupt, limit: Duration) -> Result<Outcome, ExecutionError> {
    let not_started = || ExecutionError::NotStarted { limit_ms: limit.as_millis() };
    if outer.is_raised() {
        return Err(not_started());
    }
    let (tell, told) = mpsc::channel();
    let started = std::thread::Builder::new().name("tripwire-sandbox".to_owned()).spawn(move || {
        // No receiver may be left; then the run was given up and has been ended.
        drop(tell.send(spec.run()));
    });
    started.map_err(|error| ExecutionError::Unusable { problem: format!("cannot start a thread: {error}") })?;
    let begun = Instant::now();
    loop {
        match told.recv_timeout(LOOK) {
            Ok(outcome) => return Ok(outcome),
            Err(RecvTimeoutError::Disconnected) => return Err(not_started()),
            Err(RecvTimeoutError::Timeout) => {}
        }
        if outer.is_raised() {
            own.raise();
            // A start that hangs is not waited for: from here on nothing can begin any more.
            if !own.has_begun() {
                return Err(not_started());
            }
        }
        let late = begun.elapsed().saturating_sub(limit);
        if late >= GRACE {
            // From here on nothing can begin any more; only then may it be said that nothing did.
            own.raise();
            if !own.has_begun() {
                return Err(not_started());
            }
        }
        if late >= GRACE_OF_A_BEGUN_RUN {
            return Err(ExecutionError::EndUnknown);
        }
    }
}

fn ended(report: &Report) -> CommandEnd {
    match report.end {
        tripwire_sandbox::End::Exited(code) => CommandEnd::Exited(i32::from(code)),
        tripwire_sandbox::End::Signaled(signal) => CommandEnd::Signaled(i32::from(signal)),
        tripwire_sandbox::End::TimedOut => CommandEnd::TimedOut,
        tripwire_sandbox::End::Interrupted => CommandEnd::Interrupted,
        tripwire_sandbox::End::OverBudget(budget) => CommandEnd::OverBudget(budget.name()),
    }
}

/// A command that ran and failed is the agent's business; one that was cut off broke the execution.
fn status(end: CommandEnd, report: &Report) -> ExecutionStatus {
    match end {
        CommandEnd::TimedOut => ExecutionStatus::Failed,
        CommandEnd::Interrupted | CommandEnd::OverBudget(_) => ExecutionStatus::Partial,
        CommandEnd::Exited(_) | CommandEnd::Signaled(_) if report.stdout.truncated() || report.stderr.truncated() => {
            ExecutionStatus::Partial
        }
        CommandEnd::Exited(_) | CommandEnd::Signaled(_) => ExecutionStatus::Success,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn box_4_the_budgets_of_the_policy_reach_the_sandbox() {
        let mut policy = Policy::default();
        let usual = Budgets { output: Bytes::mebi(8), ..Budgets::default() };
        assert_eq!(budgets(&policy), usual);
        policy.sandbox.memory_mib = Count::new(64);
        policy.sandbox.disk_mib = Count::new(1_000);
        policy.sandbox.time_limit_ms = RunMillis::new(1_500);
        let changed = budgets(&policy);
        assert_eq!((changed.memory, changed.time), (Bytes::mebi(64), Duration::from_millis(1_500)));
        assert_eq!(changed.file_size, Bytes::mebi(1_000), "a raised disk means a large file as well");
    }
}
