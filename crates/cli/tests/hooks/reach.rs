//! The guard is out of the agent's reach, whichever client and tool.

use crate::bed::{bed, shell};
use serde_json::{Value, json};

#[test]
fn ctrl_3_a_write_to_the_guard_is_refused_and_logged_and_the_turn_goes_on() {
    for (client, event) in [("claude", "PreToolUse"), ("codex", "PreToolUse"), ("gemini", "BeforeTool")] {
        let bed = bed(client);
        for call in [
            json!({"tool_name": "Write", "tool_input": {"file_path": ".geometry/MANIFEST.yaml", "content": ""}}),
            json!({"tool_name": "write_file", "tool_input": {"file_path": ".claude/settings.json", "content": ""}}),
            shell("tripwire resume"),
            shell("rm -f .geometry/STOP"),
        ] {
            let denied = bed.answer(event, &call);
            assert!(denied.to_string().contains("deny"), "{client} {call} {denied}");
            assert_eq!(denied.get("continue"), None, "{client}");
        }
        assert!(bed.log().contains("PERMISSION_DENIED") && bed.log().contains("CTRL-3"), "{}", bed.log());
        let read = json!({"tool_name": "Read", "tool_input": {"file_path": ".geometry/todo.md"}});
        assert_eq!(bed.answer(event, &read), Value::Null, "{client}");
        assert_eq!(bed.answer(event, &shell("cat .geometry/MISSION_BRIEFING.md")), Value::Null, "{client}");
    }
}

#[test]
fn ctrl_3_hammering_at_a_closed_door_is_a_loop() {
    let bed = bed("claude");
    let ended = (1..=12).find(|_| bed.answer("PreToolUse", &shell("rm .geometry/STOP"))["continue"] == false);
    assert!(ended.is_some_and(|n| n <= 8), "{ended:?}");
}

#[test]
fn ctrl_1_an_agent_that_goes_elsewhere_does_not_leave_its_guard_behind() {
    let (bed, elsewhere) = (bed("claude"), tempfile::tempdir().unwrap());
    std::fs::write(bed.geometry("STOP"), "").unwrap();
    let mut input = bed.input("PreToolUse", &shell("ls"));
    input["cwd"] = json!(elsewhere.path());
    let mut command = bed.command(&["hook", "claude"]);
    command.env("CLAUDE_PROJECT_DIR", bed.root());
    let output = crate::bed::run(command, input.to_string().as_bytes());
    assert!(String::from_utf8_lossy(&output.stdout).contains("stopped by a person"), "{output:?}");
    assert_eq!(std::fs::read_dir(elsewhere.path()).unwrap().count(), 0, "no second workspace was made");
}
