//! `kill -9` at any moment, then `--resume`: nothing is lost, and nothing runs twice without being said.

use crate::agent::fixture::{AgentFixture, of_kind, shell, untested, until};
use serde_json::{Value, json};
use tripwire_testing::sized;

/// Steps that leave a line.
const STEPS: usize = 4;

/// Each step leaves one line; every second one takes a little longer.
fn answers() -> Vec<Value> {
    untested((0..STEPS).map(|n| shell(&format!("echo line-{n} >> log; sleep 0.0{}", n % 2 * 5))).collect())
}

/// What a session that was killed and taken up has done: each line once, or told as unknown.
#[track_caller]
fn check(fixture: &AgentFixture, killed_at: usize) {
    let log = fixture.read("log");
    let transcript = fixture.transcript();
    let unknown: Vec<&Value> =
        of_kind(&transcript, "result").into_iter().filter(|line| line["how"] == "unknown").collect();
    assert!(unknown.len() <= 1, "killed at {killed_at}: {unknown:?}");
    for line in &unknown {
        assert!(line["text"].as_str().unwrap().contains("started, result unknown (interrupted)"), "{line}");
    }
    let mut missing = 0;
    for n in 0..STEPS {
        match log.lines().filter(|line| *line == format!("line-{n}")).count() {
            1 => {}
            0 => missing += 1,
            many => panic!("killed at {killed_at}: line {n} stands there {many} times\n{log}"),
        }
    }
    assert!(missing <= unknown.len(), "killed at {killed_at}: {missing} lines are missing\n{log}");
}

#[test]
fn a_kill_after_any_number_of_records_loses_nothing_and_repeats_nothing_in_silence() {
    let whole = AgentFixture::new();
    whole.agent(&answers(), &[]).ended(4);
    let records = whole.journal().len();
    // Every record count would take minutes; these hit each kind of record, in the first step and in later ones.
    let step = std::env::var("TRIPWIRE_TEST_KILL_STEP").ok().and_then(|text| text.parse().ok()).unwrap_or(sized(13, 5));
    let places: Vec<usize> = (1..records).step_by(step).chain([12, 13, 14, 15]).collect();
    std::thread::scope(|scope| {
        for half in [0, 1] {
            let places = places.iter().copied().skip(half).step_by(2);
            scope.spawn(move || places.for_each(kill_and_resume));
        }
    });
}

/// Kills a session as soon as it has written so many records, takes it up again, and looks at what came of it.
#[track_caller]
fn kill_and_resume(killed_at: usize) {
    let fixture = AgentFixture::new();
    let running = fixture.start(&answers(), &[]);
    until("the record is written", || !fixture.sessions().is_empty() && fixture.journal().len() >= killed_at);
    running.kill();
    let session = fixture.sessions().pop().unwrap();
    if fixture.journal().len() < 2 {
        // Killed before the loop had begun: there is nothing to go on with, and that is said.
        assert_eq!(fixture.run(&["agent", "--resume", &session]).code, 2);
        return;
    }
    let run = fixture.run(&["agent", "--resume", &session]);
    let over = run.code == 2 && run.stderr.contains("is over");
    assert!(run.code == 4 || over, "killed at {killed_at}: {}\n{}", run.code, run.stderr);
    check(&fixture, killed_at);
    fixture.run(&["replay", &session]).ended(0);
    fixture.run(&["verify"]).ended(0);
}

#[test]
fn a_call_that_was_running_at_the_kill_is_told_as_unknown_and_not_run_again() {
    let fixture = AgentFixture::new();
    let seen = json!({"expect": "started, result unknown (interrupted)", "text": "I look first.", "calls": [{"tool": "finish", "arguments": {"summary": "x"}}]});
    let running = fixture.start(&[shell("echo begun >> log; sleep 600"), seen], &[]);
    until("the command runs", || fixture.read("log") == "begun\n");
    running.kill();
    let session = fixture.sessions().pop().unwrap();
    fixture.run(&["agent", "--resume", &session]).ended(0);
    assert_eq!(fixture.read("log"), "begun\n", "it ran once");
    let transcript = fixture.transcript();
    assert_eq!(of_kind(&transcript, "resumed").len(), 1);
    assert_eq!(of_kind(&transcript, "result")[0]["how"], "unknown");
}
