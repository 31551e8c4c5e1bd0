//! A workspace, a tool server behind the guard, and a client that writes and reads lines.

use crate::hooks::fixture::{HookFixture, fixture};
use serde_json::{Value, json};
use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, Output};
use std::sync::mpsc::{self, Receiver};
use std::time::Duration;
use tripwire_testing::write_program;

/// Longer than any answer takes.
pub(crate) const SOON: Duration = Duration::from_secs(120);
/// Long enough to see that nothing comes.
pub(crate) const A_WHILE: Duration = Duration::from_millis(700);

/// Keeps every line as it came, and finds the id in it.
const READ: &str = r#"#!/bin/sh
while IFS= read -r line; do
  printf '%s\n' "$line" >> LOG
  id=$(printf '%s' "$line" | sed -n 's/.*"id" *: *\("[^"]*"\|[0-9.]*\).*/\1/p')
  case "$line" in
"#;

/// Answers each request with a text. The answer's spacing is its own.
const ANSWER: &str = r#"    *'"die"'*) exit 3 ;;
    *'"silent"'*) continue ;;
    *'"noise"'*) echo 'this is no JSON' ; echo '{"id":'"$id"',"result":{},"result":{}}' ; continue ;;
    *tools/list*) cat LIST | sed "s/\"ID\"/$id/" ; continue ;;
    *'"fails"'*) text='"content":[{"type":"text","text":"no such thing"}],"isError":true' ;;
    *) text='"content":[ {"type":"text","text":"fine"} ]' ;;
  esac
  [ -n "$id" ] && printf '{"jsonrpc":"2.0", "id":%s,"result" : {%s}}\n' "$id" "$text"
done
"#;

/// A workspace with a server.
pub(crate) struct McpFixture {
    pub(crate) hooks: HookFixture,
}

pub(crate) fn server() -> McpFixture {
    server_of(&format!("{READ}{ANSWER}"))
}

/// A server that answers by these branches of a shell's `case`, in which `$line` is the message and `$id` its id.
pub(crate) fn server_of_cases(cases: &str) -> McpFixture {
    server_of(&format!("{READ}{cases}  esac\ndone\n"))
}

/// A workspace with this server; `LOG` and `LIST` in it are files beside it.
pub(crate) fn server_of(script: &str) -> McpFixture {
    let hooks = fixture("claude");
    let fixture = McpFixture { hooks };
    let script = script.replace("LOG", &fixture.path("log").display().to_string());
    let script = script.replace("LIST", &fixture.path("list").display().to_string());
    write_program(&fixture.path("server"), &script).unwrap();
    fixture
}

impl McpFixture {
    /// A file beside the workspace.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.hooks.root().parent().unwrap().join(name)
    }

    /// What reached the server.
    pub(crate) fn log(&self) -> String {
        fs::read_to_string(self.path("log")).unwrap_or_default()
    }

    pub(crate) fn command(&self, name: &str) -> Command {
        let server = self.path("server").display().to_string();
        let mut command = self.hooks.command(&["mcp", "--name", name, "--", &server]);
        command.env("PATH", "/usr/bin:/bin");
        command
    }

    /// Starts the guard with its server.
    pub(crate) fn start(&self) -> McpClient {
        McpClient::of(self.command("demo").spawn().unwrap())
    }

    /// Another command in this workspace.
    pub(crate) fn tripwire(&self, words: &[&str]) -> Output {
        self.hooks.command(words).output().unwrap()
    }

    pub(crate) fn text_of(&self, words: &[&str]) -> String {
        let Output { stdout, stderr, .. } = self.tripwire(words);
        String::from_utf8_lossy(&stdout).into_owned() + &String::from_utf8_lossy(&stderr)
    }

    /// All records of all sessions, as text.
    pub(crate) fn journal(&self) -> String {
        let folder = self.hooks.geometry("journal");
        let sessions = fs::read_dir(folder).map(|entries| entries.filter_map(Result::ok).collect()).unwrap_or(vec![]);
        let files = sessions.iter().flat_map(|session| fs::read_dir(session.path()).unwrap().filter_map(Result::ok));
        let mut text = String::new();
        for file in files.filter(|file| file.path().extension().is_some_and(|ending| ending == "jsonl")) {
            text.push_str(&fs::read_to_string(file.path()).unwrap());
        }
        text
    }

    /// Every session verifies and replays to the same decisions.
    pub(crate) fn verify(&self) {
        for words in [&["verify"][..], &["replay"]] {
            let output = self.tripwire(words);
            assert!(output.status.success(), "{words:?}: {output:?}");
        }
    }
}

/// A client on the guard's standard streams.
pub(crate) struct McpClient {
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<String>,
}

impl McpClient {
    pub(crate) fn of(mut child: Child) -> Self {
        let stdout = child.stdout.take().unwrap();
        let (said, lines) = mpsc::channel();
        std::thread::spawn(move || {
            let mut reader = BufReader::new(stdout);
            let mut line = Vec::new();
            while reader.read_until(b'\n', &mut line).is_ok_and(|count| count > 0) {
                if said.send(String::from_utf8_lossy(&line).into_owned()).is_err() {
                    return;
                }
                line.clear();
            }
        });
        Self { stdin: child.stdin.take(), child, lines }
    }

    /// Writes one line.
    pub(crate) fn say(&mut self, line: &str) {
        self.bytes(format!("{line}\n").as_bytes());
    }

    pub(crate) fn bytes(&mut self, bytes: &[u8]) {
        self.stdin.as_mut().unwrap().write_all(bytes).unwrap();
    }

    /// The next line, as it came.
    pub(crate) fn line(&self) -> String {
        self.lines.recv_timeout(SOON).expect("an answer")
    }

    /// The next line as a message.
    pub(crate) fn answer(&self) -> Value {
        serde_json::from_str(&self.line()).unwrap()
    }

    /// Nothing comes for a while.
    pub(crate) fn hears_nothing(&self) {
        if let Ok(line) = self.lines.recv_timeout(A_WHILE) {
            panic!("{line}");
        }
    }

    /// Calls a tool and takes the answer.
    pub(crate) fn call(&mut self, id: u64, tool: &str, arguments: &Value) -> Value {
        self.say(&call(id, tool, arguments));
        self.answer()
    }

    /// Closes, and gives the exit code and what was said on standard error.
    pub(crate) fn close(mut self) -> (Option<i32>, String) {
        drop(self.stdin.take());
        self.end()
    }

    /// Waits for the end.
    pub(crate) fn end(self) -> (Option<i32>, String) {
        let (status, _, stderr) = tripwire_testing::wait(self.child, SOON);
        (status.code(), stderr)
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }
}

/// A call as a client writes it.
pub(crate) fn call(id: u64, tool: &str, arguments: &Value) -> String {
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": tool, "arguments": arguments}})
        .to_string()
}

/// The text of a tool's result, where it is an error.
pub(crate) fn refusal(answer: &Value) -> Option<String> {
    let is_error = answer["result"]["isError"] == true;
    is_error.then(|| answer["result"]["content"][0]["text"].as_str().unwrap_or_default().to_owned())
}
