//! The keeper of an unconfined tree: starts the command, reaps orphans, and ends the tree when told or when the launcher dies.

use std::io;
use std::os::fd::AsFd as _;
use std::time::{Duration, Instant};

use rustix::mount::{MountFlags, MountPropagationFlags, mount, mount_change};
use rustix::process::{Signal, WaitOptions};

use super::shield;
use super::spec::Containment;
use crate::children::{self, CloneSpec, Forked};
use crate::control::{Channel, TAG_EXITED, TAG_KILL, TAG_STARTED};
use crate::cpu;
use crate::layer::LayerError;
use crate::layers::l03_reexec::status_pipe;
use crate::layers::l09_pid1::exec_command;
use crate::outcome::Layer;
use crate::plan::KeeperPlan;
use crate::procfs::{self, signal_each};
use crate::sys;

const HUNT_TIME_MAX: Duration = Duration::from_secs(5);
const POLL: Duration = Duration::from_millis(2);

/// Stays until the tree is to end.
pub(crate) fn run(plan: &KeeperPlan, channel: &Channel) -> Result<u8, LayerError> {
    let containment = if plan.own_namespace == 1 { Containment::PidNamespace } else { Containment::Subreaper };
    match containment {
        Containment::PidNamespace => {
            own_proc()?;
            shield::raise(plan)?;
        }
        Containment::Subreaper => {
            sys::become_subreaper().map_err(|error| failure(&error, "become a subreaper"))?;
        }
    }
    // What the keeper could do as the namespace's owner is not for the command.
    rustix::thread::clear_ambient_capability_set().map_err(|errno| failure(&errno.into(), "drop capabilities"))?;
    cpu::pin(&plan.processors).map_err(|error| failure(&error, "pin the tree to its processors"))?;
    let command = start(plan)?;
    stay(command, channel, containment)
}

/// Keeps a started command and all its descendants until the launcher ends them or is gone.
pub(crate) fn stay(
    command: rustix::process::Pid,
    channel: &Channel,
    containment: Containment,
) -> Result<u8, LayerError> {
    sys::ignore_terminal_signals();
    let at = |error: io::Error| failure(&error, "watch the launcher");
    let watched = channel.as_fd().try_clone_to_owned().map_err(at)?;
    let watch = move || watch_launcher(&Channel::from_fd(watched), containment);
    std::thread::Builder::new().spawn(watch).map_err(at)?;
    // From here on the channel is the lifeline; the death signal would also fire when only the starting thread ends.
    rustix::process::set_parent_process_death_signal(None)
        .map_err(|errno| failure(&errno.into(), "outlive a thread"))?;
    channel.send(TAG_STARTED, &[]).map_err(|error| failure(&error, "report the start"))?;
    reap_for_ever(command, channel)
}

/// A `/proc` that shows the new pid namespace, as programs expect.
fn own_proc() -> Result<(), LayerError> {
    let at = |what: &'static str| move |errno: rustix::io::Errno| failure(&errno.into(), what);
    mount_change("/", MountPropagationFlags::DOWNSTREAM | MountPropagationFlags::REC)
        .map_err(at("separate the mounts"))?;
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    mount("proc", "/proc", "proc", flags, None).map_err(at("mount `/proc`"))
}

fn start(plan: &KeeperPlan) -> Result<rustix::process::Pid, LayerError> {
    let (status, status_in) = status_pipe().map_err(|error| failure(&error, "make a pipe"))?;
    let forked =
        children::clone_process(CloneSpec { flags: 0, cgroup: None }).map_err(|error| failure(&error, "fork"))?;
    let Forked::Parent(pid) = forked else {
        let failed = become_command(plan);
        let mut report = vec![failed.layer.code()];
        report.extend_from_slice(&failed.errno.to_le_bytes());
        report.extend_from_slice(failed.what.as_bytes());
        sys::best_effort(rustix::io::write(&status_in, &report));
        sys::exit_now(127);
    };
    drop(status_in);
    let mut buffer = [0_u8; 4096];
    let count = sys::read_some(status.as_fd(), &mut buffer).unwrap_or(0);
    match buffer.get(..count).unwrap_or_default() {
        [] => Ok(pid),
        [layer, a, b, c, d, what @ ..] => Err(LayerError::new(
            Layer::from_code(*layer).unwrap_or(Layer::Pid1),
            i32::from_le_bytes([*a, *b, *c, *d]),
            String::from_utf8_lossy(what).into_owned(),
        )),
        [..] => Err(LayerError::new(Layer::Command, 0, "start the command".to_owned())),
    }
}

/// The layer that a working folder which cannot be entered is reported under; nothing else of a keeper is.
pub(super) const FOLDER: Layer = Layer::Rootfs;

/// In the child: becomes the command, or says why not.
fn become_command(plan: &KeeperPlan) -> LayerError {
    if let Err(errno) = shield::give_up_rights(plan) {
        return failure(&errno.into(), "give up rights");
    }
    // The folder is entered again: the one that was inherited lies below the mounts that were put on since.
    match rustix::process::chdir(&plan.command.cwd) {
        Ok(()) => exec_command(&plan.command),
        Err(errno) => LayerError::new(FOLDER, errno.raw_os_error(), "enter the folder".to_owned()),
    }
}

/// Told to end, or left alone: the tree ends here.
fn watch_launcher(channel: &Channel, containment: Containment) {
    while let Ok(Some((tag, _, _))) = channel.receive() {
        if tag == TAG_KILL {
            break;
        }
    }
    match containment {
        // The kernel ends the namespace with this process.
        Containment::PidNamespace => {}
        Containment::Subreaper => hunt(),
    }
    sys::exit_now(0)
}

/// Ends every descendant; two looks in a row must find nobody.
fn hunt() {
    let own = rustix::process::getpid().as_raw_nonzero().get();
    let start = Instant::now();
    let mut quiet = 0;
    while quiet < 2 && start.elapsed() < HUNT_TIME_MAX {
        let members = procfs::descendants(own);
        quiet = if members.is_empty() { quiet + 1 } else { 0 };
        // Stopped first: what stands still cannot fork while the others are ended.
        signal_each(&members, Signal::STOP);
        signal_each(&members, Signal::KILL);
        std::thread::sleep(POLL);
    }
}

fn reap_for_ever(command: rustix::process::Pid, channel: &Channel) -> ! {
    loop {
        match rustix::process::wait(WaitOptions::empty()) {
            Ok(Some((pid, status))) if pid == command => {
                let code = status.exit_status().and_then(|code| u8::try_from(code).ok()).unwrap_or(0);
                let signal = status.terminating_signal().and_then(|signal| u8::try_from(signal).ok()).unwrap_or(0);
                // A launcher that is gone is noticed by the watching thread.
                drop(channel.send(TAG_EXITED, &[code, signal, 0, 0, 0, 0]));
            }
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            // Nobody is left; new orphans cannot come, only the end can.
            Err(_) => std::thread::sleep(Duration::from_millis(20)),
        }
    }
}

fn failure(error: &io::Error, what: &str) -> LayerError {
    LayerError::new(Layer::Pid1, error.raw_os_error().unwrap_or(0), what.to_owned())
}
