//! Names on the disk: what a pattern, or a name of which a part is unknown, may mean.

use crate::line::field::{Atom, Field, StandIn, fits};
use std::path::{Path, PathBuf};

/// Most names that one pattern may fit.
const NAMES_MAX: usize = 2_000;

/// Whether what is known of a part of a path speaks for it: letters, or that it is a number.
pub(crate) fn speaks(part: &[Atom]) -> bool {
    part.iter().any(|atom| match atom {
        Atom::Text(text) => text.chars().any(char::is_alphanumeric),
        Atom::StandIn(StandIn::Number) => true,
        Atom::StandIn(StandIn::Word) | Atom::Glob(_) | Atom::Unknown(..) => false,
    })
}

/// The folder that a name is seen from.
pub(crate) fn base(text: &str, cwd: Option<&Path>) -> Option<PathBuf> {
    if text.starts_with('/') { Some(PathBuf::from("/")) } else { cwd.map(Path::to_owned) }
}

/// Whether there is a pattern among the atoms.
pub(crate) fn has_glob(atoms: &[Atom]) -> bool {
    atoms.iter().any(|atom| matches!(atom, Atom::Glob(_)))
}

/// A field split at its slashes.
pub(crate) fn components(field: &Field) -> Vec<Vec<Atom>> {
    let mut parts: Vec<Vec<Atom>> = Vec::new();
    let mut part = Vec::new();
    for atom in &field.atoms {
        let Atom::Text(text) = atom else {
            part.push(atom.clone());
            continue;
        };
        for (number, piece) in text.split('/').enumerate() {
            if number > 0 {
                parts.push(std::mem::take(&mut part));
            }
            if !piece.is_empty() {
                part.push(Atom::Text(piece.to_owned()));
            }
        }
    }
    parts.push(part);
    parts.retain(|part| !part.is_empty());
    parts
}

/// Whether a pattern's names are all there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Whole {
    All,
    Cut,
}

/// How far `**` reaches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StarStar {
    /// As far as `*`.
    OneLevel,
    /// Over any number of folders, also none: `shopt -s globstar`.
    AnyLevels,
}

/// What a pattern fits in some folders, up to the bound.
pub(crate) fn names_in_all(folders: &[PathBuf], pattern: &[Atom], star_star: StarStar) -> (Vec<PathBuf>, Whole) {
    let is_star = |atom: &Atom| matches!(atom, Atom::Glob(wildcard) if wildcard == "*");
    if star_star == StarStar::AnyLevels && pattern.len() == 2 && pattern.iter().all(is_star) {
        return folders_below(folders, pattern);
    }
    let mut names: Vec<PathBuf> = Vec::new();
    for folder in folders {
        names.extend(names_in(folder, pattern, NAMES_MAX.saturating_sub(names.len()).saturating_add(1)));
        if names.len() > NAMES_MAX {
            names.truncate(NAMES_MAX);
            return (names, Whole::Cut);
        }
    }
    (names, Whole::All)
}

/// Some folders and every folder below them, up to the bound.
fn folders_below(folders: &[PathBuf], pattern: &[Atom]) -> (Vec<PathBuf>, Whole) {
    let mut found = folders.to_vec();
    let mut next = 0;
    while let Some(folder) = found.get(next).cloned() {
        next += 1;
        let below = names_in(&folder, pattern, NAMES_MAX).into_iter();
        found.extend(below.filter(|path| path.symlink_metadata().is_ok_and(|metadata| metadata.is_dir())));
        if found.len() > NAMES_MAX {
            found.truncate(NAMES_MAX);
            return (found, Whole::Cut);
        }
    }
    (found, Whole::All)
}

/// What a pattern fits in a folder; hidden names only if it begins with a dot. A name that is not text fits as it is shown.
fn names_in(folder: &Path, pattern: &[Atom], max: usize) -> Vec<PathBuf> {
    let hidden = matches!(pattern.first(), Some(Atom::Text(text)) if text.starts_with('.'));
    let Ok(entries) = folder.read_dir() else { return Vec::new() };
    let fitting = |name: &std::ffi::OsString| {
        let name = name.to_string_lossy();
        (hidden || !name.starts_with('.')) && fits(pattern, &name)
    };
    let names = entries.filter_map(|entry| Some(entry.ok()?.file_name())).filter(fitting);
    let mut names: Vec<std::ffi::OsString> = names.take(max).collect();
    names.sort();
    names.into_iter().map(|name| folder.join(name)).collect()
}
