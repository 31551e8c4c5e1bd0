//! A call, and an error in one line, for people and agents to read: the thing itself, not its normalised signature.

use super::arguments::{Arguments, CallParts};
use super::json::Json;
use super::normal::without_escapes;
use super::relative::relative;
use super::tools::ToolKind;
use alloc::borrow::{Cow, ToOwned};
use alloc::format;
use alloc::string::String;
use tripwire_core::label::{Label, cut};

/// The longest wording of a call: a line on a screen and a half.
const CALL_BYTES_MAX: usize = 200;
/// The longest value of one argument among several.
const VALUE_BYTES_MAX: usize = 60;
/// The longest wording of an error.
const ERROR_BYTES_MAX: usize = 160;

/// `pytest tests/unit/test_one.py`, `Read src/main.rs offset=40`, `click selector=#save`.
pub(super) fn call(tool: &str, kind: ToolKind, parts: &CallParts<'_>, root: Option<&str>) -> Label {
    match (kind, &parts.command) {
        (ToolKind::Shell, Some(command)) => worded(command.trim(), root, CALL_BYTES_MAX, LineEnds::Kept),
        (ToolKind::Shell, None)
        | (ToolKind::Edit | ToolKind::Read | ToolKind::Search | ToolKind::Plan | ToolKind::Wait | ToolKind::Other, _) => {
            line(&format!("{tool} {}", listed(parts)), root, CALL_BYTES_MAX)
        }
    }
}

/// The line of an output that says what went wrong: the last one that speaks of an error, else the first with words in it.
pub(super) fn error(output: &str, root: Option<&str>) -> Option<Label> {
    /// Words by which programs announce what went wrong.
    const SIGNS: [&str; 7] = ["error", "exception", "fail", "panic", "cannot", "not found", "denied"];
    let plain = without_escapes(output);
    let lines = || plain.lines().map(str::trim).filter(|line| line.chars().any(char::is_alphanumeric));
    let tells = |line: &&str| {
        let lower = line.to_ascii_lowercase();
        SIGNS.iter().any(|sign| lower.contains(sign))
    };
    let chosen = lines().rfind(tells).or_else(|| lines().next())?;
    Some(line(chosen, root, ERROR_BYTES_MAX))
}

/// The path first, then every other argument by its name.
fn listed<'c>(parts: &'c CallParts<'_>) -> Cow<'c, str> {
    let Arguments::Json(Json::Object(fields)) = parts.arguments else {
        return match parts.arguments {
            Arguments::Plain(text) => Cow::Borrowed(text.as_ref()),
            Arguments::Json(json) if json.is_nothing() => Cow::Borrowed("(with empty arguments)"),
            Arguments::Json(json) => {
                let mut out = String::new();
                json.write(&mut out, unchanged);
                Cow::Owned(out)
            }
        };
    };
    let path = &parts.path;
    let mut out = path.as_deref().unwrap_or_default().trim().to_owned();
    for (name, value) in fields {
        let Some(value) = short(value).filter(|value| Some(value.as_ref()) != path.as_deref()) else { continue };
        if !out.is_empty() {
            out.push(' ');
        }
        let whole = value.trim();
        let kept = cut(whole, VALUE_BYTES_MAX);
        for part in [name.as_ref(), "=", kept, if kept.len() < whole.len() { "…" } else { "" }] {
            out.push_str(part);
        }
    }
    Cow::Owned(out)
}

const fn unchanged(text: &str) -> Cow<'_, str> {
    Cow::Borrowed(text)
}

/// A value in one line, where it has one.
fn short<'j>(value: &'j Json<'_>) -> Option<Cow<'j, str>> {
    match value {
        Json::Text(text) => Some(Cow::Borrowed(text)),
        Json::Bare(bare) => Some(Cow::Borrowed(bare)),
        Json::List(_) | Json::Object(_) => {
            let mut out = String::new();
            value.write(&mut out, unchanged);
            Some(Cow::Owned(out))
        }
    }
}

/// What becomes of the ends of lines.
#[derive(Clone, Copy, PartialEq, Eq)]
enum LineEnds {
    /// Each is kept, because a shell reads on differently behind it.
    Kept,
    /// Each is a blank.
    Blank,
}

/// One line of bounded length, with paths below the workspace as such.
fn line(text: &str, root: Option<&str>, bytes: usize) -> Label {
    worded(text, root, bytes, LineEnds::Blank)
}

/// A text of bounded length with one blank, or one line end, between two words.
fn worded(text: &str, root: Option<&str>, bytes: usize, ends: LineEnds) -> Label {
    // What is cut off later need not be read: a path of the workspace makes it shorter by at most its own length.
    let head = cut(text, bytes.saturating_mul(4).saturating_add(root.map_or(0, str::len)));
    let inside = match root {
        Some(root) => Cow::Owned(relative(head, &[root])),
        None => Cow::Borrowed(head),
    };
    let mut out = String::with_capacity(inside.len().min(bytes.saturating_mul(2)));
    let mut gap = ' ';
    for piece in inside.split_inclusive(|letter: char| letter.is_whitespace() || letter.is_control()) {
        let word = piece.trim_end_matches(|letter: char| letter.is_whitespace() || letter.is_control());
        if !word.is_empty() {
            if !out.is_empty() {
                out.push(gap);
            }
            out.push_str(word);
            gap = ' ';
        }
        if ends == LineEnds::Kept && piece.ends_with('\n') {
            gap = '\n';
        }
        // The rest would be cut off.
        if out.len() > bytes {
            break;
        }
    }
    let kept = cut(&out, bytes);
    Label::cut(&if kept.len() < out.len() || head.len() < text.len() { format!("{kept}…") } else { out })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(tool: &str, args: &str) -> String {
        let (kind, arguments) = (super::super::tools::kind(tool), Arguments::read(args));
        call(tool, kind, &CallParts::of(kind, &arguments), Some("/home/u/ws")).as_str().to_owned()
    }

    #[test]
    fn loop_4_a_call_is_named_with_its_arguments() {
        for (tool, args, expected) in [
            ("Bash", r#"{"command":"pytest tests/unit/test_one.py"}"#, "pytest tests/unit/test_one.py"),
            ("shell", r#"{"command":["bash","-lc","cat /home/u/ws/a.txt"]}"#, "cat a.txt"),
            ("Read", r#"{"file_path":"/home/u/ws/src/settings_main.py"}"#, "Read src/settings_main.py"),
            ("Read", r#"{"file_path":"a.py","offset":40}"#, "Read a.py offset=40"),
            ("search", r#"{"pattern":"needle"}"#, "search pattern=needle"),
            ("click", r##"{"selector":"#save","at":[1,2]}"##, "click at=[1,2] selector=#save"),
            ("Bash", "{\"command\":\"a # b \\n\\n  c\\td\"}", "a # b\nc d"),
            ("Read", "{\"file_path\":\"a\",\"of\":\"b\\nc\"}", "Read a of=b c"),
            ("ping", "{}", "ping"),
            ("page_down", r#"{"":""}"#, "page_down (with empty arguments)"),
        ] {
            assert_eq!(said(tool, args), expected);
        }
        assert!(said("Bash", &"x ".repeat(4_000)).len() <= CALL_BYTES_MAX + "…".len());
        assert!(said("Write", &format!(r#"{{"file_path":"a","content":"{}"}}"#, "y".repeat(900))).ends_with("y…"));
    }

    #[test]
    fn loop_4_an_error_is_named_by_the_line_that_tells_it() {
        for (output, expected) in [
            (
                "Traceback (most recent call last):\n  File \"/home/u/ws/a.py\"\nModuleNotFoundError: No module named 'x'\n",
                "ModuleNotFoundError: No module named 'x'",
            ),
            ("\u{1b}[31merror\u{1b}[0m: expected `;`\n --> src/a.rs", "error: expected `;`"),
            ("\n---\nnothing to say\nmore\n", "nothing to say"),
        ] {
            assert_eq!(error(output, Some("/home/u/ws")).unwrap().as_str(), expected);
        }
        assert_eq!(error("\n--\n", None), None);
    }
}
