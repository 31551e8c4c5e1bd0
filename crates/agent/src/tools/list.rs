//! `list`: the names in a folder, in one order, within bounds; what the project ignores is left out.

use super::error::ToolError;
use super::read_file;
use super::tool::{Tool, ToolDone, Unfit, World};
use super::walk::{self, Next};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tripwire_core::chain::gate::Permit;
use tripwire_core::input::Permission;
use tripwire_session::files::{Files, WorkPath};
use tripwire_session::memory::MemoryStore;

/// Most entries of one answer.
const ENTRIES_MAX: usize = 500;
/// How deep a listing goes unless it is asked for more.
const DEPTH_USUAL: u64 = 2;
/// How deep it goes at most.
const DEPTH_MAX: u64 = 16;

pub(crate) struct List;

/// Arguments of `list`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ListArguments {
    /// The folder, relative to the workspace; the workspace itself by default.
    #[serde(default)]
    path: Option<String>,
    /// How many levels of folders to show; 2 by default, at most 16.
    #[serde(default)]
    depth: Option<u64>,
}

/// Result of `list`.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Listed {
    /// The folder, relative to the workspace.
    path: String,
    /// What is in it, relative to the workspace; folders end with `/`, links with `@`, sizes of files in bytes.
    entries: Vec<ListEntry>,
    /// How many entries are shown.
    entries_shown: u64,
    /// Whether there are more: list a folder below, or with less depth.
    has_more: bool,
    /// What to do when nothing is shown.
    #[serde(skip_serializing_if = "Option::is_none")]
    guidance: Option<String>,
}

/// One name.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ListEntry {
    /// The path, relative to the workspace.
    path: String,
    /// The size of a plain file.
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes: Option<u64>,
}

impl Tool for List {
    const NAME: &'static str = "list";
    const ABOUT: &'static str =
        "List the files and folders of the workspace, sorted, without what the project ignores.";
    type Arguments = ListArguments;
    type Result = Listed;

    fn check(arguments: &ListArguments) -> Result<(), Unfit> {
        match arguments.depth {
            Some(0) => Err(Unfit { path: "/depth", why: "at least 1 level must be shown".to_owned() }),
            Some(_) | None => Ok(()),
        }
    }

    fn needs(_: &ListArguments, _: &MemoryStore) -> Vec<Permission> {
        vec![Permission::CanExecuteTasks]
    }

    fn run(permit: Permit, arguments: &ListArguments, world: &mut World<'_>) -> Result<ToolDone<Listed>, ToolError> {
        let spent = world.spend(permit)?;
        let path = match arguments.path.as_deref() {
            Some(path) => world.files.path(path)?,
            None => WorkPath::root(),
        };
        world.files.folder(&path).map_err(|error| read_file::missing(error, world))?;
        let depth = arguments.depth.unwrap_or(DEPTH_USUAL).min(DEPTH_MAX);
        let (entries, has_more) = entries(world.files, &path, depth);
        let guidance = entries.is_empty().then(|| {
            "nothing to show: the folder is empty, or the project's ignore files leave out all of it; `shell` with \
             `ls -a` shows everything"
                .to_owned()
        });
        let observed = entries.iter().map(|entry| entry.path.as_str()).collect::<Vec<_>>().join("\n");
        let entries_shown = u64::try_from(entries.len()).unwrap_or(u64::MAX);
        let result = Listed { path: path.to_string(), entries, entries_shown, has_more, guidance };
        Ok(ToolDone::well(spent, result, observed))
    }
}

/// The entries below a folder, and whether more were left out.
fn entries(files: &Files, folder: &WorkPath, levels: u64) -> (Vec<ListEntry>, bool) {
    let above = if folder.as_str() == "." { 0 } else { folder.as_str().split('/').count() };
    let deepest = above.saturating_add(usize::try_from(levels).unwrap_or(usize::MAX));
    let (mut entries, mut has_more) = (Vec::new(), false);
    walk::walk(files, folder, &mut |seen| {
        if seen.depth >= deepest {
            return Next::Continue(());
        }
        if entries.len() == ENTRIES_MAX {
            has_more = true;
            return Next::Break(());
        }
        let mark = if seen.kind.is_dir() {
            "/"
        } else if seen.kind.is_symlink() {
            "@"
        } else {
            ""
        };
        entries
            .push(ListEntry { path: format!("{}{mark}", seen.path), bytes: seen.kind.is_file().then_some(seen.bytes) });
        Next::Continue(())
    });
    (entries, has_more)
}
