//! The ways on of our own loop: restarts, a list of advisors, a second look at a loop, and tools that fail.

use super::fixture::{Reply, RunFixture, call, edit, finish, policy, read, setup, test_run};
use tripwire_core::effect::{HoldReason, StopReason};
use tripwire_core::input::{HumanAct, What};
use tripwire_core::label::Label;
use tripwire_core::policy::Policy;
use tripwire_core::run::ending::Ending;
use tripwire_core::run::line::Line;
use tripwire_core::run::plan::{Plan, PlanStep};
use tripwire_core::run::record::{FailureKind, OnHold, Opinion, RunRecord, Setup};

/// A loop of two calls with known results, which is held, and then something else.
fn looping() -> Vec<Reply> {
    let mut replies: Vec<Reply> = (0..6).map(|n| if n % 2 == 0 { read(0) } else { call("list", "{}") }).collect();
    replies.extend([read(3), finish()]);
    replies
}

fn advised(advisors: usize) -> Setup {
    let other_advisors = (1..advisors).map(|n| Label::cut(&format!("scripted:advisor{n}"))).collect();
    Setup { advisor: Some(Label::cut("scripted:advisor0")), other_advisors, ..setup() }
}

fn set(path: &str, value: &str) -> Policy {
    let mut policy = policy();
    policy.set(path, value).unwrap();
    policy.set("limits.max_steps", "40").unwrap();
    policy
}

#[test]
fn run_5_the_next_advisor_is_asked_when_the_one_before_has_no_answer() {
    let mut fixture = RunFixture::new(advised(3), set("limits.max_steps", "40"), looping());
    (fixture.advice, fixture.advisors_blank) = (Some("write b.txt instead"), 2);
    assert!(matches!(fixture.play(), Ending::Completed { .. }));
    assert_eq!(fixture.advised_by, [0, 1, 2]);
    let mut fixture = RunFixture::new(advised(2), set("limits.max_steps", "40"), looping());
    assert_eq!(fixture.play(), Ending::Held { reason: HoldReason::Loop }, "nobody has an answer");
    assert_eq!(fixture.advised_by, [0, 1], "and each is asked once");
    let mut fixture = RunFixture::new(advised(2), set("limits.max_steps", "40"), looping());
    fixture.advice = Some("write b.txt instead");
    fixture.play();
    assert_eq!(fixture.advised_by, [0], "the first that answers wins");
}

#[test]
fn loop_1_a_second_look_is_written_down_and_decides_nothing() {
    let story = |opinion: Option<&'static str>, check: &str, advice: Option<&'static str>| {
        let mut fixture = RunFixture::new(advised(1), set("loops.model_check", check), looping());
        (fixture.opinion, fixture.advice) = (opinion, advice);
        let ending = fixture.play();
        let seen: Vec<Opinion> = fixture
            .lines
            .iter()
            .filter_map(|line| if let Line::LoopCheck { opinion, .. } = line { Some(*opinion) } else { None })
            .collect();
        (matches!(ending, Ending::Completed { .. }), seen)
    };
    let advice = Some("write b.txt instead");
    assert_eq!(story(Some("LOOP: it reads one file"), "true", advice), (true, vec![Opinion::Loop]));
    assert_eq!(story(Some("PROGRESS, it learns"), "true", None), (false, vec![Opinion::Progress]), "the hold stays");
    assert_eq!(story(Some("hard to say"), "true", advice), (true, vec![Opinion::Unclear]));
    assert_eq!(story(None, "true", advice), (true, vec![]), "no answer changes nothing");
    assert_eq!(story(Some("LOOP"), "false", advice), (true, vec![]), "it is asked only where the policy wants it");
}

#[test]
fn gate_4_a_restart_opens_a_loop_that_had_ended_and_what_is_done_stays_done() {
    let stopped = |fixture: &mut RunFixture| {
        let ending = fixture.play();
        fixture.put(What::Human(HumanAct::Restart.signed("ada", "")));
        (ending, fixture.run.can_go_on())
    };
    let dance = || call("dance", "{}");
    let mut fixture = RunFixture::new(setup(), policy(), [dance(), dance(), dance(), read(0), finish()]);
    let (ending, again) = stopped(&mut fixture);
    assert!(matches!(ending, Ending::SystemError { .. }) && again, "{ending:?}");
    fixture.learn(RunRecord::Resumed(OnHold::Leave));
    assert!(matches!(fixture.play(), Ending::Completed { .. }), "it goes on with repairs of its own");
    let mut fixture = RunFixture::new(setup(), policy(), [finish()]);
    let (ending, again) = stopped(&mut fixture);
    assert!(matches!(ending, Ending::Completed { .. }) && !again);
    assert!(Ending::Stopped { reason: StopReason::HardStop }.can_be_restarted());
    assert!(!Ending::Stopped { reason: StopReason::HardStop }.can_go_on(), "not by itself");
}

#[test]
fn run_2_the_policy_decides_whether_a_tool_error_ends_the_run() {
    let replies = || [call("shell", r#"{"command":"fail"}"#), read(0), finish()];
    let mut fixture = RunFixture::new(setup(), policy(), replies());
    assert!(matches!(fixture.play(), Ending::Completed { .. }));
    let mut fixture = RunFixture::new(setup(), set("tools.on_tool_error", "stop"), replies());
    let ending = fixture.play();
    assert!(matches!(&ending, Ending::ToolFailed { said } if said.contains("fail")), "{ending:?}");
    fixture.learn(RunRecord::Resumed(OnHold::Leave));
    assert!(matches!(fixture.play(), Ending::Completed { .. }), "a person who takes it up has seen it");
    let unknown = [call("dance", "{}"), read(0), finish()];
    let mut fixture = RunFixture::new(setup(), set("tools.on_tool_error", "stop"), unknown);
    assert!(matches!(fixture.play(), Ending::Completed { .. }), "a call that cannot be used is no tool error");
}

#[test]
fn run_4_a_switch_is_told_to_the_chain_once() {
    let fails = || Reply::Fails(FailureKind::Refused, None);
    let mut fixture = RunFixture::new(setup(), policy(), [fails(), read(0), finish()]);
    let mut told = 0;
    while fixture.advance().is_none() {
        told += usize::from(fixture.run.switched().is_some());
    }
    assert!(told >= 1 && fixture.run.switched().is_none());
}

#[test]
fn tool_2_steps_of_a_plan_are_ticked_off_by_calls_that_were_observed() {
    let step = |tool: &str, target: Option<&str>, purpose: &str| PlanStep {
        done: false,
        purpose: purpose.into(),
        target: target.map(Label::cut),
        tool: tool.into(),
    };
    let steps =
        vec![step("edit", Some("sum.sh"), "fix it"), step("shell", None, "test it"), step("edit", Some("x"), "more")];
    let replies =
        [call("plan", r#"{"steps":"…"}"#), edit(), call("shell", r#"{"command":"fail"}"#), test_run(), finish()];
    let mut fixture = RunFixture::new(setup(), policy(), replies);
    fixture.plan = Some(Plan { steps });
    assert!(matches!(fixture.play(), Ending::Completed { .. }));
    let done: Vec<Vec<bool>> =
        fixture.plans.iter().map(|plan| plan.steps.iter().map(|step| step.done).collect()).collect();
    let (open, one, two) = ([false; 3].to_vec(), vec![true, false, false], vec![true, true, false]);
    assert_eq!(done, [open, one, two], "a failed call ticks nothing, and a claim neither");
    assert!(fixture.transcript().contains("Your plan, as far as calls were observed"), "it is recited");
    let (fixture, _) = RunFixture::played([read(0), read(1), read(2), read(4), finish()]);
    assert!(fixture.plans.is_empty() && !fixture.transcript().contains("Your plan"), "without one nothing is said");
}
