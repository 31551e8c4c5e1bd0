//! The store of snapshots as its callers use it: random histories, people's edits, kills, full disks, repositories.
#![expect(clippy::unwrap_used, reason = "a broken premise must end the test")]

// The attribute tells clippy that helpers of tests may unwrap, too.
#[cfg(test)]
mod bounds;
#[cfg(test)]
mod crash;
#[cfg(test)]
mod histories;
#[cfg(test)]
mod people;
#[cfg(test)]
mod repositories;
#[cfg(test)]
mod world;
