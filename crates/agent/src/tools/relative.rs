//! Paths in what the model sees: relative to the workspace, whatever a program printed.
//!
//! Only the view for the model is rewritten; the bytes that a program wrote are kept as they were.

use std::path::PathBuf;

/// The text with the workspace's own path taken out of every path that begins with it.
pub(crate) fn relative(text: &str, roots: &[PathBuf]) -> String {
    let mut names: Vec<&str> =
        roots.iter().filter_map(|root| root.to_str()).map(|root| root.trim_end_matches('/')).collect();
    // A root that begins with another one must be tried first.
    names.sort_unstable_by_key(|name| std::cmp::Reverse(name.len()));
    names.dedup();
    names.into_iter().filter(|name| name.len() > 1).fold(text.to_owned(), |text, name| without(&text, name))
}

fn without(text: &str, root: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(root) {
        let (before, found) = rest.split_at(at);
        let after = found.get(root.len()..).unwrap_or_default();
        out.push_str(before);
        let begins = !out.ends_with(is_path) || out.ends_with("://");
        match after.strip_prefix('/') {
            Some(inside) if begins && inside.starts_with(is_path) => rest = inside,
            Some(inside) if begins => {
                out.push_str("./");
                rest = inside;
            }
            None if begins && !after.starts_with(is_path) => {
                out.push('.');
                rest = after;
            }
            Some(_) | None => {
                out.push_str(root);
                rest = after;
            }
        }
    }
    out.push_str(rest);
    out
}

/// Whether a letter can belong to a path.
fn is_path(letter: char) -> bool {
    letter.is_alphanumeric() || matches!(letter, '/' | '_' | '-' | '.' | '~' | '+' | '@')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tool_1_paths_of_the_workspace_become_relative() {
        let roots = [PathBuf::from("/home/me/work"), PathBuf::from("/data/work")];
        for (text, expected) in [
            ("error in /home/me/work/src/a.rs:3", "error in src/a.rs:3"),
            ("cd /home/me/work", "cd ."),
            ("\"/home/me/work\"", "\".\""),
            ("/home/me/work/", "./"),
            ("/data/work/x and /home/me/work/y", "x and y"),
            ("file:///home/me/work/a", "file://a"),
            ("-I/home/me/work/include", "-I/home/me/work/include"),
            ("(/home/me/work/a)", "(a)"),
            ("PATH=/home/me/work/bin:/usr/bin", "PATH=bin:/usr/bin"),
        ] {
            assert_eq!(relative(text, &roots), expected, "{text}");
        }
    }

    #[test]
    fn tool_1_other_paths_stay_as_they_are() {
        let roots = [PathBuf::from("/home/me/work")];
        for text in ["/home/me/workshop/a", "/mnt/home/me/work/a", "/home/me/work2", "/home/me", "", "work/src"] {
            assert_eq!(relative(text, &roots), text);
        }
        assert_eq!(relative("/a", &[PathBuf::from("/")]), "/a");
    }
}
