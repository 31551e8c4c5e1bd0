//! What lies out of the agent's reach (CTRL-3): the guard's own files, the settings that call it, and its commands.
//!
//! Every tool may read; none may write. Paths are followed through symbolic links. A command line is judged by the steps
//! that the judge finds in it: one that names a protected path may only read it, and `tripwire` itself may only look.
//! What a program does inside is not seen here; the sandbox and the supervisor's mounts hold that.

mod line;
mod paths;
mod verbs;

use crate::hooks::event::ToolCall;
pub use paths::ProtectedPaths;
use paths::{is_forbidden, plain, with_home};
use serde_json::Value;
use tripwire_fs::shell_word::shell_quoted;
use tripwire_judge::Facts;
use tripwire_judge::read_only::{line_only_reads, steps_only_read};

/// Tools that run a command line and have no other way to a file.
const SHELLS: &[&str] =
    &["bash", "shell", "exec_command", "run_shell_command", "local_shell", "write_stdin", "monitor"];
/// Arguments that hold a command line.
const COMMANDS: &[&str] = &["command", "cmd", "commands", "chars", "script", "argv", "CommandLine"];
/// Arguments that name the folder in which a command line starts.
const FOLDERS: &[&str] = &["workdir", "cwd", "dir_path", "directory", "working_directory", "working_dir"];
/// Tools that only look.
const READERS: &[&str] = &[
    "read",
    "grep",
    "glob",
    "ls",
    "notebookread",
    "read_file",
    "read_many_files",
    "list_directory",
    "search_file_content",
    "grep_search",
    "view_image",
];
/// Commands of an editing tool that only look.
const VIEWS: &[&str] = &["view", "read", "list", "cat", "open"];
/// Parts of a tool's name that say that it takes things away.
const TAKERS: &[&str] = &["move", "rename", "delete", "remove", "trash", "unlink", "rmdir"];
/// Arguments that hold text and not a path.
const TEXTS: &[&str] = &[
    "content",
    "contents",
    "new_string",
    "old_string",
    "new_source",
    "new_str",
    "old_str",
    "prompt",
    "description",
    "instruction",
    "text",
    "body",
    "message",
    "query",
    "pattern",
];
/// Parts of an argument's name that say that it is a path, whatever it looks like.
const PATHS: &[&str] = &["path", "file", "folder", "dir", "source", "dest", "target", "uri"];

/// What the command lines of a call do to files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LineEffect {
    /// They are known to write none.
    OnlyReads,
    /// They may write some, or there is no line.
    MayWrite,
}

impl LineEffect {
    /// Reads the command lines of a call.
    pub(crate) fn of(tool: &ToolCall, facts: &Facts) -> Self {
        let Ok(input) = serde_json::from_str(&tool.input) else { return Self::MayWrite };
        let mut lines = Vec::new();
        command_lines(&input, &mut lines);
        let reads = !lines.is_empty() && lines.iter().all(|line| line_only_reads(line, facts));
        if reads { Self::OnlyReads } else { Self::MayWrite }
    }
}

/// What was found out about a call while it was asked whether it touches what it must not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Touch {
    /// What it would touch; none if it may go on.
    pub(crate) touched: Option<String>,
    /// What its lines do, where they were read.
    pub(crate) lines: Option<LineEffect>,
}

/// What a call would touch that it must not; none if it may go on.
#[must_use]
pub fn touches(protected: &ProtectedPaths, call: &ToolCall, input: &Value, facts: &Facts) -> Option<String> {
    look(protected, call, input, facts).touched
}

/// Looks for what a call would touch, and at what its lines do.
pub(crate) fn look(protected: &ProtectedPaths, call: &ToolCall, input: &Value, facts: &Facts) -> Touch {
    let name = call.name.rsplit("__").next().unwrap_or(&call.name).to_ascii_lowercase();
    if READERS.contains(&name.as_str()) {
        return Touch { touched: None, lines: None };
    }
    let protected = protected.list();
    let mut lines = Vec::new();
    if name != "apply_patch" {
        command_lines(input, &mut lines);
    }
    let mut only_reads = !lines.is_empty();
    for line in &lines {
        let folder = FOLDERS.iter().find_map(|field| input.get(field)).and_then(Value::as_str);
        let cwd = folder.map_or_else(|| facts.cwd.clone(), |folder| facts.cwd.join(folder));
        // A patch in a here-document is data to the shell and a change to the program that reads it.
        let patch = line.contains("apply_patch").then(|| patched(line)).into_iter().flatten();
        let forbidden = patch.into_iter().find(|path| is_forbidden(protected, path, &cwd));
        let touched = forbidden.or_else(|| {
            let steps = line::steps(protected, line, Facts { cwd, ..facts.clone() });
            only_reads = only_reads && steps_only_read(&steps);
            line::touches(protected, &steps)
        });
        if touched.is_some() {
            return Touch { touched, lines: None };
        }
    }
    let effect = if only_reads { LineEffect::OnlyReads } else { LineEffect::MayWrite };
    let lines_read = Some(effect).filter(|_| !lines.is_empty());
    let views = lines.iter().any(|line| VIEWS.contains(&line.as_str()));
    if views || (!lines.is_empty() && SHELLS.contains(&name.as_str())) {
        return Touch { touched: None, lines: lines_read };
    }
    let mut paths = Vec::new();
    collect(input, Field::Unnamed, &mut paths);
    let takes = TAKERS.iter().any(|taker| name.contains(taker));
    let cwd = facts.cwd.as_path();
    let touched = paths.into_iter().find(|path| {
        is_forbidden(protected, path, cwd)
            || (takes && protected.contains(&plain(&cwd.join(with_home(protected, path)))))
    });
    Touch { touched, lines: lines_read }
}

/// All command lines among the arguments, however deep.
fn command_lines(value: &Value, lines: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            for (name, field) in fields {
                if COMMANDS.contains(&name.as_str()) {
                    lines.extend(command_line(field));
                }
                command_lines(field, lines);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| command_lines(item, lines)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// A command line, out of a text or a list of words.
fn command_line(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        // `["bash", "-lc", "…"]`: the words are quoted so that the line reads as it was meant.
        Value::Array(words) => {
            Some(words.iter().filter_map(Value::as_str).map(shell_quoted).collect::<Vec<_>>().join(" "))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => None,
    }
}

/// What an argument's name says about its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Field {
    /// Nothing.
    Unnamed,
    /// It is a path.
    Path,
    /// It is text.
    Text,
}

impl Field {
    fn named(name: &str) -> Self {
        let name = name.to_ascii_lowercase();
        if TEXTS.contains(&name.as_str()) || name.ends_with("_text") || name.ends_with("content") {
            Self::Text
        } else if PATHS.iter().any(|part| name.contains(part)) {
            Self::Path
        } else {
            Self::Unnamed
        }
    }
}

/// All values that may be paths, and the files that a patch names.
fn collect(value: &Value, field: Field, paths: &mut Vec<String>) {
    match value {
        Value::String(text) => {
            if text.contains("*** ") {
                paths.extend(patched(text));
            }
            let short = !text.contains('\n') && text.len() <= 4_096;
            let may_be = match field {
                Field::Path => true,
                Field::Unnamed => short,
                Field::Text => false,
            };
            if may_be {
                paths.push(text.strip_prefix("file://").unwrap_or(text).to_owned());
            }
        }
        Value::Array(items) => items.iter().for_each(|item| collect(item, field, paths)),
        Value::Object(fields) => {
            for (name, value) in fields {
                collect(value, Field::named(name), paths);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// The files that a patch in the `*** Update File: …` form names.
fn patched(patch: &str) -> impl Iterator<Item = String> {
    const HEADS: [&str; 4] = ["*** Update File: ", "*** Add File: ", "*** Delete File: ", "*** Move to: "];
    patch.lines().filter_map(|line| HEADS.iter().find_map(|head| line.trim().strip_prefix(head)).map(str::to_owned))
}

#[cfg(test)]
mod tests;
