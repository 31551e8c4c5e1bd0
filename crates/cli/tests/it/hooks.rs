//! `tripwire hook` through the binary, with inputs in the clients' forms, and `tripwire statusline`.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a broken premise must end the test")]

#[path = "../support/programs.rs"]
mod programs;

mod agents;
mod attacks;
mod bed;
mod broken;
mod claude;
mod dialects;
mod figures;
mod reach;
mod statusline;
mod supervised;
