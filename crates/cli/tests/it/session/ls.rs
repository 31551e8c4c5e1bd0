//! `tripwire ls`, `status --all` and `tripwire` alone.

use crate::session::fixture::{Place, Said, call, calls};
use std::fs;

/// The same person in another workspace.
fn elsewhere(place: &Place, name: &str, args: &[&str], input: &str) -> Said {
    let folder = place.path().join(name);
    fs::create_dir_all(&folder).unwrap();
    let mut command = place.command(args);
    command.current_dir(folder);
    Said::of(crate::session::fixture::feed(command, input.as_bytes()))
}

#[test]
fn all_sessions_of_all_workspaces_are_listed_newest_first_and_gone_ones_are_not() {
    let place = Place::new();
    assert!(place.run(&["ls"]).ended(0).out.contains("no sessions yet"));
    place.step(&calls(2)).ended(0);
    elsewhere(&place, "second", &["step", "-"], &call("make", "error").repeat(4));
    let listed = place.run(&["ls"]).ended(0);
    let rows: Vec<&str> = listed.out.lines().collect();
    assert_eq!(rows.len(), 3, "{}", listed.out);
    assert!(rows[0].starts_with("session") && rows[0].contains("alarm"), "{}", listed.out);
    assert!(
        rows.iter().any(|row| row.contains("second") && row.contains("stopped: loop") && row.contains("LOOP-1.exact"))
    );
    assert!(rows.iter().any(|row| row.contains("work") && row.contains("active")), "{}", listed.out);
    assert!(!listed.out.contains('\u{1b}'), "no colour in a pipe");
    let json = place.run(&["ls", "--json"]).ended(0).json();
    assert_eq!(json["sessions"].as_array().unwrap().len(), 2, "{json}");
    assert!(json["sessions"][0]["last_activity_ms"].as_u64() >= json["sessions"][1]["last_activity_ms"].as_u64());
    fs::remove_dir_all(place.path().join("second")).unwrap();
    let left = place.run(&["ls"]).ended(0);
    assert!(!left.out.contains("second"), "{}", left.out);
}

#[test]
fn a_damaged_journal_is_shown_as_broken_and_a_damaged_list_as_empty() {
    let place = Place::new();
    place.step(&calls(2)).ended(0);
    for file in fs::read_dir(place.journal("")).unwrap().map(|entry| entry.unwrap().path()) {
        if file.extension().is_some_and(|ending| ending == "jsonl") {
            fs::write(&file, "this is no record\n").unwrap();
        }
    }
    fs::remove_file(place.state_file()).unwrap();
    let listed = place.run(&["ls"]).ended(0);
    assert!(listed.out.contains("BROKEN"), "{}", listed.out);
    place.run(&["status", "--all"]).ended(9).says("BROKEN");
    fs::write(place.path().join("state/tripwire/workspaces"), b"\xff\xfe nonsense\n").unwrap();
    place.run(&["ls"]).ended(0).says("no sessions yet");
    let homeless = Said::of(place.command(&["ls"]).env_remove("HOME").env_remove("XDG_STATE_HOME").output().unwrap());
    homeless.ended(2).complains("`HOME` is not set");
    assert_eq!(place.run(&["ls", "--never"]).code, 2);
}

#[test]
fn a_session_of_hooks_is_listed_with_its_client_and_the_list_is_written_once() {
    let place = Place::new();
    let asked = serde_json::json!({
        "session_id": "s1", "cwd": place.work(), "hook_event_name": "PreToolUse", "tool_name": "Bash",
        "tool_use_id": "t1", "tool_input": {"command": "ls"},
    });
    place.feed(&["hook", "claude"], &asked.to_string()).ended(0);
    let json = place.run(&["ls", "--json"]).ended(0).json();
    assert_eq!(json["sessions"][0]["client"], "claude", "{json}");
    let list = place.path().join("state/tripwire/workspaces");
    fs::remove_file(&list).unwrap();
    place.feed(&["hook", "claude"], &asked.to_string()).ended(0);
    assert!(!list.exists(), "only the beginning of a session writes the list");
}

#[test]
fn status_all_shows_every_workspace_and_ends_as_the_strictest() {
    let place = Place::new();
    place.run(&["status", "--all"]).ended(0).says("no workspace yet");
    place.step(&calls(2)).ended(0);
    elsewhere(&place, "second", &["step", "-"], &calls(1)).ended(0);
    place.run(&["status", "--all"]).ended(0).says("second");
    elsewhere(&place, "second", &["pause"], "").ended(0);
    place.run(&["status", "--all"]).ended(5).says("PAUSE");
    let json = place.run(&["status", "--all", "--json"]).ended(5).json();
    assert_eq!(json["workspaces"].as_array().unwrap().len(), 2, "{json}");
    assert_eq!(place.run(&["status", "--all", "--session", "auto-2026-02-28-143200"]).code, 2);
}

#[test]
fn status_shows_the_other_sessions_that_live() {
    let place = Place::new();
    place.step(&calls(1)).ended(0);
    place.feed(&["step", "--new", "-"], &calls(1)).ended(0);
    let said = place.run(&["status"]).ended(0);
    assert!(said.out.lines().any(|line| line.starts_with("also ") && line.contains("active")), "{}", said.out);
    assert_eq!(place.run(&["status", "--json"]).json()["others"].as_array().unwrap().len(), 1);
}

#[test]
fn tripwire_alone_says_how_it_stands_here_and_the_next_command() {
    let place = Place::new();
    let fresh = place.run(&[]).ended(0);
    for words in ["workspace ", "hooks       none", "sessions    none yet", "`tripwire scan`", "`tripwire -h`"] {
        assert!(fresh.out.contains(words), "{words}: {}", fresh.out);
    }
    assert!(!place.geometry("").exists(), "looking makes nothing");
    place.step(&call("make", "error").repeat(4));
    let stopped = place.run(&[]).ended(0);
    assert!(stopped.out.contains("stopped: loop") && stopped.out.contains("`tripwire tune 3`"), "{}", stopped.out);
    place.run(&["stop"]).ended(0);
    place.run(&[]).ended(0).says("`tripwire resume`");
    // Broken input: a workspace that cannot be one.
    let broken = Place::new();
    fs::write(broken.work().join(".geometry"), "").unwrap();
    broken.run(&[]).ended(9).complains("is not a folder");
}

#[test]
fn the_short_help_is_short_and_the_long_one_explains() {
    let place = Place::new();
    let (short, long) = (place.run(&["-h"]).ended(0), place.run(&["--help"]).ended(0));
    assert!(short.out.lines().count() <= 24, "it fits a terminal: {}", short.out);
    assert!(short.out.lines().all(|line| line.chars().count() <= 80), "{}", short.out);
    assert!(long.out.lines().count() > 40 && long.out.contains("Exit codes"), "{}", long.out);
    for verb in ["scan", "tune", "ls", "not-a-loop", "completions"] {
        assert!(short.out.contains(verb) && long.out.contains(verb), "{verb}");
    }
}
