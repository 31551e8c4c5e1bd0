//! Vetoes, budgets, cooldown, runaway, money and the tree of agents.

use super::fixture::{ChainFixture, action, call, causes, found, holds, kinds, plain, quiet, request, stops, work};
use tripwire_core::chain::event::AgentEvent;
use tripwire_core::decision::{ActivityMode, Decision, FindingKind, Intent, SafetyVeto};
use tripwire_core::effect::{Effect, HoldReason, StopReason};
use tripwire_core::enforcement::EnforcementError;
use tripwire_core::input::{HumanAct, Request, What};
use tripwire_core::label::Label;
use tripwire_core::rules::Rule;
use tripwire_core::units::{Count, MicroUsd, Ratio, RunMillis, Tokens};

fn veto(decision: &Decision) -> Option<SafetyVeto> {
    decision.safety.veto_reason
}

fn retry(decision: &Decision) -> Option<u64> {
    decision.safety.retry_after_ms.map(RunMillis::get)
}

#[test]
fn gate_1_of_several_vetoes_the_first_in_priority_is_named() {
    let mut fixture = ChainFixture::strict();
    let loud = |n: u64| AgentEvent { token_count: Tokens::new(20_000), ..call("Read(x)", &format!("{n}"), "same") };
    let decisions = fixture.events(5, loud);
    assert_eq!(veto(&decisions[2]), Some(SafetyVeto::TokenBudgetExceeded));
    assert_eq!(veto(&decisions[4]), Some(SafetyVeto::LoopDetected), "a loop comes before the token budget");
}

#[test]
fn gate_1_without_a_veto_nothing_speaks_against_it() {
    let mut fixture = ChainFixture::strict();
    let decision = fixture.event(work(0));
    assert!(quiet(&decision) && decision.safety.rule == Rule::GateOpen && !decision.safety.reason.is_empty());
}

#[test]
fn gate_2_strict_tokens_over_budget_are_a_veto_with_the_full_cooldown() {
    let mut fixture = ChainFixture::strict();
    assert!(fixture.event(plain(50_000, 1)).safety.allowed);
    let over = fixture.event(plain(1, 1));
    assert_eq!((veto(&over), over.safety.rule), (Some(SafetyVeto::TokenBudgetExceeded), Rule::GateTokens));
    assert_eq!((retry(&over), over.safety.remaining_budget), (Some(60_000), Tokens::ZERO));
    let vetoed_at = fixture.at;
    let waiting = fixture.step_at(vetoed_at + 59_999, What::Request(request(action("Read(x)", "1"))));
    assert!(waiting.permit.is_none());
    assert_eq!((veto(&waiting.decision), retry(&waiting.decision)), (Some(SafetyVeto::CooldownActive), Some(1)));
    assert!(fixture.step_at(vetoed_at + 60_000, What::Request(request(action("Read(x)", "1")))).permit.is_some());
}

#[test]
fn gate_2_balanced_tokens_over_budget_throttle_until_there_is_room() {
    let mut fixture = ChainFixture::balanced();
    fixture.event(plain(330_000, 1));
    let over = fixture.event(plain(330_000, 1));
    assert_eq!((over.safety.allowed, veto(&over)), (false, Some(SafetyVeto::TokenBudgetExceeded)));
    assert_eq!(retry(&over), Some(55_000), "the first 330,000 leave the minute 60 s after they came");
    assert!(
        over.safety.reason.contains("the limit is 600000 (`gate.max_tokens_per_minute`)"),
        "{}",
        over.safety.reason
    );
    assert_eq!(over.safety.health, Ratio::ONE);
    let room_at = fixture.at + 55_000;
    assert!(fixture.step_at(room_at - 1, What::Request(request(action("Read(x)", "1")))).permit.is_none());
    let roomy = fixture.step_at(room_at, What::Request(request(action("Read(x)", "1"))));
    assert!(roomy.permit.is_some(), "no cooldown after a throttle: {:?}", roomy.decision.safety);
}

#[test]
fn gate_2_strict_calls_over_the_rate_are_a_veto_with_the_full_cooldown() {
    let mut fixture = ChainFixture::strict();
    assert!(fixture.event(plain(0, 60)).safety.allowed);
    let over = fixture.event(plain(0, 1));
    assert_eq!((veto(&over), retry(&over)), (Some(SafetyVeto::RateLimitExceeded), Some(60_000)));
    fixture.wait(50_000);
    assert_eq!(veto(&fixture.tick()), Some(SafetyVeto::CooldownActive));
}

#[test]
fn gate_2_balanced_calls_over_the_rate_throttle_without_cooldown_or_loss_of_health() {
    let mut fixture = ChainFixture::balanced();
    assert!(fixture.event(plain(0, 300)).safety.allowed, "what twelve sub-agents at work do is no reason to wait");
    let over = fixture.event(plain(0, 1));
    assert_eq!((veto(&over), retry(&over)), (Some(SafetyVeto::RateLimitExceeded), Some(55_000)));
    fixture.wait(50_000);
    let later = fixture.tick();
    assert!(later.safety.allowed && later.safety.health == Ratio::ONE, "{:?}", later.safety);
}

#[test]
fn gate_2_cache_reads_and_a_minute_within_its_bounds_pass() {
    let mut fixture = ChainFixture::strict();
    let cached = |_| AgentEvent {
        cache_read_tokens: Some(Tokens::new(400_000)),
        input_tokens: Some(Tokens::new(500)),
        output_tokens: Some(Tokens::new(500)),
        ..plain(401_000, 1)
    };
    let decisions = fixture.events(20, cached);
    assert!(decisions.iter().all(quiet));
    assert_eq!(decisions[19].safety.remaining_budget, Tokens::new(50_000 - 12 * 1_000), "twelve in the last minute");
}

#[test]
fn gate_2_each_warning_is_given_once_until_its_cause_has_gone() {
    let mut fixture = ChainFixture::strict();
    assert!(quiet(&fixture.event(plain(39_999, 44))));
    assert_eq!(kinds(&fixture.event(plain(1, 1))), [FindingKind::TokenWarning, FindingKind::ToolCallWarning]);
    assert!(kinds(&fixture.event(plain(1, 1))).is_empty());
    fixture.wait(120_000);
    assert!(quiet(&fixture.tick()));
    assert_eq!(kinds(&fixture.event(plain(40_000, 0))), [FindingKind::TokenWarning]);
}

#[test]
fn gate_3_a_throttle_never_starts_the_cooldown_not_even_in_a_paused_session() {
    let mut fixture = ChainFixture::balanced();
    fixture.human(HumanAct::Pause);
    fixture.event(plain(60_000, 1));
    fixture.wait(56_000);
    let resumed = fixture.human(HumanAct::Resume);
    assert_eq!(veto(&resumed), None, "{:?}", resumed.safety);
}

#[test]
fn gate_3_a_further_veto_starts_the_cooldown_anew() {
    let mut fixture = ChainFixture::strict();
    let alike = |n: u64| call(&format!("Read(file=f{n}.rs)"), &format!("a{n}"), "same output");
    fixture.events(5, alike);
    fixture.wait(30_000);
    assert_eq!(veto(&fixture.event(alike(9))), Some(SafetyVeto::LoopDetected));
    let second = fixture.at;
    assert_eq!(veto(&fixture.step_at(second + 59_999, What::Tick).decision), Some(SafetyVeto::CooldownActive));
    assert_eq!(veto(&fixture.step_at(second + 60_000, What::Tick).decision), None);
}

#[test]
fn gate_5_the_token_budget_shrinks_with_health() {
    let mut fixture = ChainFixture::balanced();
    let timeouts = |n: u64| super::fixture::failed(work(n), tripwire_core::chain::event::ErrorClass::Timeout);
    let hurt = fixture.events(2, timeouts).pop().unwrap();
    assert_eq!(hurt.safety.health, Ratio::from_per_mille(900));
    assert_eq!(hurt.safety.remaining_budget, Tokens::new(540_000 - 200));
    assert_eq!(veto(&fixture.event(plain(540_000, 1))), Some(SafetyVeto::TokenBudgetExceeded));
}

#[test]
fn gate_6_the_strictest_answer_wins() {
    let mut fixture = ChainFixture::balanced();
    let nobody = || What::Request(Request { authority: None, ..request(action("Read(x)", "1")) });
    fixture.human(HumanAct::Pause);
    let denied = fixture.tell(nobody());
    assert!(matches!(denied.safety.error, Some(EnforcementError::PermissionDenied(_))), "before a hold");
    fixture.human(HumanAct::Stop);
    let over = fixture.tell(nobody());
    assert!(matches!(over.safety.error, Some(EnforcementError::CycleTermination(_))), "the end before everything");
    assert_eq!(over.safety.rule, Rule::Control);
}

#[test]
fn gate_6_a_plain_request_meets_no_error() {
    let mut fixture = ChainFixture::balanced();
    let step = fixture.ask(action("Read(x)", "1"));
    assert!(step.permit.is_some() && step.decision.safety.error.is_none());
}

#[test]
fn gate_6_vetoes_still_hold_after_an_iteration_is_done() {
    let mut fixture = ChainFixture::balanced();
    fixture.event(work(0));
    fixture.tell(What::Claim(tripwire_core::input::Claim::default()));
    let over = fixture.event(plain(660_000, 1));
    assert_eq!((over.safety.allowed, veto(&over)), (false, Some(SafetyVeto::TokenBudgetExceeded)));
    let step = fixture.ask(action("Read(x)", "1"));
    assert!(step.permit.is_none(), "a done iteration is no way round the gate");
}

/// Sixteen calm steps, then steps a tenth of a second apart with these tokens each.
fn accelerate(fixture: &mut ChainFixture, tokens: u64, steps: u64) -> Vec<Decision> {
    fixture.pace = 10_000;
    fixture.events(17, work);
    fixture.pace = 100;
    fixture.events(steps, |n| AgentEvent { token_count: Tokens::new(tokens), ..work(100 + n) })
}

#[test]
fn gate_7_strict_ends_the_session_at_the_first_evidence_of_a_runaway() {
    let mut fixture = ChainFixture::strict();
    let decisions = accelerate(&mut fixture, 10, 5);
    let first = decisions.iter().find(|decision| !decision.safety.allowed).unwrap();
    assert!(stops(first, StopReason::Runaway) && found(first, FindingKind::RunawayDetected));
    assert_eq!(veto(first), Some(SafetyVeto::RunawayDetected));
    assert_eq!((first.activity.mode, first.intent.intent), (ActivityMode::Runaway, Intent::Stop));
}

#[test]
fn gate_7_balanced_does_not_call_small_fast_steps_a_runaway() {
    let mut fixture = ChainFixture::balanced();
    assert!(accelerate(&mut fixture, 10, 20).iter().all(|decision| decision.activity.mode == ActivityMode::Working));
}

#[test]
fn gate_7_balanced_waits_one_cooldown_and_ends_a_runaway_that_persists() {
    let mut fixture = ChainFixture::new(&[("gate.max_tokens_per_minute", "100000000")]);
    fixture.pace = 20_000;
    fixture.events(24, |n| AgentEvent { token_count: Tokens::new(5_000), ..work(n) });
    // The tempo alone would be a note: a loop without known results speaks for it.
    let lost = || AgentEvent { output_hash: None, result_digest: None, ..call("send(x)", "x", "") };
    fixture.events(6, |_| AgentEvent { token_count: Tokens::new(5_000), ..lost() });
    // Seven times faster, and each step a quarter larger: the rolling averages cannot catch up within a minute.
    fixture.pace = 3_000;
    let mut tokens = 5_000;
    let (mut began, mut ended) = (None, None);
    for n in 0..40 {
        tokens += tokens / 4;
        let decision = fixture.event(AgentEvent { token_count: Tokens::new(tokens), ..work(100 + n) });
        if found(&decision, FindingKind::RunawayDetected) {
            assert_eq!((began, veto(&decision)), (None, Some(SafetyVeto::RunawayDetected)));
            assert!(!causes(&decision, &Effect::Stop(StopReason::Runaway)));
            began = Some(fixture.at);
        }
        if stops(&decision, StopReason::Runaway) {
            ended = Some(fixture.at);
            break;
        }
    }
    assert_eq!(ended, began.map(|began| began + 60_000));
    assert!(ended.is_some());
}

#[test]
fn gate_7_balanced_forgives_a_runaway_that_slows_down() {
    let mut fixture = ChainFixture::new(&[("gate.max_tokens_per_minute", "100000000")]);
    accelerate(&mut fixture, 20_000, 6);
    fixture.pace = 70_000;
    let decisions = fixture.events(6, |n| work(500 + n));
    assert!(decisions.iter().all(|decision| !causes(decision, &Effect::Stop(StopReason::Runaway))));
    assert!(decisions.last().unwrap().safety.allowed);
}

fn paid(n: u64, micro_usd: u64) -> AgentEvent {
    AgentEvent { cost_micro_usd: Some(MicroUsd::new(micro_usd)), ..work(n) }
}

#[test]
fn gate_8_money_is_told_at_80_per_cent_and_holds_when_it_is_used_up() {
    let mut fixture = ChainFixture::new(&[("money.budget_micro_usd", "1000")]);
    assert!(quiet(&fixture.event(paid(0, 799))));
    let told = fixture.event(paid(1, 1));
    assert!(told.safety.allowed && found(&told, FindingKind::BudgetWarning));
    assert!(
        told.effects
            .iter()
            .any(|effect| matches!(effect, Effect::Prompt(text) if text.contains("0.02¢ of the 0.1¢ budget left")))
    );
    assert!(quiet(&fixture.event(paid(2, 1))), "told once");
    assert!(holds(&fixture.event(paid(3, 199)), HoldReason::Money));
    assert!(fixture.ask(action("Read(x)", "1")).permit.is_none());
    let raised = fixture.human(HumanAct::RaiseBudget(MicroUsd::new(100)));
    assert!(raised.safety.allowed, "{:?}", raised.safety);
    assert!(fixture.ask(action("Read(x)", "1")).permit.is_some());
}

#[test]
fn gate_8_without_a_budget_money_is_counted_and_limits_nothing() {
    let mut fixture = ChainFixture::balanced();
    assert!(fixture.events(20, |n| paid(n, 1_000_000_000)).iter().all(quiet));
}

#[test]
fn gate_8_a_reservation_that_does_not_fit_is_refused() {
    let mut fixture = ChainFixture::new(&[("money.budget_micro_usd", "1000")]);
    fixture.event(paid(0, 700));
    let reserve = |micro_usd| Request {
        reserve_micro_usd: Some(MicroUsd::new(micro_usd)),
        agent_id: None,
        starts_agent: None,
        running: None,
        ..request(action("Model(call)", "1"))
    };
    let refused = fixture.step(What::Request(reserve(301)));
    assert!(refused.permit.is_none() && refused.decision.safety.rule == Rule::GateMoney);
    assert!(fixture.step(What::Request(reserve(300))).permit.is_some());
}

fn by(agent: &str, parent: Option<&str>, n: u64) -> AgentEvent {
    AgentEvent { agent_id: Label::new(agent), parent_agent_id: parent.and_then(Label::new), ..work(n) }
}

#[test]
fn gate_8_the_thirteenth_sub_agent_and_the_third_level_are_refused() {
    let mut fixture = ChainFixture::balanced();
    assert!(fixture.events(12, |n| by(&format!("agent-{n}"), None, n)).iter().all(quiet));
    let refused = fixture.event(by("agent-12", None, 12));
    assert!(!refused.safety.allowed && refused.safety.rule == Rule::GateAgents);
    let mut fixture = ChainFixture::balanced();
    assert!(quiet(&fixture.event(by("child", None, 0))) && quiet(&fixture.event(by("grandchild", Some("child"), 1))));
    assert!(!fixture.event(by("great", Some("grandchild"), 2)).safety.allowed);
}

#[test]
fn gate_8_known_agents_of_a_full_tree_go_on() {
    let mut fixture = ChainFixture::balanced();
    fixture.events(12, |n| by(&format!("agent-{n}"), None, n));
    assert!(fixture.events(24, |n| by(&format!("agent-{}", n % 12), None, 100 + n)).iter().all(quiet));
    assert!(fixture.event(work(999)).safety.allowed, "the main agent does not count");
    assert!(!fixture.event(by("one too many", None, 1_000)).safety.allowed);
    assert!(
        fixture.event(by("agent-3", None, 1_001)).safety.allowed,
        "one that was refused does not shut out the others"
    );
    assert!(!fixture.event(by("one too many", None, 1_002)).safety.allowed, "and stays refused itself");
}

#[test]
fn gate_8_a_refused_agent_is_not_a_tool_call_limit() {
    let mut fixture = ChainFixture::new(&[("limits.max_agents", "0")]);
    assert!(!fixture.event(by("any", None, 0)).safety.allowed);
    assert_eq!(fixture.event(work(1)).safety.remaining_budget, Tokens::new(600_000 - 200));
    assert_eq!(fixture.chain.policy().limits.max_agents, Count::ZERO);
}
