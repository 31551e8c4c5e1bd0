//! The verbs on a real workspace, through the binary: each with its success, its refusal and its broken input.

mod broken;
mod control;
mod export;
pub(crate) mod fixture;
mod help;
mod log;
mod ls;
mod memory;
mod not_a_loop;
mod notify;
mod odd_names;
mod replay;
mod serve;
mod status;
mod step;
mod storm;
mod three_ways;
mod tune;
mod verify;
mod why;
