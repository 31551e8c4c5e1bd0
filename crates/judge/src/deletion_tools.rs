//! Tools whose name says that they delete a file or a folder, as servers of tools for agents offer them.
//!
//! Such a call is judged as the command that a person would type for it.

use serde_json::Value;

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
/// Arguments that name what is deleted.
const PATHS: [&str; 14] = [
    "path",
    "paths",
    "file",
    "files",
    "file_path",
    "filePath",
    "filename",
    "directory",
    "directory_path",
    "dir",
    "dir_path",
    "folder",
    "target",
    "uri",
];

/// The command lines that a call of this tool amounts to.
pub(crate) fn deletions(tool: &str, args: &str) -> Vec<String> {
    let name: String = tool.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_ascii_lowercase();
    let Some((_, command)) = ENDINGS.iter().find(|(ending, _)| name.ends_with(ending)) else { return Vec::new() };
    let Ok(Value::Object(fields)) = serde_json::from_str(args) else { return Vec::new() };
    let values = PATHS.iter().filter_map(|path| fields.get(*path));
    let texts = values.flat_map(|value| match value {
        Value::String(text) => vec![text.as_str()],
        Value::Array(list) => list.iter().filter_map(Value::as_str).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => Vec::new(),
    });
    texts.map(|path| format!("{command} -- {}", quoted(path.strip_prefix("file://").unwrap_or(path)))).collect()
}

/// A text as one word of a command line.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}
