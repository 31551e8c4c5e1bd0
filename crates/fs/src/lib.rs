//! The way to the disk: whole-file writes that a crash cannot tear, bounded reads, opening beneath a folder, files that
//! grow, and locks between processes. There is one of each, and every crate uses it.

pub mod beneath;
pub mod bounded;
pub mod file;
pub mod lock;
pub mod tail;
