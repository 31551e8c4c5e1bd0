//! The hooks that Codex knows, with the hash of each, as it lists them itself. No model is asked and nothing is changed.

use super::settings::{FORM, seconds_for};
use crate::hooks::time_limit::SECONDS_RECOMMENDED;
use crate::search_path;
use crate::temp_folder::TempFolder;
use serde::Deserialize;
use serde_json::json;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

/// The setting by which commands get a terminal that stays open. `write_stdin` types into it, and no hook hears of that.
pub(super) const NO_TERMINALS: &str = "features.unified_exec_tty";

/// Where the client says that hooks of the command line come from.
pub(super) const SOURCE_GIVEN: &str = "sessionFlags";

/// How long the client may take to list its hooks.
const LIST_WITHIN: Duration = Duration::from_secs(30);
/// Lines that are read before the answer must have come.
const LINES_MAX: usize = 1_000;

/// A hook as the client lists it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(super) struct ListedHook {
    /// The file, the event and the place by which the client knows it.
    pub(super) key: String,
    /// What it runs.
    pub(super) command: Option<String>,
    /// Where it comes from, in the client's word.
    pub(super) source: String,
    /// The hash under which it may be trusted.
    #[serde(rename = "currentHash")]
    pub(super) hash: String,
    /// Whether the client trusts it, in its own word; older ones do not tell.
    #[serde(rename = "trustStatus")]
    pub(super) trust: Option<String>,
}

impl ListedHook {
    /// Whether it is a hook of the command line for this event, as the client writes events in keys.
    pub(super) fn is_given_for(&self, event: &str) -> bool {
        self.source == SOURCE_GIVEN && self.key.ends_with(&format!(":{event}:0:0"))
    }
}

/// The overrides that give a client our hooks for one start.
pub(super) fn overrides(command: &str, seconds: u64) -> Vec<String> {
    let mut words = Vec::new();
    for event in FORM.events {
        let seconds = seconds_for(event, seconds);
        let command = toml_text(command);
        words.push("-c".to_owned());
        words.push(format!("hooks.{event}=[{{hooks=[{{type=\"command\",command={command},timeout={seconds}}}]}}]"));
    }
    words
}

/// A text as TOML reads it back; JSON's escapes are among those that TOML knows.
pub(super) fn toml_text(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// Asks a client for the hashes of our hooks before they stand anywhere: they are given on its command line, in an empty
/// home that is thrown away. The hash of a hook does not depend on where it stands.
///
/// # Errors
/// As for [`list`].
pub(super) fn list_given(program: &Path, command: &str) -> Result<Vec<ListedHook>, String> {
    let home = TempFolder::make("codex").map_err(|error| format!("no temporary home can be made: {error}"))?;
    let mut client = Command::new(program);
    client.args(overrides(command, SECONDS_RECOMMENDED)).env_clear();
    client.env("PATH", search_path::current());
    client.env("HOME", home.path()).env("CODEX_HOME", home.path());
    list(client, home.path())
}

/// Asks a client, given as the command line that starts it, for the hooks of a folder.
///
/// # Errors
/// When it does not start, gives no answer in time, or answers with an error.
pub(super) fn list(mut client: Command, folder: &Path) -> Result<Vec<ListedHook>, String> {
    client.arg("app-server").current_dir(folder);
    client.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child =
        client.spawn().map_err(|error| format!("`{}`: {error}", Path::new(client.get_program()).display()))?;
    let answer = converse(&mut child, folder);
    // It has answered or it will not: either way it is not needed any more, and a process that is gone needs no end.
    drop(child.kill());
    drop(child.wait());
    answer
}

/// The conversation: begin, then one question.
fn converse(child: &mut Child, folder: &Path) -> Result<Vec<ListedHook>, String> {
    let (Some(mut to), Some(from)) = (child.stdin.take(), child.stdout.take()) else {
        return Err("it has no streams".to_owned());
    };
    let folder = folder.to_str().ok_or("the folder's path is not text")?;
    let questions = [
        json!({"jsonrpc": "2.0", "id": 1, "method": "initialize",
            "params": {"clientInfo": {"name": "tripwire", "title": "tripwire", "version": env!("CARGO_PKG_VERSION")}}}),
        json!({"jsonrpc": "2.0", "method": "initialized", "params": {}}),
        json!({"jsonrpc": "2.0", "id": 2, "method": "hooks/list", "params": {"cwds": [folder]}}),
    ];
    for question in questions {
        writeln!(to, "{question}").map_err(|error| error.to_string())?;
    }
    let (lines, received) = mpsc::channel();
    // Ends with the child, whose end closes the stream.
    std::thread::spawn(move || {
        for line in BufReader::new(from).lines().take(LINES_MAX).map_while(Result::ok) {
            if lines.send(line).is_err() {
                return;
            }
        }
    });
    let until = Instant::now() + LIST_WITHIN;
    loop {
        let left = until.saturating_duration_since(Instant::now());
        let line = received.recv_timeout(left).map_err(|_| "it gave no answer".to_owned())?;
        if let Some(answer) = answer(&line) {
            return answer;
        }
    }
}

/// The answer to the question, if the line is it.
fn answer(line: &str) -> Option<Result<Vec<ListedHook>, String>> {
    #[derive(Deserialize)]
    struct AppServerMessage {
        id: Option<u64>,
        result: Option<HooksResult>,
        error: Option<serde_json::Value>,
    }
    #[derive(Deserialize)]
    struct HooksResult {
        #[serde(default)]
        data: Vec<HooksOfFolder>,
    }
    #[derive(Deserialize)]
    struct HooksOfFolder {
        hooks: Vec<ListedHook>,
    }
    match serde_json::from_str::<AppServerMessage>(line) {
        Ok(AppServerMessage { id: Some(2), result: Some(data), .. }) => {
            Some(Ok(data.data.into_iter().flat_map(|folder| folder.hooks).collect()))
        }
        Ok(AppServerMessage { id: Some(2), error: Some(error), .. }) => Some(Err(error.to_string())),
        Ok(_) | Err(_) => None,
    }
}
