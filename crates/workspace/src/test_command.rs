//! Which command runs a project's tests, where neither a person nor the policy says so: what the project's files show.

use std::path::Path;
use tripwire_core::policy::{Policy, PolicyError};
use tripwire_fs::bounded;
use tripwire_fs::file::open_regular;

/// The largest file that is looked into.
const BYTES_MAX: u64 = 256 * 1_024;

/// The test command of a workspace, if its files show one. The first that fits wins; nothing is run.
#[must_use]
pub fn detect(root: &Path) -> Option<&'static str> {
    let has = |name: &str| root.join(name).is_file();
    let holds = |name: &str, text: &str| {
        let file = root.join(name);
        let small = file.metadata().is_ok_and(|found| found.is_file() && found.len() <= BYTES_MAX);
        let read = || String::from_utf8(bounded::read_whole(open_regular(&file).ok()?, BYTES_MAX).ok()?).ok();
        small && read().is_some_and(|content| content.contains(text))
    };
    let rows: [(bool, &'static str); 8] = [
        (has("Cargo.toml"), "cargo test"),
        (has("go.mod"), "go test ./..."),
        (holds("package.json", "\"test\""), "npm test"),
        (has("pytest.ini") || has("conftest.py") || holds("pyproject.toml", "pytest"), "pytest"),
        (holds("Makefile", "\ntest:") || holds("makefile", "\ntest:"), "make test"),
        (root.join("tests").is_dir() && has("setup.py"), "pytest"),
        (has("test.sh"), "sh test.sh"),
        (has("run_tests.sh"), "sh run_tests.sh"),
    ];
    rows.into_iter().find_map(|(fits, command)| fits.then_some(command))
}

/// Sets the detected command in a policy that names none, before it is frozen: what a person or the policy says wins.
///
/// # Errors
/// When the policy does not take the command.
pub fn fill_in(root: &Path, policy: &mut Policy) -> Result<(), PolicyError> {
    match detect(root).filter(|_| policy.dirty_bits.test_command.as_str().trim().is_empty()) {
        Some(command) => policy.set("dirty_bits.test_command", command),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dirty_1_the_detected_command_is_filled_in_only_where_nobody_names_one() {
        let folder = tempfile::tempdir().unwrap();
        let filled = |policy: &mut Policy| {
            fill_in(folder.path(), policy).unwrap();
            policy.dirty_bits.test_command.as_str().to_owned()
        };
        assert_eq!(filled(&mut Policy::default()), "");
        std::fs::write(folder.path().join("Cargo.toml"), "").unwrap();
        assert_eq!(filled(&mut Policy::default()), "cargo test");
        let mut own = Policy::default();
        own.set("dirty_bits.test_command", "just test").unwrap();
        assert_eq!(filled(&mut own), "just test");
    }

    #[test]
    fn dirty_1_the_projects_own_files_show_its_test_command_and_an_empty_folder_shows_none() {
        let detected = |files: &[(&str, &str)]| {
            let folder = tempfile::tempdir().unwrap();
            for (name, text) in files {
                std::fs::write(folder.path().join(name), text).unwrap();
            }
            detect(folder.path())
        };
        assert_eq!(detected(&[]), None);
        assert_eq!(detected(&[("Cargo.toml", "")]), Some("cargo test"));
        assert_eq!(detected(&[("package.json", "{\"scripts\":{\"test\":\"x\"}}")]), Some("npm test"));
        assert_eq!(detected(&[("package.json", "{}")]), None);
        assert_eq!(detected(&[("Makefile", "all:\n\ntest:\n\ttrue\n")]), Some("make test"));
        assert_eq!(detected(&[("test.sh", "")]), Some("sh test.sh"));
        assert_eq!(detected(&[("pyproject.toml", "[tool.pytest.ini_options]")]), Some("pytest"));
    }
}
