//! What the files of a workspace give and refuse.

use super::*;
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use tempfile::TempDir;

struct Bed {
    top: TempDir,
    files: Files,
}

fn bed() -> Bed {
    let top = tempfile::tempdir().unwrap();
    let root = top.path().join("work");
    fs::create_dir_all(root.join("src")).unwrap();
    fs::create_dir_all(root.join(".git/hooks")).unwrap();
    fs::create_dir_all(root.join(".geometry/state")).unwrap();
    fs::write(root.join("src/a.txt"), "inside\n").unwrap();
    fs::write(root.join(".env"), "KEY=secret").unwrap();
    fs::write(root.join(".git/config"), "[core]\n").unwrap();
    fs::write(root.join(".geometry/todo.md"), "objective\n").unwrap();
    fs::write(root.join(".geometry/MANIFEST.yaml"), "x: 1\n").unwrap();
    fs::write(top.path().join("outside.txt"), "outside").unwrap();
    let files = Files::of(&root, &root.join(".geometry")).unwrap();
    Bed { top, files }
}

impl Bed {
    fn root(&self) -> PathBuf {
        self.top.path().join("work")
    }

    fn read(&self, path: &str) -> Result<String, FilesError> {
        let bytes = self.files.read(&self.files.path(path)?)?;
        Ok(String::from_utf8(bytes).unwrap())
    }

    fn write(&self, path: &str, text: &str) -> Result<Written, FilesError> {
        let change = Change::Write { path: self.files.path(path)?, bytes: text.as_bytes() };
        self.files.change(&[change]).map(|written| written[0])
    }
}

#[test]
fn tool_1_relative_and_absolute_paths_inside_are_the_same_file() {
    let bed = bed();
    for path in ["src/a.txt", "./src//a.txt", "src/../src/a.txt"] {
        assert_eq!(bed.read(path).unwrap(), "inside\n", "{path}");
    }
    let absolute = bed.root().join("src/a.txt");
    assert_eq!(bed.read(absolute.to_str().unwrap()).unwrap(), "inside\n");
    assert_eq!(bed.files.path(absolute.to_str().unwrap()).unwrap().as_str(), "src/a.txt");
}

#[test]
fn tool_1_ways_out_of_the_workspace_are_refused() {
    let bed = bed();
    symlink(bed.top.path().join("outside.txt"), bed.root().join("absolute-link")).unwrap();
    symlink("../outside.txt", bed.root().join("relative-link")).unwrap();
    symlink("..", bed.root().join("up")).unwrap();
    symlink("src/a.txt", bed.root().join("inner-link")).unwrap();
    for path in ["../outside.txt", "src/../../outside.txt", "/etc/passwd", "/"] {
        assert!(matches!(bed.read(path), Err(FilesError::Outside { .. })), "{path}");
        assert!(matches!(bed.write(path, "x"), Err(FilesError::Outside { .. })), "{path}");
    }
    for path in ["absolute-link", "relative-link", "up/outside.txt", "up/work/src/a.txt"] {
        assert!(matches!(bed.read(path), Err(FilesError::LeadsOut { .. })), "{path}: {:?}", bed.read(path));
        assert!(bed.write(path, "x").is_err(), "{path}");
    }
    assert_eq!(bed.read("inner-link").unwrap(), "inside\n");
    assert_eq!(fs::read_to_string(bed.top.path().join("outside.txt")).unwrap(), "outside");
}

#[test]
fn ctrl_3_what_the_guard_and_other_programs_obey_is_not_written() {
    let bed = bed();
    symlink(".geometry", bed.root().join("innocent")).unwrap();
    symlink(".geometry/STOP", bed.root().join("later")).unwrap();
    symlink("../.git/config", bed.root().join("src/settings")).unwrap();
    for path in [
        ".geometry/STOP",
        ".geometry/todo.md",
        ".geometry/new/deep",
        ".git/hooks/pre-commit",
        ".git/config",
        "vendored/.git/config",
        ".claude/settings.json",
        ".codex/config.toml",
        ".gemini/settings.json",
        ".mcp.json",
        ".vscode/tasks.json",
        "AGENTS.md",
        ".env",
        "innocent/STOP",
        "later",
        "src/settings",
        "src/../.geometry/STOP",
    ] {
        let error = bed.write(path, "x").unwrap_err();
        assert!(error.is_refusal(), "{path}: {error}");
    }
    assert!(!bed.root().join(".geometry/STOP").exists());
    assert!(!bed.root().join("vendored").exists(), "nothing is made on the way to a refusal");
    assert_eq!(fs::read_to_string(bed.root().join(".git/config")).unwrap(), "[core]\n");
}

#[test]
fn ctrl_3_names_that_only_look_alike_are_written() {
    let bed = bed();
    for path in [".gitignore", "src/AGENTS.md", ".geometry2/x", "docs/.claude.md", ".github/workflows/ci.yml", "git/x"]
    {
        assert_eq!(bed.write(path, "x").unwrap(), Written::Created, "{path}");
        assert_eq!(bed.read(path).unwrap(), "x", "{path}");
    }
}

#[test]
fn ctrl_3_only_two_records_and_no_secret_are_read() {
    let bed = bed();
    symlink(".env", bed.root().join("plain-name")).unwrap();
    assert_eq!(bed.read(".geometry/todo.md").unwrap(), "objective\n");
    assert!(matches!(bed.read(".geometry/MISSION_BRIEFING.md"), Err(FilesError::Missing { .. })));
    for path in [".geometry/MANIFEST.yaml", ".geometry/state/x", ".env", "plain-name"] {
        let error = bed.read(path).unwrap_err();
        assert!(error.is_refusal(), "{path}: {error}");
    }
    assert!(bed.files.folder(&bed.files.path(".geometry").unwrap()).is_err());
    assert!(bed.files.folder(&bed.files.path("src").unwrap()).is_ok());
}

#[test]
fn tool_1_pipes_folders_and_sockets_are_told_and_never_waited_for() {
    let bed = bed();
    let pipe = bed.root().join("pipe");
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, rustix::fs::Mode::from_raw_mode(0o600), 0)
        .unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(bed.root().join("socket")).unwrap();
    for (path, kind) in [("pipe", "a named pipe"), ("socket", "a socket")] {
        for error in [bed.read(path).unwrap_err(), bed.write(path, "x").unwrap_err()] {
            assert!(error.to_string().contains(kind), "{error}");
        }
    }
    assert!(matches!(bed.read("src"), Err(FilesError::IsFolder { .. })));
    assert!(matches!(bed.write("src", "x"), Err(FilesError::IsFolder { .. })));
    assert!(matches!(bed.write(".", "x"), Err(FilesError::IsFolder { .. })));
    assert!(matches!(bed.write("src/a.txt/b", "x"), Err(FilesError::NotAFolder { .. })));
}

#[test]
fn a_write_keeps_the_mode_drops_set_id_bits_and_leaves_no_draft() {
    let bed = bed();
    let script = bed.root().join("run.sh");
    fs::write(&script, "old").unwrap();
    fs::set_permissions(&script, fs::Permissions::from_mode(0o4755)).unwrap();
    assert_eq!(bed.write("run.sh", "new").unwrap(), Written::Replaced);
    assert_eq!(fs::read_to_string(&script).unwrap(), "new");
    assert_eq!(fs::metadata(&script).unwrap().permissions().mode() & 0o7777, 0o755);
    assert_eq!(bed.write("a/b/c.txt", "deep").unwrap(), Written::Created);
    assert_eq!(bed.read("a/b/c.txt").unwrap(), "deep");
    for folder in ["", "a/b"] {
        let drafts = fs::read_dir(bed.root().join(folder))
            .unwrap()
            .filter(|entry| entry.as_ref().unwrap().file_name().to_string_lossy().contains("draft"))
            .count();
        assert_eq!(drafts, 0, "{folder}");
    }
}

#[test]
fn a_write_through_an_inner_link_changes_the_file_and_keeps_the_link() {
    let bed = bed();
    symlink("src/a.txt", bed.root().join("link")).unwrap();
    bed.write("link", "changed").unwrap();
    assert!(bed.root().join("link").symlink_metadata().unwrap().is_symlink());
    assert_eq!(bed.read("src/a.txt").unwrap(), "changed");
}

#[test]
fn several_changes_are_made_together_or_not_at_all() {
    let bed = bed();
    let write = |path: &str, bytes| Change::Write { path: bed.files.path(path).unwrap(), bytes };
    let refused = [write("src/a.txt", b"1".as_slice()), write("new/b", b"2"), write(".git/config", b"3")];
    assert!(bed.files.change(&refused).is_err());
    assert_eq!(bed.read("src/a.txt").unwrap(), "inside\n");
    assert!(!bed.root().join("new").exists());
    let remove = Change::Remove { path: bed.files.path("src/a.txt").unwrap() };
    let made = bed.files.change(&[write("new/b", b"2"), remove]).unwrap();
    assert_eq!(made, [Written::Created, Written::Removed]);
    assert!(!bed.root().join("src/a.txt").exists());
    let gone = Change::Remove { path: bed.files.path("src/a.txt").unwrap() };
    assert!(matches!(bed.files.change(&[gone]), Err(FilesError::Missing { .. })));
}

#[test]
fn a_staged_tree_is_seen_under_the_workspaces_names_and_keeps_it_untouched() {
    let bed = bed();
    let copy = bed.top.path().join("copy");
    fs::create_dir_all(copy.join("src")).unwrap();
    fs::write(copy.join("src/a.txt"), "staged\n").unwrap();
    let staged = Files::staged(&bed.root(), &copy, &bed.root().join(".geometry")).unwrap();
    let path = staged.path(bed.root().join("src/a.txt").to_str().unwrap()).unwrap();
    assert_eq!(staged.read(&path).unwrap(), b"staged\n");
    staged.change(&[Change::Write { path, bytes: b"changed" }]).unwrap();
    assert_eq!(bed.read("src/a.txt").unwrap(), "inside\n");
    assert_eq!(staged.read(&staged.path(".geometry/todo.md").unwrap()).unwrap(), b"objective\n");
}

#[test]
fn texts_that_are_no_paths_are_refused_with_the_reason() {
    let bed = bed();
    for (path, why) in [("", "empty"), ("  ", "empty"), ("a\0b", "zero byte"), (&*"x/".repeat(3_000), "too long")] {
        let error = bed.files.path(path).unwrap_err();
        assert!(error.to_string().contains(why), "{error}");
    }
}
