//! tripwire's body on disk: journal, control files, manifest, memory, the driver.

pub mod control;
pub mod geometry;
pub mod memory;
pub mod workspace;
