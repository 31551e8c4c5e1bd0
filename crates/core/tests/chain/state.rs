//! The state: the same after a pause as without one, bound to version and policy, bounded in size.

use crate::bed::{Bed, action, call, failed, policy, request, work};
use tripwire_core::chain::event::{AgentEvent, ErrorClass};
use tripwire_core::chain::{Chain, SnapshotError};
use tripwire_core::input::{AdvisorReply, Claim, Compaction, HumanAct, Input, ReviewVerdict, Verdict, What};
use tripwire_core::label::Label;
use tripwire_core::limits::STATE_BYTES_MAX;
use tripwire_core::record::canonical;
use tripwire_core::record::chain::Digest;
use tripwire_core::sketch::{LANES, Sketch};
use tripwire_core::units::{Count, MicroUsd, RunMillis, Tokens};

/// A busy session: repeats, failures, sub-agents, reviews, claims, and figures near their bounds.
fn busy(n: u64) -> What {
    let lane = u8::try_from(n % 251).unwrap();
    let event = AgentEvent {
        agent_id: Label::new(&format!("agent-{}", n % 40)),
        cost_micro_usd: Some(MicroUsd::new(999_999_999)),
        sketch: Some(Sketch::from_lanes([lane; LANES])),
        token_count: Tokens::new(999_999_999_000 + n),
        tool_calls: Count::new(999_999),
        turn_id: Label::new(&format!("turn-{n}")),
        workspace_hash: Label::new(&format!("tree-{}", n % 3)),
        ..call(&format!("Bash(cmd=step {})", n % 7), &format!("{}", n % 11), &format!("out-{}", n % 5))
    };
    match n % 13 {
        3 => What::Request(request(action("Read(x)", "1"))),
        5 => What::Review(ReviewVerdict { proposal: Digest::of(&n.to_le_bytes()), verdict: Verdict::Approved }),
        6 => What::Human(HumanAct::Restart),
        7 => What::Advisor(AdvisorReply { advice: Label::cut("another way") }),
        8 => What::IterationStarted,
        9 => What::Claim(Claim { workspace_hash: Label::new("tree") }),
        10 => What::Compacted(Compaction { context_tokens: Some(Tokens::new(n)), workspace_hash: None }),
        11 => What::Event(AgentEvent { error_digest: Label::new("error"), ..failed(event, ErrorClass::NonZeroExit) }),
        _ => What::Event(event),
    }
}

fn input(n: u64) -> Input {
    Input { at: RunMillis::new(9_007_199_000_000_000 + n * 400), what: busy(n) }
}

#[test]
fn chain_3_a_session_taken_up_again_decides_as_if_it_had_never_paused() {
    for profile in ["strict", "balanced"] {
        let frozen = policy(&[("profile", profile)]);
        let mut whole = Chain::new(frozen.clone()).unwrap();
        let mut paused = Chain::new(frozen.clone()).unwrap();
        for n in 0..400 {
            paused = Chain::restore(frozen.clone(), &paused.snapshot().unwrap()).unwrap();
            let (left, right) = (whole.step(&input(n)), paused.step(&input(n)));
            let text = |step: &tripwire_core::chain::Step| canonical::to_string(&step.decision).unwrap();
            assert_eq!(text(&left), text(&right), "{profile}, input {n}");
            assert_eq!(left, right);
        }
        assert_eq!(whole, paused);
    }
}

#[test]
fn chain_3_a_state_of_another_version_or_policy_or_a_damaged_one_is_refused() {
    let mut bed = Bed::balanced();
    bed.events(5, work);
    let snapshot = bed.chain.snapshot().unwrap();
    let other = policy(&[("gate.max_tokens_per_minute", "50001")]);
    assert!(matches!(Chain::restore(other, &snapshot), Err(SnapshotError::Policy { .. })));
    let newer = snapshot.replacen("\"version\":1", "\"version\":2", 1);
    assert_ne!(newer, snapshot);
    let refused = Chain::restore(policy(&[]), &newer).unwrap_err();
    assert!(
        matches!(refused, SnapshotError::Version { found: 2, known: 1 }) && refused.to_string().contains("rebuild")
    );
    for damaged in ["", "{}", "null", &snapshot[..snapshot.len() / 2], &snapshot.replace("\"gate\"", "\"gote\"")] {
        assert!(matches!(Chain::restore(policy(&[]), damaged), Err(SnapshotError::Damaged(_))), "{damaged:.40}");
    }
    assert!(Chain::restore(policy(&[]), &snapshot).is_ok());
}

#[test]
fn chain_6_the_state_stays_within_16_kb_however_long_the_session() {
    for profile in ["strict", "balanced"] {
        let mut chain = Chain::new(policy(&[("profile", profile)])).unwrap();
        let mut largest = 0;
        for n in 0..5_000 {
            chain.step(&input(n));
            if n % 97 == 0 || n > 4_990 {
                largest = largest.max(chain.snapshot().unwrap().len());
            }
        }
        assert!(largest <= STATE_BYTES_MAX, "{profile}: {largest} bytes");
        assert!(largest > 2_000, "{profile}: the session was not busy ({largest} bytes)");
    }
}

#[test]
fn chain_6_the_state_does_not_grow_with_the_length() {
    let size_after = |events: u64| {
        let mut bed = Bed::balanced();
        bed.events(events, work);
        bed.chain.snapshot().unwrap().len()
    };
    let (short, long) = (size_after(500), size_after(5_000));
    assert!(long < short + 256, "{short} then {long}");
}

#[test]
fn chain_1_inputs_survive_the_way_through_json() {
    for n in 0..60 {
        let text = canonical::to_string(&input(n)).unwrap();
        let read: Input = serde_json::from_str(&text).unwrap();
        assert_eq!(read, input(n));
    }
}

#[test]
fn chain_1_an_input_with_an_unknown_field_or_kind_is_refused() {
    for text in [
        r#"{"at":1,"what":"tick","why":"x"}"#,
        r#"{"at":1,"what":"dance"}"#,
        r#"{"at":-1,"what":"tick"}"#,
        r#"{"what":"tick"}"#,
    ] {
        assert!(serde_json::from_str::<Input>(text).is_err(), "{text}");
    }
    assert!(serde_json::from_str::<Input>(r#"{"at":1,"what":"tick"}"#).is_ok());
}
