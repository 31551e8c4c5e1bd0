//! Waiting done right is no loop: it is bounded by time and money, and told when it is too hot or too long.

use super::fixture::{ChainFixture, call, failed, holds, injects, stops, tests};
use tripwire_core::chain::event::{AgentEvent, ErrorClass, Flag, Flags, TestResult};
use tripwire_core::decision::Decision;
use tripwire_core::effect::{HoldReason, StopReason};
use tripwire_core::label::Label;

fn look() -> AgentEvent {
    AgentEvent { flags: Flags::default().with(Flag::Wait), ..call("write_stdin(...)", "session 1", "still running") }
}

fn status() -> AgentEvent {
    call("Bash(cmd=gh run view 1)", "gh", "in progress")
}

fn loud(decision: &Decision) -> bool {
    injects(decision) || !decision.safety.allowed
}

fn at_pace(pace: u64, count: u64, make: impl Fn(u64) -> AgentEvent) -> Vec<Decision> {
    let mut fixture = ChainFixture::balanced();
    fixture.pace = pace;
    fixture.events(count, make)
}

#[test]
fn loop_3_looks_at_something_that_runs_are_no_loop() {
    assert!(!at_pace(10_000, 40, |_| look()).iter().any(loud), "one look every ten seconds");
    assert!(!at_pace(5_000, 8, |_| look()).iter().any(loud), "a few quick ones");
}

#[test]
fn loop_2_repeat_tells_of_hot_and_of_endless_looks_and_never_holds_them() {
    let hot = at_pace(2_000, 40, |_| look());
    assert_eq!(hot.iter().position(injects), Some(11), "twelve looks within a minute");
    assert!(hot.iter().all(|decision| decision.safety.allowed));
    let endless = at_pace(120_000, 30, |_| look());
    assert_eq!(endless.iter().position(injects), Some(15), "half an hour");
    assert!(endless.iter().all(|decision| decision.safety.allowed));
}

#[test]
fn loop_2_repeat_tells_of_looks_from_the_sixth_over_half_an_hour_and_from_the_twelfth_within_a_minute() {
    let first = |pace: u64, last_pause: u64, count: u64| {
        let mut fixture = ChainFixture::balanced();
        let told = |n: u64| {
            fixture.pace = if n + 1 == count { last_pause } else { pace };
            injects(&fixture.event(look()))
        };
        (0..count).map(told).position(|told| told)
    };
    assert_eq!(first(360_000, 360_000, 6), Some(5), "the sixth look, half an hour after the first");
    assert_eq!(first(360_000, 359_999, 6), None, "a moment before");
    assert_eq!(first(900_000, 900_000, 5), None, "five looks within an hour");
    assert_eq!(first(5_000, 9_999, 12), Some(11), "the twelfth look within a minute");
    assert_eq!(first(5_000, 10_000, 12), None, "a minute later");
    assert_eq!(first(100, 100, 11), None, "eleven looks within a second");
}

#[test]
fn loop_2_cycle_of_calls_with_pauses_is_held_when_nothing_moved_for_half_an_hour() {
    let other = || call("Bash(cmd=kubectl get events)", "events", "none");
    let round = |n: u64| if n.is_multiple_of(2) { status() } else { other() };
    let held = |pace| at_pace(pace, 20, round).iter().position(|decision| holds(decision, HoldReason::Loop));
    assert_eq!(held(120_000), Some(15), "half an hour behind the first call");
    assert_eq!(held(119_999), Some(16), "a moment before");
    let failing = |n: u64| failed(round(n), ErrorClass::Tool);
    let held = at_pace(60_000, 20, failing).iter().position(|decision| holds(decision, HoldReason::Loop));
    assert!(held.is_some_and(|held| held < 15), "who fails again does not wait: {held:?}");
}

#[test]
fn loop_3_a_look_after_a_sleep_is_a_look() {
    let sleep = || AgentEvent { flags: Flags::default().with(Flag::Wait), ..call("Bash(cmd=sleep 20)", "sleep", "") };
    let decisions = at_pace(20_000, 40, |n| if n.is_multiple_of(2) { sleep() } else { status() });
    assert!(!decisions.iter().any(loud), "sleep, look, sleep, look");
    let test = || AgentEvent {
        error_digest: Label::new("red"),
        result_digest: Label::new("red"),
        ..tests(0, TestResult::Failed)
    };
    let decisions = at_pace(20_000, 20, |n| if n.is_multiple_of(2) { sleep() } else { test() });
    assert!(decisions.iter().any(|decision| !decision.safety.allowed), "tests do not ripen");
}

#[test]
fn loop_3_one_look_a_minute_ends_nothing_and_the_same_call_without_a_pause_does() {
    let minute = at_pace(60_000, 6, |_| status());
    assert!(minute.iter().all(|decision| decision.safety.allowed));
    assert!(!minute[..5].iter().any(loud), "told at the sixth look");
    let hurry = at_pace(3_000, 6, |_| status());
    assert!(hurry.iter().any(|decision| stops(decision, StopReason::SystemError)));
    let endless = at_pace(60_000, 40, |_| status());
    assert!(endless.iter().any(|decision| holds(decision, HoldReason::Loop)), "nobody waits so for ever");
    assert!(!endless.iter().any(|decision| stops(decision, StopReason::SystemError)));
}

#[test]
fn loop_3_a_service_that_is_not_up_yet_is_asked_again_after_growing_pauses() {
    let refused = || {
        let event = call("Bash(cmd=curl localhost)", "curl", "refused");
        AgentEvent {
            error_digest: Label::new("refused"),
            error_kind: Label::new("refused"),
            ..failed(event, ErrorClass::NonZeroExit)
        }
    };
    let mut fixture = ChainFixture::balanced();
    let grown: Vec<Decision> = [2_000, 4_000, 8_000, 16_000, 32_000]
        .map(|pause| {
            fixture.wait(pause);
            fixture.pace = 0;
            fixture.event(refused())
        })
        .into();
    assert!(!grown.iter().any(loud));
    assert!(at_pace(4_000, 5, |_| refused()).iter().any(|decision| !decision.safety.allowed), "the same at one pace");
}

#[test]
fn loop_3_several_things_may_be_looked_at_after_one_wait_each_of_them_once() {
    let other = || call("Bash(cmd=kubectl get events)", "events", "none");
    let sleep = || AgentEvent { flags: Flags::default().with(Flag::Wait), ..call("Bash(cmd=sleep 25)", "sleep", "") };
    let round = |n: u64| match n % 3 {
        0 => sleep(),
        1 => status(),
        _ => other(),
    };
    assert!(!at_pace(10_000, 40, round).iter().any(loud), "sleep, look here, look there");
    let mut fixture = ChainFixture::balanced();
    let mut twice = |first_pause: u64| {
        fixture.pace = first_pause;
        let first = fixture.event(status());
        fixture.pace = 1_000;
        [first, fixture.event(other())]
    };
    let minute: Vec<Decision> = (0..10).flat_map(|_| twice(60_000)).collect();
    assert!(minute.iter().all(|decision| decision.safety.allowed), "two looks once a minute");
    let hurry = at_pace(3_000, 20, |n| if n.is_multiple_of(2) { status() } else { other() });
    assert!(hurry.iter().any(|decision| !decision.safety.allowed), "the same without a pause");
    let mut fixture = ChainFixture::balanced();
    let after_one_pause = |n: u64| {
        fixture.pace = if n == 2 { 60_000 } else { 3_000 };
        fixture.event(if n.is_multiple_of(2) { status() } else { other() })
    };
    let hurry: Vec<Decision> = (0..20).map(after_one_pause).collect();
    assert!(hurry.iter().any(|decision| !decision.safety.allowed), "one pause covers one look at each");
}

#[test]
fn loop_2_repeat_tells_of_looks_that_go_on_failing() {
    let failing = || AgentEvent { error_digest: Label::new("no such job"), ..failed(look(), ErrorClass::Tool) };
    let decisions = at_pace(10_000, 20, |_| failing());
    assert_eq!(decisions.iter().position(injects), Some(7), "eight looks that failed alike");
    assert!(decisions.iter().all(|decision| decision.safety.allowed));
    assert!(!at_pace(10_000, 7, |_| failing()).iter().any(loud), "it may still come up");
}
