//! Tools: what a model may ask our own loop to do.
//!
//! A call goes one way: `decode` turns the model's words into typed arguments or a fault that it can repair from;
//! `Decoded` says what the action is and which permissions it needs, for the gate; with the gate's permit, and only with
//! it, [`registry::Registry::run`] acts; the answer is checked against the result's schema, cut to its cap, and told
//! twice: as text for the model, and as facts for the engine.

pub mod decode;
mod edit;
mod finish;
mod list;
mod near_miss;
mod nearest;
pub mod outcome;
mod patch;
mod read_file;
mod recall;
pub mod registry;
mod remember;
mod run;
mod scrub;
mod search;
mod shell;
mod shown;
mod write;

pub use decode::{Decoded, ToolFault, decode};
pub use outcome::Ran;
pub use registry::{Registry, RegistryError};

use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::time::{Duration, Instant};
use tripwire_core::chain::event::ErrorClass;
use tripwire_core::chain::gate::Permit;
use tripwire_core::explain::Explain as _;
use tripwire_core::input::Permission;
use tripwire_core::label::Fingerprint;
use tripwire_core::policy::Policy;
use tripwire_session::execution::{ExecutionError, Executor, SpentPermit, spend};
use tripwire_session::files::{Files, FilesError};
use tripwire_session::memory::{MemoryError, MemoryStore};

/// The most bytes of a result that the model sees; the rest is kept in memory behind a pointer.
pub const RESULT_BYTES_MAX: usize = 48 * 1024;
/// The most bytes of one text inside a result, so that the fields around it always fit.
pub const TEXT_BYTES_MAX: usize = 32 * 1024;
/// The most bytes of a call's arguments.
pub const ARGUMENT_BYTES_MAX: usize = 4 * 1024 * 1024;

const _: () = {
    assert!(TEXT_BYTES_MAX < RESULT_BYTES_MAX, "a text fits into its result");
    assert!(RESULT_BYTES_MAX < ARGUMENT_BYTES_MAX, "what was shown can be sent back, for instance to `write`");
};

/// One tool: its name, its types, and what it does.
pub trait Tool {
    /// The name by which a model calls it.
    const NAME: &'static str;
    /// What the model is told about it.
    const ABOUT: &'static str;
    /// What it takes.
    type Arguments: DeserializeOwned + JsonSchema;
    /// What it gives.
    type Result: Serialize + JsonSchema;

    /// What the schema cannot say about the arguments: the field, and what is wrong with it.
    ///
    /// # Errors
    /// When they cannot be used.
    fn check(_arguments: &Self::Arguments) -> Result<(), Unfit> {
        Ok(())
    }

    /// The permissions that the call needs, all of them.
    fn needs(arguments: &Self::Arguments, memory: &MemoryStore) -> Vec<Permission>;

    /// The paths that the call would write, as the model wrote them.
    fn writes(_arguments: &Self::Arguments) -> Vec<String> {
        Vec::new()
    }

    /// Does it. The permit is used up, whatever happens.
    ///
    /// # Errors
    /// When it was not done, in words for the model.
    fn run(permit: Permit, arguments: Self::Arguments, world: &mut World<'_>) -> Result<Done<Self::Result>, ToolError>;
}

/// Arguments that fit their schema and still cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unfit {
    /// The field, as a JSON pointer.
    pub path: &'static str,
    /// What is wrong with it.
    pub why: String,
}

/// What the tools of a session work on.
pub struct World<'a> {
    /// The workspace's files, or a staged copy of them.
    pub files: &'a Files,
    /// The memory store.
    pub memory: &'a MemoryStore,
    /// Which memories the role may read.
    pub memories: Memories,
    /// What runs commands.
    pub executor: &'a mut dyn Executor,
    /// The caps.
    pub limits: Limits,
    /// When whatever runs must end, however long it might take otherwise.
    pub deadline: Option<Instant>,
    /// The action that is permitted; set by the registry for each call.
    pub(crate) action: Fingerprint,
}

/// Which memories a role may read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Memories {
    /// The public ones.
    Public,
    /// All.
    All,
}

/// The caps of the tools, from the frozen policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Lines that `read_file` shows at most.
    pub lines_max: u64,
    /// How long a command may take.
    pub command_time: Duration,
}

impl Limits {
    /// The caps of a policy.
    #[must_use]
    pub fn of(policy: &Policy) -> Self {
        Self {
            lines_max: u64::from(policy.tools.max_lines.get()),
            command_time: Duration::from_millis(policy.sandbox.time_limit_ms.get()),
        }
    }
}

impl<'a> World<'a> {
    /// A world without a deadline.
    pub fn new(files: &'a Files, memory: &'a MemoryStore, executor: &'a mut dyn Executor, limits: Limits) -> Self {
        Self { files, memory, memories: Memories::Public, executor, limits, deadline: None, action: Fingerprint::NONE }
    }

    /// Uses up the permit for the action at hand: nothing that acts in this process does so without it.
    pub(crate) fn spend(&self, permit: Permit) -> Result<SpentPermit, ToolError> {
        spend(permit, self.action).map_err(ToolError::Execution)
    }

    /// How long something may take that could take `usual`.
    pub(crate) fn time_left(&self, usual: Duration) -> Duration {
        self.deadline.map_or(usual, |deadline| usual.min(deadline.saturating_duration_since(Instant::now())))
    }
}

/// What a tool did.
#[derive(Debug)]
pub struct Done<R> {
    /// The result.
    pub result: R,
    /// The permit, used up.
    pub spent: SpentPermit,
    /// The result as plain text, for the facts of the event.
    pub observed: String,
    /// What is known about how it ended, beyond that it ended well.
    pub end: End,
    /// What was given before anything was cut or made relative, where that differs from what is shown.
    pub verbatim: Vec<Verbatim>,
}

/// Bytes exactly as a program gave them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verbatim {
    /// Which of the tool's outputs they are.
    pub name: &'static str,
    /// The bytes.
    pub bytes: Vec<u8>,
}

/// How a tool ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// It did what was asked.
    Well,
    /// A command ended with this code.
    Exited(i32),
    /// It was cut off or broke: why.
    Broken(ErrorClass),
}

impl<R> Done<R> {
    /// A plain success.
    pub(crate) fn well(spent: SpentPermit, result: R, observed: String) -> Self {
        Self { result, spent, observed, end: End::Well, verbatim: Vec::new() }
    }
}

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

impl ToolError {
    /// What to do about it.
    #[must_use]
    pub fn hint(&self) -> String {
        match self {
            Self::Files(error) => error.hint().into_owned(),
            Self::MissingFile { .. } => "see what is there with `list`, or look for it with `search`".to_owned(),
            Self::NotText { .. } => "look at it with `shell`, for instance `file` or `xxd | head`".to_owned(),
            Self::BadPattern { .. } => "escape special characters with `\\`, or set `literal` to true".to_owned(),
            Self::NoFit { .. } => "read the file again with `read_file` and copy the lines exactly".to_owned(),
            Self::Memory(error) => error.hint().into_owned(),
            Self::PrivateMemory { .. } => "go on without it, or ask the person for the permission".to_owned(),
            Self::Execution(_) => "a person must mend this: `tripwire doctor sandbox`".to_owned(),
            Self::Defect { .. } => "use another tool; this is a defect of tripwire".to_owned(),
        }
    }

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
