//! Which files a git command means: paths, git's own patterns and their magic words.
//!
//! git matches patterns itself, in every folder: `'*.py'` is every Python file of the repository, `':!docs'` all but
//! what is in `docs`, `':/'` everything from the top.

use super::command::Git;
use crate::line::field::{Field, fits};
use crate::line::state::plain;
use crate::names::Whole;
use crate::site::Site;
use crate::world::Last;
use std::path::{Path, PathBuf};

/// The paths that a command names.
pub(super) struct Pathspecs {
    root: PathBuf,
    takes: Vec<Spec>,
    leaves: Vec<Spec>,
    /// Whether something was named that cannot be known.
    unknown: Unknown,
}

/// Whether something was named that cannot be known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Unknown {
    Nothing,
    Something,
}

/// One path or pattern, seen from the top of the work tree.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Spec {
    text: String,
    kind: Kind,
    case: Case,
}

/// How the text is matched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// By its letters.
    Literal,
    /// `*` reaches over slashes.
    Pattern,
    /// `*` stops at a slash, `**` does not.
    Glob,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Case {
    Exact,
    Ignored,
}

/// What stands before a path in a pathspec.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Magic {
    base: Base,
    role: Role,
    kind: Option<Kind>,
    case: Case,
}

/// From where a path is seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Base {
    Folder,
    Top,
}

/// What a path is named for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    Taken,
    LeftOut,
    /// A word that is not read here.
    Unknown,
}

impl Pathspecs {
    /// Reads what a command names; nothing named means everything.
    pub(super) fn read(site: &Site<'_>, git: &Git, named: &[&Field]) -> Self {
        let folder = git.folder.clone().unwrap_or_default();
        let root = git.repo.as_ref().map_or_else(|| folder.clone(), |repo| repo.root().to_owned());
        let mut specs = Self { root, takes: Vec::new(), leaves: Vec::new(), unknown: Unknown::Nothing };
        for field in named {
            if field.unknown().is_some() {
                specs.unknown = Unknown::Something;
                continue;
            }
            // A pattern outside quotes becomes names, if there are any; else git gets it as it is.
            match site.world.all_glob_names(field, Some(&folder)).filter(|(names, _)| !names.is_empty()) {
                Some((_, Whole::Cut)) => specs.unknown = Unknown::Something,
                Some((names, Whole::All)) => {
                    let literal = |name: &String| specs.placed(site, Path::new(name), Kind::Literal, Case::Exact);
                    let found: Vec<Spec> = names.iter().filter_map(literal).collect();
                    specs.takes.extend(found);
                }
                None => specs.add(site, &folder, &field.text()),
            }
        }
        if specs.takes.is_empty() && specs.unknown == Unknown::Nothing && (named.is_empty() || !specs.leaves.is_empty())
        {
            specs.takes.push(Spec { text: String::new(), kind: Kind::Literal, case: Case::Exact });
        }
        specs
    }

    fn add(&mut self, site: &Site<'_>, folder: &Path, text: &str) {
        let (magic, rest) = magic(text);
        let base = match magic.base {
            Base::Top => self.root.clone(),
            Base::Folder => folder.to_owned(),
        };
        let kind = magic.kind.unwrap_or(if rest.contains(['*', '?', '[']) { Kind::Pattern } else { Kind::Literal });
        let Some(spec) = self.placed(site, &base.join(rest), kind, magic.case) else { return };
        match magic.role {
            Role::Taken => self.takes.push(spec),
            Role::LeftOut => self.leaves.push(spec),
            Role::Unknown => self.unknown = Unknown::Something,
        }
    }

    /// A path seen from the top; `None` if it lies outside, where git refuses it.
    fn placed(&self, site: &Site<'_>, path: &Path, kind: Kind, case: Case) -> Option<Spec> {
        let path = match kind {
            Kind::Literal => site.world.real(path, Last::Kept),
            Kind::Pattern | Kind::Glob => plain(path),
        };
        let text = match case {
            Case::Exact => path.strip_prefix(&self.root).ok()?.to_string_lossy().into_owned(),
            Case::Ignored => path.strip_prefix(&self.root).ok()?.to_string_lossy().to_lowercase(),
        };
        Some(Spec { text, kind, case })
    }

    /// Whether a file is named, or may be.
    pub(super) fn may_take(&self, file: &Path) -> bool {
        match self.unknown {
            Unknown::Something => true,
            Unknown::Nothing => self.takes(file),
        }
    }

    /// Whether a file is surely named.
    pub(super) fn takes(&self, file: &Path) -> bool {
        let Ok(inside) = file.strip_prefix(&self.root) else { return false };
        let name = inside.to_string_lossy();
        self.takes.iter().any(|spec| spec.takes(&name)) && !self.leaves.iter().any(|spec| spec.takes(&name))
    }
}

impl Spec {
    fn takes(&self, name: &str) -> bool {
        let name = match self.case {
            Case::Exact => name.to_owned(),
            Case::Ignored => name.to_lowercase(),
        };
        let text = self.text.trim_end_matches('/');
        let below = name.strip_prefix(text).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
        text.is_empty()
            || below
            || match self.kind {
                Kind::Literal => false,
                Kind::Pattern => fits_text(text, &name),
                Kind::Glob => fits_parts(text, &name),
            }
    }
}

/// Splits a pathspec into its magic and its path.
fn magic(text: &str) -> (Magic, &str) {
    let mut magic = Magic { base: Base::Folder, role: Role::Taken, kind: None, case: Case::Exact };
    let Some(rest) = text.strip_prefix(':') else { return (magic, text) };
    if let Some((words, path)) = rest.strip_prefix('(').and_then(|long| long.split_once(')')) {
        for word in words.split(',') {
            match word.trim() {
                "top" => magic.base = Base::Top,
                "exclude" if magic.role == Role::Taken => magic.role = Role::LeftOut,
                "exclude" => {}
                "glob" => magic.kind = Some(Kind::Glob),
                "literal" => magic.kind = Some(Kind::Literal),
                "icase" => magic.case = Case::Ignored,
                "" => {}
                _ => magic.role = Role::Unknown,
            }
        }
        // Letters of either case are no path to look for on the disk.
        if magic.case == Case::Ignored && magic.kind.is_none() {
            magic.kind = Some(Kind::Pattern);
        }
        return (magic, path);
    }
    let path = rest.trim_start_matches(['/', '!', '^']);
    let signs = rest.strip_suffix(path).unwrap_or_default();
    if signs.contains('/') || rest.is_empty() {
        magic.base = Base::Top;
    }
    if signs.contains(['!', '^']) {
        magic.role = Role::LeftOut;
    }
    (magic, path.strip_prefix(':').unwrap_or(path))
}

fn fits_text(pattern: &str, text: &str) -> bool {
    fits(&Field::of_pattern(pattern).atoms, text)
}

/// Whether a pattern fits part by part, with `**` for any number of folders.
fn fits_parts(pattern: &str, text: &str) -> bool {
    let names: Vec<&str> = text.split('/').collect();
    // Which lengths of the text the pattern so far can end at.
    let mut ends = vec![false; names.len() + 1];
    if let Some(first) = ends.first_mut() {
        *first = true;
    }
    for part in pattern.split('/') {
        let mut next = vec![false; names.len() + 1];
        if part == "**" {
            let mut open = false;
            for (end, slot) in ends.iter().zip(next.iter_mut()) {
                open |= *end;
                *slot = open;
            }
        } else {
            for ((end, name), slot) in ends.iter().zip(&names).zip(next.iter_mut().skip(1)) {
                *slot = *end && fits_text(part, name);
            }
        }
        ends = next;
    }
    ends.last().copied().unwrap_or(false)
}

/// Whether a pattern as it stands in `.gitignore` fits a name seen from the top, or a folder that it lies in.
pub(super) fn ignores(pattern: &str, name: &str) -> bool {
    let text = pattern.trim_end_matches('/');
    if text.is_empty() || text.starts_with(['!', '#']) {
        return false;
    }
    let parts: Vec<&str> = name.trim_end_matches('/').split('/').collect();
    if !text.contains('/') {
        return parts.iter().any(|part| fits_text(text, part));
    }
    let anchored = text.trim_start_matches('/');
    (1..=parts.len()).any(|length| fits_parts(anchored, &parts.get(..length).unwrap_or_default().join("/")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_fit_as_in_git() {
        for (pattern, name, fitting) in [
            ("src/**", "src/a/b.rs", true),
            ("**/b.rs", "b.rs", true),
            ("**/b.rs", "src/a/b.rs", true),
            ("src/*", "src/a/b.rs", false),
            ("src/**/b.rs", "src/b.rs", true),
            ("src/**/b.rs", "docs/b.rs", false),
        ] {
            assert_eq!(fits_parts(pattern, name), fitting, "{pattern} {name}");
        }
        for (pattern, name, fitting) in [
            ("notes", "notes/a.md", true),
            ("n*", "a/new.py", true),
            ("/new.py", "a/new.py", false),
            ("/new.py", "new.py", true),
            ("*.sqlite3", "a/b.sqlite3", true),
            ("a/*.md", "a/b/c.md", false),
            (".env", ".env", true),
            ("note", "notes/a.md", false),
            ("!notes", "notes/a.md", false),
        ] {
            assert_eq!(ignores(pattern, name), fitting, "{pattern} {name}");
        }
    }

    #[test]
    fn magic_words_are_read() {
        assert_eq!(magic("src").1, "src");
        assert_eq!((magic(":/src").0.base, magic(":/src").1), (Base::Top, "src"));
        for text in [":!src", ":^src", ":(exclude)src"] {
            assert_eq!((magic(text).0.role, magic(text).1), (Role::LeftOut, "src"));
        }
        assert_eq!(magic(":(top,glob)src/**").0.kind, Some(Kind::Glob));
        assert_eq!(magic(":(attr:x)src").0.role, Role::Unknown);
    }
}
