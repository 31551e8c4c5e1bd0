//! The four invariants of the seed, each with what happens when it is violated, through the binary.

use crate::session::fixture::{Place, Said};
use serde_json::json;

fn request(at: u64, role: &str) -> String {
    let authority = json!({"grant": "granted", "permission": "can_execute_tasks", "role": role});
    json!({"at": at, "what": {"request": {"action": {"tool": "Bash"}, "authority": authority}}}).to_string() + "\n"
}

fn begin(at: u64) -> String {
    json!({"at": at, "what": "iterationStarted"}).to_string() + "\n"
}

fn error(said: &Said) -> serde_json::Value {
    said.json_lines().pop().unwrap()["safety"]["error"].clone()
}

/// The lines happen when they say, so that no test waits.
fn run(place: &Place, lines: &str) -> Said {
    place.feed(&["step", "-", "--times", "own"], lines)
}

#[test]
fn perm_1_invariant_1_without_the_permission_nothing_is_executed_and_role_and_permission_are_named() {
    let place = Place::new();
    let said = run(&place, &request(0, "observer")).ended(11);
    let denied = &error(&said)["PermissionDenied"];
    assert_eq!((denied["role"].as_str(), denied["permission"].as_str()), (Some("observer"), Some("can_execute_tasks")));
    run(&place, &request(1, "developer")).ended(0);
}

#[test]
fn term_1_invariant_2_a_wall_clock_that_ran_out_ends_the_iteration_before_the_next_step() {
    let place = Place::new();
    place.manifest("limits:\n  max_runtime_hours: 1\n");
    let before = format!("{}{}", begin(0), request(3_599_999, "developer"));
    run(&place, &before).ended(0);
    let said = run(&place, &request(3_600_001, "developer")).ended(8);
    assert!(said.out.contains("\"timeout\""), "{}", said.out);
    assert_eq!(error(&said)["WallClockTimeout"]["limit_ms"], 3_600_000);
}

#[test]
fn review_1_invariant_3_a_change_without_its_review_is_not_applied() {
    let place = Place::new();
    let digest = "ab".repeat(32);
    let apply = |digest: &str| {
        let authority = json!({"grant": "granted", "permission": "can_edit_source", "role": "developer"});
        let request = json!({"action": {"tool": "apply"}, "authority": authority, "proposal": digest});
        json!({"at": 0, "what": {"request": request}}).to_string() + "\n"
    };
    let verdict =
        |word: &str| json!({"at": 0, "what": {"review": {"proposal": digest, "verdict": word}}}).to_string() + "\n";
    assert_eq!(error(&run(&place, &apply(&digest)).ended(11))["ReviewGating"]["problem"], "missing");
    run(&place, &format!("{}{}", verdict("APPROVED"), apply(&digest))).ended(0);
    let other = "cd".repeat(32);
    assert_eq!(error(&run(&place, &apply(&other)).ended(11))["ReviewGating"]["problem"], "mismatched");
    let rejected = run(&place, &format!("{}{}", verdict("REJECTED"), apply(&digest))).ended(11);
    assert_eq!(error(&rejected)["ReviewGating"]["problem"], "rejected");
}

#[test]
fn term_1_invariant_4_every_cycle_ends_by_steps_time_interrupt_or_completion() {
    let place = Place::new();
    place.manifest("limits:\n  max_steps: 10\n");
    let event = |n: u64| {
        let action = json!({"tool": "Bash", "argsDigest": format!("{n}")});
        let event = json!({"timestamp": n, "tokenCount": 1, "toolCalls": 1, "latencyMs": 1, "outputLength": 1,
                           "outputHash": format!("{n}"), "action": action});
        json!({"at": n, "what": {"event": event}}).to_string() + "\n"
    };
    let ten: String = begin(0) + &(1..=10).map(|n| event(n * 1_000)).collect::<String>();
    assert!(!run(&place, &ten).out.contains("max_steps\""), "ten steps are allowed");
    let said = run(&place, &request(11_000, "developer")).ended(8);
    assert_eq!(error(&said)["CycleTermination"], "maxSteps");
    let claim = json!({"at": 13_000, "what": {"claim": {}}}).to_string() + "\n";
    let done = run(&place, &format!("{}{claim}", begin(12_000))).ended(0);
    assert!(done.out.contains("\"completed\""), "{}", done.out);
    run(&place, &begin(13_500)).ended(0);
    std::fs::write(place.geometry("STOP"), "").unwrap();
    let stopped = run(&place, &request(14_000, "developer")).ended(10);
    assert!(stopped.out.contains("\"interrupted\""), "{}", stopped.out);
}
