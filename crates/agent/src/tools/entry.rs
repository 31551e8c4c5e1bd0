//! One tool with its types erased: what a model is told about it, and how its arguments are read.

use super::error::ToolError;
use super::schema::{Mistake, SchemaSide, mistakes, schema_of};
use super::tool::{Tool, ToolEnd, Verbatim, World};
use crate::engines::ToolSpec;
use serde_json::{Value, json};
use std::fmt;
use tripwire_core::chain::gate::Permit;
use tripwire_core::input::Permission;
use tripwire_session::execution::SpentPermit;
use tripwire_session::memory::MemoryStore;

/// One tool of a session.
#[derive(Debug)]
pub struct ToolEntry {
    pub(super) name: &'static str,
    pub(super) about: &'static str,
    arguments: Value,
    result: Value,
    typed: fn(Value) -> Result<Box<dyn PreparedCall>, Mistake>,
}

/// Arguments that were read, whatever their type is.
pub(super) trait PreparedCall: fmt::Debug + Send {
    /// The permissions that the call needs, all of them.
    fn needs(&self, memory: &MemoryStore) -> Vec<Permission>;

    /// The paths that the call would write, as the model wrote them.
    fn writes(&self) -> Vec<String>;

    /// Acts. The permit is used up, whatever happens.
    fn run(&self, permit: Permit, world: &mut World<'_>) -> Result<ToolOutput, ToolError>;
}

/// What a tool did, its types erased.
#[derive(Debug)]
pub(super) struct ToolOutput {
    /// The result as JSON.
    pub(super) text: String,
    pub(super) observed: String,
    pub(super) end: ToolEnd,
    pub(super) verbatim: Vec<Verbatim>,
    pub(super) spent: SpentPermit,
}

impl ToolEntry {
    pub(super) fn of<T: Tool>() -> Self {
        Self {
            name: T::NAME,
            about: T::ABOUT,
            arguments: schema_of::<T::Arguments>(SchemaSide::Arguments),
            result: schema_of::<T::Result>(SchemaSide::Result),
            typed: typed::<T>,
        }
    }

    /// Everything that the registry's digest covers.
    pub(super) fn frozen(&self) -> Value {
        json!({
            "arguments": self.arguments,
            "description": self.about,
            "name": self.name,
            "result": self.result,
        })
    }

    /// The tool as a model is told about it.
    pub(super) fn spec(&self) -> ToolSpec {
        ToolSpec { name: self.name.to_owned(), description: self.about.to_owned(), schema: self.arguments.clone() }
    }

    /// Reads a call's arguments: all that the schema finds wrong with them, or else the one thing that the tool does.
    pub(super) fn prepare(&self, arguments: Value) -> Result<Box<dyn PreparedCall>, Vec<Mistake>> {
        let mistakes = mistakes(&self.arguments, &arguments);
        if mistakes.is_empty() { (self.typed)(arguments).map_err(|mistake| vec![mistake]) } else { Err(mistakes) }
    }
}

/// The arguments of one tool.
struct Prepared<T: Tool>(T::Arguments);

impl<T: Tool> fmt::Debug for Prepared<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple(T::NAME).field(&self.0).finish()
    }
}

impl<T: Tool> PreparedCall for Prepared<T> {
    fn needs(&self, memory: &MemoryStore) -> Vec<Permission> {
        T::needs(&self.0, memory)
    }

    fn writes(&self) -> Vec<String> {
        T::writes(&self.0)
    }

    fn run(&self, permit: Permit, world: &mut World<'_>) -> Result<ToolOutput, ToolError> {
        let done = T::run(permit, &self.0, world)?;
        let text = serde_json::to_string(&done.result)
            .map_err(|error| ToolError::Defect { tool: T::NAME, why: error.to_string() })?;
        Ok(ToolOutput { text, observed: done.observed, end: done.end, verbatim: done.verbatim, spent: done.spent })
    }
}

/// Reads the typed arguments and checks what the schema cannot say.
fn typed<T: Tool>(arguments: Value) -> Result<Box<dyn PreparedCall>, Mistake> {
    let mistake = |path: &str, why: String| Mistake { path: path.to_owned(), why, found: String::new() };
    let typed: T::Arguments = serde_json::from_value(arguments).map_err(|error| mistake("", error.to_string()))?;
    match T::check(&typed) {
        Ok(()) => Ok(Box::new(Prepared::<T>(typed))),
        Err(unfit) => Err(mistake(unfit.path, unfit.why)),
    }
}
