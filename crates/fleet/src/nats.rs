//! A fleet on NATS JetStream: the client, the log, the start checks, and a development cluster.

pub mod cluster;
mod cluster_error;
mod connection;
mod credentials;
mod nats_log;
mod ports;
mod setup;

pub use connection::NatsError;
pub use credentials::{Credentials, CredentialsError};
pub use nats_log::NatsLog;
