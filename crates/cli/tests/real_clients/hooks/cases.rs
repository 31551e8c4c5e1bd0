//! The cases that every client has to pass, and what each of them shows.

use crate::support::clients::{Client, Kind, Run, User};
use crate::support::model::{Model, Turn, Usage};
use std::fs;
use std::process::Output;

/// A run with hooks that has ended.
pub(crate) struct HookedRun {
    pub(crate) place: tempfile::TempDir,
    /// The bodies of the model requests.
    pub(crate) asked: Vec<String>,
    pub(crate) output: Output,
}

impl HookedRun {
    /// Whether a file of the workspace exists.
    pub(crate) fn has(&self, path: &str) -> bool {
        self.place.path().join(path).exists()
    }

    /// A file of the workspace; empty if there is none.
    pub(crate) fn text(&self, path: &str) -> String {
        fs::read_to_string(self.place.path().join(path)).unwrap_or_default()
    }

    /// How often a text stands in the client's own stream.
    pub(crate) fn shown(&self, text: &str) -> usize {
        String::from_utf8_lossy(&self.output.stdout).matches(text).count()
    }
}

/// Runs a client with our hook on a script, in a workspace that holds these files.
pub(crate) fn guarded(client: &Client, files: &[(&str, &str)], model: Model, user: User) -> HookedRun {
    let place = tempfile::tempdir().expect("a workspace");
    fs::create_dir(place.path().join(".geometry")).expect("a folder");
    for (path, text) in files {
        fs::write(place.path().join(path), text).expect("a file");
    }
    let hook = format!("{} hook {}", env!("CARGO_BIN_EXE_tripwire"), client.name());
    let output = client.run(Run { workspace: place.path(), hook: Some(&hook), model: &model.url, user });
    HookedRun { place, asked: model.asked(), output }
}

/// The client, as a user who may run it here.
pub(crate) fn users(kind: Kind) -> Vec<(Client, User)> {
    let Some(client) = Client::find(kind) else { return Vec::new() };
    let mut users = vec![(client.clone(), User::Same)];
    if client.serves_ordinary_users(env!("CARGO_BIN_EXE_tripwire")) {
        users.push((client, User::Ordinary));
    }
    users
}

/// A write to the guard's own files is refused, told and logged, and the next call runs.
pub(crate) fn out_of_reach(kind: Kind) {
    for (client, user) in users(kind) {
        let turns = vec![
            Turn::Write(".geometry/MANIFEST.yaml".to_owned(), "profile: strict".to_owned()),
            Turn::Shell("rm -rf .geometry/journal && touch .geometry/ran".to_owned()),
            Turn::Shell("touch ran".to_owned()),
        ];
        let ran = guarded(&client, &[], Model::scripted(turns), user);
        assert_eq!(ran.asked.len(), 4, "{user:?}: {:?}", ran.output);
        assert!(ran.has("ran") && !ran.has(".geometry/ran") && ran.has(".geometry/journal"), "{user:?}");
        assert_ne!(ran.text(".geometry/MANIFEST.yaml").trim(), "profile: strict");
        assert!(ran.asked[1].contains("control the guard"), "{user:?}: the model is told why");
        assert!(ran.text(".geometry/safety_log.json").contains("out of the agent's reach"), "{user:?}");
    }
}

/// While STOP exists no model request is made at all.
pub(crate) fn stopped_before_it_begins(kind: Kind) {
    let Some(client) = Client::find(kind) else { return };
    let ran = guarded(&client, &[(".geometry/STOP", "")], Model::repeating("touch ran", 1), User::Same);
    assert_eq!(ran.asked.len(), 0, "{:?}", ran.output);
    assert!(!ran.has("ran"));
}

/// The agent's word that it is done is refused twice while its change is not tested, and then released.
pub(crate) fn sent_back_twice(kind: Kind) {
    let Some(client) = Client::find(kind) else { return };
    let turns = vec![Turn::Write("a.py".to_owned(), "print(1)".to_owned())];
    let ran = guarded(&client, &[], Model::scripted(turns), User::Same);
    assert!(ran.has("a.py"), "{:?}", ran.output);
    assert_eq!(ran.asked.len(), 4, "one call, and three times done: {:?}", ran.output);
    assert!(ran.asked[2].contains("haven't run tests"), "the agent is told what to do");
    let quiet = guarded(&client, &[], Model::repeating("ls", 1), User::Same);
    assert_eq!(quiet.asked.len(), 2, "who changed nothing is not sent back");
}

/// Distinct work is left alone.
pub(crate) fn distinct_work(kind: Kind) {
    let Some(client) = Client::find(kind) else { return };
    let turns: Vec<Turn> = (0..8).map(|n| Turn::Shell(format!("mkdir part{n}; ls part{n}; echo {n}"))).collect();
    let ran = guarded(&client, &[], Model::scripted(turns), User::Same);
    assert_eq!(ran.asked.len(), 9, "{:?}", ran.output);
    assert!((0..8).all(|n| ran.has(&format!("part{n}"))));
    assert!(!ran.asked.iter().any(|body| body.contains("LOOP_OVERRIDE")));
}

/// A loop of twelve identical calls.
pub(crate) fn loop_of_twelve(client: &Client, user: User) -> HookedRun {
    guarded(client, &[], Model::repeating("echo tick", 12), user)
}

/// A manifest with a budget of ten cents.
const TEN_CENTS: &str = "money:\n  budget_micro_usd: 100000\n";

/// Twenty different calls, each answer of so many tokens, with ten cents to spend.
pub(crate) fn with_ten_cents(client: &Client, output: u64) -> HookedRun {
    let turns: Vec<Turn> = (0..20).map(|n| Turn::Shell(format!("echo {n}"))).collect();
    let usage = Usage { fresh: 1_000, read: 0, write: 0, output };
    guarded(client, &[(".geometry/MANIFEST.yaml", TEN_CENTS)], Model::costing(turns, usage), User::Same)
}
