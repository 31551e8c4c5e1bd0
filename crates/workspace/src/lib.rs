//! The folder that an agent works in: its `.geometry/` with layout, manifest and control files, the sessions in it, and what
//! git and the project's own files say about it.

pub mod account;
pub mod clock;
pub mod control;
pub mod exclude;
pub mod geometry;
pub mod git;
pub mod hash;
pub mod known;
pub mod loop_lock;
pub mod mark;
pub mod mode;
pub mod open_consoles;
pub mod own_outputs;
pub mod policy_file;
pub mod session;
pub mod test_command;
pub mod text_diff;
mod walk;
mod workspace;

pub use workspace::{Places, StatePlace, Workspace, WorkspaceError, state_name};
