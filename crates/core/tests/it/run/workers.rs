//! Workers in the chain of engines: their ends are read, their holds are never overruled (RUN-4, RUN-5).

use super::fixture::{Reply, RunFixture, finish, policy, setup};
use tripwire_core::effect::{HoldReason, StopReason};
use tripwire_core::run::ending::Ending;
use tripwire_core::run::line::Line;
use tripwire_core::run::record::{FailureKind, RunRecord, Setup, WorkEnd};
use tripwire_core::run::{Next, Saying};

fn worked(end: WorkEnd) -> Reply {
    Reply::Worked(end)
}

fn alone(advisor: Option<&str>) -> Setup {
    let one = setup();
    Setup {
        advisor: advisor.map(tripwire_core::label::Label::cut),
        engines: one.engines[..1].to_vec(),
        seats: one.seats[..1].to_vec(),
        workers: one.engines[..1].to_vec(),
        ..one
    }
}

fn played(setup: Setup, replies: impl IntoIterator<Item = Reply>) -> (RunFixture, Ending) {
    let mut fixture = RunFixture::new(setup, policy(), replies);
    let ending = fixture.play();
    (fixture, ending)
}

fn is_told(fixture: &RunFixture, words: &str) -> bool {
    fixture.conversation.iter().any(|saying| matches!(saying, Saying::User(text) if text.contains(words)))
}

#[test]
fn run_4_a_workers_claim_goes_the_way_of_every_claim_and_its_session_stays_out_of_the_transcript() {
    let (fixture, ending) = played(alone(None), [worked(WorkEnd::Finished)]);
    assert!(matches!(ending, Ending::Completed { .. }), "{ending:?}");
    assert!(
        fixture.transcript().contains("\"work\"") && !fixture.transcript().contains("auto-2026"),
        "{}",
        fixture.transcript()
    );
}

#[test]
fn run_4_without_another_engine_the_loop_ends_as_its_worker_did() {
    let held = |reason| (worked(WorkEnd::Held(reason)), Ending::Held { reason });
    let stopped = |reason| (worked(WorkEnd::Stopped(reason)), Ending::Stopped { reason });
    for (reply, expected) in [
        held(HoldReason::Loop),
        held(HoldReason::NoProgress),
        held(HoldReason::Money),
        held(HoldReason::GuardFailure),
        stopped(StopReason::SystemError),
        stopped(StopReason::Runaway),
        stopped(StopReason::StoppedByPerson),
    ] {
        let (fixture, ending) = played(alone(None), [reply, finish()]);
        assert_eq!(ending, expected);
        assert_eq!(fixture.asked.len(), 1, "{expected:?}: nobody is asked again");
    }
}

#[test]
fn run_4_a_stop_that_persists_takes_the_next_engine_and_says_so() {
    let two = Setup { workers: vec![setup().engines[0].clone()], ..setup() };
    let two = Setup { advisor: None, ..two };
    let (fixture, ending) = played(two.clone(), [worked(WorkEnd::Held(HoldReason::Loop)), finish()]);
    assert!(matches!(ending, Ending::Completed { .. }), "{ending:?}");
    assert_eq!(fixture.asked, [0, 1]);
    assert!(fixture.lines.iter().any(|line| matches!(line, Line::EngineSwitch(_))));
    assert!(is_told(&fixture, "A worker before you ended early"));
    // What a person or the budget holds is no reason to try somebody else.
    for reason in [HoldReason::Money, HoldReason::GuardFailure, HoldReason::Paused] {
        let (fixture, ending) = played(two.clone(), [worked(WorkEnd::Held(reason)), finish()]);
        assert_eq!((ending, fixture.asked.len()), (Ending::Held { reason }, 1));
    }
}

#[test]
fn run_4_a_provider_without_room_parks_the_session_and_a_broken_client_ends_it() {
    let (_, ending) = played(alone(None), [worked(WorkEnd::Failed(FailureKind::RateLimited))]);
    assert!(matches!(ending, Ending::Parked { .. }), "{ending:?}");
    let (_, ending) = played(alone(None), [worked(WorkEnd::Failed(FailureKind::Refused))]);
    assert_eq!(ending, Ending::NoEngine { said: "the worker's words".into() });
}

#[test]
fn run_5_a_held_worker_is_advised_once_and_a_second_hold_ends_the_loop() {
    let held = || worked(WorkEnd::Held(HoldReason::Loop));
    let mut fixture = RunFixture::new(alone(Some("scripted:other")), policy(), [held(), finish()]);
    fixture.advice = Some("try the other door");
    assert!(matches!(fixture.play(), Ending::Completed { .. }));
    assert!(is_told(&fixture, "LOOP_OVERRIDE") && is_told(&fixture, "try the other door"));
    let mut fixture = RunFixture::new(alone(Some("scripted:other")), policy(), [held(), held(), finish()]);
    fixture.advice = Some("try the other door");
    assert_eq!(fixture.play(), Ending::Held { reason: HoldReason::Loop });
    assert_eq!(fixture.asked.len(), 2);
}

#[test]
fn run_5_a_held_worker_does_not_go_on_without_advice() {
    for advice in [None, Some("  ")] {
        let held = worked(WorkEnd::Held(HoldReason::NoProgress));
        let mut fixture = RunFixture::new(alone(Some("scripted:other")), policy(), [held, finish()]);
        fixture.advice = advice;
        assert_eq!(fixture.play(), Ending::Held { reason: HoldReason::NoProgress }, "{advice:?}");
        assert_eq!(fixture.asked.len(), 1, "{advice:?}");
    }
}

#[test]
fn run_4_a_worker_that_a_crash_interrupted_is_not_begun_again_in_silence() {
    let mut fixture = RunFixture::new(alone(None), policy(), [finish()]);
    while !matches!(fixture.run.next(), Next::Ask { .. }) {
        assert_eq!(fixture.advance(), None, "it does not end before it asks");
    }
    fixture.learn(RunRecord::Resumed(tripwire_core::run::record::OnHold::Leave));
    assert!(is_told(&fixture, "A worker before you ended early") && is_told(&fixture, "killed"));
}
