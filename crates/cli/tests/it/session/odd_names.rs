//! Folders whose paths are no text or hold blanks, and names that agents make to forge what a person reads.

use crate::approvals::{answer_of, ask, output, waiting_for};
use crate::session::fixture::{Place, Said, call, calls, feed};
use serde_json::{Value, json};
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

/// A folder of a place with a session in it.
fn session_in(place: &Place, name: &[u8]) -> PathBuf {
    let folder = place.path().join(OsStr::from_bytes(name));
    fs::create_dir_all(folder.join(".geometry")).unwrap();
    let mut step = place.command(&["step", "-"]);
    step.current_dir(&folder);
    Said::of(feed(step, calls(6).as_bytes())).ended(0);
    folder
}

fn run_in(place: &Place, folder: &Path, args: &[&str]) -> Said {
    Said::of(place.command(args).current_dir(folder).output().unwrap())
}

#[test]
fn every_verb_answers_in_a_folder_whose_path_is_no_text() {
    let place = Place::new();
    let folder = session_in(&place, b"caf\xe9");
    for args in [
        &["status", "--json"][..],
        &["status", "--all", "--json"],
        &["ls", "--json"],
        &["undo", "--list", "--json"],
        &["export", "--replay", "--json"],
        &["init", "--project", "--client", "claude", "--yes", "--json"],
        &["arm", "--project", "--json"],
    ] {
        let said = run_in(&place, &folder, args);
        assert!(said.code == 0 && said.out.contains("caf\u{fffd}"), "{args:?}: {said:?}");
    }
    let key = "AKIAIOSFODNN7EXAMPLQ";
    fs::write(folder.join(".geometry/note.txt"), format!("aws_access_key_id = {key}\n")).unwrap();
    let found = run_in(&place, &folder, &["scan", "--secrets", "--json"]);
    assert!(!found.err.contains("panicked") && found.out.contains("caf\u{fffd}"), "{found:?}");
}

#[test]
fn log_4_a_session_in_a_folder_whose_path_is_no_text_is_exported_whole() {
    let place = Place::new();
    let folder = session_in(&place, b"caf\xe9");
    run_in(&place, &folder, &["export", "b.tw", "--json"]).ended(0);
    run_in(&place, &folder, &["verify", "b.tw"]).ended(0).says("13 records verify");
}

#[test]
fn advised_commands_name_a_folder_with_blanks_in_quotes() {
    let place = Place::new();
    let folder = session_in(&place, b"q sp");
    run_in(&place, &folder, &["policy", "check", "a b.yaml"]).complains("'a b.yaml'");
    let missing = run_in(&place, &folder, &["status", "--workspace", "not here"]);
    missing.complains("`mkdir -p 'not here'`");
    fs::write(folder.join("a file"), "").unwrap();
    let said = run_in(&place, &folder, &["status", "--workspace", "a file"]).complains("`ls -ld 'a file'`");
    assert!(!said.err.contains("mkdir"), "{}", said.err);
}

#[test]
fn log_4_the_command_that_forgets_a_lost_session_can_be_pasted() {
    let place = Place::new();
    let state = place.path().join("state dir");
    fs::create_dir(&state).unwrap();
    let mut step = place.command(&["step", "-"]);
    step.env("XDG_STATE_HOME", &state);
    Said::of(feed(step, calls(8).as_bytes())).ended(0);
    fs::remove_dir_all(place.geometry("journal")).unwrap();
    let said = Said::of(place.command(&["verify"]).env("XDG_STATE_HOME", &state).output().unwrap()).ended(9);
    said.says("LOST").says(&format!("`rm '{}", state.display()));
}

#[test]
fn floor_1_a_held_command_of_two_lines_is_shown_with_the_line_end_in_it() {
    let fixture = waiting_for("0");
    let command = "echo cleaning up # safe:\nrm -r data";
    assert!(answer_of(ask(&fixture, command)).contains("\"deny\""));
    let (_, shown) = output(fixture.command(&["approvals"]));
    assert!(shown.contains("`echo cleaning up # safe:⏎rm -r data`"), "{shown}");
    let (_, text) = output(fixture.command(&["approvals", "--json"]));
    let open: Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
    assert_eq!(open["command"], command);
    let (exit, said) = output(fixture.command(&["approvals", "approve", open["id"].as_str().unwrap()]));
    assert!(exit == Some(0) && said.contains("`echo cleaning up # safe:⏎rm -r data`: "), "{said}");
}

/// A name that begins a line of its own, moves the cursor and turns the reading direction.
const FORGED: &str = "data/x\nK7Q2-9F  approved by ada\u{1b}[2K\u{202e}txt";

fn is_plain(text: &str) -> bool {
    let forged = text.lines().any(|line| line.starts_with("K7Q2-9F  approved"));
    !forged && !text.chars().any(|letter| (letter.is_control() && letter != '\n') || letter == '\u{202e}')
}

#[test]
fn ctrl_3_names_of_files_forge_no_line_and_steer_no_terminal() {
    let fixture = waiting_for("0");
    fs::write(fixture.root().join(FORGED), "work\n").unwrap();
    fixture.answer("SessionStart", &json!({"source": "startup"}));
    // A step that an undo would take back.
    let mut write = json!({"tool_name": "Write", "tool_use_id": "w",
        "tool_input": {"file_path": fixture.root().join(FORGED), "content": "new\n"}});
    fixture.answer("PreToolUse", &write);
    fs::write(fixture.root().join(FORGED), "new\n").unwrap();
    write["tool_response"] = json!({"success": true});
    fixture.answer("PostToolUse", &write);
    let command = format!("rm -r data # {FORGED}");
    let child = ask(&fixture, &command);
    let held = child.wait_with_output().unwrap();
    assert!(is_plain(&String::from_utf8(held.stderr).unwrap()));
    let (_, text) = output(fixture.command(&["approvals", "--json"]));
    let open: Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
    for words in [
        &["approvals"][..],
        &["judge", &command],
        &["status"],
        &["log"],
        &["why"],
        &["undo", "--list"],
        &["undo", "--dry-run"],
        &["diff", "0"],
        &["undo", "no\nsuch\u{1b}file"],
        &["approvals", "approve", open["id"].as_str().unwrap()],
        &["undo", "--yes"],
    ] {
        let (_, text) = output(fixture.command(words));
        assert!(is_plain(&text), "{words:?}: {text:?}");
    }
}

#[test]
fn ctrl_3_what_an_agent_calls_cannot_steer_the_terminal_of_status() {
    let place = Place::new();
    let line = call("echo \\u001b[2Jgone\\u202e", "same");
    place.step(&line.repeat(6));
    for args in [&["status"][..], &["ls"], &["why"], &["log"], &[]] {
        let said = place.run(args);
        assert!(is_plain(&said.out) && is_plain(&said.err), "{args:?}: {said:?}");
    }
}
