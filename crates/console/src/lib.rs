//! The console: one read model over the journals of all workspaces, used by the command line, the local page and the report.
//!
//! The journals are the only truth. What is computed from them ([`analysis`]) is a cache in memory that may be thrown away at
//! any time; nothing here appends to a journal except through the driver, and only for an act of a person: an order ([`control`]) or an answer to what waits.

pub mod acts;
pub mod analysis;
pub mod approvals;
pub mod control;
pub mod explanation;
pub mod filter;
pub mod history;
mod host;
pub mod live;
pub mod model;
pub mod moment;
pub mod money;
pub mod opened;
mod order_error;
pub mod receipts;
pub mod report;
pub mod resume;
pub mod rows;
pub mod shown;
pub mod summary;
pub mod undo_points;
pub mod watch;
pub mod web;

pub use host::Host;
pub use order_error::OrderError;
