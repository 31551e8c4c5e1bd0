//! The corpus of scenarios on a machine of a fleet: each decision is the one that is made without a fleet, and another machine that has
//! nothing but the fleet's record makes the same again.

use super::join;
use crate::session::fixture::Place;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use tripwire_core::record::chain::Digest;
use tripwire_testing::{TestDir, sized};

/// The scenarios: all of them in the long run, some in the short one.
fn scenarios() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
    let families = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).filter(|path| path.is_dir());
    let mut found: Vec<PathBuf> =
        families.flat_map(|family| fs::read_dir(family).unwrap()).map(|entry| entry.unwrap().path()).collect();
    assert!(found.len() >= 44, "{} scenarios", found.len());
    found.sort();
    found.into_iter().step_by(sized(12, 1)).collect()
}

/// The manifest of a workspace in which a scenario is decided as its first line says.
fn manifest(scenario: &Path) -> String {
    let text = fs::read_to_string(scenario).unwrap();
    let head: Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
    let head = &head["scenario"];
    let mut manifest = format!("profile: {}\n", head["profile"].as_str().unwrap());
    let mut section = "";
    for (path, value) in head["policy"].as_object().into_iter().flatten() {
        let (family, name) = path.split_once('.').unwrap();
        if family != section {
            manifest += &format!("{family}:\n");
            section = family;
        }
        manifest += &format!("  {name}: {}\n", value.as_str().unwrap());
    }
    manifest
}

/// Decisions without the name of their run.
fn decisions(text: &str, run: &str) -> String {
    text.replace(&format!("\"runId\":\"{run}\""), "\"runId\":\"\"")
}

#[test]
fn fleet_1_every_scenario_is_decided_alike_alone_in_a_fleet_and_by_a_machine_that_has_only_its_record() {
    let (shared, a, b) = (TestDir::new(), Place::new(), Place::new());
    join(&a, shared.path(), &["--machine", "a"]);
    join(&b, shared.path(), &["--machine", "b"]);
    let mut sessions = Vec::new();
    for (number, scenario) in scenarios().iter().enumerate() {
        let workspace = a.path().join(format!("w{number}"));
        fs::create_dir_all(workspace.join(".geometry")).unwrap();
        fs::write(workspace.join(".geometry/MANIFEST.yaml"), manifest(scenario)).unwrap();
        let (folder, file) = (workspace.to_str().unwrap(), scenario.to_str().unwrap());
        let alone = a.run(&["decide", file]).out;
        let stepped = a.run(&["step", "--times", "own", "--workspace", folder, file]).out;
        let session = fs::read_dir(workspace.join(".geometry/journal")).unwrap().next().unwrap().unwrap();
        let session = session.file_name().into_string().unwrap();
        assert_eq!(decisions(&stepped, &session), decisions(&alone, "decide"), "{file}");
        let place = Digest::of(workspace.as_os_str().as_encoded_bytes()).to_string();
        sessions.push((session, format!("a/{}", &place[..16]), file.to_owned()));
    }
    a.run(&["fleet", "serve", "--timeout", "3"]).ended(0);
    a.run(&["fleet", "audit"]).ended(0);
    for (number, (session, origin, file)) in sessions.iter().enumerate() {
        let workspace = b.path().join(format!("w{number}"));
        fs::create_dir(&workspace).unwrap();
        let folder = workspace.to_str().unwrap();
        let adopted = b.run(&["fleet", "adopt", session, "--from", origin, "--workspace", folder]);
        assert_eq!(adopted.code, 0, "{file}: {}", adopted.err);
        let replayed = b.run(&["replay", "--workspace", folder]);
        assert_eq!(replayed.code, 0, "{file}: {}{}", replayed.out, replayed.err);
    }
}
