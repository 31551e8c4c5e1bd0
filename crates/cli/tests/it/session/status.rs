//! `tripwire status`.

use crate::session::fixture::{Place, call, calls, of_version};
use std::fs;

#[test]
fn a_workspace_without_a_session_is_well_and_nothing_is_made() {
    let place = Place::new();
    place.run(&["status"]).ended(0).says("session     none").says("tamper-evident, not tamper-proof");
    assert!(!place.geometry("").exists(), "looking makes nothing");
}

#[test]
fn a_quiet_session_fits_one_screen_and_ends_with_0() {
    let place = Place::new();
    place.step(&calls(3)).ended(0);
    let said = place.run(&["status"]).ended(0).says(&place.session()).says("armed").says("7 records");
    assert!(said.out.lines().count() <= 24, "{}", said.out);
    assert!(said.out.lines().all(|line| !line.contains('\x1b')));
    let json = place.run(&["status", "--json"]).ended(0).json();
    assert_eq!(json["session"]["records"], 7);
    assert_eq!(json["session"]["view"]["guard"], "armed");
    assert_eq!(json["waits"].as_array().unwrap().len(), 0);
}

#[test]
fn gate_8_a_budget_below_a_cent_is_shown() {
    for (budget, shown) in [("5000", "of 0.5¢"), ("5000000", "of $5.00")] {
        let place = Place::new();
        place.manifest(&format!("money:\n  budget_micro_usd: {budget}\n"));
        place.step(&calls(1));
        let said = place.run(&["status"]);
        assert!(said.out.contains(shown), "{}", said.out);
    }
}

#[test]
fn const_1_a_journal_that_does_not_verify_ends_with_9() {
    let place = Place::new();
    place.step(&calls(3)).ended(0);
    place.run(&["status"]).ended(0);
    let segment = place.journal("00000001.jsonl");
    let text = fs::read_to_string(&segment).unwrap();
    fs::write(&segment, text.replacen("work", "wurk", 1)).unwrap();
    place.run(&["status"]).ended(9).says("damaged at record").says("`tripwire verify auto-");
}

#[test]
fn ctrl_2_what_waits_in_an_older_session_is_shown() {
    let place = Place::new();
    place.step(&calls(1)).ended(0);
    place.feed(&["step", "--new", "-"], &calls(1)).ended(0);
    place.run(&["status"]).ended(0);
    place.step(&call("make", "error").repeat(4)).ended(7);
    let stopped = place.session();
    fs::remove_file(place.geometry("BLOCKER_REPORT.md")).ok();
    place.feed(&["step", "--new", "-"], &calls(1)).ended(0);
    assert_ne!(place.session(), stopped);
    place.run(&["status"]).ended(5).says(&format!("waits       {stopped}: ")).says(&format!("--session {stopped}"));
}

#[test]
fn ctrl_1_a_file_that_a_person_removed_is_the_answer_already() {
    let place = Place::new();
    place.step(&calls(1)).ended(0);
    for (file, code) in [("PAUSE", 5), ("STOP", 10)] {
        fs::write(place.geometry(file), "").unwrap();
        place.step(&call(&format!("begin {file}"), file)).ended(code);
        place.run(&["status"]).ended(5);
        fs::remove_file(place.geometry(file)).unwrap();
        let said = place.run(&["status"]).ended(0).says("answered    ").says("goes on at its next step");
        assert!(!said.out.contains("waits "), "{}", said.out);
        place.step(&call(&format!("end {file}"), &format!("{file} again"))).ended(0);
        assert!(!place.run(&["status"]).ended(0).out.contains("answered"));
    }
}

#[test]
fn ctrl_1_what_waits_for_a_person_ends_with_5_and_names_the_command() {
    let place = Place::new();
    place.step(&calls(1)).ended(0);
    fs::write(place.geometry("PAUSE"), "").unwrap();
    place.run(&["status"]).ended(5).says("PAUSE is set").says("`tripwire resume`");
    fs::remove_file(place.geometry("PAUSE")).unwrap();
    place.run(&["status"]).ended(0);
    place.step(&call("make", "error").repeat(4)).ended(7);
    place.run(&["status"]).ended(5).says("tripwire ack blocker").says("LOOP-1.exact");
    let json = place.run(&["status", "--json"]).ended(5).json();
    assert_eq!(json["session"]["view"]["stopped"], "SYSTEM_ERROR");
    assert!(!json["session"]["findings"].as_array().unwrap().is_empty());
}

#[test]
fn whether_a_session_has_ended_is_told_with_when_how_and_what_is_proved() {
    let place = Place::new();
    place.step(&calls(1)).ended(0);
    place.run(&["status"]).ended(0).says("ended       no; last activity at 20");
    assert_eq!(place.run(&["status", "--json"]).ended(0).json()["session"]["ended"], serde_json::Value::Null);
    place.step(&call("make", "error").repeat(4)).ended(7);
    let said =
        place.run(&["status"]).ended(5).says("with NOTHING_TO_VERIFY: stopped: a call was repeated after a warning");
    assert!(said.out.contains("`tripwire resume --restart` goes on with it"), "{}", said.out);
    let ended = place.run(&["status", "--json"]).ended(5).json()["session"]["ended"].clone();
    assert_eq!(ended["verdict"], "NOTHING_TO_VERIFY");
    assert!(ended["at"].as_str().unwrap().ends_with('Z') && !ended["how"].as_str().unwrap().is_empty(), "{ended}");
}

#[test]
fn const_5_a_damaged_tail_a_bad_manifest_or_a_newer_state_ends_with_9() {
    let place = Place::new();
    place.step(&calls(2)).ended(0);
    let manifest = fs::read_to_string(place.geometry("MANIFEST.yaml")).unwrap();
    fs::write(place.geometry("MANIFEST.yaml"), "safety: [").unwrap();
    place.run(&["status"]).ended(9).says("the settings are refused");
    fs::write(place.geometry("MANIFEST.yaml"), manifest).unwrap();
    place.run(&["status"]).ended(0);

    let state = place.state_file();
    let kept = fs::read(&state).unwrap();
    fs::write(&state, of_version(99, &kept)).unwrap();
    place.run(&["status"]).ended(9).says("version 99").says("newer");
    fs::write(&state, kept).unwrap();

    let segment = place.journal("00000001.jsonl");
    let mut bytes = fs::read(&segment).unwrap();
    let last = bytes.len() - 40;
    bytes[last] ^= 1;
    fs::write(&segment, bytes).unwrap();
    place.run(&["status"]).ended(9).says("damaged at record 4");
    place.run(&["status", "--session", "auto-2020-01-01-000000"]).ended(2).complains("there is no session");
}

#[test]
fn a_narrow_terminal_gets_lines_that_fit_and_a_pipe_gets_them_whole() {
    let place = Place::new();
    place.step(&call("make", "error").repeat(4)).ended(7);
    let whole = place.run(&["status"]).ended(5);
    assert!(whole.out.lines().any(|line| line.chars().count() > 60), "{}", whole.out);
    if !std::path::Path::new("/usr/bin/script").exists() {
        return crate::session::fixture::skip("there is no `script` to make a terminal with");
    }
    let mut command = place.command(&[]);
    let line =
        format!("stty cols 60; NO_COLOR=1 '{0}' status; TERM=xterm '{0}' status | cat", env!("CARGO_BIN_EXE_tripwire"));
    let coloured = format!("TERM=xterm '{}' status", env!("CARGO_BIN_EXE_tripwire"));
    let mut typed = std::process::Command::new("/usr/bin/script");
    typed.args(["-qec", &line, "/dev/null"]).current_dir(place.work()).stdin(std::process::Stdio::null());
    typed.envs(command.stdin(std::process::Stdio::null()).get_envs().filter_map(|(name, value)| Some((name, value?))));
    let said = crate::session::fixture::Said::of(typed.output().unwrap());
    let is_path = |line: &str| line.split_whitespace().any(|word| word.starts_with('/'));
    assert!(said.out.contains("waits") && said.out.contains("ended"), "{}", said.out);
    let (narrow, piped) = said.out.split_once("guard ").unwrap();
    assert!(narrow.lines().all(|line| line.trim_end().chars().count() <= 60 || is_path(line)), "{}", said.out);
    assert!(
        piped.contains("waits") && !said.out.contains('\u{1b}'),
        "no colour with NO_COLOR, nor in a pipe: {}",
        said.out
    );
    let mut typed = std::process::Command::new("/usr/bin/script");
    typed.args(["-qec", &coloured, "/dev/null"]).current_dir(place.work()).stdin(std::process::Stdio::null());
    typed.env_remove("NO_COLOR").envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let said = crate::session::fixture::Said::of(typed.output().unwrap());
    assert!(said.out.contains("\u{1b}[33mwaits\u{1b}[0m"), "colour on a terminal: {}", said.out);
}

#[test]
fn a_lost_state_file_is_rebuilt_for_the_eye() {
    let place = Place::new();
    place.step(&call("make", "error").repeat(3)).ended(0);
    fs::remove_dir_all(place.geometry("state")).unwrap();
    place.run(&["status"]).ended(0).says("step 3").says("LOOP-1.exact");
}

#[test]
fn const_5_a_value_that_no_session_would_begin_with_is_broken_for_status_too() {
    for (text, line) in [("money:\n  budget_micro_usd: five\n", 2), ("loops:\n  loop_repeat_threshold: -1\n", 2)] {
        let place = Place::new();
        place.manifest(text);
        let said = place.run(&["status"]).ended(9).says("the settings are refused");
        assert!(said.out.contains(&format!("correct line {line} of ")), "{}", said.out);
        place.step(&calls(1)).ended(2).complains(&format!("hint: correct line {line} of "));
        place.manifest("money:\n  budget_micro_usd: 5000000\n");
        place.run(&["status"]).ended(0);
        fs::create_dir_all(place.path().join("config/tripwire")).unwrap();
        fs::write(place.path().join("config/tripwire/settings.yaml"), text).unwrap();
        let said = place.run(&["status"]).ended(9).says("the settings are refused");
        assert!(said.out.contains("tripwire/settings.yaml"), "the file that is wrong is named: {}", said.out);
    }
}

#[test]
fn log_4_an_unfinished_write_that_was_cut_is_a_note_and_no_damage() {
    let place = Place::new();
    place.step(&calls(2)).ended(0);
    let segment = place.journal("00000001.jsonl");
    let mut bytes = fs::read(&segment).unwrap();
    bytes.extend_from_slice(b"{\"i\":5,\"unfin");
    fs::write(&segment, bytes).unwrap();
    let said = place.run(&["status"]).ended(0).says("note        ").says("this is not damage");
    assert!(!said.out.contains("BROKEN"), "{}", said.out);
    assert_eq!(place.run(&["status", "--json"]).ended(0).json()["notes"].as_array().unwrap().len(), 1);
    place.run(&["verify"]).ended(0);
    place.step(&calls(1)).ended(0);
    assert!(!place.run(&["status"]).ended(0).out.contains("note "));
}
