//! `notify.command` of the frozen policy.

use crate::session::fixture::{Place, calls};
use std::fs;
use std::time::{Duration, Instant};
use tripwire_testing::write_program;

fn with_command(place: &Place, script: &str) {
    let path = place.path().join("tell");
    write_program(&path, &format!("#!/bin/sh\n{script}\n")).unwrap();
    place.manifest(&format!("notify:\n  command: \"{} {}\"\n", path.display(), place.path().join("told").display()));
}

fn told(place: &Place) -> Option<String> {
    let end = Instant::now() + Duration::from_secs(20);
    while Instant::now() < end {
        if let Ok(text) = fs::read_to_string(place.path().join("told"))
            && !text.is_empty()
        {
            return Some(text);
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    None
}

#[test]
fn a_hold_runs_the_command_with_the_message_and_a_clean_environment() {
    let place = Place::new();
    with_command(&place, "echo \"$2 secret=$SECRET\" > \"$1.tmp\" && mv \"$1.tmp\" \"$1\"");
    place.step(&calls(1)).ended(0);
    assert!(!place.path().join("told").exists(), "nothing to tell");
    fs::write(place.geometry("PAUSE"), "").unwrap();
    let mut command = place.command(&["step", "-"]);
    command.env("SECRET", "token");
    let output = crate::session::fixture::feed(command, calls(1).as_bytes());
    assert_eq!(output.status.code(), Some(5));
    let text = told(&place).unwrap();
    assert!(text.contains(&place.session()) && text.contains("paused by a person"), "{text}");
    assert!(text.trim().ends_with("secret="), "{text}");
}

#[test]
fn a_command_that_hangs_or_is_missing_does_not_hold_up_the_decision() {
    let place = Place::new();
    with_command(&place, "sleep 60");
    place.step(&calls(1)).ended(0);
    fs::write(place.geometry("STOP"), "").unwrap();
    let begun = Instant::now();
    place.step(&calls(1)).ended(10);
    assert!(begun.elapsed() < Duration::from_secs(30), "{:?}", begun.elapsed());
    let other = Place::new();
    other.manifest("notify:\n  command: \"/nonexistent/tell\"\n");
    fs::write(other.geometry("STOP"), "").unwrap();
    other.step(&calls(1)).ended(10);
}
