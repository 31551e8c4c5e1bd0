//! Record and replay: the loop runs again from its journal, and from a cassette that a run recorded.

use crate::agent::fixture::{AgentFixture, call, shell, untested};
use serde_json::{Value, json};

fn story() -> Vec<Value> {
    untested(vec![shell("echo a > a.py"), call("read_file", json!({"path": "a.py"})), shell("false")])
}

#[test]
fn replay_1_a_session_of_our_loop_runs_again_without_model_and_tools() {
    let fixture = AgentFixture::new();
    let run = fixture.agent(&story(), &[]);
    run.ended(4);
    assert!(run.stdout.contains("· equal · transcript"), "{}", run.stdout);
    let session = fixture.sessions().pop().unwrap();
    std::fs::remove_file(fixture.beside("model.jsonl")).unwrap();
    std::fs::remove_file(fixture.work().join("a.py")).unwrap();
    let replayed = fixture.run(&["replay", &session]);
    replayed.ended(0);
    assert!(replayed.stdout.contains("transcript") && replayed.stdout.contains("equal"), "{}", replayed.stdout);
    let json = fixture.run(&["replay", &session, "--json"]);
    let value: Value = serde_json::from_str(json.stdout.trim()).unwrap();
    assert_eq!((&value["equal"], &value["transcript"]["equal"]), (&json!(true), &json!(true)));
    assert!(!fixture.work().join("a.py").exists(), "no tool ran again");
}

#[test]
fn replay_1_a_changed_transcript_is_found_with_its_line() {
    let fixture = AgentFixture::new();
    fixture.agent(&story(), &[]).ended(4);
    let session = fixture.sessions().pop().unwrap();
    let path = fixture.geometry().join("transcripts").join(format!("{session}.jsonl"));
    let forged = std::fs::read_to_string(&path).unwrap().replacen("I call read_file.", "I call nothing.", 1);
    std::fs::write(&path, forged).unwrap();
    let run = fixture.run(&["replay", &session]);
    run.ended(9);
    assert!(run.stdout.contains("differs first in line"), "{}", run.stdout);
}

#[test]
fn a_recorded_cassette_plays_the_session_again() {
    let one = AgentFixture::new();
    let record = one.beside("recorded.jsonl");
    one.agent(&story(), &["--record", record.to_str().unwrap()]).ended(4);
    let two = AgentFixture::new();
    let engine = format!("scripted:{}", record.display());
    two.run(&["agent", "--objective", "reach the aim", "--engine", &engine]).ended(4);
    let without_head = |fixture: &AgentFixture| {
        let lines = fixture.transcript().into_iter().skip(1);
        lines
            .map(|mut line| {
                line["engine"] = json!(null);
                line
            })
            .collect::<Vec<Value>>()
    };
    assert_eq!(without_head(&one), without_head(&two));
    let again = one.agent(&story(), &["--record", record.to_str().unwrap()]);
    again.ended(2);
    assert!(again.stderr.contains("exists already"), "{}", again.stderr);
}

#[test]
fn log_3_the_frozen_replay_names_the_prompt() {
    let fixture = AgentFixture::new();
    fixture.agent(&story(), &[]).ended(4);
    let session = fixture.sessions().pop().unwrap();
    let text = std::fs::read_to_string(fixture.geometry().join("replays").join(format!("{session}.json"))).unwrap();
    let frozen: Value = serde_json::from_str(&text).unwrap();
    let head = &fixture.transcript()[0];
    assert_eq!(frozen["prompt_hash"].as_str().unwrap(), format!("sha256:{}", head["promptSha256"].as_str().unwrap()));
    let journal = fixture.journal();
    let own = &journal[0]["b"]["session"]["identity"]["own"];
    assert_eq!(own["prompt"], head["promptSha256"], "in the very first record");
    assert_eq!(own["tools"], head["registrySha256"]);
}
