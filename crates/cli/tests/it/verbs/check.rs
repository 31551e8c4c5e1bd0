//! `tripwire check`: policy, scenarios and journals in one command, with reports for programs.

use crate::session::fixture::{Place, calls};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const GOOD: &str = r#"{"scenario":{"title":"One call is no loop.","rule":"LOOP-1.exact","must":"stayQuiet"}}
{"timestamp":1,"tool":"Bash","args":{"command":"make"},"output":"ok","expect":{"allowed":true}}
"#;

fn place() -> Place {
    let place = Place::new();
    place.step(&calls(2)).ended(0);
    fs::create_dir_all(place.work().join("scenarios/deep")).unwrap();
    fs::write(place.work().join("scenarios/deep/one.jsonl"), GOOD).unwrap();
    fs::write(place.work().join("scenarios/README.md"), "no scenario").unwrap();
    place
}

#[test]
fn check_1_a_repository_that_holds_ends_with_0_and_every_report_says_so() {
    let place = place();
    let args = ["check", "--report", "r.json", "--report", "r.xml", "--report", "r.md"];
    place.run(&args).ended(0).says("check: 3 checks hold").says("1 decision is as expected");
    let json = place.run(&["check", "--json"]).ended(0).json();
    assert!(json["checks"].as_array().unwrap().iter().all(|one| one["problem"] == Value::Null), "{json}");
    let read = |name: &str| fs::read_to_string(place.work().join(name)).unwrap();
    let json: Value = serde_json::from_str(&read("r.json")).unwrap();
    assert_eq!((&json["exit"], &json["failed"]), (&Value::from(0), &Value::from(0)), "{json}");
    let kinds: Vec<&str> = json["checks"].as_array().unwrap().iter().filter_map(|one| one["kind"].as_str()).collect();
    assert_eq!(kinds, ["policy", "scenario", "verify"]);
    assert!(read("r.xml").contains(r#"tests="3" failures="0""#), "{}", read("r.xml"));
    assert!(read("r.md").contains("| scenario | scenarios/deep/one.jsonl | yes |"), "{}", read("r.md"));
}

#[test]
fn check_1_what_does_not_hold_ends_with_9_and_the_rest_is_checked_all_the_same() {
    let place = place();
    let wrong = GOOD.replace(r#""allowed":true"#, r#""allowed":false"#);
    fs::write(place.work().join("scenarios/two.jsonl"), wrong).unwrap();
    place.run(&["check", "--report", "r.xml"]).ended(9).says("check: 1 of 4 checks does not hold");
    let xml = fs::read_to_string(place.work().join("r.xml")).unwrap();
    assert!(xml.contains(r#"failures="1""#) && xml.contains("scenarios/two.jsonl"), "{xml}");
    assert!(xml.contains("`allowed` was expected to be false"), "what failed is in the report: {xml}");
    let json = place.run(&["check", "--json"]).ended(9).json();
    let problems = json["checks"].as_array().unwrap().iter().filter_map(|one| one["problem"].as_str());
    assert_eq!(problems.filter(|text| text.contains("`allowed` was expected to be false")).count(), 1, "{json}");
    fs::remove_file(place.work().join("scenarios/two.jsonl")).unwrap();

    let journal = place.journal("00000001.jsonl");
    let text = fs::read_to_string(&journal).unwrap();
    fs::write(&journal, text.replacen("\"i\":1", "\"i\":7", 1)).unwrap();
    place.run(&["check"]).ended(9).says("DAMAGED");
}

#[test]
fn check_1_what_cannot_be_read_ends_with_2() {
    let place = place();
    fs::write(place.work().join("scenarios/bad.jsonl"), "no JSON\n").unwrap();
    place.run(&["check"]).ended(2).complains("bad.jsonl").says("1 of 4 checks");
    fs::remove_file(place.work().join("scenarios/bad.jsonl")).unwrap();
    place.run(&["check", "missing.jsonl"]).ended(2).complains("missing.jsonl");
    place.run(&["check", "--report", "report.txt"]).ended(2);
    place
        .run(&["check", "--report", "nodir/r.md"])
        .ended(2)
        .complains("cannot open `nodir/r.md`")
        .complains("ls -ld nodir/r.md");
    place.run(&["report", "--html", "/nodir/r.html"]).ended(2).complains("cannot open `/nodir/r.html`");
    place.manifest("safety:\n  no_such_setting: 1\n");
    place.run(&["check"]).ended(2).complains("no_such_setting");
}

#[test]
fn check_1_a_repository_without_a_guard_has_nothing_to_hold() {
    let place = Place::new();
    place.run(&["check"]).ended(0).says("check: 1 check holds");
    assert!(!place.geometry("").exists(), "it only looks");
}

/// A file of this repository.
fn packaging(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packaging").join(name).canonicalize().unwrap()
}

/// The shell steps of the GitHub Action, in their order.
fn action_steps() -> Vec<String> {
    let text = fs::read_to_string(packaging("action/action.yml")).unwrap();
    let steps = text.split("      run: |\n").skip(1);
    steps
        .map(|rest| {
            let lines = rest.lines().take_while(|line| line.is_empty() || line.starts_with("        "));
            lines.map(|line| line.trim_start_matches("        ").to_owned() + "\n").collect()
        })
        .collect()
}

#[test]
fn check_2_the_shell_steps_of_the_action_run_and_hand_the_exit_code_on() {
    let steps = action_steps();
    assert_eq!(steps.len(), 2, "install and check");
    let place = place();
    let binary = Path::new(env!("CARGO_BIN_EXE_tripwire"));
    // A release as `cargo xtask dist` lays it out, of the binary that is tested.
    let release = place.path().join("release");
    fs::create_dir(&release).unwrap();
    fs::copy(binary, release.join("tripwire")).unwrap();
    let sum = Command::new("sha256sum").arg("tripwire").current_dir(&release).output().unwrap();
    fs::write(release.join("SHA256SUMS"), &sum.stdout).unwrap();
    let temporary = place.path().join("runner");
    fs::create_dir(&temporary).unwrap();
    let step = |script: &str| {
        let mut command = Command::new("bash");
        command.args(["-e", "-o", "pipefail", "-c", script]).current_dir(place.work()).env_clear();
        command.env("PATH", format!("{}:/usr/bin:/bin", temporary.join("tripwire-bin").display()));
        command.env("HOME", place.path().join("home")).env("RUNNER_TEMP", &temporary);
        command.env("XDG_STATE_HOME", place.path().join("state"));
        command
            .env("RELEASE", &release)
            .env("ACTION", packaging("action"))
            .env("WORKSPACE", ".")
            .env("REPORT", "r.xml");
        for name in ["GITHUB_PATH", "GITHUB_STEP_SUMMARY", "GITHUB_OUTPUT"] {
            command.env(name, temporary.join(name));
        }
        command.output().unwrap()
    };
    let installed = step(&steps[0]);
    assert!(installed.status.success(), "{installed:?}");
    assert!(fs::read_to_string(temporary.join("GITHUB_PATH")).unwrap().contains("tripwire-bin"));
    let checked = step(&steps[1]);
    assert!(checked.status.success(), "{checked:?}");
    assert_eq!(fs::read_to_string(temporary.join("GITHUB_OUTPUT")).unwrap(), "exit=0\n");
    assert!(fs::read_to_string(temporary.join("GITHUB_STEP_SUMMARY")).unwrap().contains("3 checks hold"));
    fs::write(place.work().join("scenarios/bad.jsonl"), GOOD.replace("true", "false")).unwrap();
    assert_eq!(step(&steps[1]).status.code(), Some(9), "what does not hold fails the job");

    // A binary that is not what the checksums say is not installed.
    fs::write(release.join("tripwire"), "#!/bin/sh\necho other\n").unwrap();
    fs::remove_file(temporary.join("tripwire-bin/tripwire")).unwrap();
    let refused = step(&steps[0]);
    assert_eq!(refused.status.code(), Some(1), "{refused:?}");
    assert!(String::from_utf8_lossy(&refused.stderr).contains("checksum is wrong"), "{refused:?}");
    assert!(!temporary.join("tripwire-bin/tripwire").exists());
}

#[test]
fn check_2_the_hook_refuses_a_commit_of_the_guards_folder_and_no_other() {
    let place = Place::new();
    let git = |arguments: &[&str]| {
        let mut command = Command::new("git");
        command.args(["-c", "user.name=a", "-c", "user.email=a@b"]).args(arguments).current_dir(place.work());
        command.env("HOME", place.path().join("home")).output().unwrap()
    };
    if !git(&["init", "-q"]).status.success() {
        eprintln!("SKIPPED: no git here");
        return;
    }
    fs::create_dir_all(place.work().join(".git/hooks")).unwrap();
    fs::copy(packaging("ci/refuse-geometry.sh"), place.work().join(".git/hooks/pre-commit")).unwrap();
    fs::create_dir_all(place.work().join("part/.geometry/journal")).unwrap();
    fs::write(place.work().join("part/.geometry/journal/a"), "private").unwrap();
    fs::write(place.work().join("my.geometry.txt"), "a file of another name").unwrap();
    assert!(git(&["add", "my.geometry.txt"]).status.success());
    assert!(git(&["commit", "-qm", "quiet"]).status.success(), "another name is no reason");
    assert!(git(&["add", "-f", "part/.geometry/journal/a"]).status.success());
    let refused = git(&["commit", "-qm", "fires"]);
    assert!(!refused.status.success(), "{refused:?}");
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(said.contains("part/.geometry/journal/a") && said.contains("hint: "), "{said}");
}
