//! The command as a person runs it: what it prints, and which exit code a script sees.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::{env, fs, process};

/// A small repository on disk, removed when the test ends.
struct Repository {
    root: PathBuf,
}

impl Repository {
    fn new(name: &str, library: &str) -> Self {
        let root = env::temp_dir().join(format!("xtask-tidy-{name}-{}", process::id()));
        for (path, text) in [("Cargo.toml", root_manifest().as_str()), MANIFEST, ("crates/session/src/lib.rs", library)]
        {
            let file = root.join(path);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, text).unwrap();
        }
        Self { root }
    }
}

impl Drop for Repository {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.root).unwrap();
    }
}

fn tidy(root: &Path) -> Output {
    Command::new(env!("CARGO_BIN_EXE_xtask")).args(["tidy", "--root"]).arg(root).output().unwrap()
}

const MANIFEST: (&str, &str) =
    ("crates/session/Cargo.toml", "[package]\nname = \"tripwire-session\"\n[lints]\nworkspace = true\n");

/// Our own root manifest without its dependencies, which would ask for their reasons: the lint table is checked too.
fn root_manifest() -> String {
    let text = include_str!("../../../Cargo.toml");
    let (_, lints) = text.split_once("[workspace.lints.rust]").unwrap();
    let (lints, _) = lints.split_once("[profile.dev]").unwrap();
    format!("[workspace]\nmembers = [\"crates/*\"]\n[workspace.lints.rust]{lints}")
}

#[test]
fn a_tidy_repository_exits_zero_with_a_summary() {
    let repository = Repository::new("clean", "//! Why.\n");
    let output = tidy(&repository.root);
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(0), "{text}");
    assert!(text.starts_with("tidy: 0 findings; 1 rust files, 1 production lines"), "{text}");
}

#[test]
fn each_finding_is_one_line_and_the_exit_code_is_one() {
    let repository = Repository::new("dirty", "async fn f() {}\n");
    let output = tidy(&repository.root);
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(1), "{text}");
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 3, "{text}");
    assert!(lines[0].starts_with("crates/session/src/lib.rs:1: file-doc: "), "{text}");
    assert!(lines[1].starts_with("crates/session/src/lib.rs:1: crate-wall: "), "{text}");
    assert!(lines[2].starts_with("tidy: 2 findings; "), "{text}");
}

#[test]
fn a_folder_that_is_not_there_exits_two_and_says_what_to_do() {
    let output = tidy(Path::new("/no/such/repository"));
    let text = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{text}");
    assert!(text.contains("error: cannot read `/no/such/repository`"), "{text}");
    assert!(text.contains("cargo xtask tidy"), "{text}");
}

#[test]
fn the_reference_page_is_what_the_parser_says() {
    let output = Command::new(env!("CARGO_BIN_EXE_xtask")).args(["reference", "--check"]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}
