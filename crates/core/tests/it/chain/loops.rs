//! The ladder: exact, signature, similarity, holds and how they end.

use super::fixture::{
    ChainFixture, action, call, causes, edit, failed, found, holds, injects, kinds, plain, quiet, stops, work,
};
use tripwire_core::chain::event::{AgentEvent, ErrorClass, Outcome, Status};
use tripwire_core::decision::{ActivityMode, Decision, FindingKind, Intent, Level, SafetyVeto};
use tripwire_core::effect::{Deadlock, Effect, HoldReason, Sameness, StopReason};
use tripwire_core::input::{AdvisorReply, HumanAct, Mode, Report, What};
use tripwire_core::label::Label;
use tripwire_core::rules::Rule;
use tripwire_core::units::{Count, EventIndex, MicroUsd, Tokens};

/// The same action with a new output each time, so that only the action repeats.
fn again(n: u64) -> AgentEvent {
    call("Bash(cmd=ls src)", "same", &format!("out-{n}"))
}

/// The same signature with other arguments and outputs, so that only the signature repeats.
fn signed(n: u64) -> AgentEvent {
    call("Edit(file=foo.py)", &format!("content-{n}"), &format!("out-{n}"))
}

fn advise(fixture: &mut ChainFixture, words: &str) -> Decision {
    fixture.tell(What::Advisor(AdvisorReply { advice: Label::cut(words) }))
}

#[test]
fn loop_1_strict_overrides_the_third_identical_action_and_stops_at_the_fourth() {
    let mut fixture = ChainFixture::strict();
    let decisions = fixture.events(4, again);
    assert!(quiet(&decisions[0]) && quiet(&decisions[1]));
    let third = &decisions[2];
    assert!(third.safety.allowed && found(third, FindingKind::LoopOverride) && injects(third));
    let Some(Effect::Inject(told)) = third.effects.iter().find(|effect| matches!(effect, Effect::Inject(_))) else {
        panic!("no override: {third:?}");
    };
    assert_eq!(told.do_not_repeat.as_str(), "Bash(cmd=ls src)");
    assert_eq!((told.seen, told.result), (Count::new(3), Sameness::Changed));
    let fourth = &decisions[3];
    assert!(stops(fourth, StopReason::SystemError) && found(fourth, FindingKind::SystemError));
    assert_eq!(fourth.safety.veto_reason, Some(SafetyVeto::LoopDetected));
    assert_eq!(fourth.safety.rule, Rule::LoopExact);
    assert_eq!(fourth.intent.intent, Intent::Stop);
    assert!(fourth.safety.reason.contains("4 times in a row"), "{}", fourth.safety.reason);
    assert!(fourth.findings.iter().any(|finding| finding.signature == "Bash(cmd=ls src)"));
}

#[test]
fn loop_1_strict_two_in_a_row_are_quiet_however_often() {
    let mut fixture = ChainFixture::strict();
    for n in 0..6 {
        let pair = format!("Bash(cmd=step {n})");
        assert!(quiet(&fixture.event(call(&pair, &pair, &format!("x{n}")))));
        assert!(quiet(&fixture.event(call(&pair, &pair, &format!("y{n}")))));
    }
}

#[test]
fn loop_1_asking_for_the_forbidden_action_is_refused_before_it_runs() {
    let mut fixture = ChainFixture::strict();
    fixture.events(3, again);
    let step = fixture.ask(action("Bash(cmd=ls src)", "same"));
    assert!(step.permit.is_none() && stops(&step.decision, StopReason::SystemError));
}

#[test]
fn loop_1_asking_for_something_else_after_an_override_is_permitted() {
    let mut fixture = ChainFixture::strict();
    fixture.events(3, again);
    assert!(fixture.ask(action("Bash(cmd=ls tests)", "other")).permit.is_some());
    let mut fixture = ChainFixture::strict();
    fixture.events(2, again);
    assert!(fixture.ask(action("Bash(cmd=ls src)", "same")).permit.is_some(), "the third is overridden, not refused");
}

#[test]
fn loop_1_strict_signatures_are_noted_at_3_held_at_5_and_end_at_10() {
    let mut fixture = ChainFixture::strict();
    let decisions = fixture.events(10, signed);
    assert!(quiet(&decisions[1]));
    assert_eq!(kinds(&decisions[2]), [FindingKind::SoftLoop]);
    assert!(decisions[2].safety.allowed && decisions[2].effects.is_empty());
    assert!(quiet(&decisions[3]), "a rung is told once");
    let fifth = &decisions[4];
    assert!(holds(fifth, HoldReason::Loop) && found(fifth, FindingKind::HardLoop));
    assert!(causes(fifth, &Effect::AskAdvisor(Deadlock::HardLoop)));
    assert_eq!(fifth.safety.veto_reason, Some(SafetyVeto::LoopDetected));
    for decision in &decisions[5..9] {
        assert!(!decision.safety.allowed && decision.findings.is_empty(), "{decision:?}");
    }
    let tenth = &decisions[9];
    assert!(stops(tenth, StopReason::InfiniteLoop) && found(tenth, FindingKind::InfiniteLoop));
    assert!(causes(tenth, &Effect::WriteReport(Report::Blocker)));
}

#[test]
fn loop_1_strict_signatures_that_are_spread_out_are_quiet() {
    let mut fixture = ChainFixture::strict();
    for n in 0..40 {
        let event = if n % 5 == 0 { signed(n) } else { work(n) };
        assert!(quiet(&fixture.event(event)), "two among ten, at {n}");
    }
}

#[test]
fn loop_1_strict_lets_each_count_speak_for_itself() {
    let mut fixture = ChainFixture::strict();
    let third = fixture.events(3, again).pop().unwrap();
    assert!(found(&third, FindingKind::LoopOverride) && found(&third, FindingKind::SoftLoop), "{:?}", kinds(&third));
    let exact = third.findings.iter().find(|finding| finding.kind == FindingKind::LoopOverride).unwrap();
    assert_eq!(exact.level, Level::Override);
}

#[test]
fn loop_1_parallel_calls_of_one_turn_are_one_step() {
    let mut fixture = ChainFixture::strict();
    let turn = |turn: u64, n: u64| AgentEvent { turn_id: Label::new(&format!("t{turn}")), ..again(n) };
    for n in 0..4 {
        let decision = fixture.event(turn(1, n));
        assert!(!found(&decision, FindingKind::LoopOverride) && !found(&decision, FindingKind::SystemError));
    }
    fixture.human(HumanAct::Resume);
    let mut fixture = ChainFixture::strict();
    let last: Vec<Decision> = (1..=3).map(|n| fixture.event(turn(n, n))).collect();
    assert!(found(&last[2], FindingKind::LoopOverride), "three turns are three steps");
}

#[test]
fn loop_4_a_hold_ends_with_the_advisors_answer() {
    let mut fixture = ChainFixture::strict();
    fixture.events(5, signed);
    let answered = advise(&mut fixture, "read the caller instead");
    let told = answered.effects.iter().find_map(|effect| match effect {
        Effect::Inject(told) => told.advice.clone(),
        Effect::Hold(_)
        | Effect::Stop(_)
        | Effect::Kill
        | Effect::Prompt(_)
        | Effect::Compact
        | Effect::WarnContext
        | Effect::AskAdvisor(_)
        | Effect::SwitchEngine(_)
        | Effect::WriteReport(_)
        | Effect::Notify(_)
        | Effect::EndIteration(_)
        | Effect::WakeAt(_) => None,
    });
    assert_eq!(told, Label::new("read the caller instead"));
    fixture.wait(60_000);
    assert!(fixture.event(work(1)).safety.allowed, "the hold is gone and the cooldown over");
    assert!(quiet(&fixture.event(signed(20))), "the count started over");
}

#[test]
fn loop_4_a_hold_outlives_an_empty_answer_and_the_cooldown() {
    let mut fixture = ChainFixture::strict();
    fixture.events(5, signed);
    assert!(advise(&mut fixture, " \n").effects.is_empty());
    fixture.wait(120_000);
    let step = fixture.ask(action("Read(file=other.rs)", "x"));
    assert!(step.permit.is_none() && step.decision.safety.reason.contains("held for a loop"));
}

#[test]
fn loop_1_a_persons_resume_ends_a_hold_for_a_loop() {
    let mut fixture = ChainFixture::strict();
    fixture.events(5, signed);
    fixture.human(HumanAct::Resume);
    fixture.wait(60_000);
    assert!(fixture.ask(action("Read(file=other.rs)", "x")).permit.is_some());
}

#[test]
fn loop_4_advice_that_nobody_waits_for_changes_nothing() {
    let mut fixture = ChainFixture::strict();
    assert!(quiet(&advise(&mut fixture, "do something else")));
}

#[test]
fn loop_1_alike_outputs_veto_at_the_fifth_in_strict() {
    let mut fixture = ChainFixture::strict();
    let alike = |n: u64| call(&format!("Read(file=f{n}.rs)"), &format!("a{n}"), "same output");
    let decisions = fixture.events(5, alike);
    assert!(decisions[..4].iter().all(quiet));
    let fifth = &decisions[4];
    assert!(!fifth.safety.allowed && found(fifth, FindingKind::LoopDetected));
    assert_eq!(fifth.safety.veto_reason, Some(SafetyVeto::LoopDetected));
    assert_eq!(fifth.safety.rule, Rule::ActSimilarity);
    assert_eq!(fifth.activity.mode, ActivityMode::Looping);
    assert_eq!(fifth.intent.intent, Intent::Pause);
}

#[test]
fn loop_1_alike_outputs_of_different_actions_pass_in_balanced() {
    let mut fixture = ChainFixture::balanced();
    let alike = |n: u64| call(&format!("Edit(file=f{n}.rs)"), &format!("a{n}"), "file has been updated");
    assert!(fixture.events(30, alike).iter().all(quiet));
}

#[test]
fn loop_1_two_hundred_identical_outputs_show_looping_and_loop_detected() {
    let mut fixture = ChainFixture::strict();
    fixture.pace = 2_000;
    let decisions = fixture.events(200, |_| AgentEvent { output_hash: Label::new("same"), ..plain(100, 1) });
    assert!(decisions.iter().any(|decision| decision.activity.mode == ActivityMode::Looping));
    assert!(decisions.iter().any(|decision| found(decision, FindingKind::LoopDetected)));
    let vetoed = |decision: &&Decision| decision.safety.veto_reason == Some(SafetyVeto::LoopDetected);
    assert_eq!(decisions.iter().filter(vetoed).count(), 196, "every event from the fifth on");
}

#[test]
fn loop_1_two_hundred_different_outputs_show_neither() {
    let mut fixture = ChainFixture::strict();
    let decisions = fixture.events(200, work);
    assert!(decisions.iter().all(quiet));
}

#[test]
fn loop_2_balanced_needs_the_same_result_to_override_and_an_ignored_override_to_stop() {
    let mut fixture = ChainFixture::balanced();
    let stuck = |_| call("Bash(cmd=make)", "make", "the same old error");
    let decisions = fixture.events(4, stuck);
    assert!(decisions[2].safety.allowed && injects(&decisions[2]));
    assert!(stops(&decisions[3], StopReason::SystemError));
}

#[test]
fn loop_2_balanced_lets_the_same_action_with_changing_results_pass() {
    let mut fixture = ChainFixture::balanced();
    assert!(fixture.events(40, again).iter().all(|decision| decision.safety.allowed && !injects(decision)));
    let mut fixture = ChainFixture::balanced();
    assert!(fixture.events(40, signed).iter().all(|decision| decision.safety.allowed && !injects(decision)));
}

#[test]
fn loop_2_balanced_the_words_of_an_error_count_only_where_the_call_failed() {
    let noisy = |n: u64| AgentEvent { error_digest: Label::new("a warning"), ..again(n) };
    let mut fixture = ChainFixture::balanced();
    assert!(fixture.events(40, noisy).iter().all(|decision| decision.safety.allowed && !injects(decision)));
    let failing =
        |n: u64| AgentEvent { outcome: Some(Outcome { status: Status::Error, ..Outcome::default() }), ..noisy(n) };
    let mut fixture = ChainFixture::balanced();
    assert!(fixture.events(40, failing).iter().any(injects));
}

#[test]
fn loop_2_balanced_holds_a_repeat_between_which_nothing_moved() {
    let mut fixture = ChainFixture::balanced();
    let decisions = fixture.events(12, |n| if n % 2 == 0 { call("Bash(cmd=make)", "make", "error") } else { work(n) });
    assert!(decisions.iter().any(|decision| holds(decision, HoldReason::Loop)));
}

#[test]
fn loop_2_balanced_an_edit_between_two_repeats_is_movement() {
    let mut fixture = ChainFixture::balanced();
    let decisions = fixture.events(24, |n| if n % 2 == 0 { call("Bash(cmd=make)", "make", "error") } else { edit(n) });
    assert!(decisions.iter().all(|decision| decision.safety.allowed && !injects(decision)));
}

#[test]
fn loop_3_polling_paging_and_work_file_by_file_are_no_loops() {
    let poll = |n: u64| call("Bash(cmd=kubectl get pods)", "poll", &format!("{n} of 40 ready"));
    let page = |n: u64| call("Read(file=big.log)", &format!("offset={n}"), &format!("page {n}"));
    let debug = |n: u64| call("Bash(cmd=next)", "next", &format!("line {n}"));
    for make in [poll, page, debug, work] {
        let mut fixture = ChainFixture::balanced();
        let decisions = fixture.events(40, make);
        assert!(decisions.iter().all(|decision| decision.safety.allowed && !injects(decision)));
    }
}

#[test]
fn loop_3_retries_after_an_infrastructure_error_are_no_loop() {
    let mut fixture = ChainFixture::balanced();
    let overloaded = |_| AgentEvent {
        error_digest: Label::new("529 overloaded"),
        ..failed(call("Model(call)", "same", "529"), ErrorClass::Infrastructure)
    };
    let decisions = fixture.events(8, overloaded);
    assert!(decisions.iter().all(|decision| decision.safety.allowed && !injects(decision)), "{:?}", decisions.last());
}

#[test]
fn loop_3_the_same_error_of_the_tools_own_is_a_loop() {
    let mut fixture = ChainFixture::balanced();
    let broken = |_| AgentEvent {
        error_digest: Label::new("no such file"),
        ..failed(call("Bash(cmd=cat x)", "same", "no such file"), ErrorClass::NonZeroExit)
    };
    assert!(fixture.events(4, broken).iter().any(injects));
}

#[test]
fn loop_5_an_alarm_names_its_events_and_its_price() {
    let mut fixture = ChainFixture::strict();
    fixture.event(work(0));
    let costly = |n: u64| AgentEvent { cost_micro_usd: Some(MicroUsd::new(40)), ..again(n) };
    let third = fixture.events(3, costly).pop().unwrap();
    let alarm = third.findings.iter().find(|finding| finding.kind == FindingKind::LoopOverride).unwrap();
    let expected: Vec<EventIndex> = (1..=3).map(EventIndex::new).collect();
    assert_eq!(alarm.evidence.indices(), expected);
    assert_eq!(alarm.price.tokens, Tokens::new(200), "the first of the three was no repeat yet");
    assert_eq!(alarm.price.micro_usd, MicroUsd::new(80));
}

#[test]
fn loop_5_alike_outputs_name_all_five_events_and_their_price() {
    let mut fixture = ChainFixture::strict();
    fixture.events(3, work);
    let alike = |n: u64| call(&format!("Read(file=f{n}.rs)"), &format!("a{n}"), "same output");
    let fifth = fixture.events(5, alike).pop().unwrap();
    let alarm = fifth.findings.iter().find(|finding| finding.kind == FindingKind::LoopDetected).unwrap();
    let expected: Vec<EventIndex> = (3..=7).map(EventIndex::new).collect();
    assert_eq!(alarm.evidence.indices(), expected);
    assert_eq!(alarm.price.tokens, Tokens::new(400));
    assert_eq!(fifth.safety.evidence.indices(), expected);
}

#[test]
fn loop_5_quiet_work_has_neither_evidence_nor_price() {
    let mut fixture = ChainFixture::strict();
    let decision = fixture.events(5, work).pop().unwrap();
    assert!(decision.findings.is_empty() && decision.safety.evidence.is_empty() && decision.safety.price.is_nothing());
}

#[test]
fn loop_1_a_run_that_was_broken_is_overridden_again_before_it_is_stopped() {
    let mut fixture = ChainFixture::strict();
    fixture.events(3, again);
    fixture.wait(600_000);
    fixture.events(12, work);
    let decisions = fixture.events(4, |n| again(100 + n));
    assert!(decisions[2].safety.allowed && injects(&decisions[2]), "{:?}", kinds(&decisions[2]));
    assert!(stops(&decisions[3], StopReason::SystemError));
}

#[test]
fn loop_2_a_loop_that_is_only_observed_is_named_by_its_alarm_and_then_as_going_on() {
    let mut fixture = ChainFixture::balanced();
    fixture.human(HumanAct::SetMode(Mode::Observe));
    let stuck = |n: u64| AgentEvent { error_digest: Label::new("wall"), ..failed(work(n), ErrorClass::Tool) };
    let decisions = fixture.events(6, stuck);
    let [.., held, after] = decisions.as_slice() else { panic!("six decisions") };
    for decision in [held, after] {
        assert!(decision.safety.allowed && decision.safety.veto_reason == Some(SafetyVeto::LoopDetected));
        assert_eq!(decision.safety.rule, Rule::LoopError);
    }
    assert!(held.safety.reason.contains("of the last 12 calls failed with it"), "{}", held.safety.reason);
    assert_eq!(after.safety.reason, "only observed: the loop goes on after the alarm");
}
