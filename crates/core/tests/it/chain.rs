//! The chain from end to end, through its public door only: inputs go in, decisions come out.
//!
//! Each test carries the name of the rule it holds. Rules come in pairs: it fires when it must, it stays quiet when it
//! must.

// The attribute tells clippy that helpers of tests may unwrap, too.
#[cfg(test)]
mod activity;
#[cfg(test)]
mod balanced;
#[cfg(test)]
mod bed;
#[cfg(test)]
mod constitution;
#[cfg(test)]
mod context;
#[cfg(test)]
mod endings;
#[cfg(test)]
mod floor;
#[cfg(test)]
mod gate;
#[cfg(test)]
mod health;
#[cfg(test)]
mod loops;
#[cfg(test)]
mod people;
#[cfg(test)]
mod state;
