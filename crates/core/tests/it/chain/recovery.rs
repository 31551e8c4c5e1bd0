//! The ways on: what a person's word clears, what a refused start costs, what stands from before.

use super::fixture::{ChainFixture, action, call, causes, edit, failed, found, holds, policy, quiet, stops, work};
use tripwire_core::chain::Chain;
use tripwire_core::chain::event::{AgentEvent, ErrorClass};
use tripwire_core::chain::feedback::{ExecutionResult, ExecutionStatus};
use tripwire_core::decision::{Decision, FindingKind};
use tripwire_core::effect::{Effect, HoldReason, StopReason};
use tripwire_core::input::{
    Claim, EngineSwitched, HumanAct, Mode, ModelSpend, Report, ReportCause, StandingReport, What, WorkspaceMeasurement,
};
use tripwire_core::label::Label;
use tripwire_core::units::{Count, MicroUsd, RunMillis, Tokens};
use tripwire_core::usage::Usage;

fn in_turn(turn: u64, event: AgentEvent) -> AgentEvent {
    AgentEvent { turn_id: Label::new(&format!("turn-{turn}")), ..event }
}

fn nonzero(n: u64) -> AgentEvent {
    failed(work(n), ErrorClass::NonZeroExit)
}

fn cut_off() -> What {
    What::Result(ExecutionResult {
        executed: true,
        latency_ms: RunMillis::new(1),
        status: ExecutionStatus::Failed,
        tokens_used: Tokens::ZERO,
    })
}

fn measured(tree: &str) -> What {
    What::WorkspaceMeasured(WorkspaceMeasurement { workspace_hash: Label::cut(tree) })
}

fn count(chain: &Chain) -> u32 {
    chain.view().iterations.get()
}

#[test]
fn gate_4_a_suspended_session_is_held_in_sight_and_goes_on_with_room() {
    let mut fixture = ChainFixture::balanced();
    for n in 0..40 {
        fixture.event(in_turn(n, failed(work(n), ErrorClass::Timeout)));
        if fixture.chain.view().held.is_some() {
            break;
        }
    }
    assert_eq!(fixture.chain.view().held, Some(HoldReason::SoftSuspend));
    assert!(fixture.ask(action("Read(x)", "1")).permit.is_none());
    fixture.human(HumanAct::Resume);
    assert_eq!((fixture.chain.view().held, fixture.chain.view().health.millionths()), (None, 800_000));
    fixture.event(in_turn(100, nonzero(100)));
    fixture.event(in_turn(101, nonzero(101)));
    assert!(fixture.ask(action("Read(x)", "2")).permit.is_some(), "the next failures do not suspend it at once");
    let mut watched = ChainFixture::balanced();
    watched.human(HumanAct::SetMode(Mode::Observe));
    (0..20).for_each(|n| drop(watched.event(in_turn(n, nonzero(n)))));
    assert_eq!(watched.chain.view().held, None, "observing holds nothing");
}

#[test]
fn gate_4_a_pause_that_is_lifted_is_no_word_about_health() {
    let mut fixture = ChainFixture::balanced();
    (0..8).for_each(|n| drop(fixture.event(in_turn(n, nonzero(n)))));
    fixture.human(HumanAct::Pause);
    fixture.human(HumanAct::Resume);
    assert!(fixture.chain.view().health.millionths() < 720_000, "only time gives a little back");
}

#[test]
fn gate_4_failed_calls_of_following_turns_count_behind_the_models_own_events() {
    let mut fixture = ChainFixture::balanced();
    for n in 0..6 {
        fixture.event(in_turn(n, AgentEvent { token_count: Tokens::new(10), ..AgentEvent::default() }));
        fixture.event(in_turn(n, nonzero(n)));
    }
    assert_eq!(fixture.chain.view().health.millionths(), 800_000, "the 3rd to the 6th cost 0.05 each");
    let mut fixture = ChainFixture::balanced();
    for n in 0..6 {
        fixture.event(in_turn(1, nonzero(n)));
    }
    assert_eq!(fixture.chain.view().health.millionths(), 1_000_000, "a batch of one turn failed once");
}

#[test]
fn gate_4_one_time_out_costs_once_whether_its_result_or_its_event_tells_of_it() {
    let mut fixture = ChainFixture::balanced();
    fixture.ask(action("Bash(cmd=sleep)", "1"));
    fixture.tell(cut_off());
    fixture.event(failed(work(1), ErrorClass::Timeout));
    assert_eq!(fixture.chain.view().health.millionths(), 950_000);
    fixture.ask(action("Bash(cmd=sleep)", "2"));
    fixture.event(failed(work(2), ErrorClass::Timeout));
    assert_eq!(fixture.chain.view().health.millionths(), 900_000, "an event alone costs as much");
}

#[test]
fn iter_1_what_is_refused_is_no_iteration() {
    let mut fixture = ChainFixture::balanced();
    fixture.tell(What::IterationStarted);
    for act in [HumanAct::Pause, HumanAct::Pause] {
        fixture.human(act);
        assert!(!fixture.tell(What::IterationStarted).safety.allowed);
    }
    assert_eq!(count(&fixture.chain), 1);
    fixture.human(HumanAct::Resume);
    fixture.tell(What::IterationStarted);
    assert_eq!(count(&fixture.chain), 2, "one that begins counts");
}

#[test]
fn prog_1_a_report_that_stood_before_holds_a_new_session_until_it_is_read() {
    for (report, hold) in
        [(Report::Blocker, HoldReason::UnreadBlocker), (Report::Checkpoint, HoldReason::UnreadCheckpoint)]
    {
        let mut fixture = ChainFixture::balanced();
        let first = fixture.tell(What::ReportStands(StandingReport { report, about: ReportCause::Work }));
        assert!(holds(&first, hold) && first.effects.iter().any(|effect| matches!(effect, Effect::Notify(_))));
        assert!(!fixture.tell(What::IterationStarted).safety.allowed && count(&fixture.chain) == 0);
        assert!(fixture.ask(action("Read(x)", "1")).permit.is_none());
        fixture.human(HumanAct::Resume);
        assert!(fixture.ask(action("Read(x)", "1")).permit.is_none(), "only reading it clears it");
        let other = if report == Report::Blocker { Report::Checkpoint } else { Report::Blocker };
        fixture.human(HumanAct::Acknowledge(other));
        assert!(fixture.ask(action("Read(x)", "1")).permit.is_none(), "each is cleared by its own");
        fixture.human(HumanAct::Acknowledge(report));
        assert!(fixture.tell(What::IterationStarted).safety.allowed && count(&fixture.chain) == 1);
        let mut watched = ChainFixture::balanced();
        watched.human(HumanAct::SetMode(Mode::Observe));
        assert!(
            watched.tell(What::ReportStands(StandingReport { report, about: ReportCause::Work })).safety.allowed,
            "observing blocks nothing"
        );
        assert!(watched.ask(action("Read(x)", "1")).permit.is_some());
    }
}

fn converged(settings: &[(&str, &str)], trees: &[&str]) -> Vec<Decision> {
    let mut fixture = ChainFixture::new(settings);
    fixture.tell(What::IterationStarted);
    let mut iteration = |(n, tree): (u64, &&str)| {
        fixture.event(work(n));
        fixture.tell(measured(tree));
        fixture.tell(What::IterationStarted)
    };
    (0..).zip(trees).map(&mut iteration).collect()
}

#[test]
fn prog_1_a_report_of_a_loop_holds_a_new_session_to_the_letter_and_is_only_reported_on_evidence() {
    let stands = || What::ReportStands(StandingReport { report: Report::Blocker, about: ReportCause::Loop });
    let mut strict = ChainFixture::strict();
    assert!(!strict.tell(stands()).safety.allowed);
    let mut balanced = ChainFixture::balanced();
    let told = balanced.tell(stands());
    assert!(told.safety.allowed && told.effects.is_empty(), "{told:?}");
    assert!(told.findings[0].reason.contains("BLOCKER_REPORT.md"), "{told:?}");
}

#[test]
fn perm_1_three_iterations_with_one_workspace_converge_without_any_claim() {
    let on = [("limits.stop_on_convergence", "true")];
    let decisions = converged(&on, &["a", "a", "a"]);
    let allowed: Vec<bool> = decisions.iter().map(|decision| decision.safety.allowed).collect();
    assert_eq!(allowed, [true, true, false]);
    assert!(converged(&on, &["a", "b", "a", "b"]).iter().all(|decision| decision.safety.allowed), "it moves");
    assert!(
        converged(&[], &["a", "a", "a", "a"]).iter().all(|decision| decision.safety.allowed),
        "nobody asked for it"
    );
}

fn loop_until_stopped(fixture: &mut ChainFixture) {
    (0..12).for_each(|_| drop(fixture.event(call("Bash(cmd=cat a)", "1", "same"))));
    assert!(matches!(fixture.chain.view().stopped, Some(StopReason::SystemError | StopReason::InfiniteLoop)));
}

#[test]
fn loop_1_a_persons_next_prompt_goes_on_after_a_loop_and_after_nothing_else() {
    for profile in ["strict", "balanced"] {
        let mut fixture = ChainFixture::new(&[("profile", profile)]);
        fixture.tell(What::IterationStarted);
        loop_until_stopped(&mut fixture);
        let spoke = fixture.human(HumanAct::Prompt.signed("ada", "a new prompt"));
        assert!(found(&spoke, FindingKind::ManualOverride) && fixture.chain.view().stopped.is_none());
        assert!(fixture.tell(What::IterationStarted).safety.allowed);
        fixture.wait(120_000);
        assert!(quiet(&fixture.event(edit(7))), "work goes on");
        loop_until_stopped(&mut fixture);
    }
    let mut fixture = ChainFixture::balanced();
    fixture.human(HumanAct::Stop);
    fixture.human(HumanAct::Prompt);
    assert_eq!(fixture.chain.view().stopped, Some(StopReason::StoppedByPerson), "an order to stop stays");
    let mut fixture = ChainFixture::balanced();
    fixture.human(HumanAct::Pause);
    fixture.human(HumanAct::Prompt);
    assert_eq!(fixture.chain.view().held, Some(HoldReason::Paused));
}

#[test]
fn term_1_a_restart_winds_the_sessions_wall_clock_up_again() {
    let mut fixture = ChainFixture::new(&[("limits.max_session_runtime_ms", "600000")]);
    fixture.wait(600_000);
    assert!(stops(&fixture.tick(), StopReason::WallClock));
    let again = fixture.human(HumanAct::Restart);
    assert!(again.safety.allowed && !causes(&again, &Effect::Kill));
    assert_eq!(fixture.chain.view().session_deadline, Some(RunMillis::new(fixture.at + 600_000)));
    fixture.wait(500_000);
    assert!(quiet(&fixture.event(work(1))));
    fixture.wait(100_000);
    assert!(stops(&fixture.tick(), StopReason::WallClock), "and it runs out again");
}

#[test]
fn run_4_the_next_engine_is_asked_for_tests_like_the_one_before() {
    let refusals = |fixture: &mut ChainFixture| {
        let mut claim = || fixture.tell(What::Claim(Claim::default()));
        (0..4).take_while(|_| found(&claim(), FindingKind::DirtyBitViolation)).count()
    };
    let mut fixture = ChainFixture::balanced();
    fixture.event(edit(1));
    assert_eq!(refusals(&mut fixture), 2);
    fixture.event(edit(2));
    fixture.tell(What::Claim(Claim::default()));
    let switched = EngineSwitched { from: Label::cut("a"), to: Label::cut("b"), reason: Label::cut("tests") };
    fixture.tell(What::EngineSwitched(switched));
    assert_eq!(refusals(&mut fixture), 2, "what the engine before was refused is not the next one's");
}

#[test]
fn gate_8_a_call_that_the_gateway_settled_costs_and_is_no_step() {
    let spend = |micro_usd| {
        let usage = Usage { fresh_input: Tokens::new(700), output: Tokens::new(50), ..Usage::default() };
        What::ModelSpend(ModelSpend { model: Label::cut("m"), micro_usd: MicroUsd::new(micro_usd), usage })
    };
    let mut fixture = ChainFixture::new(&[("money.budget_micro_usd", "1000")]);
    fixture.event(work(1));
    let before = fixture.chain.view();
    assert!(fixture.tell(spend(600)).safety.allowed);
    let view = fixture.chain.view();
    assert_eq!((view.steps, view.held), (before.steps, None), "the agent did nothing");
    assert_eq!(view.spent.micro_usd.get() - before.spent.micro_usd.get(), 600);
    assert_eq!(view.spent.tokens.get() - before.spent.tokens.get(), 750);
    fixture.tell(spend(400));
    assert_eq!(fixture.chain.view().held, Some(HoldReason::Money));
}

#[test]
fn loop_1_a_wider_window_counts_repeats_between_which_something_else_came() {
    let seen = |window: &str| {
        let strict = policy(&[("profile", "strict"), ("loops.repeat_window", window)]);
        let mut fixture = ChainFixture { chain: Chain::new(strict).unwrap(), at: 0, pace: 5_000 };
        let mut decisions = Vec::new();
        for n in 0..4 {
            decisions.push(fixture.event(call("Bash(cmd=cat a)", "1", &format!("out-{n}"))));
            decisions.push(fixture.event(work(n)));
        }
        decisions.iter().any(|decision| found(decision, FindingKind::LoopOverride))
    };
    assert!(!seen("3"), "the seed's window of three means: in a row");
    assert!(seen("5"));
    assert_eq!(policy(&[]).loops.repeat_window, Count::new(3));
}
