//! tripwire's body on disk: streams, recordings, journal, control files, manifest, memory, the driver.

pub mod body;
pub mod bundle;
pub mod clock;
pub mod control;
pub mod decode;
pub mod driver;
pub mod execution;
pub mod foreign;
pub mod geometry;
pub mod journal;
pub mod lines;
pub mod memory;
pub mod notify;
pub mod policy_file;
pub mod prices;
pub mod recording;
pub mod replay;
pub mod scenario;
pub mod sole;
pub mod storage;
pub mod stream;
pub mod supervised;
pub mod traces;
pub mod transcript;
pub mod tree;
pub mod workspace;
