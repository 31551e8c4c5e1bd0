//! What the command of a hook calls: the program, and the time that it is told to have.

use super::file;
use crate::hook_command;
use crate::hooks::time_limit::{SECONDS_ASSUMED, SECONDS_VARIABLE};
use std::ffi::OsStr;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// Letters of a word that a shell reads as it stands, beside letters and digits.
const PLAIN: &str = "/._-+@%,:";

/// What a command calls.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Called {
    /// The seconds that the program takes itself to have.
    pub(crate) seconds: u64,
    /// The program, by name or path.
    pub(crate) program: PathBuf,
}

/// Reads a command in the form that refuses, as `init` writes it or a person does by hand; nothing if it has another form.
pub(crate) fn called(command: &str, client: &str) -> Option<Called> {
    let before = command.trim().strip_suffix(&hook_command::call(client))?;
    let (seconds, word) = match before.strip_prefix(SECONDS_VARIABLE).and_then(|rest| rest.strip_prefix('=')) {
        Some(rest) => {
            let (seconds, word) = rest.split_once(' ')?;
            (seconds.parse().ok()?, word.trim_start())
        }
        None => (SECONDS_ASSUMED, before),
    };
    Some(Called { seconds, program: PathBuf::from(unquoted(word)?) })
}

/// A word as a shell reads it; nothing if it is more than one plain or quoted word.
fn unquoted(word: &str) -> Option<String> {
    let is_plain = |letter: char| letter.is_alphanumeric() || PLAIN.contains(letter);
    if !word.is_empty() && word.chars().all(is_plain) {
        return Some(word.to_owned());
    }
    let inner = word.strip_prefix('\'')?.strip_suffix('\'')?;
    let parts: Vec<&str> = inner.split("'\\''").collect();
    if parts.iter().any(|part| part.contains('\'')) { None } else { Some(parts.join("'")) }
}

/// Whether a program, by name on a search path or by its whole path, is this very one: the same file, or one of the same
/// bytes.
pub(crate) fn is_same(program: &Path, this: &Path, search: Option<&OsStr>) -> bool {
    if program == this {
        return true;
    }
    let found = if program.is_absolute() {
        Some(program.to_owned())
    } else if program.components().count() == 1 {
        let mut folders = search.into_iter().flat_map(std::env::split_paths);
        folders.find_map(|folder| Some(folder.join(program)).filter(|file| file::is_program(file)))
    } else {
        // Where a client starts its hooks is not known here.
        None
    };
    found.is_some_and(|found| is_same_file(&found, this))
}

fn is_same_file(one: &Path, other: &Path) -> bool {
    let (Ok(first), Ok(second)) = (one.metadata(), other.metadata()) else { return false };
    if (first.dev(), first.ino()) == (second.dev(), second.ino()) {
        return true;
    }
    first.is_file() && second.is_file() && first.len() == second.len() && is_same_text(one, other)
}

fn is_same_text(one: &Path, other: &Path) -> bool {
    match (std::fs::read(one), std::fs::read(other)) {
        (Ok(one), Ok(other)) => one == other,
        (Ok(_) | Err(_), Ok(_) | Err(_)) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;

    #[test]
    fn the_program_and_its_time_are_read_from_the_refusing_form_alone() {
        let call = hook_command::call("claude");
        let read = |before: &str| called(&format!("{before}{call}"), "claude");
        let expected = |seconds, program: &str| Some(Called { seconds, program: program.into() });
        assert_eq!(read("tripwire"), expected(30, "tripwire"));
        assert_eq!(read("TRIPWIRE_HOOK_SECONDS=90 '/a b/it'\\''s'"), expected(90, "/a b/it's"));
        let ours = format!("{SECONDS_VARIABLE}=90 {}", hook_command::line(Path::new("/opt/tripwire"), "claude"));
        assert_eq!(called(&ours, "claude"), expected(90, "/opt/tripwire"));
        for other in ["sudo tripwire", "'a' 'b'", "$X", "", "TRIPWIRE_HOOK_SECONDS=x tripwire"] {
            assert_eq!(read(other), None, "{other}");
        }
        assert_eq!(called("tripwire hook claude", "claude"), None);
        assert_eq!(called(&format!("tripwire{call} || true"), "claude"), None);
    }

    #[test]
    fn a_program_is_this_one_by_its_file_or_its_bytes_and_not_by_its_name() {
        let dir = tempfile::tempdir().unwrap();
        let place = |name: &str, text: &str| {
            let file = dir.path().join(name);
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(&file, text).unwrap();
            std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).unwrap();
            file
        };
        let this = place("real/tripwire", "this");
        let (copy, other) = (place("copy/tripwire", "this"), place("other/tripwire", "that"));
        let link = dir.path().join("link");
        std::os::unix::fs::symlink(&this, &link).unwrap();
        assert!(is_same(&link, &this, None) && is_same(&copy, &this, None) && !is_same(&other, &this, None));
        let on = |folder: &str| dir.path().join(folder).into_os_string();
        let name = Path::new("tripwire");
        assert!(is_same(name, &this, Some(&on("real"))) && is_same(name, &this, Some(&on("copy"))));
        assert!(!is_same(name, &this, Some(&on("other"))) && !is_same(name, &this, None));
        assert!(!is_same(Path::new("real/tripwire"), &this, Some(&on("."))), "it depends on where it is called");
    }
}
