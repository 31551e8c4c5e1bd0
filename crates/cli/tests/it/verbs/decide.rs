//! `tripwire decide`: decisions in JSON and in words, recordings, checks, and the same bytes every time.

use crate::verbs::support::{EVENT, decide, root, run, scenario};

/// One decision to the byte: what a reader on another machine must get too.
const DECISION: &str = r#"{"activity":{"intensity":"NORMAL","mode":"WORKING","reason":"regular, controlled event flow","since":0},"effects":[],"findings":[],"i":0,"intent":{"confidence":1,"intent":"CONTINUE","reason":"working: nothing speaks against going on"},"runId":"decide","safety":{"allowed":true,"health":1,"reason":"nothing speaks against it","remainingBudget":599998,"rule":"GATE-1"},"stepId":1}"#;

#[test]
fn chain_3_one_event_gives_one_decision_to_the_byte() {
    assert_eq!(decide(format!("{EVENT}\n").as_bytes()).done(), format!("{DECISION}\n"));
    assert_eq!(decide(EVENT.as_bytes()).done(), format!("{DECISION}\n"), "the last line needs no end");
    assert_eq!(decide(format!("\n  \r\n{EVENT}\r\n\n").as_bytes()).done(), format!("{DECISION}\n"));
}

#[test]
fn chain_3_a_file_a_pipe_and_many_processes_give_the_same_bytes() {
    for name in ["readme/loop-caught", "loops/alike-outputs-fires", "authority/review-fires"] {
        let file = scenario(name);
        let text = std::fs::read(root().join(&file)).unwrap();
        let expected = run(&["decide", &file], b"");
        assert!(expected.done().lines().count() > 3);
        assert_eq!(run(&["decide", "-"], &text), expected, "{name} from a pipe");
        let others: Vec<_> = (0..6)
            .map(|_| {
                let file = file.clone();
                std::thread::spawn(move || run(&["decide", &file], b""))
            })
            .collect();
        for other in others {
            assert_eq!(other.join().unwrap(), expected, "{name} at the same time");
        }
    }
}

#[test]
fn chain_3_two_sessions_in_a_row_know_nothing_of_each_other() {
    let one = std::fs::read_to_string(root().join(scenario("readme/loop-caught"))).unwrap();
    let alone = decide(one.as_bytes());
    let lines: Vec<&str> = one.lines().collect();
    let half = decide(lines[..6].join("\n").as_bytes());
    assert!(alone.done().starts_with(half.done()), "what comes later must not change what came before");
}

#[test]
fn loop_1_the_readmes_command_tells_a_stranger_what_happened() {
    let told = run(&["decide", "--text", &scenario("readme/loop-caught")], b"");
    let text = told.done();
    for part in [
        "An agent mends a rounding error",
        "event    time   what the agent did                      answer",
        "    3    0:21   Edit src/invoice.py new_s…antize(CENT)  allowed",
        "override: `pytest -q tests/test_invoice.py`: 3 times in a row with the same result",
        "-> the agent is told: do not repeat",
        "    8    0:56   pytest -q tests/test_invoice.py         REFUSED  LOOP_DETECTED",
        "why: stopped; to go on, a person runs: tripwire resume --restart;",
        "-> BLOCKER_REPORT.md is written for a person",
        "11 inputs, 8 allowed, 3 refused; the strictest level was stop; `tripwire explain LOOP-1.exact` tells why",
        "events 11 sha256 ",
    ] {
        assert!(text.contains(part), "{part:?} is not in:\n{text}");
    }
    assert!(text.lines().all(|line| line.chars().count() <= 180), "lines fit a screen:\n{text}");
    assert!(!text.contains('\x1b'), "no colour in a pipe");
}

#[test]
fn loop_2_the_word_that_was_ignored_is_named_and_where_none_was_none_is() {
    let call = |(n, word): (u32, &str)| {
        let call = r#""tool":"Bash","args":{"command":"make"},"error":true"#;
        format!("{{\"timestamp\":{n}0000,{call},\"output\":\"FAILED {word}\"}}\n")
    };
    let decided =
        |words: [&str; 3]| decide((1..).zip(words).map(call).collect::<String>().as_bytes()).done().to_owned();
    let varied = decided(["a7Xk", "q3Zp", "m9Rt"]);
    assert!(varied.contains("ignoring `m9Rt` which changes at each repetition"), "{varied}");
    let same = decided(["a7Xk"; 3]);
    assert!(same.contains("3 times in a row with the same result") && !same.contains("ignoring"), "{same}");
}

#[test]
fn dirty_1_a_claim_without_tests_is_told_as_sent_back() {
    let told = run(&["decide", "--text", &scenario("endings/untested-claim-fires")], b"");
    assert_eq!(told.done().matches("sent back").count(), 2);
    let words: Vec<&str> = told.out.split_whitespace().collect();
    let text = words.join(" ");
    assert!(text.contains("Run tests now with: pytest tests/") && text.contains("completed, UNVERIFIED"), "{text}");
}

#[test]
fn words_and_json_are_chosen_by_flag_and_exclude_each_other() {
    let file = scenario("budgets/tokens-fires");
    let json = run(&["decide", "--json", &file], b"");
    for line in json.done().lines() {
        let decision: serde_json::Value = serde_json::from_str(line).unwrap();
        for field in ["i", "activity", "intent", "safety", "findings", "effects", "runId", "stepId"] {
            assert!(!decision[field].is_null(), "{field} is missing in {line}");
        }
        assert!(!decision["safety"]["reason"].as_str().unwrap().is_empty());
    }
    let both = run(&["decide", "--json", "--text", &file], b"");
    assert_eq!((both.code, both.out.as_str()), (2, ""));
    assert!(both.err.contains("cannot be used with"), "{}", both.err);
}

#[test]
fn a_profile_on_the_command_line_wins_over_the_scenarios() {
    let file = scenario("mirror/five-reads-fires");
    assert!(run(&["decide", &file], b"").done().contains("HARD_LOOP"));
    assert!(!run(&["decide", "--profile", "balanced", &file], b"").done().contains("HARD_LOOP"));
}

#[test]
fn a_check_that_fails_or_proves_nothing_ends_with_9() {
    let good = run(&["decide", "--check", &scenario("budgets/tokens-quiet")], b"");
    assert_eq!(good.done(), "`scenarios/budgets/tokens-quiet.jsonl`: 3 decisions are as expected\n");
    let wrong = EVENT.replace('}', r#","expect":{"allowed":false,"veto":"LOOP_DETECTED"}}"#);
    let failed = run(&["decide", "--check", "-"], wrong.as_bytes());
    assert_eq!(failed.code, 9);
    assert_eq!(
        failed.out,
        "-:1: decision 0: `allowed` was expected to be false and is true\n\
         -:1: decision 0: `veto` was expected to be LOOP_DETECTED and is none\n\
         standard input: 2 expectations are not met\n"
    );
    let empty = run(&["decide", "--check", "-"], EVENT.as_bytes());
    assert_eq!((empty.code, empty.out.as_str()), (9, "standard input: no line expects anything\n"));
    let json = run(&["decide", "--check", "--json", "-"], wrong.as_bytes());
    assert_eq!((json.code, json.out.lines().count()), (9, 1), "beside JSON the result is talk");
    assert!(json.err.contains("2 expectations are not met"));
}

#[test]
fn log_1_a_recording_is_never_written_over_anything() {
    let folder = tripwire_testing::folder();
    let kept = folder.path().join("kept.jsonl");
    std::fs::write(&kept, EVENT).unwrap();
    let kept = kept.to_str().unwrap();
    let ran = run(&["decide", "--record", kept, kept], b"");
    ran.refused(&[kept, "is not overwritten", "--record FILE"]);
    assert_eq!(std::fs::read_to_string(kept).unwrap(), EVENT, "the input is still there");
    let nowhere = folder.path().join("no/such/folder.jsonl");
    run(&["decide", "--record", nowhere.to_str().unwrap()], EVENT.as_bytes()).refused(&["cannot open"]);
}

#[test]
fn lenient_reports_bad_lines_and_decides_on_the_others() {
    let text = format!("nonsense\n{EVENT}\n{{\"timestamp\":4}}\n{EVENT}\n{{\"timestamp\":-1}}\n{EVENT}");
    let ran = run(&["decide", "--lenient"], text.as_bytes());
    assert_eq!((ran.code, ran.out.lines().count()), (0, 3), "{ran:?}");
    let skipped: Vec<&str> = ran.err.lines().collect();
    assert_eq!(
        skipped,
        [
            "skipped: standard input: line 1: column 1: a JSON object was expected",
            "skipped: standard input: line 3: field `tokenCount` is missing",
            "skipped: standard input: line 5: field `timestamp`, column 15: invalid value: integer `-1`, expected a whole \
             number that is not negative",
        ]
    );
    let clean = run(&["decide"], format!("{EVENT}\n{EVENT}\n{EVENT}").as_bytes());
    assert_eq!(ran.out, clean.out, "bad lines leave no trace in the decisions");
}

#[test]
fn a_reader_that_has_seen_enough_ends_the_run_quietly() {
    let mut child = crate::verbs::support::start(&["decide", &scenario("loops/alike-outputs-fires")]);
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), output.stderr.as_slice()), (Some(0), &b""[..]));
}
