//! The chain from end to end, through its public door only: inputs go in, decisions come out.
//!
//! Each test carries the name of the rule it holds. Rules come in pairs: it fires when it must, it stays quiet when it
//! must.

mod activity;
mod bed;
mod context;
mod endings;
mod gate;
mod health;
mod loops;
mod people;
mod state;
