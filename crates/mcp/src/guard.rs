//! The processes and pipes: a server as one process tree, bytes both ways, and a question to the engine for every call.

mod calls;
mod conversation;
mod door;
mod held;
mod http;
mod lines;
mod pin_keeper;
mod pin_store;
mod question;
mod relay;
mod run_door;
mod serve;
mod server_name;
mod session_door;
mod tool_gate;
mod wires;

pub use door::Door;
pub use http::{HttpGuardOptions, serve_http};
pub use pin_store::{PinError, PinStore, PinnedServer};
pub use question::{CallOrigin, DoorPlace};
pub use run_door::RunDoor;
pub use serve::{GuardEnd, GuardError, GuardOptions, serve};
pub use server_name::ServerName;
pub use session_door::SessionDoor;
