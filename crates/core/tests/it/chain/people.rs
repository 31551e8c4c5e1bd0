//! People's controls, authority, permits, observe mode and what happens when the guard itself breaks.

use super::fixture::{
    ChainFixture, action, call, causes, found, holds, injects, kinds, plain, quiet, request, stops, work,
};
use tripwire_core::chain::event::{AgentEvent, ErrorClass};
use tripwire_core::decision::{Decision, FindingKind, Intent};
use tripwire_core::effect::{Effect, HoldReason, StopReason};
use tripwire_core::enforcement::{EnforcementError, ReviewProblem};
use tripwire_core::input::{
    Authority, Claim, DriftMeaning, EngineSwitched, Fault, Grant, HumanAct, IdentityFact, Mode, Permission,
    PolicyDrift, Request, Retune, ReviewVerdict, SandboxHeld, SandboxWall, Verdict, What,
};
use tripwire_core::label::Label;
use tripwire_core::record::chain::Digest;
use tripwire_core::rules::Rule;
use tripwire_core::units::{EventIndex, MicroUsd, Tokens};

fn read() -> Request {
    request(action("Read(file=a.rs)", "a"))
}

fn with_authority(change: impl Fn(Authority) -> Authority) -> What {
    let request = read();
    What::Request(Request { authority: request.authority.map(change), ..read() })
}

#[test]
fn ctrl_1_pause_holds_everything_and_resume_goes_on_where_it_was() {
    let mut fixture = ChainFixture::balanced();
    fixture.event(work(0));
    assert!(holds(&fixture.human(HumanAct::Pause), HoldReason::Paused));
    let refused = fixture.ask(action("Read(x)", "1"));
    assert!(refused.permit.is_none() && refused.decision.safety.rule == Rule::Control);
    let resumed = fixture.human(HumanAct::Resume);
    assert!(resumed.safety.allowed && kinds(&resumed) == [FindingKind::ManualOverride]);
    assert!(fixture.ask(action("Read(x)", "1")).permit.is_some());
}

#[test]
fn ctrl_1_a_resume_without_a_pause_is_noted_and_changes_nothing() {
    let mut fixture = ChainFixture::balanced();
    let resumed = fixture.human(HumanAct::Resume);
    assert!(resumed.safety.allowed && resumed.effects.is_empty());
}

#[test]
fn ctrl_2_stop_ends_the_session_until_a_restart() {
    let mut fixture = ChainFixture::balanced();
    let stopped = fixture.human(HumanAct::Stop);
    assert!(stops(&stopped, StopReason::StoppedByPerson) && stopped.intent.intent == Intent::Stop);
    let resumed = fixture.human(HumanAct::Resume);
    assert_eq!((resumed.safety.allowed, resumed.intent.intent), (false, Intent::Stop));
    assert!(fixture.step(What::Tick).next_deadline.is_none(), "an ended session waits for nothing");
    assert!(fixture.human(HumanAct::Restart).safety.allowed);
    assert!(fixture.ask(action("Read(x)", "1")).permit.is_some());
}

#[test]
fn ctrl_2_a_stop_that_nobody_gave_ends_nothing() {
    let mut fixture = ChainFixture::balanced();
    assert!(fixture.events(50, work).iter().all(quiet));
}

#[test]
fn chain_4_an_allowed_request_gets_one_permit_for_exactly_its_action() {
    let mut fixture = ChainFixture::balanced();
    fixture.event(work(0));
    let wanted = action("Read(x)", "1");
    let permit = fixture.ask(wanted.clone()).permit.unwrap();
    assert_eq!((permit.request(), permit.action()), (EventIndex::new(1), wanted.exact()));
    assert_ne!(permit.action(), action("Read(x)", "2").exact());
}

#[test]
fn chain_4_only_an_allowed_request_gets_a_permit() {
    let mut fixture = ChainFixture::balanced();
    assert!(fixture.step(What::Event(work(0))).permit.is_none());
    assert!(fixture.step(What::Tick).permit.is_none());
    fixture.human(HumanAct::Pause);
    assert!(fixture.step(What::Request(read())).permit.is_none());
}

#[test]
fn perm_1_a_request_without_role_or_permission_is_denied() {
    let mut fixture = ChainFixture::balanced();
    let nobody = fixture.step(What::Request(Request { authority: None, ..read() }));
    assert!(nobody.permit.is_none() && nobody.decision.safety.rule == Rule::Permission);
    let lacking = |authority| Authority { grant: Grant::Denied, permission: Permission::CanEditSource, ..authority };
    let denied = fixture.step(with_authority(lacking));
    assert!(denied.permit.is_none());
    let reason = &denied.decision.safety.reason;
    assert!(reason.contains("`developer`") && reason.contains("`can_edit_source`"), "{reason}");
}

#[test]
fn perm_1_a_granted_permission_passes() {
    let mut fixture = ChainFixture::balanced();
    for permission in [
        Permission::CanExecuteTasks,
        Permission::CanEditSource,
        Permission::Write,
        Permission::CanAccessPrivateMemories,
        Permission::CanWriteMemories,
        Permission::ContinueAfterConvergence,
    ] {
        let granted = |authority| Authority { permission, ..authority };
        assert!(fixture.step(with_authority(granted)).permit.is_some());
    }
}

#[test]
fn perm_1_a_role_that_stops_on_convergence_is_held_after_three_equal_workspaces() {
    let claim = || What::Claim(Claim { workspace_hash: Label::new("tree"), ..Claim::default() });
    let mut fixture = ChainFixture::new(&[("limits.stop_on_convergence", "true")]);
    assert!(fixture.tell(claim()).safety.allowed && fixture.tell(claim()).safety.allowed);
    let converged = fixture.tell(claim());
    assert!(holds(&converged, HoldReason::Converged) && converged.safety.rule == Rule::Convergence);
    let mut fixture = ChainFixture::balanced();
    assert!((0..5).all(|_| fixture.tell(claim()).safety.allowed), "only where the setting is on");
}

fn proposal(fixture: &mut ChainFixture, change: &[u8]) -> Result<(), ReviewProblem> {
    let step = fixture.step(What::Request(Request { proposal: Some(Digest::of(change)), ..read() }));
    match (step.permit, step.decision.safety.error) {
        (Some(_), None) => Ok(()),
        (None, Some(EnforcementError::ReviewGating(error))) => Err(error.problem),
        (permit, error) => panic!("{permit:?} {error:?}"),
    }
}

fn review(fixture: &mut ChainFixture, change: &[u8], verdict: Verdict) {
    assert!(fixture.tell(What::Review(ReviewVerdict { proposal: Digest::of(change), verdict })).safety.allowed);
}

#[test]
fn review_1_missing_mismatched_and_rejected_changes_are_not_applied() {
    let mut fixture = ChainFixture::balanced();
    assert_eq!(proposal(&mut fixture, b"this"), Err(ReviewProblem::Missing));
    review(&mut fixture, b"that", Verdict::Approved);
    assert_eq!(proposal(&mut fixture, b"this"), Err(ReviewProblem::Mismatched));
    review(&mut fixture, b"this", Verdict::Rejected);
    assert_eq!(proposal(&mut fixture, b"this"), Err(ReviewProblem::Rejected));
}

#[test]
fn review_1_an_approved_change_is_applied_and_a_rejection_is_never_outshouted() {
    let mut fixture = ChainFixture::balanced();
    review(&mut fixture, b"this", Verdict::Approved);
    assert_eq!(proposal(&mut fixture, b"this"), Ok(()));
    review(&mut fixture, b"this", Verdict::Rejected);
    review(&mut fixture, b"this", Verdict::Approved);
    for n in 0..7_u8 {
        review(&mut fixture, &[n], Verdict::Approved);
    }
    assert_eq!(proposal(&mut fixture, b"this"), Err(ReviewProblem::Rejected));
}

#[test]
fn ident_1_a_critical_operation_needs_a_trusted_identity() {
    let mut fixture = ChainFixture::balanced();
    for fact in [IdentityFact::UnknownChecksum, IdentityFact::ListUnsigned, IdentityFact::RoleNotAuthorized] {
        let step = fixture.step(with_authority(|authority| Authority { identity: Some(fact), ..authority }));
        assert!(step.permit.is_none() && step.decision.safety.rule == Rule::Identity, "{fact:?}");
    }
}

#[test]
fn ident_1_a_trusted_identity_and_an_ordinary_operation_pass() {
    let mut fixture = ChainFixture::balanced();
    let trusted = |authority| Authority { identity: Some(IdentityFact::Trusted), ..authority };
    assert!(fixture.step(with_authority(trusted)).permit.is_some());
    assert!(fixture.step(What::Request(read())).permit.is_some());
}

/// A session that is only watched.
fn observed(settings: &[(&str, &str)]) -> ChainFixture {
    let mut fixture = ChainFixture::new(settings);
    fixture.human(HumanAct::SetMode(Mode::Observe));
    fixture
}

fn only_watched(decision: &Decision) -> bool {
    decision.safety.allowed && decision.effects.is_empty()
}

#[test]
fn ctrl_1_observe_sees_loops_budgets_and_broken_tools_and_acts_on_none() {
    let mut fixture = observed(&[("profile", "strict")]);
    let looping = fixture.events(12, |_| call("Bash(cmd=ls)", "same", "same"));
    assert!(looping.iter().all(only_watched), "{:?}", looping.iter().find(|decision| !only_watched(decision)));
    assert!(looping.iter().any(|decision| found(decision, FindingKind::SystemError)), "it is still seen");
    assert!(looping[11].safety.reason.starts_with("only observed: "));
    let mut fixture = observed(&[]);
    assert!(fixture.events(3, |_| plain(60_000, 90)).iter().all(only_watched));
    let mut fixture = observed(&[]);
    assert!(fixture.events(30, |n| super::fixture::failed(work(n), ErrorClass::Timeout)).iter().all(only_watched));
}

#[test]
fn ctrl_1_observe_refuses_no_request_injects_nothing_and_sends_nobody_back() {
    let mut fixture = observed(&[("limits.max_steps", "2"), ("limits.max_agents", "0")]);
    let step = fixture.step(What::Request(Request { authority: None, ..read() }));
    assert!(step.permit.is_some() && step.decision.safety.reason.contains("permission denied"));
    assert!(fixture.events(6, super::fixture::edit).iter().all(only_watched), "neither the step cap");
    let child = AgentEvent { agent_id: Label::new("child"), ..work(9) };
    assert!(only_watched(&fixture.event(child)), "nor the tree");
    let full = AgentEvent { context_tokens: Some(Tokens::new(190_000)), ..work(10) };
    assert!(only_watched(&fixture.event(full)), "nor the context");
    let claimed = fixture.tell(What::Claim(Claim::default()));
    assert!(claimed.safety.allowed && !injects(&claimed));
    assert!(claimed.effects.iter().all(|effect| !matches!(effect, Effect::Prompt(_))));
}

#[test]
fn ctrl_1_observe_still_obeys_stop_pause_budget_and_wall_clock() {
    let mut fixture = observed(&[]);
    assert!(holds(&fixture.human(HumanAct::Pause), HoldReason::Paused));
    fixture.human(HumanAct::Resume);
    let stopped = fixture.human(HumanAct::Stop);
    assert!(stops(&stopped, StopReason::StoppedByPerson) && stopped.intent.intent == Intent::Stop);
    assert_eq!(fixture.event(work(0)).intent.intent, Intent::Stop);
    let mut fixture = observed(&[("money.budget_micro_usd", "100")]);
    let costly = AgentEvent { cost_micro_usd: Some(MicroUsd::new(100)), ..work(0) };
    assert!(holds(&fixture.event(costly), HoldReason::Money));
    let mut fixture = observed(&[("limits.max_session_runtime_ms", "60000")]);
    let over = fixture.step_at(60_000, What::Tick).decision;
    assert!(stops(&over, StopReason::WallClock) && over.intent.intent == Intent::Stop);
    let mut fixture = observed(&[("limits.max_runtime_hours", "1")]);
    assert!(causes(&fixture.step_at(3_600_000, What::Tick).decision, &Effect::Kill));
    fixture.at = 3_600_000;
    assert!(fixture.step(What::Request(read())).permit.is_none());
}

#[test]
fn const_5_a_clock_that_steps_back_a_little_is_clamped_and_noted() {
    let mut fixture = ChainFixture::balanced();
    fixture.step_at(10_000, What::Event(work(0)));
    let early = fixture.step_at(6_000, What::Event(work(1))).decision;
    assert!(early.safety.allowed && kinds(&early) == [FindingKind::ClockClamped]);
    assert!(quiet(&fixture.step_at(10_001, What::Event(work(2))).decision));
}

#[test]
fn const_5_a_clock_that_steps_back_a_lot_holds_until_a_person_looks() {
    let mut fixture = ChainFixture::balanced();
    fixture.step_at(10_000, What::Event(work(0)));
    let broken = fixture.step_at(4_000, What::Event(work(1))).decision;
    assert!(holds(&broken, HoldReason::GuardFailure) && found(&broken, FindingKind::GuardFailure));
    assert!(matches!(broken.safety.error, Some(EnforcementError::GuardFailure(_))));
    assert!(!fixture.step_at(11_000, What::Event(work(2))).decision.safety.allowed);
    fixture.at = 11_000;
    assert!(fixture.human(HumanAct::Resume).safety.allowed);
}

fn fault() -> What {
    What::Fault(Fault { cause: Label::cut("the journal does not verify"), fix: Label::cut("tripwire verify") })
}

#[test]
fn const_5_a_broken_premise_holds_with_its_cause_and_fix() {
    let mut fixture = ChainFixture::balanced();
    let broken = fixture.tell(fault());
    assert!(holds(&broken, HoldReason::GuardFailure));
    assert_eq!(broken.findings[0].reason, "the journal does not verify; tripwire verify");
    assert!(fixture.step(What::Request(read())).permit.is_none());
}

#[test]
fn const_5_a_person_may_choose_to_go_on_and_is_told_each_time() {
    let mut fixture = ChainFixture::new(&[("gate.on_guard_failure", "allow")]);
    let broken = fixture.tell(fault());
    assert!(broken.safety.allowed && found(&broken, FindingKind::GuardFailure));
    assert!(broken.effects.iter().any(|effect| matches!(effect, Effect::Notify(_))));
    assert!(!causes(&broken, &Effect::Hold(HoldReason::GuardFailure)));
    assert!(fixture.step(What::Request(read())).permit.is_some());
}

#[test]
fn run_4_a_switch_of_engines_is_noted_and_changes_nothing_else() {
    let mut fixture = ChainFixture::balanced();
    let (from, to, reason) = (Label::cut("claude"), Label::cut("codex"), Label::cut("529 overloaded"));
    let switched = fixture.tell(What::EngineSwitched(EngineSwitched { from, to, reason }));
    assert!(switched.safety.allowed && kinds(&switched) == [FindingKind::EngineSwitch]);
    assert_eq!(switched.findings[0].rule, Rule::EngineFallback);
    assert!(switched.findings[0].reason.contains("`codex` goes on for `claude`: 529 overloaded"));
    assert!(switched.effects.is_empty(), "{:?}", switched.effects);
    assert!(fixture.step(What::Request(read())).permit.is_some());
}

#[test]
fn box_1_what_the_sandbox_held_is_noted_and_changes_nothing_else() {
    let mut fixture = ChainFixture::balanced();
    let what = Label::cut("evil.example:443");
    let held = fixture.tell(What::SandboxHeld(SandboxHeld { wall: SandboxWall::Network, what }));
    assert!(held.safety.allowed && kinds(&held) == [FindingKind::SandboxHeld]);
    assert_eq!(held.findings[0].rule, Rule::Confinement);
    assert!(held.findings[0].reason.contains("(network): evil.example:443"));
    assert!(held.effects.is_empty(), "{:?}", held.effects);
    assert!(fixture.step(What::Request(read())).permit.is_some());
}

#[test]
fn const_6_a_threshold_edited_on_disk_is_noted_and_not_applied() {
    let mut fixture = ChainFixture::balanced();
    let key = Label::cut("gate.max_tokens_per_minute");
    let drift = fixture.tell(What::PolicyDrift(PolicyDrift {
        key,
        value: Label::cut("9000000"),
        meaning: DriftMeaning::NotApplied,
    }));
    assert!(drift.safety.allowed && kinds(&drift) == [FindingKind::PolicyDrift]);
    assert!(drift.findings[0].reason.contains("`gate.max_tokens_per_minute`"));
    assert!(!fixture.event(plain(600_001, 1)).safety.allowed, "the frozen threshold holds");
}

#[test]
fn const_6_what_a_person_edits_is_honoured_and_noted() {
    let mut fixture = ChainFixture::new(&[("money.budget_micro_usd", "100")]);
    fixture.event(AgentEvent { cost_micro_usd: Some(MicroUsd::new(100)), ..work(0) });
    let raised = fixture.human(HumanAct::RaiseBudget(MicroUsd::new(900)));
    assert!(raised.safety.allowed && found(&raised, FindingKind::ManualOverride));
}

#[test]
fn ctrl_1_a_budget_that_is_set_anew_replaces_what_it_was_raised_by_and_another_limit_does_not() {
    let allowed = |key: &str, value: &str| {
        let mut fixture = ChainFixture::new(&[("money.budget_micro_usd", "100")]);
        fixture.event(AgentEvent { cost_micro_usd: Some(MicroUsd::new(100)), ..work(0) });
        fixture.human(HumanAct::RaiseBudget(MicroUsd::new(900)));
        fixture.human(HumanAct::Retune(Retune { key: Label::cut(key), value: Label::cut(value) }));
        fixture.event(AgentEvent { cost_micro_usd: Some(MicroUsd::new(300)), ..work(1) }).safety.allowed
    };
    assert!(!allowed("money.budget_micro_usd", "300"), "400 are spent, and the raise is gone");
    assert!(allowed("limits.max_agents", "3"), "the raise stands");
}

#[test]
fn ctrl_3_what_is_out_of_reach_is_refused_and_noted_in_every_mode() {
    let forbidden =
        || with_authority(|a| Authority { grant: Grant::Denied, permission: Permission::ControlTheGuard, ..a });
    let mut fixture = ChainFixture::balanced();
    for mode in [Mode::Armed, Mode::Observe] {
        fixture.human(HumanAct::SetMode(mode));
        let refused = fixture.tell(forbidden());
        assert!(!refused.safety.allowed && refused.safety.rule == Rule::Reach, "{mode:?}");
        assert_eq!(kinds(&refused), [FindingKind::PermissionDenied]);
        assert!(fixture.ask(action("Read(x)", "1")).permit.is_some(), "and nothing else is");
    }
}
