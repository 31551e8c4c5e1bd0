//! `tripwire agent` through the binary: cassettes as models, the real tools in the real sandbox.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test ends at the first surprise")]

mod bad_input;
mod claims;
mod control;
mod crash;
mod degenerate;
mod engines;
mod example;
mod guardrails;
mod replay;
mod review;
mod roles;
mod seeds;
mod smoke;
mod support;
mod users;
