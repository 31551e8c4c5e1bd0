//! Checks a site that was made: every link within it leads to a file, and every anchor to a place in it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use super::error::{DocsError, failed};

/// Follows every link of every page within the site; says how many there were.
pub(crate) fn check(site: &Path) -> Result<usize, DocsError> {
    let mut pages = BTreeMap::new();
    walk(site, &mut pages)?;
    let ids: BTreeMap<&PathBuf, BTreeSet<&str>> =
        pages.iter().map(|(path, text)| (path, attributes(text, " id=\"").collect())).collect();
    let mut problems = Vec::new();
    let mut count = 0;
    for (path, text) in &pages {
        // Pages for printing and for a missing page have their links from another place.
        if path.ends_with("print.html") || path.ends_with("404.html") || path.ends_with("toc.html") {
            continue;
        }
        for target in attributes(text, " href=\"").chain(attributes(text, " src=\"")) {
            if target.contains(':') || target.starts_with("//") {
                continue;
            }
            count += 1;
            if let Some(why) = broken(path, target, &ids) {
                problems.push(format!("{}: `{target}`: {why}", path.strip_prefix(site).unwrap_or(path).display()));
            }
        }
    }
    if problems.is_empty() { Ok(count) } else { Err(DocsError::Broken(problems)) }
}

fn broken(page: &Path, target: &str, ids: &BTreeMap<&PathBuf, BTreeSet<&str>>) -> Option<&'static str> {
    let (file, anchor) = target.split_once('#').unwrap_or((target, ""));
    let file = file.split('?').next().unwrap_or_default();
    let path = if file.is_empty() { page.to_owned() } else { normal(&page.parent()?.join(file)) };
    if !path.exists() {
        return Some("there is no such file");
    }
    let known = ids.get(&path).is_none_or(|ids| anchor.is_empty() || ids.contains(anchor));
    (!known).then_some("there is no such place")
}

/// The path without `..`, so that it can be compared.
fn normal(path: &Path) -> PathBuf {
    let mut parts = PathBuf::new();
    for part in path.components() {
        if part == std::path::Component::ParentDir {
            parts.pop();
        } else {
            parts.push(part);
        }
    }
    parts
}

fn attributes<'a>(text: &'a str, name: &'a str) -> impl Iterator<Item = &'a str> {
    text.split(name).skip(1).filter_map(|rest| rest.split('"').next())
}

fn walk(folder: &Path, pages: &mut BTreeMap<PathBuf, String>) -> Result<(), DocsError> {
    let entries = fs::read_dir(folder).map_err(|cause| failed(folder, cause))?;
    for entry in entries.filter_map(Result::ok) {
        let path = entry.path();
        if path.is_dir() {
            walk(&path, pages)?;
        } else if path.extension().is_some_and(|ending| ending == "html") {
            let text = fs::read_to_string(&path).map_err(|cause| failed(&path, cause))?;
            pages.insert(path, text);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_that_leads_nowhere_is_reported_and_the_others_are_counted() {
        let site = tripwire_testing::TestDir::new();
        let page = "<h1 id=\"top\">A</h1> <a href=\"b.html#there\">b</a> <a href=\"https://x.example\">out</a>";
        fs::write(site.path().join("a.html"), page).unwrap();
        fs::write(site.path().join("b.html"), "<h2 id=\"there\">B</h2> <a href=\"#there\">up</a>").unwrap();
        assert_eq!(check(site.path()).unwrap(), 2);
        fs::write(site.path().join("b.html"), "<a href=\"c.html\">c</a>").unwrap();
        let error = check(site.path()).unwrap_err().to_string();
        assert!(error.contains("a.html: `b.html#there`: there is no such place"), "{error}");
        assert!(error.contains("b.html: `c.html`: there is no such file"), "{error}");
    }
}
