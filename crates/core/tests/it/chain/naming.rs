//! What the ladder and the gate say: they name the thing, state only what was measured, and begin with the way on.

use super::fixture::{ChainFixture, action, call, failed, injects, request, work};
use tripwire_core::chain::event::{Action, AgentEvent, DiskChanges, ErrorClass};
use tripwire_core::chain::gate::dirty_bits::test_prompt;
use tripwire_core::decision::Decision;
use tripwire_core::effect::{Effect, HoldReason, LoopOverride, Sameness, StopReason};
use tripwire_core::input::{AdvisorReply, Authority, Grant, HumanAct, IdentityFact, Permission, Request, What};
use tripwire_core::label::Label;
use tripwire_core::units::Count;

/// A call that is named as it was made.
fn named(signature: &str, words: &str, result: &str) -> AgentEvent {
    let event = call(signature, words, result);
    let action = event.action.map(|action| Action { words: Label::new(words), ..action });
    AgentEvent { action, ..event }
}

fn told(decisions: &[Decision]) -> LoopOverride {
    let effects = decisions.iter().flat_map(|decision| &decision.effects);
    let mut found =
        effects.filter_map(|effect| if let Effect::Inject(told) = effect { Some(told.clone()) } else { None });
    found.next_back().unwrap_or_else(|| panic!("no override: {decisions:?}"))
}

/// The reason of the finding that came with the override.
fn reason(decisions: &[Decision]) -> String {
    let over = decisions.iter().rfind(|one| one.effects.iter().any(|effect| matches!(effect, Effect::Inject(_))));
    over.unwrap().findings.last().unwrap().reason.to_string()
}

#[test]
fn loop_4_an_override_names_the_call_with_its_arguments() {
    for profile in ["strict", "balanced"] {
        let mut fixture = ChainFixture::new(&[("profile", profile)]);
        let told = told(&fixture.events(3, |_| named("Read(...)", "Read src/settings_main.py", "a=1")));
        assert_eq!((told.do_not_repeat.as_str(), told.seen), ("Read src/settings_main.py", Count::new(3)), "{profile}");
    }
}

#[test]
fn loop_4_varied_arguments_are_named_by_their_error() {
    let mut fixture = ChainFixture::balanced();
    let attempt = |n: u64| {
        let event = named("Bash(cmd=python *)", &format!("python try{n}.py"), "boom");
        let text = Label::new("ModuleNotFoundError: No module named 'x'");
        AgentEvent { error_digest: Label::new("boom"), error_text: text, ..failed(event, ErrorClass::NonZeroExit) }
    };
    let decisions = fixture.events(4, attempt);
    let told = told(&decisions);
    assert!(told.do_not_repeat.as_str().contains("ModuleNotFoundError: No module named 'x'"), "{told:?}");
    assert!(!told.do_not_repeat.as_str().contains("try3"), "{told:?}");
    assert!(reason(&decisions).starts_with("error `ModuleNotFoundError"), "{}", reason(&decisions));
}

#[test]
fn loop_4_a_cycle_and_the_advisors_override_name_the_calls_that_go_round() {
    let mut fixture = ChainFixture::balanced();
    let step = |n: u64| {
        if n.is_multiple_of(2) {
            named("Bash(cmd=cat *)", "cat a.txt", "x")
        } else {
            named("search(...)", "search pattern=needle", "none")
        }
    };
    let decisions = fixture.events(6, step);
    assert!(decisions.last().unwrap().effects.contains(&Effect::Hold(HoldReason::Loop)), "{decisions:?}");
    let refusal = fixture.ask(action("Read(x)", "1")).decision.safety.reason.to_string();
    assert!(refusal.starts_with("to go on, a person runs: tripwire resume;"), "{refusal}");
    assert!(refusal.contains("cat a.txt") && refusal.contains("tripwire why 5"), "{refusal}");
    let advised = fixture.tell(What::Advisor(AdvisorReply { advice: Label::cut("Write b.txt instead.") }));
    let told = told(&[advised]);
    let object = told.do_not_repeat.as_str();
    assert!(object.contains("cat a.txt") && object.contains("search pattern=needle"), "{told:?}");
    assert!(told.seen > Count::ZERO && told.advice.is_some());
}

#[test]
fn loop_4_the_workspace_is_stated_only_as_it_was_measured() {
    let still = || Some(DiskChanges::default());
    let moved = || Some(DiskChanges { other: vec![Label::cut("a.log")], ..DiskChanges::default() });
    let hash = |n: u64, step: u64| Label::new(&format!("tree-{}", n * step));
    type Make<'a> = &'a dyn Fn(u64) -> AgentEvent;
    let make = || named("Bash(cmd=ls)", "ls", "same");
    let cases: [(&str, Make<'_>, Sameness, &str); 6] = [
        ("not measured", &|_| make(), Sameness::Unknown, "with the same result, 200 tokens"),
        ("no change", &|_| AgentEvent { changes: still(), ..make() }, Sameness::Identical, "no file changed between"),
        ("a change", &|_| AgentEvent { changes: moved(), ..make() }, Sameness::Changed, "while files changed"),
        ("equal hashes", &|_| AgentEvent { workspace_hash: hash(1, 1), ..make() }, Sameness::Identical, "no file"),
        ("other hashes", &|n| AgentEvent { workspace_hash: hash(n, 1), ..make() }, Sameness::Changed, "while files"),
        (
            "measured once",
            &|n| AgentEvent { changes: still().filter(|_| n == 1), ..make() },
            Sameness::Unknown,
            "with the same result, 200 tokens",
        ),
    ];
    for (case, make, expected, words) in cases {
        for profile in ["strict", "balanced"] {
            let mut fixture = ChainFixture::new(&[("profile", profile)]);
            let decisions = fixture.events(3, make);
            if (case, profile) == ("other hashes", "balanced") {
                assert!(!decisions.iter().any(injects), "code that moves is no loop");
                continue;
            }
            let told = told(&decisions);
            assert_eq!(told.workspace, expected, "{case}, {profile}");
            let json = serde_json::to_value(&told).unwrap();
            assert_eq!(json.get("workspace").is_none(), expected == Sameness::Unknown, "{case}: {json}");
            let words = if profile == "strict" { words.trim_start_matches("with the same result") } else { words };
            assert!(reason(&decisions).contains(words), "{case}, {profile}: {}", reason(&decisions));
        }
    }
}

#[test]
fn loop_5_a_reason_tells_the_price_and_what_to_do() {
    let mut fixture = ChainFixture::balanced();
    let reason = reason(&fixture.events(3, |_| named("Bash(cmd=echo tick)", "echo tick", "tick")));
    for part in ["`echo tick`: 3 times", " tokens since the first repeat: ", "take another way (see #0, #1, #2)"] {
        assert!(reason.contains(part), "{part}: {reason}");
    }
}

#[test]
fn loop_1_a_stop_names_what_was_repeated_and_the_way_on_for_as_long_as_it_lasts() {
    let mut fixture = ChainFixture::balanced();
    let last = fixture.events(4, |_| named("Bash(cmd=echo tick)", "echo tick", "tick")).pop().unwrap();
    let later = fixture.ask(action("Read(x)", "1")).decision;
    for decision in [&last, &later] {
        let reason = decision.safety.reason.as_str();
        assert!(reason.starts_with("stopped; to go on, a person runs: tripwire resume --restart;"), "{reason}");
        assert!(reason.contains("`echo tick`: 4 times in a row") && reason.contains("tripwire why 3"), "{reason}");
        assert!(!reason.contains("SYSTEM_ERROR"), "{reason}");
    }
    assert_eq!(fixture.chain.view().cause.unwrap().object.as_str(), "echo tick");
    fixture.human(HumanAct::Restart);
    assert_eq!(fixture.chain.view().cause, None);
}

#[test]
fn gate_4_a_hold_for_low_health_names_the_events_that_cost_it() {
    let mut fixture = ChainFixture::balanced();
    let late = |n: u64| failed(work(n), ErrorClass::Timeout);
    let decisions = fixture.events(12, late);
    let held = decisions.iter().find(|one| one.effects.contains(&Effect::Hold(HoldReason::SoftSuspend))).unwrap();
    let reason = held.findings.iter().find(|finding| finding.reason.contains("health")).unwrap().reason.to_string();
    assert!(reason.contains("a call timed out") && reason.contains(&format!("#{}", held.i.get())), "{reason}");
    let refused = held.safety.reason.as_str();
    assert!(refused.starts_with("to go on, a person runs: tripwire resume;"), "{refused}");
    let mut fixture = ChainFixture::balanced();
    assert!(fixture.events(12, work).iter().all(|decision| decision.findings.is_empty()), "ordinary work costs none");
}

#[test]
fn perm_1_a_refusal_gives_advice_that_can_help() {
    let mut fixture = ChainFixture::balanced();
    let mut ask = |permission, identity: Option<IdentityFact>| {
        let grant = if identity.is_some() { Grant::Granted } else { Grant::Denied };
        let authority = Authority { grant, identity, permission, role: Label::cut("tester") };
        let request = Request { authority: Some(authority), ..request(action("Bash(cmd=x)", "x")) };
        fixture.tell(What::Request(request)).safety.reason.to_string()
    };
    let role = ask(Permission::CanEditSource, None);
    assert!(role.contains("`tester`") && role.contains("ask for a role"), "{role}");
    for (permission, identity) in [
        (Permission::ControlTheGuard, None),
        (Permission::CanExecuteTasks, Some(IdentityFact::UnknownChecksum)),
        (Permission::CanExecuteTasks, Some(IdentityFact::ListUnsigned)),
        (Permission::CanExecuteTasks, Some(IdentityFact::RoleNotAuthorized)),
    ] {
        let said = ask(permission, identity);
        assert!(!said.contains("ask for a role") && said.contains("person"), "{said}");
    }
}

#[test]
fn dirty_1_without_a_test_command_the_prompt_names_the_way_to_give_one() {
    assert!(test_prompt("cargo test").ends_with("Run tests now with: cargo test"));
    let unknown = test_prompt("");
    assert!(unknown.contains("haven't run tests") && unknown.contains("--verify"), "{unknown}");
    assert!(!unknown.contains("with: the"), "{unknown}");
}

#[test]
fn every_way_on_stands_in_the_part_of_a_line_that_clients_show() {
    const SHOWN: usize = 110;
    for hold in
        [HoldReason::Loop, HoldReason::NoProgress, HoldReason::IterationCap, HoldReason::Money, HoldReason::Paused]
    {
        let at = hold.explain().find("tripwire ").unwrap();
        assert!(at < SHOWN / 2, "{}", hold.explain());
    }
    for stop in [StopReason::SystemError, StopReason::InfiniteLoop, StopReason::HardStop, StopReason::Runaway] {
        let end = stop.explain().find("--restart").unwrap() + "--restart".len();
        assert!(end < SHOWN - "tripwire: ".len(), "{}", stop.explain());
    }
}
