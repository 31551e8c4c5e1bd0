//! What a tool may do with a path: judged as it was written, and as the kernel resolved it beneath the workspace.

use super::error::FilesError;
use super::path::WorkPath;
use rustix::io::Errno;
use std::io;
use std::path::{Path, PathBuf};
use tripwire_fs::beneath::{EntryKind, FoundFile, HeldFolder, SpecialKind};
use tripwire_sandbox::{HIDDEN_NAMES, PROTECTED_NAMES};
use tripwire_workspace::geometry::layout::FOLDER;

/// What a tool wants with a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PathUse {
    /// To know that it is there.
    Look,
    Read,
    Write,
}

/// The longest path.
const PATH_BYTES_MAX: usize = 4_096;
/// How much of a bad path an error repeats.
const SHOWN_BYTES: usize = 200;

/// Reads a path; an absolute one must begin with one of the workspace's own names.
pub(super) fn parse(text: &str, roots: &[PathBuf]) -> Result<WorkPath, FilesError> {
    let shown = || tripwire_core::label::cut(text, SHOWN_BYTES).to_owned();
    let wrong = |why| FilesError::NotAPath { path: shown(), why };
    if text.trim().is_empty() {
        return Err(wrong("it is empty"));
    }
    if text.len() > PATH_BYTES_MAX {
        return Err(wrong("it is too long"));
    }
    if text.contains('\0') {
        return Err(wrong("it holds a zero byte"));
    }
    let path = Path::new(text);
    let inside = if path.is_absolute() {
        roots
            .iter()
            .find_map(|root| path.strip_prefix(root).ok())
            .ok_or_else(|| FilesError::Outside { path: shown() })?
    } else {
        path
    };
    let mut parts: Vec<&str> = Vec::new();
    for part in inside.to_str().unwrap_or_default().split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop().ok_or_else(|| FilesError::Outside { path: shown() })?;
            }
            name => parts.push(name),
        }
    }
    Ok(WorkPath::join(&parts))
}

/// Judges the path by its names: what no tool may read, and what no tool may write (CTRL-3).
pub(super) fn check(path: &WorkPath, wanted: PathUse) -> Result<(), FilesError> {
    let hidden = |why| FilesError::Hidden { path: path.clone(), why };
    let protected = |why| FilesError::Protected { path: path.clone(), why };
    let in_records = path.parts().next() == Some(FOLDER);
    match wanted {
        PathUse::Look | PathUse::Read if in_records && path.record_name().is_none() => {
            Err(hidden("it belongs to the guard; only its `MISSION_BRIEFING.md` and `todo.md` are for the agent"))
        }
        PathUse::Read | PathUse::Write if path.parts().any(|part| HIDDEN_NAMES.contains(&part)) => {
            Err(hidden("files of this name hold secrets"))
        }
        PathUse::Look | PathUse::Read => Ok(()),
        PathUse::Write if in_records => Err(protected("it belongs to the guard")),
        PathUse::Write if path.parts().any(|part| part == ".git") => {
            Err(protected("what lies in `.git` is obeyed by git; use git through `shell`"))
        }
        PathUse::Write if PROTECTED_NAMES.iter().any(|name| path.is_or_is_below(name)) => {
            Err(protected("other programs obey what is written there"))
        }
        PathUse::Write => Ok(()),
    }
}

/// Something that was found beneath the workspace.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) file: FoundFile,
    /// Where it really is, links followed.
    pub(super) real: WorkPath,
}

/// Finds a path beneath the tree; links may be followed as long as they stay inside.
pub(super) fn find(tree: &HeldFolder, root: &Path, path: &WorkPath) -> Result<Found, FilesError> {
    let file = tree.find(Path::new(path.as_str())).map_err(|error| refused(path, error))?;
    let real = file.real_path().ok().and_then(|real| WorkPath::found(real.strip_prefix(root).ok()?));
    let real = real.ok_or_else(|| FilesError::LeadsOut { path: path.clone() })?;
    Ok(Found { file, real })
}

/// Accepts plain files only: reading anything else could wait for ever.
pub(super) fn plain_file(path: &WorkPath, kind: EntryKind) -> Result<(), FilesError> {
    let kind = match kind {
        EntryKind::File { .. } => return Ok(()),
        EntryKind::Dir { .. } => return Err(FilesError::IsFolder { path: path.clone() }),
        EntryKind::Nothing => return Err(FilesError::Missing { path: path.clone() }),
        EntryKind::Link => "a link",
        EntryKind::Special(SpecialKind::Pipe) => "a named pipe",
        EntryKind::Special(SpecialKind::Socket) => "a socket",
        EntryKind::Special(SpecialKind::Device) => "a device",
    };
    Err(FilesError::NotAFile { path: path.clone(), kind })
}

fn refused(path: &WorkPath, error: io::Error) -> FilesError {
    match error.raw_os_error().map(Errno::from_raw_os_error) {
        Some(Errno::XDEV) => FilesError::LeadsOut { path: path.clone() },
        Some(Errno::NOENT | Errno::NOTDIR) => FilesError::Missing { path: path.clone() },
        Some(_) | None => FilesError::io(path.as_str(), "open")(error),
    }
}
