//! Clients of services, databases and disks, and what publishes: `service_lines.jsonl` holds lines for each way in which they
//! destroy or publish, with the rule and the reason, and beside them look-alikes that pass.

use super::situations::Situation;
use serde::Deserialize;
use std::fmt::Write as _;

/// One line of the table. Without a rule it passes.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ServiceLine {
    command: String,
    rule: Option<String>,
    reason: Option<String>,
}

#[test]
fn floor_1_each_client_is_held_for_its_own_reason_and_its_look_alikes_pass() {
    let here = Situation::new("clean");
    let judge = here.judge();
    let mut wrong = String::new();
    for line in include_str!("service_lines.jsonl").lines() {
        let ServiceLine { command, rule, reason } = serde_json::from_str(line).unwrap();
        let verdict = judge.judge(&command);
        let found = verdict.rule.map(|rule| (rule.name(), verdict.reason.as_str()));
        if found != rule.as_deref().zip(reason.as_deref()) {
            writeln!(wrong, "`{command}`: {found:?}, not {rule:?}: {reason:?}").unwrap();
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}
