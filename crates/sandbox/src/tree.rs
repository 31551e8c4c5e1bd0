//! A command with all its descendants as one thing: started, frozen, thawed, ended, and proven to be gone.
//!
//! Nothing is confined here. The command runs below a *keeper*, our own binary executed again, which is pid 1 of a pid
//! namespace where the system allows one: then the kernel itself ends every descendant, double-forked or not. Where it does
//! not, the keeper is a subreaper, orphans come back to it, and they are hunted down one by one. A cgroup is used on top where
//! one can be made. If the launcher is killed, the keeper ends the tree.

mod confined;
pub(crate) mod keeper;
mod shield;
mod spec;

use self::confined::ConfinedTree;
use std::io;
use std::net::TcpListener;
use std::num::NonZeroI32;
use std::os::fd::AsFd as _;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::control::{Channel, News, TAG_KILL, TAG_PLAN};
use crate::cpu;
use crate::error::TreeError;
use crate::layers::l01_cgroup::{Frozen, Group, GroupUse, Steering};
use crate::layers::l02_namespaces::{Launch, Reap, Started, World, launch};
use crate::outcome::{Budget, Layer, Planted, Receipt};
use crate::plan::{KeeperPlan, Plan};
use crate::procfs::{self, Identity, signal_each};
use crate::run::inner_exe;
use crate::spec::{CpuHold, Sandbox};
use crate::sys;

pub use spec::{Containment, Shield, TreeSpec, TreeStdio};

/// A tree that cannot be stopped in this time is an error, not a wait.
const STEER_TIME_MAX: Duration = Duration::from_secs(3);
const KILL_TIME_MAX: Duration = Duration::from_secs(5);
const POLL: Duration = Duration::from_millis(2);

/// How a tree's command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TreeExit {
    /// It exited by itself with this code.
    Exited(u8),
    /// A signal ended it.
    Signaled(u8),
}

impl TreeSpec {
    /// Starts the command.
    ///
    /// # Errors
    /// If no keeper can be started, the working folder cannot be entered or the program cannot be executed.
    pub fn start(self) -> Result<Tree, TreeError> {
        if self.argv.is_empty() {
            return Err(TreeError::NoCommand);
        }
        if let Some(sandbox) = &self.sandbox {
            // No fallback: what cannot be confined is not run.
            return self.start_confined(sandbox);
        }
        // The best first; only a system that refuses gets less, and the tree says what it has.
        let wishes = [
            (Containment::PidNamespace, Shield::Up),
            (Containment::PidNamespace, Shield::Down),
            (Containment::Subreaper, Shield::Down),
        ];
        let shielded = !self.read_only.is_empty() || !self.hidden.is_empty();
        let mut refused = TreeError::Unsupported;
        for (containment, shield) in wishes {
            let wanted = containment == Containment::Subreaper || self.most == Containment::PidNamespace;
            if !wanted || (shield == Shield::Up && !shielded) {
                continue;
            }
            let wanted = GroupUse { limits: None, cpu: self.cpu, steering: Steering::Needed };
            refused = match self.try_start(Group::create(wanted).ok(), containment, shield) {
                Ok(tree) => return Ok(tree),
                Err(error) => error,
            };
            if !matches!(refused, TreeError::Start { .. }) {
                break; // The command itself cannot be run: less containment does not help.
            }
        }
        Err(refused)
    }

    fn try_start(&self, group: Option<Group>, containment: Containment, shield: Shield) -> Result<Tree, TreeError> {
        let at = |what: &'static str| move |source: io::Error| TreeError::Start { what, source };
        let world = match containment {
            Containment::PidNamespace => World::Held,
            Containment::Subreaper => World::Bare,
        };
        if containment == Containment::Subreaper {
            // If the keeper itself is killed, its orphans come to us.
            sys::become_subreaper().map_err(at("become a subreaper"))?;
        }
        let cpu = group.as_ref().map_or_else(|| CpuHold::of(self.cpu), Group::cpu);
        let (started, control) = self.launch(world, group.as_ref())?;
        let tree = Tree { started, control, group, containment, shield, exit: None, ended: false, cpu, confined: None };
        let mut plan = self.plan(containment, shield)?;
        plan.processors = cpu::processors(cpu, self.cpu).map_err(at("choose processors"))?;
        tree.begin(plan)
    }

    fn start_confined(&self, sandbox: &Sandbox) -> Result<Tree, TreeError> {
        let mut confined = ConfinedTree::new(sandbox, self);
        let group = confined.group()?;
        let (started, control) = self.launch(World::Confined, group.as_ref())?;
        let (containment, shield, cpu) = (Containment::PidNamespace, Shield::Up, confined.cpu());
        // A tree that does not come to its command is ended when it is dropped.
        let mut tree =
            Tree { started, control, group, containment, shield, exit: None, ended: false, cpu, confined: None };
        let confined = tree.confined.insert(confined);
        confined.enter(self, &tree.control)?;
        Ok(tree)
    }

    /// Starts our own binary again, with the streams of the tree; it waits for its plan on the channel.
    fn launch(&self, world: World, group: Option<&Group>) -> Result<(Started, Channel), TreeError> {
        let at = |what: &'static str| move |source: io::Error| TreeError::Start { what, source };
        let (control, control_in) = Channel::pair().map_err(at("make the control channel"))?;
        let exe = inner_exe(self.inner_exe.as_deref()).map_err(at("open our own binary"))?;
        let null =
            std::fs::OpenOptions::new().read(true).write(true).open("/dev/null").map_err(at("open `/dev/null`"))?;
        let stream = |index: usize, fallback: i32| match self.stdio.get(index) {
            Some(TreeStdio::Null) => null.as_fd(),
            Some(TreeStdio::Fd(fd)) => fd.as_fd(),
            Some(TreeStdio::Inherit) | None => sys::stdio(fallback),
        };
        let started = launch(&Launch {
            world,
            group,
            exe: exe.as_fd(),
            stdin: stream(0, 0),
            stdout: stream(1, 1),
            stderr: stream(2, 2),
            control: control_in.as_fd(),
        })
        .map_err(at("start the keeper"))?;
        Ok((started, control))
    }
}

/// A running tree. Dropping it ends it.
#[derive(Debug)]
pub struct Tree {
    started: Started,
    control: Channel,
    group: Option<Group>,
    containment: Containment,
    shield: Shield,
    exit: Option<TreeExit>,
    ended: bool,
    cpu: CpuHold,
    /// What a sandbox around it needs until the end.
    confined: Option<ConfinedTree>,
}

impl Tree {
    /// What holds its processor time.
    #[must_use]
    pub fn cpu(&self) -> CpuHold {
        self.cpu
    }

    /// Whether it is confined by the sandbox's layers.
    #[must_use]
    pub fn is_confined(&self) -> bool {
        self.confined.is_some()
    }

    /// The listeners on loopback ports inside its sandbox, in the order of the ports; each is given once.
    pub fn listeners(&mut self) -> Vec<TcpListener> {
        self.confined.as_mut().map(ConfinedTree::listeners).unwrap_or_default()
    }

    /// The budget that its sandbox counts by looking and that is spent; the caller ends the tree then.
    pub fn spent(&mut self) -> Option<Budget> {
        self.confined.as_mut().and_then(ConfinedTree::spent)
    }

    /// What it planted for others, looked for once and made harmless; for an ended tree.
    pub fn planted(&mut self) -> Planted {
        self.confined.as_mut().map(ConfinedTree::planted).unwrap_or_default()
    }

    fn begin(mut self, plan: KeeperPlan) -> Result<Self, TreeError> {
        let at = |source| TreeError::Start { what: "speak to the keeper", source };
        let program = plan.command.argv.first().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let folder = plan.command.cwd.clone();
        self.control.send(TAG_PLAN, &Plan::Keeper(plan).encode()).map_err(at)?;
        loop {
            match self.control.news().map_err(at)? {
                Some(News::Started) => return Ok(self),
                Some(News::Ready { .. }) => {}
                Some(News::Failed { layer: Layer::Command, errno, .. }) => {
                    self.kill();
                    return Err(TreeError::Command { program, source: io::Error::from_raw_os_error(errno) });
                }
                Some(News::Failed { layer: keeper::FOLDER, errno, .. }) => {
                    self.kill();
                    return Err(TreeError::Folder { path: folder, source: io::Error::from_raw_os_error(errno) });
                }
                Some(News::Failed { errno, .. }) => {
                    self.kill();
                    return Err(at(io::Error::from_raw_os_error(errno)));
                }
                Some(News::Exited { code, signal, .. }) => {
                    self.exit = Some(exit_of(code, signal));
                    return Ok(self);
                }
                None => {
                    self.kill();
                    return Err(at(io::ErrorKind::UnexpectedEof.into()));
                }
            }
        }
    }

    /// What holds the tree together here.
    #[must_use]
    pub fn containment(&self) -> Containment {
        self.containment
    }

    /// Whether the paths that were to be read-only or hidden are.
    #[must_use]
    pub fn shield(&self) -> Shield {
        self.shield
    }

    /// Asks every process of the tree to end by itself, as a terminal's interrupt does.
    pub fn interrupt(&self) {
        signal_each(&self.members(), rustix::process::Signal::INT);
    }

    /// The keeper's pid, as seen from here.
    #[must_use]
    pub fn keeper_pid(&self) -> NonZeroI32 {
        self.started.pid.as_raw_nonzero()
    }

    /// How many processes the command and its descendants are now.
    #[must_use]
    pub fn count(&self) -> usize {
        self.members().len()
    }

    fn members(&self) -> Vec<Identity> {
        procfs::descendants(self.keeper_pid().get())
    }

    /// Waits for the command itself (its descendants may live on) for at most so long.
    ///
    /// # Errors
    /// If the keeper cannot be heard.
    pub fn wait(&mut self, at_most: Duration) -> Result<Option<TreeExit>, TreeError> {
        let at = |source| TreeError::Steer { what: "wait for", source };
        let deadline = Instant::now() + at_most;
        while self.exit.is_none() {
            let left = deadline.saturating_duration_since(Instant::now());
            let timeout = Timespec {
                tv_sec: i64::try_from(left.as_secs()).unwrap_or(i64::MAX),
                tv_nsec: i64::from(left.subsec_nanos()),
            };
            let mut fds = [PollFd::from_borrowed_fd(self.control.as_fd(), PollFlags::IN)];
            match poll(&mut fds, Some(&timeout)) {
                Ok(0) if left.is_zero() => return Ok(None),
                Ok(0) | Err(rustix::io::Errno::INTR) => {}
                Ok(_) => match self.control.news().map_err(at)? {
                    Some(News::Exited { code, signal, .. }) => self.exit = Some(exit_of(code, signal)),
                    Some(News::Ready { .. } | News::Started | News::Failed { .. }) => {}
                    None => self.exit = Some(TreeExit::Signaled(9)),
                },
                Err(errno) => return Err(at(errno.into())),
            }
        }
        Ok(self.exit)
    }

    /// Stops every process of the tree where it is.
    ///
    /// # Errors
    /// If some process could not be stopped in time.
    pub fn freeze(&self) -> Result<(), TreeError> {
        self.steer(Frozen::Yes).map_err(|source| TreeError::Steer { what: "freeze", source })
    }

    /// Lets a frozen tree go on.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn thaw(&self) -> Result<(), TreeError> {
        self.steer(Frozen::No).map_err(|source| TreeError::Steer { what: "thaw", source })
    }

    fn steer(&self, state: Frozen) -> io::Result<()> {
        if let Some(group) = &self.group {
            return group.set_frozen(state);
        }
        match state {
            Frozen::Yes => self.stop_all(),
            Frozen::No => {
                signal_each(&self.members(), rustix::process::Signal::CONT);
                Ok(())
            }
        }
    }

    /// Without a cgroup: stop everything, and look again until nothing new runs.
    fn stop_all(&self) -> io::Result<()> {
        let start = Instant::now();
        let mut quiet = 0;
        while quiet < 2 {
            let running: Vec<Identity> = self.members().into_iter().filter(|id| !is_stopped(*id)).collect();
            quiet = if running.is_empty() { quiet + 1 } else { 0 };
            signal_each(&running, rustix::process::Signal::STOP);
            if start.elapsed() > STEER_TIME_MAX {
                return Err(io::ErrorKind::TimedOut.into());
            }
            std::thread::sleep(POLL);
        }
        Ok(())
    }

    /// Ends every process of the tree and proves it.
    pub fn kill(&mut self) -> Receipt {
        let start = Instant::now();
        if self.ended {
            return Receipt::default();
        }
        self.ended = true;
        let (seen, reap) = match self.containment {
            Containment::PidNamespace => self.kill_namespace(),
            Containment::Subreaper => self.hunt(start),
        };
        let left = self.group.as_ref().map_or(0, |group| group.members().len());
        // The keeper is no member, but where it cannot end somebody in its namespace cannot.
        let keeper = usize::from(reap == Reap::StillThere);
        let alive = seen.iter().filter(|id| procfs::is_alive(**id)).count().max(left).max(keeper);
        drop(self.group.take());
        if let Some(confined) = &mut self.confined {
            confined.end();
        }
        Receipt {
            ended: u64::try_from(seen.len().saturating_sub(alive)).unwrap_or(u64::MAX),
            survivors: u64::try_from(alive).unwrap_or(u64::MAX),
            took: start.elapsed(),
        }
    }

    /// The kernel ends the whole namespace with its first process, and the wait tells whether all are gone.
    fn kill_namespace(&self) -> (Vec<Identity>, Reap) {
        // What stands still cannot grow while it is counted; a tree that cannot be frozen is ended all the same.
        drop(self.steer_group(Frozen::Yes));
        let seen = self.members();
        self.started.kill();
        if let Some(group) = &self.group {
            // A process with root's rights may have left the namespace's parentage, but not its group.
            group.kill();
            drop(group.set_frozen(Frozen::No));
        }
        (seen, self.reap())
    }

    /// Stops and kills until two looks in a row find nobody; the keeper goes last, because orphans come back to it.
    fn hunt(&self, start: Instant) -> (Vec<Identity>, Reap) {
        let mut seen: Vec<Identity> = Vec::new();
        drop(self.steer(Frozen::Yes));
        let mut quiet = 0;
        while quiet < 2 && start.elapsed() < KILL_TIME_MAX {
            let members = self.members();
            quiet = if members.is_empty() { quiet + 1 } else { 0 };
            seen.extend(members.iter().filter(|id| !seen.contains(id)).copied().collect::<Vec<_>>());
            signal_each(&members, rustix::process::Signal::KILL);
            drop(self.steer_group(Frozen::No));
            std::thread::sleep(POLL);
        }
        // The keeper may be gone already; then the channel is closed and so is the hunt.
        drop(self.control.send(TAG_KILL, &[]));
        if let Some(group) = &self.group {
            group.kill();
        }
        self.started.kill();
        (seen, self.reap())
    }

    /// An end that cannot be heard of is not taken for one.
    fn reap(&self) -> Reap {
        self.started.reap().unwrap_or(Reap::StillThere)
    }

    fn steer_group(&self, state: Frozen) -> io::Result<()> {
        self.group.as_ref().map_or(Ok(()), |group| group.set_frozen(state))
    }
}

impl Drop for Tree {
    fn drop(&mut self) {
        self.kill();
    }
}

fn exit_of(code: u8, signal: u8) -> TreeExit {
    if signal == 0 { TreeExit::Exited(code) } else { TreeExit::Signaled(signal) }
}

fn is_stopped(id: Identity) -> bool {
    let text = std::fs::read(format!("/proc/{}/stat", id.pid)).ok();
    text.and_then(|text| procfs::parse_stat(&text))
        .is_none_or(|stat| stat.id != id || matches!(stat.state, b'T' | b'Z' | b'X'))
}
