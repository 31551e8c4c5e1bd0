//! The messages, without any process: framing, reading, the answers that the guard gives itself.

pub mod message;
pub mod reply;
pub mod result;
pub mod strict;
pub mod traffic;
