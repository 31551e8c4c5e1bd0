//! One step after the other: calls, their faults, their errors, the recitation.

use super::fixture::{Reply, RunFixture, call, edit, finish, policy, read, setup, test_run};
use tripwire_core::chain::gate::dirty_bits::Verification;
use tripwire_core::effect::StopReason;
use tripwire_core::run::Saying;
use tripwire_core::run::ending::Ending;
use tripwire_core::run::line::Line;
use tripwire_core::run::record::{CallOutcome, FaultKind};

fn verified() -> Ending {
    Ending::Completed { verdict: Verification::Verified }
}

#[test]
fn an_edit_and_a_passing_test_run_end_verified() {
    let (fixture, ending) = RunFixture::played([edit(), test_run(), finish()]);
    assert_eq!(ending, verified());
    assert_eq!(fixture.executed.len(), 2);
}

#[test]
fn run_2_after_an_error_the_model_sees_it_before_any_further_call() {
    let both = Reply::Calls(vec![("shell", r#"{"command":"fail"}"#), ("edit", r#"{"path":"x"}"#)]);
    let (fixture, _) = RunFixture::played([both, finish()]);
    assert_eq!(fixture.executed, [r#"shell {"command":"fail"}"#], "the second call waits for the model");
    let results = fixture.conversation.iter().find_map(|saying| match saying {
        Saying::Results(results) => Some(results.clone()),
        Saying::User(_) | Saying::Model(_) => None,
    });
    let results = results.unwrap();
    assert_eq!(results[0].text, "exploded", "word for word");
    assert!(results[1].text.starts_with("not run"), "{results:?}");
}

#[test]
fn run_2_calls_that_succeed_are_all_run() {
    let both = Reply::Calls(vec![("read_file", r#"{"path":"a"}"#), ("read_file", r#"{"path":"b"}"#)]);
    let (fixture, _) = RunFixture::played([both, finish()]);
    assert_eq!(fixture.executed.len(), 2);
}

#[test]
fn run_3_six_steps_recite_at_least_twice_and_hold_the_objective() {
    let (fixture, _) = RunFixture::played((0..6).map(read).chain([finish()]));
    let live = fixture.recitations.len() - 1;
    assert!(live >= 2, "{live} recitations beside the one at the end");
    assert_eq!(fixture.recitations[0].objective, "make the tests pass");
    assert_eq!(fixture.recitations[0].last.as_deref(), Some("read_file c: ok"));
    let next = fixture.recitations[0].next.as_deref().unwrap();
    assert!(next.starts_with("yours to choose"), "nothing was asked for yet: {next}");
}

#[test]
fn run_3_two_steps_do_not_recite_yet() {
    let mut fixture = RunFixture::new(setup(), policy(), (0..2).map(read));
    while fixture.asked.len() < 3 {
        fixture.advance();
    }
    assert_eq!(fixture.recitations.len(), 0);
}

#[test]
fn tool_1_an_unknown_tool_is_a_typed_error_that_forces_a_correction() {
    let (fixture, ending) = RunFixture::played([call("dance", "{}"), read(0), finish()]);
    assert!(matches!(ending, Ending::Completed { .. }));
    let typed = |line: &Line| matches!(line, Line::Fault { fault, .. } if fault.kind == FaultKind::UnknownTool);
    assert!(fixture.lines.iter().any(typed));
    assert_eq!(fixture.executed.len(), 1, "the unknown one never ran");
    let told = |line: &Line| matches!(line, Line::Result(result) if result.text.starts_with("UNKNOWN_TOOL"));
    assert!(fixture.lines.iter().any(told));
}

#[test]
fn tool_2_two_repairs_are_allowed_and_the_third_ends_with_system_error() {
    let bad = || call("edit", "no json");
    let (fixture, ending) = RunFixture::played([bad(), bad(), bad(), finish()]);
    let Ending::SystemError { diagnostics } = ending else { panic!("{ending:?}") };
    assert!(diagnostics.contains("after 2 repairs") && diagnostics.contains("not JSON"), "{diagnostics}");
    assert!(fixture.executed.is_empty());
}

#[test]
fn tool_2_a_valid_call_in_between_starts_the_count_again() {
    let bad = || call("edit", "no json");
    let (_, ending) = RunFixture::played([bad(), bad(), read(0), bad(), finish()]);
    assert!(matches!(ending, Ending::Completed { .. }), "{ending:?}");
}

#[test]
fn tool_2_an_answer_without_a_call_is_an_invalid_plan() {
    let (fixture, ending) = RunFixture::played([Reply::Text("hm"), Reply::Text("let me think"), Reply::Text("well")]);
    assert!(matches!(ending, Ending::SystemError { .. }), "{ending:?}");
    assert_eq!(fixture.asked.len(), 3);
}

#[test]
fn dirty_1_a_claim_before_the_tests_is_sent_back_with_the_prompt() {
    let (fixture, ending) = RunFixture::played([edit(), finish(), test_run(), finish()]);
    assert_eq!(ending, verified());
    let demand = fixture
        .lines
        .iter()
        .find_map(|line| if let Line::Claim { demand: Some(demand), .. } = line { Some(demand.clone()) } else { None });
    assert!(demand.unwrap().starts_with("You modified code but haven't run tests."));
}

#[test]
fn dirty_1_the_gate_lets_go_after_two_refusals_with_its_verdict() {
    let (_, ending) = RunFixture::played([edit(), finish(), finish(), finish()]);
    assert_eq!(ending, Ending::Completed { verdict: Verification::Unverified });
}

#[test]
fn a_call_that_the_gate_refuses_is_told_and_not_run() {
    let again = || call("shell", r#"{"command":"make check"}"#);
    let (fixture, ending) = RunFixture::played([again(), again(), again(), again(), again()]);
    assert!(matches!(ending, Ending::Stopped { .. } | Ending::Held { .. }), "{ending:?}");
    assert!(fixture.executed.len() < 5, "{:?}", fixture.executed);
    let told = fixture.lines.iter().any(|line| matches!(line, Line::Override(_)));
    assert!(told, "the override comes before the end");
}

#[test]
fn loop_1_strict_counts_the_calls_of_steps_that_the_model_opens() {
    let mut strict = policy();
    strict.set("profile", "strict").unwrap();
    let again = || call("shell", r#"{"command":"make check"}"#);
    let mut fixture = RunFixture::new(setup(), strict, [again(), again(), again(), again(), again()]);
    assert_eq!(fixture.play(), Ending::Stopped { reason: StopReason::SystemError });
    assert_eq!(fixture.executed.len(), 3, "the fourth never ran");
}

#[test]
fn an_unfinished_turn_is_answered_whole_when_the_session_ends() {
    let mut fixture =
        RunFixture::new(setup(), policy(), [Reply::Calls(vec![("edit", "no json"), ("edit", "no json")])]);
    let _ending = fixture.play();
    let results = fixture.conversation.iter().filter(|saying| matches!(saying, Saying::Results(_))).count();
    assert_eq!(results, 1);
    let refused =
        fixture.lines.iter().filter(|line| matches!(line, Line::Result(result) if result.how == CallOutcome::Refused));
    assert_eq!(refused.count(), 1);
}
