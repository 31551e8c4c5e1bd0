//! What several tests of the command share: a scripted model on loopback, and real clients where they are installed.

pub(crate) mod clients;
pub(crate) mod model;
pub(crate) mod person;
mod wire;
