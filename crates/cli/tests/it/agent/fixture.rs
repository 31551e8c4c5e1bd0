//! A workspace, a cassette, and the command with an empty environment.

use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// A workspace with room beside it for cassettes and a home.
pub(crate) struct AgentFixture {
    folder: TempDir,
}

/// How long a run may take before the test itself fails; far beyond what a loaded machine needs.
const PATIENCE: Duration = Duration::from_secs(120);

impl AgentFixture {
    pub(crate) fn new() -> Self {
        let folder = tripwire_testing::folder();
        std::fs::create_dir(folder.path().join("work")).unwrap();
        std::fs::create_dir(folder.path().join("home")).unwrap();
        Self { folder }
    }

    pub(crate) fn work(&self) -> PathBuf {
        self.folder.path().join("work")
    }

    pub(crate) fn geometry(&self) -> PathBuf {
        self.work().join(".geometry")
    }

    pub(crate) fn beside(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn file(&self, name: &str, text: &str) -> &Self {
        let path = self.work().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
        self
    }

    pub(crate) fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.work().join(name)).unwrap_or_default()
    }

    /// Writes a cassette and gives the engine that plays it.
    pub(crate) fn cassette(&self, name: &str, answers: &[Value]) -> String {
        let mut text = json!({"cassette": 1}).to_string() + "\n";
        for answer in answers {
            text += &(answer.to_string() + "\n");
        }
        let path = self.beside(name);
        std::fs::write(&path, text).unwrap();
        format!("scripted:{}", path.display())
    }

    /// The command in the workspace, with nothing of this machine's environment but the programs.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        // With hundreds of agents the program as it is shipped is what counts, and the machine has room for.
        let program = std::env::var_os("TRIPWIRE_AGENT_BINARY");
        let mut command = Command::new(program.unwrap_or_else(|| env!("CARGO_BIN_EXE_tripwire").into()));
        command
            .args(arguments)
            .current_dir(self.work())
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.beside("home"))
            .stdin(Stdio::null());
        command
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> AgentRun {
        AgentRun::of(&self.command(arguments).output().unwrap())
    }

    /// Plays a cassette to its end.
    pub(crate) fn agent(&self, answers: &[Value], more: &[&str]) -> AgentRun {
        let engine = self.cassette("model.jsonl", answers);
        let mut arguments = vec!["agent", "--objective", "reach the aim", "--engine", &engine];
        arguments.extend(more);
        self.run(&arguments)
    }

    /// Starts it and does not wait.
    pub(crate) fn start(&self, answers: &[Value], more: &[&str]) -> Running {
        let engine = self.cassette("model.jsonl", answers);
        let mut arguments = vec!["agent", "--objective", "reach the aim", "--engine", &engine];
        arguments.extend(more);
        Running::of(&mut self.command(&arguments))
    }

    /// The sessions of the workspace.
    pub(crate) fn sessions(&self) -> Vec<String> {
        let Ok(entries) = std::fs::read_dir(self.geometry().join("journal")) else { return Vec::new() };
        let mut names: Vec<String> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    /// The transcript of the only session, as lines.
    pub(crate) fn transcript(&self) -> Vec<Value> {
        lines(&self.transcript_text())
    }

    pub(crate) fn transcript_text(&self) -> String {
        let session = self.sessions().pop().unwrap();
        std::fs::read_to_string(self.geometry().join("transcripts").join(format!("{session}.jsonl"))).unwrap()
    }

    pub(crate) fn safety_log(&self) -> String {
        std::fs::read_to_string(self.geometry().join("safety_log.json")).unwrap_or_default()
    }

    /// The records of the only session's journal.
    pub(crate) fn journal(&self) -> Vec<Value> {
        let Some(session) = self.sessions().pop() else { return Vec::new() };
        let path = self.geometry().join("journal").join(session).join("00000001.jsonl");
        lines(&std::fs::read_to_string(path).unwrap_or_default())
    }
}

fn lines(text: &str) -> Vec<Value> {
    // A reader may see the last line before it is whole.
    text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

/// A process that ends with its test.
pub(crate) struct Running {
    child: Option<Child>,
}

impl Running {
    /// Starts a command.
    pub(crate) fn of(command: &mut Command) -> Self {
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        Self { child: Some(child) }
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.as_ref().unwrap().id()
    }

    /// Waits for its end.
    pub(crate) fn end(mut self) -> AgentRun {
        AgentRun::of(&self.child.take().unwrap().wait_with_output().unwrap())
    }

    pub(crate) fn kill(mut self) {
        let mut child = self.child.take().unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
    }

    pub(crate) fn is_over(&mut self) -> bool {
        self.child.as_mut().unwrap().try_wait().unwrap().is_some()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            drop(child.kill());
            drop(child.wait());
        }
    }
}

/// What a run gave.
#[derive(Debug)]
pub(crate) struct AgentRun {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl AgentRun {
    fn of(output: &Output) -> Self {
        Self {
            code: output.status.code().unwrap_or(-1),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    #[track_caller]
    pub(crate) fn ended(&self, code: i32) -> &Self {
        assert_eq!(self.code, code, "{}\n{}", self.stdout, self.stderr);
        self
    }
}

/// Waits until something holds.
#[track_caller]
pub(crate) fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < PATIENCE, "waited in vain: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// An answer with one call.
pub(crate) fn call(tool: &str, arguments: Value) -> Value {
    json!({"text": format!("I call {tool}."), "calls": [{"tool": tool, "arguments": arguments}], "usage": {"input": 100, "output": 10}})
}

pub(crate) fn shell(command: &str) -> Value {
    call("shell", json!({"command": command}))
}

pub(crate) fn finish() -> Value {
    call("finish", json!({"summary": "done"}))
}

/// The ending of work that changed something and was never tested: refused twice, then released with exit code 4.
pub(crate) fn untested(mut answers: Vec<Value>) -> Vec<Value> {
    answers.extend([finish(), finish(), finish()]);
    answers
}

/// The lines of one kind.
pub(crate) fn of_kind<'a>(transcript: &'a [Value], kind: &str) -> Vec<&'a Value> {
    transcript.iter().filter(|line| line["kind"] == kind).collect()
}

/// Whether a path holds anything of a session.
pub(crate) fn is_untouched(work: &Path) -> bool {
    !work.join(".geometry").exists()
}
