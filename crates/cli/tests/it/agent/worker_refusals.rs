//! What a worker cannot be or do is told in one message with the next command, and nothing is made.

use std::path::Path;
use std::process::Command;

#[track_caller]
fn refused(arguments: &[&str], part: &str) {
    let folder = tripwire_testing::folder();
    let work = folder.path().join("work");
    std::fs::create_dir(&work).expect("a workspace");
    let program = folder.path().join("claude");
    std::fs::write(&program, "#!/bin/sh\nexit 0\n").expect("a program that is never started");
    let program = program.display().to_string();
    let arguments: Vec<String> = arguments.iter().map(|word| word.replace("CLAUDE", &program)).collect();
    let output = Command::new(env!("CARGO_BIN_EXE_tripwire"))
        .arg("agent")
        .args(&arguments)
        .current_dir(&work)
        .env_clear()
        .env("HOME", folder.path())
        .env("PATH", "/nowhere")
        .output()
        .expect("it starts");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains(part) && said.contains("hint: "), "{said}");
    assert!(is_untouched(&work), "nothing is made");
}

fn is_untouched(work: &Path) -> bool {
    std::fs::read_dir(work).expect("the workspace").next().is_none()
}

#[test]
fn run_4_a_worker_that_is_not_installed_is_told_with_the_next_command() {
    for client in ["claude", "codex", "gemini", "/nowhere/claude"] {
        refused(&["--objective", "x", "--engine", client], "is not found, which the engine");
        refused(&["--objective", "x", "--engine", "scripted", "--fallback", client], "is not found, which the engine");
    }
    refused(&["--objective", "x", "--engine", "claude"], "--engine /path/to/claude");
}

#[test]
fn run_4_a_worker_takes_no_part_that_it_could_not_keep_to() {
    let base = ["--objective", "x", "--engine"];
    let with = |more: &[&'static str]| base.iter().chain(more).copied().collect::<Vec<_>>();
    refused(&with(&["scripted", "--advisor", "CLAUDE"]), "cannot be the advisor");
    refused(&with(&["scripted", "--review", "CLAUDE"]), "cannot be the reviewer");
    refused(&with(&["CLAUDE", "--review", "scripted"]), "`--review` could not hold its changes back");
    refused(&with(&["CLAUDE", "--record", "x.jsonl"]), "a cassette could not play that again");
    let long = "x".repeat(100 * 1_024);
    refused(&["--engine", "CLAUDE", "--objective", &long], "the objective has 102400 bytes");
}
