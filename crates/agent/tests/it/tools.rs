//! The tools of our own loop, through the doors that the loop uses: decode, ask, run with a permit, report.

mod edit;
mod facts;
mod fixture;
mod memory;
mod random;
mod reading;
mod refusals;
mod search;
