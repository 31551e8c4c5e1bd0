//! The MCP guard: it stands between any client and any tool server, and asks the engine about every call.
//!
//! [`wire`] reads messages and writes the few that the guard itself says; it is pure. [`guard`] starts the server, moves bytes
//! both ways, and asks. Nothing here decides: a call is an event of the same form as a hook's, and the session's own driver,
//! or the supervisor of a run, answers it.

pub mod guard;
pub mod wire;
