//! Where examples run: folders with a home of their own, in which what a page tells of has happened.

use crate::run::fixture::{RunFixture, TRIPWIRE};
use serde_json::{Value, json};
use std::fs;
use std::io::Write as _;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;
use tripwire_testing::{wait, write_program};

/// The longest that one command of a page may take on a loaded machine.
const TIME_MAX: Duration = Duration::from_secs(60);

/// The code of a held command on every page; the real one depends on the folder.
const CODE_OF_PAGES: &str = "K7Q2-9F";

/// What tells its version and does nothing else.
const VERSION: &str = "case $1 in --version) echo '2.1.0 (Claude Code)'; exit 0 ;; esac\n";

/// An agent that looks, changes a file, runs the tests and says that it is done.
const WORKS: &str = "begin; tool 'grep -c sum src/lib.rs'; tool 'echo fixed > fixed'; tool 'sh test.sh'
    event Stop '\"stop_hook_active\":false'; event Stop '\"stop_hook_active\":true'; event SessionEnd '\"reason\":\"other\"'; exit 0";

/// An agent that runs the same failing test again and again.
const LOOPS: &str = "begin; for i in 1 2 3 4 5 6 7 8 9; do tool 'sh test.sh'; done; sleep 60";

/// A folder in which examples run.
pub(crate) struct ExamplePlace {
    fixture: RunFixture,
    code: Option<String>,
}

impl ExamplePlace {
    /// A place by its name in the pages.
    pub(crate) fn named(name: &str, root: &Path) -> Option<Self> {
        let mut place = Self::folder();
        match name {
            // A repository with one commit and a test that fails.
            "folder" => {}
            // The same with a change that is not committed.
            "dirty" => place.write("src/lib.rs", "pub fn sum() -> u32 {\n    2\n}\n"),
            // The same with a client that fixes it.
            "claude" => place.client(WORKS),
            // The same with a client that loops.
            "loop" => place.client(LOOPS),
            // A session of hooks that was held in a loop, with limits that can be changed.
            "session" => place.looped(),
            // A session of hooks whose last step deleted work.
            "lost" => place.lost(),
            // A command that waits for an answer.
            "held" => place.held(),
            // A checkout of this repository, as far as its scenarios.
            "repository" => symlink(root.join("scenarios"), place.path("scenarios")).unwrap(),
            _ => return None,
        }
        Some(place)
    }

    /// Runs a line of a page; both streams are one, as on a terminal.
    pub(crate) fn run(&self, line: &str) -> (Option<i32>, String) {
        let line = self.code.as_deref().map_or_else(|| line.to_owned(), |code| line.replace(CODE_OF_PAGES, code));
        let child =
            self.command("sh").args(["-c", &format!("exec 2>&1\n{line}")]).stdout(Stdio::piped()).spawn().unwrap();
        let (status, said, _) = wait(child, TIME_MAX);
        let said = self.code.as_deref().map_or_else(|| said.clone(), |code| said.replace(code, CODE_OF_PAGES));
        (status.code(), said)
    }

    fn folder() -> Self {
        let place = Self { fixture: RunFixture::new(""), code: None };
        let tools = place.fixture.client().parent().unwrap().to_owned();
        fs::remove_file(place.fixture.client()).unwrap();
        symlink(TRIPWIRE, tools.join("tripwire")).unwrap();
        // What `cargo test` is in this folder.
        write_program(&tools.join("cargo"), "#!/bin/sh\n[ \"$1\" = test ] && exec sh test.sh\nexit 101\n").unwrap();
        place.write("src/lib.rs", "pub fn sum() -> u32 {\n    1\n}\n");
        place.write("test.sh", "test -f fixed && echo 'ok: 5 passed' || { echo 'FAILED: 2 failed'; exit 1; }\n");
        place.write("TASK.md", "Make the tests pass.\n");
        place.git(&["init", "-q", "-b", "main"]);
        place.git(&["add", "-A"]);
        place.git(&["-c", "user.name=ada", "-c", "user.email=ada@example.com", "commit", "-qm", "begin"]);
        place
    }

    fn client(&self, script: &str) {
        self.fixture.add_client("claude", &format!("{VERSION}{script}"));
    }

    fn looped(&self) {
        self.write(
            ".geometry/MANIFEST.yaml",
            "money:\n  budget_micro_usd: 5000000\nlimits:\n  max_session_runtime_ms: 3600000\n",
        );
        self.person(&["arm"]);
        self.hook("SessionStart", &json!({"source": "startup"}));
        for number in 0..4 {
            self.call(&format!("grep -n sum{number} src/lib.rs"), &format!("{number}: found {number}"));
        }
        for _ in 0..6 {
            self.call("kubectl get pods -n prod", "web-1 Pending");
        }
    }

    fn lost(&self) {
        for name in ["1.md", "2.md"] {
            self.write(&format!("drafts/{name}"), "hours of work\n");
        }
        self.write("clean.sh", "rm -r drafts\n");
        self.hook("SessionStart", &json!({"source": "startup"}));
        let call = bash("sh clean.sh");
        self.hook("PreToolUse", &call);
        assert!(self.command("sh").arg("clean.sh").status().unwrap().success());
        self.hook("PostToolUse", &with_output(call, ""));
    }

    fn held(&mut self) {
        for name in ["a", "b", "c"] {
            self.write(&format!("data/{name}"), "work\n");
        }
        self.hook("SessionStart", &json!({"source": "startup"}));
        self.hook("PreToolUse", &bash("rm -r data"));
        let (_, listed) = self.run("tripwire approvals --json");
        let first: Value = listed.lines().find_map(|line| serde_json::from_str(line).ok()).unwrap();
        self.code = Some(first["id"].as_str().unwrap().to_owned());
    }

    /// A call of the agent, as hooks see it; a call that is refused has no result.
    fn call(&self, command: &str, output: &str) {
        let call = bash(command);
        if !self.hook("PreToolUse", &call).contains("deny") {
            self.hook("PostToolUse", &with_output(call, output));
        }
    }

    fn hook(&self, event: &str, more: &Value) -> String {
        let place = self.fixture.place();
        let record = self.fixture.home().join("transcript.jsonl");
        let mut input = json!({"session_id": "s1", "transcript_path": record, "cwd": place, "hook_event_name": event});
        input.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let mut child = self
            .command(TRIPWIRE)
            .args(["hook", "claude"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(input.to_string().as_bytes()).unwrap();
        let (_, said, _) = wait(child, TIME_MAX);
        said
    }

    fn person(&self, words: &[&str]) {
        let status = self.command(TRIPWIRE).args(words).stdout(Stdio::null()).stderr(Stdio::null()).status().unwrap();
        assert!(status.success(), "{words:?}");
    }

    fn git(&self, words: &[&str]) {
        assert!(self.command("git").args(words).status().unwrap().success(), "{words:?}");
    }

    fn command(&self, program: &str) -> Command {
        let tools = self.fixture.client().parent().unwrap().to_owned();
        let mut command = Command::new(program);
        command.current_dir(self.fixture.place()).env_clear().env("HOME", self.fixture.home());
        command.env("PATH", format!("{}:/usr/local/bin:/usr/bin:/bin", tools.display()));
        command.env("USER", "ada").stdin(Stdio::null());
        command
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        self.fixture.place().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
}

fn bash(command: &str) -> Value {
    json!({"tool_name": "Bash", "tool_input": {"command": command}, "tool_use_id": command})
}

fn with_output(mut call: Value, output: &str) -> Value {
    call["tool_response"] = json!({"stdout": output, "stderr": ""});
    call
}
