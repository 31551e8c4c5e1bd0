//! The verbs on a real workspace, through the binary: each with its success, its refusal and its broken input.

mod broken;
mod control;
mod export;
pub(crate) mod fixture;
mod help;
mod log;
mod memory;
mod not_a_loop;
mod notify;
mod replay;
mod status;
mod step;
mod storm;
mod verify;
mod why;
