//! Many short processes on one session at the same time, as hooks are.

use crate::session::fixture::{Place, call, calls, feed};
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};

const AT_ONCE: usize = 16;

#[test]
fn chain_5_a_storm_of_processes_loses_nothing_and_forks_nothing() {
    // The bench runs the full 2,000.
    let processes = tripwire_testing::sized(64, 400);
    let place = Place::new();
    // Rates are not what is tested here.
    place.manifest("gate:\n  max_tool_calls_per_minute: 100000\n  tool_call_warning_threshold: 100000\n");
    place.step(&calls(1)).ended(0);
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                loop {
                    let n = next.fetch_add(1, Ordering::Relaxed);
                    if n >= processes {
                        return;
                    }
                    let input = call(&format!("storm-{n}"), &format!("result {n}"));
                    let output = feed(place.command(&["step", "-"]), input.as_bytes());
                    let error = String::from_utf8_lossy(&output.stderr).into_owned();
                    assert!(matches!(output.status.code(), Some(0 | 75)), "{n}: {:?} {error}", output.status);
                    let lines = output.stdout.iter().filter(|byte| **byte == b'\n').count();
                    assert_eq!(lines, 1, "one input, one decision, and nothing that a person did");
                }
            });
        }
    });
    let log = place.run(&["log", "--json"]).ended(0);
    let seen: BTreeSet<String> = log
        .json_lines()
        .iter()
        .filter_map(|line| line["input"]["what"]["event"]["action"]["signature"].as_str().map(str::to_owned))
        .filter(|signature| signature.contains("storm-"))
        .collect();
    assert_eq!(seen.len(), processes, "none lost");
    place.run(&["verify"]).ended(0).says(&format!("{} records verify", (processes + 1) * 2 + 1));
    place.run(&["replay", &place.session()]).ended(0).says("equal");
    place.run(&["log", "--type", "MANUAL_OVERRIDE"]).ended(0);
    assert_eq!(place.run(&["log", "--type", "human"]).ended(0).out, "", "our own writes are not taken for a person's");
}
