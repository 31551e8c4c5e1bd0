//! Permissions, the review gate and identity through the binary: what a role may not do does not happen.

mod doors;
mod identity;
mod invariants;
mod permissions;
mod review;
