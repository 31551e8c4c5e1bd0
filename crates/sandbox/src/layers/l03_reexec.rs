//! Layer 3: the clean second start of our own binary, which puts on the remaining layers from inside.
//!
//! The executed image has an empty environment, one argument, no memory of the launcher, and four descriptors: an empty stdin,
//! the two output pipes and the control channel. It makes itself unreadable to everything that runs beside it.

use std::os::fd::OwnedFd;

use rustix::process::{DumpableBehavior, Signal};

use super::l02_namespaces::INNER_NAME;
use super::l09_pid1;
use crate::children;
use crate::control::{CONTROL_FD, Channel, TAG_PLAN};
use crate::outcome::Layer;
use crate::plan::Plan;
use crate::sys::{self, Inherited};
use crate::tree;

/// A layer that could not be put on, as the inner stage reports it.
#[derive(Debug)]
pub(crate) struct Broken {
    pub(crate) layer: Layer,
    pub(crate) errno: i32,
    pub(crate) what: String,
}

impl Broken {
    pub(crate) fn new(layer: Layer, errno: i32, what: String) -> Self {
        Self { layer, errno, what }
    }
}

/// Exit code of an inner stage that has reported why it gave up.
const EXIT_BROKEN: u8 = 71;

/// Runs the inner stage if this process was started as one; call it first thing in `main`.
///
/// Returns `None` for an ordinary start, and the exit code otherwise.
#[must_use]
pub fn inner_main() -> Option<u8> {
    // The mention keeps the early start in the binary.
    std::hint::black_box(&children::EARLY_START);
    if std::env::args_os().next()? != INNER_NAME {
        return None;
    }
    Some(be_inner())
}

/// The inner stage from its first step to its exit code.
pub(crate) fn be_inner() -> u8 {
    let Ok(fd) = sys::take_fd(CONTROL_FD) else {
        return EXIT_BROKEN;
    };
    let channel = Channel::from_fd(fd);
    match inner(&channel) {
        Ok(code) => code,
        Err(broken) => {
            // If the launcher is gone there is nobody left to tell, and nothing was run.
            drop(channel.send_failure(broken.layer, broken.errno, &broken.what));
            EXIT_BROKEN
        }
    }
}

fn inner(channel: &Channel) -> Result<u8, Broken> {
    close_the_door()?;
    // The plan comes when the launcher has shown our ids; until then this process must still be its user's in `/proc`.
    let frame = channel.receive().map_err(|error| broken(error.raw_os_error().unwrap_or(0), "read the plan"))?;
    let Some((TAG_PLAN, bytes, _)) = frame else {
        return Err(broken(0, "read the plan"));
    };
    rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable)
        .map_err(|errno| broken(errno.raw_os_error(), "become unreadable"))?;
    match Plan::decode(&bytes).map_err(|_| broken(0, "understand the plan"))? {
        Plan::Sandbox(plan) => l09_pid1::run(&plan, channel),
        Plan::Keeper(plan) => tree::keeper::run(&plan, channel),
    }
}

/// Nothing inherited, and no life without the launcher.
fn close_the_door() -> Result<(), Broken> {
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL))
        .map_err(|errno| broken(errno.raw_os_error(), "bind to the launcher's life"))?;
    // A caller that ignores the end of children would have ours disappear unseen.
    sys::reset_signals();
    let first = CONTROL_FD.unsigned_abs() + 1;
    sys::close_from(first, Inherited::Close)
        .map_err(|error| broken(error.raw_os_error().unwrap_or(0), "close inherited descriptors"))
}

fn broken(errno: i32, what: &str) -> Broken {
    Broken::new(Layer::Reexec, errno, what.to_owned())
}

/// A pipe whose writing end disappears when a program is executed.
pub(crate) fn status_pipe() -> std::io::Result<(OwnedFd, OwnedFd)> {
    Ok(rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?)
}
