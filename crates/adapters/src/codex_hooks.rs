//! The hooks that Codex knows, with the hash of each, as it tells them itself. No model is asked and nothing is changed.

use serde::Deserialize;
use serde_json::json;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

/// The setting by which commands get a terminal that stays open. `write_stdin` types into it, and no hook hears of that.
pub(crate) const NO_TERMINALS: &str = "features.unified_exec_tty";

/// How long the client may take to list its hooks.
const LIST_WITHIN: Duration = Duration::from_secs(30);
/// Lines that are read before the answer must have come.
const LINES_MAX: usize = 1_000;

/// A hook as the client lists it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Listed {
    /// The file, the event and the place by which the client knows it.
    pub key: String,
    /// What it runs.
    pub command: Option<String>,
    /// Where it comes from, in the client's word.
    pub source: String,
    /// The hash under which it may be trusted.
    #[serde(rename = "currentHash")]
    pub hash: String,
}

/// Asks a client, given as the command line that starts it, for the hooks of a folder.
///
/// # Errors
/// When it does not start, gives no answer in time, or answers with an error.
pub fn list(mut client: Command, folder: &Path) -> Result<Vec<Listed>, String> {
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
fn converse(child: &mut Child, folder: &Path) -> Result<Vec<Listed>, String> {
    let (Some(mut to), Some(from)) = (child.stdin.take(), child.stdout.take()) else {
        return Err("it has no streams".to_owned());
    };
    let questions = [
        json!({"jsonrpc": "2.0", "id": 1, "method": "initialize",
            "params": {"clientInfo": {"name": "tripwire", "title": "tripwire", "version": env!("CARGO_PKG_VERSION")}}}),
        json!({"jsonrpc": "2.0", "method": "initialized", "params": {}}),
        json!({"jsonrpc": "2.0", "id": 2, "method": "hooks/list", "params": {"cwds": [folder]}}),
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
        if let Some(answer) = answer(&line) {
            return answer;
        }
    }
}

/// The answer to the question, if the line is it.
fn answer(line: &str) -> Option<Result<Vec<Listed>, String>> {
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
    match serde_json::from_str::<Message>(line) {
        Ok(Message { id: Some(2), result: Some(data), .. }) => {
            Some(Ok(data.data.into_iter().flat_map(|folder| folder.hooks).collect()))
        }
        Ok(Message { id: Some(2), error: Some(error), .. }) => Some(Err(error.to_string())),
        Ok(_) | Err(_) => None,
    }
}
