//! A block of a page, and what is to become of it.

use std::path::Path;
use tripwire_testing::markdown::{Block, blocks};

/// The exit code that is expected where none is named.
const DONE: i32 = 0;
/// A reason shorter than this says nothing.
const REASON_LETTERS_MIN: usize = 12;

/// What becomes of a block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Kind {
    /// It runs in a place, and its last command ends with a code.
    Run { place: String, exit: i32 },
    /// It does not run, and the page says why.
    NotRun,
    /// A test of its own runs it.
    RunElsewhere,
    /// Output or a drawing.
    Output,
    /// A part of a manifest.
    Settings,
    /// Code in another language, or data that was read.
    Other,
}

impl Kind {
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Run { .. } => "run",
            Self::NotRun => "not run",
            Self::RunElsewhere => "run by another test",
            Self::Output => "output",
            Self::Settings => "settings",
            Self::Other => "other",
        }
    }
}

/// A block with its page's word about it.
#[derive(Debug, Clone)]
pub(crate) struct Example {
    pub(crate) kind: Kind,
    pub(crate) line: usize,
    pub(crate) tag: String,
    pub(crate) text: String,
}

/// The blocks of a page; or the first that does not say what it is.
pub(crate) fn read(page: &str, text: &str, root: &Path) -> Result<Vec<Example>, String> {
    let of = |block: Block| {
        let kind = kind(page, &block, root).map_err(|why| format!("{page}:{}: {why}", block.line))?;
        Ok(Example { kind, line: block.line, tag: block.tag, text: block.text })
    };
    blocks(text).into_iter().map(of).collect()
}

fn kind(page: &str, block: &Block, root: &Path) -> Result<Kind, String> {
    match block.tag.as_str() {
        "console" | "sh" => shell(page, block.comment.as_deref(), root),
        "text" => Ok(Kind::Output),
        "yaml" => Ok(Kind::Settings),
        "json" => is_json(&block.text).map(|()| Kind::Other),
        "cedar" | "js" | "python" | "rust" | "toml" => Ok(Kind::Other),
        other => Err(format!("a block is `console`, `sh`, `text` or code in a known language, and not `{other}`")),
    }
}

fn shell(page: &str, comment: Option<&str>, root: &Path) -> Result<Kind, String> {
    let Some(comment) = comment else { return Ok(Kind::Run { place: "folder".into(), exit: DONE }) };
    let (word, rest) = comment.split_once(':').unwrap_or((comment, ""));
    let rest = rest.trim();
    match word {
        "in" => {
            let (place, exit) = rest.split_once(", exit ").unwrap_or((rest, "0"));
            let exit = exit.parse().map_err(|error| format!("`{exit}` is no exit code: {error}"))?;
            Ok(Kind::Run { place: place.into(), exit })
        }
        "not run" if rest.len() >= REASON_LETTERS_MIN => Ok(Kind::NotRun),
        "run by" => {
            let text = std::fs::read_to_string(root.join(rest)).map_err(|cause| format!("`{rest}`: {cause}"))?;
            if text.contains(page) { Ok(Kind::RunElsewhere) } else { Err(format!("`{rest}` does not name {page}")) }
        }
        _ => Err(format!("`{comment}` is none of `in: PLACE`, `not run: REASON` and `run by: FILE`")),
    }
}

/// Whether it is one value, or one a line; `…` stands for what is left out.
fn is_json(text: &str) -> Result<(), String> {
    let parses = |text: &str| serde_json::from_str::<serde::de::IgnoredAny>(text);
    let Err(error) = parses(text) else { return Ok(()) };
    if text.lines().all(|line| parses(line).is_ok()) { Ok(()) } else { Err(format!("it is not JSON: {error}")) }
}

#[test]
fn a_block_says_what_it_is_or_is_refused() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let of = |above: &str, tag: &str, text: &str| {
        read("docs/p.md", &format!("{above}\n```{tag}\n{text}\n```\n"), root).map(|found| found[0].kind.clone())
    };
    assert_eq!(of("", "console", "$ ls"), Ok(Kind::Run { place: "folder".into(), exit: 0 }));
    assert_eq!(of("<!-- in: claude, exit 7 -->", "sh", "ls"), Ok(Kind::Run { place: "claude".into(), exit: 7 }));
    assert_eq!(of("<!-- not run: needs a real model -->", "sh", "ls"), Ok(Kind::NotRun));
    assert_eq!(of("", "text", "output"), Ok(Kind::Output));
    assert_eq!(of("", "json", "{\"a\":1}\n{\"b\":2}"), Ok(Kind::Other));
    for (above, tag, text) in [
        ("", "", "ls"),
        ("<!-- not run: -->", "sh", "ls"),
        ("<!-- later -->", "sh", "ls"),
        ("<!-- run by: no/such/file -->", "sh", "ls"),
        ("<!-- run by: Cargo.toml -->", "sh", "ls"),
        ("", "json", "{"),
    ] {
        assert!(of(above, tag, text).is_err(), "{above} {tag} {text}");
    }
}
