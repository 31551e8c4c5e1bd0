//! The inner stage: our own binary, executed again. It is either the first process of a sandbox or the keeper of a tree; the
//! plan that the launcher sends says which.

use std::ffi::CStr;

use crate::control::{CONTROL_FD, Channel, INNER_NAME};
use crate::layer::LayerError;
use crate::layers::{l03_reexec, l09_pid1};
use crate::plan::Plan;
use crate::sys::{self, exit_now};
use crate::tree::{Containment, keeper};

/// Exit code of an inner stage that has reported why it gave up.
const EXIT_FAILED: u8 = 71;

/// Runs the inner stage if this process was started as one; call it first thing in `main`.
///
/// Returns `None` for an ordinary start, and the exit code otherwise.
#[must_use]
pub fn inner_main() -> Option<u8> {
    // The mention keeps the early start in the binary.
    std::hint::black_box(&EARLY_START);
    if std::env::args_os().next()? != INNER_NAME {
        return None;
    }
    Some(run_inner())
}

/// The inner stage begins here, when the C library is ready and before the language's own start, which reads the memory map
/// and sets up a second stack for nothing. Where the C library passes no arguments, `inner_main` begins it a little later.
#[used]
// SAFETY: the section holds pointers to functions of exactly this type, which the C library calls once before `main`.
#[unsafe(link_section = ".init_array")]
static EARLY_START: extern "C" fn(libc::c_int, *const *const libc::c_char) = {
    extern "C" fn early_start(count: libc::c_int, arguments: *const *const libc::c_char) {
        if count != 1 || !cfg!(target_env = "gnu") {
            return;
        }
        // SAFETY: this C library passes the arguments of `main`, of which there is one.
        let first = unsafe { *arguments };
        // SAFETY: an argument is a string that ends in zero and lives as long as the process.
        let first = unsafe { CStr::from_ptr(first) };
        if first.to_bytes() == INNER_NAME.as_bytes() {
            exit_now(i32::from(run_inner()));
        }
    }
    early_start
};

/// The inner stage from its first step to its exit code.
fn run_inner() -> u8 {
    let Ok(fd) = sys::take_fd(CONTROL_FD) else {
        return EXIT_FAILED;
    };
    let channel = Channel::from_fd(fd);
    match dispatch(&channel) {
        Ok(code) => code,
        Err(failure) => {
            // If the launcher is gone there is no one to report to, and nothing was run.
            drop(channel.send_failure(failure.layer, failure.errno, &failure.what));
            EXIT_FAILED
        }
    }
}

fn dispatch(channel: &Channel) -> Result<u8, LayerError> {
    match l03_reexec::enter(channel)? {
        Plan::Sandbox(plan) if plan.held == 1 => {
            let command = l09_pid1::begin(&plan, channel)?;
            keeper::stay(command, channel, Containment::PidNamespace)
        }
        Plan::Sandbox(plan) => l09_pid1::run(&plan, channel),
        Plan::Keeper(plan) => keeper::run(&plan, channel),
    }
}
