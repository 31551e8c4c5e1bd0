//! `tripwire approvals --fleet`: what waits on one machine is listed and answered from another.

use super::{Serving, join};
use crate::approvals::{answer_of, ask, output, waiting_for};
use crate::hooks::fixture::HookFixture;
use crate::run::fixture::wait_until;
use crate::session::fixture::Place;
use serde_json::{Value, json};
use tripwire_testing::TestDir;

/// A person's machine, and one on which an agent works.
struct TwoMachines {
    _fleet: TestDir,
    a: Place,
    b: HookFixture,
}

impl TwoMachines {
    fn new() -> Self {
        let (fleet, a, b) = (TestDir::new(), Place::new(), waiting_for("60s"));
        join(&a, fleet.path(), &["--machine", "a"]);
        let address = format!("file:{}", fleet.path().display());
        let (exit, said) = output(b.command(&["fleet", "join", &address, "--machine", "b"]));
        assert_eq!(exit, Some(0), "{said}");
        Self { _fleet: fleet, a, b }
    }

    /// What waits, as the person's machine sees it.
    fn asked(&self) -> Vec<Value> {
        self.a.run(&["approvals", "--fleet", "--json"]).json_lines()
    }

    fn question(&self) -> Value {
        let mut found = Vec::new();
        wait_until("a question of the other machine", || {
            found = self.asked();
            found.iter().any(|asked| asked["verdict"].is_null())
        });
        found.into_iter().find(|asked| asked["verdict"].is_null()).unwrap()
    }

    fn trust(&self) {
        let key = self.a.run(&["identity", "show", "--json"]).ended(0).json()["key"].as_str().unwrap().to_owned();
        assert_eq!(output(self.b.command(&["identity", "trust", &key])).0, Some(0));
    }
}

#[test]
fn fleet_9_a_call_held_on_one_machine_passes_once_a_trusted_person_approves_it_on_another() {
    let two = TwoMachines::new();
    two.a.run(&["approvals", "--fleet"]).ended(0);
    let asked = ask(&two.b, "rm -rf data");
    let _serving = Serving::with(two.b.command(Serving::WORDS));
    let question = two.question();
    assert_eq!((question["machine"].as_str(), question["kind"].as_str()), (Some("b"), Some("command")), "{question}");
    let id = question["id"].as_str().unwrap();
    two.a.run(&["approvals", "--fleet"]).ended(5).says(&format!("approvals approve {id} --fleet")).says("data");
    two.a.run(&["fleet", "status"]).ended(0).says("1 question for a person");
    // The other machine does not know this person yet: nothing passes.
    two.a.run(&["approvals", "approve", id, "--fleet", "--reason", "old data"]).ended(9).says("identity trust");
    assert!(two.b.root().join("data").exists());
    two.a.run(&["approvals", "--fleet"]).ended(0).says("; b has not taken it yet");
    two.a.run(&["approvals", "deny", id, "--fleet"]).ended(11).complains("approved by");
    assert!(answer_of(asked).contains("nobody answered"), "the call did not pass");
    two.trust();
    wait_until("an empty queue", || two.asked().is_empty());
    assert_eq!(answer_of(ask(&two.b, "rm -rf data")), "", "it passes when the agent asks again");
    let (_, log) = output(two.b.command(&["log"]));
    assert!(log.contains(" (fleet)") && log.contains("old data"), "who and why are journaled: {log}");
    assert_eq!(output(two.b.command(&["verify"])).0, Some(0));
    assert_eq!(output(two.b.command(&["replay"])).0, Some(0));
}

#[test]
fn fleet_9_a_call_that_waits_goes_on_or_is_refused_as_a_person_on_another_machine_says() {
    let two = TwoMachines::new();
    two.a.run(&["pause", "--label", "team=none"]).ended(0);
    two.trust();
    let _serving = Serving::with(two.b.command(Serving::WORDS));
    let asked = ask(&two.b, "rm -rf data/a");
    let id = two.question()["id"].as_str().unwrap().to_owned();
    two.a.run(&["approvals", "approve", &id, "--fleet"]).ended(0).says("no longer waits on b");
    assert_eq!(answer_of(asked), "", "a call that is approved in time goes on where it waits");
    let asked = ask(&two.b, "rm -rf data");
    let question = two.question();
    let digits = &question["proposal"].as_str().unwrap()[..12];
    two.a
        .run(&["approvals", "deny", digits, "--fleet", "--reason", "we need it"])
        .ended(0)
        .says("no longer waits on b");
    let refused = answer_of(asked);
    assert!(refused.contains("\"deny\"") && refused.contains("we need it"), "{refused}");
    two.a.run(&["approvals", "approve", digits, "--fleet"]).ended(2).complains("nothing waits");
}

#[test]
fn fleet_9_a_budget_spent_on_another_machine_is_raised_by_the_amount_that_is_named_and_denied_once() {
    let (fleet, a, b) = (TestDir::new(), Place::new(), Place::new());
    join(&a, fleet.path(), &["--machine", "a"]);
    join(&b, fleet.path(), &["--machine", "b"]);
    a.run(&["pause", "--label", "team=none"]).ended(0);
    let key = a.run(&["identity", "show", "--json"]).ended(0).json()["key"].as_str().unwrap().to_owned();
    b.run(&["identity", "trust", &key]).ended(0);
    b.manifest("money:\n  budget_micro_usd: 1000\n");
    let line =
        |cost: u64| json!({"timestamp": 0, "tool": "Read", "args": {"path": "a"}, "output": "x", "costMicroUsd": cost});
    b.step(&format!("{}\n", line(5_000))).ended(6);
    let _serving = Serving::start(&b);
    let id = format!("budget-{}", b.session());
    wait_until("the question", || !a.run(&["approvals", "--fleet", "--json"]).json_lines().is_empty());
    a.run(&["approvals", "approve", &id, "--fleet"]).ended(2).complains("--raise 5usd --fleet");
    a.run(&["approvals", "approve", &id, "--fleet", "--raise", "1usd"]).ended(0).says("no longer waits on b");
    b.run(&["approvals"]).ended(0);
    assert!(b.run(&["log", "--json"]).ended(0).out.contains("raiseBudget"));
    b.step(&format!("{}\n", line(2_000_000))).ended(6);
    wait_until("the next question", || a.run(&["approvals", "--fleet", "--json"]).json_lines().len() == 1);
    a.run(&["approvals", "deny", &id, "--fleet"]).ended(0);
    let denied = || b.run(&["log", "--json"]).ended(0).out.matches("a person denied a larger budget").count();
    let once = denied();
    std::thread::sleep(std::time::Duration::from_millis(2_500));
    assert!(once > 0 && denied() == once, "a verdict is journaled once");
}

#[test]
fn fleet_9_an_answer_to_nothing_or_by_an_agent_or_without_a_fleet_is_refused() {
    let (fleet, a) = (TestDir::new(), Place::new());
    for args in [&["approvals", "--fleet"][..], &["approvals", "approve", "K7Q2-9F", "--fleet"]] {
        a.run(args).ended(2).complains("belongs to no fleet");
    }
    join(&a, fleet.path(), &["--machine", "a"]);
    for id in ["K7Q2-9F", "", "budget-nonsense", "ffff"] {
        a.run(&["approvals", "approve", id, "--fleet"]).ended(2).complains("nothing waits");
    }
    assert_eq!(a.run(&["approvals", "--fleet", "--all"]).code, 2);
    let mut agent = a.command(&["approvals", "approve", "K7Q2-9F", "--fleet"]);
    assert_eq!(agent.env("CLAUDECODE", "1").output().unwrap().status.code(), Some(11), "an agent approves nothing");
}
