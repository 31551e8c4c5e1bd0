//! The verbs on a real workspace, through the binary: each with its success, its refusal and its broken input.
#![expect(clippy::unwrap_used, clippy::panic, clippy::print_stderr, reason = "a test ends at the first surprise")]

#[path = "../support/programs.rs"]
mod programs;

mod broken;
mod control;
mod export;
mod help;
mod log;
mod memory;
mod not_a_loop;
mod notify;
mod replay;
mod status;
mod step;
mod storm;
mod support;
mod verify;
mod why;
