//! Paths in what a model or a person reads: relative to the workspace, whatever was printed or typed.

use alloc::borrow::ToOwned as _;
use alloc::string::String;
use alloc::vec::Vec;

/// The text with the workspace's own path taken out of every path that begins with it. `roots` are the names under which
/// the workspace is known.
#[must_use]
pub fn relative(text: &str, roots: &[&str]) -> String {
    let mut names: Vec<&str> = roots.iter().map(|root| root.trim_end_matches('/')).collect();
    // A root that begins with another one must be tried first.
    names.sort_unstable_by_key(|name| core::cmp::Reverse(name.len()));
    names.dedup();
    names.into_iter().filter(|name| name.len() > 1).fold(text.to_owned(), |text, name| without(&text, name))
}

fn without(text: &str, root: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(root) {
        let (before, found) = rest.split_at_checked(at).unwrap_or((rest, ""));
        let after = found.get(root.len()..).unwrap_or_default();
        out.push_str(before);
        let begins = begins_a_path(&out);
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

/// Whether what follows begins a path: at the start of a word, behind a scheme, glued to an option (`-I`) or to the mark by
/// which a program is given a file (`@`), or behind a line break that JSON has escaped.
fn begins_a_path(before: &str) -> bool {
    if before.ends_with("://") {
        return true;
    }
    let word = before.rsplit(|letter| !is_path(letter)).next().unwrap_or_default();
    let escaped = before.strip_suffix(word).is_some_and(|head| head.ends_with('\\'));
    let option = word.starts_with('-') && !word.contains(['/', '.']);
    word.chars().all(|letter| matches!(letter, '@' | '+')) || option || (escaped && matches!(word, "n" | "r" | "t"))
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
        let roots = ["/home/me/work", "/data/work"];
        for (text, expected) in [
            ("error in /home/me/work/src/a.rs:3", "error in src/a.rs:3"),
            ("cd /home/me/work", "cd ."),
            ("\"/home/me/work\"", "\".\""),
            ("/home/me/work/", "./"),
            ("/data/work/x and /home/me/work/y", "x and y"),
            ("file:///home/me/work/a", "file://a"),
            ("gcc -I/home/me/work/include -L/home/me/work", "gcc -Iinclude -L."),
            ("--sysroot/home/me/work/a", "--sysroota"),
            ("curl -d @/home/me/work/body", "curl -d @body"),
            (r#"{"command":"cd src\n/home/me/work/run.sh"}"#, r#"{"command":"cd src\nrun.sh"}"#),
            ("(/home/me/work/a)", "(a)"),
            ("PATH=/home/me/work/bin:/usr/bin", "PATH=bin:/usr/bin"),
        ] {
            assert_eq!(relative(text, &roots), expected, "{text}");
        }
    }

    #[test]
    fn tool_1_other_paths_stay_as_they_are() {
        let roots = ["/home/me/work"];
        for text in [
            "/home/me/workshop/a",
            "/mnt/home/me/work/a",
            "/home/me/work2",
            "-I/mnt/home/me/work/a",
            "x/home/me/work/a",
            "a-b/home/me/work",
            "/home/me",
            "",
            "work/src",
        ] {
            assert_eq!(relative(text, &roots), text);
        }
        assert_eq!(relative("/a", &["/"]), "/a");
    }
}
