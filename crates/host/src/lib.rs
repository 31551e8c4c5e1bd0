//! tripwire's body on disk: streams, recordings, journal, control files, manifest, memory, the driver.

pub mod body;
pub mod decode;
pub mod lines;
pub mod policy_file;
pub mod recording;
pub mod replay;
pub mod scenario;
pub mod stream;
pub mod traces;
//! tripwire's body on disk: journal, control files, manifest, memory, the driver.

pub mod control;
pub mod geometry;
pub mod memory;
pub mod workspace;
