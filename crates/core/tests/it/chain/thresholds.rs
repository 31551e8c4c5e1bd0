//! Thresholds of the loop rules that a person set otherwise: the alarm comes exactly there, and not one call earlier.

use super::fixture::{ChainFixture, action, call, edit, failed, holds, injects, stops, work};
use tripwire_core::chain::event::{Action, AgentEvent, ErrorClass, Flag, Flags, Gain};
use tripwire_core::decision::{Decision, Level};
use tripwire_core::effect::{Effect, HoldReason, StopReason};
use tripwire_core::input::{AdvisorReply, What};
use tripwire_core::label::Label;
use tripwire_core::rules::Rule;
use tripwire_core::sketch::{WORD_LANES, WordSketch};

/// The place of the first decision in which a rule reached a level, with one setting changed.
fn first(setting: (&str, &str), rule: Rule, level: Level, make: &dyn Fn(u64) -> AgentEvent) -> Option<usize> {
    let reached =
        |decision: &Decision| decision.findings.iter().any(|finding| finding.rule == rule && finding.level >= level);
    ChainFixture::new(&[setting]).events(24, make).iter().position(reached)
}

fn error(n: u64, text: &str) -> AgentEvent {
    let event = call(&format!("Bash(cmd=try {n})"), &format!("try-{n}"), text);
    AgentEvent { error_digest: Label::new(text), error_kind: Label::new(text), ..failed(event, ErrorClass::Tool) }
}

/// A call whose arguments are these words.
fn prose(n: u64, words: &[usize]) -> AgentEvent {
    let mut lanes = [0; WORD_LANES];
    words.iter().for_each(|word| lanes[*word] = 7);
    let asked = call("search(...)", &format!("question-{n}"), &format!("answer-{n}"));
    let action = asked.action.map(|action| Action { args_sketch: Some(WordSketch::from_lanes(lanes)), ..action });
    AgentEvent { action, ..asked }
}

/// A setting, what it moves, the calls that reach it, and two values with the place of the alarm under each.
type ThresholdCase<'a> = (&'a str, Rule, Level, &'a dyn Fn(u64) -> AgentEvent, [(&'a str, usize); 2]);

#[test]
fn loop_2_each_threshold_of_balanced_moves_its_alarm_by_as_many_calls() {
    let make = |_| call("Bash(cmd=make)", "make", "error");
    let round = |n: u64| call(&format!("click({})", n % 2), &format!("c{}", n % 2), "page");
    let wall = |n: u64| error(n, "no such module");
    let kinds = |n: u64| AgentEvent { error_kind: Label::new(&format!("kind {}", n % 3)), ..error(n, &format!("{n}")) };
    let change = |n: u64| AgentEvent { flags: Flags::default().with(Flag::Change), ..error(n, &format!("says {n}")) };
    let asked = |n: u64| AgentEvent {
        flags: Flags::default().with(Flag::Ask),
        gain: Some(Gain { echo: 0, new: 0, total: 20 }),
        ..prose(n, &[1, 2, 3, 4, 5, 20 + n as usize])
    };
    let echoed = |n: u64| AgentEvent { gain: Some(Gain { echo: 16, new: 0, total: 16 }), ..prose(n, &[1, 2, 3]) };
    let task = |n: u64| AgentEvent { flags: Flags::default().with(Flag::Spawn), ..prose(n, &[1, 2, 3]) };
    let spread = |n: u64| if n.is_multiple_of(2) { make(n) } else { work(n) };
    let cases: [ThresholdCase<'_>; 14] = [
        ("loop_repeat_threshold", Rule::LoopExact, Level::Override, &make, [("3", 2), ("4", 3)]),
        ("loop_override_max_retries", Rule::LoopExact, Level::Stop, &make, [("1", 3), ("2", 4)]),
        ("repeat_hold_threshold", Rule::LoopRepeat, Level::Hold, &spread, [("5", 8), ("6", 10)]),
        ("cycle_override_turns", Rule::LoopCycle, Level::Override, &round, [("2", 3), ("3", 5)]),
        ("cycle_hold_turns", Rule::LoopCycle, Level::Hold, &round, [("4", 7), ("5", 9)]),
        ("cycle_stop_turns", Rule::LoopCycle, Level::Stop, &round, [("5", 9), ("6", 11)]),
        ("error_override_threshold", Rule::LoopError, Level::Override, &wall, [("4", 3), ("5", 4)]),
        ("error_hold_threshold", Rule::LoopError, Level::Hold, &wall, [("5", 4), ("6", 5)]),
        ("error_stop_threshold", Rule::LoopError, Level::Stop, &wall, [("8", 7), ("9", 8)]),
        ("failing_override_threshold", Rule::LoopFailing, Level::Override, &kinds, [("4", 4), ("5", 5)]),
        ("edit_failures_threshold", Rule::LoopThrash, Level::Override, &change, [("5", 4), ("6", 5)]),
        ("reword_threshold", Rule::LoopReword, Level::Override, &asked, [("2", 2), ("3", 3)]),
        ("echo_threshold", Rule::LoopEcho, Level::Override, &echoed, [("2", 2), ("3", 3)]),
        ("spawn_threshold", Rule::LoopSpawn, Level::Override, &task, [("3", 3), ("4", 4)]),
    ];
    let mut wrong = Vec::new();
    for (name, rule, level, make, places) in cases {
        for (value, place) in places {
            let found = first((&format!("loops.{name}"), value), rule, level, make);
            if found != Some(place) {
                wrong.push(format!("{name} = {value}: {found:?} instead of {place}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn loop_2_ignored_counts_only_returns_behind_the_override() {
    let asked = |n: u64| error(n, "no such module");
    let back = |threshold: &str| {
        let mut fixture =
            ChainFixture::new(&[("loops.ignored_hold_threshold", threshold), ("loops.error_hold_threshold", "12")]);
        let told = fixture.events(4, asked);
        assert!(injects(&told[3]) && told.iter().all(|decision| decision.safety.allowed), "{threshold}");
        // The one that brought the override comes back, each time behind other work.
        let again = |n: u64| if n % 2 == 1 { asked(3) } else { work(n) };
        fixture.events(8, again).iter().position(|decision| holds(decision, HoldReason::Loop))
    };
    assert_eq!(back("1"), Some(1));
    assert_eq!(back("2"), Some(3));
    assert_eq!(back("3"), Some(5));
}

#[test]
fn loop_1_as_many_repeats_as_were_forgiven_may_be_asked_for_after_an_override() {
    for profile in ["strict", "balanced"] {
        let mut fixture = ChainFixture::new(&[
            ("profile", profile),
            ("loops.loop_override_max_retries", "2"),
            ("loops.ignored_hold_threshold", "5"),
        ]);
        fixture.pace = 1_000;
        let again = |_| call("Bash(cmd=ls src)", "same", "a.rs");
        let asked = || action("Bash(cmd=ls src)", "same");
        assert!(fixture.events(3, again).iter().any(injects), "{profile}");
        assert!(fixture.ask(asked()).permit.is_some(), "{profile}: the first one is forgiven");
        assert!(fixture.event(again(4)).safety.allowed, "{profile}");
        let refused = fixture.ask(asked());
        assert!(refused.permit.is_none() && stops(&refused.decision, StopReason::SystemError), "{profile}");
    }
}

#[test]
fn loop_1_what_proves_nothing_may_be_asked_for_after_an_override() {
    let asked = || action("Bash(cmd=make)", "make");
    let permitted = |pace: u64, count: u64, make: &dyn Fn(u64) -> AgentEvent| {
        let mut fixture = ChainFixture::balanced();
        fixture.pace = pace;
        assert!(fixture.events(count, make).iter().any(injects));
        fixture.pace = 1_000;
        fixture.ask(asked()).permit.is_some()
    };
    let plain = |_| call("Bash(cmd=make)", "make", "made");
    assert!(!permitted(5_000, 3, &plain));
    assert!(
        permitted(5_000, 4, &|n| AgentEvent { flags: Flags::default().with(Flag::Change), ..plain(n) }),
        "a change"
    );
    assert!(permitted(60_000, 6, &plain), "a call once a minute");
    let lost = |n| AgentEvent { output_hash: None, result_digest: None, ..plain(n) };
    assert!(permitted(5_000, 6, &lost), "a call without a result");
}

#[test]
fn loop_2_reword_and_echo_look_back_over_twelve_calls() {
    let alike = |event: fn(u64) -> AgentEvent, rule: Rule, between: u64| {
        let mut fixture = ChainFixture::balanced();
        fixture.event(event(0));
        fixture.events(between, work);
        fixture.event(event(1)).findings.iter().any(|finding| finding.rule == rule)
    };
    let asked = |n: u64| AgentEvent {
        flags: Flags::default().with(Flag::Ask),
        gain: Some(Gain { echo: 0, new: 0, total: 20 }),
        ..prose(n, &[1, 2, 3])
    };
    let echoed = |n: u64| AgentEvent { gain: Some(Gain { echo: 16, new: 0, total: 16 }), ..prose(n, &[1, 2, 3]) };
    assert!(alike(asked, Rule::LoopReword, 11) && alike(echoed, Rule::LoopEcho, 11));
    assert!(!alike(asked, Rule::LoopReword, 12) && !alike(echoed, Rule::LoopEcho, 12));
}

#[test]
fn loop_2_a_change_between_two_questions_makes_the_second_a_new_one() {
    let task = |n: u64| AgentEvent { flags: Flags::default().with(Flag::Spawn), ..prose(n, &[1, 2, 3]) };
    let noted = |between: &dyn Fn(u64) -> AgentEvent| {
        let mut fixture = ChainFixture::balanced();
        fixture.event(task(0));
        fixture.event(between(1));
        fixture.event(task(2)).findings.iter().any(|finding| finding.rule == Rule::LoopSpawn)
    };
    assert!(noted(&work));
    assert!(!noted(&edit));
}

#[test]
fn loop_2_each_rung_is_reported_once_and_anew_for_another_error() {
    let mut fixture =
        ChainFixture::new(&[("loops.ignored_hold_threshold", "50"), ("loops.error_stop_threshold", "12")]);
    let mut rungs = |text: &str| {
        let decisions = fixture.events(6, |n| error(n, text));
        let of_rule = decisions.iter().flat_map(|decision| &decision.findings);
        of_rule.filter(|finding| finding.rule == Rule::LoopError).map(|finding| finding.level).collect::<Vec<_>>()
    };
    assert_eq!(rungs("no such module"), [Level::Note, Level::Override, Level::Hold]);
    // Meanwhile the row of failures is told of, which says more than a note.
    assert_eq!(rungs("no such table"), [Level::Override, Level::Hold]);
}

#[test]
fn loop_7_refused_calls_are_held_at_five_whatever_else_is_told_of_them() {
    let refused = |n: u64| AgentEvent { error_kind: Label::new("refused"), ..failed(work(n), ErrorClass::Refused) };
    for profile in ["strict", "balanced"] {
        let mut fixture = ChainFixture::new(&[("profile", profile)]);
        let decisions = fixture.events(5, refused);
        assert!(decisions[..4].iter().all(|decision| decision.safety.allowed), "{profile}");
        assert!(holds(&decisions[4], HoldReason::Loop), "{profile}");
        let of_rule = |decision: &&Decision| decision.findings.iter().any(|one| one.rule == Rule::LoopRefusals);
        assert_eq!(decisions.iter().filter(of_rule).count(), 2, "{profile}: noted at three and held at five");
    }
}

#[test]
fn loop_4_an_advisors_word_on_a_hold_that_names_no_call_names_the_approach() {
    let refused = |n: u64| failed(work(n), ErrorClass::Refused);
    let told = |make: &dyn Fn(u64) -> AgentEvent| {
        let mut fixture = ChainFixture::balanced();
        assert!(holds(fixture.events(5, make).last().unwrap(), HoldReason::Loop));
        let advised = fixture.tell(What::Advisor(AdvisorReply { advice: Label::cut("Ask a person.") }));
        let mut effects = advised.effects.into_iter();
        effects.find_map(
            |effect| if let Effect::Inject(told) = effect { Some(told.do_not_repeat.to_string()) } else { None },
        )
    };
    assert_eq!(told(&refused).as_deref(), Some("the approach of the iterations that failed"));
    let named = told(&|n| error(n, "no such module"));
    assert!(named.is_some_and(|named| named.starts_with("Bash")));
}
