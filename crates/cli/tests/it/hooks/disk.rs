//! What changed on disk between the question and the end of a call, with hooks alone; and files that the client obeys.

use crate::hooks::fixture::{HookFixture, fixture};
use serde_json::{Value, json};
use std::fs;
use std::process::Command;

/// A workspace under git with a source, a test and a file of notes.
fn repository() -> HookFixture {
    let fixture = fixture("claude");
    for (name, text) in [("a.py", "x = 1\n"), ("test_a.py", "def test(): pass\n"), ("CLAUDE.md", "be kind\n")] {
        fs::write(fixture.root().join(name), text).unwrap();
    }
    sh(&fixture, "git init -q . && git add a.py test_a.py && git -c user.name=a -c user.email=a@b commit -qm first");
    fixture.answer("UserPromptSubmit", &json!({"prompt": "go"}));
    fixture
}

fn sh(fixture: &HookFixture, command: &str) -> bool {
    let status = Command::new("sh").args(["-c", command]).current_dir(fixture.root()).output().unwrap().status;
    status.success()
}

/// The agent runs a command, and it really runs.
fn ran(fixture: &HookFixture, command: &str) {
    let call = json!({"tool_name": "Bash", "tool_input": {"command": command}, "tool_use_id": command});
    assert_eq!(fixture.answer("PreToolUse", &call)["continue"], Value::Null);
    let mut done = call;
    if sh(fixture, command) {
        done["tool_response"] = json!({"stdout": "", "stderr": ""});
        fixture.answer("PostToolUse", &done);
    } else {
        done["error"] = json!("Exit code 1");
        fixture.answer("PostToolUseFailure", &done);
    }
}

/// The agent writes a file with its editing tool.
fn wrote(fixture: &HookFixture, name: &str, text: &str) {
    let path = fixture.root().join(name);
    let call = json!({"tool_name": "Write", "tool_input": {"file_path": path, "content": text}, "tool_use_id": name});
    fixture.answer("PreToolUse", &call);
    fs::write(&path, text).unwrap();
    let mut done = call;
    done["tool_response"] = json!({"type": "update", "filePath": path});
    fixture.answer("PostToolUse", &done);
}

/// Whether the agent's claim to be done is refused until tests have run.
fn must_test(fixture: &HookFixture) -> bool {
    fixture.answer("Stop", &json!({"stop_hook_active": false}))["decision"] == "block"
}

#[test]
fn dirty_1_commands_that_changed_no_code_ask_for_no_tests_with_hooks_alone() {
    for command in [
        "git reset --hard",
        "echo x > /nonexistent/folder/a.py",
        "printf 'x = 1\\n' > a.py",
        "echo started >> server.log",
        "sed -i s/nothing/else/ a.py",
    ] {
        let fixture = repository();
        ran(&fixture, command);
        assert!(!must_test(&fixture), "{command}");
    }
    let fixture = repository();
    ran(&fixture, "echo 17 > server.pid");
    ran(&fixture, "rm server.pid");
    assert!(!must_test(&fixture), "a server that came and went");
    wrote(&fixture, "a.py", "x = 1\n");
    assert!(!must_test(&fixture), "the same contents");
}

#[test]
fn dirty_1_what_changed_code_asks_for_tests_whatever_its_words_say() {
    for command in ["printf 'x = 2\\n' > a.py", "sh ./gen.sh", "rm a.py", "git mv a.py b.py"] {
        let fixture = repository();
        fs::write(fixture.root().join("gen.sh"), "echo 'y = 2' >> a.py\n").unwrap();
        ran(&fixture, command);
        assert!(must_test(&fixture), "{command}");
    }
    let fixture = repository();
    wrote(&fixture, "a.py", "x = 3\n");
    assert!(must_test(&fixture));
}

#[test]
fn dirty_1_what_a_person_changes_between_two_calls_is_not_the_agents() {
    let fixture = repository();
    ran(&fixture, "make || true");
    fs::write(fixture.root().join("a.py"), "x = 9\n").unwrap();
    ran(&fixture, "make || true");
    assert!(!must_test(&fixture));
}

#[test]
fn dirty_1_test_files_that_changed_are_listed_with_hooks_alone() {
    let fixture = repository();
    wrote(&fixture, "test_a.py", "def test(): assert True\n");
    ran(&fixture, "echo '# more' >> test_a.py");
    let output = fixture.command(&["status", "--json"]).output().unwrap();
    let status: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(status.to_string().contains("\"testsChanged\":[\"test_a.py\"]"), "{status}");
}

#[test]
fn const_6_a_file_that_the_client_obeys_is_drift_and_another_is_not() {
    let fixture = repository();
    ran(&fixture, "ls");
    fs::write(fixture.root().join("README.md"), "words\n").unwrap();
    ran(&fixture, "pwd");
    assert!(!fixture.log().contains("POLICY_DRIFT"), "{}", fixture.log());
    fs::write(fixture.root().join("CLAUDE.md"), "obey me\n").unwrap();
    fs::write(fixture.root().join(".mcp.json"), "{}\n").unwrap();
    ran(&fixture, "date");
    let log = fixture.log();
    assert!(log.contains("POLICY_DRIFT") && log.contains("`CLAUDE.md` changed during the session"), "{log}");
    assert!(log.contains("`.mcp.json` changed during the session"), "{log}");
}
