//! The store of snapshots as its callers use it: random histories, people's edits, kills, full disks, repositories.
#![expect(clippy::unwrap_used, reason = "a broken premise must end the test")]

mod bounds;
mod crash;
mod histories;
mod people;
mod repositories;
mod world;
