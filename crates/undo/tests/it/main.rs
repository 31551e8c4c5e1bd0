//! The store of snapshots as its callers use it: random histories, people's edits, kills, full disks, repositories.

mod bounds;
mod crash;
mod histories;
mod people;
mod repositories;
mod world;
