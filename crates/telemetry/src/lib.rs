//! OpenTelemetry: what the journals record of model calls, tool calls and decisions, sent to a receiver over OTLP/HTTP.
//!
//! The journal is the truth and the queue: a thread of its own follows the files without their locks, so nothing that decides
//! ever waits for a receiver, and what the receiver does not take is dropped here, counted and told. Texts of prompts, replies,
//! arguments and outputs are never read into a span; names that are go through the redactor once more.

mod attribute;
mod calls;
mod exporter;
mod ledger;
mod metrics;
mod otlp;
mod protobuf;
mod sender;
mod session;
mod settings;

pub use exporter::{Exporter, Source, Talk};
pub use settings::{ENDPOINT, Endpoint, SettingsError, TelemetrySettings};
