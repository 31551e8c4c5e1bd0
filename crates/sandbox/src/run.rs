//! The launcher: puts on the layers in their order, watches the run, ends the tree, and looks at what is left.

use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::path::{Path, PathBuf};
use std::time::Instant;

use tripwire_core::explain::Explain as _;

use crate::capture::Capture;
use crate::control::{Channel, News, TAG_PLAN};
use crate::layer::LayerError;
use crate::layers::l01_cgroup::{Group, GroupLimits, GroupUse, Steering};
use crate::layers::l02_namespaces::{Launch, World, launch};
use crate::layers::l10_known::Since;
use crate::layers::l10_scan::{self, Ground};
use crate::outcome::{
    Budget, End, Finding, FindingFate, FindingKind, Layer, LayerState, Layers, NotRun, Outcome, Report,
};
use crate::plan::{Plan, SandboxPlan};
use crate::policy::{self, Counting, MemoryCount, Writes, Written};
use crate::procfs;
use crate::running::{Alive, EndedRun, Event, Running};
use crate::runs::{Filled, Patience, Placeholders};
use crate::spec::{CpuHold, Profile, Sandbox};
use crate::stage;
use crate::watchdog::{self, Watch, WatchScope};

/// What an ended tree reports when no one could say more.
const SIGKILL: u8 = 9;

impl Sandbox {
    /// Runs the command and waits for the end of its whole tree.
    #[must_use]
    pub fn run(&self) -> Outcome {
        run(self)
    }
}

fn run(spec: &Sandbox) -> Outcome {
    let mut attempt = Attempt::new(spec.clone());
    let mut result = attempt.go();
    if result.as_ref().is_err_and(|failure| failure.layer == Layer::Stage) && stage::is_fresh_overlay(spec) {
        // No overlay here: the same run on a copy of the workspace, named in the result.
        result = stage::fall_back_to_copy(spec).and_then(|()| {
            // The copies are new, but they are not the command's.
            std::thread::sleep(watchdog::CLOCK_TICK);
            attempt.since = watchdog::now();
            attempt.go()
        });
    }
    match result {
        Ok(report) => Outcome::Ran(report),
        Err(failure) => {
            let cause = failure.to_string();
            attempt.layers.keep_before(failure.layer);
            attempt.layers.set(failure.layer, LayerState::Missing(cause.clone()));
            Outcome::NotRun(NotRun {
                layer: failure.layer,
                hint: failure.hint().into_owned(),
                cause,
                layers: attempt.layers,
                profile: spec.profile,
            })
        }
    }
}

/// One start with what it has put on so far.
#[derive(Debug)]
pub(crate) struct Attempt {
    pub(crate) spec: Sandbox,
    layers: Layers,
    start: Instant,
    since: Since,
    counting: Counting,
    written: Vec<Written>,
    /// Names that other programs obey and that were missing; the look afterwards says which are there.
    obeyed_later: Vec<PathBuf>,
}

/// What ended a command for which the kernel has only a signal: the budget that it spent.
fn blamed(end: End, memory_kills: u64) -> End {
    match end {
        End::Signaled(signal) if i32::from(signal) == libc::SIGKILL && memory_kills > 0 => {
            End::OverBudget(Budget::Memory)
        }
        End::Signaled(signal) if i32::from(signal) == libc::SIGXFSZ => End::OverBudget(Budget::FileSize),
        End::Exited(_) | End::Signaled(_) | End::TimedOut | End::Interrupted | End::OverBudget(_) => end,
    }
}

impl Attempt {
    pub(crate) fn new(spec: Sandbox) -> Self {
        Self {
            layers: Layers::default(),
            start: Instant::now(),
            since: watchdog::now(),
            counting: Counting { memory: MemoryCount::Sampling, cpu: CpuHold::of(spec.budgets.cpu) },
            written: Vec::new(),
            obeyed_later: Vec::new(),
            spec,
        }
    }

    fn go(&mut self) -> Result<Report, LayerError> {
        // A confined command is ended by its pid namespace and never frozen.
        let mut group = self.cgroup(Steering::NotNeeded)?;
        // The inner stage needs a moment to start; the workspace is looked at and prepared meanwhile.
        let running = self.start_inner(group.as_ref())?;
        let (mut placeholders, plan) = match self.prepare() {
            Ok((placeholders, plan)) => (Some(placeholders), Plan::Sandbox(Box::new(plan))),
            Err(failure) => {
                running.abandon();
                return Err(failure);
            }
        };
        let running = self.reach_command(running, &plan)?;
        let ended = self.follow(running, &mut placeholders)?;
        let memory_kills = group.as_ref().map_or(0, Group::memory_kills);
        let survivors = group.as_ref().map_or(0, |group| group.members().len());
        drop(group.take());
        drop(placeholders);
        let mut receipt = ended.receipt;
        receipt.survivors += u64::try_from(survivors).unwrap_or(u64::MAX);
        Ok(Report {
            end: blamed(ended.end, memory_kills),
            stdout: ended.stdout.finish(),
            stderr: ended.stderr.finish(),
            wall: self.start.elapsed(),
            layers: std::mem::take(&mut self.layers),
            receipt,
            findings: ended.findings,
            memory_kills,
            profile: self.spec.profile,
            stage: self.spec.stage.clone(),
        })
    }

    /// Layer 1. Root needs it, because the kernel ignores root's process limit; an ordinary user gets the sampling watchdog.
    pub(crate) fn cgroup(&mut self, steering: Steering) -> Result<Option<Group>, LayerError> {
        let budgets = &self.spec.budgets;
        let limits = GroupLimits { memory: budgets.memory, processes: budgets.processes };
        let wanted = GroupUse { limits: Some(limits), cpu: budgets.cpu, steering };
        let error = match Group::create(wanted) {
            Ok(group) => {
                self.counting = Counting { memory: MemoryCount::Kernel, cpu: group.cpu() };
                self.layers.set(Layer::Cgroup, LayerState::On(group.describe()));
                return Ok(Some(group));
            }
            Err(error) => error,
        };
        let root = rustix::process::geteuid().is_root();
        let state = match (root, self.spec.profile) {
            (false, Profile::Strict | Profile::Compat) => {
                LayerState::Replaced(format!("sampling watchdog and process limit; no cgroup of our own: {error}"))
            }
            (true, Profile::Compat) => {
                LayerState::Relaxed(format!("sampling watchdog only, processes unlimited for root: {error}"))
            }
            (true, Profile::Strict) => {
                let errno = error.raw_os_error().unwrap_or(0);
                return Err(LayerError::new(Layer::Cgroup, errno, format!("make a cgroup: {error}")));
            }
        };
        self.layers.set(Layer::Cgroup, state);
        Ok(None)
    }

    /// What is shown and what has a wall, and the names that must be made for it.
    pub(crate) fn prepare(&mut self) -> Result<(Placeholders, SandboxPlan), LayerError> {
        let writes = stage::open_writes(&self.spec)?;
        let shown = match &writes {
            Writes::Direct | Writes::Overlay { .. } => &self.spec.workspace,
            Writes::Copy { copy } => copy,
        };
        let patience = Patience { until: self.deadline(), interrupt: self.spec.interrupt.clone() };
        let failed = |error| placeholder(shown, error);
        loop {
            // Leftovers of killed runs go before the workspace is looked at.
            let mut placeholders = Placeholders::begin(shown, &patience).map_err(failed)?;
            let prepared = policy::prepare(&self.spec, &writes, self.counting, placeholders.shared())?;
            match placeholders.fill(&prepared.missing, &prepared.standing, &patience).map_err(failed)? {
                Filled::Yes => {}
                Filled::MovedOn if patience.is_over() => return Err(too_late("start in time")),
                Filled::MovedOn => continue,
            }
            self.written = prepared.written;
            self.obeyed_later = prepared.obeyed_later;
            self.refuse_late_start()?;
            return Ok((placeholders, prepared.plan));
        }
    }

    /// Layers 2 and 3: the inner stage, waiting for its plan.
    fn start_inner(&mut self, group: Option<&Group>) -> Result<Running, LayerError> {
        let (stdout, stdout_in) = pipe()?;
        let (stderr, stderr_in) = pipe()?;
        let (control, control_in) = Channel::pair().map_err(namespaces("make the control channel"))?;
        let null = std::fs::File::open("/dev/null").map_err(namespaces("open `/dev/null`"))?;
        let exe = inner_exe(self.spec.inner_exe.as_deref()).map_err(|error| {
            LayerError::new(Layer::Reexec, error.raw_os_error().unwrap_or(0), "open our own binary".to_owned())
        })?;
        let started = launch(&Launch {
            world: World::Confined,
            group,
            exe: exe.as_fd(),
            stdin: null.as_fd(),
            stdout: stdout_in.as_fd(),
            stderr: stderr_in.as_fd(),
            control: control_in.as_fd(),
        })
        .map_err(namespaces("start a process in its own namespaces"))?;
        drop((stdout_in, stderr_in, control_in));
        self.layers.set(Layer::Namespaces, on("user, mount, pid, network, IPC, host name, cgroup"));
        let stdout = Capture::new(stdout, self.spec.budgets.output);
        let stderr = Capture::new(stderr, self.spec.budgets.output);
        Ok(Running { started, control, stdout, stderr, watch: None, interrupt: self.spec.interrupt.clone() })
    }

    /// Layers 4 to 9, put on by the inner stage, up to the executed command.
    fn reach_command(&mut self, mut running: Running, plan: &Plan) -> Result<Running, LayerError> {
        // An inner stage that is gone already has said why: that is heard before the plan is called unsent.
        let mut unsent = running.control.send(TAG_PLAN, &plan.encode()).map_err(reexec("send the plan")).err();
        let mut result = Ok(());
        let mut handles = None;
        while result.is_ok() {
            let silent = "hear from the inner stage";
            match running.next(self.deadline()) {
                Ok(Event::News(News::Ready { fds, landlock })) => {
                    self.passed(&landlock);
                    handles = Some(fds);
                    break;
                }
                Ok(Event::News(News::Started)) => {}
                Ok(Event::News(News::Failed { layer, errno, what })) => {
                    result = Err(LayerError::new(layer, errno, what));
                }
                Ok(Event::TimedOut | Event::Interrupted) => {
                    result = Err(too_late("start in time"));
                }
                Ok(Event::News(News::Exited { .. }) | Event::Gone | Event::Spent(_)) => {
                    result = Err(unsent.take().unwrap_or_else(|| reexec(silent)(io::Error::from_raw_os_error(0))));
                }
                Err(error) => result = Err(reexec(silent)(error)),
            }
        }
        let mut handles = handles.unwrap_or_default().into_iter();
        if let (Ok(()), (Some(scratch), Some(proc))) = (&result, (handles.next(), handles.next())) {
            running.watch = Some(Watch::new(self.sight(scratch, proc)));
            return Ok(running);
        }
        running.abandon();
        Err(result.err().unwrap_or_else(|| reexec("receive the new root")(io::Error::from_raw_os_error(0))))
    }

    /// The inner stage reports once for all layers that it put on itself.
    fn passed(&mut self, landlock: &str) {
        let budgets = &self.spec.budgets;
        self.layers.set(Layer::Reexec, on("clean image, no inherited descriptor, unreadable"));
        self.layers.set(Layer::Rootfs, on("allow-list on tmpfs, protected names read-only, ancestors pinned"));
        let stage = self.spec.stage.as_deref().map_or(LayerState::Off, stage::describe);
        self.layers.set(Layer::Stage, stage);
        let network = match &self.spec.bridge {
            Some(_) => on("loopback and the allow-list bridge"),
            None => on("loopback only"),
        };
        self.layers.set(Layer::Network, network);
        let mut limits = format!(
            "{} processes, files of {} bytes, {} open files",
            budgets.processes, budgets.file_size.0, budgets.open_files
        );
        if let Some(cpu) = self.counting.cpu.describe(budgets.cpu) {
            limits.push_str(&format!(", {cpu}"));
        }
        self.layers.set(Layer::Limits, LayerState::On(limits));
        self.layers.set(Layer::Privileges, on("no capability, no_new_privs"));
        let landlock = match (landlock, self.spec.profile) {
            ("missing", Profile::Compat) => LayerState::Relaxed("missing in this kernel".to_owned()),
            (text, Profile::Strict | Profile::Compat) => on(text),
        };
        self.layers.set(Layer::Landlock, landlock);
        let filter = match self.spec.profile {
            Profile::Strict => on("reviewed calls only"),
            Profile::Compat => LayerState::Relaxed("reviewed calls, unix sockets and debuggers".to_owned()),
        };
        self.layers.set(Layer::Seccomp, filter);
        self.layers.set(Layer::Pid1, on("reaps orphans, ends with the launcher"));
    }

    /// Preparing may have hung; the caller has been told by now that nothing ran, so nothing may. What is said first is
    /// that the command may begin from here on: of the two sides at least one sees what the other said.
    fn refuse_late_start(&self) -> Result<(), LayerError> {
        self.spec.interrupt.begin();
        if self.spec.interrupt.is_raised() || Instant::now() >= self.deadline() {
            return Err(too_late("start in time"));
        }
        Ok(())
    }

    fn deadline(&self) -> Instant {
        self.start + self.spec.budgets.time
    }

    /// Waits for the end, whatever brings it, and then for the last process.
    fn follow(
        &mut self,
        mut running: Running,
        placeholders: &mut Option<Placeholders>,
    ) -> Result<EndedRun, LayerError> {
        let event = running.next(self.deadline());
        let decided = Instant::now();
        let seen = || Alive::Seen(procfs::descendants(running.started.pid.as_raw_nonzero().get()));
        let mut failed = None;
        let (end, alive) = match event {
            Ok(Event::News(News::Exited { code, signal: 0, others })) => (End::Exited(code), Alive::Counted(others)),
            Ok(Event::News(News::Exited { signal, others, .. })) => (End::Signaled(signal), Alive::Counted(others)),
            // The last layers are put on by the command itself, so this is where their failure is heard.
            Ok(Event::News(News::Failed { layer, errno, what })) => {
                failed = Some(LayerError::new(layer, errno, what));
                (End::Signaled(SIGKILL), seen())
            }
            Ok(Event::TimedOut) => (End::TimedOut, seen()),
            Ok(Event::Interrupted) => (End::Interrupted, seen()),
            Ok(Event::Spent(budget)) => (End::OverBudget(budget), seen()),
            Ok(Event::Gone | Event::News(News::Ready { .. } | News::Started)) | Err(_) => {
                (End::Signaled(SIGKILL), seen())
            }
        };
        running.started.kill();
        // A first process that was alone is taken down by the kernel while the workspace is looked at and cleared of the
        // placeholders; nobody is left who could change it. In every other case that comes when all are gone.
        let early = alive.is_nobody().then(|| {
            let findings = self.scan();
            drop(placeholders.take());
            findings
        });
        let reap = running.started.reap().map_err(|error| {
            LayerError::new(Layer::Pid1, error.raw_os_error().unwrap_or(0), "wait for the end".to_owned())
        })?;
        if let Some(failure) = failed {
            return Err(failure);
        }
        let receipt = alive.receipt(running.started.pid.as_raw_nonzero().get(), reap, decided.elapsed());
        let findings = early.unwrap_or_else(|| self.scan());
        Ok(EndedRun { end, receipt, findings, stdout: running.stdout, stderr: running.stderr })
    }

    pub(crate) fn sight(&self, scratch: OwnedFd, proc: OwnedFd) -> WatchScope {
        WatchScope {
            scratch,
            proc,
            roots: self.written.iter().map(|written| written.root.clone()).collect(),
            since: self.since,
            budgets: self.spec.budgets,
            memory: self.counting.memory,
        }
    }

    /// Whether the last look saw everything; if not, what it did not see.
    pub(crate) fn unseen(&self) -> Option<String> {
        match self.layers.get(Layer::Scan) {
            Some(LayerState::Missing(what)) => Some(what.clone()),
            Some(LayerState::On(_) | LayerState::Replaced(_) | LayerState::Relaxed(_) | LayerState::Off) | None => None,
        }
    }

    /// How the processor time of the tree is held.
    pub(crate) fn cpu(&self) -> CpuHold {
        self.counting.cpu
    }

    /// Layer 10. The command has run by now: a scan that fails is named, it does not undo the run.
    pub(crate) fn scan(&mut self) -> Vec<Finding> {
        let mut findings = Vec::new();
        let mut unseen = None;
        for written in &self.written {
            let Written { root, base, known } = written;
            let since = if base.is_some() { Since::EVER } else { self.since };
            let scanned = l10_scan::scan(&Ground { root, base: base.as_deref(), known, since });
            let failed = match scanned {
                Ok(scanned) => {
                    findings.extend(scanned.findings);
                    scanned.unseen
                }
                Err(error) => Some(error.to_string()),
            };
            unseen = failed.map(|what| format!("`{}`: {what}", root.display())).or(unseen);
        }
        let there = |name: &&PathBuf| std::fs::symlink_metadata(self.spec.workspace.join(name)).is_ok();
        findings.extend(self.obeyed_later.iter().filter(there).map(|name| Finding {
            kind: FindingKind::ClientFile,
            path: name.clone(),
            action: "new: clients obey it, read it first".to_owned(),
            fate: FindingFate::Disarmed,
        }));
        let state = match unseen {
            Some(text) => LayerState::Missing(text),
            None => LayerState::On(format!("{} findings", findings.len())),
        };
        self.layers.set(Layer::Scan, state);
        findings
    }
}

fn placeholder(workspace: &Path, error: io::Error) -> LayerError {
    if error.kind() == io::ErrorKind::TimedOut {
        return too_late("start in time: another sandbox of this user holds the lock");
    }
    LayerError::new(
        Layer::Rootfs,
        error.raw_os_error().unwrap_or(0),
        format!("make placeholders for protected names in `{}`", workspace.display()),
    )
}

pub(crate) fn inner_exe(given: Option<&Path>) -> io::Result<OwnedFd> {
    let path = given.unwrap_or_else(|| Path::new("/proc/self/exe"));
    let flags = rustix::fs::OFlags::PATH | rustix::fs::OFlags::CLOEXEC;
    Ok(rustix::fs::openat(rustix::fs::CWD, path, flags, rustix::fs::Mode::empty())?)
}

fn pipe() -> Result<(OwnedFd, OwnedFd), LayerError> {
    rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)
        .map_err(|errno| LayerError::new(Layer::Namespaces, errno.raw_os_error(), "make a pipe".to_owned()))
}

fn on(text: &str) -> LayerState {
    LayerState::On(text.to_owned())
}

fn namespaces(what: &'static str) -> impl Fn(io::Error) -> LayerError {
    move |error| LayerError::new(Layer::Namespaces, error.raw_os_error().unwrap_or(0), format!("{what}: {error}"))
}

fn too_late(what: &'static str) -> LayerError {
    reexec(what)(io::Error::from_raw_os_error(libc::ETIMEDOUT))
}

fn reexec(what: &'static str) -> impl Fn(io::Error) -> LayerError {
    move |error| LayerError::new(Layer::Reexec, error.raw_os_error().unwrap_or(0), what.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_workspace_that_cannot_be_written_is_named_and_a_lock_that_is_held_is_not_laid_to_it() {
        let read_only = placeholder(Path::new("/w"), io::Error::from_raw_os_error(30)).to_string();
        assert!(read_only.contains("protected names in `/w`"), "{read_only}");
        let held = placeholder(Path::new("/w"), io::Error::from(io::ErrorKind::TimedOut)).to_string();
        assert!(held.contains("another sandbox") && !held.contains("/w"), "{held}");
        assert!(held.ends_with("holds the lock") && !held.contains("onnection"), "{held}");
    }
}
