//! Models that degenerate, as small ones do: whatever one says for ever, the loop ends by itself with a clear status.

use crate::agent::fixture::{AgentFixture, AgentRun, of_kind};
use serde_json::{Value, json};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// What the model says to every question but the first, which only asks whether it is there.
type Speech = fn(usize) -> Vec<Value>;

/// A server of the Chat Completions API that never says anything else.
fn server(speech: Speech) -> (String, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let asked = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&asked);
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let count = Arc::clone(&count);
            std::thread::spawn(move || answer(stream, speech, &count));
        }
    });
    (format!("openai-chat:tiny@http://{address}/v1"), asked)
}

fn answer(mut stream: TcpStream, speech: Speech, count: &AtomicUsize) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut length = 0;
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).unwrap_or(0) == 0 {
            return;
        }
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
        if line.trim().is_empty() {
            break;
        }
    }
    drop(reader.read_exact(&mut vec![0; length]));
    let number = count.fetch_add(1, Ordering::SeqCst);
    let deltas = if number == 0 { vec![json!({"content": "ready"})] } else { speech(number) };
    let mut body = String::new();
    for delta in deltas {
        let chunk = json!({"id": "x", "model": "tiny", "choices": [{"index": 0, "delta": delta}]});
        body += &format!("data: {chunk}\n\n");
    }
    let end = json!({"id": "x", "model": "tiny", "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}], "usage": {"prompt_tokens": 9, "completion_tokens": 9}});
    body += &format!("data: {end}\n\ndata: [DONE]\n\n");
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n";
    drop(write!(stream, "{head}content-length: {}\r\n\r\n{body}", body.len()));
}

fn called(tool: &str, arguments: &str) -> Vec<Value> {
    let function = json!({"name": tool, "arguments": arguments});
    vec![json!({"tool_calls": [{"index": 0, "id": "c", "type": "function", "function": function}]})]
}

fn play(speech: Speech) -> (AgentFixture, AgentRun, usize) {
    let fixture = AgentFixture::new();
    fixture.file("a.txt", "always the same\n");
    let (engine, asked) = server(speech);
    let run =
        fixture.run(&["agent", "--objective", "say something sensible", "--engine", &engine, "--max-runtime", "100s"]);
    let count = asked.load(Ordering::SeqCst);
    (fixture, run, count)
}

#[test]
fn tool_2_a_model_that_only_chants_ends_after_its_repairs() {
    let (fixture, run, asked) = play(|_| vec![json!({"content": "the the the ".repeat(400)})]);
    run.ended(3);
    assert_eq!(asked, 4, "the question whether it is there, the first answer, two repairs");
    assert!(run.stdout.contains("SYSTEM_ERROR") && run.stdout.contains("no tool call"), "{}", run.stdout);
    assert_eq!(of_kind(&fixture.transcript(), "fault").len(), 3);
}

#[test]
fn tool_2_a_model_that_only_makes_broken_calls_ends_after_its_repairs() {
    let (_, run, asked) = play(|_| called("shell", "{\"command\": \"ls\", \"command\": "));
    run.ended(3);
    assert_eq!(asked, 4);
    assert!(run.stdout.contains("SYSTEM_ERROR"), "{}", run.stdout);
    let (_, run, asked) = play(|number| called(if number % 2 == 0 { "bash" } else { "run_shell" }, "{}"));
    run.ended(3);
    assert_eq!(asked, 4);
}

#[test]
fn loop_1_a_model_that_makes_one_good_call_for_ever_is_stopped() {
    let (fixture, run, asked) = play(|_| called("shell", "{\"command\": \"cat a.txt\"}"));
    run.ended(7);
    assert!(asked <= 6, "{asked}");
    assert_eq!(of_kind(&fixture.transcript(), "override").len(), 1);
    assert!(run.stdout.contains("`cat a.txt`: 4 times in a row"), "{}", run.stdout);
}

#[test]
fn loop_1_a_model_that_never_finishes_is_held() {
    // Two calls in turn, and neither moves anything.
    let (_, run, asked) = play(|number| {
        let command = if number % 2 == 0 { "cat a.txt" } else { "wc a.txt" };
        called("shell", &json!({"command": command}).to_string())
    });
    assert!(run.code == 7 || run.code == 3, "{}\n{}", run.code, run.stdout);
    assert!(asked <= 30, "{asked}");
}

#[test]
fn prog_1_a_model_that_reads_another_page_for_ever_runs_out_of_iterations_or_is_held() {
    let fixture = AgentFixture::new();
    fixture.file("a.txt", "always the same\n");
    let (engine, asked) = server(|number| {
        let path = format!("a{number}.txt");
        called("read_file", &json!({"path": path}).to_string())
    });
    let run = fixture.run(&["agent", "--objective", "x", "--engine", &engine, "--max-iterations", "3"]);
    assert!([3, 5, 7, 8].contains(&run.code), "{}\n{}", run.code, run.stdout);
    assert!(asked.load(Ordering::SeqCst) <= 32, "{asked:?}");
}

/// A provider whose every answer says the same for ever and never ends.
fn chanter() -> (String, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let asked = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&asked);
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let first = count.fetch_add(1, Ordering::SeqCst) == 0;
            std::thread::spawn(move || {
                let mut request = [0_u8; 262_144];
                drop(stream.read(&mut request));
                drop(
                    stream
                        .write_all(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n"),
                );
                let chunk = json!({"id": "x", "model": "tiny", "choices": [{"index": 0, "delta": {"content": "I list the files and "}, "finish_reason": if first { json!("stop") } else { json!(null) }}]});
                // A reader that has gone away ends it; so does a test that was forgotten.
                for _ in 0..20_000 {
                    let told =
                        if first { format!("data: {chunk}\n\ndata: [DONE]\n\n") } else { format!("data: {chunk}\n\n") };
                    if stream.write_all(told.as_bytes()).is_err() || first {
                        return;
                    }
                    std::thread::sleep(std::time::Duration::from_millis(2));
                }
            });
        }
    });
    (format!("openai-chat:tiny@http://{address}/v1"), asked)
}

#[test]
fn loop_2_an_answer_that_chants_for_ever_is_cut_off_and_sent_back() {
    let fixture = AgentFixture::new();
    let (engine, asked) = chanter();
    let run = fixture.run(&["agent", "--objective", "list the files", "--engine", &engine, "--max-runtime", "100s"]);
    run.ended(3);
    assert_eq!(asked.load(Ordering::SeqCst), 4, "the question whether it is there, the first answer, two repairs");
    assert!(run.stdout.contains("cut off at the limit of output"), "{}", run.stdout);
    let transcript = fixture.transcript();
    let answers = of_kind(&transcript, "answer");
    assert!(answers.iter().all(|line| line["end"] == "outputLimit" && line["text"].as_str().unwrap().len() < 8_192));
    assert!(
        answers[0]["usage"]["output"].as_u64().unwrap() > 100,
        "what it used is estimated: {}",
        answers[0]["usage"]
    );
}
