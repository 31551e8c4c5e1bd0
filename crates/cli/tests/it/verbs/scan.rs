//! `tripwire scan`: past runs judged as if they had been guarded.

use crate::verbs::support::run;
use serde_json::{Value, json};

/// A trace of calls with one output each.
fn trace(id: &str, calls: &[(&str, Value, &str)]) -> String {
    let events: Vec<Value> = (0..)
        .zip(calls)
        .map(|(i, (tool, args, output))| json!({"i": i, "tool": tool, "args": args, "output": output, "error": null}))
        .collect();
    json!({"trace_id": id, "source": "test", "label": {"stuck": null}, "events": events}).to_string()
}

fn two_traces() -> String {
    let stuck = vec![("Bash", json!({"command": "make check"}), "no rule to make target"); 6];
    let healthy: Vec<_> = (0..6).map(|n| ("Read", json!({"file_path": format!("src/{n}.rs")}), "mod a;")).collect();
    format!("{}\n\n{}\n", trace("stuck", &stuck), trace("healthy", &healthy))
}

#[test]
fn loop_2_a_stuck_trace_fires_and_a_healthy_one_does_not() {
    let ran = run(&["scan", "--traces", "-", "--json"], two_traces().as_bytes());
    let lines: Vec<Value> = ran.done().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), 2);
    assert_eq!((lines[0]["trace_id"].as_str(), lines[0]["kind"].as_str()), (Some("stuck"), Some("stop")));
    assert_eq!((lines[0]["levels"]["override"].as_u64(), lines[0]["levels"]["stop"].as_u64()), (Some(2), Some(3)));
    assert_eq!(lines[0]["rule"].as_str(), Some("LOOP-1.exact"));
    assert!(lines[1]["levels"]["hold"].is_null() && lines[1]["levels"]["stop"].is_null(), "{}", lines[1]);
}

#[test]
fn loop_2_words_name_the_trace_the_event_and_the_rule() {
    let ran = run(&["scan", "--traces", "-"], two_traces().as_bytes());
    let text = ran.done();
    assert!(text.starts_with("stuck: stopped at event 3 of 6 [LOOP-1.exact]\n"), "{text}");
    assert!(text.contains("2 traces: ") && text.trim_end().ends_with("1 stopped, 0 throttled"), "{text}");
}

#[test]
fn loop_2_one_trace_tells_everything_that_fired_in_its_own_words() {
    let text = run(&["scan", "--traces", "-", "--session", "stu"], two_traces().as_bytes()).done().to_owned();
    assert!(text.starts_with("stuck: 6 events\n") && !text.contains("healthy"), "{text}");
    assert!(text.contains("  event 3: stopped [LOOP-1.exact]\n") && text.contains("make check"), "{text}");
    let quiet = run(&["scan", "--traces", "-", "--session", "healthy"], two_traces().as_bytes()).done().to_owned();
    assert!(quiet.contains("nothing would have fired") && quiet.contains("1 trace: "), "{quiet}");
    run(&["scan", "--traces", "-", "--session", "other"], two_traces().as_bytes())
        .refused(&["`other` is among the traces", "`tripwire scan --traces FILE --json`"]);
}

#[test]
fn gate_2_to_the_letter_a_crossed_minute_counts_as_held_and_on_evidence_as_a_wait() {
    let calls: Vec<Value> = (0..3)
        .map(|n| {
            json!({"tool": "Read", "args": {"file_path": format!("{n}.rs")}, "output": n.to_string(),
                        "t_ms": n * 1_000, "tokens": 20_000})
        })
        .collect();
    let text = json!({"trace_id": "fast", "events": calls}).to_string();
    let hold = |profile: &str| {
        let ran = run(&["scan", "--traces", "-", "--json", "--profile", profile], text.as_bytes());
        serde_json::from_str::<Value>(ran.done()).unwrap()["levels"]["hold"].as_u64()
    };
    assert_eq!((hold("strict"), hold("balanced")), (Some(2), None));
}

#[test]
fn a_packed_file_is_unpacked_and_a_false_one_refused() {
    use ruzstd::encoding::{CompressionLevel, compress_to_vec};
    let folder = tripwire_testing::folder();
    let packed = folder.path().join("traces.jsonl.zst");
    let bytes = compress_to_vec(two_traces().as_bytes(), CompressionLevel::Fastest);
    std::fs::write(&packed, &bytes).unwrap();
    let name = packed.to_str().unwrap();
    let plain = run(&["scan", "--traces", "-", "--json"], two_traces().as_bytes());
    assert_eq!(run(&["scan", "--traces", name, "--json"], b"").done(), plain.done());
    std::fs::write(&packed, &bytes[..bytes.len() / 2]).unwrap();
    let cut = run(&["scan", "--traces", name, "--json"], b"");
    assert_eq!(cut.code, 2, "{cut:?}");
    cut.complained(&["traces.jsonl.zst"]);
    std::fs::write(&packed, two_traces()).unwrap();
    run(&["scan", "--traces", name], b"").refused(&["is not packed with zstd", "`zstd FILE`"]);
}

#[test]
fn bad_traces_are_refused_with_line_and_column() {
    for (text, words) in [
        ("nonsense", ["line 1", "column"]),
        ("{\"trace_id\":\"a\"}", ["line 1: column 16", "missing field `events`"]),
        ("{\"trace_id\":\"a\",\"events\":[{\"t_ms\":-4}]}", ["line 1: column 36", "not negative"]),
        ("{\"trace_id\":\"a\",\"events\":[{\"tokens\":1152921504606846976}]}", ["line 1", "largest allowed"]),
        ("{\"trace_id\":\"a\",\"trace_id\":\"b\",\"events\":[]}", ["line 1", "duplicate field `trace_id`"]),
        ("\n{\"trace_id\":\"a\",\"events\":[{\"error\":\"yes\"}]}", ["line 2", "true or false"]),
    ] {
        let ran = run(&["scan", "--traces", "-"], text.as_bytes());
        ran.refused(&words);
        assert!(!ran.err.contains("u64") && !ran.err.contains(" at line "), "{}", ran.err);
    }
    run(&["scan", "--traces", "no/such/file"], b"").refused(&["cannot open"]);
    run(&["scan", "--traces", "docs"], b"").refused(&["is a directory"]);
    let both = run(&["scan", "--traces", "-", "--client", "claude"], b"");
    assert!(both.code == 2 && both.err.contains("cannot be used with"), "{both:?}");
}
