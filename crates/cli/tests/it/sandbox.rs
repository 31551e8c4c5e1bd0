//! `tripwire sandbox` through the binary, as root and as an ordinary user: attacks, budgets, staging, the network.

mod attack_kinds;
mod attacks;
mod host;
mod limits;
pub(crate) mod network;
mod planted;
mod stage;
mod tools;
