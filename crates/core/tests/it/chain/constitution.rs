//! What holds before all other rules: nothing is taken for granted, control comes first, the rules stay as they are.

use super::fixture::{ChainFixture, action, edit, failed, plain, policy, request, tests, work};
use tripwire_core::chain::event::{AgentEvent, ErrorClass, TestResult};
use tripwire_core::chain::gate::dirty_bits::Verification;
use tripwire_core::decision::{Decision, Intent, SafetyVeto};
use tripwire_core::effect::{Effect, ExitStatus, IterationEnd};
use tripwire_core::input::{Claim, DriftMeaning, Fault, HumanAct, PolicyDrift, Request, What};
use tripwire_core::label::Label;
use tripwire_core::rules::Rule;
use tripwire_core::sketch::{LANES, Sketch};
use tripwire_core::units::{Ratio, Tokens};

fn released(decision: &Decision, wanted: Verification) -> bool {
    decision.effects.iter().any(|effect| {
        matches!(effect, Effect::EndIteration(IterationEnd { exit_status: ExitStatus::Completed, verdict, .. })
            if *verdict == Some(wanted))
    })
}

#[test]
fn const_1_an_agents_word_proves_nothing_however_often_it_is_given() {
    let mut fixture = ChainFixture::balanced();
    fixture.event(edit(0));
    let claims: Vec<Decision> = (0..3).map(|_| fixture.tell(What::Claim(Claim::default()))).collect();
    assert!(claims.iter().all(|claim| !released(claim, Verification::Verified)));
    assert!(released(&claims[2], Verification::Unverified));
}

#[test]
fn const_1_an_observed_test_run_does() {
    let mut fixture = ChainFixture::balanced();
    fixture.event(edit(0));
    fixture.event(tests(1, TestResult::Passed));
    assert!(released(&fixture.tell(What::Claim(Claim::default())), Verification::Verified));
}

#[test]
fn const_2_a_persons_stop_comes_before_every_other_answer() {
    let mut fixture = ChainFixture::strict();
    fixture.events(5, |_| AgentEvent { output_hash: Label::new("same"), ..plain(60_000, 90) });
    fixture.tell(What::Fault(Fault { cause: Label::cut("broken"), fix: Label::cut("mend it") }));
    fixture.human(HumanAct::Pause);
    let stopped = fixture.human(HumanAct::Stop);
    assert_eq!((stopped.safety.rule, stopped.intent.intent), (Rule::Control, Intent::Stop));
    let asked = fixture.tell(What::Request(Request { authority: None, ..request(action("Read(x)", "1")) }));
    assert_eq!(asked.safety.rule, Rule::Control);
}

#[test]
fn const_2_without_a_person_the_other_rules_answer() {
    let mut fixture = ChainFixture::strict();
    let vetoed = fixture.event(plain(60_000, 1));
    assert_eq!(vetoed.safety.veto_reason, Some(SafetyVeto::TokenBudgetExceeded));
}

#[test]
fn const_3_no_input_changes_the_rules() {
    let mut fixture = ChainFixture::balanced();
    fixture.events(30, |n| failed(work(n), ErrorClass::Timeout));
    let key = Label::cut("health.hard_stop_threshold");
    fixture.tell(What::PolicyDrift(PolicyDrift { key, value: Label::cut("0"), meaning: DriftMeaning::NotApplied }));
    [HumanAct::Restart, HumanAct::Resume].into_iter().for_each(|act| {
        fixture.human(act);
    });
    assert_eq!(fixture.chain.policy(), &policy(&[]));
}

#[test]
fn const_3_spending_is_bounded_in_every_profile() {
    for mut fixture in [ChainFixture::strict(), ChainFixture::balanced()] {
        assert!(!fixture.event(plain(1_000_000_000_000, 1)).safety.allowed);
        assert!(fixture.ask(action("Read(x)", "1")).permit.is_none());
    }
}

#[test]
fn const_4_silence_and_a_spent_budget_are_no_failures() {
    let mut fixture = ChainFixture::balanced();
    fixture.event(plain(60_000, 1));
    fixture.wait(3_600_000);
    let later = fixture.tick();
    assert_eq!((later.safety.allowed, later.safety.health), (true, Ratio::ONE));
    assert_eq!(later.intent.intent, Intent::Continue);
}

#[test]
fn chain_2_a_sketch_given_with_the_event_is_what_similarity_reads() {
    let sketched = |n: u64, lanes: usize| {
        let mut all = [1; LANES];
        all.iter_mut().take(lanes).for_each(|lane| *lane = u8::try_from(n).unwrap());
        AgentEvent { output_hash: Label::new(&format!("hash-{n}")), sketch: Some(Sketch::from_lanes(all)), ..work(n) }
    };
    let mut fixture = ChainFixture::strict();
    assert!(!fixture.events(5, |n| sketched(n, 2)).pop().unwrap().safety.allowed, "nearly the same");
    let mut fixture = ChainFixture::strict();
    assert!(fixture.events(20, |n| sketched(n + 2, 40)).iter().all(|decision| decision.safety.allowed), "not the same");
}

#[test]
fn chain_2_an_event_that_knows_nothing_of_its_action_is_decided_on_its_figures() {
    let mut fixture = ChainFixture::balanced();
    assert!(fixture.event(plain(10, 1)).safety.allowed);
    assert_eq!(fixture.event(plain(599_990, 1)).safety.remaining_budget, Tokens::ZERO);
}
