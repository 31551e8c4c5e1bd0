//! The way to the disk: whole-file writes that a crash cannot tear, bounded reads, one error type.

pub mod file;
