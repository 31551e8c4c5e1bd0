//! The ways on with hooks alone, in every client's words: reports that stand, a prompt after a loop, suspension, convergence.

use crate::hooks::fixture::{HookFixture, fixture, run};
use serde_json::{Value, json};
use std::fs;

/// The names of the same moments in the three clients.
struct Words {
    client: &'static str,
    before: &'static str,
    after: &'static str,
    prompt: &'static str,
    done: &'static str,
}

const CLAUDE: Words =
    Words { client: "claude", before: "PreToolUse", after: "PostToolUse", prompt: "UserPromptSubmit", done: "Stop" };
const CODEX: Words = Words { client: "codex", ..CLAUDE };
const GEMINI: Words =
    Words { client: "gemini", before: "BeforeTool", after: "AfterTool", prompt: "BeforeAgent", done: "AfterAgent" };
const ALL: [&Words; 3] = [&CLAUDE, &CODEX, &GEMINI];

struct Client {
    hooks: HookFixture,
    words: &'static Words,
    session: &'static str,
    calls: u32,
}

impl Client {
    fn new(words: &'static Words, manifest: &str) -> Self {
        let hooks = fixture(words.client);
        fs::write(hooks.geometry("MANIFEST.yaml"), format!("gate:\n  cooldown_duration_ms: 200\n{manifest}")).unwrap();
        let client = Self { hooks, words, session: "one", calls: 0 };
        client.tripwire(&["arm", "--project"]);
        client
    }

    fn tripwire(&self, words: &[&str]) -> (i32, String) {
        let output = run(self.hooks.command(words), b"");
        (output.status.code().unwrap_or(-1), String::from_utf8_lossy(&output.stdout).into_owned())
    }

    /// What the hook answers, and whether that holds the client back.
    fn says(&self, event: &str, more: Value) -> (bool, String) {
        let mut more = more;
        more["session_id"] = json!(self.session);
        let output = self.hooks.call(event, &more);
        let text = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        let words = [r#""deny""#, r#""block""#, r#""continue":false"#];
        (output.status.code() == Some(2) || words.iter().any(|word| text.contains(word)), text)
    }

    fn prompt(&self) -> (bool, String) {
        self.says(self.words.prompt, json!({"prompt": "do something else"}))
    }

    fn done(&self) -> (bool, String) {
        self.says(self.words.done, json!({}))
    }

    /// A shell call with its result.
    fn shell(&mut self, command: &str, output: &str) -> (bool, String) {
        self.calls += 1;
        let tool = if self.words.client == "gemini" { "run_shell_command" } else { "Bash" };
        let call =
            json!({"tool_name": tool, "tool_input": {"command": command}, "tool_use_id": format!("t{}", self.calls)});
        let (refused, text) = self.says(self.words.before, call.clone());
        if refused {
            return (true, text);
        }
        let mut call = call;
        call["tool_response"] = match self.words.client {
            "gemini" => json!({"llmContent": output, "returnDisplay": output}),
            "codex" => json!(output),
            _ => json!({"stdout": output, "stderr": "", "interrupted": false}),
        };
        let (_, text) = self.says(self.words.after, call);
        (text.contains(r#""continue":false"#), text)
    }

    fn loops(&mut self) {
        for _ in 0..6 {
            if self.shell("cat a.txt", "same\n").0 {
                return;
            }
        }
        panic!("{}: the loop was not refused", self.words.client);
    }
}

#[test]
fn prog_1_a_new_session_of_any_client_waits_while_a_report_stands() {
    for words in ALL {
        let mut client = Client::new(words, "profile: strict\n");
        assert!(!client.prompt().0, "{}: nothing stands yet", words.client);
        client.loops();
        assert!(client.hooks.geometry("BLOCKER_REPORT.md").exists());
        client.session = "two";
        let (refused, text) = client.prompt();
        assert!(refused && text.contains("tripwire ack blocker"), "{}: {text}", words.client);
        assert!(client.shell("ls", "a\n").0, "{}", words.client);
        client.tripwire(&["ack"]);
        assert!(!client.prompt().0 && !client.shell("ls", "a\n").0, "{}: it was read", words.client);
    }
}

#[test]
fn prog_1_a_session_that_runs_already_is_not_held_by_anothers_report() {
    let mut client = Client::new(&CLAUDE, "profile: strict\n");
    client.session = "two";
    client.prompt();
    client.session = "one";
    client.prompt();
    client.loops();
    client.session = "two";
    assert!(!client.prompt().0 && !client.shell("ls", "a\n").0);
}

#[test]
fn loop_1_a_persons_next_prompt_goes_on_after_a_loop_and_says_so_in_the_journal() {
    for words in ALL {
        let mut client = Client::new(words, "");
        client.prompt();
        client.loops();
        assert!(client.shell("cat a.txt", "same\n").0, "{}: without a word it stays refused", words.client);
        let (refused, text) = client.prompt();
        assert!(!refused, "{}: {text}", words.client);
        assert!(!client.hooks.geometry("BLOCKER_REPORT.md").exists(), "who goes on has seen it");
        assert!(!client.shell("ls src", "b\n").0, "{}", words.client);
        let log = client.tripwire(&["log"]).1;
        assert!(log.contains("a person spoke again after a loop") || log.contains("prompt"), "{log}");
    }
}

#[test]
fn log_3_a_loop_that_ends_a_clients_turn_leaves_its_frozen_replay_and_one_that_works_has_none_yet() {
    for words in ALL {
        let mut client = Client::new(words, "");
        client.prompt();
        client.shell("ls src", "b\n");
        let replays = || fs::read_dir(client.hooks.geometry("replays")).map_or(0, Iterator::count);
        assert_eq!(replays(), 0, "{}", words.client);
        client.loops();
        let replays = || fs::read_dir(client.hooks.geometry("replays")).map_or(0, Iterator::count);
        assert_eq!(replays(), 1, "{}", words.client);
        let (code, told) = client.tripwire(&["replay"]);
        assert!(code == 0 && told.contains("equal"), "{}: {told}", words.client);
    }
}

#[test]
fn gate_4_a_suspended_client_goes_on_after_resume() {
    let mut client = Client::new(&CLAUDE, "health:\n  soft_suspend_threshold: 0.75\n");
    client.prompt();
    let mut refused = false;
    for n in 0..14 {
        let call = json!({"tool_name": "Bash", "tool_input": {"command": format!("mak{}", "e".repeat(n + 1))}, "tool_use_id": format!("u{n}")});
        refused = client.says("PreToolUse", call.clone()).0;
        if refused {
            break;
        }
        let mut call = call;
        call["error"] = json!(format!("Exit code 127\nmak{}: command not found", "e".repeat(n + 1)));
        client.says("PostToolUseFailure", call);
    }
    assert!(refused, "calls that cannot run suspend the session");
    assert_eq!(client.tripwire(&["status"]).0, 5);
    assert_eq!(client.tripwire(&["resume"]).0, 0);
    assert!(!client.shell("ls", "a\n").0);
}

#[test]
fn perm_1_three_turns_that_leave_the_workspace_as_it_was_converge_under_every_client() {
    for words in ALL {
        let turns = |manifest: &str, change: bool| {
            let mut client = Client::new(words, manifest);
            let mut refused = Vec::new();
            for n in 0..4 {
                refused.push(client.prompt().0);
                client.shell(&format!("echo {n}"), &format!("{n}\n"));
                if change {
                    fs::write(client.hooks.root().join(format!("made{n}.txt")), "x").unwrap();
                }
                client.done();
            }
            refused
        };
        let on = "limits:\n  stop_on_convergence: true\n";
        assert_eq!(turns(on, false), [false, false, false, true], "{}", words.client);
        assert_eq!(turns(on, true), [false; 4], "{}: it moves", words.client);
        assert_eq!(turns("", false), [false; 4], "{}: nobody asked for it", words.client);
    }
}

#[test]
fn ctx_1_without_figures_the_lines_of_output_are_counted_and_shown_as_an_estimate() {
    let text: String = (0..300).map(|n| format!("line {n} of the output\n")).collect();
    let story = |profile: &str| {
        let mut client = Client::new(&CLAUDE, profile);
        client.prompt();
        let said: String = (0..4).map(|n| client.shell(&format!("cmd{n}"), &format!("part {n}\n{text}")).1).collect();
        (said, client.tripwire(&["status"]).1)
    };
    let (said, status) = story("profile: strict\n");
    assert!(said.contains("Context at") && said.contains("estimated"), "{said}");
    assert!(status.contains("context 100 % (estimated: no figures)"), "{status}");
    let (said, status) = story("");
    assert!(said.contains("WARNING: Context at") && !said.contains("HARD_BLOCK"), "on evidence it only warns: {said}");
    assert!(status.contains("(estimated: no figures)"), "{status}");
}
