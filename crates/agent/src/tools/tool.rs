//! What a tool is, and what the tools of a session work on.

use super::error::ToolError;
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fmt;
use std::time::{Duration, Instant};
use tripwire_core::chain::event::ErrorClass;
use tripwire_core::chain::gate::Permit;
use tripwire_core::input::Permission;
use tripwire_core::label::Fingerprint;
use tripwire_core::policy::{OutputBytes, Policy};
use tripwire_session::execution::{Executor, SpentPermit, spend};
use tripwire_session::files::Files;
use tripwire_session::memory::MemoryStore;

/// The most bytes of a result that the model sees; the rest is kept in memory behind a pointer.
pub const RESULT_BYTES_MAX: usize = 48 * 1024;
/// The most bytes of one text inside a result, so that the fields around it always fit.
pub(super) const TEXT_BYTES_MAX: usize = 32 * 1024;
/// The most bytes of a call's arguments.
pub(super) const ARGUMENT_BYTES_MAX: usize = 4 * 1024 * 1024;

const _: () = {
    assert!(TEXT_BYTES_MAX < RESULT_BYTES_MAX, "a text fits into its result");
    assert!(RESULT_BYTES_MAX < ARGUMENT_BYTES_MAX, "what was shown can be sent back, for instance to `write`");
};

/// One tool: its name, its types, and what it does.
pub(super) trait Tool: 'static {
    /// The name by which a model calls it.
    const NAME: &'static str;
    /// What the model is told about it.
    const ABOUT: &'static str;
    /// What it takes.
    type Arguments: DeserializeOwned + JsonSchema + fmt::Debug + Send;
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
    fn run(
        permit: Permit,
        arguments: &Self::Arguments,
        world: &mut World<'_>,
    ) -> Result<ToolDone<Self::Result>, ToolError>;
}

/// Arguments that fit their schema and still cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Unfit {
    /// The field, as a JSON pointer.
    pub(super) path: &'static str,
    /// What is wrong with it.
    pub(super) why: String,
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
    /// When everything that runs must end.
    pub deadline: Option<Instant>,
    /// Bytes of the result that the model gets, where a person limited them for the tool at hand.
    pub output_max: Option<OutputBytes>,
    /// The action that is permitted; set for each call.
    pub(super) action: Fingerprint,
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
        let (memories, action) = (Memories::Public, Fingerprint::NONE);
        Self { files, memory, memories, executor, limits, deadline: None, output_max: None, action }
    }

    /// Uses up the permit for the action at hand: nothing that acts in this process does so without it.
    pub(super) fn spend(&self, permit: Permit) -> Result<SpentPermit, ToolError> {
        spend(permit, self.action).map_err(ToolError::Execution)
    }

    /// How long something may take that could take `usual`.
    pub(super) fn time_left(&self, usual: Duration) -> Duration {
        self.deadline.map_or(usual, |deadline| usual.min(deadline.saturating_duration_since(Instant::now())))
    }
}

/// What a tool did.
#[derive(Debug)]
pub(super) struct ToolDone<R> {
    /// The result.
    pub(super) result: R,
    /// The permit, used up.
    pub(super) spent: SpentPermit,
    /// The result as plain text, for the facts of the event.
    pub(super) observed: String,
    /// What is known about how it ended, beyond that it ended well.
    pub(super) end: ToolEnd,
    /// What was given before anything was cut or made relative, where that differs from what is shown.
    pub(super) verbatim: Vec<Verbatim>,
}

/// Bytes exactly as a program gave them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Verbatim {
    /// Which of the tool's outputs they are.
    pub(super) name: &'static str,
    /// The bytes.
    pub(super) bytes: Vec<u8>,
}

/// How a tool ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ToolEnd {
    /// It did what was asked.
    Well,
    /// A command ended with this code.
    Exited(i32),
    /// It was cut off or broke: why.
    Broken(ErrorClass),
}

impl<R> ToolDone<R> {
    /// A plain success.
    pub(super) fn well(spent: SpentPermit, result: R, observed: String) -> Self {
        Self { result, spent, observed, end: ToolEnd::Well, verbatim: Vec::new() }
    }
}
