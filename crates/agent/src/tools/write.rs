//! `write`: a whole file, new or instead of the old one; never half of it.

use super::{Done, Tool, ToolError, World};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tripwire_core::chain::gate::Permit;
use tripwire_core::input::Permission;
use tripwire_session::files::{Change, Written};
use tripwire_session::memory::MemoryStore;

pub(crate) struct Write;

/// Arguments of `write`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    /// The file, relative to the workspace; folders on the way are made.
    path: String,
    /// The whole new contents.
    content: String,
}

/// Result of `write`.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Outcome {
    /// The file, relative to the workspace.
    path: String,
    /// Whether the file is new.
    created: bool,
    /// Its size now.
    bytes: u64,
    /// Its lines now.
    lines: u64,
}

impl Tool for Write {
    const NAME: &'static str = "write";
    const ABOUT: &'static str = "Write a whole file of the workspace, new or in place of the old one. To change a part \
        of a file use `edit`.";
    type Arguments = Arguments;
    type Result = Outcome;

    fn needs(_: &Arguments, _: &MemoryStore) -> Vec<Permission> {
        vec![Permission::CanExecuteTasks, Permission::Write, Permission::CanEditSource]
    }

    fn writes(arguments: &Arguments) -> Vec<String> {
        vec![arguments.path.clone()]
    }

    fn run(permit: Permit, arguments: Arguments, world: &mut World<'_>) -> Result<Done<Outcome>, ToolError> {
        let spent = world.spend(permit)?;
        let path = world.files.path(&arguments.path)?;
        let bytes = arguments.content.as_bytes();
        let written = world.files.change(&[Change::Write { path: path.clone(), bytes }])?;
        let created = written.first() == Some(&Written::Created);
        let observed = format!("{} {path}", if created { "created" } else { "replaced" });
        let result = Outcome {
            path: path.to_string(),
            created,
            bytes: u64::try_from(bytes.len()).unwrap_or(u64::MAX),
            lines: u64::try_from(arguments.content.lines().count()).unwrap_or(u64::MAX),
        };
        Ok(Done::well(spent, result, observed))
    }
}
