//! The messages, without any process: framing, reading, the answers that the guard gives itself.

pub mod message;
pub mod pins;
pub mod reply;
pub mod result;
pub mod schema;
pub mod strict;
pub mod suspicion;
pub mod tools;
pub mod traffic;
