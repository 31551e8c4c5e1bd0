//! The seed's signature of a call, and the path it aims at.

use super::arguments::CallParts;
use super::digest;
use super::normal::normal_text;
use super::tools::ToolKind;
use super::volatile::Volatility;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use tripwire_core::label::Label;

/// A signature longer than this is cut, and the digest of the whole stands for the rest.
const SIGNATURE_BYTES_MAX: usize = 400;

/// `Edit(file=foo.py)`, `Bash(cmd=pytest tests/*)`, `Tool(...)`.
pub(super) fn signature(tool: &str, kind: ToolKind, parts: &CallParts<'_>, root: Option<&str>) -> Label {
    let text = match kind {
        ToolKind::Edit => format!("Edit(file={})", basename(parts.path.as_deref().unwrap_or_default())),
        ToolKind::Shell => {
            let command = parts.command.as_deref().unwrap_or_default();
            format!("Bash(cmd={})", globbed(&normal_text(command.trim(), Volatility::Arguments), root))
        }
        ToolKind::Read | ToolKind::Search | ToolKind::Plan | ToolKind::Wait | ToolKind::Other => {
            format!("{}(...)", tripwire_core::label::cut(tool, SIGNATURE_BYTES_MAX))
        }
    };
    if text.len() <= SIGNATURE_BYTES_MAX {
        return Label::cut(&text);
    }
    let whole = digest::of(text.as_bytes());
    Label::cut(&format!(
        "{}…{})",
        tripwire_core::label::cut(&text, SIGNATURE_BYTES_MAX),
        tripwire_core::label::cut(whole.as_str(), 12)
    ))
}

fn basename(path: &str) -> &str {
    path.trim().trim_end_matches('/').rsplit(['/', '\\']).next().unwrap_or_default()
}

/// A command line in which every path is reduced to its first part: `tests/unit/test_foo.py` becomes `tests/*`.
fn globbed(command: &str, root: Option<&str>) -> String {
    let is_path = |c: char| {
        c.is_alphanumeric() || matches!(c, '_' | '.' | '-' | '/' | '~' | '@' | '+' | ':' | '*' | '[' | ']' | ',' | '%')
    };
    let mut out = String::with_capacity(command.len());
    let mut rest = command;
    while !rest.is_empty() {
        let end = rest.find(|c: char| !is_path(c)).unwrap_or(rest.len());
        let (word, after) = rest.split_at_checked(end).unwrap_or((rest, ""));
        glob_word(&mut out, word, root);
        let end = after.find(is_path).unwrap_or(after.len());
        let (between, behind) = after.split_at_checked(end).unwrap_or((after, ""));
        out.push_str(between);
        rest = behind;
    }
    out
}

fn glob_word(out: &mut String, word: &str, root: Option<&str>) {
    // `s/a/b/` is an expression of sed, and `//` or a lone `/` is no path.
    let is_sed = word.strip_prefix('s').is_some_and(|rest| rest.starts_with('/') && rest.matches('/').count() >= 3);
    if !word.contains('/') || is_sed {
        out.push_str(word);
        return;
    }
    if let Some((scheme, rest)) = word.split_once("://") {
        let host = rest.split('/').next().unwrap_or_default();
        out.push_str(&format!("{scheme}://{host}"));
        out.push_str(if host.len() < rest.len() { "/*" } else { "" });
        return;
    }
    let path = target(word, root);
    let (lead, inner) = path.strip_prefix('/').map_or(("", path.as_str()), |inner| ("/", inner));
    out.push_str(lead);
    match inner.split_once('/') {
        Some((first, _)) => {
            out.push_str(first);
            out.push_str("/*");
        }
        None if word.ends_with('/') && !inner.is_empty() => {
            out.push_str(inner);
            out.push_str("/*");
        }
        None => out.push_str(inner),
    }
}

/// A path without `.`, `..` and doubled slashes, relative to the workspace if it lies inside.
pub(super) fn target(path: &str, root: Option<&str>) -> String {
    let path = path.trim();
    let parts = components(path);
    if let Some(root) = root.filter(|root| path.starts_with('/') && root.starts_with('/'))
        && let Some(inside) = parts.strip_prefix(components(root).as_slice())
    {
        return if inside.is_empty() { String::from(".") } else { inside.join("/") };
    }
    let joined = parts.join("/");
    match (path.starts_with('/'), joined.is_empty()) {
        (true, _) => format!("/{joined}"),
        (false, true) => String::from("."),
        (false, false) => joined,
    }
}

fn components(path: &str) -> Vec<&str> {
    let absolute = path.starts_with('/');
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." if parts.last().is_some_and(|last| *last != "..") => {
                parts.pop();
            }
            // Above the root of all is the root of all.
            ".." if absolute => {}
            _ => parts.push(part),
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arguments::Arguments;

    fn signed(tool: &str, args: &str) -> String {
        let (kind, arguments) = (super::super::tools::kind(tool), Arguments::read(args));
        let label = signature(tool, kind, &CallParts::of(kind, &arguments), Some("/home/u/ws"));
        String::from(label.as_str())
    }

    #[test]
    fn signatures_are_the_seeds() {
        for (tool, args, expected) in [
            ("Edit", r#"{"file":"/path/to/foo.py","old":"x"}"#, "Edit(file=foo.py)"),
            ("write_file", r#"{"file_path":"foo.py"}"#, "Edit(file=foo.py)"),
            ("apply_patch", "*** Begin Patch\n*** Update File: a/foo.py\n", "Edit(file=foo.py)"),
            ("Edit", "{}", "Edit(file=)"),
            ("Bash", r#"{"cmd":"pytest tests/unit/test_foo.py"}"#, "Bash(cmd=pytest tests/*)"),
            ("shell", r#"{"command":["bash","-lc","pytest ./tests/a.py"]}"#, "Bash(cmd=pytest tests/*)"),
            ("Bash", r#"{"command":"pytest /home/u/ws/tests/a.py::test_x"}"#, "Bash(cmd=pytest tests/*)"),
            ("Bash", r#"{"command":"cat /etc/ssl/a.cnf > out/x"}"#, "Bash(cmd=cat /etc/* > out/*)"),
            ("Bash", r#"{"command":"curl https://h.example/a/b"}"#, "Bash(cmd=curl https://h.example/*)"),
            ("Bash", r#"{"command":"sed -i 's/a/b/' x.rs"}"#, "Bash(cmd=sed -i 's/a/b/' x.rs)"),
            ("Bash", r#"{"command":"ls --dir=src/a/b"}"#, "Bash(cmd=ls --dir=src/*)"),
            ("Read", r#"{"file_path":"foo.py"}"#, "Read(...)"),
            ("Grep", r#"{"pattern":"x"}"#, "Grep(...)"),
        ] {
            assert_eq!(signed(tool, args), expected);
        }
    }

    #[test]
    fn different_files_or_commands_have_different_signatures() {
        assert_ne!(signed("Edit", r#"{"file":"a.py"}"#), signed("Edit", r#"{"file":"b.py"}"#));
        assert_ne!(signed("Bash", "pytest tests/a"), signed("Bash", "pytest src/a"));
        let long = |end: &str| signed("Bash", &format!("python -c '{}{end}'", "x = 1; ".repeat(200)));
        assert_ne!(long("a"), long("b"));
        assert!(long("a").len() < 450);
    }

    #[test]
    fn a_target_is_relative_to_the_workspace_and_free_of_detours() {
        for (path, expected) in [
            ("/home/u/ws/src/a.rs", "src/a.rs"),
            ("/home/u/ws", "."),
            ("/home/u/ws/../ws2/a", "/home/u/ws2/a"),
            ("./src//b/../a.rs", "src/a.rs"),
            ("../x", "../x"),
            ("../../x", "../../x"),
            ("/etc/passwd", "/etc/passwd"),
            ("/../etc", "/etc"),
            ("/home/u/ws2/a", "/home/u/ws2/a"),
            ("", "."),
        ] {
            assert_eq!(target(path, Some("/home/u/ws")), expected, "{path}");
        }
        assert_eq!(target("/home/u/ws/a", None), "/home/u/ws/a");
    }
}
