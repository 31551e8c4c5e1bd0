//! Reads the repository from disk: the file texts, and the paths that betray the machine it stands on.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fmt, fs, io};

/// Files above this size are data, not text that a person wrote; they are left out.
const TEXT_BYTES_MAX: u64 = 4 * 1024 * 1024;

/// Folders that hold what a build or a run left behind, for a copy of the sources without git.
const SKIPPED_FOLDERS: [&str; 4] = [".git", "target", ".geometry", "node_modules"];

/// Where machines keep what belongs to everybody: a path below one of these says nothing about a machine.
const SHARED_PREFIXES: [&str; 9] = ["/tmp", "/var", "/usr", "/etc", "/opt", "/dev", "/proc", "/sys", "/run"];

/// Account names that documents use as examples; a machine that really has such an account is left alone.
const EXAMPLE_ACCOUNTS: [&str; 12] =
    ["user", "me", "you", "alice", "bob", "dev", "agent", "ubuntu", "runner", "name", "someone", "test"];

/// Everything the checks need from the disk, read once.
pub(crate) struct Snapshot {
    /// Text by path relative to the root, with forward slashes.
    pub(crate) files: BTreeMap<String, String>,
    /// Absolute paths of this machine that must not appear in any text.
    pub(crate) machine_paths: Vec<String>,
}

/// The repository could not be read, so nothing was checked.
#[derive(Debug)]
pub struct ReadError {
    path: PathBuf,
    cause: io::Error,
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cannot read `{}`: {}; run `cargo xtask tidy` inside the repository", self.path.display(), self.cause)
    }
}

impl std::error::Error for ReadError {}

pub(crate) fn read(root: &Path) -> Result<Snapshot, ReadError> {
    let mut files = BTreeMap::new();
    for name in list(root)? {
        if let Some(text) = read_text(&root.join(&name))? {
            files.insert(name, text);
        }
    }
    Ok(Snapshot { files, machine_paths: machine_paths(root) })
}

/// New files count before they are committed: that is when a finding is cheapest.
fn list(root: &Path) -> Result<Vec<String>, ReadError> {
    let arguments = ["ls-files", "-z", "--cached", "--others", "--exclude-standard"];
    let listed: Vec<String> = git(root, &arguments)
        .unwrap_or_default()
        .split('\0')
        .filter(|name| !name.is_empty())
        .map(str::to_owned)
        .collect();
    // A copy of the sources inside someone else's repository may be ignored by that one.
    if listed.iter().any(|name| name == "Cargo.toml") {
        return Ok(listed);
    }
    let mut names = Vec::new();
    walk(root, "", &mut names)?;
    Ok(names)
}

fn git(root: &Path, arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").arg("-C").arg(root).args(arguments).output().ok()?;
    if !output.status.success() {
        return None;
    }
    String::from_utf8(output.stdout).ok()
}

fn walk(root: &Path, prefix: &str, names: &mut Vec<String>) -> Result<(), ReadError> {
    let folder = if prefix.is_empty() { root.to_owned() } else { root.join(prefix) };
    let failed = |cause| ReadError { path: folder.clone(), cause };
    for entry in fs::read_dir(&folder).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let kind = entry.file_type().map_err(failed)?;
        let Ok(name) = entry.file_name().into_string() else {
            continue;
        };
        if kind.is_file() {
            names.push(format!("{prefix}{name}"));
        } else if kind.is_dir() && !SKIPPED_FOLDERS.contains(&name.as_str()) {
            walk(root, &format!("{prefix}{name}/"), names)?;
        }
    }
    Ok(())
}

/// A file that git lists and that is gone from disk is being deleted, which is no error; bytes that are not UTF-8 are
/// no text.
fn read_text(path: &Path) -> Result<Option<String>, ReadError> {
    let failed = |cause| ReadError { path: path.to_owned(), cause };
    let about = match fs::symlink_metadata(path) {
        Ok(about) => about,
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(cause) => return Err(failed(cause)),
    };
    if !about.is_file() || about.len() > TEXT_BYTES_MAX {
        return Ok(None);
    }
    let bytes = fs::read(path).map_err(failed)?;
    Ok(String::from_utf8(bytes).ok())
}

/// The checkout, the main working tree behind it with its neighbours, and the homes of the person and the tools.
fn machine_paths(root: &Path) -> Vec<String> {
    let mut candidates = vec![root.to_owned()];
    if let Some(common) = git(root, &["rev-parse", "--path-format=absolute", "--git-common-dir"]) {
        let main_tree = Path::new(common.trim()).parent().map(Path::to_owned);
        candidates.extend(main_tree.iter().flat_map(|tree| neighbours(tree)));
        candidates.extend(main_tree);
    }
    candidates.extend(["HOME", "CARGO_HOME", "RUSTUP_HOME"].into_iter().filter_map(env::var_os).map(PathBuf::from));
    shortest(candidates.iter().filter_map(|path| path.to_str()))
}

/// The telling paths among these, without those that lie below another one.
fn shortest<'a>(candidates: impl Iterator<Item = &'a str>) -> Vec<String> {
    let mut sorted: Vec<&str> = candidates.filter(|path| is_telling(path)).collect();
    sorted.sort_unstable();
    let mut kept: Vec<String> = Vec::new();
    for path in sorted {
        let is_covered = kept.iter().any(|above| Path::new(path).starts_with(above));
        if !is_covered {
            kept.push(path.to_owned());
        }
    }
    kept
}

fn neighbours(tree: &Path) -> Vec<PathBuf> {
    let Some(entries) = tree.parent().and_then(|parent| fs::read_dir(parent).ok()) else {
        return Vec::new();
    };
    entries.filter_map(|entry| entry.ok().map(|entry| entry.path())).filter(|path| path.is_dir()).collect()
}

/// A path betrays a machine only if nobody would write it as an example: two names deep at least, in no shared place,
/// of no example account, and not one of the hidden folders that every home has.
fn is_telling(path: &str) -> bool {
    let mut parts = path.split('/').filter(|part| !part.is_empty());
    let (Some(first), Some(second)) = (parts.next(), parts.next()) else {
        return false;
    };
    let shared = SHARED_PREFIXES.iter().any(|prefix| prefix.trim_start_matches('/') == first);
    let hidden = path.contains("/.");
    path.starts_with('/') && !shared && !hidden && !EXAMPLE_ACCOUNTS.contains(&second)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_paths_that_nobody_writes_as_an_example_are_telling() {
        for telling in ["/home/q7/src/tripwire", "/builds/q7", "/Users/q7"] {
            assert!(is_telling(telling), "{telling}");
        }
        for harmless in [
            "/root",
            "/",
            "/tmp/x/y",
            "/usr/local/cargo",
            "/home/user/tripwire",
            "/Users/alice",
            "/root/.ssh",
            "/home/q7/.cargo",
            "relative/path",
        ] {
            assert!(!is_telling(harmless), "{harmless}");
        }
    }

    #[test]
    fn a_path_below_another_one_is_not_searched_twice() {
        let paths = ["/home/q7/a", "/home/q7", "/home/q7/b/c", "/home/q77", "/root"];
        assert_eq!(shortest(paths.into_iter()), ["/home/q7", "/home/q77"]);
    }

    #[test]
    fn a_folder_without_git_is_walked_and_build_output_left_out() {
        let folder = env::temp_dir().join(format!("tidy-walk-{}", std::process::id()));
        fs::create_dir_all(folder.join("crates/a/src")).unwrap();
        fs::create_dir_all(folder.join("target")).unwrap();
        fs::write(folder.join("crates/a/src/lib.rs"), "//! x\n").unwrap();
        fs::write(folder.join("target/out.rs"), "x").unwrap();
        let mut names = Vec::new();
        walk(&folder, "", &mut names).unwrap();
        fs::remove_dir_all(&folder).unwrap();
        assert_eq!(names, ["crates/a/src/lib.rs"]);
    }

    #[test]
    fn bytes_that_are_no_text_are_left_out_and_a_missing_file_is_no_error() {
        let file = env::temp_dir().join(format!("tidy-bytes-{}", std::process::id()));
        fs::write(&file, [0xff, 0xfe, 0x00]).unwrap();
        assert_eq!(read_text(&file).unwrap(), None);
        fs::remove_file(&file).unwrap();
        assert_eq!(read_text(&file).unwrap(), None);
    }

    #[test]
    fn a_root_that_does_not_exist_is_an_error_that_names_it() {
        let mut names = Vec::new();
        let error = walk(Path::new("/no/such/folder"), "", &mut names).unwrap_err();
        assert!(error.to_string().contains("`/no/such/folder`"), "{error}");
    }
}
