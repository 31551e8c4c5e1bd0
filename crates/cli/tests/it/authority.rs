//! Permissions, the review gate and identity through the binary: what a role may not do does not happen.
#![expect(clippy::unwrap_used, clippy::panic, clippy::print_stderr, reason = "a test ends at the first surprise")]

mod doors;
mod identity;
mod invariants;
mod permissions;
mod review;
#[path = "../session/support.rs"]
#[expect(dead_code, reason = "shared with the other tests of sessions")]
mod support;
