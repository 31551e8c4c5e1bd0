//! The `.geometry/` folder: the files that people read, edit and trust, with the names and formats of the seed.
//!
//! Nothing here decides. Each file is a view of the journal, except `MANIFEST.yaml` and the control files, which are
//! also a person's way in (see [`crate::control`]).

pub mod hook_script;
pub mod layout;
pub mod manifest;
pub mod replay_file;
pub mod report_parts;
pub mod reports;
pub mod safety_log;
pub mod yaml_edit;

pub use tripwire_journal::{session_id, wall_clock};
