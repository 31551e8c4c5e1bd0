//! Health: what it costs, what it means, how it comes back.

use super::fixture::{ChainFixture, action, call, causes, failed, found, quiet, stops, work};
use tripwire_core::chain::event::{AgentEvent, ErrorClass};
use tripwire_core::chain::feedback::{ExecutionResult, ExecutionStatus};
use tripwire_core::decision::{ActivityMode, Decision, FindingKind, Intent, SafetyVeto};
use tripwire_core::effect::{Effect, HoldReason, StopReason};
use tripwire_core::input::{HumanAct, Mode, What};
use tripwire_core::units::{Ratio, RunMillis, Tokens};

fn health(decision: &Decision) -> u32 {
    decision.safety.health.millionths() / 1_000
}

/// A timeout that costs 0.05, or 0.1 from the third in a row.
fn timeout(n: u64) -> AgentEvent {
    failed(work(n), ErrorClass::Timeout)
}

/// Execution errors reported back by the adapter, 0.05 each, at one moment: nothing recovers between them.
fn break_executions(fixture: &mut ChainFixture, count: u64) -> Decision {
    let broken = ExecutionResult {
        executed: true,
        latency_ms: RunMillis::new(1),
        status: ExecutionStatus::Failed,
        tokens_used: Tokens::ZERO,
    };
    let at = fixture.at;
    (0..count).map(|_| fixture.step_at(at, What::Result(broken)).decision).last().unwrap()
}

#[test]
fn gate_4_entering_looping_costs_0_15_once() {
    let mut fixture = ChainFixture::strict();
    let alike = |n: u64| call(&format!("Read(file=f{n}.rs)"), &format!("a{n}"), "same output");
    let decisions = fixture.events(7, alike);
    assert_eq!(decisions.iter().map(health).collect::<Vec<_>>(), [1_000, 1_000, 1_000, 1_000, 850, 850, 850]);
}

#[test]
fn gate_4_entering_runaway_costs_0_25() {
    let mut fixture = ChainFixture::strict();
    fixture.pace = 10_000;
    fixture.events(17, work);
    fixture.pace = 100;
    let decisions = fixture.events(5, |n| work(100 + n));
    let first = decisions.iter().find(|decision| decision.activity.mode == ActivityMode::Runaway).unwrap();
    assert_eq!(health(first), 750);
}

#[test]
fn gate_4_execution_errors_cost_0_05_and_failed_calls_from_the_third_in_a_row() {
    let mut fixture = ChainFixture::balanced();
    let decisions = fixture.events(4, timeout);
    assert_eq!(decisions.iter().map(health).collect::<Vec<_>>(), [950, 900, 800, 700]);
    let mut fixture = ChainFixture::balanced();
    let refused = |n: u64| failed(work(n), ErrorClass::NonZeroExit);
    let decisions = fixture.events(4, refused);
    assert_eq!(decisions.iter().map(health).collect::<Vec<_>>(), [1_000, 1_000, 950, 900]);
    let mut fixture = ChainFixture::balanced();
    assert_eq!(health(&break_executions(&mut fixture, 1)), 950);
}

#[test]
fn gate_4_a_command_that_ran_and_failed_and_an_overloaded_provider_cost_nothing() {
    let mut fixture = ChainFixture::balanced();
    for n in 0..12 {
        let class = if n % 2 == 0 { ErrorClass::NonZeroExit } else { ErrorClass::Infrastructure };
        assert_eq!(health(&fixture.event(failed(work(n), class))), 1_000);
    }
}

#[test]
fn gate_4_unexpected_mode_flips_cost_0_05() {
    let mut fixture = ChainFixture::strict();
    fixture.pace = 1_000;
    let alike = |n: u64| call(&format!("Read(file=f{n}.rs)"), &format!("a{n}"), "same output");
    let looping = fixture.events(5, alike).pop().unwrap();
    assert_eq!(health(&looping), 850);
    assert_eq!(health(&fixture.event(work(50))), 800, "into LOOPING and out of it within ten seconds");
}

#[test]
fn gate_4_a_change_of_mode_in_its_own_time_costs_nothing() {
    let mut fixture = ChainFixture::strict();
    let alike = |n: u64| call(&format!("Read(file=f{n}.rs)"), &format!("a{n}"), "same output");
    fixture.events(5, alike);
    fixture.wait(10_000);
    assert_eq!(health(&fixture.event(work(50))), 850);
}

#[test]
fn gate_4_below_0_6_the_agent_is_suspended_and_a_person_told() {
    let mut fixture = ChainFixture::balanced();
    assert!(break_executions(&mut fixture, 8).safety.allowed, "0.6 is not below 0.6");
    let suspended = break_executions(&mut fixture, 1);
    assert_eq!((health(&suspended), suspended.safety.veto_reason), (550, Some(SafetyVeto::HealthDegraded)));
    assert!(!suspended.safety.allowed && found(&suspended, FindingKind::HealthDegraded));
    assert!(causes(&suspended, &Effect::Hold(HoldReason::SoftSuspend)));
    assert!(suspended.effects.iter().any(|effect| matches!(effect, Effect::Notify(_))));
    assert!(fixture.ask(action("Read(x)", "1")).permit.is_none());
    assert!(fixture.human(HumanAct::Resume).safety.allowed, "a person vouches for it");
}

#[test]
fn gate_4_below_0_3_everything_ends_until_a_person_restarts() {
    let mut fixture = ChainFixture::balanced();
    let low = break_executions(&mut fixture, 14);
    assert_eq!((health(&low), found(&low, FindingKind::HealthDegraded)), (300, false), "0.3 is not below 0.3");
    let ended = break_executions(&mut fixture, 1);
    assert!(stops(&ended, StopReason::HardStop) && ended.intent.intent == Intent::Stop);
    for act in [HumanAct::Resume, HumanAct::Pause, HumanAct::SetMode(Mode::Observe), HumanAct::SetMode(Mode::Armed)] {
        let decision = fixture.human(act);
        assert_eq!((decision.safety.allowed, decision.intent.intent), (false, Intent::Stop), "{decision:?}");
    }
    fixture.wait(100 * 3_600_000);
    let much_later = fixture.event(work(1));
    assert_eq!(
        (much_later.safety.allowed, much_later.intent.intent),
        (false, Intent::Stop),
        "time alone opens nothing"
    );
    let restarted = fixture.human(HumanAct::Restart);
    assert_eq!((restarted.safety.allowed, restarted.intent.intent), (true, Intent::Continue));
    assert!(quiet(&fixture.event(work(2))));
}

#[test]
fn gate_4_health_comes_back_by_0_01_a_minute_up_to_0_8() {
    let mut fixture = ChainFixture::balanced();
    break_executions(&mut fixture, 9);
    fixture.pace = 0;
    fixture.wait(60_000);
    assert_eq!(health(&fixture.tick()), 560);
    fixture.wait(4 * 60_000);
    let back = fixture.tick();
    assert_eq!((health(&back), back.safety.allowed), (600, true));
    fixture.wait(10 * 3_600_000);
    fixture.tell(What::IterationStarted);
    assert_eq!(health(&fixture.tick()), 800);
}

#[test]
fn gate_4_health_above_the_cap_does_not_come_back() {
    let mut fixture = ChainFixture::balanced();
    break_executions(&mut fixture, 1);
    fixture.wait(3_600_000);
    assert_eq!(fixture.tick().safety.health, Ratio::from_per_mille(950));
}

#[test]
fn gate_4_a_restart_gives_back_the_cap_and_no_more() {
    let mut fixture = ChainFixture::balanced();
    break_executions(&mut fixture, 15);
    assert_eq!(health(&fixture.human(HumanAct::Restart)), 800);
}

#[test]
fn gate_4_rows_of_three_broken_calls_suspend_in_the_end_and_rows_of_two_do_not() {
    let suspended = |row: u64| {
        let mut fixture = ChainFixture::balanced();
        let made = |n: u64| if n % (row + 1) == row { work(n) } else { failed(work(n), ErrorClass::Timeout) };
        let decisions = fixture.events(60, made);
        decisions.iter().any(|decision| causes(decision, &Effect::Hold(HoldReason::SoftSuspend)))
    };
    assert!(!suspended(2), "each success forgives the two before it");
    assert!(suspended(3), "three in a row are no accident");
}
