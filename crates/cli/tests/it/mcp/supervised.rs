//! Tool servers of a client under `tripwire run`: the supervisor answers, and a call that a hook announced counts once.

use super::fixture::call;
use crate::run::fixture::{RunFixture, TRIPWIRE, finish};
use serde_json::json;
use std::fs;
use tripwire_testing::write_program;

/// The client asks its server in this way; the pipe stays open until the answer came.
const ASK: &str = r#"
ask() { said "$1" | "$TRIPWIRE" mcp --name demo -- "$SERVER" >> "$HOME/answers" 2>> "$HOME/notes"; }
"#;

/// Says a line and keeps the pipe open until one more answer is there, however slow the machine is; at most two minutes.
const SAID: &str = r#"
: >> "$HOME/answers"
said() {
  before=$(wc -l < "$HOME/answers"); waited=0
  printf '%s\n' "$1"
  while [ "$(wc -l < "$HOME/answers")" -le "$before" ] && [ "$waited" -lt 1200 ]; do sleep 0.1; waited=$((waited + 1)); done
}
"#;

const SERVER: &str = r#"#!/bin/sh
while IFS= read -r line; do
  printf '%s\n' "$line" >> "$HOME/log"
  id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
  printf '{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"fine"}]}}\n' "$id"
done
"#;

fn client(script: &str) -> RunFixture {
    let fixture = RunFixture::new("");
    let server = fixture.client().with_file_name("server");
    write_program(&server, SERVER).unwrap();
    let head = ASK.replace("$TRIPWIRE", TRIPWIRE).replace("$SERVER", &server.display().to_string());
    fixture.add_client("claude", &format!("{SAID}{head}\nbegin\n{script}\nfinish"));
    fixture
}

#[test]
fn mcp_1_under_run_an_announced_call_counts_once_and_others_are_asked_about() {
    let announced = call(1, "echo", &json!({"n": 1}));
    let own = call(2, "echo", &json!({"n": 2}));
    let destroys = call(3, "start_process", &json!({"command": "rm -rf /usr"}));
    let fixture = client(&format!(
        r#"
input='"tool_name":"mcp__demo__echo","tool_input":{{"n":1}},"tool_use_id":"m1"'
event PreToolUse "$input"
ask '{announced}'
event PostToolUse "$input,\"tool_response\":\"fine\",\"duration_ms\":1"
ask '{own}'
ask '{destroys}'
"#
    ));
    let end = finish(fixture.command(&[]).spawn().unwrap());
    let (answers, log) = (fixture.home_text("answers"), fixture.home_text("log"));
    assert_eq!(answers.matches("\"fine\"").count(), 2, "{answers} {} {}", fixture.home_text("notes"), end.stderr);
    assert!(answers.contains("\"isError\":true") && answers.contains("FLOOR-1"), "{answers}");
    assert_eq!(log.lines().count(), 2, "{log}");
    let journal = fs::read_dir(fixture.geometry("journal")).unwrap().filter_map(Result::ok);
    let files = journal.flat_map(|session| fs::read_dir(session.path()).unwrap().filter_map(Result::ok));
    let text: String = files
        .filter(|file| file.path().extension().is_some_and(|ending| ending == "jsonl"))
        .map(|file| fs::read_to_string(file.path()).unwrap())
        .collect();
    let asked = text.lines().filter(|line| line.contains("\"request\"") && line.contains("mcp__demo__echo")).count();
    assert_eq!(asked, 2, "one by its hook, one by the guard of the server: {text}");
}

/// The client starts the servers that its settings for this run name, as the real one does.
const START: &str = r#"
config=$(for word in "$@"; do case "$word" in --mcp-config=*) printf '%s' "${word#--mcp-config=}" ;; esac; done)
command=$(sed -n 's/.*"command":"\([^"]*\)".*/\1/p' "$config")
socket=$(sed -n 's/.*"TRIPWIRE_SOCKET":"\([^"]*\)".*/\1/p' "$config")
cp "$config" "$HOME/config"
serve() { said "$1" | env -i HOME="$HOME" PATH="$PATH" TRIPWIRE_SOCKET="$socket" \
  "$command" mcp --name demo -- "$SERVER" >> "$HOME/answers" 2>> "$HOME/notes"; }
"#;

#[test]
fn mcp_6_under_run_the_guard_of_a_wrapped_server_counts_once_with_the_hook() {
    let fixture = RunFixture::new("");
    let server = fixture.client().with_file_name("server");
    write_program(&server, SERVER).unwrap();
    let head = START.replace("$SERVER", &server.display().to_string());
    let hook = |n: u32| format!(r#""tool_name":"mcp__demo__echo","tool_input":{{"n":{n}}},"tool_use_id":"m{n}""#);
    let one = |n: u32| {
        let (input, asked) = (hook(n), call(u64::from(n), "echo", &json!({"n": n})));
        format!(
            "input='{input}'\nevent PreToolUse \"$input\"\nserve '{asked}'\nevent PostToolUse \"$input,\\\"tool_response\\\":\\\"fine\\\",\\\"duration_ms\\\":1\"\n"
        )
    };
    let script: String = (1..=3).map(one).collect();
    fixture.add_client("claude", &format!("{SAID}{head}\nbegin\n{script}\nfinish"));
    fs::write(fixture.place().join(".mcp.json"), json!({"mcpServers": {"demo": {"command": server}}}).to_string())
        .unwrap();
    fs::create_dir_all(fixture.geometry("")).unwrap();
    fs::write(fixture.geometry("MANIFEST.yaml"), "tools:\n  \"demo/echo\": { max_calls: 2 }\n").unwrap();
    let end = finish(fixture.command(&[]).spawn().unwrap());
    let (answers, log) = (fixture.home_text("answers"), fixture.home_text("log"));
    let config = fixture.home_text("config");
    assert!(config.contains("\"--name\",\"demo\",\"--\""), "{config} {}", end.stderr);
    // The hook of the third call was refused; a client that calls all the same is refused by the guard.
    assert_eq!(log.lines().count(), 2, "{answers} {} {}", fixture.home_text("notes"), end.stderr);
    assert!(answers.matches("\"fine\"").count() == 2 && answers.contains("TOOL-3"), "{answers}");
}
