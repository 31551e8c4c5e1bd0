//! Lines of the documents that no other file here holds: the loop's definition of done, the stop semantics, the fallbacks.
//! Which line is held by which test stands in `docs/reference/seeds.md`.

use crate::agent::fixture::{AgentFixture, call, finish, of_kind, shell, untested};
use serde_json::{Value, json};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

/// A provider of the Chat Completions API that plays these calls, and keeps what it was asked.
fn provider(calls: &'static [(&'static str, &'static str)]) -> (String, Arc<Mutex<Vec<Value>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let asked = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&asked);
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let Some(body) = request(&stream) else { continue };
            let number = {
                let mut kept = kept.lock().unwrap();
                kept.push(body);
                kept.len()
            };
            // The first question only asks whether it is there.
            let delta = match number.checked_sub(2).and_then(|at| calls.get(at)) {
                Some((tool, arguments)) => {
                    json!({"tool_calls": [{"index": 0, "id": format!("c{number}"), "type": "function", "function": {"name": tool, "arguments": arguments}}]})
                }
                None => json!({"content": "ready"}),
            };
            answer(stream, &delta);
        }
    });
    (format!("openai-chat:m@http://{address}/v1"), asked)
}

fn request(stream: &TcpStream) -> Option<Value> {
    let mut reader = BufReader::new(stream);
    let mut length = 0;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok().filter(|read| *read > 0)?;
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().ok()?;
        }
        if line.trim().is_empty() {
            break;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    serde_json::from_slice(&body).ok()
}

fn answer(mut stream: TcpStream, delta: &Value) {
    let chunk = |delta: &Value, end: Value| json!({"id": "x", "model": "m", "choices": [{"index": 0, "delta": delta, "finish_reason": end}], "usage": {"prompt_tokens": 9, "completion_tokens": 9}});
    let body = format!(
        "data: {}\n\ndata: {}\n\ndata: [DONE]\n\n",
        chunk(delta, json!(null)),
        chunk(&json!({}), json!("stop"))
    );
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n";
    drop(write!(stream, "{head}content-length: {}\r\n\r\n{body}", body.len()));
}

#[test]
fn run_1_every_question_of_a_run_carries_the_same_prompt_and_the_same_tools() {
    let fixture = AgentFixture::new();
    fixture.file("a.txt", "x\n");
    let (engine, asked) = provider(&[
        ("list", "{}"),
        ("read_file", r#"{"path":"a.txt"}"#),
        ("nonsense", "{}"),
        ("shell", r#"{"command":"false"}"#),
        ("finish", r#"{"summary":"x"}"#),
    ]);
    fixture.run(&["agent", "--objective", "look", "--engine", &engine]).ended(0);
    let asked = asked.lock().unwrap();
    let questions = &asked[1..];
    assert_eq!(questions.len(), 5);
    for question in questions {
        assert_eq!(question["tools"], questions[0]["tools"], "the registry is static");
        assert_eq!(question["messages"][0], questions[0]["messages"][0], "the system prompt does not change");
    }
    assert_eq!(questions[0]["messages"][0]["role"], "system");
    // What was said before is never taken back or reordered: each question begins with the whole one before.
    for pair in questions.windows(2) {
        let (before, after) = (pair[0]["messages"].as_array().unwrap(), pair[1]["messages"].as_array().unwrap());
        assert_eq!(&after[..before.len()], &before[..]);
    }
}

#[test]
fn run_2_nothing_of_a_turn_runs_behind_an_error_and_nothing_is_retried_in_silence() {
    let fixture = AgentFixture::new();
    let calls = ["echo one >> log; exit 9", "echo two >> log"];
    let calls: Vec<Value> = calls.iter().map(|line| json!({"tool": "shell", "arguments": {"command": line}})).collect();
    let both = json!({"text": "both", "calls": calls});
    let seen = json!({"expect": ["\"exit_code\":9", "look at the error of the call before it first"], "text": "I see.", "calls": [{"tool": "finish", "arguments": {"summary": "x"}}]});
    let run = fixture.agent(&[both, seen, finish(), finish()], &[]);
    assert!(run.code == 0 || run.code == 4, "{}", run.stdout);
    assert_eq!(fixture.read("log"), "one\n", "the first ran once, the second did not run");
}

#[test]
fn term_1_max_steps_ends_nothing_where_it_is_marked_soft() {
    let fixture = AgentFixture::new();
    std::fs::create_dir(fixture.geometry()).unwrap();
    std::fs::write(fixture.geometry().join("MANIFEST.yaml"), "limits:\n  max_steps_soft: true\n").unwrap();
    let answers: Vec<Value> = (0..4).map(|n| shell(&format!("echo {n}"))).chain([finish()]).collect();
    fixture.agent(&answers, &["--max-steps", "2", "--max-iterations", "1"]).ended(0);
}

#[test]
fn run_4_verification_that_failed_more_than_three_times_takes_the_next_engine() {
    let write = |text: &str| call("write", json!({"path": "a.sh", "content": text}));
    let first = [write("a"), finish(), finish(), write("b"), finish(), finish(), finish(), finish()];
    let fixture = AgentFixture::new();
    let second = fixture.cassette("second.jsonl", &[write("true"), shell("sh a.sh"), finish()]);
    fixture.agent(&first, &["--verify", "sh a.sh", "--fallback", &second]).ended(0);
    let transcript = fixture.transcript();
    let switch = of_kind(&transcript, "engineSwitch")[0];
    assert_eq!(
        (&switch["reason"], &switch["to"]),
        (&json!("verification failed too often"), &json!("scripted:second.jsonl"))
    );
}

#[test]
fn run_4_three_failed_verifications_are_not_too_many() {
    let write = |text: &str| call("write", json!({"path": "a.sh", "content": text}));
    let first = [write("a"), finish(), finish(), write("true"), finish(), shell("sh a.sh"), finish()];
    let fixture = AgentFixture::new();
    let second = fixture.cassette("second.jsonl", &[finish()]);
    fixture.agent(&first, &["--verify", "sh a.sh", "--fallback", &second]).ended(0);
    assert!(of_kind(&fixture.transcript(), "engineSwitch").is_empty());
}

#[test]
fn run_4_an_exhausted_context_begins_anew_and_then_takes_the_next_engine() {
    let full = || json!({"error": {"kind": "contextExhausted", "said": "too long"}});
    let fixture = AgentFixture::new();
    let second = fixture.cassette("second.jsonl", &[finish()]);
    fixture.agent(&[shell("echo a"), full(), full()], &["--fallback", &second]).ended(0);
    let transcript = fixture.transcript();
    assert_eq!((of_kind(&transcript, "freshContext").len(), of_kind(&transcript, "engineSwitch").len()), (1, 1));
    assert!(fixture.geometry().join("MISSION_BRIEFING.md").exists());
}

#[test]
fn run_4_what_is_sensitive_goes_to_a_local_engine_and_to_no_other() {
    let fixture = AgentFixture::new();
    fixture.file("kernel/key.txt", "a-secret\n");
    std::fs::create_dir(fixture.geometry()).unwrap();
    let manifest = "engines:\n  sensitive_paths:\n    - kernel\n";
    std::fs::write(fixture.geometry().join("MANIFEST.yaml"), manifest).unwrap();
    let gone = json!({"error": {"kind": "keyRefused", "said": "revoked"}});
    let first = fixture.cassette("model.jsonl", &[call("read_file", json!({"path": "kernel/key.txt"})), gone]);
    let local = fixture.cassette("local.jsonl", &[finish()]);
    // Nobody is at that address, and nobody is asked there.
    let remote = "openai-chat:m@https://model.invalid/v1";
    let arguments = ["agent", "--objective", "x", "--engine", &first, "--fallback", remote, "--fallback", &local];
    let output = fixture.command(&arguments).env("OPENAI_API_KEY", "a-fake-key").output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stdout));
    let transcript = fixture.transcript();
    let errors = of_kind(&transcript, "engineError");
    assert!(errors.iter().any(|line| line["said"].as_str().unwrap().contains("sensitive path `kernel`")), "{errors:?}");
    let switches: Vec<&Value> = of_kind(&transcript, "engineSwitch").iter().map(|line| &line["to"]).collect();
    assert_eq!(switches, [&json!(remote), &json!("scripted:local.jsonl")]);
}

#[test]
fn run_1_the_transcript_only_ever_grows() {
    let fixture = AgentFixture::new();
    let mut running = fixture.start(&untested((0..3).map(|n| shell(&format!("echo {n} >> log"))).collect()), &[]);
    let mut before = String::new();
    while !running.is_over() {
        if fixture.geometry().join("transcripts").exists() && !fixture.sessions().is_empty() {
            let now = std::fs::read_dir(fixture.geometry().join("transcripts")).unwrap().next();
            // It is first written under another name, which may be gone by now.
            let now = now.and_then(|entry| std::fs::read_to_string(entry.unwrap().path()).ok()).unwrap_or_default();
            assert!(now.starts_with(&before), "a line was changed or taken away");
            before = now;
        }
    }
    running.end().ended(4);
    assert!(fixture.transcript_text().starts_with(&before) && before.lines().count() > 5);
}
