//! Which folders hold the programs of a command line: what the search path names, and the packages that programs belong to.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

/// Folders that are shown anyway.
const SYSTEM: [&str; 7] = ["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/nix/store"];
/// Folders that hold more than programs: of these only the file itself is shown.
const WIDE: [&str; 10] = ["/", "/tmp", "/var", "/var/tmp", "/home", "/root", "/opt", "/srv", "/mnt", "/run"];
const WIDE_IN_HOME: [&str; 4] = [".local", ".local/share", ".config", ".cache"];

/// The folders and files to be shown so that a command line and what it calls by name can be started.
pub(super) fn shown(command: &[OsString], env: &[(OsString, OsString)], home: Option<&Path>) -> BTreeSet<PathBuf> {
    let path = env.iter().find(|(name, _)| name == "PATH").map(|(_, value)| value.clone()).unwrap_or_default();
    let folders: Vec<PathBuf> = std::env::split_paths(&path).filter(|folder| folder.is_absolute()).collect();
    let mut shown = BTreeSet::new();
    for folder in &folders {
        if let Some(real) = real(folder).filter(|real| !is_wide(real, home)) {
            shown.insert(with_package(&real, home));
        }
    }
    for word in command.iter().filter(|word| !word.as_encoded_bytes().starts_with(b"-")) {
        let files = if word.as_encoded_bytes().contains(&b'/') {
            vec![PathBuf::from(word)]
        } else {
            folders.iter().map(|folder| folder.join(word)).collect()
        };
        // The first that is there, by its own name and by where it leads.
        if let Some(file) = files.into_iter().find(|file| file.is_absolute() && file.is_file()) {
            let at = file.parent().and_then(real).map(|parent| parent.join(file.file_name().unwrap_or_default()));
            for file in at.into_iter().chain(real(&file)) {
                shown.extend(package_of(&file, home));
            }
        }
    }
    shown.retain(|path| !SYSTEM.iter().any(|system| path.starts_with(system)));
    shown
}

/// What a program needs beside itself: its package, the folder that it lies in, or nothing where that is wide.
fn package_of(file: &Path, home: Option<&Path>) -> Option<PathBuf> {
    let modules = file.ancestors().filter(|folder| folder.file_name() == Some(OsStr::new("node_modules"))).last();
    if let Some(modules) = modules {
        return Some(modules.to_owned());
    }
    let folder = file.parent()?;
    if is_wide(folder, home) {
        return std::fs::symlink_metadata(file).is_ok_and(|meta| meta.is_file()).then(|| file.to_owned());
    }
    Some(with_package(folder, home))
}

/// A folder of programs with what belongs to them: `lib` and others lie beside `bin`.
fn with_package(folder: &Path, home: Option<&Path>) -> PathBuf {
    let is_programs = matches!(folder.file_name().and_then(OsStr::to_str), Some("bin" | ".bin" | "sbin"));
    match folder.parent() {
        Some(parent) if is_programs && !is_wide(parent, home) => parent.to_owned(),
        Some(_) | None => folder.to_owned(),
    }
}

fn is_wide(folder: &Path, home: Option<&Path>) -> bool {
    let in_home = |home: &Path| home.starts_with(folder) || WIDE_IN_HOME.iter().any(|name| folder == home.join(name));
    WIDE.iter().any(|wide| folder == Path::new(wide)) || home.is_some_and(in_home)
}

fn real(path: &Path) -> Option<PathBuf> {
    path.canonicalize().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn a_package_is_shown_with_its_programs_and_a_home_is_not() {
        let top = tempfile::tempdir().unwrap();
        let top = top.path().canonicalize().unwrap();
        let home = top.join("home");
        for folder in ["home/.local/bin", "home/tool/bin", "npm/node_modules/.bin", "npm/node_modules/@x/y"] {
            fs::create_dir_all(top.join(folder)).unwrap();
        }
        for file in ["home/.local/bin/a", "home/tool/bin/b", "npm/node_modules/@x/y/cli.js", "home/script"] {
            fs::write(top.join(file), "").unwrap();
        }
        std::os::unix::fs::symlink("../@x/y/cli.js", top.join("npm/node_modules/.bin/client")).unwrap();
        let path = format!("{0}/home/.local/bin:{0}/home/tool/bin:/usr/bin:{0}/home:relative", top.display());
        let env = [(OsString::from("PATH"), OsString::from(path))];
        let of = |command: &[&str]| {
            let command: Vec<OsString> = command.iter().map(OsString::from).collect();
            let found = shown(&command, &env, Some(&home));
            found.iter().map(|path| path.strip_prefix(&top).unwrap().display().to_string()).collect::<Vec<_>>()
        };
        let always = ["home/.local/bin", "home/tool"];
        assert_eq!(of(&["a", "-p", "x"]), always);
        let client = top.join("npm/node_modules/.bin/client").display().to_string();
        assert_eq!(of(&[&client]), ["home/.local/bin", "home/tool", "npm/node_modules"]);
        let script = home.join("script").display().to_string();
        assert_eq!(of(&[&script]), ["home/.local/bin", "home/script", "home/tool"], "a file, not the home");
    }
}
