//! What the filter language accepts, and what passes it.

use super::*;
use crate::history::{Decided, Parts};
use tripwire_core::record::chain::Digest;

const NOW: WallClock = WallClock::from_epoch_ms(1_772_292_600_000);

fn pair(what: &str, allowed: &str, findings: &str) -> Pair {
    let input_text = format!("{{\"at\":5,\"what\":{what}}}");
    let parts: Parts = serde_json::from_str(&format!(
        r#"{{"safety":{{"allowed":{allowed},"reason":"because of it","rule":"FLOOR-1"}},"findings":{findings},"activity":{{"mode":"WORKING"}}}}"#
    ))
    .unwrap();
    let decision = Decided { record: 2, hash: Digest::of(b""), text: "{}".to_owned(), parts };
    let input = serde_json::from_str(&input_text).unwrap();
    Pair { number: 7, record: 1, hash: Digest::of(b""), wall: NOW, input, input_text, decision: Some(decision) }
}

fn call(allowed: &str) -> Pair {
    let what = r#"{"request":{"action":{"tool":"Bash","signature":"Bash(cmd=rm)","words":"rm -rf build"},"agentId":"helper-1"}}"#;
    pair(what, allowed, "[]")
}

fn passes(filter: &str, pair: &Pair) -> bool {
    Filter::parse(filter, NOW).unwrap().passes(pair, "claude")
}

#[test]
fn every_key_finds_its_own_and_leaves_the_rest() {
    let (open, refused) = (call("true"), call("false"));
    for found in [
        "",
        "agent:claude",
        "agent:helper",
        "tool:bash",
        "rm",
        "\"rm -rf\"",
        "i:7",
        "i:5..9",
        "after:1m",
        "type:request",
    ] {
        assert!(passes(found, &open), "{found}");
    }
    for missed in [
        "agent:codex",
        "tool:Edit",
        "verdict:refused",
        "nowhere",
        "i:8",
        "before:1m",
        "rule:LOOP-1",
        "level:note",
        "status:ok",
    ] {
        assert!(!passes(missed, &open), "{missed}");
    }
    assert!(passes("verdict:refused rule:FLOOR type:refused", &refused) && passes("-verdict:allowed", &refused));
    assert!(passes("agent:claude tool:Bash -level:note", &open), "all terms together");
    let loops = r#"[{"type":"HARD_LOOP","level":"hold","reason":"again","rule":"LOOP-1.exact"}]"#;
    let held = pair(
        r#"{"event":{"latencyMs":1,"outputLength":1,"timestamp":1,"tokenCount":1,"toolCalls":1,"outcome":{"status":"error"}}}"#,
        "false",
        loops,
    );
    for found in ["verdict:held", "level:override", "rule:loop-1", "type:hard_loop", "status:error", "again"] {
        assert!(passes(found, &held), "{found}");
    }
    assert!(!passes("level:stop", &held) && !passes("status:ok", &held) && !passes("verdict:refused", &held));
}

#[test]
fn what_cannot_be_understood_is_refused_with_a_hint() {
    for wrong in [
        "colour:red",
        "verdict:maybe",
        "level:high",
        "after:yesterday",
        "after:25:00",
        "before:",
        "i:x",
        "status:fine",
        "rule:NOPE",
        "\"open",
    ] {
        let error = Filter::parse(wrong, NOW).unwrap_err();
        assert!(!error.hint().is_empty() && !error.to_string().is_empty(), "{wrong}");
    }
    assert!(Filter::parse("http://example.org C:\\x", NOW).is_ok(), "a colon alone makes no key");
}

#[test]
fn a_time_of_day_is_the_last_one_before_now() {
    let now = tripwire_workspace::clock::now();
    for hour in [0, 7, 12, 23] {
        let then = when(&format!("{hour:02}:30"), now).unwrap();
        let back = now.epoch_ms() - then.epoch_ms();
        assert!(back <= 25 * 3_600_000, "{hour}: {back}");
    }
}

#[test]
fn a_family_matches_its_rules_and_no_other() {
    assert!(is_of("LOOP-1.exact", "LOOP-1") && is_of("LOOP-1.exact", "loop-1.exact") && is_of("LOOP-1", "LOOP"));
    assert!(!is_of("LOOP-12", "LOOP-1") && !is_of("GATE-1", "LOOP-1") && !is_of("LOOP", "LOOP-1"));
}
