//! `--fleet` on `agent` and `run`, and the manifest's `fleet:`: records in the fleet, its orders, and what happens without it.

use crate::agent::fixture::{AgentFixture, finish, shell, untested, until};
use serde_json::Value;
use std::fs;
use std::path::Path;

/// The texts of a session's record in a folder fleet, as a machine wrote it.
fn record(fleet: &Path, machine: &str, session: &str) -> Vec<String> {
    let files = fs::read_dir(fleet.join("subjects")).into_iter().flatten().map(|entry| entry.unwrap().path());
    let ours = |path: &Path| {
        let name = path.file_name().unwrap().to_str().unwrap();
        name.starts_with(&format!("tw.record.{machine}.")) && name.ends_with(session)
    };
    let Some(path) = files.into_iter().find(|path| ours(path)) else { return Vec::new() };
    let text = fs::read_to_string(path).unwrap();
    text.lines().map(|line| line.splitn(4, ' ').nth(3).unwrap().to_owned()).collect()
}

fn journal(fixture: &AgentFixture) -> Vec<String> {
    let session = fixture.sessions().pop().unwrap();
    let path = fixture.geometry().join("journal").join(session).join("00000001.jsonl");
    fs::read_to_string(path).unwrap().lines().map(str::to_owned).collect()
}

fn joined(more: &[&str]) -> AgentFixture {
    let fixture = AgentFixture::new();
    let address = format!("file:{}", fixture.beside("fleet").display());
    let mut args = vec!["fleet", "join", &address, "--machine", "m"];
    args.extend(more);
    fixture.run(&args).ended(0);
    fixture
}

fn status(fixture: &AgentFixture) -> Value {
    serde_json::from_str(&fixture.run(&["fleet", "status", "--json"]).ended(0).stdout).unwrap()
}

#[test]
fn fleet_1_a_run_of_the_loop_with_fleet_leaves_its_whole_journal_there() {
    let fixture = joined(&[]);
    fixture.agent(&untested(vec![shell("touch one")]), &["--fleet"]).ended(4);
    let session = fixture.sessions().pop().unwrap();
    assert_eq!(record(&fixture.beside("fleet"), "m", &session), journal(&fixture));
    let machine = &status(&fixture)["machines"][0];
    assert_eq!((machine["machine"].as_str(), machine["part"].as_str()), (Some("m"), Some("standby")), "{machine}");
    assert!(machine["left_ms"].is_u64(), "it left in order: {machine}");
    fixture.run(&["fleet", "audit"]).ended(0);
    // Without it nothing is copied: the section is what asks for it.
    fixture.agent(&untested(vec![shell("touch two")]), &[]).ended(4);
    assert!(record(&fixture.beside("fleet"), "m", &fixture.sessions().pop().unwrap()).is_empty());
}

#[test]
fn fleet_1_with_replicated_durability_nothing_follows_from_a_record_that_the_fleet_has_not() {
    let fixture = joined(&["--dead-man", "3"]);
    fixture.file(".geometry/MANIFEST.yaml", "fleet:\n  durability: replicated\n");
    let fleet = fixture.beside("fleet");
    let running = fixture.start(&[shell("touch one; sleep 1"), shell("touch two"), finish()], &[]);
    until("the first command ran", || fixture.work().join("one").exists());
    let session = fixture.sessions().pop().unwrap();
    let copied = record(&fleet, "m", &session);
    assert!(!copied.is_empty() && journal(&fixture).starts_with(&copied), "the record is the journal's beginning");
    assert!(copied.iter().any(|line| line.contains("touch one")), "what was permitted is there before it runs");
    fs::rename(&fleet, fixture.beside("gone")).unwrap();
    let ended = running.end();
    assert_eq!(ended.code, 9, "{}{}", ended.stdout, ended.stderr);
    assert!(ended.stderr.contains("the record is not in the fleet"), "{}", ended.stderr);
    assert!(!fixture.work().join("two").exists(), "and so nothing was done");
}

#[test]
fn fleet_4_an_agent_with_fleet_obeys_a_stop_and_does_not_begin_under_one() {
    let fixture = joined(&[]);
    let running = fixture.start(&[shell("touch one; sleep 30"), finish()], &["--fleet"]);
    until("the first command ran", || fixture.work().join("one").exists());
    let said = fixture.run(&["stop", "--all", "--reason", "enough", "--json"]);
    let said: Value = serde_json::from_str(&said.ended(0).stdout).unwrap();
    assert_eq!((&said["receipts"][0]["machine"], &said["receipts"][0]["outcome"]), (&"m".into(), &"obeyed".into()));
    assert_eq!(running.end().code, 10);
    // The stop is taken back here alone: with the fleet nothing begins.
    fixture.run(&["resume"]).ended(0);
    let refused = fixture.agent(&[finish()], &["--fleet"]);
    assert_eq!(refused.code, 11, "{}", refused.stderr);
    assert!(refused.stderr.contains("has the order `stop`") && refused.stderr.contains("resume --all"));
    fixture.run(&["resume", "--all", "--wait", "1"]).ended(0);
    fixture.agent(&untested(vec![shell("touch two")]), &["--fleet"]).ended(4);
}

#[test]
fn a_wrong_section_for_the_fleet_is_named_before_anything_begins() {
    let fixture = joined(&[]);
    fixture.file(".geometry/MANIFEST.yaml", "fleet:\n  durability: maybe\n");
    let refused = fixture.agent(&[finish()], &[]);
    assert_eq!(refused.code, 2, "{}", refused.stderr);
    assert!(refused.stderr.contains("`async` or `replicated`"), "{}", refused.stderr);
    assert!(fixture.sessions().is_empty());
}

#[test]
fn fleet_2_a_session_of_a_machine_that_is_gone_goes_on_elsewhere_and_the_old_one_is_fenced() {
    let old = joined(&["--dead-man", "3"]);
    let running = old.start(&[shell("touch one"), shell("sleep 60"), finish()], &["--fleet"]);
    let session = || old.sessions().pop().unwrap();
    let holds = |words: &str| record(&old.beside("fleet"), "m", &session()).iter().any(|line| line.contains(words));
    until("the second call is in the fleet", || !old.sessions().is_empty() && holds("sleep 60"));
    let new = AgentFixture::new();
    let address = format!("file:{}", old.beside("fleet").display());
    new.run(&["fleet", "join", &address, "--machine", "n"]).ended(0);
    let alive = new.run(&["fleet", "adopt", &session()]);
    assert_eq!(alive.code, 11, "{}{}", alive.stdout, alive.stderr);
    assert!(alive.stderr.contains("`m` is alive"), "{}", alive.stderr);
    running.kill();
    let missing = new.run(&["fleet", "adopt", "auto-2020-01-01-000000"]);
    assert!(missing.code == 2 && missing.stderr.contains("has no record"), "{}", missing.stderr);
    until("the machine counts as gone", || new.run(&["fleet", "adopt", &session()]).code == 0);
    let before = journal(&new);
    assert!(journal(&old).starts_with(&before), "byte for byte what the old machine had recorded there");
    assert_eq!(new.run(&["fleet", "adopt", &session()]).code, 11, "it is taken over once");
    let engine =
        new.cassette("model.jsonl", &untested(vec![shell("touch one"), shell("sleep 60"), shell("touch two")]));
    new.run(&["agent", "--resume", &session(), "--engine", &engine, "--fleet"]).ended(4);
    assert!(journal(&new).starts_with(&before) && journal(&new).len() > before.len());
    new.run(&["fleet", "audit"]).ended(0);
    // The old machine comes back: its session ends, and the fleet takes nothing of it.
    let length = || record(&old.beside("fleet"), "m", &session()).len();
    let records = length();
    old.run(&["fleet", "serve", "--timeout", "2"]).ended(0);
    assert_eq!(length(), records, "a fenced machine appends nothing");
    let machines = status(&old)["machines"].to_string();
    assert!(machines.contains("took this session over"), "{machines}");
}
