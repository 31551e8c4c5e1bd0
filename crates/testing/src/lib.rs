//! What the tests of all crates share: folders, tiny disks, other users, and how large a test is.

#![expect(clippy::unwrap_used, reason = "a test ends at the first surprise")]

mod dir;
mod size;

pub use dir::{TestDir, TinyDisk, as_ordinary_user, skip, tiny_disk};
pub use size::{is_long, sized};
