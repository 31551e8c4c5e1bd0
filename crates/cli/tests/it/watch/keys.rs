//! What each key does to real agents, and what the screen shows of them.

use super::terminal::PtyScreen;
use super::view_of;
use crate::approvals::{answer_of, ask, output, waiting_for};
use crate::run::fixture::{RunFixture, finish};
use serde_json::json;
use std::fs;

#[test]
fn watch_a_held_call_of_a_hook_waits_for_the_view_and_goes_on_when_it_is_approved() {
    // Nothing but the open view lets a held call wait.
    let fixture = waiting_for("auto");
    let mut screen = view_of(&fixture, (80, 24));
    let asked = ask(&fixture, "rm -rf data");
    screen.wait_for("waits for you: 1");
    screen.wait_for("command");
    screen.press("a");
    screen.wait_for("reason:");
    screen.press("old data\r");
    assert_eq!(answer_of(asked), "", "the same call goes on");
    screen.wait_for("approved");
    screen.wait_for("nothing");
    let (_, log) = output(fixture.command(&["log"]));
    assert!(log.contains("old data") && log.contains("(watch)"), "who and why are journaled: {log}");
    assert_eq!(output(fixture.command(&["verify"])).0, Some(0));
    assert_eq!(output(fixture.command(&["replay"])).0, Some(0));
    screen.press("q");
    assert_eq!(screen.end().code(), Some(0));
}

#[test]
fn watch_a_denial_needs_a_confirming_key_and_the_agent_hears_the_reason() {
    let fixture = waiting_for("auto");
    let screen = view_of(&fixture, (80, 24));
    let asked = ask(&fixture, "rm -rf data");
    screen.wait_for("waits for you: 1");
    screen.press("dwe need it\r");
    screen.wait_for("y does it");
    screen.press("n");
    screen.wait_for("not done");
    screen.press("dwe need it\r");
    screen.wait_for("y does it");
    screen.press("y");
    let refused = answer_of(asked);
    assert!(refused.contains("\"deny\"") && refused.contains("we need it"), "{refused}");
    screen.wait_for("denied");
}

#[test]
fn watch_a_held_command_of_a_run_is_approved_with_two_keys_and_the_run_goes_on() {
    let place = RunFixture::new("begin\ntool 'rm -rf data'\ntool 'echo done > after'\nfinish");
    fs::create_dir(place.place().join("data")).unwrap();
    for name in ["a", "b", "c"] {
        fs::write(place.place().join("data").join(name), "work\n").unwrap();
    }
    let root = place.place().to_str().unwrap().to_owned();
    let screen = PtyScreen::start(place.verb(&["watch", "--workspace", &root]), 160, 50);
    screen.wait_for("q quit");
    let run = place.command(&[]).spawn().unwrap();
    screen.wait_for("waits for you: 1");
    screen.wait_for("running");
    screen.press("a");
    screen.wait_for("reason:");
    screen.press("\r");
    let end = finish(run);
    assert!(!place.place().join("data").exists() && place.place().join("after").exists(), "{}", end.stderr);
    screen.wait_for("ended");
}

#[test]
fn watch_stop_pause_and_resume_do_what_the_verbs_do_and_show_the_receipt() {
    let place = RunFixture::new("begin\ntool 'echo one'\nsleep 300");
    let root = place.place().to_str().unwrap().to_owned();
    let screen = PtyScreen::start(place.verb(&["watch", "--workspace", &root]), 80, 24);
    screen.wait_for("q quit");
    let run = place.command(&[]).spawn().unwrap();
    screen.wait_for("running");
    screen.press("plunch\r");
    screen.wait_for("PAUSE` is written");
    screen.close();
    screen.wait_for("PAUSE stands");
    assert!(fs::read_to_string(place.geometry("PAUSE")).unwrap().contains("lunch"));
    screen.press("r\r");
    screen.wait_for("PAUSE` is removed");
    screen.close();
    screen.press("senough\r");
    screen.wait_for("y does it");
    screen.press("y");
    screen.wait_for("0 survivors");
    assert_eq!(finish(run).code, Some(10));
    screen.close();
    screen.wait_for("STOP stands");
}

#[test]
fn watch_the_filter_the_help_and_a_new_size_are_shown() {
    let fixture = waiting_for("0");
    fixture.answer("SessionStart", &json!({"source": "startup"}));
    for command in ["cargo build", "cargo test"] {
        fixture.answer("PreToolUse", &crate::hooks::fixture::shell(command));
    }
    let screen = view_of(&fixture, (80, 24));
    screen.wait_for("cargo build");
    screen.press("/\"cargo test\"\r");
    screen.wait_until("only what passes", |shown| shown.contains("cargo test") && !shown.contains("cargo build"));
    screen.press("/\u{15}nonsense:x\r");
    screen.wait_for("the filter knows no");
    screen.press("\u{1b}");
    screen.wait_for("cargo build");
    screen.press("?");
    screen.wait_for("any key closes");
    screen.press(" ");
    screen.resize(160, 50);
    screen.wait_until("a wide head", |shown| shown.lines().next().is_some_and(|line| line.trim_end().len() > 120));
    screen.resize(30, 5);
    screen.wait_for("too small");
    screen.resize(80, 24);
    screen.wait_for("q quit");
    screen.press("w");
    screen.wait_for("journal record");
}

#[test]
fn watch_what_an_agent_wrote_is_text_and_steers_no_terminal() {
    let fixture = waiting_for("0");
    fixture.answer("SessionStart", &json!({"source": "startup"}));
    let hostile = "echo '\u{1b}]0;owned\u{7}\u{1b}[2J\u{9b}31m\u{202e}txt'";
    fixture.answer("PreToolUse", &crate::hooks::fixture::shell(hostile));
    let mut command = fixture.command(&["watch", "--workspace", fixture.root().to_str().unwrap()]);
    command.env("NO_COLOR", "1");
    let mut screen = PtyScreen::start(command, 160, 50);
    screen.wait_for("]0;owned");
    screen.wait_for("\\u{202e}txt");
    screen.press("\t\tw");
    screen.wait_for("journal record");
    screen.press("q");
    screen.press("q");
    screen.end();
    let raw = screen.raw();
    for steering in ["\u{1b}]0;", "\u{9b}", "\u{202e}", "\u{1b}[2Jowned"] {
        assert!(!raw.contains(steering), "{steering:?}");
    }
    let coloured = ["\u{1b}[31m", "\u{1b}[32m", "\u{1b}[33m", "\u{1b}[38;5;"];
    assert!(!coloured.iter().any(|code| raw.contains(code)), "NO_COLOR is honoured");
}
