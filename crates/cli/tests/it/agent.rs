//! `tripwire agent` through the binary: cassettes as models, the real tools in the real sandbox.

mod bad_input;
mod claims;
mod context;
mod control;
mod crash;
mod degenerate;
mod engines;
mod example;
pub(crate) mod fixture;
mod guardrails;
mod ledger;
mod money;
mod network;
mod recovery;
mod replay;
mod review;
mod roles;
mod seeds;
mod smoke;
mod users;
mod worker_refusals;
