//! `remember`: keep a text beyond the context; the pointer gives back exactly its bytes (MEM-1).

use super::error::ToolError;
use super::tool::{Tool, ToolDone, Unfit, World};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tripwire_core::chain::gate::Permit;
use tripwire_core::input::Permission;
use tripwire_session::memory::{Form, MemoryStore, Visibility};

pub(crate) struct Remember;

/// Arguments of `remember`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RememberArguments {
    /// The text, kept whole.
    text: String,
    /// A short form of it; it points to the whole text and never replaces it.
    #[serde(default)]
    summary: Option<String>,
    /// Only roles that may read private memories get it back.
    #[serde(default)]
    private: Option<bool>,
}

/// Result of `remember`.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Remembered {
    /// Give this to `recall` to get the text back.
    pointer: String,
    /// The size of the text.
    bytes: u64,
    /// The pointer of the summary.
    #[serde(skip_serializing_if = "Option::is_none")]
    summary_pointer: Option<String>,
}

impl Tool for Remember {
    const NAME: &'static str = "remember";
    const ABOUT: &'static str = "Keep a text outside of the conversation, whole; the pointer gives it back exactly.";
    type Arguments = RememberArguments;
    type Result = Remembered;

    fn check(arguments: &RememberArguments) -> Result<(), Unfit> {
        if arguments.text.is_empty() {
            return Err(Unfit { path: "/text", why: "there is nothing to remember".to_owned() });
        }
        Ok(())
    }

    fn needs(_: &RememberArguments, _: &MemoryStore) -> Vec<Permission> {
        vec![Permission::CanExecuteTasks, Permission::CanWriteMemories]
    }

    fn run(
        permit: Permit,
        arguments: &RememberArguments,
        world: &mut World<'_>,
    ) -> Result<ToolDone<Remembered>, ToolError> {
        let spent = world.spend(permit)?;
        let visibility = if arguments.private == Some(true) { Visibility::Private } else { Visibility::Public };
        let pointer = world.memory.put(arguments.text.as_bytes(), visibility)?;
        let summary = arguments.summary.as_deref().filter(|summary| !summary.trim().is_empty());
        let summary_pointer = match summary {
            Some(summary) => Some(world.memory.compress(&pointer, Form::Summary, summary.as_bytes())?.to_string()),
            None => None,
        };
        let bytes = u64::try_from(arguments.text.len()).unwrap_or(u64::MAX);
        let result = Remembered { pointer: pointer.to_string(), bytes, summary_pointer };
        Ok(ToolDone::well(spent, result, format!("kept {pointer}")))
    }
}
