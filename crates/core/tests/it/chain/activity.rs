//! Modes, dwell times, intensity and intent.

use super::fixture::{ChainFixture, call, plain, work};
use tripwire_core::chain::event::AgentEvent;
use tripwire_core::decision::{ActivityMode, Intensity, Intent};
use tripwire_core::input::What;
use tripwire_core::label::Label;
use tripwire_core::units::{Ratio, RunMillis};

fn alike(n: u64) -> AgentEvent {
    call(&format!("Read(file=f{n}.rs)"), &format!("a{n}"), "same output")
}

#[test]
fn act_1_thirty_seconds_of_silence_are_idle_and_no_failure() {
    let mut fixture = ChainFixture::balanced();
    let busy = fixture.event(work(0));
    assert_eq!(busy.activity.mode, ActivityMode::Working);
    let at = fixture.at;
    let idle = fixture.step_at(at + 30_000, What::Tick).decision;
    assert_eq!((idle.activity.mode, idle.activity.since), (ActivityMode::Idle, RunMillis::new(at + 30_000)));
    assert_eq!((idle.intent.intent, idle.safety.allowed), (Intent::Continue, true));
    assert_eq!(idle.safety.health, Ratio::ONE);
}

#[test]
fn act_1_a_moment_less_is_still_working() {
    let mut fixture = ChainFixture::balanced();
    fixture.event(work(0));
    let at = fixture.at;
    assert_eq!(fixture.step_at(at + 29_999, What::Tick).decision.activity.mode, ActivityMode::Working);
}

#[test]
fn act_1_the_engine_asks_to_be_woken_when_silence_becomes_idleness() {
    let mut fixture = ChainFixture::balanced();
    let step = fixture.step(What::Event(work(0)));
    assert_eq!(step.next_deadline, Some(RunMillis::new(fixture.at + 30_000)));
}

#[test]
fn act_2_leaving_looping_takes_thirty_seconds() {
    let mut fixture = ChainFixture::strict();
    let began = fixture.events(5, alike).pop().unwrap().activity.since.get();
    let early = fixture.step_at(began + 29_999, What::Event(work(1))).decision;
    assert_eq!(early.activity.mode, ActivityMode::Looping);
    let late = fixture.step_at(began + 30_000, What::Event(work(2))).decision;
    assert_eq!((late.activity.mode, late.activity.since.get()), (ActivityMode::Working, began + 30_000));
}

#[test]
fn act_2_any_mode_is_reported_for_ten_seconds_but_the_gate_acts_at_once() {
    let mut fixture = ChainFixture::strict();
    fixture.event(work(0));
    fixture.at += 35_000;
    let idle = fixture.tick();
    assert_eq!(idle.activity.mode, ActivityMode::Idle);
    let idle_at = fixture.at;
    fixture.pace = 1_000;
    let fifth = fixture.events(5, alike).pop().unwrap();
    assert_eq!(fifth.activity.mode, ActivityMode::Idle, "the report waits");
    assert!(!fifth.safety.allowed, "the gate does not");
    let reported = fixture.step_at(idle_at + 10_000, What::Event(alike(9))).decision;
    assert_eq!(reported.activity.mode, ActivityMode::Looping);
}

#[test]
fn act_3_a_burst_of_tokens_is_high_and_steady_traffic_is_normal() {
    let mut fixture = ChainFixture::balanced();
    fixture.pace = 61_000;
    let steady = fixture.events(10, |_| plain(6_000, 1)).pop().unwrap();
    assert_eq!(steady.activity.intensity, Intensity::Normal);
    assert_eq!(fixture.event(plain(30_000, 1)).activity.intensity, Intensity::High);
}

#[test]
fn intent_1_looping_pauses_and_working_continues() {
    let mut fixture = ChainFixture::strict();
    let decisions = fixture.events(5, alike);
    assert_eq!(decisions[3].intent.intent, Intent::Continue);
    assert_eq!(decisions[4].intent.intent, Intent::Pause);
}

#[test]
fn intent_2_confidence_falls_as_suspicion_grows() {
    let mut fixture = ChainFixture::strict();
    let output = |_| AgentEvent { output_hash: Label::new("same"), ..plain(10, 1) };
    let confidence: Vec<Ratio> = fixture.events(5, output).iter().map(|decision| decision.intent.confidence).collect();
    let expected = [1_000, 875, 750, 625, 1_000].map(Ratio::from_per_mille);
    assert_eq!(confidence, expected, "1 - s/2 while going on, 1/2 + s/2 when pausing");
}
