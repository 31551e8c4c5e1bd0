//! What lies out of the agent's reach (CTRL-3): the guard's own files, the settings that call it, and its commands.
//!
//! Every tool may read; none may write. Paths of editing tools are followed through symbolic links. A command line is
//! judged by its words: a command that names a protected path may only read it, and `tripwire` itself may only look.
//! What a program does inside is not seen here; the sandbox and the supervisor's mounts hold that.

mod line;
mod verbs;

use super::call::Tool;
use serde_json::Value;
use std::path::{Component, Path, PathBuf};
use tripwire_host::geometry::layout::FOLDER;
use tripwire_host::workspace::Workspace;

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

/// Tools that run a command line.
const SHELLS: &[&str] =
    &["bash", "shell", "exec_command", "run_shell_command", "local_shell", "write_stdin", "monitor"];
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
/// Arguments that hold text and not a path.
const TEXTS: &[&str] = &["content", "new_string", "old_string", "new_source", "prompt", "description", "instruction"];

/// What a call would touch that it must not; none if it may go on.
#[must_use]
pub fn touches(reach: &Reach, tool: &Tool, cwd: &Path) -> Option<String> {
    let name = tool.name.rsplit("__").next().unwrap_or(&tool.name).to_ascii_lowercase();
    if READERS.contains(&name.as_str()) {
        return None;
    }
    let input: Value = serde_json::from_str(&tool.input).unwrap_or_else(|_| Value::String(tool.input.clone()));
    let command =
        ["command", "cmd", "chars", "script"].iter().find_map(|field| input.get(field)).and_then(command_line);
    if let Some(command) = command
        && (SHELLS.contains(&name.as_str()) || name != "apply_patch")
    {
        // A patch in a here-document is data to the shell and a change to the program that reads it.
        let patch = command.contains("apply_patch").then(|| patched(&command)).into_iter().flatten();
        let forbidden = patch.into_iter().find(|path| is_forbidden(reach, path, cwd));
        return forbidden.or_else(|| line::touches(reach, &command, cwd));
    }
    let mut paths = Vec::new();
    collect(&input, &mut paths);
    paths.into_iter().find(|path| is_forbidden(reach, path, cwd))
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

/// All values that may be paths: one line, and the files that a patch names.
fn collect(value: &Value, paths: &mut Vec<String>) {
    match value {
        Value::String(text) if text.contains("*** ") => paths.extend(patched(text)),
        Value::String(text) if !text.contains('\n') && text.len() <= 4_096 => paths.push(text.clone()),
        Value::Array(items) => items.iter().for_each(|item| collect(item, paths)),
        Value::Object(fields) => {
            for (name, field) in fields {
                let is_patch = field.as_str().is_some_and(|text| text.contains("*** "));
                if is_patch || !TEXTS.contains(&name.as_str()) {
                    collect(field, paths);
                }
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
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
