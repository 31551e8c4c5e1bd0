//! Answers a hook before the Rust runtime starts: a hook runs for a millisecond and is started thousands of times.
//!
//! The runtime reads the memory map and sets up a second stack, so that it can report a stack overflow; that is a sixth of the
//! cost of an empty process. Every other command starts in the ordinary way.

use crate::{memory, sys};
use rustix::event::{PollFd, PollFlags, Timespec};
use std::os::fd::AsFd as _;

/// Prepares an answer before `main`: this thread allocates from one piece ([`memory::Memory`]), and SIGPIPE is ignored, as the
/// runtime does. False if a standard stream is closed: a file opened later could take its number and receive what is printed,
/// which the ordinary start prevents.
#[must_use]
pub fn prepare() -> bool {
    let (input, output, error) = (std::io::stdin(), std::io::stdout(), std::io::stderr());
    let mut streams = [input.as_fd(), output.as_fd(), error.as_fd()]
        .map(|stream| PollFd::from_borrowed_fd(stream, PollFlags::empty()));
    let polled = rustix::event::poll(&mut streams, Some(&Timespec::default()));
    let are_open = polled.is_ok() && streams.iter().all(|stream| !stream.revents().contains(PollFlags::NVAL));
    if are_open {
        sys::ignore_broken_pipes();
        memory::begin();
    }
    are_open
}

/// Ends the process with the code of an early answer, if there is one. Called by [`crate::early_answer`].
pub fn end(code: Option<u8>) {
    if let Some(code) = code {
        sys::exit_now(i32::from(code));
    }
}

/// Has a function answer before `main`, as soon as the C library is ready: it takes nothing, and gives the exit code, or
/// nothing where `main` is to go on. It runs at every start, so it reads the command line first and goes no further where
/// that names something else, and it answers only after [`early::prepare`](crate::early::prepare).
#[macro_export]
macro_rules! early_answer {
    ($answer:path) => {
        #[used]
        // SAFETY: the section holds pointers to functions, which the C library calls once before `main`; this one reads none
        // of the arguments that it may be given.
        #[unsafe(link_section = ".init_array")]
        static EARLY_ANSWER: extern "C" fn() = {
            extern "C" fn early_answer() {
                $crate::early::end($answer());
            }
            early_answer
        };
    };
}
