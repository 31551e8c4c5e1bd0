//! Layer 2: a child in its own user, mount, pid, IPC, host-name and cgroup namespaces; the network namespace, which takes the
//! kernel longer than all others together, follows from inside, while the root is built (`new_network`).
//!
//! Between the clone and the exec the child makes system calls only: the launcher may have threads.

use std::ffi::{CStr, CString};
use std::fs;
use std::io::{self, Write as _};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketType};
use rustix::process::{Pid, PidfdFlags, Signal};
use rustix::thread::{CapabilitySet, LinkNameSpaceType};

use super::l01_cgroup::Group;
use crate::children::{self, CloneSpec, Forked};
use crate::control::{CONTROL_FD, INNER_NAME};
use crate::layer::LayerError;
use crate::outcome::Layer;
use crate::sys::{self, CArgs, Inherited};

/// Uid and gid inside, for everybody.
pub(crate) const INNER_ID: u32 = 1000;
/// Exit code of a child that could not even execute the inner stage.
const EXIT_NOT_EXECUTED: i32 = 70;
/// Descriptors are moved above this number before the fixed ones are filled.
const FD_FLOOR: i32 = 64;

/// What the inner stage needs from the kernel to build the root: mounts, loopback, leaving the groups, dropping the rest; an
/// overlay works in a folder that is closed for everybody else. They reach only what our own uid owns.
const SETUP_CAPS: [CapabilitySet; 9] = [
    CapabilitySet::CHOWN,
    CapabilitySet::DAC_OVERRIDE,
    CapabilitySet::FOWNER,
    CapabilitySet::FSETID,
    CapabilitySet::SYS_ADMIN,
    CapabilitySet::NET_ADMIN,
    CapabilitySet::SETGID,
    CapabilitySet::SETUID,
    CapabilitySet::SETPCAP,
];

/// Which world the child starts in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum World {
    /// All namespaces, our uid shown as [`INNER_ID`].
    Confined,
    /// A pid and mount namespace, our own uid kept; for a tree that is held but not confined. An ordinary user may have them
    /// only in a user namespace of their own, in which no other uid exists.
    Held,
    /// No namespace.
    Bare,
}

/// How to start an inner stage.
#[derive(Debug)]
pub(crate) struct Launch<'a> {
    pub(crate) world: World,
    pub(crate) group: Option<&'a Group>,
    pub(crate) exe: BorrowedFd<'a>,
    pub(crate) stdin: BorrowedFd<'a>,
    pub(crate) stdout: BorrowedFd<'a>,
    pub(crate) stderr: BorrowedFd<'a>,
    pub(crate) control: BorrowedFd<'a>,
}

/// A started inner stage.
#[derive(Debug)]
pub(crate) struct Started {
    pub(crate) pid: Pid,
    pub(crate) pidfd: OwnedFd,
}

impl Started {
    /// Ends it, and with it its pid namespace.
    pub(crate) fn kill(&self) {
        // A process that is gone already is what we want.
        sys::best_effort(rustix::process::pidfd_send_signal(&self.pidfd, Signal::KILL));
    }

    /// Waits for it, for a bounded time. It is gone when the kernel has ended every process of its pid namespace; one that
    /// hangs in the kernel, on a dead disk for instance, keeps it there.
    pub(crate) fn reap(&self) -> io::Result<Reap> {
        self.reap_within(REAP_TIME_MAX)
    }

    fn reap_within(&self, at_most: Duration) -> io::Result<Reap> {
        let deadline = Instant::now() + at_most;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let timeout = Timespec {
                tv_sec: i64::try_from(left.as_secs()).unwrap_or(i64::MAX),
                tv_nsec: i64::from(left.subsec_nanos()),
            };
            let mut fds = [PollFd::new(&self.pidfd, PollFlags::IN)];
            match poll(&mut fds, Some(&timeout)) {
                Ok(0) if left.is_zero() => return Ok(Reap::StillThere),
                Ok(0) | Err(Errno::INTR) => {}
                Ok(_) => break,
                Err(errno) => return Err(errno.into()),
            }
        }
        loop {
            match rustix::process::waitpid(Some(self.pid), rustix::process::WaitOptions::empty()) {
                Ok(_) | Err(Errno::CHILD) => return Ok(Reap::Gone),
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
}

/// How long the end of a pid namespace is waited for.
const REAP_TIME_MAX: Duration = Duration::from_secs(5);

/// What waiting for the end of an inner stage came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub(crate) enum Reap {
    /// It and all that was in its pid namespace have ended.
    Gone,
    /// Its end was asked for and has not come.
    StillThere,
}

/// A network namespace on its way.
pub(crate) type NewNetwork = JoinHandle<Result<OwnedFd, LayerError>>;

const NETWORK_STACK_BYTES: usize = 64 * 1024;

/// Begins to make a network namespace with nothing but loopback, in a thread of its own. Called by the inner stage.
pub(crate) fn new_network() -> Result<NewNetwork, LayerError> {
    let make = || {
        sys::unshare(libc::CLONE_NEWNET).map_err(|error| no_network(&error, "make a network namespace"))?;
        let socket = rustix::net::socket(AddressFamily::INET, SocketType::DGRAM, None)
            .map_err(|errno| no_network(&errno.into(), "open a socket"))?;
        sys::loopback_up(socket.as_fd()).map_err(|error| no_network(&error, "bring the loopback interface up"))?;
        sys::network_of(socket.as_fd()).map_err(|error| no_network(&error, "find the new network namespace"))
    };
    let thread = std::thread::Builder::new().stack_size(NETWORK_STACK_BYTES);
    thread.spawn(make).map_err(|error| no_network(&error, "start a thread"))
}

/// Waits for the new network namespace and moves into it.
pub(crate) fn enter_network(network: NewNetwork) -> Result<(), LayerError> {
    let gone = |_| no_network(&io::ErrorKind::Other.into(), "make a network namespace");
    let network = network.join().map_err(gone)??;
    rustix::thread::move_into_link_name_space(network.as_fd(), Some(LinkNameSpaceType::Network))
        .map_err(|errno| no_network(&errno.into(), "enter the new network namespace"))
}

fn no_network(error: &io::Error, what: &str) -> LayerError {
    LayerError::new(Layer::Namespaces, error.raw_os_error().unwrap_or(0), what.to_owned())
}

/// Starts the inner stage, which waits for its plan; on failure nothing is left running.
pub(crate) fn launch(launch: &Launch<'_>) -> io::Result<Started> {
    let child = Child::prepare(launch)?;
    let visit = launch.group.map(Group::enter).transpose()?;
    let pid = child.start(launch)?;
    let started = match rustix::process::pidfd_open(pid, PidfdFlags::empty()) {
        Ok(pidfd) => Started { pid, pidfd },
        Err(error) => {
            // The child was not waited for yet, so the number is still its own.
            sys::best_effort(rustix::process::kill_process(pid, Signal::KILL));
            sys::best_effort(rustix::process::waitpid(Some(pid), rustix::process::WaitOptions::empty()));
            return Err(error.into());
        }
    };
    if let Err(error) = map_ids(launch.world, pid) {
        started.kill();
        // It has no plan and does nothing; one that hangs all the same ends with us.
        sys::best_effort(started.reap());
        return Err(error);
    }
    drop(visit);
    Ok(started)
}

fn clone_flags(world: World) -> i32 {
    let held = libc::CLONE_NEWPID | libc::CLONE_NEWNS;
    match world {
        World::Confined => held | libc::CLONE_NEWUSER | libc::CLONE_NEWIPC | libc::CLONE_NEWUTS,
        World::Held if rustix::process::geteuid().is_root() => held,
        World::Held => held | libc::CLONE_NEWUSER,
        World::Bare => 0,
    }
}

/// Root shows its uid and gid inside under one number; no other id exists there. Done from here, while the child is on its
/// way to the inner stage, because only this way may the inner stage still leave root's supplementary groups.
fn map_ids(world: World, pid: Pid) -> io::Result<()> {
    let Some(maps) = Maps::wanted(world).filter(|_| rustix::process::geteuid().is_root()) else {
        return Ok(());
    };
    let dir = format!("/proc/{}", pid.as_raw_nonzero());
    for (name, text) in [("uid_map", &maps.uid), ("gid_map", &maps.gid)] {
        let path = Path::new(&dir).join(name);
        let named = |error: io::Error| io::Error::new(error.kind(), format!("`{}`: {error}", path.display()));
        fs::OpenOptions::new().write(true).open(&path).and_then(|mut file| file.write_all(text)).map_err(named)?;
    }
    Ok(())
}

/// The lines that show our own ids inside.
struct Maps {
    uid: Vec<u8>,
    gid: Vec<u8>,
}

impl Maps {
    fn wanted(world: World) -> Option<Self> {
        let (uid, gid) = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
        let (inner_uid, inner_gid) = match world {
            World::Confined => (INNER_ID, INNER_ID),
            World::Held if uid != 0 => (uid, gid),
            World::Held | World::Bare => return None,
        };
        let line = |inner: u32, outer: u32| format!("{inner} {outer} 1").into_bytes();
        Some(Self { uid: line(inner_uid, uid), gid: line(inner_gid, gid) })
    }

    /// An ordinary user's child writes its own: nobody needs to wait for anybody, and it works for a binary that its user may
    /// execute but not read, whose process belongs to root in `/proc`.
    fn write_own(&self) -> rustix::io::Result<()> {
        let files: [(&CStr, &[u8]); 3] = [
            (c"/proc/self/setgroups", b"deny"),
            (c"/proc/self/uid_map", &self.uid),
            (c"/proc/self/gid_map", &self.gid),
        ];
        for (path, text) in files {
            let file = openat(CWD, path, OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty())?;
            rustix::io::write(&file, text)?;
        }
        Ok(())
    }
}

/// Everything the child needs, made before the clone so that it need not allocate.
struct Child {
    world: World,
    argv: CArgs,
    envp: CArgs,
    exe: OwnedFd,
    fds: [OwnedFd; 4],
    keep_caps: bool,
    own_maps: Option<Maps>,
}

impl Child {
    fn prepare(launch: &Launch<'_>) -> io::Result<Self> {
        let name = CString::new(INNER_NAME)?;
        let above = |fd: BorrowedFd<'_>| sys::dup_above(fd, FD_FLOOR);
        Ok(Self {
            world: launch.world,
            argv: CArgs::new(vec![name]),
            envp: CArgs::new(Vec::new()),
            exe: above(launch.exe)?,
            fds: [above(launch.stdin)?, above(launch.stdout)?, above(launch.stderr)?, above(launch.control)?],
            // As root in its own uid a held tree keeps root's capabilities without help.
            keep_caps: match launch.world {
                World::Confined => true,
                World::Held => !rustix::process::geteuid().is_root(),
                World::Bare => false,
            },
            own_maps: Maps::wanted(launch.world).filter(|_| !rustix::process::geteuid().is_root()),
        })
    }

    /// Starts the child: into a v2 group by a call that copies our memory, and otherwise by one that does not.
    fn start(&self, launch: &Launch<'_>) -> io::Result<Pid> {
        let flags = clone_flags(launch.world);
        let Some(cgroup) = launch.group.and_then(Group::clone_into) else {
            // SAFETY: the task only makes system calls; all that it needs was made before.
            return unsafe { children::start_sharing_memory(flags, &mut || self.run()) };
        };
        match children::clone_process(CloneSpec { flags, cgroup: Some(cgroup) })? {
            Forked::Parent(pid) => Ok(pid),
            Forked::Child => self.run(),
        }
    }

    /// Runs in the child: becomes the inner stage, or says why not.
    fn run(&self) -> ! {
        sys::best_effort(rustix::process::set_parent_process_death_signal(Some(Signal::KILL)));
        let (layer, errno) = match self.own_maps.as_ref().map(Maps::write_own) {
            Some(Err(errno)) => (Layer::Namespaces, errno.raw_os_error()),
            Some(Ok(())) | None => {
                let error = match self.become_inner() {
                    Ok(never) => never,
                    Err(error) => error,
                };
                (Layer::Reexec, error.raw_os_error().unwrap_or(0))
            }
        };
        // The frame is written by hand: this child may not allocate.
        let [a, b, c, d] = errno.to_le_bytes();
        let frame = [5, 0, 0, 0, crate::control::TAG_FAILED, layer.code(), a, b, c, d];
        let [_, _, _, control] = &self.fds;
        sys::best_effort(rustix::io::write(control, &frame));
        sys::exit_now(EXIT_NOT_EXECUTED)
    }

    fn become_inner(&self) -> io::Result<io::Error> {
        if self.world == World::Confined {
            // The new cgroup namespace must begin at the group that the child is in by now.
            sys::unshare(libc::CLONE_NEWCGROUP)?;
        }
        if self.keep_caps {
            keep_caps_over_exec()?;
        }
        let [stdin, stdout, stderr, control] = &self.fds;
        for (fd, number) in [(stdin, 0), (stdout, 1), (stderr, 2), (control, CONTROL_FD)] {
            sys::place_fd(fd.as_fd(), number)?;
        }
        sys::close_from(4, Inherited::CloseOnExec)?;
        Ok(sys::exec_fd(self.exe.as_fd(), &self.argv, &self.envp))
    }
}

/// An exec by a uid other than 0 drops all capabilities but the ambient ones.
fn keep_caps_over_exec() -> io::Result<()> {
    let all = SETUP_CAPS.iter().fold(CapabilitySet::empty(), |sum, cap| sum | *cap);
    let mut sets = rustix::thread::capabilities(None)?;
    sets.inheritable = all & sets.permitted;
    rustix::thread::set_capabilities(None, sets)?;
    for cap in SETUP_CAPS {
        rustix::thread::configure_capability_in_ambient_set(cap, true)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_end_that_does_not_come_is_not_waited_for_and_one_that_comes_is_seen() {
        let mut child = std::process::Command::new("sleep").arg("600").spawn().expect("starts");
        let pid = Pid::from_child(&child);
        let pidfd = rustix::process::pidfd_open(pid, PidfdFlags::empty()).expect("a handle");
        let started = Started { pid, pidfd };
        assert_eq!(started.reap_within(Duration::from_millis(1)).expect("waits"), Reap::StillThere);
        started.kill();
        assert_eq!(started.reap_within(Duration::from_secs(60)).expect("waits"), Reap::Gone);
        assert_eq!(started.reap().expect("nothing is left to wait for"), Reap::Gone);
        assert!(child.wait().is_err(), "it was waited for");
    }
}
