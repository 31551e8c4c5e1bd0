//! A workspace, a throw-away home and a client made of a shell script.

use serde_json::Value;
use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};
use tripwire_testing::write_program;

pub(crate) const TRIPWIRE: &str = env!("CARGO_BIN_EXE_tripwire");
/// The longest that anything here may take on a loaded machine.
const TIME_MAX: Duration = Duration::from_secs(120);

/// The client's own half: how it finds its hook, and how it tells it of a tool call.
const PRELUDE: &str = r#"#!/bin/sh
guard=$(dirname "$2")
record="$HOME/transcript.jsonl"
session=$(date +%s%N)
n=0
event() {
  printf '{"session_id":"%s","transcript_path":"%s","cwd":"%s","hook_event_name":"%s"%s}' \
    "$session" "$record" "$PWD" "$1" "${2:+,$2}" | "$guard/tripwire" hook claude
}
begin() { event SessionStart '"source":"startup"'; event UserPromptSubmit '"prompt":"Do the task."'; }
finish() { event Stop '"stop_hook_active":false'; event SessionEnd '"reason":"other"'; }
tool() {
  n=$((n + 1))
  input="\"tool_name\":\"Bash\",\"tool_input\":{\"command\":\"$1\"},\"tool_use_id\":\"t$n\""
  answer=$(event PreToolUse "$input") || return 2
  case $answer in *'"deny"'*) echo "$answer" >> "$HOME/refused"; return 1 ;; esac
  out=$(sh -c "$1" 2>&1)
  event PostToolUse "$input,\"tool_response\":{\"stdout\":\"$out\",\"stderr\":\"\"},\"duration_ms\":1" >> "$HOME/told"
}
"#;

/// Where a test takes place.
pub(crate) struct RunFixture {
    place: tempfile::TempDir,
    home: tempfile::TempDir,
    tools: tempfile::TempDir,
}

/// A run that has ended.
pub(crate) struct RunEnd {
    /// The exit code.
    pub(crate) code: Option<i32>,
    /// The client's own output.
    pub(crate) stdout: String,
    /// Everything that was said.
    pub(crate) stderr: String,
    /// The report; null if nothing was started.
    pub(crate) report: Value,
}

impl RunEnd {
    fn of(output: &Output) -> Self {
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        let report = stderr.lines().rev().find_map(|line| serde_json::from_str::<Value>(line).ok()).unwrap_or_default();
        let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
        Self { code: output.status.code(), stdout, stderr, report }
    }

    /// The run ended with this code and left nobody behind.
    pub(crate) fn ended(&self, code: i32) {
        assert_eq!(self.code, Some(code), "{}", self.stderr);
        assert_eq!(self.report["exit"], code, "{}", self.stderr);
        assert_eq!(self.report["receipt"]["survivors"], 0, "{}", self.stderr);
    }
}

impl RunFixture {
    /// A client that does this.
    pub(crate) fn new(script: &str) -> Self {
        let fixture = Self {
            place: tripwire_testing::folder(),
            home: tripwire_testing::folder(),
            tools: tripwire_testing::folder(),
        };
        fixture.add_client("claude", script);
        fixture
    }

    /// Another client beside it.
    pub(crate) fn add_client(&self, name: &str, script: &str) -> PathBuf {
        let program = self.tools.path().join(name);
        fs::create_dir_all(program.parent().unwrap()).unwrap();
        write_program(&program, &format!("{PRELUDE}{script}\n")).unwrap();
        program
    }

    /// The client's program.
    pub(crate) fn client(&self) -> PathBuf {
        self.tools.path().join("claude")
    }

    /// The workspace.
    pub(crate) fn place(&self) -> &Path {
        self.place.path()
    }

    /// The throw-away home.
    pub(crate) fn home(&self) -> &Path {
        self.home.path()
    }

    /// A file of the throw-away home; empty if it is not there.
    pub(crate) fn home_text(&self, name: &str) -> String {
        fs::read_to_string(self.home.path().join(name)).unwrap_or_default()
    }

    /// A file of `.geometry/`.
    pub(crate) fn geometry(&self, name: &str) -> PathBuf {
        self.place().join(".geometry").join(name)
    }

    /// A verb of ours in the workspace, with the throw-away home.
    pub(crate) fn verb(&self, words: &[&str]) -> Command {
        let mut command = Command::new(TRIPWIRE);
        command.args(words).current_dir(self.place()).env_clear().env("HOME", self.home.path());
        command.env("PATH", "/usr/local/bin:/usr/bin:/bin");
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// The client under the guard.
    pub(crate) fn command(&self, flags: &[&str]) -> Command {
        self.told(flags, &["-p", "Do the task."])
    }

    /// The client under the guard, with words of its own.
    fn told(&self, flags: &[&str], words: &[&str]) -> Command {
        let mut command = self.verb(&["run", "--json"]);
        command.args(flags).arg("--").arg(self.tools.path().join("claude")).args(words);
        command
    }

    /// Runs the client with these words to its end.
    pub(crate) fn run_with(&self, words: &[&str]) -> RunEnd {
        finish(self.told(&[], words).spawn().unwrap())
    }

    /// Runs the client to its end.
    pub(crate) fn run(&self, flags: &[&str]) -> RunEnd {
        let child = self.command(flags).spawn().unwrap();
        finish(child)
    }

    /// Waits until the client has made this file in the workspace.
    pub(crate) fn wait_for(&self, name: &str) {
        wait_until(&format!("`{name}`"), || self.place().join(name).exists());
    }
}

/// Waits until something holds.
pub(crate) fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    let start = Instant::now();
    while !holds() {
        assert!(start.elapsed() < TIME_MAX, "{what} did not come");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Waits for a run to end.
pub(crate) fn finish(mut child: Child) -> RunEnd {
    let read = |pipe: Option<Box<dyn std::io::Read + Send>>| {
        std::thread::spawn(move || {
            let mut bytes = Vec::new();
            pipe.map(|mut pipe| pipe.read_to_end(&mut bytes));
            bytes
        })
    };
    let stdout = read(child.stdout.take().map(|pipe| Box::new(pipe) as _));
    let stderr = read(child.stderr.take().map(|pipe| Box::new(pipe) as _));
    let start = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        if start.elapsed() > TIME_MAX {
            child.kill().unwrap();
        }
        std::thread::sleep(Duration::from_millis(10));
    };
    RunEnd::of(&Output { status, stdout: stdout.join().unwrap(), stderr: stderr.join().unwrap() })
}

/// Processes whose command line holds this word.
pub(crate) fn alive(word: &str) -> usize {
    let entries = fs::read_dir("/proc").unwrap().filter_map(Result::ok);
    let lines = entries.filter_map(|entry| fs::read(entry.path().join("cmdline")).ok());
    lines.filter(|line| String::from_utf8_lossy(line).contains(word)).count()
}

/// Reads a whole pipe; for verbs that end at once.
pub(crate) fn output(mut command: Command) -> (Option<i32>, String) {
    let mut child = command.spawn().unwrap();
    let mut text = String::new();
    child.stdout.take().unwrap().read_to_string(&mut text).unwrap();
    child.stderr.take().unwrap().read_to_string(&mut text).unwrap();
    (child.wait().unwrap().code(), text)
}
