//! Keeps `.geometry/` out of a person's commits: one line in git's own exclude file, which is never committed itself.

use super::git;
use crate::geometry::layout::FOLDER;
use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::Path;
use tripwire_fs::file::{FileAction, FileError, ReadError, make_folder, read_bounded};

/// What was done about the exclude file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Excluded {
    /// The line was added.
    Added,
    /// The line was there.
    AlreadyThere,
    /// The workspace is in no git repository.
    NoRepository,
}

/// Adds `.geometry/` to the exclude file of the repository that a workspace belongs to.
///
/// Worktrees share the exclude file of their main repository; git reads no other.
pub fn exclude_geometry(root: &Path) -> Result<Excluded, ReadError> {
    let Some(common) = git::top_level(root).and_then(|top| git::common_folder(&top)) else {
        return Ok(Excluded::NoRepository);
    };
    let file = common.join("info/exclude");
    let present = read(&file)?;
    if present.split(|byte| *byte == b'\n').any(excludes) {
        return Ok(Excluded::AlreadyThere);
    }
    make_folder(&common.join("info"))?;
    let line =
        if present.is_empty() || present.ends_with(b"\n") { format!("{FOLDER}/\n") } else { format!("\n{FOLDER}/\n") };
    let mut exclude =
        OpenOptions::new().append(true).create(true).open(&file).map_err(FileError::at(&file, FileAction::Write))?;
    exclude.write_all(line.as_bytes()).map_err(FileError::at(&file, FileAction::Write))?;
    Ok(Excluded::Added)
}

/// Whether the exclude file has the line, without adding it; none where there is no repository.
///
/// # Errors
/// When the file cannot be read.
pub fn is_excluded(root: &Path) -> Result<Option<bool>, ReadError> {
    let Some(common) = git::top_level(root).and_then(|top| git::common_folder(&top)) else { return Ok(None) };
    Ok(Some(read(&common.join("info/exclude"))?.split(|byte| *byte == b'\n').any(excludes)))
}

fn read(file: &Path) -> Result<Vec<u8>, ReadError> {
    match read_bounded(file, EXCLUDE_BYTES_MAX) {
        Err(ReadError::File(error)) if error.kind() == std::io::ErrorKind::NotFound => Ok(Vec::new()),
        read @ (Ok(_) | Err(ReadError::File(_) | ReadError::TooBig { .. })) => read,
    }
}

/// Whether a line of an exclude file names the folder already, at any depth.
fn excludes(line: &[u8]) -> bool {
    let line = line.trim_ascii_end();
    let line = line.strip_suffix(b"/").unwrap_or(line);
    line == FOLDER.as_bytes() || line.strip_prefix(b"**/") == Some(FOLDER.as_bytes())
}

/// The largest exclude file that is read.
const EXCLUDE_BYTES_MAX: u64 = 1024 * 1024;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::tests::{git, has_git};
    use tripwire_testing::TestDir;

    #[test]
    fn the_folder_is_excluded_once_and_a_persons_lines_stay() {
        let dir = TestDir::new();
        if !has_git() {
            return;
        }
        git(dir.path(), &["init", "-q"]);
        let file = dir.path().join(".git/info/exclude");
        std::fs::write(&file, "*.log").unwrap();
        assert_eq!(is_excluded(dir.path()).unwrap(), Some(false));
        assert_eq!(exclude_geometry(dir.path()).unwrap(), Excluded::Added);
        assert_eq!(is_excluded(dir.path()).unwrap(), Some(true));
        assert_eq!(exclude_geometry(dir.path()).unwrap(), Excluded::AlreadyThere);
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "*.log\n.geometry/\n");
        std::fs::create_dir_all(dir.path().join("sub/.geometry")).unwrap();
        std::fs::write(dir.path().join("sub/.geometry/x"), "").unwrap();
        assert_eq!(git(dir.path(), &["status", "--porcelain"]), "", "git itself ignores it at any depth");
    }

    #[test]
    fn a_worktree_uses_the_exclude_file_of_its_repository() {
        let dir = TestDir::new();
        if !has_git() {
            return;
        }
        let (main, tree) = (dir.path().join("main"), dir.path().join("tree"));
        std::fs::create_dir(&main).unwrap();
        git(&main, &["init", "-q"]);
        git(&main, &["commit", "-q", "--allow-empty", "-m", "x"]);
        git(&main, &["worktree", "add", "-q", tree.to_str().unwrap()]);
        assert!(tree.join(".git").is_file());
        std::fs::remove_dir_all(main.join(".git/info")).unwrap();
        assert_eq!(exclude_geometry(&tree).unwrap(), Excluded::Added);
        assert_eq!(std::fs::read_to_string(main.join(".git/info/exclude")).unwrap(), ".geometry/\n");
        std::fs::create_dir(tree.join(".geometry")).unwrap();
        std::fs::write(tree.join(".geometry/x"), "").unwrap();
        assert_eq!(git(&tree, &["status", "--porcelain"]), "");
    }

    #[test]
    fn a_folder_without_git_is_left_alone() {
        let dir = TestDir::new();
        assert_eq!(exclude_geometry(dir.path()).unwrap(), Excluded::NoRepository);
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
    }
}
