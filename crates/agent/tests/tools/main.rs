//! The tools of our own loop, through the doors that the loop uses: decode, ask, run with a permit, tell.

mod bed;
mod edit;
mod facts;
mod memory;
mod reading;
mod refusals;
mod search;
