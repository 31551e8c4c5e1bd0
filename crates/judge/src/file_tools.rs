//! Tools whose name says that they delete or write a file, as clients and servers of tools for agents offer them.
//!
//! Such a call is judged as the command that a person would type for it.

use serde_json::{Map, Value};
use tripwire_core::record::chain::Digest;
use tripwire_fs::shell_word::shell_quoted;

/// What such names end with, without separators, and whether folders go with everything in them.
const ENDINGS: [(&str, &str); 8] = [
    ("deletedirectory", "rm -r"),
    ("removedirectory", "rm -r"),
    ("deletefolder", "rm -r"),
    ("removefolder", "rm -r"),
    ("deletefile", "rm"),
    ("removefile", "rm"),
    ("deletefiles", "rm"),
    ("removefiles", "rm"),
];
/// Names of tools that put a whole file in the place of another, without separators.
const WRITERS: [&str; 5] = ["write", "writefile", "createfile", "writetofile", "savefile"];
/// Arguments that hold what is written.
const CONTENTS: [&str; 5] = ["content", "contents", "file_text", "text", "data"];
/// Arguments that name files or folders.
const PATHS: [&str; 15] = [
    "path",
    "paths",
    "file",
    "files",
    "file_path",
    "filePath",
    "filename",
    "target_file",
    "directory",
    "directory_path",
    "dir",
    "dir_path",
    "folder",
    "target",
    "uri",
];

/// The command lines that a call of a deleting tool amounts to.
pub(crate) fn deletions(tool: &str, args: &str) -> Vec<String> {
    let name = plain(tool);
    let Some((_, command)) = ENDINGS.iter().find(|(ending, _)| name.ends_with(ending)) else { return Vec::new() };
    let Ok(Value::Object(fields)) = serde_json::from_str(args) else { return Vec::new() };
    paths(&fields).map(|path| format!("{command} -- {}", shell_quoted(path))).collect()
}

/// The command lines that a call of a writing tool amounts to. What is written stands in them by its digest: another text is
/// another command.
pub(crate) fn writings(tool: &str, args: &str) -> Vec<String> {
    let name = plain(tool);
    // `mcp__files__write_file` is one, and `TodoWrite` is not.
    let writes = WRITERS.iter().any(|writer| name == *writer || (writer.len() > 5 && name.ends_with(writer)));
    if !writes {
        return Vec::new();
    }
    let Ok(Value::Object(fields)) = serde_json::from_str(args) else { return Vec::new() };
    let Some(text) = CONTENTS.iter().find_map(|contents| fields.get(*contents)).and_then(Value::as_str) else {
        return Vec::new();
    };
    let command = if text.is_empty() { ":".to_owned() } else { format!("echo sha256:{}", Digest::of(text.as_bytes())) };
    paths(&fields).map(|path| format!("{command} > {}", shell_quoted(path))).collect()
}

/// A tool's name in small letters and without separators.
fn plain(tool: &str) -> String {
    tool.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_ascii_lowercase()
}

/// The paths that a call names.
fn paths(fields: &Map<String, Value>) -> impl Iterator<Item = &str> {
    let values = PATHS.iter().filter_map(|path| fields.get(*path));
    let texts = values.flat_map(|value| match value {
        Value::String(text) => vec![text.as_str()],
        Value::Array(list) => list.iter().filter_map(Value::as_str).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => Vec::new(),
    });
    texts.map(|path| path.strip_prefix("file://").unwrap_or(path))
}
