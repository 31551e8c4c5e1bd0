//! The floor of irreversible commands: it binds in every mode, is no evidence of a loop, and yields to a person once.

use super::fixture::{ChainFixture, action, kinds, request};
use tripwire_core::chain::Chain;
use tripwire_core::decision::FindingKind;
use tripwire_core::effect::Effect;
use tripwire_core::enforcement::EnforcementError;
use tripwire_core::input::{FloorFact, FloorWeight, HumanAct, Mode, Request, What};
use tripwire_core::label::Label;
use tripwire_core::limits::ALLOWANCE_MS;
use tripwire_core::record::chain::Digest;
use tripwire_core::rules::Rule;
use tripwire_core::units::{Count, EventIndex};

fn fact(command: &str) -> FloorFact {
    FloorFact {
        code: Label::cut("K7Q2-9F"),
        digest: Digest::of(command.as_bytes()),
        reason: Label::cut("it deletes a home"),
        rule: Label::cut("delete-home"),
        weight: FloorWeight::Destroys,
    }
}

fn ask(command: &str) -> What {
    What::Request(Request { floor: Some(fact(command)), ..request(action("Bash(rm)", command)) })
}

fn allow() -> HumanAct {
    HumanAct::AllowOnce(Label::cut("K7Q2-9F"))
}

#[test]
fn floor_1_a_held_command_names_its_rule_and_the_way_out() {
    let mut fixture = ChainFixture::balanced();
    let held = fixture.step(ask("rm -rf ~"));
    assert!(held.permit.is_none() && held.decision.safety.rule == Rule::Floor);
    assert!(matches!(held.decision.safety.error, Some(EnforcementError::FloorHeld(_))));
    let said = held.decision.safety.reason.to_string();
    assert!(said.contains("delete-home") && said.contains("tripwire allow --once K7Q2-9F"), "{said}");
    assert_eq!(kinds(&held.decision), [FindingKind::PermissionDenied]);
    let told = |effect: &Effect| matches!(effect, Effect::Notify(_));
    assert!(held.decision.effects.iter().all(told), "only the call is held, not the session");
    assert_eq!(held.decision.effects.len(), 1, "a person is told");
    assert!(fixture.ask(action("Read(x)", "1")).permit.is_some());
    let waiting = fixture.chain.view().waiting;
    assert_eq!(waiting.iter().map(|held| held.code.as_str()).collect::<Vec<_>>(), ["K7Q2-9F"]);
}

#[test]
fn floor_1_binds_while_only_observing_even_behind_a_refusal_that_does_not() {
    let mut fixture = ChainFixture::balanced();
    fixture.human(HumanAct::SetMode(Mode::Observe));
    assert!(fixture.step(ask("rm -rf ~")).permit.is_none());
    let nobody = Request { authority: None, floor: Some(fact("rm -rf ~")), ..request(action("Bash(rm)", "1")) };
    assert!(fixture.step(What::Request(nobody)).permit.is_none());
    let plain = Request { authority: None, ..request(action("Read(x)", "1")) };
    assert!(fixture.step(What::Request(plain)).permit.is_some(), "anything else is only observed");
}

#[test]
fn floor_1_a_person_allows_one_command_once() {
    let mut fixture = ChainFixture::balanced();
    assert!(fixture.step(ask("rm -rf ~")).permit.is_none());
    fixture.human(allow());
    assert!(fixture.step(ask("rm -rf /")).permit.is_none(), "the same code on another command");
    assert!(fixture.step(ask("rm -rf ~")).permit.is_some());
    assert!(fixture.step(ask("rm -rf ~")).permit.is_none(), "once");
}

#[test]
fn floor_1_a_refusal_for_another_reason_does_not_use_the_allowance_up() {
    let mut fixture = ChainFixture::balanced();
    assert!(fixture.step(ask("rm -rf ~")).permit.is_none());
    fixture.human(allow());
    fixture.human(HumanAct::Pause);
    assert!(fixture.step(ask("rm -rf ~")).permit.is_none());
    fixture.human(HumanAct::Resume);
    assert!(fixture.step(ask("rm -rf ~")).permit.is_some());
}

#[test]
fn floor_1_an_allowance_without_a_held_command_or_after_a_day_is_nothing() {
    let mut fixture = ChainFixture::balanced();
    fixture.human(allow());
    assert!(fixture.step(ask("rm -rf ~")).permit.is_none(), "a word given before anything was held");
    fixture.human(allow());
    fixture.wait(ALLOWANCE_MS);
    assert!(fixture.step(ask("rm -rf ~")).permit.is_none());
}

#[test]
fn floor_1_a_person_denies_one_command_and_the_agent_hears_it_once() {
    let mut fixture = ChainFixture::balanced();
    assert!(fixture.step(ask("rm -rf ~")).permit.is_none());
    fixture.human(HumanAct::Deny(Label::cut("K7Q2-9F")).signed("ada", "keep it"));
    let late = fixture.human(allow());
    let late = late.findings.iter().any(|finding| finding.reason.contains("the first answer counts"));
    assert!(late, "a second answer changes nothing");
    let said = fixture.step(ask("rm -rf ~")).decision.safety.reason.to_string();
    assert!(said.contains("denied by a person (by ada: keep it)") && !said.contains("tripwire allow"), "{said}");
    let said = fixture.step(ask("rm -rf ~")).decision.safety.reason.to_string();
    assert!(said.contains("tripwire allow --once"), "it is a new question: {said}");
}

#[test]
fn chain_3_held_commands_and_their_answers_survive_a_snapshot_with_and_without_a_reason() {
    for reason in ["", "keep it"] {
        let mut fixture = ChainFixture::balanced();
        assert!(fixture.step(ask("rm -rf ~")).permit.is_none());
        fixture.human(allow().signed("ada", reason));
        let other = Request {
            floor: Some(FloorFact { code: Label::cut("AAAA-AA"), ..fact("rm -rf /") }),
            ..request(action("Bash(rm)", "x"))
        };
        assert!(fixture.step(What::Request(other)).permit.is_none());
        fixture.human(HumanAct::Deny(Label::cut("AAAA-AA")).signed("ada", reason));
        let snapshot = fixture.chain.snapshot().unwrap();
        assert_eq!(Chain::restore(&snapshot), Ok(fixture.chain));
    }
}

#[test]
fn floor_1_asking_again_and_again_is_no_loop() {
    let mut fixture = ChainFixture::balanced();
    for n in 0..30 {
        let held = fixture.step(ask("rm -rf ~")).decision;
        assert_eq!(held.safety.rule, Rule::Floor);
        assert_eq!(held.effects.is_empty(), n > 0, "a person is told once");
    }
    assert!(fixture.ask(action("Read(x)", "1")).permit.is_some());
}

fn weighing(command: &str, weight: FloorWeight) -> What {
    let floor = FloorFact { weight, ..fact(command) };
    What::Request(Request { floor: Some(floor), ..request(action("Bash(x)", command)) })
}

#[test]
fn floor_2_publishing_is_held_while_armed_and_noted_in_observe() {
    let mut fixture = ChainFixture::balanced();
    let held = fixture.step(weighing("npm publish", FloorWeight::Publishes));
    assert!(held.permit.is_none() && held.decision.safety.rule == Rule::Publish);
    assert!(held.decision.safety.reason.to_string().contains("tripwire allow --once K7Q2-9F"));
    fixture.human(allow());
    assert!(fixture.step(weighing("npm publish", FloorWeight::Publishes)).permit.is_some(), "once");
    fixture.human(HumanAct::SetMode(Mode::Observe));
    let noted = fixture.step(weighing("npm publish", FloorWeight::Publishes));
    assert!(noted.permit.is_some());
    assert_eq!(kinds(&noted.decision), [FindingKind::PermissionDenied]);
    assert!(noted.decision.effects.is_empty(), "nobody has to do anything");
}

#[test]
fn floor_3_text_from_outside_gives_no_orders_and_both_events_are_the_evidence() {
    let mut fixture = ChainFixture::balanced();
    let weight = FloorWeight::FromOutside(EventIndex::new(0));
    let before = fixture.ask(action("Read(x)", "1"));
    assert!(before.permit.is_some());
    let held = fixture.step(weighing("./deploy --all", weight));
    assert!(held.permit.is_none() && held.decision.safety.rule == Rule::Outside);
    let index = held.decision.i;
    assert_eq!(held.decision.safety.evidence.indices(), [EventIndex::new(0), index], "the text and the request");
    fixture.human(allow());
    assert!(fixture.step(weighing("./deploy --all", weight)).permit.is_some(), "once");
    fixture.human(HumanAct::SetMode(Mode::Observe));
    let noted = fixture.step(weighing("./deploy --all", weight));
    assert!(noted.permit.is_some());
    assert_eq!(kinds(&noted.decision), [FindingKind::PermissionDenied]);
}

#[test]
fn perm_1_what_a_policy_wants_asked_is_held_while_armed() {
    let mut fixture = ChainFixture::balanced();
    let held = fixture.step(weighing("terraform apply", FloorWeight::Asks));
    assert!(held.permit.is_none() && held.decision.safety.rule == Rule::Permission);
    assert!(matches!(held.decision.safety.error, Some(EnforcementError::FloorHeld(_))));
    fixture.human(allow());
    assert!(fixture.step(weighing("terraform apply", FloorWeight::Asks)).permit.is_some());
    fixture.human(HumanAct::SetMode(Mode::Observe));
    assert!(fixture.step(weighing("terraform apply", FloorWeight::Asks)).permit.is_some());
}

#[test]
fn floor_1_lost_files_are_counted_over_the_session_in_every_mode() {
    for mode in [Mode::Armed, Mode::Observe] {
        let mut fixture = ChainFixture::balanced();
        fixture.human(HumanAct::SetMode(mode));
        let one = |name: &str| weighing(name, FloorWeight::Loses(Count::new(1)));
        assert!(fixture.step(one("rm a")).permit.is_some());
        assert!(fixture.step(one("rm b")).permit.is_some());
        let third = fixture.step(one("rm c"));
        assert!(third.permit.is_none() && third.decision.safety.rule == Rule::Floor);
        assert!(fixture.step(one("rm d")).permit.is_none());
        fixture.human(allow());
    }
}
