//! Transcripts in the clients' own forms, written here: a loop in each of them costs what was spent behind it.

use super::*;
use serde_json::Value;
use std::fmt::Write as _;

fn read(client: Client, text: &str) -> Result<PastSession, Skipped> {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("rollout-x.jsonl");
    std::fs::write(&file, text).unwrap();
    PastSession::read(client, &file)
}

fn lines(values: impl IntoIterator<Item = Value>) -> String {
    values.into_iter().fold(String::new(), |mut text, value| {
        writeln!(text, "{value}").unwrap();
        text
    })
}

fn at(second: usize) -> String {
    format!("2026-11-15T00:{:02}:{:02}.000Z", second / 60, second % 60)
}

/// A person's word, then calls of one command with these results.
fn claude(results: &[&str]) -> String {
    let mut all = vec![json!({"type": "user", "sessionId": "s1", "message": {"role": "user", "content": "go"}})];
    for (n, result) in results.iter().enumerate() {
        let usage = json!({"input_tokens": 1000, "output_tokens": 100});
        let block = json!({"type": "tool_use", "id": format!("t{n}"), "name": "Bash", "input": {"command": "make"}});
        all.push(json!({"type": "assistant", "timestamp": at(n * 20), "message": {"id": format!("m{n}"),
            "model": "claude-opus-4-5", "content": [block], "usage": usage}}));
        let result =
            json!({"type": "tool_result", "tool_use_id": format!("t{n}"), "content": result, "is_error": true});
        all.push(json!({"type": "user", "timestamp": at(n * 20 + 5), "message": {"content": [result]}}));
    }
    lines(all)
}

fn codex(count: usize) -> String {
    let mut all = vec![
        json!({"type": "session_meta", "payload": {"id": "c1"}}),
        json!({"type": "turn_context", "payload": {"model": "gpt-5"}}),
        json!({"type": "event_msg", "payload": {"type": "user_message", "message": "go"}}),
    ];
    for n in 0..count {
        all.push(json!({"timestamp": at(n * 20), "type": "response_item", "payload": {"type": "function_call",
            "name": "exec_command", "arguments": "{\"cmd\":\"make\"}", "call_id": format!("k{n}")}}));
        let total = json!({"input_tokens": 1000 * (n + 1), "output_tokens": 100 * (n + 1)});
        all.push(json!({"type": "token_usage_record", "payload": {"response_id": format!("r{n}"),
            "usage": {"input_tokens": 1000, "output_tokens": 100}, "thread_token_usage": total}}));
        let output =
            format!("Chunk ID: {n:06x}\nWall time: 0.{n} seconds\nProcess exited with code 2\nOutput:\nno rule\n");
        all.push(json!({"type": "response_item", "payload":
            {"type": "function_call_output", "call_id": format!("k{n}"), "output": output}}));
    }
    lines(all)
}

fn gemini(count: usize) -> Vec<Value> {
    let mut all = vec![json!({"id": "u", "timestamp": at(0), "type": "user", "content": [{"text": "go"}]})];
    for n in 0..count {
        let tokens = json!({"input": 1000, "output": 100, "cached": 0, "thoughts": 0, "tool": 0});
        let answer = json!({"id": format!("g{n}"), "timestamp": at(n * 20), "type": "gemini", "content": "",
            "tokens": tokens, "model": "gemini-2.5-pro"});
        let output = format!("<untrusted_context>\nOutput: no rule\nProcess Group PGID: {n}\n</untrusted_context>");
        let mut again = answer.clone();
        again["toolCalls"] = json!([{"id": format!("f{n}"), "name": "run_shell_command",
            "args": {"command": "make"}, "status": "success", "timestamp": at(n * 20 + 5),
            "result": [{"functionResponse": {"response": {"output": output}}}]}]);
        all.extend([answer, again]);
    }
    all
}

#[test]
fn loop_5_a_loop_in_every_clients_transcript_is_stopped_and_its_price_is_reported() {
    let session = json!({"sessionId": "g1", "startTime": at(0)});
    let jsonl = lines([session].into_iter().chain(gemini(8)));
    let whole = json!({"sessionId": "g1", "messages": gemini(8)}).to_string();
    for (client, text, cost) in [
        (Client::Claude, claude(&["no rule"; 8]), 7_500),
        (Client::Codex, codex(8), 2_250),
        (Client::Gemini, jsonl, 2_250),
        (Client::Gemini, whole, 2_250),
    ] {
        let past = read(client, &text).unwrap();
        assert_eq!((past.calls(), past.broken_lines), (8, 0), "{client:?}");
        assert_eq!((past.spent.tokens.get(), past.spent.micro_usd.get()), (8 * 1_100, 8 * cost), "{client:?}");
        let judged = past.judge(&Policy::default()).unwrap();
        let at = judged.scanned.held_at();
        assert_eq!(at, Some(3), "{client:?}: {:?}", judged.scanned);
        assert_eq!(judged.saved.micro_usd.get(), 4 * cost, "{client:?}: four calls came behind the fourth");
        assert_eq!(judged.since_first_repeat.micro_usd.get(), 7 * cost, "{client:?}: the first call was no repeat");
    }
}

#[test]
fn loop_3_healthy_work_in_a_transcript_is_left_alone() {
    let moving = ["one", "two", "three", "four", "five", "six", "seven", "eight"];
    let judged = read(Client::Claude, &claude(&moving)).unwrap().judge(&Policy::default()).unwrap();
    assert_eq!(judged.scanned.held_at(), None, "{:?}", judged.scanned);
    assert!(judged.saved.is_nothing() && judged.since_first_repeat.is_nothing());
}

#[test]
fn what_is_spent_after_a_persons_word_is_not_saved() {
    let text = format!("{}{}", claude(&["no rule"; 6]), claude(&["fine"; 1]).replace("m0", "n0").replace("t0", "n0"));
    let past = read(Client::Claude, &text).unwrap();
    assert_eq!(past.calls(), 7);
    let judged = past.judge(&Policy::default()).unwrap();
    assert_eq!(judged.saved.micro_usd.get(), 2 * 7_500, "two calls came before the person spoke again");
}

#[test]
fn broken_lines_are_counted_and_foreign_files_are_skipped() {
    let torn = format!("{}{{\"type\":\"assis", claude(&["no rule"; 8]));
    let past = read(Client::Claude, &torn).unwrap();
    assert_eq!((past.calls(), past.broken_lines), (8, 1));
    for (client, text) in [
        (Client::Claude, "not json\n"),
        (Client::Claude, "{\"a\":1}\n[]\n7\n"),
        (Client::Codex, "{\"type\":\"user\"}\n"),
        (Client::Gemini, ""),
        (Client::Gemini, "{\"messages\":{}}"),
    ] {
        assert!(matches!(read(client, text), Err(Skipped::Foreign { .. })), "{client:?} {text}");
    }
    assert!(matches!(PastSession::read(Client::Codex, Path::new("/nowhere/at/all")), Err(Skipped::Unreadable(_))));
}

#[test]
fn a_file_that_is_too_large_is_not_read() {
    let file = tempfile::NamedTempFile::new().unwrap();
    file.as_file().set_len(TRANSCRIPT_BYTES_MAX + 1).unwrap();
    assert!(matches!(PastSession::read(Client::Claude, file.path()), Err(Skipped::TooLarge { .. })));
}

#[test]
fn odd_shapes_of_a_line_do_no_harm() {
    for text in [
        "{\"type\":\"assistant\"}\n{\"type\":\"user\",\"message\":7}\n{\"type\":\"assistant\",\"message\":{\"content\":[1,null]}}\n",
        "{\"type\":\"user\",\"message\":{\"content\":[{\"type\":\"tool_result\"}]}}\n",
    ] {
        let past = read(Client::Claude, text).unwrap();
        assert_eq!(past.calls(), 0);
        assert!(past.judge(&Policy::default()).is_ok());
    }
    let text = "{\"type\":\"response_item\",\"payload\":{\"type\":\"function_call\",\"arguments\":7,\"call_id\":[]}}\n";
    assert_eq!(read(Client::Codex, text).unwrap().calls(), 1);
}
