//! A word after expansion, and how it stands to a path.
//!
//! A part of a word that only running it would tell fits anything, as far as something else speaks for it: `.geo$X/STOP`
//! may be `.geometry/STOP`, and `$FILE` may be every file there is, which says nothing.

use crate::line::field::{Atom, Field, fits};
use crate::names::components;
use std::path::{Component, Path, PathBuf};

/// Letters of a run of short options behind which a value is looked for.
const CLUSTER_MAX: usize = 8;

/// A word after expansion.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Word(pub(crate) Field);

/// How a word stands to a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Relation {
    /// It cannot mean the path, nor anything around it.
    Apart,
    /// It may mean the path itself.
    Same,
    /// It may mean something below the path.
    Below,
    /// It may mean a folder that holds the path.
    Above,
}

impl Word {
    /// A word of plain text.
    #[must_use]
    pub fn of(text: &str) -> Self {
        Self(Field::of(text))
    }

    /// The text, if all of it is known; a pattern counts as it is written.
    #[must_use]
    pub fn known(&self) -> Option<String> {
        self.0.known()
    }

    /// The text with everything unknown left out: enough to look at options.
    #[must_use]
    pub fn text(&self) -> String {
        self.0.text()
    }

    /// The text as a person would write it.
    #[must_use]
    pub fn shown(&self) -> String {
        self.0.shown()
    }

    /// Whether nothing of it is known.
    #[must_use]
    pub fn is_unknown(&self) -> bool {
        self.0.unknown().is_some() && self.text().is_empty()
    }

    /// The word itself, and the parts of it that may be paths of their own: values of options, both sides of a colon.
    #[must_use]
    pub fn parts(&self) -> Vec<Self> {
        let mut parts = vec![self.clone()];
        let text = self.text();
        if text.starts_with('-') && !text.starts_with("--") {
            // `-so.x`: behind whichever letter, a value may begin.
            let letters = text.bytes().skip(1).take(CLUSTER_MAX).take_while(u8::is_ascii_alphanumeric).count();
            parts.extend((2..=letters + 1).filter(|at| *at < text.len()).map(|at| Self(self.0.without_prefix(at))));
        }
        let mut part = Field::default();
        let mut split = 0_usize;
        for atom in &self.0.atoms {
            let Atom::Text(text) = atom else {
                part.atoms.push(atom.clone());
                continue;
            };
            for (number, piece) in text.split(['=', ':', ',']).enumerate() {
                if number > 0 {
                    parts.push(Self(std::mem::take(&mut part)));
                    split += 1;
                }
                part.push_text(piece);
            }
        }
        if split > 0 {
            parts.push(Self(part));
        }
        parts
    }

    /// The path that it names, seen from a folder, if all of it is known and it is no pattern.
    #[must_use]
    pub fn path(&self, folder: Option<&Path>) -> Option<PathBuf> {
        let plain = !self.0.atoms.iter().any(|atom| matches!(atom, Atom::Glob(_)));
        let text = self.known().filter(|text| plain && !text.is_empty())?;
        if text.starts_with('/') { Some(PathBuf::from(text)) } else { folder.map(|folder| folder.join(text)) }
    }

    /// How it stands to a plain absolute path, seen from a folder. `telling` are names that speak for a word whose
    /// beginning is not known; a name of everyday files does not.
    #[must_use]
    pub fn relation(&self, folder: Option<&Path>, path: &Path, telling: &[&str]) -> Relation {
        let target: Vec<String> = normal_parts(path).collect();
        let mut parts = components(&self.0);
        parts.retain(|part| !matches!(part.as_slice(), [Atom::Text(text)] if text == "."));
        // Quotes leave empty texts behind.
        let first = self.0.atoms.iter().find(|atom| !matches!(atom, Atom::Text(text) if text.is_empty()));
        let starts_unknown = matches!(first, Some(Atom::Unknown(..)));
        let absolute = self.0.text().starts_with('/') && !starts_unknown;
        match (absolute, folder) {
            _ if starts_unknown => floating(&parts, &target, telling),
            (true, _) => aligned(&without_parents(Vec::new(), parts), &target, telling),
            (false, Some(folder)) => {
                let base = normal_parts(folder).map(|part| vec![Atom::Text(part)]).collect();
                aligned(&without_parents(base, parts), &target, telling)
            }
            (false, None) => floating(&parts, &target, telling),
        }
    }

    /// Whether one of its parts, seen from a folder, is this name.
    #[must_use]
    pub fn has_part(&self, folder: Option<&Path>, name: &str) -> bool {
        let inside = !self.0.text().starts_with('/')
            && folder.is_some_and(|folder| folder.components().any(|part| part.as_os_str() == name));
        inside || components(&self.0).iter().any(|part| literal(part).as_deref() == Some(name))
    }
}

type Parts = Vec<Vec<Atom>>;

fn normal_parts(path: &Path) -> impl Iterator<Item = String> {
    path.components().filter_map(|part| match part {
        Component::Normal(name) => Some(name.to_string_lossy().into_owned()),
        Component::Prefix(_) | Component::RootDir | Component::CurDir | Component::ParentDir => None,
    })
}

/// The text of a part that is neither pattern nor unknown.
fn literal(part: &[Atom]) -> Option<String> {
    let plain = part.iter().all(|atom| matches!(atom, Atom::Text(_)));
    plain.then(|| Field { atoms: part.to_vec() }.text())
}

/// A path of parts, with `..` taken by its text.
fn without_parents(mut base: Parts, parts: Parts) -> Parts {
    for part in parts {
        if literal(&part).as_deref() == Some("..") {
            base.pop();
        } else {
            base.push(part);
        }
    }
    base
}

/// Whether a part fits a name. A pattern does not begin with a hidden name's dot; what is unknown may.
fn part_fits(part: &[Atom], name: &str) -> bool {
    let hides = name.starts_with('.') && matches!(part.first(), Some(Atom::Glob(_)));
    !hides && fits(part, name)
}

/// Whether a part that fitted speaks for itself.
fn speaks(part: &[Atom], telling: &[&str]) -> bool {
    let unknown = part.iter().any(|atom| matches!(atom, Atom::Unknown(..)));
    let letters = |atom: &Atom| matches!(atom, Atom::Text(text) if text.chars().any(char::is_alphanumeric));
    if unknown { part.iter().any(letters) } else { literal(part).is_some_and(|name| telling.contains(&name.as_str())) }
}

/// Compares a path whose beginning is known.
fn aligned(parts: &[Vec<Atom>], target: &[String], telling: &[&str]) -> Relation {
    let common = parts.len().min(target.len());
    let fitting = parts.iter().zip(target).all(|(part, name)| part_fits(part, name));
    // A part of which nothing is known fits, if a part that is known speaks for it.
    let silent =
        |part: &&Vec<Atom>| part.iter().any(|atom| matches!(atom, Atom::Unknown(..))) && !speaks(part, telling);
    let compared = parts.get(..common).unwrap_or_default();
    let doubtful = match compared.iter().position(|part| silent(&part)) {
        None => false,
        Some(at) => !parts.get(at..).unwrap_or_default().iter().any(|part| speaks(part, telling)),
    };
    match (fitting && !doubtful, parts.len().cmp(&target.len())) {
        (false, _) => Relation::Apart,
        (true, std::cmp::Ordering::Equal) => Relation::Same,
        (true, std::cmp::Ordering::Greater) => Relation::Below,
        (true, std::cmp::Ordering::Less) => Relation::Above,
    }
}

/// Compares a path whose beginning is not known: somewhere in the target its parts must fit, and one must speak for it.
fn floating(parts: &[Vec<Atom>], target: &[String], telling: &[&str]) -> Relation {
    // Of the first part perhaps only the end is known; nothing known in it is any number of folders.
    let parts = match parts.split_first() {
        Some((first, rest)) if first.iter().all(|atom| matches!(atom, Atom::Unknown(..))) => rest,
        Some(_) | None => parts,
    };
    if parts.is_empty() {
        return Relation::Apart;
    }
    for start in 0..target.len() {
        let tail = target.get(start..).unwrap_or_default();
        let told = parts.iter().zip(tail).any(|(part, _)| speaks(part, telling));
        if told && aligned(parts, tail, telling) == Relation::Same {
            return Relation::Same;
        }
        if told && aligned(parts, tail, telling) == Relation::Below {
            return Relation::Below;
        }
    }
    Relation::Apart
}

#[cfg(test)]
mod tests {
    use super::*;

    const STOP: &str = "/w/.geometry/STOP";

    fn relation(text: &str, folder: Option<&str>) -> Relation {
        Word::of(text).relation(folder.map(Path::new), Path::new(STOP), &[".geometry", "STOP"])
    }

    #[test]
    fn a_plain_word_is_its_text_and_the_path_it_names() {
        let word = Word::of("a/b.txt");
        assert_eq!(word.known().as_deref(), Some("a/b.txt"));
        assert_eq!((word.text(), word.shown()), ("a/b.txt".to_owned(), "a/b.txt".to_owned()));
        assert!(!word.is_unknown());
        assert_eq!(word.path(Some(Path::new("/w"))), Some(PathBuf::from("/w/a/b.txt")));
        assert_eq!(word.path(None), None);
        assert_eq!(Word::of("/etc/x").path(None), Some(PathBuf::from("/etc/x")));
        assert_eq!(Word::of("").path(Some(Path::new("/w"))), None);
    }

    #[test]
    fn a_word_is_the_path_below_it_above_it_or_apart() {
        for (text, expected) in [
            (".geometry/STOP", Relation::Same),
            ("./.geometry/../.geometry/STOP", Relation::Same),
            (STOP, Relation::Same),
            (".geometry/STOP/x", Relation::Below),
            (".geometry", Relation::Above),
            ("/", Relation::Above),
            ("src/STOP", Relation::Apart),
            ("/v/.geometry/STOP", Relation::Apart),
        ] {
            assert_eq!(relation(text, Some("/w")), expected, "{text}");
        }
        assert_eq!(relation("STOP", Some("/w/.geometry")), Relation::Same);
        assert_eq!(relation("../w/.geometry/STOP", Some("/w")), Relation::Same);
    }

    #[test]
    fn parts_are_values_of_options_and_both_sides_of_a_colon() {
        let parts = |text: &str| Word::of(text).parts().iter().map(Word::text).collect::<Vec<_>>();
        assert_eq!(parts("plain"), ["plain"]);
        assert_eq!(parts("--file=a.txt"), ["--file=a.txt", "--file", "a.txt"]);
        assert_eq!(parts("a:b"), ["a:b", "a", "b"]);
        assert_eq!(parts("-ox"), ["-ox", "x"]);
    }

    #[test]
    fn a_name_is_part_of_the_word_or_of_the_folder_it_is_seen_from() {
        assert!(Word::of("a/.git/b").has_part(None, ".git"));
        assert!(Word::of("b").has_part(Some(Path::new("/w/.git")), ".git"));
        assert!(!Word::of("/b").has_part(Some(Path::new("/w/.git")), ".git"));
        assert!(!Word::of("a.git").has_part(None, ".git"));
    }
}
