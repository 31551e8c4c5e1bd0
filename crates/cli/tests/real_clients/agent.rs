//! Workers in the chain of engines: the real clients do a whole turn for `tripwire agent`, against a scripted model on
//! loopback. A client that is not installed is skipped, loudly.
#![expect(clippy::expect_used, reason = "a broken premise must end the test")]
#![expect(dead_code, reason = "other tests use more of the shared support")]

#[path = "../support/mod.rs"]
mod support;
#[path = "../support/waiting.rs"]
mod waiting;

mod bed;
mod cases;
mod refusals;
