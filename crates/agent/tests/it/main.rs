//! The tools of our own loop, through the doors that the loop uses: decode, ask, run with a permit, tell.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a broken premise must end the test")]

mod bed;
mod edit;
mod facts;
mod memory;
mod random;
mod reading;
mod refusals;
mod search;
