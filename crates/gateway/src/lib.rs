//! The gateway: a proxy for model APIs that counts, prices, bounds and cuts every model call.
//!
//! Requests and replies stream through; what they cost is read from a copy. The ledger in `core` decides whether a call may
//! leave, `session` keeps what it cost. [`tool_server`] carries the messages of tool servers over HTTP for the guard in `mcp`.

mod admission;
mod backoff;
pub mod body;
mod books;
mod buffered;
mod call;
pub mod config;
mod door;
mod event_edge;
mod fallback;
mod gateway_lock;
mod gathered;
mod incoming;
mod key_rates;
mod limits;
mod metrics;
mod open_call;
mod orders;
mod outbound;
mod own_names;
mod paused;
mod pump;
mod refusal;
mod request;
mod route;
mod run_door;
pub mod run_mode;
mod server;
mod shared;
pub mod token;
pub mod tool_server;
mod upstream;
pub mod usage;
mod whole_reply;
pub mod wire;

pub use door::{AskedDoor, DoorAnswer, DoorQuestion};
pub use gateway_lock::GatewayLockError;
pub use outbound::Outbound;
pub use run_door::ModelNews;
pub use server::{GatewayError, ServeOptions, serve};
pub use shared::Talk;
