//! `edit`: replace a text that is there exactly once, or apply a unified diff; fitted whole before anything is written.

use super::error::ToolError;
use super::patch::{self, Counts, FilePatch, PatchKind};
use super::tool::{Tool, ToolDone, Unfit, World};
use super::{near_miss, read_file};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tripwire_core::chain::gate::Permit;
use tripwire_core::input::Permission;
use tripwire_session::files::{Change, WorkPath};
use tripwire_session::memory::MemoryStore;

pub(crate) struct Edit;

/// Arguments of `edit`: either `path`, `old` and `new`, or `patch`.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct EditArguments {
    /// The file, relative to the workspace.
    path: Option<String>,
    /// The text to replace, exactly as it is in the file, with white space and line ends.
    old: Option<String>,
    /// The text that comes in its place.
    new: Option<String>,
    /// Replace it wherever it stands; without this it must stand there exactly once.
    all: Option<bool>,
    /// A unified diff instead (`--- a/file`, `+++ b/file`, `@@ -1,3 +1,4 @@`); it may change, create and remove files.
    patch: Option<String>,
}

/// Result of `edit`.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Edited {
    /// What became of each file.
    files: Vec<EditedFile>,
}

/// What became of one file.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct EditedFile {
    /// The file, relative to the workspace.
    path: String,
    /// Whether it was changed, created or removed.
    action: EditAction,
    /// How often the text was replaced.
    #[serde(skip_serializing_if = "Option::is_none")]
    replacements: Option<u64>,
    /// Lines that came in, of a patch.
    #[serde(skip_serializing_if = "Option::is_none")]
    lines_added: Option<u64>,
    /// Lines that went out, of a patch.
    #[serde(skip_serializing_if = "Option::is_none")]
    lines_removed: Option<u64>,
}

#[derive(Debug, Clone, Copy, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum EditAction {
    Changed,
    Created,
    Removed,
}

/// The two forms of an edit.
enum EditForm<'a> {
    Replace(Replacement<'a>),
    Patch(&'a str),
}

/// One text in the place of another.
struct Replacement<'a> {
    path: &'a str,
    old: &'a str,
    new: &'a str,
    places: Places,
}

/// Where a text is replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Places {
    TheOnlyOne,
    All,
}

impl EditArguments {
    fn form(&self) -> Result<EditForm<'_>, Unfit> {
        let unfit = |path, why: &str| Err(Unfit { path, why: why.to_owned() });
        let places = if self.all == Some(true) { Places::All } else { Places::TheOnlyOne };
        match (self.path.as_deref(), self.old.as_deref(), self.new.as_deref(), self.patch.as_deref()) {
            (None, None, None, Some(patch)) => Ok(EditForm::Patch(patch)),
            (_, _, _, Some(_)) => unfit("/patch", "give either `patch` alone, or `path`, `old` and `new`"),
            (Some(_), Some(""), Some(_), None) => unfit("/old", "it is empty; use `write` for a new file"),
            (Some(_), Some(old), Some(new), None) if old == new => unfit("/new", "it is the same as `old`"),
            (Some(path), Some(old), Some(new), None) => Ok(EditForm::Replace(Replacement { path, old, new, places })),
            (None, _, _, None) => unfit("/path", "the file is missing"),
            (Some(_), None, _, None) => unfit("/old", "the text to replace is missing"),
            (Some(_), Some(_), None, None) => unfit("/new", "the new text is missing; `\"\"` takes the old one away"),
        }
    }
}

impl Tool for Edit {
    const NAME: &'static str = "edit";
    const ABOUT: &'static str = "Change files of the workspace: replace a text that stands in a file exactly once \
        (`path`, `old`, `new`), or apply a unified diff (`patch`). Nothing is written unless all of it fits.";
    type Arguments = EditArguments;
    type Result = Edited;

    fn check(arguments: &EditArguments) -> Result<(), Unfit> {
        match arguments.form()? {
            EditForm::Replace(_) => Ok(()),
            EditForm::Patch(text) => match patch::parse(text) {
                Ok(_) => Ok(()),
                Err(error) => Err(Unfit { path: "/patch", why: error.to_string() }),
            },
        }
    }

    fn needs(_: &EditArguments, _: &MemoryStore) -> Vec<Permission> {
        vec![Permission::CanExecuteTasks, Permission::Write, Permission::CanEditSource]
    }

    fn writes(arguments: &EditArguments) -> Vec<String> {
        match arguments.form() {
            Ok(EditForm::Replace(wanted)) => vec![wanted.path.to_owned()],
            Ok(EditForm::Patch(text)) => {
                patch::parse(text).unwrap_or_default().into_iter().map(|file| file.path).collect()
            }
            Err(_) => Vec::new(),
        }
    }

    fn run(permit: Permit, arguments: &EditArguments, world: &mut World<'_>) -> Result<ToolDone<Edited>, ToolError> {
        let spent = world.spend(permit)?;
        let files = match arguments.form() {
            Ok(EditForm::Replace(wanted)) => replace(world, &wanted)?,
            Ok(EditForm::Patch(text)) => apply(world, text)?,
            Err(unfit) => return Err(ToolError::NoFit { path: unfit.path.to_owned(), why: unfit.why }),
        };
        let word = |action| match action {
            EditAction::Changed => "changed",
            EditAction::Created => "created",
            EditAction::Removed => "removed",
        };
        let observed =
            files.iter().map(|file| format!("{} {}", word(file.action), file.path)).collect::<Vec<_>>().join("\n");
        Ok(ToolDone::well(spent, Edited { files }, observed))
    }
}

fn replace(world: &World<'_>, wanted: &Replacement<'_>) -> Result<Vec<EditedFile>, ToolError> {
    let Replacement { old, new, places, .. } = *wanted;
    let path = world.files.path(wanted.path)?;
    world.files.may_write(&path)?;
    let text = text_of(world, &path)?;
    let no_fit = |why: String| ToolError::NoFit { path: path.to_string(), why };
    let count = text.matches(old).count();
    let changed = match (count, places) {
        (0, Places::TheOnlyOne | Places::All) => return Err(no_fit(near_miss::nearest(&text, old))),
        (1, Places::TheOnlyOne | Places::All) | (_, Places::All) => text.replace(old, new),
        (_, Places::TheOnlyOne) => return Err(no_fit(near_miss::too_many(&text, old))),
    };
    world.files.change(&[Change::Write { path: path.clone(), bytes: changed.as_bytes() }])?;
    Ok(vec![EditedFile {
        path: path.to_string(),
        action: EditAction::Changed,
        replacements: Some(u64::try_from(count).unwrap_or(u64::MAX)),
        lines_added: None,
        lines_removed: None,
    }])
}

/// Fits every file of the patch first, and only then writes all of them.
fn apply(world: &World<'_>, text: &str) -> Result<Vec<EditedFile>, ToolError> {
    let patches =
        patch::parse(text).map_err(|error| ToolError::NoFit { path: "patch".to_owned(), why: error.to_string() })?;
    let mut fitted = Vec::with_capacity(patches.len());
    for file in &patches {
        fitted.push(fit(world, file)?);
    }
    let changes: Vec<Change<'_>> = fitted
        .iter()
        .map(|(path, kind, text, _)| match kind {
            PatchKind::Change | PatchKind::Create => Change::Write { path: path.clone(), bytes: text.as_bytes() },
            PatchKind::Remove => Change::Remove { path: path.clone() },
        })
        .collect();
    world.files.change(&changes)?;
    Ok(fitted.iter().map(|(path, kind, _, counts)| edited(path, *kind, *counts)).collect())
}

fn edited(path: &WorkPath, kind: PatchKind, counts: Counts) -> EditedFile {
    EditedFile {
        path: path.to_string(),
        action: match kind {
            PatchKind::Change => EditAction::Changed,
            PatchKind::Create => EditAction::Created,
            PatchKind::Remove => EditAction::Removed,
        },
        replacements: None,
        lines_added: Some(counts.added),
        lines_removed: Some(counts.removed),
    }
}

fn fit(world: &World<'_>, file: &FilePatch) -> Result<(WorkPath, PatchKind, String, Counts), ToolError> {
    let path = world.files.path(&file.path)?;
    world.files.may_write(&path)?;
    let no_fit = |why: String| ToolError::NoFit { path: path.to_string(), why };
    let before = match file.kind {
        PatchKind::Create if world.files.exists(&path) => {
            return Err(no_fit("the patch creates it, and it is there already".to_owned()));
        }
        PatchKind::Create => String::new(),
        PatchKind::Change | PatchKind::Remove => text_of(world, &path)?,
    };
    let (after, counts) = file.apply(&before).map_err(|error| no_fit(error.to_string()))?;
    if file.kind == PatchKind::Remove && !after.is_empty() {
        return Err(no_fit("the patch removes it but leaves lines of it".to_owned()));
    }
    Ok((path, file.kind, after, counts))
}

/// The text of a file that is to be changed; bytes that are no UTF-8 could not be put back as they were.
fn text_of(world: &World<'_>, path: &WorkPath) -> Result<String, ToolError> {
    let bytes = world.files.read(path).map_err(|error| read_file::missing(error, world))?;
    String::from_utf8(bytes).map_err(|error| ToolError::NotText {
        path: path.to_string(),
        why: format!("it is not UTF-8 at byte {}", error.utf8_error().valid_up_to()),
    })
}
