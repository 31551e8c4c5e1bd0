//! The rules of `balanced` one by one: each fires where it must and stays quiet close by.

use super::fixture::{ChainFixture, call, edit, failed, holds, injects, stops, tests, work};
use tripwire_core::chain::event::{Action, AgentEvent, ErrorClass, Flag, Flags, Gain, TestResult};
use tripwire_core::decision::{ActivityMode, Decision, Level};
use tripwire_core::effect::{HoldReason, StopReason};
use tripwire_core::label::Label;
use tripwire_core::rules::Rule;
use tripwire_core::sketch::{WORD_LANES, WordSketch};

/// The level that a rule reached in a decision.
fn level(decision: &Decision, rule: Rule) -> Option<Level> {
    decision.findings.iter().filter(|finding| finding.rule == rule).map(|finding| finding.level).max()
}

/// The strictest level that a rule reached, and the first decision in which it did.
fn first(decisions: &[Decision], rule: Rule, wanted: Level) -> Option<usize> {
    decisions.iter().position(|decision| level(decision, rule) == Some(wanted))
}

fn error(n: u64, text: &str) -> AgentEvent {
    let event = call(&format!("Bash(cmd=try {n})"), &format!("try-{n}"), text);
    AgentEvent { error_digest: Label::new(text), error_kind: Label::new(text), ..failed(event, ErrorClass::Tool) }
}

/// A question whose words are the given lanes, with so many new words of twenty in its answer.
fn question(n: u64, words: &[usize], new: u16) -> AgentEvent {
    let mut lanes = [0; WORD_LANES];
    words.iter().for_each(|word| lanes[*word] = 7);
    let asked = call("search(...)", &format!("question-{n}"), &format!("answer-{n}"));
    let action = asked.action.map(|action| Action { args_sketch: Some(WordSketch::from_lanes(lanes)), ..action });
    let gain = Some(Gain { echo: 0, new, total: 20 });
    AgentEvent { action, flags: Flags::default().with(Flag::Ask), gain, ..asked }
}

#[test]
fn loop_2_repeat_counts_an_unknown_result_but_never_holds_it() {
    let mut fixture = ChainFixture::balanced();
    let lost = |_| AgentEvent { output_hash: None, result_digest: None, ..call("page_down(...)", "{}", "") };
    let decisions = fixture.events(12, lost);
    assert_eq!(decisions.iter().position(injects), Some(5), "twice as many as with a known result");
    assert!(decisions.iter().all(|decision| decision.safety.allowed));
    let health = decisions.last().unwrap().safety.health;
    assert_eq!(health, decisions[0].safety.health, "what is not known is no proof, and costs no health");
}

#[test]
fn loop_2_cycle_is_overridden_in_the_third_turn_then_held_then_stopped() {
    for period in 2..=16_u64 {
        let mut fixture = ChainFixture::balanced();
        let step = |n: u64| call(&format!("click({})", n % period), &format!("c{}", n % period), "page");
        let decisions = fixture.events(period * 5, step);
        let overridden = decisions.iter().position(injects).unwrap();
        let held = decisions.iter().position(|decision| holds(decision, HoldReason::Loop)).unwrap();
        assert!((overridden as u64) < period * 3 && overridden < held, "{period}: {overridden} {held}");
        assert!(held as u64 <= period * 3, "{period}: {held}");
        assert!(decisions.iter().any(|decision| stops(decision, StopReason::InfiniteLoop)), "{period}");
    }
}

#[test]
fn loop_2_cycle_with_moving_results_is_none() {
    let mut fixture = ChainFixture::balanced();
    let step = |n: u64| call(&format!("click({})", n % 3), &format!("c{}", n % 3), &format!("page {n}"));
    let decisions = fixture.events(30, step);
    assert_eq!(first(&decisions, Rule::LoopCycle, Level::Note), None);
    assert!(decisions.iter().all(|decision| decision.safety.allowed && !injects(decision)));
}

#[test]
fn loop_2_edit_and_undo_is_no_progress() {
    let mut fixture = ChainFixture::balanced();
    let decisions = fixture.events(12, |n| edit(n % 2));
    assert!(decisions.iter().any(|decision| holds(decision, HoldReason::Loop)), "the same two edits go round");
    let mut fixture = ChainFixture::balanced();
    assert!(fixture.events(30, edit).iter().all(|decision| decision.safety.allowed && !injects(decision)));
}

#[test]
fn loop_2_error_climbs_with_other_arguments_each_time() {
    let mut fixture = ChainFixture::balanced();
    let decisions = fixture.events(8, |n| error(n, "no such module"));
    assert_eq!(first(&decisions, Rule::LoopError, Level::Note), Some(2));
    assert_eq!(first(&decisions, Rule::LoopError, Level::Override), Some(3));
    assert_eq!(first(&decisions, Rule::LoopError, Level::Hold), Some(4));
    assert_eq!(first(&decisions, Rule::LoopError, Level::Stop), Some(7));
}

#[test]
fn loop_2_error_counts_one_turn_once_and_a_persons_word_ends_it() {
    let mut fixture = ChainFixture::balanced();
    let parallel = |n| AgentEvent { turn_id: Label::new("one"), ..error(n, "cancelled") };
    assert!(fixture.events(10, parallel).iter().all(|decision| decision.safety.allowed && !injects(decision)));
    let mut fixture = ChainFixture::balanced();
    let told = |n| AgentEvent { user_turn: n % 2 == 0, ..error(n, "no such module") };
    assert!(fixture.events(12, told).iter().all(|decision| !injects(decision)));
}

#[test]
fn loop_2_kind_is_overridden_at_five_and_different_kinds_are_not() {
    let of_kind = |n: u64, kind: &str| AgentEvent { error_kind: Label::new(kind), ..error(n, &format!("quoted {n}")) };
    let mixed = |n: u64, kind: &str| if n % 3 == 2 { work(n) } else { of_kind(n, kind) };
    let mut fixture = ChainFixture::balanced();
    let decisions = fixture.events(8, |n| mixed(n, "not found"));
    assert_eq!(first(&decisions, Rule::LoopErrorKind, Level::Override), Some(6));
    assert!(decisions.iter().all(|decision| decision.safety.allowed));
    let mut fixture = ChainFixture::balanced();
    let decisions = fixture.events(8, |n| mixed(n, &format!("kind {n}")));
    assert_eq!(first(&decisions, Rule::LoopErrorKind, Level::Override), None);
}

#[test]
fn loop_2_failing_is_noted_at_three_and_overridden_at_five_in_a_row() {
    let mut fixture = ChainFixture::balanced();
    let of_kind = |n: u64| AgentEvent { error_kind: Label::new("crash"), ..error(n, &format!("crash {n}")) };
    let decisions = fixture.events(5, of_kind);
    assert_eq!(first(&decisions, Rule::LoopFailing, Level::Note), Some(2));
    assert_eq!(first(&decisions, Rule::LoopErrorKind, Level::Override), Some(4));
    let mut fixture = ChainFixture::balanced();
    let two_kinds =
        |n: u64| AgentEvent { error_kind: Label::new(["a", "b"][n as usize % 2]), ..error(n, &n.to_string()) };
    assert_eq!(first(&fixture.events(6, two_kinds), Rule::LoopFailing, Level::Override), Some(5));
    let mut fixture = ChainFixture::balanced();
    let decisions = fixture.events(9, |n| error(n, &format!("crash {n}")));
    assert_eq!(
        first(&decisions, Rule::LoopFailing, Level::Override),
        Some(7),
        "each says something new: eight of twelve"
    );
    let mut fixture = ChainFixture::balanced();
    let now_and_then = |n: u64| if n % 3 == 2 { work(n) } else { error(n, &format!("crash {n}")) };
    assert_eq!(first(&fixture.events(9, now_and_then), Rule::LoopFailing, Level::Override), None);
}

#[test]
fn loop_2_failing_is_also_overridden_at_eight_of_twelve() {
    let mut fixture = ChainFixture::balanced();
    let mostly = |n: u64| if n % 4 == 3 { work(n) } else { error(n, &format!("crash {n}")) };
    assert_eq!(first(&fixture.events(12, mostly), Rule::LoopFailing, Level::Override), Some(9));
}

#[test]
fn loop_2_thrash_counts_changes_that_fail_and_not_those_that_work() {
    let change =
        |n: u64| AgentEvent { flags: Flags::default().with(Flag::Change), ..error(n, &format!("does not apply {n}")) };
    let mut fixture = ChainFixture::balanced();
    let decisions = fixture.events(10, |n| if n % 2 == 0 { change(n) } else { work(n) });
    assert_eq!(first(&decisions, Rule::LoopThrash, Level::Override), Some(8));
    let mut fixture = ChainFixture::balanced();
    let decisions = fixture.events(12, |n| if n % 2 == 0 { change(n) } else { edit(n) });
    assert_eq!(first(&decisions, Rule::LoopThrash, Level::Override), None);
}

#[test]
fn loop_2_reword_needs_shared_words_and_an_answer_with_little_news() {
    let topic = [1, 2, 3, 4, 5, 6];
    let run = |words: fn(u64) -> [usize; 6], new: u16| {
        let mut fixture = ChainFixture::balanced();
        let decisions = fixture.events(5, |n| question(n, &words(n), new));
        assert!(decisions.iter().all(|decision| decision.safety.allowed));
        (first(&decisions, Rule::LoopReword, Level::Note), first(&decisions, Rule::LoopReword, Level::Override))
    };
    assert_eq!(topic.len(), 6);
    assert_eq!(run(|n| [1, 2, 3, 4, 5, 20 + n as usize], 10), (Some(1), Some(2)));
    assert_eq!(run(|n| [1, 2, 3, 4, 5, 20 + n as usize], 11), (None, None), "the answers bring news");
    assert_eq!(run(|n| [0; 6].map(|_| 10 + n as usize), 0), (None, None), "other questions");
}

#[test]
fn loop_2_reword_names_the_first_question_too() {
    let mut fixture = ChainFixture::balanced();
    let asked = |n: u64| question(n, &[1, 2, 3, 4, 5, 20 + n as usize], 10);
    let decisions = fixture.events(5, |n| if n % 2 == 0 { asked(n) } else { work(n) });
    let finding = decisions
        .iter()
        .flat_map(|decision| &decision.findings)
        .find(|finding| (finding.rule, finding.level) == (Rule::LoopReword, Level::Override));
    let reason = finding.map(|finding| finding.reason.to_string()).unwrap_or_default();
    assert!(reason.contains(": 3 times the same question") && reason.contains("(see #0, #2, #4)"), "{reason}");
}

#[test]
fn loop_2_repeat_of_calls_without_a_result_needs_them_side_by_side() {
    let blind = |n: u64| AgentEvent {
        result_digest: None,
        output_hash: None,
        outcome: None,
        ..call("send(...)", "m", &format!("{n}"))
    };
    let overridden = |make: &dyn Fn(u64) -> AgentEvent| {
        let decisions = ChainFixture::balanced().events(14, make);
        assert!(decisions.iter().all(|decision| decision.safety.allowed));
        decisions.iter().position(injects)
    };
    assert_eq!(overridden(&|n| if n == 3 { work(n) } else { blind(n) }), Some(6), "one other call between");
    assert_eq!(overridden(&|n| if n % 3 == 2 { work(n) } else { blind(n) }), None, "other calls bring something");
}

#[test]
fn loop_3_a_look_once_a_minute_waits_and_a_failure_once_a_minute_is_held() {
    let run = |make: &dyn Fn() -> AgentEvent| {
        let mut fixture = ChainFixture::balanced();
        (0..14).any(|_| {
            fixture.wait(60_000);
            !fixture.event(make()).safety.allowed
        })
    };
    assert!(!run(&|| call("read_inbox(...)", "{}", "no new messages")));
    assert!(run(&|| failed(call("read_inbox(...)", "{}", "no such box"), ErrorClass::Tool)));
}

#[test]
fn loop_2_echo_needs_a_result_of_the_calls_own_words() {
    let run = |gain: Gain| {
        let mut fixture = ChainFixture::balanced();
        let printed = |n: u64| AgentEvent { flags: Flags::default(), gain: Some(gain), ..question(n, &[1, 2, 3], 0) };
        let decisions = fixture.events(4, printed);
        (first(&decisions, Rule::LoopEcho, Level::Note), first(&decisions, Rule::LoopEcho, Level::Override))
    };
    assert_eq!(run(Gain { echo: 16, new: 1, total: 32 }), (Some(1), Some(2)));
    assert_eq!(run(Gain { echo: 16, new: 1, total: 33 }), (None, None), "too many words are the tool's");
    assert_eq!(run(Gain { echo: 16, new: 2, total: 20 }), (None, None), "it brought news");
    assert_eq!(run(Gain { echo: 15, new: 0, total: 15 }), (None, None), "too short to tell");
    assert_eq!(run(Gain { echo: 15, new: 0, total: 22 }), (None, None), "a line below an answer makes it no echo");
}

#[test]
fn loop_2_echo_is_no_call_that_failed_changed_something_or_says_nothing_by_nature() {
    let gain = Some(Gain { echo: 16, new: 0, total: 16 });
    let noted = |make: &dyn Fn(AgentEvent) -> AgentEvent| {
        let printed = |n: u64| AgentEvent { flags: Flags::default(), gain, ..question(n, &[1, 2, 3], 0) };
        first(&ChainFixture::balanced().events(4, |n| make(printed(n))), Rule::LoopEcho, Level::Note)
    };
    assert_eq!(noted(&|event| event), Some(1));
    assert_eq!(noted(&|event| failed(event, ErrorClass::Tool)), None);
    for flag in [Flag::Change, Flag::Edit, Flag::Install, Flag::Silent] {
        assert_eq!(noted(&|event| AgentEvent { flags: Flags::default().with(flag), ..event }), None, "{flag:?}");
    }
}

#[test]
fn loop_2_one_call_again_and_again_is_a_repeat_and_no_cycle() {
    let decisions = ChainFixture::balanced().events(4, |_| call("click(a)", "a", "page"));
    assert!(decisions.iter().any(injects));
    assert_eq!(first(&decisions, Rule::LoopCycle, Level::Note), None);
    let decisions = ChainFixture::balanced().events(3, |n| call("click(a)", &format!("c{}", n % 2), "page"));
    assert_eq!(first(&decisions, Rule::LoopCycle, Level::Note), None, "one turn and a half");
    let decisions = ChainFixture::balanced().events(4, |n| call("click(a)", &format!("c{}", n % 2), "page"));
    assert_eq!(first(&decisions, Rule::LoopCycle, Level::Note), Some(3), "two turns");
}

#[test]
fn loop_2_soft_evidence_is_no_looping_and_costs_no_health() {
    let mut fixture = ChainFixture::balanced();
    let decisions = fixture.events(6, |n| question(n, &[1, 2, 3, 4], 0));
    assert!(decisions.iter().any(injects));
    assert!(decisions.iter().all(|decision| decision.activity.mode == ActivityMode::Working));
    let before = &decisions[0].safety.health;
    assert!(decisions.iter().all(|decision| decision.safety.health == *before));
}

#[test]
fn loop_2_notes_of_same_calls_stale_results_pages_and_signatures_let_everything_pass() {
    let gain = |new| Some(Gain { echo: 0, new, total: 80 });
    let page = |n: u64| {
        let read = work(n);
        let action =
            read.action.map(|action| Action { args_shape: Label::new("offset=#"), tool: Label::cut("Read"), ..action });
        AgentEvent { action, ..read }
    };
    let noted = |rule: Rule, make: &dyn Fn(u64) -> AgentEvent| {
        let decisions = ChainFixture::balanced().events(20, make);
        assert!(decisions.iter().all(|decision| decision.safety.allowed && !injects(decision)), "{}", rule.id());
        first(&decisions, rule, Level::Note)
    };
    assert_eq!(noted(Rule::LoopAction, &|n| call("Bash(cmd=poll)", "p", &format!("{n} %"))), Some(2));
    assert_eq!(noted(Rule::LoopAction, &work), None);
    assert_eq!(noted(Rule::LoopStale, &|n| AgentEvent { gain: gain(10), ..work(n) }), Some(15));
    assert_eq!(noted(Rule::LoopStale, &|n| AgentEvent { gain: gain(11), ..work(n) }), None);
    assert_eq!(noted(Rule::LoopPaging, &page), Some(9));
    assert_eq!(noted(Rule::LoopPaging, &work), None);
    let signed = |n: u64| call("Read(file=a.rs)", &format!("a{n}"), &format!("r{n}"));
    assert_eq!(noted(Rule::LoopSignature, &signed), Some(9));
    let anything = |n: u64| call("Read(...)", &format!("a{n}"), &format!("r{n}"));
    assert_eq!(noted(Rule::LoopSignature, &anything), None, "file after file");
    assert_eq!(noted(Rule::LoopSignature, &|n| if n % 7 == 6 { edit(n) } else { signed(n) }), None);
}

#[test]
fn loop_2_every_alarm_of_balanced_names_its_events() {
    let mut fixture = ChainFixture::balanced();
    let mut all = fixture.events(9, |n| error(n, &format!("crash {n}")));
    all.extend(fixture.events(9, |n| question(n, &[1, 2, 3, 4], 0)));
    for finding in all.iter().flat_map(|decision| &decision.findings) {
        assert!(!finding.evidence.is_empty() && finding.reason.contains("(see #"), "{finding:?}");
    }
}

#[test]
fn prog_1_an_iteration_that_a_person_asked_for_may_change_nothing_but_leave_nothing_broken() {
    use tripwire_core::input::What;
    let held = |user_turn: bool| {
        let mut fixture = ChainFixture::balanced();
        fixture.event(edit(0));
        (1..8).any(|n| {
            let begun = fixture.tell(What::IterationStarted);
            fixture.event(AgentEvent { user_turn, ..work(n) });
            holds(&begun, HoldReason::NoProgress)
        })
    };
    assert!(held(false), "nobody looked at three iterations without a change");
    assert!(!held(true), "a person asks one question after the other");
    let mut fixture = ChainFixture::balanced();
    let broken = (1..5).any(|n| {
        let begun = fixture.tell(What::IterationStarted);
        fixture.event(AgentEvent { user_turn: true, ..edit(n) });
        fixture.event(tests(n, TestResult::Failed));
        holds(&begun, HoldReason::NoProgress)
    });
    assert!(broken, "three turns in a row that leave the tests broken");
}
