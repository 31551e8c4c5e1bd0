//! The registry: all tools of a session, fixed and named by one digest before it begins (RUN-1, CONST-6).

use super::decode::{Asked, Fit};
use super::edit::Edit;
use super::finish::Finish;
use super::list::List;
use super::read_file::ReadFile;
use super::recall::Recall;
use super::remember::Remember;
use super::run::{self, Told};
use super::search::Search;
use super::shell::Shell;
use super::write::Write;
use super::{Tool, ToolError, World};
use crate::engine::ToolSpec;
use crate::schema::{Mistake, Schema, SchemaError, Side};
use serde_json::{Value, json};
use tripwire_core::chain::gate::Permit;
use tripwire_core::record::canonical;
use tripwire_core::record::chain::Digest;
use tripwire_session::memory::MemoryStore;

/// Tells this digest from all others.
const DOMAIN: &[u8] = b"tripwire tool registry 1\0";
/// The tool by which an agent says that it is done.
pub const FINISH: &str = Finish::NAME;
/// The tool that runs a command.
pub const SHELL: &str = Shell::NAME;

/// All tools of a session. There is no way to add, change or take one away.
#[derive(Debug)]
pub struct Registry {
    entries: Vec<Entry>,
    specs: Vec<ToolSpec>,
    digest: Digest,
}

/// A registry that cannot be made: a defect of a tool's types.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the tool `{tool}` cannot be registered: {why}")]
pub struct RegistryError {
    tool: &'static str,
    why: String,
}

/// One tool, its types forgotten.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) name: &'static str,
    pub(super) about: &'static str,
    pub(super) arguments: Schema,
    pub(super) result: Schema,
    pub(super) fit: fn(&Value) -> Result<Fit, Mistake>,
    pub(super) ask: fn(&Value, &MemoryStore) -> Asked,
    pub(super) run: fn(Permit, &Value, &mut World<'_>) -> Result<Told, ToolError>,
}

impl Entry {
    fn of<T: Tool>() -> Result<Self, RegistryError> {
        let broken = |error: SchemaError| RegistryError { tool: T::NAME, why: error.to_string() };
        Ok(Self {
            name: T::NAME,
            about: T::ABOUT,
            arguments: Schema::of::<T::Arguments>(Side::Arguments).map_err(broken)?,
            result: Schema::of::<T::Result>(Side::Result).map_err(broken)?,
            fit: super::decode::fit::<T>,
            ask: super::decode::ask::<T>,
            run: run::erased::<T>,
        })
    }

    fn frozen(&self) -> Value {
        json!({
            "arguments": self.arguments.text(),
            "description": self.about,
            "name": self.name,
            "result": self.result.text(),
        })
    }
}

impl Registry {
    /// The registry of our own loop, in the order of the names.
    ///
    /// # Errors
    /// If a tool's types have no schema, which a test rules out.
    pub fn new() -> Result<Self, RegistryError> {
        let mut entries = vec![
            Entry::of::<Edit>()?,
            Entry::of::<Finish>()?,
            Entry::of::<List>()?,
            Entry::of::<ReadFile>()?,
            Entry::of::<Recall>()?,
            Entry::of::<Remember>()?,
            Entry::of::<Search>()?,
            Entry::of::<Shell>()?,
            Entry::of::<Write>()?,
        ];
        entries.sort_by_key(|entry| entry.name);
        let frozen = Value::Array(entries.iter().map(Entry::frozen).collect());
        let text = canonical::to_string(&frozen)
            .map_err(|error| RegistryError { tool: "registry", why: error.to_string() })?;
        let specs = entries
            .iter()
            .map(|entry| ToolSpec {
                name: entry.name.to_owned(),
                description: entry.about.to_owned(),
                schema: entry.arguments.text().clone(),
            })
            .collect();
        Ok(Self { entries, specs, digest: Digest::of_parts([DOMAIN, text.as_bytes()]) })
    }

    /// The tools as a model is told about them.
    #[must_use]
    pub fn specs(&self) -> &[ToolSpec] {
        &self.specs
    }

    /// The name of exactly these tools: part of the session's head. Names, descriptions and both schemas count.
    #[must_use]
    pub const fn digest(&self) -> &Digest {
        &self.digest
    }

    /// The names, sorted.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        self.entries.iter().map(|entry| entry.name)
    }

    pub(super) fn find(&self, name: &str) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.name == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn run_1_the_registry_is_the_same_each_time_and_named_by_its_contents() {
        let (first, second) = (Registry::new().unwrap(), Registry::new().unwrap());
        assert_eq!(first.digest(), second.digest());
        assert_eq!(
            first.names().collect::<Vec<_>>(),
            ["edit", "finish", "list", "read_file", "recall", "remember", "search", "shell", "write"]
        );
        let mut other = Registry::new().unwrap();
        other.entries[0].about = "something else";
        let text = |registry: &Registry| {
            canonical::to_string(&Value::Array(registry.entries.iter().map(Entry::frozen).collect())).unwrap()
        };
        assert_ne!(text(&first), text(&other));
    }

    #[test]
    fn every_argument_of_every_tool_says_what_it_is() {
        for spec in Registry::new().unwrap().specs() {
            assert_eq!(spec.schema["type"], "object", "{}", spec.name);
            assert_eq!(spec.schema["additionalProperties"], false, "{}", spec.name);
            for (field, schema) in spec.schema["properties"].as_object().unwrap() {
                assert!(schema["description"].is_string(), "{}.{field}", spec.name);
            }
        }
    }
}
