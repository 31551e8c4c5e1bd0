//! Codex CLI: overrides on the command line, each hook marked as trusted by the client's own hash of it.
//!
//! Hooks that nobody trusted are skipped without a word. The client itself tells the hash of each hook; it is given back to
//! it for this run only, for our hooks and for no others. The flag that trusts every hook is never used: it would also run
//! whatever hooks a repository brings along.

use super::{ArrangeError, Arranged, HOOK_TIMEOUT_SECONDS, Scene};
use crate::hooks::Client;
use serde::Deserialize;
use serde_json::json;
use std::ffi::OsString;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

/// The events that the engine wants to hear of.
const EVENTS: [&str; 10] = [
    "PreToolUse",
    "PostToolUse",
    "UserPromptSubmit",
    "SessionStart",
    "SessionEnd",
    "Stop",
    "SubagentStart",
    "SubagentStop",
    "PreCompact",
    "PostCompact",
];

/// Where the client says that hooks of the command line come from.
const SOURCE: &str = "sessionFlags";
/// How long the client may take to list its hooks.
const LIST_WITHIN: Duration = Duration::from_secs(30);
/// Lines that are read before the answer must have come.
const LINES_MAX: usize = 1_000;

/// Adds the hooks to the command line.
pub(super) fn arrange(scene: &Scene<'_>, arguments: usize, arranged: &mut Arranged) -> Result<(), ArrangeError> {
    let hook = scene.hook(Client::Codex);
    let mut overrides = Vec::new();
    for event in EVENTS {
        let hook = toml_text(&hook);
        let timeout = if event == "SessionEnd" { 3 } else { HOOK_TIMEOUT_SECONDS };
        overrides.push(OsString::from("-c"));
        overrides.push(OsString::from(format!(
            "hooks.{event}=[{{hooks=[{{type=\"command\",command={hook},timeout={timeout}}}]}}]"
        )));
    }
    let listed = list(scene, &arranged.command[..arguments.min(arranged.command.len())], &overrides, arranged)?;
    let mut marks = Vec::new();
    for entry in listed.iter().filter(|entry| entry.source == SOURCE && entry.command.as_deref() == Some(&hook)) {
        marks.push(format!("{}={{trusted_hash={}}}", toml_text(&entry.key), toml_text(&entry.hash)));
    }
    if marks.len() != EVENTS.len() {
        let problem = format!("{} of {} hooks were taken", marks.len(), EVENTS.len());
        return Err(ArrangeError::Trust { problem });
    }
    overrides.push(OsString::from("-c"));
    overrides.push(OsString::from(format!("hooks.state={{{}}}", marks.join(","))));
    arranged.command.splice(arguments..arguments, overrides);
    Ok(())
}

/// A hook as the client lists it.
#[derive(Debug, Deserialize)]
struct Listed {
    key: String,
    command: Option<String>,
    source: String,
    #[serde(rename = "currentHash")]
    hash: String,
}

/// Asks the client for its hooks with these overrides; nothing of the person's is changed and no model is asked.
fn list(
    scene: &Scene<'_>,
    starter: &[OsString],
    overrides: &[OsString],
    arranged: &Arranged,
) -> Result<Vec<Listed>, ArrangeError> {
    let trust = |problem: String| ArrangeError::Trust { problem };
    let Some((program, rest)) = starter.split_first() else { return Err(trust("no program".to_owned())) };
    let mut command = Command::new(program);
    command.args(rest).args(overrides).arg("app-server").current_dir(scene.cwd).env_clear();
    command.envs(arranged.env.iter().map(|(name, value)| (name, value)));
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().map_err(|error| trust(format!("`{}`: {error}", program.display())))?;
    let answer = converse(&mut child, scene);
    // It has answered or it will not: either way it is not needed any more, and a process that is gone needs no end.
    drop(child.kill());
    drop(child.wait());
    answer.map_err(trust)
}

/// The conversation: begin, then one question.
fn converse(child: &mut Child, scene: &Scene<'_>) -> Result<Vec<Listed>, String> {
    #[derive(Deserialize)]
    struct Message {
        id: Option<u64>,
        result: Option<Data>,
        error: Option<serde_json::Value>,
    }
    #[derive(Deserialize)]
    struct Data {
        #[serde(default)]
        data: Vec<Folder>,
    }
    #[derive(Deserialize)]
    struct Folder {
        hooks: Vec<Listed>,
    }
    let (Some(mut to), Some(from)) = (child.stdin.take(), child.stdout.take()) else {
        return Err("it has no streams".to_owned());
    };
    let questions = [
        json!({"jsonrpc": "2.0", "id": 1, "method": "initialize",
            "params": {"clientInfo": {"name": "tripwire", "title": "tripwire", "version": env!("CARGO_PKG_VERSION")}}}),
        json!({"jsonrpc": "2.0", "method": "initialized", "params": {}}),
        json!({"jsonrpc": "2.0", "id": 2, "method": "hooks/list", "params": {"cwds": [scene.cwd]}}),
    ];
    for question in questions {
        writeln!(to, "{question}").map_err(|error| error.to_string())?;
    }
    let (tell, told) = mpsc::channel();
    // Ends with the child, whose end closes the stream.
    std::thread::spawn(move || {
        for line in BufReader::new(from).lines().take(LINES_MAX).map_while(Result::ok) {
            if tell.send(line).is_err() {
                return;
            }
        }
    });
    let until = Instant::now() + LIST_WITHIN;
    loop {
        let left = until.saturating_duration_since(Instant::now());
        let line = told.recv_timeout(left).map_err(|_| "it gave no answer".to_owned())?;
        match serde_json::from_str::<Message>(&line) {
            Ok(Message { id: Some(2), result: Some(data), .. }) => {
                return Ok(data.data.into_iter().flat_map(|folder| folder.hooks).collect());
            }
            Ok(Message { id: Some(2), error: Some(error), .. }) => return Err(error.to_string()),
            Ok(_) | Err(_) => {}
        }
    }
}

/// A text as TOML reads it back; JSON's escapes are among those that TOML knows.
fn toml_text(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
