//! `tripwire fleet` through the binary: two homes of one machine in a fleet, and, in a build that speaks to servers, a real cluster.

mod approvals;
mod linked;
mod many_agents;
mod metrics;
mod packaging;
mod policy;
mod scenarios;
mod wide_orders;

use crate::session::fixture::{Place, calls};
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tripwire_testing::TestDir;

/// A machine that serves until the test ends.
struct Serving(Child);

impl Serving {
    fn start(place: &Place) -> Self {
        Self::with(place.command(Self::WORDS))
    }

    fn with(mut command: Command) -> Self {
        Self(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap())
    }

    const WORDS: &[&str] = &["fleet", "serve", "--timeout", "60"];
}

impl Drop for Serving {
    fn drop(&mut self) {
        self.0.kill().ok();
        self.0.wait().ok();
    }
}

fn join(place: &Place, folder: &Path, more: &[&str]) {
    let address = format!("file:{}", folder.display());
    let mut args = vec!["fleet", "join", address.as_str()];
    args.extend(more);
    place.run(&args).ended(0);
}

/// Waits until the fleet's status is as wanted.
fn until(place: &Place, wanted: impl Fn(&Value) -> bool) -> Value {
    let start = Instant::now();
    loop {
        let status = place.run(&["fleet", "status", "--json"]).ended(0).json();
        if wanted(&status) {
            return status;
        }
        assert!(start.elapsed() < Duration::from_secs(30), "it did not come to that: {status}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

fn machine<'a>(status: &'a Value, name: &str) -> Option<&'a Value> {
    status["machines"].as_array().unwrap().iter().find(|machine| machine["machine"] == name)
}

fn receipt<'a>(said: &'a Value, name: &str) -> &'a Value {
    let receipts = said["receipts"].as_array().unwrap();
    receipts.iter().find(|receipt| receipt["machine"] == name).unwrap_or_else(|| panic!("no receipt of {name}: {said}"))
}

#[test]
fn fleet_1_and_fleet_4_one_record_of_two_machines_and_one_stop_with_receipts() {
    let (shared, a, b) = (TestDir::new(), Place::new(), Place::new());
    join(&a, shared.path(), &["--machine", "a", "--label", "team=search"]);
    join(&b, shared.path(), &["--machine", "b"]);
    a.step(&calls(3)).ended(0);
    b.step(&calls(2)).ended(0);
    let (_a, _b) = (Serving::start(&a), Serving::start(&b));
    let records = |status: &Value, name: &str| machine(status, name).map(|it| it["sessions"][0]["records"].as_u64());
    let lines = |place: &Place| fs::read_to_string(place.journal("00000001.jsonl")).unwrap().lines().count();
    until(&a, |status| {
        ["a", "b"]
            .iter()
            .zip([&a, &b])
            .all(|(name, place)| records(status, name).flatten() == Some(u64::try_from(lines(place)).unwrap()))
    });
    let audited = a.run(&["fleet", "audit", "--json"]).ended(0).json();
    assert_eq!(
        (audited["holds"].as_bool(), audited["records"].as_array().unwrap().len()),
        (Some(true), 2),
        "{audited}"
    );
    a.run(&["stop", "--all", "--dry-run"]).ended(0).says("  b");
    assert!(!a.geometry("STOP").exists());
    let said = a.run(&["stop", "--label", "team=search", "--reason", "enough", "--json"]).ended(0).json();
    assert_eq!(receipt(&said, "a")["outcome"], "obeyed", "{said}");
    assert!(a.geometry("STOP").exists() && !b.geometry("STOP").exists());
    // The other machine does not know this person yet.
    let said = a.run(&["pause", "--all", "--json"]).ended(9).json();
    assert_eq!(receipt(&said, "b")["outcome"], "refused", "{said}");
    assert!(!b.geometry("PAUSE").exists());
    let key = a.run(&["identity", "show", "--json"]).ended(0).json()["key"].as_str().unwrap().to_owned();
    b.run(&["identity", "trust", &key]).ended(0);
    let said = a.run(&["pause", "--all", "--json"]).ended(0).json();
    assert_eq!(receipt(&said, "b")["outcome"], "obeyed", "{said}");
    assert!(b.geometry("PAUSE").exists());
    a.run(&["resume", "--all"]).ended(0).says("b: obeyed");
    assert!(!b.geometry("PAUSE").exists() && !a.geometry("STOP").exists());
    // Somebody changes the record.
    let records = shared.path().join("subjects");
    let name = fs::read_dir(&records).unwrap().filter_map(|entry| entry.unwrap().file_name().into_string().ok());
    let path = records.join(name.into_iter().find(|name| name.starts_with("tw.record.b.")).unwrap());
    let changed = fs::read_to_string(&path).unwrap().replacen("work 0", "work 9", 1);
    fs::write(&path, changed).unwrap();
    b.run(&["fleet", "audit"]).ended(9).says("DIFFERS");
}

#[test]
fn fleet_4_a_machine_that_nobody_hears_pauses_its_agents_in_time() {
    let (shared, place) = (TestDir::new(), Place::new());
    join(&place, &shared.path().join("f"), &["--machine", "alone", "--dead-man", "3"]);
    place.step(&calls(1)).ended(0);
    let _serving = Serving::start(&place);
    until(&place, |status| machine(status, "alone").is_some());
    std::thread::sleep(Duration::from_millis(3_500));
    assert!(!place.geometry("PAUSE").exists(), "it is heard");
    fs::rename(shared.path().join("f"), shared.path().join("gone")).unwrap();
    let start = Instant::now();
    while !place.geometry("PAUSE").exists() {
        assert!(start.elapsed() < Duration::from_secs(30), "it was never paused");
        std::thread::sleep(Duration::from_millis(20));
    }
    let note = fs::read_to_string(place.geometry("PAUSE")).unwrap();
    assert!(note.contains("no heartbeat reached the fleet"), "{note}");
}

#[test]
fn a_machine_belongs_to_one_fleet_and_bad_words_are_named() {
    let (shared, place) = (TestDir::new(), Place::new());
    for (args, words) in [
        (vec!["fleet", "join", "ftp://x"], "is not the address of a fleet"),
        (vec!["fleet", "join", "file:f", "--machine", "a b"], "is not a name"),
        (vec!["fleet", "join", "file:f", "--label", "team"], "is not a label"),
        (vec!["fleet", "join", "file:f", "--dead-man", "1"], "dead-man switch"),
        (vec!["fleet", "leave"], "belongs to no fleet"),
        (vec!["stop", "--label", "team=search"], "belongs to no fleet"),
        (vec!["agent", "--fleet", "--objective", "x"], "belongs to no fleet"),
        (vec!["run", "--fleet", "--client", "claude", "true"], "belongs to no fleet"),
        (vec!["gateway", "--fleet", "--listen", "127.0.0.1:0"], "belongs to no fleet"),
        (vec!["fleet", "serve"], "belongs to no fleet"),
        (vec!["fleet", "audit"], "belongs to no fleet"),
        (vec!["fleet", "rate", "web"], "belongs to no fleet"),
    ] {
        place.run(&args).ended(2).complains(words);
    }
    join(&place, shared.path(), &["--machine", "a"]);
    place.run(&["fleet", "join", "file:f"]).ended(11).complains("already");
    place.run(&["fleet", "status"]).ended(0).says("no machine has served yet");
    place.run(&["fleet", "rate", "web"]).ended(2).complains("has no rate `web`");
    place.run(&["fleet", "rate", "a b", "--per-minute", "5"]).ended(2).complains("is not a name");
    assert_eq!(place.run(&["fleet", "rate", "web", "--per-minute", "0"]).code, 2);
    assert_eq!(place.run(&["fleet", "rate", "web", "--at-once", "5"]).code, 2, "at once without a rate");
    let mut agent = place.command(&["fleet", "rate", "web", "--per-minute", "5"]);
    assert_eq!(agent.env("CLAUDECODE", "1").output().unwrap().status.code(), Some(11), "an agent sets no rate");
    place.run(&["fleet", "rate", "web", "--per-minute", "5"]).ended(0).says("5 calls a minute, 5 at once, 5 left now");
    place.run(&["fleet", "status"]).ended(0).says("rate web: 5 calls a minute");
    place.run(&["fleet", "leave"]).ended(0).says("left");
    place.run(&["fleet", "status"]).ended(2).complains("belongs to no fleet");
    let mut agent = place.command(&["fleet", "leave"]);
    let refused = agent.env("CLAUDECODE", "1").output().unwrap();
    assert_eq!(refused.status.code(), Some(11), "an agent does not leave the fleet");
}

#[cfg(not(feature = "fleet"))]
#[test]
fn a_build_without_servers_says_how_to_get_one_with_them() {
    let place = Place::new();
    for args in [&["fleet", "up"][..], &["fleet", "down"], &["fleet", "join", "nats://127.0.0.1:1"]] {
        place.run(args).ended(2).complains("cannot speak to NATS servers");
    }
    place.run(&["--version", "--verbose"]).ended(0).says("fleet on NATS: not built in");
}

#[cfg(feature = "fleet")]
mod servers {
    use super::*;
    use crate::session::fixture::skip;

    #[test]
    fn fleet_5_a_cluster_starts_is_joined_serves_and_ends() {
        let found = std::env::var_os("PATH").map(|path| std::env::split_paths(&path).collect::<Vec<_>>());
        if !found.unwrap_or_default().iter().any(|folder| folder.join("nats-server").is_file()) {
            assert!(std::env::var_os("TRIPWIRE_NATS").is_none(), "nats-server is required and not on PATH");
            return skip("nats-server is not on PATH: `tripwire fleet up` was not tested");
        }
        let place = Place::new();
        place.run(&["fleet", "up", "--nodes", "2"]).ended(2).complains("1, 3 or 5 nodes");
        let up = place.run(&["fleet", "up", "--json"]).ended(0).json();
        assert_eq!(up["pids"].as_array().unwrap().len(), 3, "{up}");
        let (url, creds) = (up["url"].as_str().unwrap(), up["creds"].as_str().unwrap());
        place.run(&["fleet", "up"]).ended(11).complains("runs in");
        place.run(&["fleet", "join", url]).ended(2).complains("needs credentials");
        place
            .run(&["fleet", "join", url, "--creds", creds, "--replicas", "5"])
            .ended(11)
            .complains("weaker than asked");
        place.run(&["fleet", "join", url, "--creds", creds, "--machine", "m"]).ended(0);
        place.step(&calls(3)).ended(0);
        let serving = Serving::start(&place);
        until(&place, |status| machine(status, "m").is_some_and(|m| m["sessions"][0]["records"].as_u64() > Some(3)));
        let said = place.run(&["stop", "--all", "--reason", "enough", "--json"]).ended(0).json();
        assert_eq!(receipt(&said, "m")["outcome"], "obeyed", "{said}");
        drop(serving);
        place.run(&["fleet", "policy", "publish"]).ended(0);
        place.run(&["fleet", "policy", "fetch"]).ended(0).says("in step");
        place.run(&["fleet", "status"]).ended(0).says("policy for all machines");
        place.run(&["fleet", "audit"]).ended(0).says("equal to the journal here");
        place.run(&["fleet", "invite", "n"]).ended(0).says("n.creds");
        place.run(&["fleet", "invite", "n"]).ended(2).complains("has credentials already");
        place.run(&["fleet", "revoke", "n"]).ended(0).says("is cut off");
        place.run(&["fleet", "down"]).ended(0).says("3 servers ended");
        place.run(&["fleet", "status"]).ended(9).complains("cannot connect");
        place.run(&["fleet", "down"]).ended(0).says("0 servers ended");
    }
}
