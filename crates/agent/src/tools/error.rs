//! Why a tool did nothing, in words for the model.

use super::nearest;
use std::borrow::Cow;
use tripwire_core::chain::event::ErrorClass;
use tripwire_core::explain::Explain;
use tripwire_session::execution::ExecutionError;
use tripwire_session::files::FilesError;
use tripwire_session::memory::MemoryError;

/// Why a tool did nothing. The text is for the model: what, where, and what to do instead.
#[derive(Debug, thiserror::Error)]
pub enum ToolError {
    /// A file cannot be had.
    #[error(transparent)]
    Files(#[from] FilesError),
    /// A file is not there, but others of its kind are.
    #[error("`{path}` does not exist; did you mean {}?", nearest::listed(.nearest))]
    MissingFile {
        /// The file.
        path: String,
        /// Names that are near to it.
        nearest: Vec<String>,
    },
    /// The contents are not text.
    #[error("`{path}` is not text: {why}")]
    NotText {
        /// The file.
        path: String,
        /// What it is instead.
        why: String,
    },
    /// A search pattern is none.
    #[error("the pattern `{pattern}` is not a regular expression: {why}")]
    BadPattern {
        /// The pattern, cut.
        pattern: String,
        /// Where and why.
        why: String,
    },
    /// An edit does not fit the file.
    #[error("`{path}` was not changed: {why}")]
    NoFit {
        /// The file.
        path: String,
        /// Why not, with the nearest lines.
        why: String,
    },
    /// The memory store refuses.
    #[error(transparent)]
    Memory(#[from] MemoryError),
    /// A memory that the role may not read.
    #[error("`{pointer}` is private, and this role may not read private memories")]
    PrivateMemory {
        /// The pointer.
        pointer: String,
    },
    /// A command was not run.
    #[error(transparent)]
    Execution(ExecutionError),
    /// The tool itself is broken: its result is none that it may give.
    #[error("the result of `{tool}` is not what it should be: {why}")]
    Defect {
        /// The tool.
        tool: &'static str,
        /// What is wrong with it.
        why: String,
    },
}

impl Explain for ToolError {
    fn hint(&self) -> Cow<'_, str> {
        match self {
            Self::Files(error) => error.hint(),
            Self::MissingFile { .. } => "see what is there with `list`, or look for it with `search`".into(),
            Self::NotText { .. } => "look at it with `shell`, for instance `file` or `xxd | head`".into(),
            Self::BadPattern { .. } => "escape special characters with `\\`, or set `literal` to true".into(),
            Self::NoFit { .. } => "read the file again with `read_file` and copy the lines exactly".into(),
            Self::Memory(error) => error.hint(),
            Self::PrivateMemory { .. } => "go on without it, or ask the person for the permission".into(),
            Self::Execution(_) => "a person must fix this: `tripwire doctor sandbox`".into(),
            Self::Defect { .. } => "use another tool; this is a defect of tripwire".into(),
        }
    }
}

impl ToolError {
    /// The kind of error, for the engine.
    #[must_use]
    pub const fn class(&self) -> ErrorClass {
        match self {
            Self::Files(error) if error.is_refusal() => ErrorClass::Refused,
            Self::Files(_)
            | Self::MissingFile { .. }
            | Self::NotText { .. }
            | Self::BadPattern { .. }
            | Self::NoFit { .. }
            | Self::Memory(_)
            | Self::Defect { .. } => ErrorClass::Tool,
            Self::PrivateMemory { .. } => ErrorClass::Refused,
            Self::Execution(ExecutionError::OtherAction { .. }) => ErrorClass::Refused,
            Self::Execution(ExecutionError::NotStarted { .. } | ExecutionError::EndUnknown) => ErrorClass::Timeout,
            Self::Execution(ExecutionError::LayerMissing { .. } | ExecutionError::Unusable { .. }) => {
                ErrorClass::CouldNotRun
            }
        }
    }
}
