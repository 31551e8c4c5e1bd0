//! The context gate and compactions that lead nowhere.

use crate::bed::{Bed, action, causes, edit, found, holds, kinds, quiet, work};
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

fn compacted(bed: &mut Bed, tokens: Option<u64>, tree: Option<&str>) -> Decision {
    bed.tell(What::Compacted(Compaction {
        context_tokens: tokens.map(Tokens::new),
        workspace_hash: tree.and_then(Label::new),
    }))
}

#[test]
fn ctx_1_the_real_window_counts_where_it_is_known() {
    let mut bed = Bed::balanced();
    let large = AgentEvent { context_window: Some(Tokens::new(1_000_000)), ..at(85, 0) };
    assert!(quiet(&bed.event(large)));
    assert!(quiet(&bed.event(at(90, 1))), "the window that was told stays known");
    assert!(quiet(&compacted(&mut bed, Some(300_000), Some("tree"))), "after a compaction too");
}

#[test]
fn ctx_1_without_a_window_the_default_counts() {
    let mut bed = Bed::balanced();
    assert!(holds(&bed.event(at(85, 0)), HoldReason::Context));
}

#[test]
fn ctx_1_figures_of_sub_agents_say_nothing_about_the_main_context() {
    let mut bed = Bed::balanced();
    let child = |percent, n| AgentEvent { agent_id: Label::new("child"), ..at(percent, n) };
    assert!(quiet(&bed.event(child(90, 0))));
    assert!(holds(&bed.event(at(85, 1)), HoldReason::Context));
    assert!(!bed.event(child(10, 2)).safety.allowed, "a fresh sub-agent does not clear the main context");
}

#[test]
fn ctx_2_each_tier_acts_at_its_threshold() {
    let mut bed = Bed::balanced();
    assert!(quiet(&bed.event(at(74, 0))));
    let warned = bed.event(at(75, 1));
    assert!(warned.safety.allowed && causes(&warned, &Effect::WarnContext));
    assert!(warned.findings[0].reason.contains("WARNING: Context at 75%"));
    assert!(quiet(&bed.event(at(79, 2))), "told once");
    let mandatory = bed.event(at(80, 3));
    assert!(mandatory.safety.allowed && causes(&mandatory, &Effect::Compact));
    let blocked = bed.event(at(85, 4));
    assert!(holds(&blocked, HoldReason::Context) && found(&blocked, FindingKind::CompactionGate));
    assert_eq!(blocked.safety.rule, Rule::ContextTiers);
    assert!(bed.ask(action("Read(x)", "1")).permit.is_none(), "every tool call");
}

#[test]
fn ctx_2_the_block_is_lifted_when_the_context_is_cleared() {
    let mut bed = Bed::balanced();
    bed.event(at(85, 0));
    assert!(compacted(&mut bed, Some(20_000), Some("tree")).safety.allowed);
    let mut bed = Bed::balanced();
    bed.event(at(85, 0));
    assert!(compacted(&mut bed, None, None).safety.allowed, "a compaction without a figure clears it too");
    assert!(holds(&bed.event(at(86, 1)), HoldReason::Context), "until the next figure says otherwise");
}

#[test]
fn ctx_2_a_persons_resume_lasts_until_the_next_figure() {
    let mut bed = Bed::balanced();
    bed.event(at(85, 0));
    assert!(bed.human(HumanAct::Resume).safety.allowed);
    assert!(holds(&bed.event(at(86, 1)), HoldReason::Context));
}

#[test]
fn ctx_3_the_second_tier_asks_for_a_briefing_and_the_first_does_not() {
    let mut bed = Bed::balanced();
    assert!(!causes(&bed.event(at(79, 0)), &Effect::Compact));
    assert!(causes(&bed.event(at(80, 1)), &Effect::Compact));
}

#[test]
fn ctx_4_three_compactions_without_a_change_are_a_loop() {
    let mut bed = Bed::balanced();
    assert!(quiet(&compacted(&mut bed, None, Some("tree"))) && quiet(&compacted(&mut bed, None, Some("tree"))));
    let third = compacted(&mut bed, None, Some("tree"));
    assert!(holds(&third, HoldReason::Loop) && causes(&third, &Effect::AskAdvisor(Deadlock::HardLoop)));
    assert_eq!((kinds(&third), third.findings[0].rule), (vec![FindingKind::HardLoop], Rule::ContextSpiral));
}

#[test]
fn ctx_4_compactions_with_work_between_are_none() {
    let mut bed = Bed::balanced();
    for n in 0..6 {
        assert!(quiet(&bed.event(edit(n))));
        assert!(quiet(&compacted(&mut bed, None, None)));
    }
    for tree in ["a", "b", "c", "d"] {
        assert!(quiet(&compacted(&mut bed, None, Some(tree))));
    }
}
