//! The registry: all tools of a session, fixed and named by one digest before it begins (RUN-1, CONST-6).

use super::edit::Edit;
use super::entry::ToolEntry;
use super::finish::Finish;
use super::list::List;
use super::plan::WritePlan;
use super::read_file::ReadFile;
use super::recall::Recall;
use super::remember::Remember;
use super::search::Search;
use super::shell::Shell;
use super::tool::Tool as _;
use super::write::Write;
use crate::engines::ToolSpec;
use serde_json::Value;
use std::borrow::Cow;
use tripwire_core::explain::{ExitClass, Explain};
use tripwire_core::record::canonical::{self, CanonicalError};
use tripwire_core::record::chain::Digest;

/// Tells this digest from all others.
const DOMAIN: &[u8] = b"tripwire tool registry 1\0";
/// The tool by which an agent says that it is done.
pub const FINISH: &str = Finish::NAME;
/// The tool that runs a command.
pub const SHELL: &str = Shell::NAME;
/// The tool by which an agent writes its plan down.
pub const PLAN: &str = WritePlan::NAME;

/// All tools of a session. There is no way to add, change or take one away.
#[derive(Debug)]
pub struct Registry {
    entries: Vec<ToolEntry>,
    specs: Vec<ToolSpec>,
    digest: Digest,
}

/// A registry that cannot be named by a digest: a defect of a tool's types.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the tool registry has no canonical form: {0}")]
pub struct RegistryError(#[from] CanonicalError);

impl Explain for RegistryError {
    fn hint(&self) -> Cow<'_, str> {
        "this is a defect of tripwire; please report it".into()
    }

    fn exit_class(&self) -> ExitClass {
        ExitClass::BadInput
    }
}

impl Registry {
    /// The registry of our own loop, in the order of the names.
    ///
    /// # Errors
    /// If the schemas have no canonical form, which a test rules out.
    pub fn new() -> Result<Self, RegistryError> {
        let mut entries = vec![
            ToolEntry::of::<Edit>(),
            ToolEntry::of::<Finish>(),
            ToolEntry::of::<List>(),
            ToolEntry::of::<WritePlan>(),
            ToolEntry::of::<ReadFile>(),
            ToolEntry::of::<Recall>(),
            ToolEntry::of::<Remember>(),
            ToolEntry::of::<Search>(),
            ToolEntry::of::<Shell>(),
            ToolEntry::of::<Write>(),
        ];
        entries.sort_by_key(|entry| entry.name);
        let frozen = Value::Array(entries.iter().map(ToolEntry::frozen).collect());
        let text = canonical::to_string(&frozen)?;
        let specs = entries.iter().map(ToolEntry::spec).collect();
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

    /// The tools, in the order of their names.
    #[must_use]
    pub fn entries(&self) -> &[ToolEntry] {
        &self.entries
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
            ["edit", "finish", "list", "plan", "read_file", "recall", "remember", "search", "shell", "write"]
        );
        let mut other = Registry::new().unwrap();
        other.entries[0].about = "something else";
        let text = |registry: &Registry| {
            canonical::to_string(&Value::Array(registry.entries.iter().map(ToolEntry::frozen).collect())).unwrap()
        };
        assert_ne!(text(&first), text(&other));
    }

    #[test]
    fn run_1_sessions_that_were_begun_with_these_tools_can_be_taken_up() {
        // Changing a name, a description or a field changes it: then older sessions cannot be resumed.
        let digest = Registry::new().unwrap().digest().to_string();
        assert!(digest.ends_with("d00a466e448dbe27b9b4710d2ac566e156faa469a7c9b5e06eedad1a2c036b04"), "{digest}");
    }

    #[test]
    fn every_argument_of_every_tool_says_what_it_is_in_words_that_are_checked() {
        for spec in Registry::new().unwrap().specs() {
            assert_eq!(spec.schema["type"], "object", "{}", spec.name);
            assert_eq!(spec.schema["additionalProperties"], false, "{}", spec.name);
            for (field, schema) in spec.schema["properties"].as_object().unwrap() {
                assert!(schema["description"].is_string(), "{}.{field}", spec.name);
                let words: Vec<&str> = schema.as_object().unwrap().keys().map(String::as_str).collect();
                let known = ["type", "description", "default", "format", "minimum", "items"];
                assert!(words.iter().all(|word| known.contains(word)), "{}.{field} has {words:?}", spec.name);
            }
            let known = ["type", "additionalProperties", "properties", "required", "description"];
            let words: Vec<&str> = spec.schema.as_object().unwrap().keys().map(String::as_str).collect();
            assert!(words.iter().all(|word| known.contains(word)), "{} has {words:?}", spec.name);
        }
    }
}
