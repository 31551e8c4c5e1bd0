//! Snapshots of the folder that an agent works in, kept outside of it, and the way back to any of them.
//!
//! A snapshot is taken before and after each step that may change files. What changed between two snapshots belongs to the
//! step that ran then, or to a person if none did; taking a step back never touches what a person changed since. The
//! folder's own git repository, its index, refs, hooks and settings are never written.

mod apply;
mod binary;
mod diff;
mod error;
mod gc;
mod history;
mod index;
mod log;
mod node;
mod objects;
mod pack;
mod paths;
mod plan;
mod points;
mod scan;
mod settings;
mod snapshot;
mod store;
mod watch;
mod way_back;

pub use diff::{Difference, ShownKind};
pub use error::UndoError;
pub use gc::Collected;
pub use history::{History, StepSummary};
pub use log::{Doer, StepMark};
pub use node::{Entry, Uncovered};
pub use plan::{Conflict, PathChange, Plan, Selection};
pub use points::UndoPoint;
pub use settings::Settings;
pub use snapshot::{Gap, Taken};
pub use store::UndoStore;
pub use way_back::Restored;
