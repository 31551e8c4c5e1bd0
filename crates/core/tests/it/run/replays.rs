//! The same facts again: the same transcript, from the start, from any state, and after a crash at any moment.

use super::fixture::{Journaled, Reply, RunFixture, call, edit, finish, policy, read, setup, test_run};
use tripwire_core::chain::Chain;
use tripwire_core::run::line::Line;
use tripwire_core::run::record::{CallOutcome, OnHold, RunRecord};
use tripwire_core::run::{LoopEffect, Next, Run, RunInput};

fn story() -> Vec<Reply> {
    vec![
        read(0),
        Reply::Breaks(50),
        edit(),
        call("dance", "{}"),
        finish(),
        call("shell", r#"{"command":"fail"}"#),
        test_run(),
        finish(),
    ]
}

fn lines(views: Vec<LoopEffect>, text: &mut String) {
    for view in views {
        if let LoopEffect::Line(line) = view {
            text.push_str(&line.text().unwrap());
            text.push('\n');
        }
    }
}

#[test]
fn run_1_a_journal_run_again_gives_the_same_transcript_byte_for_byte() {
    let (fixture, _) = RunFixture::played(story());
    let (mut run, views) = Run::new(setup(), &policy());
    let mut chain = Chain::new(policy()).unwrap();
    let mut text = String::new();
    lines(views, &mut text);
    for record in &fixture.journal {
        // Written down and taken up again after every record, as a process that dies each time would.
        let kept = serde_json::to_string(&run).unwrap();
        run = serde_json::from_str(&kept).unwrap();
        lines(
            match record {
                Journaled::Record(record) => {
                    let kept = serde_json::to_string(record).unwrap();
                    run.take(RunInput::Record(&serde_json::from_str::<RunRecord>(&kept).unwrap()))
                }
                Journaled::Input(input) => {
                    let decision = chain.step(input).decision;
                    run.take(RunInput::Decided(&input.what, &decision))
                }
            },
            &mut text,
        );
    }
    assert_eq!(text, fixture.transcript());
}

#[test]
fn run_1_two_runs_of_one_script_are_equal_and_another_answer_is_not() {
    let (one, two) = (RunFixture::played(story()).0, RunFixture::played(story()).0);
    assert_eq!(one.transcript(), two.transcript());
    let other = RunFixture::played(story().into_iter().skip(1)).0;
    assert_ne!(one.transcript(), other.transcript());
}

#[test]
fn run_1_the_transcript_holds_no_time() {
    let mut slow = RunFixture::new(setup(), policy(), story());
    loop {
        slow.pass(7);
        if slow.advance().is_some() {
            break;
        }
    }
    assert_eq!(slow.transcript(), RunFixture::played(story()).0.transcript());
}

#[test]
fn a_call_that_was_started_before_a_crash_is_told_as_unknown_and_not_run_again() {
    let mut fixture = RunFixture::new(setup(), policy(), [edit(), finish()]);
    while !matches!(fixture.run.next(), Next::Execute(_)) {
        fixture.advance();
    }
    fixture.learn(RunRecord::Started);
    fixture.learn(RunRecord::Resumed(OnHold::Leave));
    let _ending = fixture.play();
    assert!(fixture.executed.is_empty(), "{:?}", fixture.executed);
    let told = |line: &Line| matches!(line, Line::Result(result) if result.how == CallOutcome::Unknown && result.text.contains("result unknown (interrupted)"));
    assert!(fixture.lines.iter().any(told));
}

#[test]
fn a_call_that_was_only_permitted_is_asked_for_again() {
    let mut fixture = RunFixture::new(setup(), policy(), [read(0), finish()]);
    while !matches!(fixture.run.next(), Next::Execute(_)) {
        fixture.advance();
    }
    fixture.learn(RunRecord::Resumed(OnHold::Leave));
    let _ending = fixture.play();
    assert_eq!(fixture.executed.len(), 1);
}

#[test]
fn a_crash_between_any_two_records_loses_nothing_and_repeats_nothing() {
    let whole = RunFixture::played(story()).0;
    for crash in 0..whole.journal.len() {
        let mut fixture = RunFixture::new(setup(), policy(), story());
        let mut ended = false;
        while fixture.journal.len() < crash && !ended {
            ended = fixture.advance().is_some();
        }
        fixture.learn(RunRecord::Resumed(OnHold::Leave));
        if !ended {
            let _ending = fixture.play();
        }
        assert_eq!(fixture.executed, whole.executed, "crash after {crash} records");
    }
}
