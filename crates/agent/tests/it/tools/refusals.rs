//! What no tool does: act without its permit, leave the workspace, touch what the guard and others obey.

use crate::tools::fixture::{call, fixture};
use serde_json::json;
use std::os::unix::fs::symlink;
use tripwire_agent::tools::decode;
use tripwire_core::chain::event::ErrorClass;
use tripwire_core::chain::feedback::ExecutionStatus;

#[test]
fn chain_4_a_permit_for_another_action_lets_nothing_happen() {
    let mut fixture = fixture(&[("a", "old")]);
    let read = call("read_file", &json!({"path": "a"}));
    let action = decode(&read, fixture.registry.entries()).unwrap().action(&fixture.files);
    for (tool, arguments) in [
        ("write", json!({"path": "a", "content": "new"})),
        ("edit", json!({"path": "a", "old": "old", "new": "new"})),
        ("remember", json!({"text": "x"})),
        ("read_file", json!({"path": "b"})),
        ("list", json!({})),
        ("search", json!({"pattern": "old"})),
        ("recall", json!({})),
        ("finish", json!({"summary": "done"})),
        ("shell", json!({"command": "touch made"})),
    ] {
        let ran = fixture.run_with_permit_for(&action, tool, &arguments);
        assert!(ran.is_error && ran.text.contains("is for another action"), "{tool}: {}", ran.text);
        assert_eq!((ran.class, ran.result.executed), (Some(ErrorClass::Refused), false), "{tool}");
        assert_eq!(ran.result.status, ExecutionStatus::Blocked, "{tool}");
    }
    assert_eq!(fixture.text("a"), "old");
    assert!(!fixture.root().join("made").exists() && !fixture.root().join(".geometry/memory").exists());
}

#[test]
fn ctrl_3_no_tool_writes_what_the_guard_or_other_programs_obey() {
    let mut fixture =
        fixture(&[(".git/config", "[core]\n"), (".geometry/MANIFEST.yaml", "x: 1\n"), ("AGENTS.md", "rules\n")]);
    symlink(".geometry", fixture.root().join("docs")).unwrap();
    for path in [".geometry/STOP", "docs/STOP", ".git/hooks/pre-commit", ".claude/settings.json", ".env"] {
        let ran = fixture.run("write", &json!({"path": path, "content": "x"}));
        assert_eq!(ran.class, Some(ErrorClass::Refused), "{path}: {}", ran.text);
        let patch = format!("--- /dev/null\n+++ b/{path}\n@@ -0,0 +1 @@\n+x\n");
        let ran = fixture.run("edit", &json!({"patch": patch}));
        assert_eq!(ran.class, Some(ErrorClass::Refused), "{path}: {}", ran.text);
    }
    for (path, old) in [(".git/config", "[core]"), (".geometry/MANIFEST.yaml", "x: 1"), ("AGENTS.md", "rules")] {
        let ran = fixture.run("edit", &json!({"path": path, "old": old, "new": "mine"}));
        assert_eq!(ran.class, Some(ErrorClass::Refused), "{path}: {}", ran.text);
        assert!(fixture.text(path).contains(old));
    }
    assert!(!fixture.root().join(".geometry/STOP").exists());
}

#[test]
fn ctrl_3_the_briefing_and_the_todo_are_read_and_nothing_else_of_the_guard() {
    let mut fixture = fixture(&[
        (".geometry/todo.md", "objective\n"),
        (".geometry/MISSION_BRIEFING.md", "briefing\n"),
        (".geometry/safety_log.json", "{}"),
    ]);
    assert_eq!(fixture.ok("read_file", &json!({"path": ".geometry/todo.md"}))["content"], "objective\n");
    assert_eq!(fixture.ok("read_file", &json!({"path": ".geometry/MISSION_BRIEFING.md"}))["content"], "briefing\n");
    assert!(fixture.error("read_file", &json!({"path": ".geometry/safety_log.json"})).contains("belongs to the guard"));
    assert!(fixture.error("list", &json!({"path": ".geometry"})).contains("belongs to the guard"));
    assert!(fixture.error("search", &json!({"pattern": "x", "path": ".geometry"})).contains("belongs to the guard"));
}

#[test]
fn tool_1_no_tool_leaves_the_workspace_and_no_path_of_the_machine_is_told() {
    let mut fixture = fixture(&[("a", "x")]);
    let outside = fixture.root().parent().unwrap().join("outside");
    std::fs::write(&outside, "secret").unwrap();
    symlink(&outside, fixture.root().join("way-out")).unwrap();
    for path in ["way-out", "../outside", "/etc/passwd"] {
        for (tool, arguments) in [
            ("read_file", json!({"path": path})),
            ("write", json!({"path": path, "content": "x"})),
            ("edit", json!({"path": path, "old": "secret", "new": "x"})),
            ("search", json!({"pattern": "secret", "path": path})),
        ] {
            let error = fixture.error(tool, &arguments);
            assert!(error.contains("out"), "{tool} {path}: {error}");
        }
    }
    assert_eq!(std::fs::read_to_string(outside).unwrap(), "secret");
}

#[test]
fn tool_1_a_pipe_is_refused_by_every_file_tool_at_once() {
    let mut fixture = fixture(&[]);
    assert!(std::process::Command::new("mkfifo").arg(fixture.root().join("pipe")).status().unwrap().success());
    for (tool, arguments) in [
        ("read_file", json!({"path": "pipe"})),
        ("write", json!({"path": "pipe", "content": "x"})),
        ("edit", json!({"path": "pipe", "old": "a", "new": "b"})),
        ("search", json!({"pattern": "x", "path": "pipe"})),
    ] {
        assert!(fixture.error(tool, &arguments).contains("named pipe"), "{tool}");
    }
}

#[test]
fn tool_1_no_result_is_longer_than_its_cap_and_the_rest_is_kept() {
    let mut fixture = fixture(&[]);
    // Control characters grow six-fold when they are written as JSON.
    std::fs::write(fixture.root().join("bells"), "\u{7}".repeat(30_000)).unwrap();
    let ran = fixture.run("read_file", &json!({"path": "bells"}));
    assert!(ran.text.len() <= tripwire_agent::tools::RESULT_BYTES_MAX, "{}", ran.text.len());
    let cut: serde_json::Value = serde_json::from_str(&ran.text).unwrap();
    let pointer = ran.cut.clone().unwrap();
    assert_eq!(cut["pointer"], json!(pointer));
    let whole = fixture.memory.get(&fixture.memory.resolve(&pointer).unwrap()).unwrap();
    let whole: serde_json::Value = serde_json::from_slice(&whole).unwrap();
    assert_eq!(whole["content"].as_str().unwrap().len(), 30_000);
}
