//! Input from people who make mistakes and from agents that mean harm: named, bounded, never half-decided.

use crate::verbs::support::{EVENT, decide, peak_kb, run, start};
use std::io::{BufRead, BufReader, Read, Write};

#[test]
fn const_5_each_kind_of_bad_line_is_named_with_line_and_field() {
    let with = |from: &str, to: &str| EVENT.replace(from, to).into_bytes();
    let cases: Vec<(Vec<u8>, &[&str])> = vec![
        (b"{\"timestamp\":6,".to_vec(), &["line 1", "column 15", "EOF"]),
        (b"{} {}".to_vec(), &["line 1", "trailing characters"]),
        (b"{\"timestamp\":6,\"tokenCount\":1}".to_vec(), &["line 1: field `toolCalls` is missing"]),
        (with("\"timestamp\":5", "\"timestamp\":-5"), &["line 1: field `timestamp`", "`-5`", "not negative"]),
        (with("\"timestamp\":5", "\"timestamp\":5.5"), &["line 1: field `timestamp`", "`5.5`", "whole number"]),
        (with("\"timestamp\":5", "\"timestamp\":\"5\""), &["line 1: field `timestamp`", "string"]),
        (with("\"tokenCount\":2", "\"tokenCount\":1152921504606846976"), &["field `tokenCount`", "largest allowed"]),
        (with("\"timestamp\":5", "\"timestamp\":1152921504606846976"), &["field `timestamp`", "largest allowed"]),
        (with("{", "{\"timestamp\":1,"), &["line 1", "duplicate field `timestamp`"]),
        (with("}", ",\"action\":{\"tool\":\"a\",\"tool\":\"b\"}}"), &["field `action`", "duplicate field `tool`"]),
        (with("}", ",\"outcome\":{\"status\":\"maybe\"}}"), &["field `outcome.status`", "`maybe`", "`ok` or `error`"]),
        (with("}", ",\"flags\":[\"dance\"]}"), &["field `flags", "unknown flag `dance`"]),
        (with("}", ",\"turnId\":\"\u{1}\"}"), &["field `turnId`", "control character"]),
        (b"{\"at\":1,\"what\":\"dance\"}".to_vec(), &["field `what", "unknown variant `dance`"]),
        (b"{\"what\":\"tick\"}".to_vec(), &["field `at` is missing"]),
        (b"{\"at\":1,\"what\":\"tick\",\"tool\":\"Bash\"}".to_vec(), &["field `tool` cannot be combined with `what`"]),
        (with("}", ",\"output\":\"x\"}"), &["field `output` cannot be combined with"]),
        (b"{\"timestamp\":6,\"tool\":\"B\xff\",\"args\":{}}".to_vec(), &["field `tool`", "invalid unicode"]),
        (b"\xef\xbb\xbf{}".to_vec(), &["line 1", "byte order mark"]),
        (b"[1,2,3]".to_vec(), &["line 1", "a JSON object was expected and not a list"]),
        (b"42".to_vec(), &["line 1", "a JSON object was expected"]),
        (b"\0\0\0".to_vec(), &["line 1", "a JSON object was expected"]),
        (
            b"{\"scenario\":{\"title\":\"t\",\"rule\":\"LOOP-1\",\"must\":\"dance\"}}".to_vec(),
            &["field `scenario.must`", "`dance`"],
        ),
        (
            b"{\"scenario\":{\"title\":\"t\",\"rule\":\"LOOP-1\",\"must\":\"fire\",\"policy\":{\"gate.nope\":\"1\"}}}"
                .to_vec(),
            &["line 1: field `scenario`", "unknown setting `gate.nope`", "tripwire policy show"],
        ),
        (with("}", ",\"expect\":{\"alowed\":true}}"), &["field `expect.alowed`", "unknown field"]),
    ];
    for (line, words) in cases {
        let shown = String::from_utf8_lossy(&line).into_owned();
        let ran = decide(&line);
        assert!(ran.code == 2 && ran.err.contains("standard input"), "{shown}: {ran:?}");
        ran.refused(words);
    }
}

#[test]
fn const_5_decisions_before_a_bad_line_stand_and_none_follows_it() {
    let ran = decide(format!("{EVENT}\n{EVENT}\n{{\"timestamp\":6\n{EVENT}\n").as_bytes());
    assert_eq!((ran.code, ran.out.lines().count()), (2, 2), "{ran:?}");
    ran.complained(&["line 3", "--lenient", "tripwire help events"]);
}

#[test]
fn const_5_time_that_runs_back_is_refused_with_both_times() {
    let earlier = EVENT.replace("\"timestamp\":5", "\"timestamp\":4");
    let ran = decide(format!("{EVENT}\n{earlier}\n").as_bytes());
    assert_eq!((ran.code, ran.out.lines().count()), (2, 1));
    ran.complained(&["line 2: field `timestamp`: 4 ms is before 5 ms"]);
    let late_head = format!("{EVENT}\n{{\"scenario\":{{\"title\":\"t\",\"rule\":\"LOOP-1\",\"must\":\"fire\"}}}}\n");
    decide(late_head.as_bytes()).complained(&["line 2: field `scenario`: is allowed only in the first line"]);
}

#[test]
fn a_missing_file_a_folder_and_an_unknown_profile_are_refused() {
    run(&["decide", "no/such/file.jsonl"], b"").refused(&["`no/such/file.jsonl`", "No such file"]);
    run(&["decide", "scenarios"], b"").refused(&["`scenarios`", "is a directory"]);
    let ran = run(&["decide", "--profile", "lax"], b"");
    assert_eq!((ran.code, ran.out.as_str()), (2, ""));
    assert!(ran.err.contains("strict, balanced"), "{}", ran.err);
}

#[test]
fn nesting_of_a_hundred_thousand_levels_overflows_nothing() {
    const DEPTH: usize = 100_000;
    let lists = format!("{{\"timestamp\":6,\"tool\":\"Bash\",\"args\":{}{}}}", "[".repeat(DEPTH), "]".repeat(DEPTH));
    assert_eq!(decide(lists.as_bytes()).done().lines().count(), 1);
    let objects = format!("{{\"timestamp\":6,\"action\":{}1{}}}", "{\"a\":".repeat(DEPTH), "}".repeat(DEPTH));
    decide(objects.as_bytes()).refused(&["line 1"]);
    let facts = format!("{{\"at\":6,\"what\":{}1{}}}", "{\"event\":".repeat(DEPTH), "}".repeat(DEPTH));
    decide(facts.as_bytes()).refused(&["line 1"]);
}

#[test]
fn ctrl_3_an_agents_words_cannot_steer_a_persons_terminal() {
    let call = |at: u32| {
        format!(
            "{{\"timestamp\":{at},\"tool\":\"\\u001b[2J\\u009b\",\"args\":{{\"x\":\"\\u001b]0;hi\\u0007\"}},\"output\":\"same\"}}\n"
        )
    };
    let text: String = (0..4).map(call).collect();
    let told = run(&["decide", "--text"], text.as_bytes());
    assert!(told.done().contains("REFUSED"), "{}", told.out);
    assert!(!told.out.chars().any(|letter| letter.is_control() && letter != '\n'), "{:?}", told.out);
    let refused = decide(b"{\"at\":1,\"what\":\"\\u001b[2J\"}");
    refused.refused(&["unknown variant"]);
    assert!(!refused.err.contains('\u{1b}'), "{:?}", refused.err);
}

/// Feeds a child and gives its peak memory when all of it was taken in.
fn peak_after(arguments: &[&str], chunk: &[u8], times: usize, last: &[u8]) -> (u64, usize, i32, String) {
    let mut child = start(arguments);
    let mut stdin = child.stdin.take().unwrap();
    let stdout = BufReader::new(child.stdout.take().unwrap());
    let lines = std::thread::spawn(move || stdout.lines().count());
    for _ in 0..times {
        if stdin.write_all(chunk).is_err() {
            break; // It has ended: the exit code below tells how.
        }
    }
    drop(stdin.write_all(last).and_then(|()| stdin.flush()));
    let peak = peak_kb(&child);
    drop(stdin);
    let mut err = String::new();
    child.stderr.take().unwrap().read_to_string(&mut err).unwrap();
    let code = child.wait().unwrap().code().unwrap_or(-1);
    (peak, lines.join().unwrap(), code, err)
}

#[test]
fn chain_6_a_line_of_100_mb_is_named_and_costs_no_more_than_the_bound() {
    let chunk = vec![b'x'; 1 << 20];
    let (peak, lines, code, err) = peak_after(&["decide", "--lenient"], &chunk, 100, format!("\n{EVENT}\n").as_bytes());
    assert_eq!((lines, code), (1, 0), "the line behind it is decided");
    assert_eq!(err, "skipped: standard input: line 1: longer than 16777216 bytes\n");
    assert!(peak < 64 * 1_024, "{peak} KB");
}

#[test]
fn chain_6_a_line_just_beyond_the_bound_is_refused_and_one_within_it_is_decided() {
    let line = |bytes: usize| {
        let head = "{\"timestamp\":6,\"tool\":\"Bash\",\"args\":{},\"turnId\":\"t\",\"x\":\"";
        format!("{head}{}\"}}\n", "x".repeat(bytes - head.len() - 2))
    };
    let ran = decide(line((16 << 20) + 1).as_bytes());
    ran.refused(&["line 1: longer than 16777216 bytes", "--lenient"]);
    assert_eq!(decide(line(16 << 20).as_bytes()).done().lines().count(), 1);
}

#[test]
fn chain_6_memory_does_not_grow_with_the_length_of_a_stream() {
    let wanted = tripwire_testing::sized(60_000, 150_000);
    let chunk = format!("{EVENT}\n").repeat(1_000);
    let (short, ..) = peak_after(&["decide"], chunk.as_bytes(), 3, b"");
    let (long, lines, code, _) = peak_after(&["decide"], chunk.as_bytes(), wanted / 1_000, b"");
    assert_eq!((lines, code), (wanted, 0));
    assert!(long < short + 2_048, "{short} KB after 3,000 lines, {long} KB after {wanted}");
}
