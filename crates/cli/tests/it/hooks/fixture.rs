//! A workspace, and a hook that is called in it as a client would.

use serde_json::{Value, json};
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

pub(crate) const TRIPWIRE: &str = env!("CARGO_BIN_EXE_tripwire");

/// A workspace with a home beside it.
pub(crate) struct HookFixture {
    folder: tempfile::TempDir,
    client: &'static str,
}

/// A workspace in which this client works.
pub(crate) fn fixture(client: &'static str) -> HookFixture {
    let folder = tripwire_testing::folder();
    fs::create_dir_all(folder.path().join("work/.geometry")).unwrap();
    fs::create_dir(folder.path().join("home")).unwrap();
    HookFixture { folder, client }
}

impl HookFixture {
    pub(crate) fn root(&self) -> PathBuf {
        self.folder.path().join("work")
    }

    /// A file of `.geometry/`.
    pub(crate) fn geometry(&self, name: &str) -> PathBuf {
        self.root().join(".geometry").join(name)
    }

    pub(crate) fn transcript(&self) -> PathBuf {
        self.folder.path().join("home/transcript.jsonl")
    }

    pub(crate) fn log(&self) -> String {
        fs::read_to_string(self.geometry("safety_log.json")).unwrap_or_default()
    }

    /// Appends a line to the client's transcript.
    pub(crate) fn said(&self, line: &Value) {
        let mut file = fs::OpenOptions::new().create(true).append(true).open(self.transcript()).unwrap();
        writeln!(file, "{line}").unwrap();
    }

    /// The command, as the client starts it.
    pub(crate) fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(TRIPWIRE);
        command
            .args(words)
            .current_dir(self.root())
            .env_clear()
            .env("HOME", self.folder.path().join("home"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    /// Calls the hook with these bytes.
    pub(crate) fn raw(&self, input: &[u8]) -> Output {
        run(self.command(&["hook", self.client]), input)
    }

    /// The input of an event.
    pub(crate) fn input(&self, event: &str, more: &Value) -> Value {
        let mut input = json!({
            "session_id": "a1", "transcript_path": self.transcript(), "cwd": self.root(), "hook_event_name": event,
            "a_field_of_tomorrow": {"is": ["ignored"]},
        });
        input.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        input
    }

    /// Calls the hook for an event.
    pub(crate) fn call(&self, event: &str, more: &Value) -> Output {
        self.raw(self.input(event, more).to_string().as_bytes())
    }

    /// Calls the hook for an event and takes its answer as JSON; nothing said is null.
    pub(crate) fn answer(&self, event: &str, more: &Value) -> Value {
        let output = self.call(event, more);
        assert!(output.status.success(), "{output:?}");
        if output.stdout.is_empty() { Value::Null } else { serde_json::from_slice(&output.stdout).unwrap() }
    }
}

/// Runs a command with this input.
pub(crate) fn run(mut command: Command, input: &[u8]) -> Output {
    let mut child = command.spawn().unwrap();
    // A hook that refuses without reading has closed its end already.
    child.stdin.take().unwrap().write_all(input).ok();
    child.wait_with_output().unwrap()
}

/// A shell call in Claude Code's and Codex's words.
pub(crate) fn shell(command: &str) -> Value {
    json!({"tool_name": "Bash", "tool_input": {"command": command}, "tool_use_id": "t"})
}

/// Whether a file is missing.
pub(crate) fn is_missing(path: &Path) -> bool {
    !path.exists()
}
