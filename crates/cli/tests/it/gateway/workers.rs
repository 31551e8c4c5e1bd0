//! Workers of our own loop: their calls are booked by the gateway of their own session, below the account of the loop's.

use super::support::{Provider, message, say};
use super::under_run::{ASK, KEY, cost};
use crate::run::fixture::{RunFixture, output, wait_until};
use serde_json::Value;
use std::process::{Child, Command, Output};

/// What each call below costs: 100 tokens in at $3 and 900 out at $15 a million.
const PRICE: u64 = 13_800;

/// A worker with four agents at once.
const FOUR: &str = r#"begin
for n in 1 2 3 4; do
  ask '{"model":"claude-sonnet-4-5","max_tokens":1000,"tools":[{"name":"t"}],"messages":[{"role":"user","content":"part '$n'"}]}' > $HOME/reply$n &
done; wait; tool 'echo hi'; finish; exit 0"#;

fn provider() -> Provider {
    Provider::new(|_, socket| {
        std::thread::sleep(std::time::Duration::from_millis(100));
        say(socket, "200 OK", "application/json", message(100, 900).as_bytes());
    })
}

/// The loop, with the client as its only engine.
fn start(fixture: &RunFixture, provider: &Provider, words: &[&str]) -> Child {
    let client = fixture.client();
    let mut command: Command = fixture.verb(&["agent"]);
    command.args(words).arg("--engine").arg(client);
    command.env("ANTHROPIC_BASE_URL", format!("http://{}", provider.address)).env("ANTHROPIC_API_KEY", KEY);
    command.spawn().unwrap()
}

fn end(child: Child) -> Output {
    child.wait_with_output().unwrap()
}

fn said(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

/// The session of the loop: the last account of each call's path.
fn session_of(lines: &Value) -> String {
    let path = lines["calls"][0]["call"]["path"].as_array().unwrap();
    path.last().unwrap()["name"].as_str().unwrap().to_owned()
}

/// What the money gate of a session has taken in.
fn spent(fixture: &RunFixture, session: &str) -> u64 {
    let (_, text) = output(fixture.verb(&["status", "--json", "--session", session]));
    let status: Value = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"));
    status["session"]["view"]["spent"]["microUsd"].as_u64().unwrap_or_else(|| panic!("{status}"))
}

#[test]
fn gate_8_agents_of_a_worker_stand_below_its_session_and_that_below_the_loops() {
    let provider = provider();
    let fixture = RunFixture::new(&format!("{ASK}{FOUR}"));
    let run = end(start(&fixture, &provider, &["--objective", "x", "--budget", "1usd"]));
    assert_eq!(provider.requests(), 4, "{}", said(&run));
    let lines = cost(&fixture, &[]);
    let session = session_of(&lines);
    for line in lines["calls"].as_array().unwrap() {
        let kinds: Vec<&str> =
            line["call"]["path"].as_array().unwrap().iter().map(|account| account["kind"].as_str().unwrap()).collect();
        assert_eq!(kinds, ["agent", "session", "session"], "{line}");
    }
    let of_session = cost(&fixture, &[&session]);
    assert_eq!((&of_session["micro_usd"], of_session["calls"].as_array().unwrap().len()), (&(4 * PRICE).into(), 4));
    assert_eq!(spent(&fixture, &session), 4 * PRICE, "each call is counted once: {}", said(&run));
    let agents = of_session["accounts"].as_array().unwrap();
    assert_eq!(agents.iter().filter(|account| account["account"]["kind"] == "agent").count(), 4, "{of_session}");
}

#[test]
fn gate_8_parallel_agents_of_a_worker_never_exceed_the_budget_of_the_loop() {
    let provider = provider();
    let fixture = RunFixture::new(&format!("{ASK}{FOUR}"));
    let run = end(start(&fixture, &provider, &["--objective", "x", "--budget", "0.04usd"]));
    assert!(provider.requests() < 4, "some did not fit: {}", said(&run));
    let lines = cost(&fixture, &[]);
    let sum = lines["micro_usd"].as_u64().unwrap();
    assert!(sum > 0 && sum <= 40_000, "{lines}");
    assert_eq!(spent(&fixture, &session_of(&lines)), sum, "{}", said(&run));
}

#[test]
fn gate_8_what_a_killed_worker_had_spent_counts_when_its_loop_is_taken_up() {
    let provider = provider();
    let script = "begin; ask > $HOME/reply; [ -e $HOME/again ] || { touch $HOME/again; sleep 600; }
        tool 'echo hi'; finish; exit 0";
    let fixture = RunFixture::new(&format!("{ASK}{script}"));
    let mut child = start(&fixture, &provider, &["--objective", "x", "--budget", "1usd"]);
    wait_until("the first call", || fixture.home().join("again").exists());
    child.kill().unwrap();
    child.wait().unwrap();
    let session = session_of(&cost(&fixture, &[]));
    assert_eq!(spent(&fixture, &session), 0, "the loop has not heard of it");
    let run = end(start(&fixture, &provider, &["--resume", &session]));
    assert_eq!(provider.requests(), 2, "{}", said(&run));
    assert_eq!(cost(&fixture, &[&session])["micro_usd"], 2 * PRICE);
    assert_eq!(spent(&fixture, &session), 2 * PRICE, "{}", said(&run));
}
