//! The store of snapshots as its callers use it: random histories, people's edits, kills, full disks, repositories.

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
