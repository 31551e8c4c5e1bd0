//! Steps under hooks alone: a folder of untracked work comes back with one command, and a call that reads makes no walk.

use crate::hooks::fixture::{HookFixture, fixture, run};
use serde_json::{Value, json};
use std::fs;
use std::process::{Command, Output};

/// A workspace with untracked work and a script that deletes it.
fn drafts() -> HookFixture {
    let fixture = fixture("claude");
    fs::create_dir(fixture.root().join("drafts")).unwrap();
    for name in ["one", "two"] {
        fs::write(fixture.root().join("drafts").join(name), format!("hours of {name}")).unwrap();
    }
    fs::write(fixture.root().join("clean.sh"), "rm -r drafts\n").unwrap();
    fixture.answer("SessionStart", &json!({"source": "startup"}));
    fixture
}

fn sh(fixture: &HookFixture, command: &str) {
    Command::new("sh").args(["-c", command]).current_dir(fixture.root()).status().unwrap();
}

/// The agent runs a command, and it really runs.
fn ran(fixture: &HookFixture, command: &str) {
    let mut call = json!({"tool_name": "Bash", "tool_input": {"command": command}, "tool_use_id": command});
    assert_eq!(fixture.answer("PreToolUse", &call), Value::Null);
    sh(fixture, command);
    call["tool_response"] = json!({"stdout": "", "stderr": ""});
    fixture.answer("PostToolUse", &call);
}

fn verb(fixture: &HookFixture, words: &[&str]) -> Output {
    run(fixture.command(words), b"")
}

fn said(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

fn code(output: &Output) -> Option<i32> {
    output.status.code()
}

#[test]
fn undo_9_a_folder_of_untracked_work_that_a_script_deleted_comes_back_with_one_command() {
    let fixture = drafts();
    ran(&fixture, "sh clean.sh");
    assert!(!fixture.root().join("drafts").exists());
    let log = verb(&fixture, &["log"]);
    assert!(said(&log).contains("changed files (step 0)"), "{}", said(&log));
    let report = said(&verb(&fixture, &["report"]));
    assert!(report.contains("Undo points") && report.contains("tripwire undo 0 --session"), "{report}");
    let shared = said(&verb(&fixture, &["report", "--redact"]));
    assert!(shared.contains("Undo points") && !shared.contains("drafts") && !shared.contains("clean.sh"), "{shared}");
    let dry = verb(&fixture, &["undo", "--dry-run"]);
    assert!(said(&dry).contains("would be brought back: drafts/one") && !fixture.root().join("drafts").exists());
    let done = verb(&fixture, &["undo", "--yes", "--reason", "not mine to lose"]);
    assert_eq!(code(&done), Some(0), "{}", said(&done));
    assert_eq!(fs::read_to_string(fixture.root().join("drafts/two")).unwrap(), "hours of two");
    let report = said(&verb(&fixture, &["report"]));
    assert!(report.contains("taken back") && !report.contains("tripwire undo 0"), "{report}");
    let log = said(&verb(&fixture, &["log"]));
    assert!(
        log.contains("undone; `tripwire redo`") && log.contains("undo of step 0") && log.contains("not mine to lose"),
        "{log}"
    );
    let redo = verb(&fixture, &["redo", "--yes", "--json"]);
    let redo: Value = serde_json::from_slice(&redo.stdout).unwrap();
    assert_eq!(redo["steps"], json!([0]));
    assert!(!fixture.root().join("drafts").exists());
    assert_eq!(code(&verb(&fixture, &["undo", "--all", "--yes"])), Some(0));
    assert!(fixture.root().join("drafts/one").exists());
    let verified = verb(&fixture, &["verify"]);
    assert_eq!(code(&verified), Some(0), "{}", said(&verified));
}

#[test]
fn undo_9_what_tests_proved_is_stale_after_an_undo() {
    let fixture = drafts();
    ran(&fixture, "echo x > a.py");
    let call = json!({"tool_name": "Bash", "tool_input": {"command": "pytest"}, "tool_use_id": "p"});
    fixture.answer("PreToolUse", &call);
    let mut done = call;
    done["tool_response"] = json!({"stdout": "1 passed in 0.01s", "stderr": ""});
    fixture.answer("PostToolUse", &done);
    let status = || serde_json::from_slice::<Value>(&verb(&fixture, &["status", "--json"]).stdout).unwrap().to_string();
    assert!(status().contains("VERIFIED"), "{}", status());
    assert_eq!(code(&verb(&fixture, &["undo", "--yes"])), Some(0));
    assert!(status().contains("STALE"), "{}", status());
}

#[test]
fn undo_9_it_is_a_persons_verb_and_needs_a_yes() {
    let fixture = drafts();
    ran(&fixture, "sh clean.sh");
    for words in [&["undo", "--yes"][..], &["redo", "--yes"], &["set", "limits.max_steps=9"]] {
        let mut command = fixture.command(words);
        command.env("CLAUDECODE", "1");
        assert_eq!(code(&run(command, b"")), Some(11), "{words:?}");
    }
    assert_eq!(code(&verb(&fixture, &["undo"])), Some(2), "no terminal, no yes");
    assert!(!fixture.root().join("drafts").exists());
    let asked = json!({"tool_name": "Bash", "tool_input": {"command": "tripwire undo --yes"}, "tool_use_id": "u"});
    let answer = fixture.answer("PreToolUse", &asked);
    assert!(answer.to_string().contains("deny"), "{answer}");
}

#[test]
fn undo_9_broken_input_is_refused_and_does_nothing() {
    let fixture = drafts();
    ran(&fixture, "sh clean.sh");
    for words in [
        &["undo", "abc"][..],
        &["undo", "3", "--all"],
        &["undo", "--yes", "--session", "auto-2020-01-01-000000", "5"],
        &["undo", "--yes", "--file", "/etc/passwd"],
        &["redo", "--yes"],
        &["diff", "x..y"],
        &["diff", "5..", "--session", "auto-2020-01-01-000000"],
    ] {
        assert_eq!(code(&verb(&fixture, words)), Some(2), "{words:?}: {}", said(&verb(&fixture, words)));
    }
    assert!(!fixture.root().join("drafts").exists());
}

#[test]
fn undo_9_differences_steps_and_what_is_not_kept_are_shown() {
    let fixture = drafts();
    fs::create_dir(fixture.root().join("node_modules")).unwrap();
    ran(&fixture, "echo new > a.txt");
    ran(&fixture, "echo more >> a.txt; rm drafts/one");
    let diff = said(&verb(&fixture, &["diff", "0.."]));
    assert!(diff.contains("added a.txt") && diff.contains("+more") && diff.contains("-hours of one"), "{diff}");
    let one: Value = serde_json::from_slice(&verb(&fixture, &["diff", "0", "--json"]).stdout).unwrap();
    assert_eq!(one["changes"], json!([{"path": "a.txt", "kind": "added", "folder": false}]));
    let list = said(&verb(&fixture, &["undo", "--list"]));
    assert!(list.contains("not kept: `node_modules`") && list.contains("a.txt"), "{list}");
    assert_eq!(code(&verb(&fixture, &["undo", "--file", "drafts", "--yes"])), Some(0));
    assert!(fixture.root().join("drafts/one").exists());
    assert_eq!(fs::read_to_string(fixture.root().join("a.txt")).unwrap(), "new\nmore\n");
    assert_eq!(code(&verb(&fixture, &["undo", "--gc"])), Some(0));
}

#[test]
fn undo_9_it_works_after_the_records_and_the_folder_are_gone() {
    let fixture = drafts();
    sh(&fixture, "git init -q .");
    fs::write(fixture.root().join("clean.sh"), "rm -rf .git .geometry drafts\n").unwrap();
    let call = json!({"tool_name": "Bash", "tool_input": {"command": "sh clean.sh"}, "tool_use_id": "x"});
    assert_eq!(fixture.answer("PreToolUse", &call), Value::Null);
    sh(&fixture, "sh clean.sh");
    let done = verb(&fixture, &["undo", "--yes"]);
    assert_eq!(code(&done), Some(0), "{}", said(&done));
    assert!(fixture.root().join("drafts/one").exists() && fixture.root().join(".git/HEAD").exists());
    assert!(said(&done).contains("not journaled"), "{}", said(&done));

    let other = drafts();
    fs::write(other.root().join("clean.sh"), "cd .. && rm -rf work && mkdir work\n").unwrap();
    assert_eq!(other.answer("PreToolUse", &call), Value::Null);
    sh(&other, "sh clean.sh");
    assert_eq!(fs::read_dir(other.root()).unwrap().count(), 0);
    let done = verb(&other, &["undo", "--yes"]);
    assert_eq!(code(&done), Some(0), "{}", said(&done));
    assert_eq!(fs::read_to_string(other.root().join("drafts/two")).unwrap(), "hours of two");
}

#[test]
fn undo_9_a_call_that_only_reads_makes_no_walk() {
    if Command::new("strace").arg("-V").output().is_err() {
        return tripwire_testing::skip("there is no strace here");
    }
    let fixture = drafts();
    for folder in 0..60 {
        fs::create_dir(fixture.root().join(format!("d{folder}"))).unwrap();
        fs::write(fixture.root().join(format!("d{folder}/f")), "x").unwrap();
    }
    ran(&fixture, "sh -c true");
    let walked = |tool: Value| {
        let trace = fixture.root().join("../trace");
        let hook = fixture.command(&["hook", "claude"]);
        let mut command = Command::new("strace");
        command
            .args(["-f", "-qq", "-e", "trace=openat2,getdents64", "-o"])
            .arg(&trace)
            .arg(hook.get_program())
            .args(hook.get_args());
        command.current_dir(fixture.root()).env_clear().env("HOME", fixture.root().join("../home"));
        command.stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::piped());
        let output = run(command, fixture.input("PreToolUse", &tool).to_string().as_bytes());
        assert!(output.status.success(), "{output:?}");
        fs::read_to_string(trace).unwrap().lines().filter(|line| line.contains("openat2")).count()
    };
    let bash = |command: &str| json!({"tool_name": "Bash", "tool_input": {"command": command}, "tool_use_id": command});
    assert!(walked(bash("./build.sh")) >= 60, "what may write is looked at");
    for tool in [
        bash("ls -la"),
        bash("git status; cat d1/f | head"),
        json!({"tool_name": "Read", "tool_input": {"file_path": "d1/f"}, "tool_use_id": "r"}),
        json!({"tool_name": "Grep", "tool_input": {"pattern": "x"}, "tool_use_id": "g"}),
    ] {
        assert_eq!(walked(tool.clone()), 0, "{tool}");
    }
}

#[test]
fn undo_9_only_a_step_that_there_is_is_taken_back_or_shown() {
    let fixture = drafts();
    ran(&fixture, "echo one > a.txt");
    ran(&fixture, "echo two >> a.txt");
    let steps: Value = serde_json::from_slice(&verb(&fixture, &["undo", "--list", "--json"]).stdout).unwrap();
    let numbers: Vec<u64> =
        steps["steps"].as_array().unwrap().iter().map(|step| step["step"].as_u64().unwrap()).collect();
    let [first, second] = numbers.as_slice() else { panic!("{steps}") };
    let beyond = (second + 900).to_string();
    let backwards = format!("{second}..{first}");
    for words in
        [&["undo", &beyond, "--yes"][..], &["undo", &beyond, "--dry-run"], &["diff", &beyond], &["diff", &backwards]]
    {
        let refused = verb(&fixture, words);
        assert_eq!(code(&refused), Some(2), "{words:?}: {}", said(&refused));
    }
    let refused = said(&verb(&fixture, &["undo", &beyond, "--yes"]));
    assert!(
        refused.contains(&format!("no step {beyond}")) && refused.contains(&format!("nearest is {second}")),
        "{refused}"
    );
    assert_eq!(fs::read_to_string(fixture.root().join("a.txt")).unwrap(), "one\ntwo\n", "nothing was taken back");
    // The call that came of a step has a number of its own in the log.
    let result = (second + 1).to_string();
    assert_eq!(code(&verb(&fixture, &["diff", &result])), Some(0));
    let done = verb(&fixture, &["undo", &result, "--yes"]);
    assert_eq!(code(&done), Some(0), "{}", said(&done));
    assert_eq!(fs::read_to_string(fixture.root().join("a.txt")).unwrap(), "one\n");
}

#[test]
fn undo_9_an_undo_without_an_effect_is_refused_and_hides_no_redo() {
    let fixture = drafts();
    ran(&fixture, "sh clean.sh");
    assert_eq!(code(&verb(&fixture, &["undo", "--yes"])), Some(0));
    let typo = verb(&fixture, &["undo", "--file", "draft", "--yes"]);
    assert!(code(&typo) == Some(2) && said(&typo).contains("nothing is to be taken back"), "{}", said(&typo));
    let redo = verb(&fixture, &["redo", "--yes"]);
    assert_eq!(code(&redo), Some(0), "{}", said(&redo));
    assert!(!fixture.root().join("drafts").exists(), "what was taken back is brought back");
}
