//! The sources of the book: pages that people wrote and pages that are made, under the names that they have on the site, with
//! every link followed and turned to where its target is there.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use clap::Command;
use tripwire_testing::markdown::{Link, anchors, links};

use super::error::{DocsError, failed};
use super::rules::{self, Shown};
use super::verbs;

/// The table of contents, by hand except for the two lists that are made.
const SUMMARY: &str = "docs/SUMMARY.md";
const VERBS_MARK: &str = "<!-- verbs -->\n";
const RULES_MARK: &str = "<!-- rules -->\n";

/// Pages outside of `docs/` that are part of the site.
const OUTSIDE: [&str; 7] = [
    "README.md",
    "ARCHITECTURE.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    "SPECIFICATION.md",
    "scenarios/README.md",
];

/// Files outside of `docs/` that pages link to.
const FILES: [&str; 2] = ["LICENSE-APACHE", "LICENSE-MIT"];

/// Pages that are in packages and not on the site; their links are checked all the same.
const NOT_ON_THE_SITE: [&str; 2] = ["bindings/python/README.md", "packaging/npm/README.md"];

/// The sources of the book, by their path below `src/`.
#[derive(Debug)]
pub struct Book {
    /// Pages, the table of contents among them.
    pub pages: BTreeMap<String, String>,
    /// Pictures and other files.
    pub files: BTreeMap<String, Vec<u8>>,
}

/// Collects the pages of a repository and makes those of verbs, rules and settings; nothing is written.
///
/// # Errors
/// When a page cannot be read, a link leads nowhere, or no list names a page.
pub fn assemble(root: &Path, command: &Command) -> Result<Book, DocsError> {
    let Sources { mut pages, files } = read(root)?;
    let mut problems = Vec::new();
    if let Some(summary) = pages.get_mut(SUMMARY) {
        for (mark, lines) in [(VERBS_MARK, verbs::contents(command)), (RULES_MARK, rules::contents())] {
            if !summary.contains(mark) {
                problems.push(format!("{SUMMARY}: `{}` is missing", mark.trim()));
            }
            *summary = summary.replacen(mark, &lines, 1);
        }
    }
    let made = verbs::pages(command, &pages);
    pages.extend(made);
    pages.extend(rules::pages(&scenarios(root)?));
    let place = Repository { root, pages: &pages, files: &files };
    let turned: BTreeMap<String, String> =
        pages.iter().map(|(path, text)| (on_site(path), place.turn(path, text, &mut problems))).collect();
    not_listed(&place, &mut problems);
    if !problems.is_empty() {
        return Err(DocsError::Broken(problems));
    }
    let files = files.into_iter().map(|(path, bytes)| (on_site(&path), bytes)).collect();
    Ok(Book { pages: turned, files })
}

/// Checks the links of pages that are not on the site.
///
/// # Errors
/// When a page cannot be read or a link leads nowhere.
pub fn check_outside(root: &Path) -> Result<(), DocsError> {
    let Sources { mut pages, files } = read(root)?;
    for name in NOT_ON_THE_SITE {
        pages.insert(name.to_owned(), text(root, name)?);
    }
    let place = Repository { root, pages: &pages, files: &files };
    let mut problems = Vec::new();
    for name in NOT_ON_THE_SITE {
        place.turn(name, &text(root, name)?, &mut problems);
    }
    if problems.is_empty() { Ok(()) } else { Err(DocsError::Broken(problems)) }
}

/// What people wrote, by path in the repository.
struct Sources {
    pages: BTreeMap<String, String>,
    files: BTreeMap<String, Vec<u8>>,
}

fn read(root: &Path) -> Result<Sources, DocsError> {
    let mut names = Vec::new();
    walk(root, "docs", &mut names)?;
    names.extend(OUTSIDE.iter().chain(&FILES).map(ToString::to_string));
    let mut sources = Sources { pages: BTreeMap::new(), files: BTreeMap::new() };
    for name in names {
        if name.ends_with(".md") {
            let text = text(root, &name)?;
            sources.pages.insert(name, text);
        } else {
            let path = root.join(&name);
            let bytes = fs::read(&path).map_err(|cause| failed(&path, cause))?;
            sources.files.insert(name, bytes);
        }
    }
    Ok(sources)
}

fn scenarios(root: &Path) -> Result<Vec<Shown>, DocsError> {
    let mut names = Vec::new();
    walk(root, "scenarios", &mut names)?;
    let mut shown = Vec::new();
    for name in names.iter().filter(|name| name.ends_with(".jsonl")) {
        shown.extend(Shown::read(name, &text(root, name)?));
    }
    Ok(shown)
}

fn text(root: &Path, name: &str) -> Result<String, DocsError> {
    let path = root.join(name);
    fs::read_to_string(&path).map_err(|cause| failed(&path, cause))
}

fn walk(root: &Path, folder: &str, names: &mut Vec<String>) -> Result<(), DocsError> {
    let path = root.join(folder);
    let entries = fs::read_dir(&path).map_err(|cause| failed(&path, cause))?;
    let mut here: Vec<_> = entries.filter_map(Result::ok).collect();
    here.sort_by_key(fs::DirEntry::file_name);
    for entry in here {
        let name = format!("{folder}/{}", entry.file_name().to_string_lossy());
        if entry.path().is_dir() {
            walk(root, &name, names)?;
        } else {
            names.push(name);
        }
    }
    Ok(())
}

/// The path on the site of a path in the repository.
fn on_site(path: &str) -> String {
    let path = path.strip_prefix("docs/").unwrap_or(path);
    match path.strip_suffix("README.md") {
        Some(folder) => format!("{folder}index.md"),
        None => path.to_owned(),
    }
}

fn not_listed(place: &Repository<'_>, problems: &mut Vec<String>) {
    let Some(summary) = place.pages.get(SUMMARY) else {
        problems.push(format!("{SUMMARY} does not exist"));
        return;
    };
    let listed: BTreeSet<String> = links(summary).iter().map(|link| joined(SUMMARY, &link.target)).collect();
    let missing = place.pages.keys().filter(|path| *path != SUMMARY && !listed.contains(*path));
    problems.extend(missing.map(|path| format!("{path}: {SUMMARY} does not list it")));
}

/// What links can lead to.
struct Repository<'a> {
    root: &'a Path,
    pages: &'a BTreeMap<String, String>,
    files: &'a BTreeMap<String, Vec<u8>>,
}

impl Repository<'_> {
    /// The page with its links as they must be on the site.
    fn turn(&self, page: &str, text: &str, problems: &mut Vec<String>) -> String {
        let mut out = String::with_capacity(text.len());
        let mut from = 0;
        for link in links(text) {
            match self.follow(page, text, &link) {
                Followed::Kept => {}
                Followed::Turned(target) => {
                    out.push_str(&text[from..link.at]);
                    out.push_str(&target);
                    from = link.at + link.target.len();
                }
                // What is not on the site is named and not linked: `[text](target)` is `text`.
                Followed::NotOnSite => {
                    let end = link.at + link.target.len() + 1;
                    let begin = text[from..link.at].rfind('[').map_or(link.at, |at| from + at);
                    out.push_str(&text[from..begin]);
                    out.push_str(text.get(begin + 1..link.at - 2).unwrap_or_default());
                    from = end;
                }
                Followed::Nowhere(why) => problems.push(format!("{page}:{}: `{}`: {why}", link.line, link.target)),
            }
        }
        out.push_str(&text[from..]);
        out
    }

    fn follow(&self, page: &str, text: &str, link: &Link) -> Followed {
        let target = link.target.as_str();
        if ["https://", "http://", "mailto:"].iter().any(|scheme| target.starts_with(scheme)) {
            return Followed::Kept;
        }
        let (path, anchor) = target.split_once('#').map_or((target, None), |(path, anchor)| (path, Some(anchor)));
        let whole = if path.is_empty() { page.to_owned() } else { joined(page, path) };
        let other = if path.is_empty() { Some(text) } else { self.pages.get(&whole).map(String::as_str) };
        if let Some(anchor) = anchor
            && !other.is_some_and(|other| anchors(other).iter().any(|known| known == anchor))
        {
            return Followed::Nowhere("there is no such heading");
        }
        if other.is_some() || self.files.contains_key(&whole) {
            let anchor = anchor.map(|anchor| format!("#{anchor}")).unwrap_or_default();
            let path = if path.is_empty() { String::new() } else { relative(&on_site(page), &on_site(&whole)) };
            return Followed::Turned(format!("{path}{anchor}"));
        }
        if self.root.join(&whole).exists() { Followed::NotOnSite } else { Followed::Nowhere("there is no such file") }
    }
}

/// Where a link leads.
enum Followed {
    Kept,
    Turned(String),
    NotOnSite,
    Nowhere(&'static str),
}

/// A path that a page names, from the root.
fn joined(page: &str, target: &str) -> String {
    let mut parts: Vec<&str> = page.split('/').collect();
    parts.pop();
    for part in target.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            name => parts.push(name),
        }
    }
    parts.join("/")
}

/// The way from one page of the site to another.
fn relative(from: &str, to: &str) -> String {
    let (from, to): (Vec<&str>, Vec<&str>) = (from.split('/').collect(), to.split('/').collect());
    let folders = from.len() - 1;
    let same = from.iter().take(folders).zip(&to).take_while(|(one, other)| one == other).count();
    let same = same.min(to.len() - 1);
    let mut parts = vec![".."; folders - same];
    parts.extend(to.iter().skip(same));
    parts.join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_joined_and_told_apart() {
        assert_eq!(joined("docs/guide/a.md", "../../README.md"), "README.md");
        assert_eq!(joined("docs/guide/a.md", "b.md"), "docs/guide/b.md");
        assert_eq!(relative("guide/a.md", "index.md"), "../index.md");
        assert_eq!(relative("index.md", "guide/a.md"), "guide/a.md");
        assert_eq!(relative("guide/a.md", "guide/b.md"), "b.md");
        assert_eq!(on_site("scenarios/README.md"), "scenarios/index.md");
    }

    #[test]
    fn links_are_turned_or_reported_with_their_line() {
        let pages = BTreeMap::from([
            ("README.md".to_owned(), "# Front\n".to_owned()),
            ("docs/guide/b.md".to_owned(), "# B\n\n## Part one\n".to_owned()),
        ]);
        let root = std::env::temp_dir();
        let place = Repository { root: &root, pages: &pages, files: &BTreeMap::new() };
        let text = "[front](../../README.md), [b](b.md#part-one), [out](https://x.example)\n[a](b.md#no) [c](c.md)\n";
        let mut problems = Vec::new();
        let turned = place.turn("docs/guide/a.md", text, &mut problems);
        assert!(turned.starts_with("[front](../index.md), [b](b.md#part-one), [out](https://x.example)\n"), "{turned}");
        assert_eq!(
            problems,
            [
                "docs/guide/a.md:2: `b.md#no`: there is no such heading",
                "docs/guide/a.md:2: `c.md`: there is no such file"
            ]
        );
    }

    #[test]
    fn what_is_not_on_the_site_keeps_its_words() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        let place = Repository { root, pages: &BTreeMap::new(), files: &BTreeMap::new() };
        let turned = place.turn("README.md", "see [the code](crates) here\n", &mut Vec::new());
        assert_eq!(turned, "see the code here\n");
    }
}
