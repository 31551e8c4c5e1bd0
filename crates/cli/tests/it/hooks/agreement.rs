//! `scan` and the live hooks read one transcript in one way: what would have been stopped is stopped, and at the same call.

use crate::hooks::fixture::{HookFixture, fixture};
use serde_json::{Value, json};
use std::fs;

/// What came of a call.
#[derive(Clone, Copy)]
enum Came {
    /// It ran, and its hook said so.
    Result(&'static str),
    /// The client denied it: its hook heard nothing.
    Denied(&'static str),
}

type Story = Vec<(String, Came)>;

/// How the clients write down calls and results.
struct Dialect {
    client: &'static str,
    events: [&'static str; 3],
    folder: &'static str,
    file: &'static str,
    prompt: fn() -> Vec<Value>,
    asked: fn(usize, &str) -> Vec<Value>,
    answered: fn(usize, &str, Came) -> Vec<Value>,
    hook: fn(usize, &str) -> Value,
    response: fn(&str) -> Value,
}

fn at(n: usize) -> String {
    format!("2026-11-15T00:{:02}:{:02}.000Z", n * 20 / 60, n * 20 % 60)
}

fn claude() -> Dialect {
    Dialect {
        client: "claude",
        events: ["UserPromptSubmit", "PreToolUse", "PostToolUse"],
        folder: ".claude/projects/-w",
        file: "a.jsonl",
        prompt: || vec![json!({"type": "user", "sessionId": "s", "message": {"role": "user", "content": "go"}})],
        asked: |n, command| {
            let block =
                json!({"type": "tool_use", "id": format!("t{n}"), "name": "Bash", "input": {"command": command}});
            vec![json!({"type": "assistant", "timestamp": at(n), "message": {"id": format!("m{n}"), "content": [block],
                "model": "claude-opus-4-5", "usage": {"input_tokens": 10, "output_tokens": 1}}})]
        },
        answered: |n, _, came| {
            let (text, failed) = match came {
                Came::Result(text) => (text, false),
                Came::Denied(text) => (text, true),
            };
            let result =
                json!({"type": "tool_result", "tool_use_id": format!("t{n}"), "content": text, "is_error": failed});
            vec![json!({"type": "user", "timestamp": at(n), "message": {"content": [result]}})]
        },
        hook: |n, command| json!({"tool_name": "Bash", "tool_input": {"command": command}, "tool_use_id": format!("t{n}")}),
        response: |text| json!({"stdout": text, "stderr": ""}),
    }
}

fn codex() -> Dialect {
    Dialect {
        client: "codex",
        folder: ".codex/sessions/2026/11/15",
        file: "rollout-a.jsonl",
        prompt: || {
            vec![
                json!({"type": "session_meta", "payload": {"id": "s"}}),
                json!({"type": "turn_context", "payload": {"model": "gpt-5"}}),
                json!({"type": "event_msg", "payload": {"type": "user_message", "message": "go"}}),
            ]
        },
        asked: |n, command| {
            let arguments = json!({ "cmd": command }).to_string();
            vec![json!({"timestamp": at(n), "type": "response_item", "payload": {"type": "function_call",
                "name": "exec_command", "arguments": arguments, "call_id": format!("t{n}")}})]
        },
        answered: |n, _, came| {
            let output = match came {
                Came::Result(text) => {
                    format!("Chunk ID: {n:06x}\nWall time: 0.{n} seconds\nProcess exited with code 0\nOutput:\n{text}")
                }
                Came::Denied(text) => format!("exec_command failed: {text}"),
            };
            vec![json!({"type": "response_item", "payload":
                {"type": "function_call_output", "call_id": format!("t{n}"), "output": output}})]
        },
        response: |text| json!(text),
        ..claude()
    }
}

fn gemini() -> Dialect {
    Dialect {
        client: "gemini",
        events: ["BeforeAgent", "BeforeTool", "AfterTool"],
        folder: ".gemini/tmp/w/chats",
        file: "session-a.jsonl",
        prompt: || vec![json!({"id": "u", "timestamp": at(0), "type": "user", "content": [{"text": "go"}]})],
        asked: |_, _| Vec::new(),
        answered: |n, command, came| {
            let (status, response) = match came {
                Came::Result(text) => ("success", json!({ "output": text })),
                Came::Denied(text) => ("cancelled", json!({ "error": text })),
            };
            vec![json!({"id": format!("g{n}"), "timestamp": at(n), "type": "gemini", "content": "",
                "model": "gemini-2.5-pro", "toolCalls": [{"id": format!("f{n}"), "name": "run_shell_command",
                "args": {"command": command}, "status": status, "timestamp": at(n),
                "result": [{"functionResponse": {"response": response}}]}]})]
        },
        hook: |_, command| json!({"tool_name": "run_shell_command", "tool_input": {"command": command}}),
        response: |text| json!({ "llmContent": text }),
    }
}

fn refused(answer: &Value) -> bool {
    let text = answer.to_string();
    // An override takes the place of a result in the words of a refusal, and refuses nothing.
    if text.contains("LOOP_OVERRIDE") && !text.contains("\"deny\"") {
        return false;
    }
    text.contains("\"deny\"") || text.contains("\"continue\":false") || text.contains("\"decision\":\"block\"")
}

/// The call at which the live hooks end the story.
fn live(dialect: &Dialect, story: &Story, fixture: &HookFixture) -> Option<usize> {
    let [prompt, before, after] = dialect.events;
    let write = |lines: Vec<Value>| lines.iter().for_each(|line| fixture.said(line));
    write((dialect.prompt)());
    fixture.answer(prompt, &json!({"prompt": "go"}));
    for (n, (command, came)) in story.iter().enumerate() {
        write((dialect.asked)(n, command));
        let mut call = (dialect.hook)(n, command);
        if refused(&fixture.answer(before, &call)) {
            return Some(n);
        }
        if let Came::Result(text) = came {
            call["tool_response"] = (dialect.response)(text);
            if refused(&fixture.answer(after, &call)) {
                return Some(n);
            }
        }
        write((dialect.answered)(n, command, *came));
    }
    None
}

/// The call at which `scan` would have held or stopped the same story.
fn scanned(dialect: &Dialect, story: &Story, fixture: &HookFixture) -> Option<usize> {
    let lines = (0..)
        .zip(story)
        .flat_map(|(n, (command, came))| [(dialect.asked)(n, command), (dialect.answered)(n, command, *came)].concat());
    let text: String = (dialect.prompt)().into_iter().chain(lines).map(|line| format!("{line}\n")).collect();
    let folder = fixture.transcript().with_file_name("").join(dialect.folder);
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join(dialect.file), text).unwrap();
    let output = fixture.command(&["scan", "--json", "--client", dialect.client]).output().unwrap();
    let text = String::from_utf8(output.stdout.clone()).unwrap();
    let line: Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
    let levels = &line["levels"];
    assert!(levels.is_object(), "{output:?}");
    let first = ["hold", "stop"].iter().filter_map(|level| levels[*level].as_u64()).min();
    first.map(|index| usize::try_from(index).unwrap())
}

fn same(command: &str, came: Came, count: usize) -> Story {
    vec![(command.to_owned(), came); count]
}

/// What users' agents do, each in a few calls.
fn stories() -> Vec<(&'static str, Story)> {
    const NO: Came = Came::Denied("This command requires approval");
    let various = |came: Came| (0..12).map(|n| (format!("cat part{n}.txt"), came)).collect::<Story>();
    let mut patient = same("curl x", NO, 2);
    patient.extend(various(Came::Result("words")).into_iter().take(6));
    let turns = (0..16).map(|n| {
        let (command, text) = if n % 2 == 0 { ("cat a.txt", "alpha") } else { ("cat b.txt", "beta") };
        (command.to_owned(), Came::Result(text))
    });
    let words = ["one", "two", "three", "four", "five", "six", "seven", "eight"];
    let polled = words.map(|word| ("gh run view".to_owned(), Came::Result(word)));
    vec![
        ("one call is denied again and again", same("curl x", NO, 12)),
        ("one call brings the same again and again", same("make", Came::Result("no rule"), 12)),
        ("two commands by turns", turns.collect()),
        ("different calls are denied", various(NO)),
        ("two denied calls, then work", patient),
        ("different files are read", various(Came::Result("words")).into_iter().take(8).collect()),
        ("a poll whose answer changes", polled.to_vec()),
    ]
}

#[test]
fn loop_6_scan_and_live_hooks_agree_on_every_story_in_every_dialect() {
    for dialect in [claude(), codex(), gemini()] {
        for (name, story) in stories() {
            let fixture = fixture(dialect.client);
            let (live, scanned) = (live(&dialect, &story, &fixture), scanned(&dialect, &story, &fixture));
            let client = dialect.client;
            // What the client denies is known with the next question: one call later at most.
            let agree = match (live, scanned) {
                (Some(live), Some(scanned)) => live == scanned || live == scanned + 1,
                (None, None) => true,
                (Some(_), None) | (None, Some(_)) => false,
            };
            assert!(agree, "{client}: {name}: live at call {live:?}, scan at call {scanned:?}");
        }
    }
}
