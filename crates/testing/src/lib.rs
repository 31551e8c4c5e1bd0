//! What the tests of all crates share: folders, tiny disks, other users, and how large a test is.

#![expect(clippy::unwrap_used, reason = "a test ends at the first surprise")]

mod child;
mod dir;
pub mod keys;
pub mod markdown;
mod program;
mod size;
pub mod synthetic;

pub use child::wait;
pub use dir::{TestDir, TinyDisk, as_ordinary_user, folder, skip, tiny_disk};
pub use program::{copy_program, write_program};
pub use size::{is_long, sized};
