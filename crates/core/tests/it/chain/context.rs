//! The context gate and compactions that lead nowhere.

use super::fixture::{ChainFixture, action, causes, edit, found, holds, kinds, quiet, work};
use tripwire_core::chain::event::AgentEvent;
use tripwire_core::decision::{Decision, FindingKind};
use tripwire_core::effect::{Deadlock, Effect, HoldReason};
use tripwire_core::input::{Compaction, HumanAct, What};
use tripwire_core::label::Label;
use tripwire_core::rules::Rule;
use tripwire_core::units::Tokens;

/// An event at this many per cent of the default window.
fn at(percent: u64, n: u64) -> AgentEvent {
    AgentEvent { context_tokens: Some(Tokens::new(percent * 2_000)), ..work(n) }
}

fn compacted(fixture: &mut ChainFixture, tokens: Option<u64>, tree: Option<&str>) -> Decision {
    fixture.tell(What::Compacted(Compaction {
        context_tokens: tokens.map(Tokens::new),
        workspace_hash: tree.and_then(Label::new),
    }))
}

#[test]
fn ctx_1_the_real_window_counts_where_it_is_known() {
    let mut fixture = ChainFixture::balanced();
    let large = AgentEvent { context_window: Some(Tokens::new(1_000_000)), ..at(85, 0) };
    assert!(quiet(&fixture.event(large)));
    assert!(quiet(&fixture.event(at(90, 1))), "the window that was told stays known");
    assert!(quiet(&compacted(&mut fixture, Some(300_000), Some("tree"))), "after a compaction too");
}

#[test]
fn ctx_1_without_a_window_the_default_counts() {
    let mut fixture = ChainFixture::balanced();
    assert!(holds(&fixture.event(at(85, 0)), HoldReason::Context));
}

#[test]
fn ctx_1_figures_of_sub_agents_say_nothing_about_the_main_context() {
    let mut fixture = ChainFixture::balanced();
    let child = |percent, n| AgentEvent { agent_id: Label::new("child"), ..at(percent, n) };
    assert!(quiet(&fixture.event(child(90, 0))));
    assert!(holds(&fixture.event(at(85, 1)), HoldReason::Context));
    assert!(!fixture.event(child(10, 2)).safety.allowed, "a fresh sub-agent does not clear the main context");
}

#[test]
fn ctx_2_each_tier_acts_at_its_threshold() {
    let mut fixture = ChainFixture::balanced();
    assert!(quiet(&fixture.event(at(74, 0))));
    let warned = fixture.event(at(75, 1));
    assert!(warned.safety.allowed && causes(&warned, &Effect::WarnContext));
    assert!(warned.findings[0].reason.contains("WARNING: Context at 75%"));
    assert!(quiet(&fixture.event(at(79, 2))), "told once");
    let mandatory = fixture.event(at(80, 3));
    assert!(mandatory.safety.allowed && causes(&mandatory, &Effect::Compact));
    let blocked = fixture.event(at(85, 4));
    assert!(holds(&blocked, HoldReason::Context) && found(&blocked, FindingKind::CompactionGate));
    assert_eq!(blocked.safety.rule, Rule::ContextTiers);
    assert!(fixture.ask(action("Read(x)", "1")).permit.is_none(), "every tool call");
}

#[test]
fn ctx_2_the_block_is_lifted_when_the_context_is_cleared() {
    let mut fixture = ChainFixture::balanced();
    fixture.event(at(85, 0));
    assert!(compacted(&mut fixture, Some(20_000), Some("tree")).safety.allowed);
    let mut fixture = ChainFixture::balanced();
    fixture.event(at(85, 0));
    assert!(compacted(&mut fixture, None, None).safety.allowed, "a compaction without a figure clears it too");
    assert!(holds(&fixture.event(at(86, 1)), HoldReason::Context), "until the next figure says otherwise");
}

#[test]
fn ctx_2_a_persons_resume_lasts_until_the_next_figure() {
    let mut fixture = ChainFixture::balanced();
    fixture.event(at(85, 0));
    assert!(fixture.human(HumanAct::Resume).safety.allowed);
    assert!(holds(&fixture.event(at(86, 1)), HoldReason::Context));
}

#[test]
fn ctx_3_the_second_tier_asks_for_a_briefing_and_the_first_does_not() {
    let mut fixture = ChainFixture::balanced();
    assert!(!causes(&fixture.event(at(79, 0)), &Effect::Compact));
    assert!(causes(&fixture.event(at(80, 1)), &Effect::Compact));
}

#[test]
fn ctx_4_three_compactions_without_a_change_are_a_loop() {
    let mut fixture = ChainFixture::balanced();
    assert!(quiet(&compacted(&mut fixture, None, Some("tree"))) && quiet(&compacted(&mut fixture, None, Some("tree"))));
    let third = compacted(&mut fixture, None, Some("tree"));
    assert!(holds(&third, HoldReason::Loop) && causes(&third, &Effect::AskAdvisor(Deadlock::HardLoop)));
    assert_eq!((kinds(&third), third.findings[0].rule), (vec![FindingKind::HardLoop], Rule::ContextSpiral));
}

#[test]
fn ctx_4_compactions_with_work_between_are_none() {
    let mut fixture = ChainFixture::balanced();
    for n in 0..6 {
        assert!(quiet(&fixture.event(edit(n))));
        assert!(quiet(&compacted(&mut fixture, None, None)));
    }
    for tree in ["a", "b", "c", "d"] {
        assert!(quiet(&compacted(&mut fixture, None, Some(tree))));
    }
}
