//! Layer 3: the clean second start of our own binary, which puts on the remaining layers from inside.
//!
//! The executed image has an empty environment, one argument, no memory of the launcher, and four descriptors: an empty stdin,
//! the two output pipes and the control channel. It makes itself unreadable to everything that runs beside it.

use std::os::fd::OwnedFd;

use rustix::process::{DumpableBehavior, Signal};

use crate::control::{CONTROL_FD, Channel, TAG_PLAN};
use crate::layer::LayerError;
use crate::outcome::Layer;
use crate::plan::Plan;
use crate::sys::{self, Inherited};

/// Makes this process clean and unreadable, and gives the plan that the launcher sent it.
pub(crate) fn enter(channel: &Channel) -> Result<Plan, LayerError> {
    close_the_door()?;
    // The plan comes when the launcher has shown our ids; until then this process must still be its user's in `/proc`.
    let frame = channel.receive().map_err(|error| failure(error.raw_os_error().unwrap_or(0), "read the plan"))?;
    let Some((TAG_PLAN, bytes, _)) = frame else {
        return Err(failure(0, "read the plan"));
    };
    rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable)
        .map_err(|errno| failure(errno.raw_os_error(), "become unreadable"))?;
    Plan::decode(&bytes).map_err(|_| failure(0, "understand the plan"))
}

/// Nothing inherited, and no life without the launcher.
fn close_the_door() -> Result<(), LayerError> {
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL))
        .map_err(|errno| failure(errno.raw_os_error(), "bind to the launcher's life"))?;
    // A caller that ignores the end of children would have ours disappear unseen.
    sys::reset_signals();
    let first = CONTROL_FD.unsigned_abs() + 1;
    sys::close_from(first, Inherited::Close)
        .map_err(|error| failure(error.raw_os_error().unwrap_or(0), "close inherited descriptors"))
}

fn failure(errno: i32, what: &str) -> LayerError {
    LayerError::new(Layer::Reexec, errno, what.to_owned())
}

/// A pipe whose writing end disappears when a program is executed.
pub(crate) fn status_pipe() -> std::io::Result<(OwnedFd, OwnedFd)> {
    Ok(rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?)
}
