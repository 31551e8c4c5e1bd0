//! Copying what a client obeys into a private folder: plain files and folders only, never through a link, within bounds.

use std::fs;
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

/// A file beyond this is left out.
const FILE_BYTES_MAX: u64 = 16 * 1024 * 1024;
/// A folder with more files than this, or deeper than this, is copied in part.
const ENTRIES_MAX: usize = 5_000;
const DEPTH_MAX: usize = 12;

/// Empties a private folder but for the names that are kept.
pub(super) fn clear(folder: &Path, kept: &[&str]) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        // What is kept is a plain file or folder: a link could lead the next run's copy, or its reader, elsewhere.
        let kind = entry.file_type()?;
        if !kind.is_symlink() && kept.iter().any(|name| entry.file_name() == *name) {
            continue;
        }
        if kind.is_dir() { fs::remove_dir_all(entry.path())? } else { fs::remove_file(entry.path())? }
    }
    Ok(())
}

/// Copies a file or a folder, if it is there.
pub(super) fn copy(from: &Path, to: &Path, left_out: &mut Vec<PathBuf>) -> io::Result<()> {
    let mut room = ENTRIES_MAX;
    copy_at(from, to, 0, &mut room, left_out)
}

fn copy_at(from: &Path, to: &Path, depth: usize, room: &mut usize, left_out: &mut Vec<PathBuf>) -> io::Result<()> {
    let meta = match if depth == 0 { fs::metadata(from) } else { fs::symlink_metadata(from) } {
        Ok(meta) => meta,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    if *room == 0 || depth > DEPTH_MAX {
        left_out.push(from.to_owned());
        return Ok(());
    }
    *room -= 1;
    if meta.is_dir() {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(to)?;
        for entry in fs::read_dir(from)? {
            let entry = entry?;
            copy_at(&entry.path(), &to.join(entry.file_name()), depth + 1, room, left_out)?;
        }
    } else if meta.is_file() && meta.len() <= FILE_BYTES_MAX {
        let executable = std::os::unix::fs::PermissionsExt::mode(&meta.permissions()) & 0o100;
        let mut target = fs::OpenOptions::new().write(true).create_new(true).mode(0o600 | executable).open(to)?;
        io::copy(&mut fs::File::open(from)?, &mut target)?;
    } else {
        left_out.push(from.to_owned());
    }
    Ok(())
}
