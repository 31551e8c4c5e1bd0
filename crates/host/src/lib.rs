//! tripwire's body on disk: journal, control files, manifest, memory, the driver.

pub mod journal;
pub mod storage;
