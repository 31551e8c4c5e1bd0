//! What a journaled record says is written, and what it does not say is not: the text of a record is what is hashed.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tripwire_core::chain::event::AgentEvent;
use tripwire_core::input::{Claim, DriftMeaning, FloorFact, FloorWeight, PolicyDrift};
use tripwire_core::label::Label;
use tripwire_core::record::chain::Digest;
use tripwire_core::units::Tokens;
use tripwire_core::usage::{FigureSource, Usage};

/// The names of what is written of a record, in order; it must read back as it was.
pub(crate) fn members<T: Serialize + DeserializeOwned + PartialEq>(record: &T) -> String {
    let value = serde_json::to_value(record).unwrap();
    assert!(serde_json::from_value::<T>(value.clone()).unwrap() == *record, "{value}");
    let Value::Object(members) = value else { panic!("an object") };
    let mut names: Vec<String> = members.keys().cloned().collect();
    names.sort_unstable();
    names.join(" ")
}

#[test]
fn chain_1_a_change_of_the_policy_says_what_it_means_where_it_means_more_than_usual() {
    let drift = |meaning| PolicyDrift { key: Label::cut("a.b"), value: Label::cut("1"), meaning };
    assert_eq!(members(&drift(DriftMeaning::NotApplied)), "key value");
    for meaning in [DriftMeaning::AsInForce, DriftMeaning::ObeyedByClient] {
        assert_eq!(members(&drift(meaning)), "key meaning value");
    }
}

#[test]
fn chain_1_a_held_command_says_its_weight_where_it_is_not_the_usual_one() {
    let fact = |weight| FloorFact {
        code: Label::cut("a1"),
        digest: Digest::of(b"rm"),
        reason: Label::cut("gone"),
        rule: Label::cut("FLOOR-1"),
        weight,
    };
    assert_eq!(members(&fact(FloorWeight::default())), "code digest reason rule");
    let outside = FloorWeight::FromOutside(tripwire_core::units::EventIndex::new(3));
    assert_eq!(members(&fact(outside)), "code digest reason rule weight");
}

#[test]
fn chain_1_an_event_and_a_claim_say_only_what_is_known() {
    let event = AgentEvent::default();
    let plain = members(&event);
    let said = |event: &AgentEvent| {
        let all = members(event);
        all.split(' ').filter(|name| !plain.split(' ').any(|known| known == *name)).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(said(&AgentEvent { user_turn: true, ..event.clone() }), "userTurn");
    assert_eq!(said(&AgentEvent { turn_id: Label::new("t"), ..event.clone() }), "turnId");
    let estimated = AgentEvent { context_source: FigureSource::Estimated, ..event };
    assert_eq!(said(&estimated), "contextSource");
    let claim = |closed| Claim { closed, workspace_hash: None };
    assert_eq!((members(&claim(false)), members(&claim(true))), (String::new(), "closed".to_owned()));
}

#[test]
fn gate_8_usage_names_the_long_cache_only_where_it_was_written() {
    let usage = Usage::default();
    assert!(!members(&usage).contains("cacheWriteLong"));
    assert!(members(&Usage { cache_write_long: Tokens::new(1), ..usage }).contains("cacheWriteLong"));
}
