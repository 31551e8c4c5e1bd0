//! `tripwire doctor --live` over the real clients.

use crate::support::clients::{Client, Kind};
use crate::support::person::Person;
use serde_json::{Value, json};
use std::fs;
use tripwire_testing::write_program;

#[test]
#[ignore = "needs the real clients: just test-clients"]
fn live_canaries_prove_deny_and_stop_on_the_real_clients_and_touch_nothing() {
    let person = Person::new();
    let clients: Vec<Client> = [Kind::Claude, Kind::Codex, Kind::Gemini].into_iter().filter_map(Client::find).collect();
    for client in &clients {
        write_program(&person.path("bin").join(client.name()), &client.launcher()).unwrap();
    }
    let path = format!("{}:/usr/local/bin:/usr/bin:/bin", person.path("bin").display());
    let output = person.command(&["doctor", "--live", "--json"]).env("PATH", path).output().unwrap();
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let checks = report["checks"].as_array().unwrap();
    for client in clients {
        for canary in ["shell", "edit", "stop"] {
            let id = format!("{}.live.{canary}", client.name());
            assert_eq!(status(checks, &id), json!("ok"), "{id}: {report}");
        }
        assert_eq!(
            status(checks, &format!("{}.live-hooks", client.name())),
            json!("off"),
            "none are installed: {report}"
        );
    }
    assert!(!person.path("work/.geometry").exists(), "the canaries have a workspace of their own");
    let made: Vec<_> = fs::read_dir(person.path("home")).unwrap().collect();
    assert!(made.is_empty(), "the canaries have a home of their own: {made:?}");
}

/// Without `tripwire run`: the client is started as a person starts it.
#[test]
#[ignore = "needs the real clients: just test-clients"]
fn live_canaries_prove_the_installed_hooks_by_themselves() {
    for kind in [Kind::Claude, Kind::Codex, Kind::Gemini] {
        let Some(client) = Client::find(kind) else { continue };
        let person = Person::new();
        write_program(&person.path("bin").join(client.name()), &client.launcher()).unwrap();
        let path = format!("{}:/usr/local/bin:/usr/bin:/bin", person.path("bin").display());
        let run = |words: &[&str]| person.command(words).env("PATH", &path).output().unwrap();
        assert!(run(&["init", "--client", client.name(), "--yes"]).status.success(), "{kind:?}");
        let settings =
            || fs::read_dir(person.path("home")).unwrap().flatten().map(|entry| entry.path()).collect::<Vec<_>>();
        let before = settings();
        let report: Value = serde_json::from_slice(&run(&["doctor", "--live", "--json"]).stdout).unwrap();
        let checks = report["checks"].as_array().unwrap();
        for canary in ["shell", "edit", "stop"] {
            let id = format!("{}.live-hooks.{canary}", client.name());
            assert_eq!(status(checks, &id), json!("ok"), "{id}: {report}");
        }
        assert_eq!(settings(), before, "nothing of the person's is touched");
    }
}

fn status(checks: &[Value], id: &str) -> Value {
    checks.iter().find(|check| check["id"] == id).map_or(Value::Null, |check| check["status"].clone())
}
