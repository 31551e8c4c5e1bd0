//! Bad input: one clear message with the next command, and nothing half-started.

use crate::agent::fixture::{AgentFixture, finish, is_untouched};
use std::io::{Read as _, Write as _};
use std::net::TcpListener;

/// Runs with bad arguments: the exit code, the words, a hint, and no trace in the workspace.
#[track_caller]
fn refused(fixture: &AgentFixture, arguments: &[&str], words: &str) {
    let run = fixture.run(arguments);
    run.ended(2);
    assert!(run.stderr.contains(words), "{arguments:?}: {}", run.stderr);
    assert!(run.stderr.contains("hint: "), "{arguments:?}: {}", run.stderr);
    assert!(is_untouched(&fixture.work()), "{arguments:?} left something behind");
}

#[test]
fn no_objective_and_files_that_are_not_there_are_told() {
    let fixture = AgentFixture::new();
    let engine = fixture.cassette("model.jsonl", &[finish()]);
    refused(&fixture, &["agent"], "there is no objective");
    refused(&fixture, &["agent", "--objective", "  ", "--engine", &engine], "there is no objective");
    refused(&fixture, &["agent", "--task", "nowhere.md", "--engine", &engine], "`nowhere.md`");
    refused(&fixture, &["agent", "--task", ".", "--engine", &engine], "`.`");
    refused(&fixture, &["agent", "--objective", "x", "--engine", "scripted:/nowhere/c.jsonl"], "`/nowhere/c.jsonl`");
    std::fs::write(fixture.beside("bad.jsonl"), "{\"cassette\":1}\n{\"txt\":\"misspelt\"}\n").unwrap();
    let bad = format!("scripted:{}", fixture.beside("bad.jsonl").display());
    refused(&fixture, &["agent", "--objective", "x", "--engine", &bad], "line 2");
}

#[test]
fn engines_that_cannot_be_opened_are_told() {
    let fixture = AgentFixture::new();
    refused(&fixture, &["agent", "--objective", "x", "--engine", "anthropic:claude-opus-4-6"], "ANTHROPIC_API_KEY");
    refused(&fixture, &["agent", "--objective", "x", "--engine", "openai:gpt-5"], "OPENAI_API_KEY");
    refused(&fixture, &["agent", "--objective", "x", "--engine", "gemini:gemini-2.5-pro"], "GEMINI_API_KEY");
    refused(&fixture, &["agent", "--objective", "x", "--engine", "nonsense"], "`nonsense` is not an engine");
    let engine = fixture.cassette("model.jsonl", &[finish()]);
    refused(&fixture, &["agent", "--objective", "x", "--engine", &engine, "--advisor", "nonsense"], "`nonsense`");
    refused(&fixture, &["agent", "--objective", "x", "--engine", &engine, "--fallback", "ollama:"], "names no model");
}

#[test]
fn wrong_limits_and_contradictions_are_told_by_the_parser() {
    let fixture = AgentFixture::new();
    for arguments in [
        ["agent", "--objective", "x", "--max-runtime", "soon"],
        ["agent", "--objective", "x", "--budget", "much"],
        ["agent", "--objective", "x", "--max-steps", "0"],
        ["agent", "--objective", "x", "--task", "y"],
        ["agent", "--objective", "x", "--profile", "lax"],
    ] {
        let run = fixture.run(&arguments);
        run.ended(2);
        assert!(run.stderr.contains("error:"), "{arguments:?}: {}", run.stderr);
        assert!(is_untouched(&fixture.work()), "{arguments:?}");
    }
}

#[test]
fn a_workspace_that_is_no_folder_is_told() {
    let fixture = AgentFixture::new();
    let engine = fixture.cassette("model.jsonl", &[finish()]);
    fixture.file("file", "x");
    for place in ["file", "nowhere"] {
        let run = fixture.run(&["agent", "--objective", "x", "--engine", &engine, "--workspace", place]);
        run.ended(2);
        assert!(run.stderr.contains(place) && run.stderr.contains("hint: "), "{}", run.stderr);
        assert!(is_untouched(&fixture.work()));
    }
}

/// A server that gives everybody the same answer, and ends with the test.
fn server(answer: &'static str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming().take(8) {
            let Ok(mut stream) = stream else { return };
            let mut request = [0_u8; 65_536];
            drop(stream.read(&mut request));
            drop(stream.write_all(answer.as_bytes()));
        }
    });
    format!("http://{address}")
}

#[test]
fn a_wrong_key_an_unknown_model_and_a_dead_host_are_told_before_anything_is_begun() {
    let fixture = AgentFixture::new();
    let ask = |url: &str| {
        let run = fixture
            .command(&["agent", "--objective", "x", "--engine", "anthropic:some-model"])
            .env("ANTHROPIC_API_KEY", "a-fake-key")
            .env("ANTHROPIC_BASE_URL", url)
            .output()
            .unwrap();
        let stderr = String::from_utf8_lossy(&run.stderr).into_owned();
        assert_eq!(run.status.code(), Some(2), "{stderr}");
        assert!(stderr.contains("hint: ") && !stderr.contains("a-fake-key"), "{stderr}");
        assert!(is_untouched(&fixture.work()), "{stderr}");
        stderr
    };
    let wrong = server(
        "HTTP/1.1 401 Unauthorized\r\ncontent-type: application/json\r\ncontent-length: 82\r\nconnection: close\r\n\r\n{\"type\":\"error\",\"error\":{\"type\":\"authentication_error\",\"message\":\"bad x-api-key\"}}",
    );
    assert!(ask(&wrong).contains("refuses the key"));
    let unknown = server(
        "HTTP/1.1 404 Not Found\r\ncontent-type: application/json\r\ncontent-length: 81\r\nconnection: close\r\n\r\n{\"type\":\"error\",\"error\":{\"type\":\"not_found_error\",\"message\":\"model: some-model\"}}",
    );
    assert!(ask(&unknown).contains("does not know this model"));
    let dead = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    assert!(ask(&format!("http://{dead}")).contains("cannot be reached"));
}

#[test]
fn a_session_that_is_not_there_not_ours_or_over_cannot_be_taken_up() {
    let fixture = AgentFixture::new();
    refused(&fixture, &["agent", "--resume", "nonsense"], "`nonsense` is not a session id");
    let missing = "there is no session `auto-2026-01-01-000000` here";
    refused(&fixture, &["agent", "--resume", "auto-2026-01-01-000000"], missing);
    fixture.agent(&[finish()], &[]).ended(0);
    let session = fixture.sessions().pop().unwrap();
    let run = fixture.run(&["agent", "--resume", &session]);
    run.ended(2);
    assert!(run.stderr.contains("is over") && run.stderr.contains("hint: "), "{}", run.stderr);
}

#[test]
fn ctrl_1_a_leftover_stop_blocks_a_new_session() {
    let fixture = AgentFixture::new();
    std::fs::create_dir(fixture.geometry()).unwrap();
    std::fs::write(fixture.geometry().join("STOP"), "").unwrap();
    let run = fixture.agent(&[finish()], &[]);
    run.ended(10);
    assert!(run.stderr.contains("STOP") && run.stderr.contains("hint: "), "{}", run.stderr);
    assert!(fixture.sessions().is_empty());
}
