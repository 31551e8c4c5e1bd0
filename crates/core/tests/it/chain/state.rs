//! The state: the same after a pause as without one, bound to version and policy, bounded in size.

use super::fixture::{ChainFixture, action, call, failed, policy, request, work};
use tripwire_core::chain::event::{AgentEvent, ErrorClass};
use tripwire_core::chain::{Chain, SnapshotError};
use tripwire_core::input::{AdvisorReply, Claim, Compaction, HumanAct, Input, ReviewVerdict, Verdict, What};
use tripwire_core::label::Label;
use tripwire_core::limits::{STATE_BYTES_MAX, STATE_VERSION};
use tripwire_core::policy::Policy;
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
        9 => What::Claim(Claim { workspace_hash: Label::new("tree"), ..Claim::default() }),
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
            paused = Chain::restore(&paused.snapshot().unwrap()).unwrap();
            let (left, right) = (whole.step(&input(n)), paused.step(&input(n)));
            let text = |step: &tripwire_core::chain::Step| canonical::to_string(&step.decision).unwrap();
            assert_eq!(text(&left), text(&right), "{profile}, input {n}");
            assert_eq!(left, right);
        }
        assert_eq!(whole, paused);
    }
}

#[test]
fn chain_3_a_state_of_another_version_or_a_damaged_one_is_refused() {
    let mut fixture = ChainFixture::balanced();
    fixture.events(5, work);
    let snapshot = fixture.chain.snapshot().unwrap();
    let mut newer = snapshot.clone();
    newer[0] += 1;
    let refused = Chain::restore(&newer).unwrap_err();
    let known = STATE_VERSION;
    assert!(matches!(&refused, SnapshotError::Version { found, known: k } if (*found, *k) == (known + 1, known)));
    assert!(refused.to_string().contains("rebuild"));
    let longer = [snapshot.as_slice(), b"x"].concat();
    for damaged in [b"".as_slice(), &snapshot[..snapshot.len() / 2], &snapshot[..snapshot.len() - 1], &longer] {
        assert!(matches!(Chain::restore(damaged), Err(SnapshotError::Damaged(_))), "{} bytes", damaged.len());
    }
    assert_eq!(Chain::restore(&snapshot), Ok(fixture.chain));
}

#[test]
fn chain_3_a_state_brings_the_policy_it_stands_under_and_a_contradicting_one_is_refused() {
    let policies = Policy::default().rows().into_iter().map(|row| (row.path, row.another.unwrap_or(row.value)));
    let mut taken = 0;
    for (path, value) in policies {
        let mut changed = policy(&[]);
        if changed.set(path, &value).is_err() || changed.check().is_err() {
            continue;
        }
        let chain = Chain::new(changed.clone()).unwrap();
        assert_eq!(Chain::restore(&chain.snapshot().unwrap()).unwrap().policy(), &changed, "{path} = {value}");
        taken += 1;
    }
    assert!(taken > 60, "{taken} settings were tried");
    let minute = [("gate.max_tokens_per_minute", "50000"), ("gate.token_warning_threshold", "40000")];
    let plain = Chain::new(policy(&minute)).unwrap().snapshot().unwrap();
    // The warning threshold of the sliding minute, the first figure of its section: raised beyond its limit of 50 000.
    let place = plain.windows(3).position(|bytes| bytes == [0xc0, 0xb8, 0x02]).unwrap();
    let mut contradicting = plain;
    contradicting[place..place + 3].copy_from_slice(&[0xff, 0xff, 0x7f]);
    assert!(matches!(Chain::restore(&contradicting), Err(SnapshotError::BadPolicy(_))));
}

#[test]
fn chain_3_the_form_of_the_state_belongs_to_its_version() {
    let mut chain = Chain::new(policy(&[])).unwrap();
    for n in 0..200 {
        chain.step(&input(n));
    }
    let digest = Digest::of(&chain.snapshot().unwrap()).to_string();
    assert_eq!(
        (STATE_VERSION, digest.as_str()),
        (11, "c2ebcb1e1fb69d148959e0d0938ff78f12d634ded28cde0d5cc2e5ac531bd176"),
        "a known session leaves another state; if a type in it changed, raise STATE_VERSION, else an older state would be read as something else",
    );
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
        let mut fixture = ChainFixture::balanced();
        fixture.events(events, work);
        fixture.chain.snapshot().unwrap().len()
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
