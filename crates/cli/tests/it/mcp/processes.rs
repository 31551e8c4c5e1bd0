//! The server as a process tree, and what becomes of its client when it misbehaves.

use super::fixture::{A_WHILE, McpClient, SOON, call, refusal, server, server_of};
use crate::run::fixture::wait_until;
use serde_json::json;
use std::fs;
use std::path::Path;

/// Whether a process of this number lives.
fn lives(pid: &str) -> bool {
    let stat = fs::read_to_string(format!("/proc/{}/stat", pid.trim())).unwrap_or_default();
    !stat.is_empty() && !stat.contains(") Z ")
}

/// The numbers of the processes whose command line holds a word.
fn running(word: &str) -> usize {
    let processes = fs::read_dir("/proc").unwrap().filter_map(Result::ok);
    processes
        .filter(|entry| {
            fs::read(entry.path().join("cmdline")).is_ok_and(|line| String::from_utf8_lossy(&line).contains(word))
        })
        .count()
}

#[test]
fn mcp_1_when_the_client_closes_the_servers_whole_tree_ends() {
    let word = format!("98765{}", std::process::id());
    let fixture = server_of(&format!(
        "#!/bin/sh\n(setsid sleep {word} >/dev/null 2>&1 &)\nsleep {word} &\nwhile read -r line; do echo '{{\"method\":\"notifications/x\"}}'; done\nsleep {word}\n"
    ));
    let mut client = fixture.start();
    client.say(r#"{"method":"notifications/initialized"}"#);
    assert!(client.line().contains("notifications/x"));
    wait_until("its processes", || running(&word) >= 2);
    let (code, stderr) = client.close();
    assert_eq!(code, Some(0), "{stderr}");
    assert_eq!(running(&word), 0);
}

#[test]
fn mcp_1_a_server_that_does_not_read_ends_with_its_client() {
    let word = format!("97531{}", std::process::id());
    let fixture = server_of(&format!("#!/bin/sh\nexec sleep {word}\n"));
    let mut client = fixture.start();
    let padding = "x".repeat(500_000);
    client.say(&format!(r#"{{"id":1,"method":"ping","params":{{"a":"{padding}"}}}}"#));
    let (code, stderr) = client.close();
    assert_eq!((code, running(&word)), (Some(0), 0), "{stderr}");
}

#[test]
fn mcp_1_when_the_guard_is_killed_the_server_ends() {
    let fixture = server_of("#!/bin/sh\necho $$ > LOG\nexec sleep 1000\n");
    // In a namespace of its own the server does not know its number; the command line tells it.
    let word = fixture.path("log").display().to_string();
    let client = fixture.start();
    wait_until("the server", || Path::new(&word).exists());
    let pid = client.id().to_string();
    assert!(lives(&pid));
    std::process::Command::new("kill").args(["-9", &pid]).status().unwrap();
    wait_until("the end of the tree", || running(&fixture.path("server").display().to_string()) == 0);
}

#[test]
fn mcp_1_when_the_server_dies_open_requests_get_an_error_and_never_silence() {
    let fixture = server();
    let mut client = fixture.start();
    client.say(&call(1, "silent", &json!({})));
    client.say(r#"{"id":"two","method":"silent"}"#);
    client.hears_nothing();
    client.say(&call(3, "die", &json!({})));
    let mut ids = Vec::new();
    for _ in 0..3 {
        let answer = client.answer();
        let message = answer["error"]["message"].as_str().unwrap();
        assert!(message.contains("the server ended with exit code 3"), "{answer}");
        ids.push(answer["id"].to_string());
    }
    ids.sort();
    assert_eq!(ids, ["\"two\"", "1", "3"]);
    assert_eq!(client.end().0, Some(3), "the server's own exit code");
    fixture.verify();
}

#[test]
fn mcp_4_what_a_server_says_wrongly_reaches_nobody_and_whoever_waits_is_told() {
    let fixture = server();
    let mut client = fixture.start();
    let answer = client.call(1, "noise", &json!({}));
    let message = answer["error"]["message"].as_str().unwrap();
    assert!(message.contains("`result` occurs twice"), "{answer}");
    assert_eq!(refusal(&client.call(2, "echo", &json!({}))), None, "and it goes on");
    let (code, stderr) = client.close();
    assert!(code == Some(0) && stderr.contains("is not passed on"), "{stderr}");
}

#[test]
fn mcp_4_a_large_message_a_flood_on_stderr_and_unasked_answers_pass() {
    // A build without optimisation reads a few megabytes a second.
    let bytes = tripwire_testing::sized(5_000_000, 50_000_000).to_string();
    let fixture = server_of(
        &"#!/bin/sh\nread -r line\nhead -c 2000000 /dev/zero | tr '\\0' 'e' >&2\nprintf '{\"id\":9,\"result\":{}}\\n'\nprintf '{\"id\":9,\"result\":{\"tools\":[]}}\\n'\nprintf '{\"id\":1,\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"'\nhead -c BYTES /dev/zero | tr '\\0' 'x'\nprintf '\"}]}}\\n'\nread -r line\n"
            .replace("BYTES", &bytes),
    );
    let mut command = fixture.command("demo");
    command.stderr(std::process::Stdio::null());
    let mut client = McpClient::of(command.spawn().unwrap());
    client.say(&call(1, "big", &json!({})));
    assert_eq!(client.line(), "{\"id\":9,\"result\":{}}\n", "what nobody asked for is the client's to ignore");
    let line = client.line();
    assert!(line.starts_with("{\"id\":1,") && line.contains("tripwire memory get"), "{}", line.len());
    assert_eq!(client.close().0, Some(0));
}

#[test]
fn mcp_1_many_calls_at_once_are_all_answered() {
    let fixture = server();
    fs::write(
        fixture.hooks.geometry("MANIFEST.yaml"),
        "gate:\n  max_tool_calls_per_minute: 5000\n  tool_call_warning_threshold: 5000\n",
    )
    .unwrap();
    let mut client = fixture.start();
    let count = tripwire_testing::sized(300, 1_000);
    let lines: String = (0..count).map(|n| call(n, "read_file", &json!({"path": format!("f{n}")})) + "\n").collect();
    client.bytes(lines.as_bytes());
    let mut ids: Vec<u64> = (0..count)
        .map(|_| {
            let answer = client.answer();
            assert_eq!(refusal(&answer), None, "{answer}");
            answer["id"].as_u64().unwrap()
        })
        .collect();
    ids.sort_unstable();
    assert_eq!(ids, (0..count).collect::<Vec<_>>());
    assert_eq!(client.close().0, Some(0));
    fixture.verify();
}

#[test]
fn mcp_1_a_server_that_does_not_read_keeps_no_other_server_of_the_session_waiting() {
    let word = format!("96420{}", std::process::id());
    let fixture = server_of(&format!(
        "#!/bin/sh\nwhile IFS= read -r line; do\n  case \"$line\" in *'\"stuck\"'*) exec sleep {word} ;; esac\n  echo '{{\"id\":1,\"result\":{{\"content\":[]}}}}'\ndone\n"
    ));
    let (mut stuck, mut other) = (fixture.start(), McpClient::of(fixture.command("other").spawn().unwrap()));
    assert_eq!(refusal(&other.call(1, "echo", &json!({"n": 1}))), None);
    stuck.say(&call(1, "stuck", &json!({})));
    wait_until("the server", || running(&word) > 0);
    stuck.say(&call(2, "echo", &json!({"text": "z".repeat(200_000)})));
    stuck.hears_nothing();
    for n in 2..5 {
        assert_eq!(refusal(&other.call(1, "echo", &json!({"n": n}))), None, "{n}");
    }
    assert_eq!(other.close().0, Some(0));
    std::process::Command::new("kill").args(["-9", &stuck.id().to_string()]).status().unwrap();
    fixture.verify();
}

#[test]
fn const_5_a_guard_whose_records_are_gone_refuses_until_it_is_started_anew() {
    let fixture = server();
    fs::write(fixture.hooks.geometry("MANIFEST.yaml"), "tools:\n  \"demo/echo\": { max_calls: 1 }\n").unwrap();
    let mut client = fixture.start();
    assert_eq!(refusal(&client.call(1, "echo", &json!({"n": 1}))), None);
    // The guard still writes the notes of its last answer down.
    let records = fixture.hooks.root().join(".geometry");
    wait_until("the records are gone", || fs::remove_dir_all(&records).is_ok());
    for n in 2..6 {
        let refused = refusal(&client.call(n, "echo", &json!({"n": n}))).unwrap();
        assert!(refused.contains("the guard is broken"), "{refused}");
    }
    client.close();
    assert_eq!(fixture.log().lines().count(), 1, "{}", fixture.log());
    let mut client = fixture.start();
    assert_eq!(refusal(&client.call(1, "echo", &json!({"n": 1}))), None, "a new start is a new session");
    assert_eq!(client.close().0, Some(0));
}

#[test]
fn log_4_the_last_result_of_a_guard_that_ended_cannot_be_cut_off_unnoticed() {
    let fixture = server();
    let mut client = fixture.start();
    assert_eq!(refusal(&client.call(1, "echo", &json!({"n": 1}))), None);
    assert_eq!(client.close().0, Some(0));
    fixture.verify();
    let folder = fs::read_dir(fixture.hooks.geometry("journal")).unwrap().next().unwrap().unwrap().path();
    let files = fs::read_dir(folder).unwrap().map(|file| file.unwrap().path());
    let journal = files.into_iter().find(|path| path.extension().is_some_and(|ending| ending == "jsonl")).unwrap();
    let text = fs::read_to_string(&journal).unwrap();
    let last = text.trim_end().rfind('\n').unwrap() + 1;
    fs::write(&journal, &text[..last]).unwrap();
    assert_eq!(fixture.tripwire(&["verify"]).status.code(), Some(9));
}

#[test]
fn broken_usage_names_what_is_wrong() {
    let fixture = server();
    let run = |words: &[&str]| {
        let output = fixture.tripwire(words);
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    assert_eq!(run(&["mcp"]).0, Some(2));
    let (code, text) = run(&["mcp", "--name", "a__b", "--", "true"]);
    assert!(code == Some(2) && text.contains("without `__`"), "{text}");
    let (code, text) = run(&["mcp", "--session", "nothing", "--", "true"]);
    assert!(code == Some(2) && text.contains("nothing"), "{text}");
    let (code, text) = run(&["mcp", "--", "/no/such/server"]);
    assert!(code != Some(0) && text.contains("/no/such/server"), "{code:?} {text}");
    assert!(A_WHILE < SOON);
}
