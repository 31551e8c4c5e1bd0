//! What lies out of the agent's reach (CTRL-3): the guard's own files, the settings that call it, and its commands.
//!
//! Every tool may read; none may write. Paths are followed through symbolic links. A command line is judged by the steps
//! that the judge finds in it: one that names a protected path may only read it, and `tripwire` itself may only look.
//! What a program does inside is not seen here; the sandbox and the supervisor's mounts hold that.

mod line;
mod verbs;

use super::call::Tool;
use serde_json::Value;
use std::path::{Component, Path, PathBuf};
use tripwire_judge::Facts;
use tripwire_workspace::Workspace;
use tripwire_workspace::geometry::layout::FOLDER;

/// Folders of the person and of the clients, as the environment names them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Homes {
    /// `HOME`.
    pub home: Option<PathBuf>,
    /// `XDG_STATE_HOME`, where our key lives.
    pub state: Option<PathBuf>,
    /// `CLAUDE_CONFIG_DIR`.
    pub claude: Option<PathBuf>,
    /// `CODEX_HOME`.
    pub codex: Option<PathBuf>,
    /// `GEMINI_CLI_HOME`: the folder in which `.gemini` is.
    pub gemini: Option<PathBuf>,
}

/// What an agent must not write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reach {
    entries: Vec<Entry>,
    home: Option<PathBuf>,
}

/// One thing that is protected.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Entry {
    /// A folder with all that is in it.
    Folder(PathBuf),
    /// One file.
    File(PathBuf),
    /// `settings*.json` in a folder.
    Settings(PathBuf),
}

impl Reach {
    /// What is protected in a workspace and in the person's folders.
    #[must_use]
    pub fn new(workspace: &Workspace, homes: &Homes) -> Self {
        let root = workspace.root();
        let mut entries = vec![
            Entry::Folder(workspace.layout().folder().to_owned()),
            Entry::Folder(root.join(".geometry")),
            Entry::Folder(root.join(".codex")),
            Entry::Settings(root.join(".claude")),
            Entry::File(root.join(".gemini/settings.json")),
        ];
        let home = |given: &Option<PathBuf>, below: &str| {
            given.clone().or_else(|| homes.home.as_ref().map(|home| home.join(below)))
        };
        entries.extend(home(&homes.claude, ".claude").map(Entry::Settings));
        if let Some(codex) = home(&homes.codex, ".codex") {
            entries
                .extend(["config.toml", "hooks.json", "requirements.toml"].map(|name| Entry::File(codex.join(name))));
        }
        let gemini = homes.gemini.as_ref().or(homes.home.as_ref());
        entries.extend(gemini.map(|base| Entry::File(base.join(".gemini/settings.json"))));
        entries.extend(home(&homes.state, ".local/state").map(|state| Entry::Folder(state.join("tripwire"))));
        Self { entries, home: homes.home.clone() }
    }

    /// Whether a plain absolute path is protected.
    fn holds(&self, path: &Path) -> bool {
        // A `.geometry` anywhere: one that an agent makes in a folder of its own would be a workspace of its own.
        let guarded = path.components().any(|part| part.as_os_str() == FOLDER);
        guarded
            || self.entries.iter().any(|entry| match entry {
                Entry::Folder(folder) => path.starts_with(folder),
                Entry::File(file) => path == file,
                Entry::Settings(folder) => path.parent() == Some(folder) && is_settings(path),
            })
    }

    /// Whether a plain absolute path holds something protected: moving it away would take that along.
    fn contains(&self, path: &Path) -> bool {
        self.entries.iter().any(|entry| match entry {
            Entry::Folder(inner) | Entry::File(inner) => inner.starts_with(path),
            Entry::Settings(folder) => folder.starts_with(path),
        })
    }
}

fn is_settings(path: &Path) -> bool {
    path.file_name().and_then(|name| name.to_str()).is_some_and(|name| {
        name.starts_with("settings") && Path::new(name).extension().is_some_and(|extension| extension == "json")
    })
}

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

/// What a call would touch that it must not; none if it may go on.
#[must_use]
pub fn touches(reach: &Reach, (tool, input): (&Tool, &Value), facts: &Facts) -> Option<String> {
    let name = tool.name.rsplit("__").next().unwrap_or(&tool.name).to_ascii_lowercase();
    if READERS.contains(&name.as_str()) {
        return None;
    }
    let mut lines = Vec::new();
    if name != "apply_patch" {
        command_lines(input, &mut lines);
    }
    for line in &lines {
        let folder = FOLDERS.iter().find_map(|field| input.get(field)).and_then(Value::as_str);
        let cwd = folder.map_or_else(|| facts.cwd.clone(), |folder| facts.cwd.join(folder));
        // A patch in a here-document is data to the shell and a change to the program that reads it.
        let patch = line.contains("apply_patch").then(|| patched(line)).into_iter().flatten();
        let forbidden = patch.into_iter().find(|path| is_forbidden(reach, path, &cwd));
        let found = forbidden.or_else(|| line::touches(reach, line, &Facts { cwd, ..facts.clone() }));
        if found.is_some() {
            return found;
        }
    }
    let views = lines.iter().any(|line| VIEWS.contains(&line.as_str()));
    if views || (!lines.is_empty() && SHELLS.contains(&name.as_str())) {
        return None;
    }
    let mut paths = Vec::new();
    collect(input, Field::Unnamed, &mut paths);
    let takes = TAKERS.iter().any(|taker| name.contains(taker));
    let cwd = facts.cwd.as_path();
    paths.into_iter().find(|path| {
        is_forbidden(reach, path, cwd) || (takes && reach.contains(&plain(&cwd.join(with_home(reach, path)))))
    })
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
            let quoted =
                words.iter().filter_map(Value::as_str).map(|word| format!("'{}'", word.replace('\'', "'\\''")));
            Some(quoted.collect::<Vec<_>>().join(" "))
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

/// Whether a path leads to something protected, as it is written or through symbolic links.
fn is_forbidden(reach: &Reach, path: &str, cwd: &Path) -> bool {
    let plain = plain(&cwd.join(with_home(reach, path)));
    reach.holds(&plain) || followed(&plain).is_some_and(|path| reach.holds(&path))
}

/// A path in which `~` stands for the person's home.
fn with_home(reach: &Reach, path: &str) -> PathBuf {
    match (path.strip_prefix("~/").or_else(|| path.strip_prefix("$HOME/")), &reach.home) {
        (Some(rest), Some(home)) => home.join(rest),
        (Some(_) | None, _) => PathBuf::from(path),
    }
}

/// The path without `.` and `..`.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                plain.pop();
            }
            Component::CurDir => {}
            Component::Prefix(_) | Component::RootDir | Component::Normal(_) => plain.push(part),
        }
    }
    plain
}

/// Where a path really leads: its deepest existing ancestor, resolved, and what does not exist yet below it.
fn followed(path: &Path) -> Option<PathBuf> {
    path.ancestors().find_map(|ancestor| {
        let real = ancestor.canonicalize().ok()?;
        Some(match path.strip_prefix(ancestor) {
            Ok(rest) if !rest.as_os_str().is_empty() => real.join(rest),
            Ok(_) | Err(_) => real,
        })
    })
}

#[cfg(test)]
mod tests;
