//! The same work gives the same answers at the same calls under every client, whatever each writes around a result.

use crate::hooks::fixture::{HookFixture, fixture};
use serde_json::{Value, json};

/// One call and what comes of it.
#[derive(Clone)]
enum Act {
    /// A command with its output and its exit code.
    Shell(String, String, i32),
    /// A search with what it finds, a line each.
    Search(String, String),
    /// A replacement of a text that is not there.
    FailedEdit(String, String),
    /// A part of a file.
    Page(String, u64, String),
}

/// A call in a client's own form.
struct Form {
    tool: &'static str,
    input: Value,
    /// The event after it, with its field of the result.
    after: (&'static str, &'static str, Value),
    /// What the client's record says before that event.
    record: Option<Value>,
}

type Client = (&'static str, [&'static str; 2], fn(usize, &Act) -> Form);

const CLIENTS: [Client; 3] = [
    ("claude", ["UserPromptSubmit", "PreToolUse"], claude),
    ("codex", ["UserPromptSubmit", "PreToolUse"], codex),
    ("gemini", ["BeforeAgent", "BeforeTool"], gemini),
];

fn claude(n: usize, act: &Act) -> Form {
    let done =
        |tool, input, result| Form { tool, input, after: ("PostToolUse", "tool_response", result), record: None };
    match act {
        Act::Shell(command, output, code) => {
            let input = json!({"command": command, "description": format!("try {n}"), "timeout": 1_000 * n});
            match code {
                0 => done("Bash", input, json!({"stdout": output, "stderr": "", "interrupted": false})),
                _ => {
                    let error = json!(format!("Exit code {code}\n{output}"));
                    Form { tool: "Bash", input, after: ("PostToolUseFailure", "error", error), record: None }
                }
            }
        }
        Act::Search(pattern, found) => {
            let files: Vec<&str> = found.lines().collect();
            let result =
                json!({"mode": "files_with_matches", "filenames": files, "numFiles": files.len(), "durationMs": n * 7});
            done("Grep", json!({ "pattern": pattern }), result)
        }
        Act::FailedEdit(file, old) => {
            let input = json!({"file_path": file, "old_string": old, "new_string": "x"});
            let error = json!("<tool_use_error>String to replace not found in file.</tool_use_error>");
            Form { tool: "Edit", input, after: ("PostToolUseFailure", "error", error), record: None }
        }
        Act::Page(file, offset, text) => {
            let input = json!({"file_path": file, "offset": offset, "limit": 100 + n});
            done("Read", input, json!({"type": "text", "file": {"filePath": file, "content": text, "numLines": 1}}))
        }
    }
}

fn codex(n: usize, act: &Act) -> Form {
    let done = |tool, input, result: String, record| Form {
        tool,
        input,
        after: ("PostToolUse", "tool_response", json!(result)),
        record,
    };
    let ended = |code: i32| {
        let item = json!({"type": "CommandExecution", "id": format!("t{n}"), "exit_code": code});
        Some(json!({"type": "event_msg", "payload": {"type": "item_completed", "item": item}}))
    };
    match act {
        Act::Shell(command, output, code) => {
            done("Bash", json!({ "command": command }), format!("{output}\n"), ended(*code))
        }
        Act::Search(pattern, found) => {
            let text = if found.is_empty() { "No files found" } else { found };
            let framed =
                format!("Chunk ID: {n:06x}\nWall time: 0.{n} seconds\nProcess exited with code 0\nOutput:\n{text}\n");
            done("grep_files", json!({ "pattern": pattern }), framed, None)
        }
        Act::FailedEdit(file, old) => {
            let patch = format!("*** Begin Patch\n*** Update File: {file}\n@@\n-{old}\n+x\n*** End Patch");
            let error = "error: apply_patch verification failed: the lines are not in the file".to_owned();
            done("apply_patch", json!({ "command": patch }), error, None)
        }
        Act::Page(file, offset, text) => {
            done("read_file", json!({"file_path": file, "offset": offset, "limit": 100 + n}), text.clone(), None)
        }
    }
}

fn gemini(n: usize, act: &Act) -> Form {
    let done = |tool, input, text: String, error: Option<Value>| {
        let mut result = json!({"llmContent": text, "returnDisplay": "shown"});
        if let Some(error) = error {
            result["error"] = error;
        }
        Form { tool, input, after: ("AfterTool", "tool_response", result), record: None }
    };
    match act {
        Act::Shell(command, output, code) => {
            let pid = 20_000 + n;
            let end = if *code == 0 { String::new() } else { format!("\nExit Code: {code}") };
            let text =
                format!("<untrusted_context>\nOutput: {output}{end}\nProcess Group PGID: {pid}\n</untrusted_context>");
            let input = json!({"command": command, "description": format!("try {n}")});
            done("run_shell_command", input, text, None)
        }
        Act::Search(pattern, found) => {
            let text = if found.is_empty() { "No files found".to_owned() } else { found.clone() };
            done("search_file_content", json!({ "pattern": pattern }), text, None)
        }
        Act::FailedEdit(file, old) => {
            let input = json!({"file_path": file, "old_string": old, "new_string": "x"});
            let text = "Failed to edit, could not find the string to replace.".to_owned();
            done("replace", input, text, Some(json!({"message": "no", "type": "edit_no_occurrence_found"})))
        }
        Act::Page(file, offset, text) => {
            done("read_file", json!({"file_path": file, "offset": offset, "limit": 100 + n}), text.clone(), None)
        }
    }
}

/// What the client was told at which call: an override, or a refusal with which the script ends.
fn told(client: &Client, script: &[Act]) -> Vec<(usize, &'static str)> {
    let (name, [prompt, before], form) = client;
    let fixture: HookFixture = fixture(name);
    fixture.answer(prompt, &json!({"prompt": "go"}));
    let mut told = Vec::new();
    for (n, act) in script.iter().enumerate() {
        let Form { tool, input, after: (after, field, result), record } = form(n, act);
        let mut call = json!({"tool_name": tool, "tool_input": input, "tool_use_id": format!("t{n}")});
        let refuses = |answer: &Value| {
            let text = answer.to_string();
            let overridden = text.contains("LOOP_OVERRIDE");
            text.contains("\"deny\"")
                || text.contains("\"continue\":false")
                || (text.contains("\"block\"") && !overridden)
        };
        let answer = fixture.answer(before, &call);
        if refuses(&answer) {
            told.push((n, "refused"));
            break;
        }
        record.iter().for_each(|line| fixture.said(line));
        call[field] = result;
        let answer = fixture.answer(after, &call);
        if answer.to_string().contains("LOOP_OVERRIDE") {
            // A client throws a text away that comes under another event's name.
            let under = answer["hookSpecificOutput"]["hookEventName"].as_str();
            assert!(under.is_none_or(|name| name == after), "{name}: {answer}");
            told.push((n, "overridden"));
        }
        if refuses(&answer) {
            told.push((n, "refused"));
            break;
        }
    }
    told
}

fn shell(command: &str, output: &str, code: i32) -> Act {
    Act::Shell(command.to_owned(), output.to_owned(), code)
}

fn scripts() -> Vec<(&'static str, Vec<Act>)> {
    let numbered = |make: &dyn Fn(u64) -> Act| (0..8).map(make).collect::<Vec<Act>>();
    let words = ["one", "two", "three", "four", "five", "six", "seven", "eight"];
    vec![
        ("a command that works, repeated", vec![shell("cat conf.txt", "a=1", 0); 8]),
        ("a command that fails, repeated", vec![shell("make all", "make: *** no rule for `all`", 2); 8]),
        ("a command without output, repeated", vec![shell("true", "", 0); 8]),
        ("a search, repeated", vec![Act::Search("needle".to_owned(), "src/a.rs\nsrc/b.rs".to_owned()); 8]),
        ("a search that finds nothing, repeated", vec![Act::Search("needle".to_owned(), String::new()); 8]),
        ("an edit that fails, repeated", vec![Act::FailedEdit("a.py".to_owned(), "old".to_owned()); 8]),
        ("edits that fail, each another", numbered(&|n| Act::FailedEdit("a.py".to_owned(), format!("old text {n}")))),
        (
            "pages of a file",
            numbered(&|n| Act::Page("a.txt".to_owned(), n * 100, format!("{} {n}", words[n as usize]))),
        ),
        ("one page, repeated", vec![Act::Page("a.txt".to_owned(), 0, "the same words".to_owned()); 8]),
        (
            "commands that fail, each another",
            numbered(&|n| {
                shell(&format!("python {}.py", words[n as usize]), "ModuleNotFoundError: No module named 'x'", 1)
            }),
        ),
        ("a poll that moves", numbered(&|n| shell("sh poll.sh", &format!("build 17: {}% done", n * 5), 0))),
        (
            "two commands by turns",
            (0..10).map(|n| shell(["cat a", "cat b"][n % 2], ["alpha", "beta"][n % 2], 0)).collect(),
        ),
        ("different work", numbered(&|n| shell(&format!("cat {}.txt", words[n as usize]), words[n as usize], 0))),
    ]
}

#[test]
fn loop_6_the_same_work_is_answered_alike_under_every_client() {
    for (name, script) in scripts() {
        let [claude, codex, gemini] = CLIENTS.map(|client| told(&client, &script));
        assert_eq!(claude, codex, "{name}: Claude Code and Codex");
        assert_eq!(claude, gemini, "{name}: Claude Code and Gemini CLI");
        let refused = claude.iter().any(|(_, what)| *what == "refused");
        assert!(refused || !(name.ends_with("repeated") || name.ends_with("by turns")), "{name}: {claude:?}");
        let healthy = ["pages of a file", "a poll that moves", "different work"];
        assert!(claude.is_empty() || !healthy.contains(&name), "{name}: {claude:?}");
        // Nobody is stopped in a loop without having been told of it.
        let refused = claude.iter().position(|(_, what)| *what == "refused");
        assert!(refused != Some(0), "{name}: {claude:?}");
    }
}
