//! No progress, claims, the iteration cap, step caps and wall clocks.

use super::fixture::{
    ChainFixture, action, causes, edit, failed, found, holds, iteration_ends, kinds, quiet, tests, work,
};
use tripwire_core::chain::event::{AgentEvent, ErrorClass, TestResult};
use tripwire_core::chain::gate::dirty_bits::{MUST_RUN_TESTS, TESTS_FAILING, Verification};
use tripwire_core::decision::{Decision, FindingKind, Intent};
use tripwire_core::effect::{Deadlock, Effect, ExitStatus, HoldReason, IterationEnd, StopReason};
use tripwire_core::enforcement::EnforcementError;
use tripwire_core::input::{Claim, Counter, CounterEdit, DirtyBitsEdit, HumanAct, Report, What};
use tripwire_core::label::Label;
use tripwire_core::rules::Rule;
use tripwire_core::units::Count;

const HOUR: u64 = 3_600_000;

fn claim(fixture: &mut ChainFixture) -> Decision {
    fixture.tell(What::Claim(Claim::default()))
}

fn end_of(decision: &Decision) -> Option<(ExitStatus, Option<Verification>)> {
    decision.effects.iter().find_map(|effect| match effect {
        Effect::EndIteration(IterationEnd { exit_status, verdict, .. }) => Some((*exit_status, *verdict)),
        Effect::Hold(_)
        | Effect::Stop(_)
        | Effect::Kill
        | Effect::Inject(_)
        | Effect::Prompt(_)
        | Effect::Compact
        | Effect::WarnContext
        | Effect::AskAdvisor(_)
        | Effect::SwitchEngine(_)
        | Effect::WriteReport(_)
        | Effect::Notify(_)
        | Effect::WakeAt(_) => None,
    })
}

fn prompts(decision: &Decision, part: &str) -> bool {
    decision.effects.iter().any(|effect| matches!(effect, Effect::Prompt(text) if text.contains(part)))
}

/// An iteration that edits and breaks the tests; the decision that closes it is the start of the next.
fn fail_iteration(fixture: &mut ChainFixture, n: u64) -> Decision {
    fixture.event(edit(n));
    fixture.event(tests(n, TestResult::Failed));
    fixture.tell(What::IterationStarted)
}

#[test]
fn prog_1_two_failures_ask_the_advisor_and_three_hold_with_a_blocker_report() {
    let mut fixture = ChainFixture::balanced();
    fixture.tell(What::IterationStarted);
    let first = fail_iteration(&mut fixture, 1);
    assert!(first.safety.allowed && found(&first, FindingKind::NoProgress) && first.effects.is_empty());
    let second = fail_iteration(&mut fixture, 2);
    assert!(second.safety.allowed && causes(&second, &Effect::AskAdvisor(Deadlock::NoProgress)));
    let third = fail_iteration(&mut fixture, 3);
    assert!(holds(&third, HoldReason::NoProgress) && causes(&third, &Effect::WriteReport(Report::Blocker)));
    assert!(fixture.ask(action("Read(x)", "1")).permit.is_none());
    assert!(!fixture.human(HumanAct::Resume).safety.allowed, "a report needs its own act");
    assert!(fixture.human(HumanAct::Acknowledge(Report::Blocker)).safety.allowed);
    assert!(!found(&fail_iteration(&mut fixture, 4), FindingKind::HardLoop));
    assert!(causes(&fail_iteration(&mut fixture, 5), &Effect::AskAdvisor(Deadlock::NoProgress)), "counted from zero");
}

#[test]
fn prog_1_an_iteration_that_moves_starts_the_count_again() {
    let mut fixture = ChainFixture::balanced();
    fixture.tell(What::IterationStarted);
    for round in 0..5 {
        fail_iteration(&mut fixture, round * 10);
        let passing = [edit(round * 10 + 1), tests(round * 10 + 2, TestResult::Passed)];
        passing.into_iter().for_each(|event| assert!(fixture.event(event).safety.allowed));
        assert!(quiet(&fixture.tell(What::IterationStarted)));
    }
}

#[test]
fn prog_1_the_same_error_twice_fails_an_iteration_and_different_errors_do_not() {
    let error =
        |n: u64, text: &str| AgentEvent { error_digest: Label::new(text), ..failed(work(n), ErrorClass::NonZeroExit) };
    let mut fixture = ChainFixture::balanced();
    fixture.event(error(0, "a"));
    fixture.event(error(1, "a"));
    assert!(found(&fixture.tell(What::IterationStarted), FindingKind::NoProgress));
    let mut fixture = ChainFixture::balanced();
    fixture.event(error(0, "a"));
    fixture.event(error(1, "b"));
    assert!(quiet(&fixture.tell(What::IterationStarted)));
}

#[test]
fn prog_1_no_changed_file_fails_only_an_editing_objective() {
    let mut fixture = ChainFixture::new(&[("limits.editing_objective", "true")]);
    fixture.event(work(0));
    assert!(found(&fixture.tell(What::IterationStarted), FindingKind::NoProgress));
    let mut fixture = ChainFixture::balanced();
    fixture.event(work(0));
    assert!(quiet(&fixture.tell(What::IterationStarted)));
}

#[test]
fn prog_1_a_person_may_set_the_counter() {
    let mut fixture = ChainFixture::balanced();
    fail_iteration(&mut fixture, 1);
    fail_iteration(&mut fixture, 2);
    let edit = CounterEdit { counter: Counter::ConsecutiveFailures, value: Count::ZERO };
    assert_eq!(kinds(&fixture.human(HumanAct::SetCounter(edit))), [FindingKind::ManualOverride]);
    assert!(fail_iteration(&mut fixture, 3).safety.allowed);
}

#[test]
fn dirty_1_an_untested_change_is_sent_back_twice_and_then_released_with_its_verdict() {
    let mut fixture = ChainFixture::new(&[("dirty_bits.test_command", "cargo test")]);
    fixture.event(edit(0));
    for _ in 0..2 {
        let refused = claim(&mut fixture);
        assert!(found(&refused, FindingKind::DirtyBitViolation) && refused.findings[0].reason == MUST_RUN_TESTS);
        assert!(prompts(&refused, "Run tests now with: cargo test") && end_of(&refused).is_none());
    }
    assert_eq!(end_of(&claim(&mut fixture)), Some((ExitStatus::Completed, Some(Verification::Unverified))));
}

#[test]
fn dirty_1_passing_tests_on_the_present_tree_are_verified_at_once() {
    let mut fixture = ChainFixture::balanced();
    fixture.event(edit(0));
    fixture.event(tests(1, TestResult::Passed));
    let done = claim(&mut fixture);
    assert_eq!(end_of(&done), Some((ExitStatus::Completed, Some(Verification::Verified))));
    assert!(done.findings.is_empty());
}

#[test]
fn dirty_1_failing_and_stale_tests_are_sent_back() {
    let mut fixture = ChainFixture::balanced();
    fixture.event(edit(0));
    fixture.event(tests(1, TestResult::Failed));
    assert!(prompts(&claim(&mut fixture), TESTS_FAILING));
    let mut fixture = ChainFixture::balanced();
    fixture.event(edit(0));
    fixture.event(tests(1, TestResult::Passed));
    fixture.event(edit(2));
    assert!(prompts(&claim(&mut fixture), "Run tests now"));
}

#[test]
fn dirty_1_without_a_change_there_is_nothing_to_verify() {
    let mut fixture = ChainFixture::balanced();
    fixture.event(work(0));
    assert_eq!(end_of(&claim(&mut fixture)), Some((ExitStatus::Completed, Some(Verification::NothingToVerify))));
}

#[test]
fn dirty_1_a_person_may_skip_the_tests_and_the_verdict_says_so() {
    let mut fixture = ChainFixture::balanced();
    fixture.event(edit(0));
    let edit = DirtyBitsEdit { tests_passing: Some(true), tests_run: Some(true), ..DirtyBitsEdit::default() };
    let act = HumanAct::SetDirtyBits(edit).signed("ada", "no tests here");
    assert!(found(&fixture.human(act), FindingKind::ManualOverride));
    assert_eq!(end_of(&claim(&mut fixture)), Some((ExitStatus::Completed, Some(Verification::Waived))));
    let by = fixture.chain.view().waived_by.unwrap();
    assert_eq!(by.to_string(), "by ada: no tests here");
}

#[test]
fn iter_1_the_iteration_after_the_last_waits_for_an_acknowledgement() {
    let mut fixture = ChainFixture::new(&[("safety.max_iterations", "3")]);
    for _ in 0..3 {
        assert!(quiet(&fixture.tell(What::IterationStarted)));
    }
    let capped = fixture.tell(What::IterationStarted);
    assert!(holds(&capped, HoldReason::IterationCap) && causes(&capped, &Effect::WriteReport(Report::Checkpoint)));
    assert_eq!(capped.findings[0].reason, "Reached iteration cap: 3/3");
    assert!(!fixture.human(HumanAct::Resume).safety.allowed);
    assert!(fixture.human(HumanAct::Acknowledge(Report::Checkpoint)).safety.allowed);
    for _ in 0..3 {
        assert!(quiet(&fixture.tell(What::IterationStarted)));
    }
    assert!(!fixture.tell(What::IterationStarted).safety.allowed);
}

#[test]
fn iter_1_a_hundred_iterations_pass_by_default() {
    let mut fixture = ChainFixture::balanced();
    assert!((0..100).all(|_| quiet(&fixture.tell(What::IterationStarted))));
    assert!(!fixture.tell(What::IterationStarted).safety.allowed);
}

#[test]
fn term_1_the_step_cap_ends_the_iteration_and_not_the_session() {
    let mut fixture = ChainFixture::new(&[("limits.max_steps", "10")]);
    fixture.tell(What::IterationStarted);
    assert!(fixture.events(10, work).iter().all(quiet));
    let refused = fixture.ask(action("Read(x)", "1"));
    assert!(refused.permit.is_none() && refused.decision.safety.rule == Rule::TermSteps);
    let eleventh = fixture.event(work(10));
    assert_eq!(end_of(&eleventh), Some((ExitStatus::MaxSteps, None)));
    assert!(!eleventh.safety.allowed && eleventh.intent.intent == Intent::Continue);
    assert!(fixture.tell(What::IterationStarted).safety.allowed);
    assert!(fixture.ask(action("Read(x)", "1")).permit.is_some());
}

#[test]
fn term_1_parallel_calls_are_one_step_and_a_soft_cap_ends_nothing() {
    let mut fixture = ChainFixture::new(&[("limits.max_steps", "2")]);
    let parallel = |n: u64| AgentEvent { turn_id: Label::new(&format!("turn-{}", n / 5)), ..work(n) };
    assert!(fixture.events(10, parallel).iter().all(quiet));
    let mut fixture = ChainFixture::new(&[("limits.max_steps", "2"), ("limits.max_steps_soft", "true")]);
    assert!(fixture.events(10, work).iter().all(quiet));
    assert!(fixture.ask(action("Read(x)", "1")).permit.is_some());
}

#[test]
fn term_1_the_iterations_wall_clock_cuts_at_eight_hours() {
    let mut fixture = ChainFixture::balanced();
    fixture.tell(What::IterationStarted);
    let began = fixture.at;
    let step = fixture.ask(action("Bash(cmd=sleep)", "1"));
    assert_eq!(step.permit.unwrap().deadline().map(|at| at.get()), Some(began + 8 * HOUR));
    assert!(end_of(&fixture.step_at(began + 8 * HOUR - 1, What::Tick).decision).is_none());
    let over = fixture.step_at(began + 8 * HOUR, What::Tick).decision;
    assert_eq!(end_of(&over), Some((ExitStatus::Timeout, None)));
    assert!(causes(&over, &Effect::Kill) && found(&over, FindingKind::WallClockTimeout));
    fixture.at = began + 8 * HOUR;
    let refused = fixture.ask(action("Read(x)", "1"));
    assert!(matches!(refused.decision.safety.error, Some(EnforcementError::WallClockTimeout(_))));
    assert!(
        fixture.tell(What::IterationStarted).safety.allowed && fixture.ask(action("Read(x)", "1")).permit.is_some()
    );
}

#[test]
fn term_1_the_sessions_wall_clock_ends_the_session() {
    let mut fixture = ChainFixture::new(&[("limits.max_session_runtime_ms", "600000")]);
    assert!(fixture.step_at(599_999, What::Tick).decision.safety.allowed);
    let over = fixture.step_at(600_000, What::Tick).decision;
    assert!(causes(&over, &Effect::Stop(StopReason::WallClock)) && !over.safety.allowed);
    assert_eq!(end_of(&over), Some((ExitStatus::Timeout, None)));
    fixture.at = 600_000;
    assert!(!fixture.tell(What::IterationStarted).safety.allowed);
}

#[test]
fn term_1_an_iteration_ends_exactly_once() {
    let mut fixture = ChainFixture::new(&[("limits.max_steps", "3")]);
    fixture.tell(What::IterationStarted);
    let mut decisions = fixture.events(6, work);
    decisions.push(claim(&mut fixture));
    decisions.push(fixture.step_at(9 * HOUR, What::Tick).decision);
    assert_eq!(iteration_ends(&decisions), 1);
}

#[test]
fn term_1_a_stopped_session_ends_no_further_iterations() {
    let mut fixture = ChainFixture::balanced();
    fixture.tell(What::IterationStarted);
    fixture.event(work(0));
    let mut decisions = vec![fixture.human(HumanAct::Stop)];
    assert_eq!(end_of(&decisions[0]), Some((ExitStatus::Interrupted, None)));
    decisions.push(claim(&mut fixture));
    decisions.push(fixture.tell(What::IterationStarted));
    decisions.push(fixture.human(HumanAct::Stop));
    decisions.push(fixture.step_at(20 * HOUR, What::Tick).decision);
    assert_eq!(iteration_ends(&decisions), 1);
    assert!(decisions.iter().all(|decision| !decision.safety.allowed));
}
