//! `tripwire stop --all`, `pause --all` and `resume --all`: on one machine without a fleet, and where the fleet does not answer.

use super::join;
use crate::session::fixture::{Place, calls};
use std::fs;
use std::path::PathBuf;
use tripwire_testing::TestDir;

/// A second workspace of the same person.
fn second(place: &Place) -> PathBuf {
    let other = place.path().join("other");
    fs::create_dir(&other).unwrap();
    place.feed(&["step", "--workspace", other.to_str().unwrap(), "-"], &calls(1)).ended(0);
    other.join(".geometry")
}

#[test]
fn stop_all_without_a_fleet_means_every_workspace_of_this_machine() {
    let place = Place::new();
    place.step(&calls(2)).ended(0);
    let other = second(&place);
    let named = place.run(&["stop", "--all", "--dry-run", "--json"]).ended(0).json();
    assert_eq!(named["workspaces"].as_array().unwrap().len(), 2, "{named}");
    assert!(!place.geometry("STOP").exists() && !other.join("STOP").exists(), "a trial gives no order");
    let said = place.run(&["stop", "--all", "--reason", "enough", "--json"]).ended(0).json();
    assert_eq!((said["holds"].as_bool(), said["workspaces"].as_array().unwrap().len()), (Some(true), 2), "{said}");
    for folder in [place.geometry(""), other.clone()] {
        assert!(fs::read_to_string(folder.join("STOP")).unwrap().contains("enough"));
    }
    place.run(&["resume", "--all"]).ended(0).says("resume in 2 workspaces of this machine");
    assert!(!place.geometry("STOP").exists() && !other.join("STOP").exists());
    place.run(&["pause", "--all"]).ended(0);
    assert!(place.geometry("PAUSE").exists() && other.join("PAUSE").exists());
    // Without `--all` an order stays in its workspace.
    place.run(&["resume"]).ended(0);
    assert!(!place.geometry("PAUSE").exists() && other.join("PAUSE").exists());
}

#[test]
fn flags_of_a_wide_order_that_contradict_each_other_are_named() {
    let place = Place::new();
    for args in [
        &["stop", "--all", "--workspace", "."][..],
        &["stop", "--all", "--session", "auto-2020-01-01-000000"],
        &["stop", "--dry-run"],
        &["pause", "--wait", "3"],
        &["resume", "--all", "--restart"],
        &["stop", "--label", "nonsense"],
    ] {
        assert_eq!(place.run(args).code, 2, "{args:?}");
        assert!(!place.geometry("STOP").exists(), "{args:?}");
    }
    let mut agent = place.command(&["resume", "--all"]);
    let refused = agent.env("CLAUDECODE", "1").output().unwrap();
    assert_eq!(refused.status.code(), Some(11), "an agent lets nothing go on");
}

#[test]
fn fleet_4_a_stop_that_cannot_reach_the_fleet_holds_this_machine_and_says_so() {
    let (shared, place) = (TestDir::new(), Place::new());
    let folder = shared.path().join("f");
    join(&place, &folder, &["--machine", "a"]);
    place.step(&calls(1)).ended(0);
    // Nobody serves: the command does it itself, with a receipt in the fleet.
    let said = place.run(&["stop", "--all", "--json"]).ended(0).json();
    assert_eq!(super::receipt(&said, "a")["outcome"], "obeyed", "{said}");
    assert!(place.geometry("STOP").exists());
    place.run(&["resume", "--all"]).ended(0).says("a: obeyed");
    assert!(!place.geometry("STOP").exists());
    fs::remove_dir_all(&folder).unwrap();
    fs::write(&folder, "no folder").unwrap();
    place.run(&["stop", "--all"]).ended(9).complains("did not reach the fleet");
    assert!(place.geometry("STOP").exists(), "what can be held is held");
    place.run(&["resume", "--all"]).ended(9).complains("hint");
    assert!(place.geometry("STOP").exists(), "and nothing goes on without the fleet");
}
