//! What a crash in the middle of applying leaves, and how it is taken back.
//!
//! A plan without steps is a note of the shelf alone: it is being filled or emptied, and no file of the workspace has moved.
//! Before the first file moves, the plan lies in the stage's folder and is on disk; after the last one a mark beside it says
//! so. The stage's folder is out of an agent's reach, so a plan that somebody planted in the workspace is never followed. A
//! plan without the mark is rolled back to the old state; one with it stays, mark and all, until the whole stage goes in one
//! step. A mark without a plan means nothing. Rolling back may itself be interrupted and done again: every step looks at what
//! is there before it acts.

use std::fs;
use std::io;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};

use super::changes::{ChangeSet, Node};
use super::protected;
use super::shelf::{SHELF_PREFIX, new_name, old_name, sync_touched};
use crate::error::ApplyError;
use tripwire_fs::beneath::{EntryKind, HeldFolder, leads_nowhere};

const PLAN: &str = "apply-plan";
const DONE: &str = "apply-done";

/// What an interrupted apply was turned into.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Recovered {
    /// Everything is as it was before.
    RolledBack,
    /// It had been complete; what it left in the workspace was removed.
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

/// Writes the plan and makes it durable: from now on an interrupted apply can be taken back. Its first line names the shelf.
/// A mark that an earlier apply left would make this one look complete, so it goes first.
pub(crate) fn write_plan(notes: &Path, shelf: &Path, changes: &ChangeSet) -> io::Result<()> {
    unmark(notes)?;
    let mut text = named(shelf);
    for (index, change) in changes.changes().iter().enumerate() {
        let (before, after) = (shape(change.before.as_ref()), shape(change.after.as_ref()));
        text.push_str(&format!("{index} {before} {after} {}\n", hex(&change.path)));
    }
    durable(&notes.join(PLAN), text.as_bytes())
}

/// Notes a shelf of which nothing is in the workspace's places: only the shelf itself is to be taken away.
pub(crate) fn note_shelf(notes: &Path, shelf: &Path) -> io::Result<()> {
    unmark(notes)?;
    durable(&notes.join(PLAN), named(shelf).as_bytes())
}

/// The first line of a plan.
fn named(shelf: &Path) -> String {
    format!("{}\n", hex(Path::new(shelf.file_name().unwrap_or_default())))
}

/// Takes back a mark that may have been written.
pub(crate) fn unmark(notes: &Path) -> io::Result<()> {
    remove_durably(&notes.join(DONE))
}

/// Marks that every file is in its place.
pub(crate) fn write_done(notes: &Path) -> io::Result<()> {
    durable(&notes.join(DONE), b"")
}

/// Forgets a plan whose steps were all taken back. The plan goes first: one that outlived its mark would be rolled back.
pub(crate) fn forget(notes: &Path) -> io::Result<()> {
    remove_durably(&notes.join(PLAN))?;
    unmark(notes)
}

/// Whether an apply was begun here and not brought to its end.
pub(crate) fn is_under_way(notes: &Path) -> bool {
    notes.join(PLAN).exists()
}

/// Finishes whatever an interrupted apply left in the workspace. The notes of a complete one stay: they go with the stage.
pub(crate) fn recover(workspace: &Path, notes: &Path) -> Result<Option<Recovered>, ApplyError> {
    let at = |source| ApplyError::Recover { notes: notes.to_path_buf(), source };
    let Some((shelf, plan)) = read_plan(notes).map_err(at)? else { return Ok(None) };
    let how = if notes.join(DONE).exists() {
        Recovered::Completed
    } else {
        let top = HeldFolder::open(workspace).map_err(at)?;
        // A shelf that is gone was cleared away when everything had been rolled back.
        let held = match top.folder(&shelf) {
            Ok(held) => Some(held),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(at(error)),
        };
        check(&top, &plan).and_then(|()| Back { top: &top, shelf: held.as_ref() }.roll_back(&plan)).map_err(at)?;
        // What is back must be on the disk before the plan that tells of it goes, and the plan before the shelf.
        let folders = plan.iter().map(|planned| [planned.path.parent(), None]);
        sync_touched(&top, folders).and_then(|()| note_shelf(notes, &shelf)).map_err(at)?;
        Recovered::RolledBack
    };
    match fs::remove_dir_all(workspace.join(&shelf)) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(at(error)),
    }
    if how == Recovered::RolledBack {
        forget(notes).map_err(at)?;
    }
    Ok(Some(how))
}

/// Nothing is put back through a link, wherever it came from, and nothing protected is touched.
fn check(top: &HeldFolder, plan: &[Planned]) -> io::Result<()> {
    let refuse = |why| Err(io::Error::new(io::ErrorKind::InvalidInput, why));
    for planned in plan {
        let folder = |shape| matches!(shape, Shape::Folder(_));
        let stays = folder(planned.before) && folder(planned.after);
        let fate = if stays { protected::Fate::StaysAFolder } else { protected::Fate::Other };
        if protected::touches(&planned.path, fate) {
            return refuse("its plan names a protected file");
        }
        let Err(error) = top.entry(&planned.path) else { continue };
        // A link that was there before and was to become a folder is part of the plan.
        let was_a_link = plan.iter().any(|other| {
            other.before == Shape::Leaf && planned.path.starts_with(&other.path) && other.path != planned.path
        });
        if error.kind() != io::ErrorKind::NotFound && !was_a_link {
            return refuse("a link is where a folder was");
        }
    }
    Ok(())
}

/// The way back to the old state.
struct Back<'a> {
    top: &'a HeldFolder,
    shelf: Option<&'a HeldFolder>,
}

impl Back<'_> {
    fn roll_back(&self, plan: &[Planned]) -> io::Result<()> {
        for planned in plan.iter().rev() {
            self.remove_new(planned)?;
        }
        for planned in plan {
            self.restore_old(planned)?;
        }
        Ok(())
    }

    /// What was moved in goes, unless the old file is already back in its place.
    fn remove_new(&self, planned: &Planned) -> io::Result<()> {
        let place = match self.top.entry(&planned.path) {
            Ok(place) => place,
            // Without its folder it is not there.
            Err(error) if leads_nowhere(&error) => return Ok(()),
            Err(error) => return Err(error),
        };
        let standing = place.kind()?;
        match (planned.before, planned.after) {
            (before, Shape::Leaf) if !self.on_shelf(&new_name(planned.index))? => {
                let restored = before == Shape::Leaf && !self.on_shelf(&old_name(planned.index))?;
                if !restored && standing != EntryKind::Nothing && !standing.is_dir() {
                    place.remove_file()?;
                }
            }
            (Shape::None | Shape::Leaf, Shape::Folder(_)) if standing.is_dir() => place.remove_dir()?,
            (Shape::None | Shape::Leaf | Shape::Folder(_), Shape::None | Shape::Leaf | Shape::Folder(_)) => {}
        }
        Ok(())
    }

    fn restore_old(&self, planned: &Planned) -> io::Result<()> {
        match (planned.before, self.shelf) {
            (Shape::Folder(mode), _) => {
                let place = self.top.entry(&planned.path)?;
                if !place.kind()?.is_dir() {
                    place.make_dir()?;
                }
                place.set_dir_mode(mode)
            }
            (Shape::Leaf, Some(shelf)) if self.on_shelf(&old_name(planned.index))? => {
                shelf.entry(&old_name(planned.index))?.move_to(&self.top.entry(&planned.path)?)
            }
            (Shape::Leaf | Shape::None, _) => Ok(()),
        }
    }

    fn on_shelf(&self, name: &Path) -> io::Result<bool> {
        let Some(shelf) = self.shelf else { return Ok(false) };
        Ok(shelf.entry(name)?.kind()? != EntryKind::Nothing)
    }
}

/// The shelf and the steps of a plan; none if nothing is under way.
fn read_plan(notes: &Path) -> io::Result<Option<(PathBuf, Vec<Planned>)>> {
    let text = match fs::read_to_string(notes.join(PLAN)) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let damaged = || io::Error::new(io::ErrorKind::InvalidData, "its plan is damaged");
    let mut lines = text.lines();
    let ours = |shelf: &PathBuf| {
        shelf.components().count() == 1 && shelf.as_os_str().as_bytes().starts_with(SHELF_PREFIX.as_bytes())
    };
    let shelf = lines.next().and_then(unhex).filter(ours);
    let shelf = shelf.ok_or_else(damaged)?;
    let plan = lines.map(|line| parse(line).ok_or_else(damaged)).collect::<io::Result<Vec<_>>>()?;
    Ok(Some((shelf, plan)))
}

fn parse(line: &str) -> Option<Planned> {
    let mut fields = line.split(' ');
    let index = fields.next()?.parse().ok()?;
    let (before, after) = (parse_shape(fields.next()?)?, parse_shape(fields.next()?)?);
    let path = unhex(fields.next()?)?;
    fields.next().is_none().then_some(Planned { index, before, after, path })
}

/// A path as digits, because it may hold anything.
fn hex(path: &Path) -> String {
    path.as_os_str().as_bytes().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The path behind digits; one that leads out of the workspace is none of ours.
fn unhex(text: &str) -> Option<PathBuf> {
    let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
    let bytes = text.as_bytes().chunks(2).map(byte).collect::<Option<Vec<u8>>>()?;
    let path = PathBuf::from(std::ffi::OsString::from_vec(bytes));
    path.components().all(|part| matches!(part, std::path::Component::Normal(_))).then_some(path)
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
    sync_folder_of(path)
}

/// Removes a file, if it is there, so that it is gone from the disk when this returns.
fn remove_durably(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Ok(()) => sync_folder_of(path),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}

/// Brings the names in the folder of a path to the disk.
pub(crate) fn sync_folder_of(path: &Path) -> io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    fs::File::open(folder)?.sync_all()
}
