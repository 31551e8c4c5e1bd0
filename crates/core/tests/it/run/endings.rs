//! How iterations and sessions end: steps, wall clocks, holds, people, the advisor, the reviewer.

use super::fixture::{Reply, RunFixture, call, edit, finish, policy, read, setup, test_run};
use tripwire_core::chain::gate::dirty_bits::Verification;
use tripwire_core::effect::{Deadlock, ExitStatus, HoldReason, StopReason};
use tripwire_core::input::{HumanAct, What};
use tripwire_core::label::Label;
use tripwire_core::run::ending::Ending;
use tripwire_core::run::line::Line;
use tripwire_core::run::record::{OnHold, ReviewAnswer, Setup};
use tripwire_core::run::{Next, Saying};

fn ends(fixture: &RunFixture) -> Vec<ExitStatus> {
    let end = |line: &Line| if let Line::IterationEnd { exit_status, .. } = line { Some(*exit_status) } else { None };
    fixture.lines.iter().filter_map(end).collect()
}

/// Edits that never repeat, so that only the caps can end them.
fn edits() -> impl Iterator<Item = Reply> {
    (0..).map(read)
}

#[test]
fn term_1_the_step_cap_ends_the_iteration_and_the_next_begins_with_the_recitation() {
    let (fixture, ending) = RunFixture::played(edits().take(12).chain([finish()]));
    assert!(matches!(ending, Ending::Completed { .. }), "{ending:?}");
    assert_eq!(ends(&fixture), [ExitStatus::MaxSteps, ExitStatus::Completed]);
    let second =
        fixture.lines.iter().position(|line| matches!(line, Line::Iteration { number } if number.get() == 2)).unwrap();
    let recited = |line: &Line| matches!(line, Line::User { text } if text.contains("Last completed step"));
    assert!(fixture.lines[second..second + 3].iter().any(recited), "{:?}", &fixture.lines[second..second + 3]);
}

#[test]
fn term_1_ten_steps_with_parallel_calls_are_one_iteration() {
    let two = |n: usize| {
        const PAIRS: [[&str; 2]; 9] = [
            [r#"{"path":"a0"}"#, r#"{"path":"a1"}"#],
            [r#"{"path":"b0"}"#, r#"{"path":"b1"}"#],
            [r#"{"path":"c0"}"#, r#"{"path":"c1"}"#],
            [r#"{"path":"d0"}"#, r#"{"path":"d1"}"#],
            [r#"{"path":"e0"}"#, r#"{"path":"e1"}"#],
            [r#"{"path":"f0"}"#, r#"{"path":"f1"}"#],
            [r#"{"path":"g0"}"#, r#"{"path":"g1"}"#],
            [r#"{"path":"h0"}"#, r#"{"path":"h1"}"#],
            [r#"{"path":"i0"}"#, r#"{"path":"i1"}"#],
        ];
        Reply::Calls(PAIRS[n].iter().map(|args| ("read_file", *args)).collect())
    };
    let (fixture, ending) = RunFixture::played((0..9).map(two).chain([finish()]));
    assert!(matches!(ending, Ending::Completed { .. }), "{ending:?}");
    assert_eq!((fixture.executed.len(), ends(&fixture)), (18, vec![ExitStatus::Completed]));
}

#[test]
fn iter_1_without_an_iteration_left_it_ends_and_a_checkpoint_waits() {
    let mut policy = policy();
    policy.set("safety.max_iterations", "1").unwrap();
    policy.set("limits.max_steps", "3").unwrap();
    let mut fixture = RunFixture::new(setup(), policy, edits().take(9));
    assert_eq!(fixture.play(), Ending::OutOfIterations);
    assert_eq!(fixture.executed.len(), 3);
}

#[test]
fn term_1_the_sessions_wall_clock_stops_it_whatever_else_is_due() {
    let mut policy = policy();
    policy.set("limits.max_session_runtime_ms", "20000").unwrap();
    policy.set("limits.max_steps", "2").unwrap();
    let mut fixture = RunFixture::new(setup(), policy, edits().take(30));
    assert_eq!(fixture.play(), Ending::Stopped { reason: StopReason::WallClock });
}

#[test]
fn term_1_an_iterations_wall_clock_ends_it_with_timeout_and_not_with_max_steps() {
    let mut policy = policy();
    policy.set("limits.max_steps", "1").unwrap();
    policy.set("limits.max_runtime_hours", "1").unwrap();
    let mut fixture = RunFixture::new(setup(), policy, edits().take(3).chain([finish()]));
    while fixture.asked.is_empty() {
        fixture.advance();
    }
    fixture.pass(3_600_000);
    let _ending = fixture.play();
    assert_eq!(ends(&fixture).first(), Some(&ExitStatus::Timeout), "{:?}", ends(&fixture));
}

#[test]
fn term_1_a_person_comes_before_the_wall_clock() {
    let mut fixture = RunFixture::new(setup(), policy(), edits().take(30));
    while fixture.asked.len() < 2 {
        fixture.advance();
    }
    fixture.put(What::Human(HumanAct::Stop));
    assert_eq!(fixture.play(), Ending::Stopped { reason: StopReason::StoppedByPerson });
    assert_eq!(ends(&fixture), [ExitStatus::Interrupted]);
}

#[test]
fn ctrl_1_a_pause_waits_and_goes_on_where_it_was() {
    let mut fixture = RunFixture::new(setup(), policy(), [read(0), read(1), finish()]);
    while fixture.executed.is_empty() {
        fixture.advance();
    }
    fixture.put(What::Human(HumanAct::Pause));
    while !matches!(fixture.run.next(), Next::AwaitPerson(_)) {
        fixture.advance();
    }
    fixture.put(What::Tick);
    assert_eq!(fixture.run.next(), Next::AwaitPerson(HoldReason::Paused));
    fixture.put(What::Human(HumanAct::Resume));
    assert!(matches!(fixture.play(), Ending::Completed { .. }));
    assert_eq!(fixture.executed.len(), 2);
}

/// Cycles of two calls with the same results: a proven loop.
fn circle() -> impl Iterator<Item = Reply> {
    (0..40).map(|n| call("shell", if n % 2 == 0 { r#"{"command":"ls src"}"# } else { r#"{"command":"ls lib"}"# }))
}

fn with_advisor() -> Setup {
    Setup { advisor: Some(Label::cut("scripted:advisor")), ..setup() }
}

#[test]
fn run_5_a_held_loop_does_not_go_on_without_the_advisor() {
    let mut fixture = RunFixture::new(with_advisor(), policy(), circle());
    fixture.advice = None;
    let ending = fixture.play();
    assert_eq!(ending, Ending::Held { reason: HoldReason::Loop });
    assert!(fixture.lines.iter().any(|line| matches!(line, Line::Deadlock { deadlock: Deadlock::HardLoop })));
}

#[test]
fn run_5_the_advisors_words_travel_in_the_typed_override_and_the_loop_goes_on() {
    let circle: Vec<Reply> = circle().collect();
    let mut fixture = RunFixture::new(with_advisor(), policy(), circle);
    fixture.advice = Some("read the failing test first");
    while !fixture.lines.iter().any(|line| matches!(line, Line::Advice { .. })) {
        assert_eq!(fixture.advance(), None);
    }
    let asked = fixture.asked.len();
    while fixture.asked.len() == asked {
        assert_eq!(fixture.advance(), None);
    }
    let told = fixture.conversation.iter().rev().find_map(|saying| match saying {
        Saying::User(text) => Some(text.clone()),
        Saying::Model(_) | Saying::Results(_) => None,
    });
    let told = told.unwrap();
    assert!(told.contains("LOOP_OVERRIDE {\"advice\":\"read the failing test first\""), "{told}");
}

#[test]
fn run_5_without_an_advisor_a_held_loop_ends_for_a_person() {
    let mut fixture = RunFixture::new(setup(), policy(), circle());
    assert_eq!(fixture.play(), Ending::Held { reason: HoldReason::Loop });
    let asked = fixture.asked.len();
    assert!(asked < 40, "{asked}");
}

#[test]
fn on_a_terminal_a_hold_waits_for_the_person() {
    let mut fixture = RunFixture::new(Setup { patience: OnHold::Wait, ..setup() }, policy(), circle());
    while !matches!(fixture.run.next(), Next::AwaitPerson(_)) {
        assert_eq!(fixture.advance(), None);
    }
    assert_eq!(fixture.run.next(), Next::AwaitPerson(HoldReason::Loop));
    fixture.put(What::Human(HumanAct::Resume));
    assert!(matches!(fixture.run.next(), Next::Take(_)));
}

#[test]
fn prog_1_two_failed_iterations_ask_the_advisor_and_its_words_reach_the_model() {
    let mut policy = policy();
    policy.set("limits.max_steps", "2").unwrap();
    policy.set("limits.editing_objective", "true").unwrap();
    let mut fixture = RunFixture::new(with_advisor(), policy, (0..4).map(read).chain([edit(), test_run(), finish()]));
    fixture.advice = Some("edit sum.sh");
    let _ending = fixture.play();
    assert!(fixture.lines.iter().any(|line| matches!(line, Line::Deadlock { deadlock: Deadlock::NoProgress })));
    let advised = |line: &Line| matches!(line, Line::Override(told) if told.advice == Label::new("edit sum.sh"));
    assert!(fixture.lines.iter().any(advised));
}

#[test]
fn ctx_2_at_80_per_cent_the_context_begins_anew_with_the_briefing() {
    let (fixture, ending) = RunFixture::played([read(0), Reply::Full(165_000), read(1), finish()]);
    assert!(matches!(ending, Ending::Completed { .. }), "{ending:?}");
    assert_eq!(fixture.briefings, 1);
    let Saying::User(first) = &fixture.conversation[0] else { panic!("{:?}", fixture.conversation) };
    assert!(first.contains("make the tests pass") && first.contains("Read .geometry/MISSION_BRIEFING.md and continue"));
}

#[test]
fn ctx_2_beyond_85_per_cent_no_call_runs_before_the_context_was_begun_anew() {
    let (fixture, ending) = RunFixture::played([Reply::Full(175_000), read(1), finish()]);
    assert!(matches!(ending, Ending::Completed { .. }), "{ending:?}");
    assert_eq!(fixture.executed, [r#"read_file {"path":"b"}"#]);
}

#[test]
fn ctx_2_below_75_per_cent_nothing_happens() {
    let (fixture, _) = RunFixture::played([Reply::Full(140_000), finish()]);
    assert_eq!(fixture.briefings, 0);
}

fn with_reviewer() -> Setup {
    Setup { reviewer: Some(Label::cut("scripted:reviewer")), ..setup() }
}

#[test]
fn review_1_only_an_approved_change_is_applied() {
    let mut fixture =
        RunFixture::new(with_reviewer(), policy(), [edit(), test_run(), finish(), edit(), test_run(), finish()]);
    fixture.review.extend([ReviewAnswer::Rejected, ReviewAnswer::Approved]);
    assert_eq!(fixture.play(), Ending::Completed { verdict: Verification::Verified });
    assert_eq!(fixture.executed.iter().filter(|done| *done == "apply").count(), 1);
    let words = |line: &Line| matches!(line, Line::User { text } if text.contains("the reviewer's words"));
    assert!(fixture.lines.iter().any(words), "the model hears why it was rejected");
}

#[test]
fn review_1_an_unclear_answer_applies_nothing() {
    let mut fixture = RunFixture::new(with_reviewer(), policy(), [edit(), test_run(), finish()]);
    fixture.review.push_back(ReviewAnswer::Unclear);
    let _ending = fixture.play();
    assert!(fixture.executed.iter().all(|done| done != "apply"), "{:?}", fixture.executed);
}
