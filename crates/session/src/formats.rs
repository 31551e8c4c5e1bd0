//! Formats that are read without a journal: event streams, raw calls, scenarios, traces, recordings.

pub mod decode;
pub mod lines;
pub mod recording;
pub mod scenario;
pub mod stream;
pub mod traces;
