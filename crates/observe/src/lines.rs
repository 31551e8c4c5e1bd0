//! Every command line that a call hands over, whatever the tool is called and wherever in its arguments the line stands.
//!
//! Judging looks at all of them: a tool that nobody knows may run any field that is named like a command, and a call with
//! two such fields runs the one that its tool likes. A line too many is judged and passes; a line too few runs unseen.

use super::arguments::{Arguments, is_shell, list_command, quoted};
use super::json::Json;
use super::names::Name;
use super::tools::{self, ToolKind};
use alloc::borrow::{Cow, ToOwned as _};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

/// A command line that a call hands over, under whatever names clients give the tool and its arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShellCall {
    /// The command line.
    pub command: String,
    /// The folder that the call names, where it does.
    pub folder: Option<String>,
}

/// Everything that a call would have some shell run, as far as its words say. A tool that nobody knows may be a shell: what
/// is named as a command counts as one at every tool.
#[must_use]
pub fn shell_calls(tool: &str, args: &str) -> Vec<ShellCall> {
    let arguments = Arguments::read(args);
    let lines = of(tool, &arguments);
    if lines.is_empty() {
        return Vec::new();
    }
    let folder = arguments.field(&["workdir", "cwd", "dir_path", "directory", "working_directory", "working_dir"]);
    let folder = folder.map(Cow::into_owned);
    lines.into_iter().map(|command| ShellCall { command, folder: folder.clone() }).collect()
}

/// Fields that hold a command line at any tool; written without `_`, `-` and capitals.
const COMMANDS: &[&str] = &[
    "command",
    "commands",
    "cmd",
    "cmds",
    "commandline",
    "shellcommand",
    "bashcommand",
    "fullcommand",
    "argv",
    "script",
    "shellscript",
    "bash",
];
/// Fields that hold one at tools that run things.
const AT_RUNNERS: &[&str] = &["input", "code", "line", "exec", "args", "arguments", "text", "stdin", "chars"];
/// Fields that hold what is typed into a program that runs already.
const TYPED: &[&str] = &["chars", "input", "text", "keys", "data", "stdin"];
/// Fields that name the program's arguments beside its name.
const ARGUMENTS: &[&str] = &["args", "arguments"];
/// How deep in the arguments a command is looked for.
const DEPTH_MAX: u8 = 8;

/// All command lines of a call, each once.
pub(super) fn of(tool: &str, arguments: &Arguments<'_>) -> Vec<String> {
    let mut found = FoundLines { reader: CodeReader::of(tool), lines: Vec::new() };
    match arguments {
        Arguments::Json(json) => found.value(json, DEPTH_MAX),
        Arguments::Plain(_) if found.reader == CodeReader::Shell => {
            found.add(arguments.command().map(alloc::borrow::Cow::into_owned));
        }
        Arguments::Plain(_) => {}
    }
    found.lines
}

/// The command lines among arguments, and what is typed into a program that runs.
pub(super) fn given(types: impl Into<Typing>, arguments: &Arguments<'_>) -> Vec<String> {
    let reader = match types.into() {
        Typing::Yes => CodeReader::Typer,
        Typing::No => CodeReader::Any,
    };
    let mut found = FoundLines { reader, lines: Vec::new() };
    if let Arguments::Json(json) = arguments {
        found.value(json, DEPTH_MAX);
    }
    found.lines
}

/// Whether a tool types into a program that runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Typing {
    /// It does.
    Yes,
    /// It does not.
    No,
}

impl From<bool> for Typing {
    fn from(types: bool) -> Self {
        if types { Self::Yes } else { Self::No }
    }
}

/// How much of a tool's arguments is a command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CodeReader {
    /// It is a shell under one of its names.
    Shell,
    /// Its name says that it runs something.
    Runner,
    /// Its name says that it types into something.
    Typer,
    /// Only what is named as a command.
    Any,
}

impl CodeReader {
    fn of(tool: &str) -> Self {
        let name = Name::of(tool);
        match tools::kind(tool) {
            ToolKind::Shell => Self::Shell,
            ToolKind::Wait | ToolKind::Other if name.types() => Self::Typer,
            ToolKind::Other if name.runs() => Self::Runner,
            ToolKind::Edit | ToolKind::Read | ToolKind::Search | ToolKind::Plan | ToolKind::Wait | ToolKind::Other => {
                Self::Any
            }
        }
    }

    fn takes(self, field: &str) -> bool {
        COMMANDS.contains(&field)
            || match self {
                Self::Shell | Self::Runner => AT_RUNNERS.contains(&field),
                Self::Typer => TYPED.contains(&field),
                Self::Any => false,
            }
    }
}

struct FoundLines {
    reader: CodeReader,
    lines: Vec<String>,
}

impl FoundLines {
    fn add(&mut self, line: Option<String>) {
        // A patch is the text of files; its lines are nobody's commands.
        let line = line.filter(|line| !line.trim().is_empty() && !line.trim_start().starts_with("*** Begin Patch"));
        self.lines.extend(line.filter(|line| !self.lines.contains(line)));
    }

    fn value(&mut self, json: &Json<'_>, depth: u8) {
        let Some(deeper) = depth.checked_sub(1) else { return };
        match json {
            Json::Object(fields) => {
                for (name, value) in fields {
                    let plain = plain(name);
                    if self.reader.takes(&plain) {
                        self.command(&plain, value, fields);
                    }
                    self.value(value, deeper);
                }
            }
            Json::List(items) => {
                if depth == DEPTH_MAX && self.reader == CodeReader::Shell {
                    self.add(list_command(items));
                }
                items.iter().for_each(|item| self.value(item, deeper));
            }
            Json::Bare(_) | Json::Text(_) => {}
        }
    }

    /// One field that holds a command; `beside` are the fields of its object.
    fn command(&mut self, field: &str, value: &Json<'_>, beside: &[(Cow<'_, str>, Json<'_>)]) {
        match value {
            Json::Text(text) => {
                self.add(Some(interpreted(field, text, self.reader, beside)));
                self.add(with_arguments(field, text, beside));
            }
            Json::List(items) => {
                self.add(list_command(items));
                // Lines one after the other: no program has a blank in its name.
                let texts = || items.iter().filter_map(Json::text);
                if field == "commands" || field == "cmds" || texts().next().is_some_and(|first| first.contains(' ')) {
                    texts().for_each(|text| self.add(Some(text.to_owned())));
                }
            }
            Json::Bare(_) | Json::Object(_) => {}
        }
    }
}

/// The line as its interpreter gets it: code is no shell's, and a call may name another interpreter.
fn interpreted(field: &str, text: &str, reader: CodeReader, beside: &[(Cow<'_, str>, Json<'_>)]) -> String {
    let named = beside.iter().find(|(name, _)| plain(name) == "shell").and_then(|(_, value)| value.text());
    match named.filter(|shell| !shell.trim().is_empty() && !shell.contains(' ') && !is_shell(shell)) {
        Some(other) => format!("{other} -c {}", quoted(text)),
        None if field == "code" && reader != CodeReader::Shell => format!("python3 -c {}", quoted(text)),
        None => text.to_owned(),
    }
}

/// `{"command": "rm", "args": ["-r", "x"]}` as one line.
fn with_arguments(field: &str, program: &str, beside: &[(Cow<'_, str>, Json<'_>)]) -> Option<String> {
    if ARGUMENTS.contains(&field) {
        return None;
    }
    let (_, value) = beside.iter().find(|(name, _)| ARGUMENTS.contains(&plain(name).as_str()))?;
    let rest = match value {
        Json::Text(text) => text.clone().into_owned(),
        Json::List(items) => list_command(items)?,
        Json::Bare(_) | Json::Object(_) => return None,
    };
    Some(format!("{program} {rest}"))
}

/// A field's name without the marks in which spellings differ.
pub(super) fn plain(name: &str) -> String {
    name.chars().filter(|letter| !matches!(letter, '_' | '-' | ' ')).map(|letter| letter.to_ascii_lowercase()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(tool: &str, args: &str) -> Vec<String> {
        of(tool, &Arguments::read(args))
    }

    #[test]
    fn a_command_is_found_at_any_tool_and_in_any_field() {
        for (tool, args) in [
            ("Bash", r#"{"command":"rm x"}"#),
            ("Monitor", r#"{"command":"rm x","description":"wait"}"#),
            ("BashOutput", r#"{"command":"rm x"}"#),
            ("mcp__desktop-commander__start_process", r#"{"command":"rm x","timeout_ms":1}"#),
            ("mcp__x__run", r#"{"script":"rm x"}"#),
            ("local_shell", r#"{"action":{"type":"exec","command":["rm","x"]}}"#),
            ("Bash", r#"{"command":"ls","cmd":"rm x"}"#),
            ("Bash", r#"{"cmd":"ls","command":"rm x"}"#),
            ("mcp__x__spawn", r#"{"command":"rm","args":["x"]}"#),
            ("mcp__x__batch", r#"{"steps":[{"Shell_Command":"ls"},{"shellCommand":"rm x"}]}"#),
            ("mcp__x__batch", r#"{"commands":["cd y","rm x"]}"#),
            ("mcp__x__read", r#"{"argv":["rm","x"]}"#),
            ("write_stdin", r#"{"session_id":1,"chars":"rm x\n"}"#),
            ("mcp__dc__interact_with_process", r#"{"pid":1,"input":"rm x"}"#),
            ("unified_exec", r#"{"input":["rm","x"]}"#),
            ("shell", r#"["rm","x"]"#),
            ("shell", "rm x"),
            ("shell", r#"{"command":["bash","-lc","rm x"]}"#),
        ] {
            assert!(
                lines(tool, args).iter().any(|line| line.trim() == "rm x"),
                "{tool} {args}: {:?}",
                lines(tool, args)
            );
        }
    }

    #[test]
    fn what_is_no_command_is_none() {
        for (tool, args) in [
            ("Write", r#"{"file_path":"x.sh","content":"rm x"}"#),
            ("Edit", r#"{"file_path":"x","old_string":"a","new_string":"rm x"}"#),
            ("apply_patch", r#"{"command":"*** Begin Patch\n+rm x\n"}"#),
            ("apply_patch", r#"{"input":"*** Begin Patch\n+rm x\n"}"#),
            ("Grep", r#"{"pattern":"rm x","path":"."}"#),
            ("Task", r#"{"description":"clean","prompt":"rm x"}"#),
            ("mcp__jira__create_issue", r#"{"input":"rm x","text":"rm x"}"#),
            ("TodoWrite", r#"{"todos":[{"content":"rm x"}]}"#),
            ("Read", "rm x"),
            ("AskUserQuestion", r#"{"questions":[{"question":"rm x"}]}"#),
        ] {
            assert_eq!(lines(tool, args), Vec::<String>::new(), "{tool} {args}");
        }
    }

    #[test]
    fn another_interpreter_gets_its_own_words() {
        assert_eq!(lines("exec_command", r#"{"cmd":"x()","shell":"python3"}"#), ["python3 -c 'x()'"]);
        assert_eq!(lines("exec_command", r#"{"cmd":"ls","shell":"/bin/zsh"}"#), ["ls"]);
        assert_eq!(lines("mcp__ide__executeCode", r#"{"code":"f(1)"}"#), ["python3 -c 'f(1)'"]);
    }

    #[test]
    fn an_editors_sub_command_is_a_line_that_does_nothing() {
        let args = r#"{"command":"create","path":"x","file_text":"rm x"}"#;
        assert_eq!(lines("str_replace_based_edit_tool", args), ["create"]);
    }
}
