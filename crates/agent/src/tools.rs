//! Tools: what a model may ask our own loop to do.
//!
//! A call goes one way: `decode` turns the model's words into typed arguments, once, or into a fault that the model can
//! repair from; the [`Decoded`] call says what the action is and which permissions it needs, for the gate; with the gate's
//! permit, and only with it, [`run`] acts; the result is cut to its cap and given twice: as text for the model, and as
//! facts for the engine.

mod decode;
mod edit;
mod entry;
mod error;
mod finish;
mod list;
mod near_miss;
mod nearest;
mod outcome;
mod patch;
mod plan;
mod read_file;
mod recall;
pub mod registry;
mod relative;
mod remember;
mod run;
mod schema;
mod search;
mod shell;
mod tool;
mod walk;
mod write;

pub use decode::{Decoded, Meaning, ToolFault, decode};
pub use entry::ToolEntry;
pub use error::ToolError;
pub use outcome::{KeptOutput, Ran};
pub use plan::plan_of;
pub use registry::{Registry, RegistryError};
pub use run::run;
pub use schema::Mistake;
pub use tool::{Limits, Memories, RESULT_BYTES_MAX, World};
