//! The way to the disk: whole-file writes that a crash cannot tear, bounded reads, opening beneath a folder, files that
//! grow, locks between processes, where links lead, and paths as a shell reads them. There is one of each, and every crate uses it.

pub mod beneath;
pub mod bounded;
pub mod file;
pub mod links;
pub mod lock;
pub mod shell_word;
pub mod tail;
