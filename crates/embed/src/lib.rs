//! The guard inside a program that asks for itself: before a call, after it, with what its model used.
//!
//! [`GuardedSession`] is one journaled session, in the same format and under the same locks as that of the hooks. The Python
//! package calls it in process; [`stdio`] puts it behind JSON-RPC for every other language. Nothing here decides.

pub mod environment;
mod error;
mod options;
mod session;
pub mod stdio;
mod types;

pub use error::EmbedError;
pub use options::{SessionOptions, budget};
pub use session::{GuardedSession, OnTaken};
pub use types::{
    Admission, AgentId, CallId, CallQuestion, CallResult, NoResult, ResultAnswer, SessionStatus, Stop, StopKind,
    UsageTold,
};
