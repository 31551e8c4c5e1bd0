//! `write`: a whole file, new or instead of the old one; never half of it.

use super::error::ToolError;
use super::tool::{Tool, ToolDone, World};
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
pub(crate) struct WriteArguments {
    /// The file, relative to the workspace; folders on the way are made.
    path: String,
    /// The whole new contents.
    content: String,
}

/// Result of `write`.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct WriteResult {
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
    type Arguments = WriteArguments;
    type Result = WriteResult;

    fn needs(_: &WriteArguments, _: &MemoryStore) -> Vec<Permission> {
        vec![Permission::CanExecuteTasks, Permission::Write, Permission::CanEditSource]
    }

    fn writes(arguments: &WriteArguments) -> Vec<String> {
        vec![arguments.path.clone()]
    }

    fn run(
        permit: Permit,
        arguments: &WriteArguments,
        world: &mut World<'_>,
    ) -> Result<ToolDone<WriteResult>, ToolError> {
        let spent = world.spend(permit)?;
        let path = world.files.path(&arguments.path)?;
        let bytes = arguments.content.as_bytes();
        let written = world.files.change(&[Change::Write { path: path.clone(), bytes }])?;
        let created = written.first() == Some(&Written::Created);
        let observed = format!("{} {path}", if created { "created" } else { "replaced" });
        let result = WriteResult {
            path: path.to_string(),
            created,
            bytes: u64::try_from(bytes.len()).unwrap_or(u64::MAX),
            lines: u64::try_from(arguments.content.lines().count()).unwrap_or(u64::MAX),
        };
        Ok(ToolDone::well(spent, result, observed))
    }
}
