//! Engines that fail, and the advisor: announced, journaled, and never silent (RUN-4, RUN-5).

use crate::agent::fixture::{AgentFixture, finish, of_kind, shell, untested};
use serde_json::json;

#[test]
fn run_4_an_engine_that_cannot_go_on_is_left_for_the_next_one_and_the_switch_is_announced() {
    let fixture = AgentFixture::new();
    let gone = json!({"error": {"kind": "keyRefused", "said": "revoked"}});
    let second = fixture.cassette("second.jsonl", &[finish()]);
    let run = fixture.agent(&[shell("echo a"), gone], &["--fallback", &second]);
    run.ended(0);
    let transcript = fixture.transcript();
    let switch = of_kind(&transcript, "engineSwitch")[0];
    assert_eq!((&switch["from"], &switch["to"]), (&json!("scripted:model.jsonl"), &json!("scripted:second.jsonl")));
    assert!(run.stdout.contains("switch:"), "{}", run.stdout);
    assert!(fixture.safety_log().contains("ENGINE_SWITCH"));
}

#[test]
fn run_4_a_short_overload_is_waited_for_and_written_down() {
    let fixture = AgentFixture::new();
    let busy = json!({"error": {"kind": "overloaded", "said": "busy", "retryAfterMs": 50}});
    fixture.agent(&[busy, finish()], &[]).ended(0);
    let transcript = fixture.transcript();
    assert_eq!(of_kind(&transcript, "engineError")[0]["trouble"], "overloaded");
    assert!(of_kind(&transcript, "engineSwitch").is_empty());
}

#[test]
fn run_4_a_long_rate_limit_parks_the_session_and_it_can_be_taken_up() {
    let fixture = AgentFixture::new();
    let limited = json!({"error": {"kind": "rateLimited", "said": "come back later", "retryAfterMs": 7_200_000}});
    let answers = untested(vec![shell("echo a >> log"), limited, shell("echo b >> log")]);
    let run = fixture.agent(&answers, &[]);
    run.ended(75);
    assert!(run.stdout.contains("come back later"), "{}", run.stdout);
    let session = fixture.sessions().pop().unwrap();
    fixture.run(&["agent", "--resume", &session]).ended(4);
    assert_eq!(fixture.read("log"), "a\nb\n");
}

#[test]
fn run_4_a_cassette_at_its_end_ends_the_session_with_a_clear_word() {
    let fixture = AgentFixture::new();
    let run = fixture.agent(&[shell("echo a")], &[]);
    run.ended(3);
    assert!(run.stdout.contains("all 1 answers are played"), "{}", run.stdout);
}

/// A command again and again, with another one between: a loop that is held, not stopped.
fn circling() -> Vec<serde_json::Value> {
    let test = || shell("cat state");
    let mut answers = vec![test(), test(), test(), shell("echo between"), test(), shell("echo again"), test()];
    answers.extend([shell("echo on"), finish()]);
    answers
}

#[test]
fn run_5_a_held_loop_without_an_advisor_ends_with_7_and_resume_goes_on() {
    let fixture = AgentFixture::new();
    fixture.file("state", "unchanged\n");
    std::fs::create_dir(fixture.geometry()).unwrap();
    std::fs::write(fixture.geometry().join("MANIFEST.yaml"), "gate:\n  cooldown_duration_ms: 100\n").unwrap();
    let run = fixture.agent(&circling(), &[]);
    run.ended(7);
    assert!(run.stdout.contains("held for a loop"), "{}", run.stdout);
    let session = fixture.sessions().pop().unwrap();
    assert!(
        run.stdout.contains(&format!("`tripwire resume`, then `tripwire agent --resume {session}`")),
        "{}",
        run.stdout
    );
    assert_eq!(fixture.run(&["agent", "--resume", &session]).code, 7, "nobody gave a new approach");
    fixture.run(&["resume"]).ended(0);
    fixture.run(&["agent", "--resume", &session]).ended(0);
}

#[test]
fn run_5_the_advisor_is_asked_with_the_deadlock_and_its_words_travel_in_the_override() {
    let fixture = AgentFixture::new();
    fixture.file("state", "unchanged\n");
    std::fs::create_dir(fixture.geometry()).unwrap();
    std::fs::write(fixture.geometry().join("MANIFEST.yaml"), "gate:\n  cooldown_duration_ms: 100\n").unwrap();
    let advice = json!({"expect": ["DEADLOCK TYPE: HARD_LOOP", "cat state"], "text": "leave the file alone"});
    let advisor = fixture.cassette("advisor.jsonl", &[advice]);
    let mut answers = circling();
    answers[5]["expect"] = json!(["LOOP_OVERRIDE", "leave the file alone"]);
    fixture.agent(&answers, &["--advisor", &advisor]).ended(0);
    let transcript = fixture.transcript();
    assert_eq!(of_kind(&transcript, "advice")[0]["text"], "leave the file alone");
    let told = of_kind(&transcript, "override");
    assert_eq!(told.last().unwrap()["advice"], "leave the file alone");
}

#[test]
fn run_5_an_advisor_that_does_not_answer_leaves_the_loop_held() {
    let fixture = AgentFixture::new();
    fixture.file("state", "unchanged\n");
    let mute = fixture.cassette("advisor.jsonl", &[json!({"error": {"kind": "unreachable", "said": "gone"}})]);
    fixture.agent(&circling(), &["--advisor", &mute]).ended(7);
}

#[test]
fn run_4_who_names_no_engine_is_told_loudly_and_who_names_one_is_not() {
    let fixture = AgentFixture::new();
    let run = fixture.run(&["agent", "--objective", "write a poem"]);
    run.ended(3);
    for words in ["WARNING: no engine was named", "`anthropic:MODEL`", "`claude`", "tripwire agent --example"] {
        assert!(run.stderr.contains(words), "{words}: {}", run.stderr);
    }
    let session = fixture.sessions().pop().unwrap();
    assert!(run.stdout.contains(&format!("`tripwire agent --resume {session} --engine NAME`")), "{}", run.stdout);
    let named = AgentFixture::new().agent(&[finish()], &[]);
    named.ended(0);
    assert!(!named.stderr.contains("no engine was named"), "{}", named.stderr);
}
