//! Two gateways of two machines under one budget and one rate of their fleet.

use super::support::{Gateway, Provider, config, message, say, tripwire};
use std::path::Path;
use tripwire_testing::TestDir;

const ASK: &str = r#"{"model":"claude-sonnet-4-5","max_tokens":1000,"messages":[{"role":"user","content":"hi"}]}"#;

/// A machine in the fleet with a gateway, whose manifest says this.
fn machine(fleet: &Path, name: &str, manifest: &str, text: &str) -> Gateway {
    let dir = TestDir::new();
    std::fs::create_dir_all(dir.path().join("w/.geometry")).unwrap();
    std::fs::write(dir.path().join("w/.geometry/MANIFEST.yaml"), manifest).unwrap();
    let state = dir.path().join("state");
    join(&state, &["--machine", name], fleet);
    let variables = [("XDG_STATE_HOME", state.to_str().unwrap().to_owned())];
    let variables: Vec<(&str, &str)> = variables.iter().map(|(name, value)| (*name, value.as_str())).collect();
    Gateway::start_with(dir, text, &variables)
}

/// Joins a person's or machine's state to the fleet.
fn join(state: &Path, more: &[&str], fleet: &Path) {
    std::fs::create_dir_all(state).unwrap();
    let address = format!("file:{}", fleet.display());
    let mut command = tripwire();
    command.args(["fleet", "join", &address]).args(more).env("XDG_STATE_HOME", state).current_dir(state);
    let joined = command.output().unwrap();
    assert!(joined.status.success(), "{joined:?}");
}

fn budget(state: &Path, args: &[&str]) -> serde_json::Value {
    fleet(state, "budget", args)
}

fn fleet(state: &Path, verb: &str, args: &[&str]) -> serde_json::Value {
    let mut command = tripwire();
    command.args(["fleet", verb]).args(args).arg("--json").env("XDG_STATE_HOME", state).current_dir(state);
    let output = command.output().unwrap();
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"))
}

#[test]
fn fleet_3_two_gateways_never_spend_more_than_the_budget_of_their_fleet() {
    let provider = Provider::new(|seen, socket| {
        let asked: serde_json::Value = serde_json::from_str(&seen.body).unwrap();
        say(socket, "200 OK", "application/json", message(60, asked["max_tokens"].as_u64().unwrap()).as_bytes());
    });
    let (fleet, person) = (TestDir::new(), TestDir::new());
    join(person.path(), &[], fleet.path());
    budget(person.path(), &["web", "--limit", "0.1usd"]);
    let text = config(&provider, "");
    let machines = ["a", "b"].map(|name| machine(fleet.path(), name, "fleet:\n  budget: web\n", &text));
    let refused: Vec<String> = std::thread::scope(|scope| {
        let spend = |gateway: &Gateway| {
            (0..200)
                .map(|_| gateway.post("/anthropic/v1/messages", ASK))
                .find(|reply| reply.status != 200)
                .map(|reply| reply.json()["error"]["message"].as_str().unwrap().to_owned())
                .unwrap()
        };
        let spending: Vec<_> = machines.iter().map(|gateway| scope.spawn(move || spend(gateway))).collect();
        spending.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert!(refused.iter().all(|reason| reason.contains("budget `web`")), "{refused:?}");
    let spent: u64 = machines.iter().map(Gateway::spent).sum();
    assert!(machines.iter().all(|gateway| gateway.spent() > 0), "both had a part of it");
    assert!(spent <= 100_000, "{spent} micro-dollars of 100,000");
    // Each ends in order and gives back what it did not use: what is settled is what was spent.
    for mut gateway in machines {
        gateway.signal("-TERM");
        assert!(gateway.wait().success());
    }
    let pool = budget(person.path(), &["web"]);
    assert_eq!(pool["pool"]["settled"].as_u64(), Some(spent), "{pool}");
    assert!(pool["pool"]["blocks"].as_object().unwrap().is_empty(), "{pool}");
}

#[test]
fn fleet_3_a_budget_of_a_team_counts_at_every_gateway_and_a_missing_one_lets_nothing_pass() {
    let provider = Provider::new(|_, socket| say(socket, "200 OK", "application/json", message(60, 10).as_bytes()));
    let (fleet, person) = (TestDir::new(), TestDir::new());
    join(person.path(), &[], fleet.path());
    let text = config(&provider, "team = \"search\"\n[[team]]\nname = \"search\"");
    let gateway = machine(fleet.path(), "a", "fleet:\n  durability: async\n", &text);
    assert_eq!(gateway.post("/anthropic/v1/messages", ASK).status, 200, "nobody set a budget for the team");
    drop(gateway);
    budget(person.path(), &["team-search", "--limit", "0.000001usd"]);
    let gateway = machine(fleet.path(), "b", "fleet:\n  durability: async\n", &text);
    let reply = gateway.post("/anthropic/v1/messages", ASK);
    assert_eq!(reply.status, 403, "{}", reply.body);
    drop(gateway);
    let gateway = machine(fleet.path(), "c", "fleet:\n  budget: nothing\n", &text);
    let reply = gateway.post("/anthropic/v1/messages", ASK);
    let reason = reply.json()["error"]["message"].as_str().unwrap().to_owned();
    assert!(reply.status == 403 && reason.contains("has no budget `nothing`"), "{reason}");
}

#[test]
fn fleet_10_two_gateways_together_make_no_more_calls_than_the_rate_of_their_team() {
    let provider = Provider::new(|_, socket| say(socket, "200 OK", "application/json", message(60, 10).as_bytes()));
    let (fleet_dir, person) = (TestDir::new(), TestDir::new());
    join(person.path(), &[], fleet_dir.path());
    let text = config(&provider, "team = \"search\"\n[[team]]\nname = \"search\"");
    fleet(person.path(), "rate", &["team-search", "--per-minute", "1", "--at-once", "6"]);
    fleet(person.path(), "rate", &["team-other", "--per-minute", "1", "--at-once", "1"]);
    let machines = ["a", "b"].map(|name| machine(fleet_dir.path(), name, "fleet:\n  durability: async\n", &text));
    let replies: Vec<_> =
        (0..10).flat_map(|_| machines.iter().map(|gateway| gateway.post("/anthropic/v1/messages", ASK))).collect();
    let passed = replies.iter().filter(|reply| reply.status == 200).count();
    assert!((6..=8).contains(&passed), "six at once and one a minute: {passed} passed");
    let refused = replies.iter().find(|reply| reply.status != 200).unwrap();
    assert_eq!(refused.status, 429, "{}", refused.body);
    assert!(refused.body.contains("rate `team-search`"), "{}", refused.body);
    let wait: u64 = refused.header("retry-after").unwrap().parse().unwrap();
    assert!((1..=60).contains(&wait), "{wait}");
    let left = fleet(person.path(), "rate", &["team-search"]);
    assert_eq!((left["left"].as_u64(), left["at_once"].as_u64()), (Some(0), Some(6)), "{left}");
    // A larger rate counts at once.
    fleet(person.path(), "rate", &["team-search", "--per-minute", "60000", "--at-once", "1000"]);
    std::thread::sleep(std::time::Duration::from_millis(300));
    assert_eq!(machines[0].post("/anthropic/v1/messages", ASK).status, 200);
}
