//! What a crash in the middle of applying leaves, and how it is taken back.
//!
//! Before the first file moves, the plan lies on the shelf and is on disk; after the last one a mark says so. A shelf
//! without the mark is rolled back to the old state, a shelf with it is only cleared away. Rolling back may itself be
//! interrupted and done again: every step looks at what is there before it acts.

use std::fs;
use std::io;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use super::changes::{ChangeSet, Node};
use crate::error::ApplyError;

/// How the folders are called in which new and old files lie while changes are applied.
pub(crate) const SHELF_PREFIX: &str = ".tripwire-apply-";
const PLAN: &str = "plan";
const DONE: &str = "done";

/// What an interrupted apply was turned into.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Recovered {
    /// Everything is as it was before.
    RolledBack,
    /// It had been complete; only its traces were removed.
    Completed,
}

/// What one path was and was to become.
struct Planned {
    index: usize,
    before: Shape,
    after: Shape,
    path: PathBuf,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Shape {
    None,
    /// A file or a link: whatever a rename moves.
    Leaf,
    Folder(u32),
}

/// Writes the plan and makes it durable: from now on an interrupted apply can be taken back.
pub(crate) fn write_plan(shelf: &Path, changes: &ChangeSet) -> io::Result<()> {
    let mut text = String::new();
    for (index, change) in changes.changes().iter().enumerate() {
        let path: String = change.path.as_os_str().as_bytes().iter().map(|byte| format!("{byte:02x}")).collect();
        let (before, after) = (shape(change.before.as_ref()), shape(change.after.as_ref()));
        text.push_str(&format!("{index} {before} {after} {path}\n"));
    }
    durable(&shelf.join(PLAN), text.as_bytes())
}

/// Marks that every file is in its place.
pub(crate) fn write_done(shelf: &Path) -> io::Result<()> {
    durable(&shelf.join(DONE), b"")
}

/// Finishes whatever an interrupted apply left in the workspace.
pub(crate) fn recover(workspace: &Path) -> Result<Option<Recovered>, ApplyError> {
    let read = |source| ApplyError::Write { path: workspace.to_path_buf(), source };
    let mut found = None;
    for entry in fs::read_dir(workspace).map_err(read)? {
        let entry = entry.map_err(read)?;
        if !entry.file_name().as_bytes().starts_with(SHELF_PREFIX.as_bytes()) {
            continue;
        }
        let shelf = entry.path();
        let at = |source| ApplyError::Recover { shelf: shelf.clone(), source };
        let how = if shelf.join(DONE).exists() {
            Recovered::Completed
        } else {
            // Without a plan nothing was moved yet.
            if let Some(plan) = read_plan(&shelf).map_err(at)? {
                roll_back(workspace, &shelf, &plan).map_err(at)?;
            }
            Recovered::RolledBack
        };
        fs::remove_dir_all(&shelf).map_err(at)?;
        found = Some(how);
    }
    Ok(found)
}

fn roll_back(workspace: &Path, shelf: &Path, plan: &[Planned]) -> io::Result<()> {
    let is_dir = |path: &Path| fs::symlink_metadata(path).is_ok_and(|meta| meta.is_dir());
    let there = |path: &Path| fs::symlink_metadata(path).is_ok();
    for planned in plan.iter().rev() {
        let path = workspace.join(&planned.path);
        let old = shelf.join(format!("old-{}", planned.index));
        match (planned.before, planned.after) {
            // What was moved in goes, unless the old file is already back in its place.
            (before, Shape::Leaf) if !there(&shelf.join(format!("new-{}", planned.index))) => {
                let restored = before == Shape::Leaf && !there(&old);
                if !restored && there(&path) && !is_dir(&path) {
                    fs::remove_file(&path)?;
                }
            }
            (Shape::None | Shape::Leaf, Shape::Folder(_)) if is_dir(&path) => fs::remove_dir(&path)?,
            (_, _) => {}
        }
    }
    for planned in plan {
        let path = workspace.join(&planned.path);
        let old = shelf.join(format!("old-{}", planned.index));
        match planned.before {
            Shape::Folder(mode) => {
                if !is_dir(&path) {
                    fs::create_dir(&path)?;
                }
                fs::set_permissions(&path, fs::Permissions::from_mode(mode))?;
            }
            Shape::Leaf if there(&old) => fs::rename(&old, &path)?,
            Shape::Leaf | Shape::None => {}
        }
    }
    Ok(())
}

fn read_plan(shelf: &Path) -> io::Result<Option<Vec<Planned>>> {
    let text = match fs::read_to_string(shelf.join(PLAN)) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let damaged = || io::Error::new(io::ErrorKind::InvalidData, "its plan is damaged");
    text.lines().map(|line| parse(line).ok_or_else(damaged)).collect::<io::Result<Vec<_>>>().map(Some)
}

fn parse(line: &str) -> Option<Planned> {
    let mut fields = line.split(' ');
    let index = fields.next()?.parse().ok()?;
    let (before, after) = (parse_shape(fields.next()?)?, parse_shape(fields.next()?)?);
    let hex = fields.next()?.as_bytes();
    let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
    let bytes = hex.chunks(2).map(byte).collect::<Option<Vec<u8>>>()?;
    let path = PathBuf::from(std::ffi::OsString::from_vec(bytes));
    // A plan that leads out of the workspace is none of ours.
    let inside = path.components().all(|part| matches!(part, std::path::Component::Normal(_)));
    (inside && fields.next().is_none()).then_some(Planned { index, before, after, path })
}

fn shape(node: Option<&Node>) -> String {
    match node {
        None => "-".to_owned(),
        Some(Node::File { .. } | Node::Link { .. }) => "f".to_owned(),
        Some(Node::Dir { mode }) => format!("d{mode:o}"),
    }
}

fn parse_shape(text: &str) -> Option<Shape> {
    match text {
        "-" => Some(Shape::None),
        "f" => Some(Shape::Leaf),
        folder => u32::from_str_radix(folder.strip_prefix('d')?, 8).ok().map(Shape::Folder),
    }
}

/// Writes a file that is on disk, name and content, when this returns.
fn durable(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let draft = path.with_extension("draft");
    fs::write(&draft, bytes)?;
    fs::File::open(&draft)?.sync_all()?;
    fs::rename(&draft, path)?;
    fs::File::open(path.parent().unwrap_or(path))?.sync_all()
}
