//! The chain from end to end, through its public interface only: inputs go in, decisions come out.
//!
//! Each test carries the name of the rule it holds. Rules come in pairs: it fires when it must, it stays quiet when it
//! must.

mod activity;
mod balanced;
mod constitution;
mod context;
mod endings;
mod evidence;
mod fixture;
mod floor;
mod gate;
mod health;
mod loops;
mod naming;
mod people;
mod recovery;
mod state;
mod thresholds;
mod tuned;
mod waiting;
