//! The guard is out of the agent's reach, whichever client and tool.

use crate::hooks::fixture::{fixture, shell};
use serde_json::{Value, json};
use std::path::Path;

#[test]
fn ctrl_3_a_write_to_the_guard_is_refused_and_logged_and_the_turn_goes_on() {
    for (client, event) in [("claude", "PreToolUse"), ("codex", "PreToolUse"), ("gemini", "BeforeTool")] {
        let fixture = fixture(client);
        // Refusals in a row end the turn as well (LOOP-7); here each is looked at alone.
        std::fs::write(fixture.geometry("MANIFEST.yaml"), "loops:\n  refusals_hold_threshold: 100\n  error_override_threshold: 100\n  error_hold_threshold: 100\n  error_stop_threshold: 100\n").unwrap();
        for call in [
            json!({"tool_name": "Write", "tool_input": {"file_path": ".geometry/MANIFEST.yaml", "content": ""}}),
            json!({"tool_name": "write_file", "tool_input": {"file_path": ".claude/settings.json", "content": ""}}),
            json!({"tool_name": "Write", "tool_input": {"file_path": "~/.config/tripwire/settings.yaml", "content": ""}}),
            shell("echo 'loops: {ignore: [\"*\"]}' > ~/.config/tripwire/settings.yaml"),
            shell("tripwire tune 3 --exempt-tool"),
            shell("tripwire resume"),
            shell("rm -f .geometry/STOP"),
        ] {
            let denied = fixture.answer(event, &call);
            assert!(denied.to_string().contains("deny"), "{client} {call} {denied}");
            assert_eq!(denied.get("continue"), None, "{client} {call} {denied}");
        }
        assert!(fixture.log().contains("PERMISSION_DENIED") && fixture.log().contains("CTRL-3"), "{}", fixture.log());
        let read = json!({"tool_name": "Read", "tool_input": {"file_path": ".geometry/todo.md"}});
        assert_eq!(fixture.answer(event, &read), Value::Null, "{client}");
        assert_eq!(fixture.answer(event, &shell("cat .geometry/MISSION_BRIEFING.md")), Value::Null, "{client}");
    }
}

#[test]
fn ctrl_3_hammering_at_a_closed_door_is_a_loop() {
    let fixture = fixture("claude");
    let ended = (1..=12).find(|_| fixture.answer("PreToolUse", &shell("rm .geometry/STOP"))["continue"] == false);
    assert!(ended.is_some_and(|n| n <= 8), "{ended:?}");
}

#[test]
fn ctrl_1_an_agent_that_goes_elsewhere_does_not_leave_its_guard_behind() {
    let (fixture, elsewhere) = (fixture("claude"), tripwire_testing::folder());
    std::fs::write(fixture.geometry("STOP"), "").unwrap();
    let mut input = fixture.input("PreToolUse", &shell("ls"));
    input["cwd"] = json!(elsewhere.path());
    let mut command = fixture.command(&["hook", "claude"]);
    command.env("CLAUDE_PROJECT_DIR", fixture.root());
    let output = crate::hooks::fixture::run(command, input.to_string().as_bytes());
    assert!(String::from_utf8_lossy(&output.stdout).contains("stopped by a person"), "{output:?}");
    assert_eq!(std::fs::read_dir(elsewhere.path()).unwrap().count(), 0, "no second workspace was made");
}

/// A shell call whose arguments are written as they stand.
fn raw_shell(fixture: &crate::hooks::fixture::HookFixture, input: &str) -> String {
    let whole = fixture
        .input("PreToolUse", &json!({"tool_name": "Bash", "tool_input": "HERE", "tool_use_id": "t"}))
        .to_string();
    let output = fixture.raw(whole.replace("\"HERE\"", input).as_bytes());
    assert!(output.status.success(), "{output:?}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn ctrl_3_half_a_letter_switches_nothing_off() {
    let fixture = fixture("claude");
    for input in [
        r#"{"command":"echo x > .geometry/SURR # \ud800"}"#,
        r#"{"command":"echo x > .geometry/SURR","description":"\ud83d"}"#,
        r#"{"command":"echo \ud800\u003brm -rf ~"}"#,
    ] {
        assert!(raw_shell(&fixture, input).contains("\"deny\""), "{input}");
    }
    assert_eq!(raw_shell(&fixture, r#"{"command":"echo \ud83d","description":"half a \ud83d smile"}"#), "");
    assert_eq!(raw_shell(&fixture, r#"{"command":"echo \ud83d\ude00"}"#), "");
}

#[test]
fn floor_1_arguments_that_nobody_can_read_wait_for_a_person() {
    let fixture = fixture("claude");
    for levels in [80, 200] {
        let deep = format!("{}{}", "[".repeat(levels), "]".repeat(levels));
        let told = raw_shell(&fixture, &format!(r#"{{"command":"rm -rf ~","x":{deep}}}"#));
        assert!(told.contains("\"deny\"") && told.contains("arguments"), "{told}");
    }
    assert!(raw_shell(&fixture, r#"{"command":"rm .geometry/STOP","x":1e999}"#).contains("\"deny\""));
    assert_eq!(raw_shell(&fixture, r#"{"command":"ls","x":[[[["deep"]]]]}"#), "");
}

#[test]
fn ctrl_3_a_person_s_verbs_are_refused_below_a_client() {
    let fixture = fixture("claude");
    assert_eq!(fixture.answer("PreToolUse", &shell("ls")), Value::Null);
    let verbs: [&[&str]; 6] =
        [&["tune"], &["resume"], &["ack"], &["allow", "--once", "7KQ2-M9"], &["disarm"], &["review", "decide"]];
    for verb in verbs {
        let mut inside = fixture.command(verb);
        inside.env("CLAUDECODE", "1");
        let output = crate::hooks::fixture::run(inside, b"");
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(11), "{verb:?}: {told}");
        assert!(told.contains("is for a person") && told.contains("a terminal of your own"), "{told}");
    }
    // The environment can be shed; the ancestors stay. A shell under the client's name plays the client.
    let client = fixture.root().join("claude");
    tripwire_testing::copy_program(Path::new("/bin/sh"), &client).unwrap();
    let line = format!("{} resume; exit $?", crate::hooks::fixture::TRIPWIRE);
    let below = |folder: &std::path::Path| {
        let mut command = std::process::Command::new(&client);
        command.args(["-c", &line]).current_dir(folder).env_clear();
        command.output().unwrap().status.code()
    };
    assert_eq!(below(&fixture.root()), Some(11));
    // A client that works elsewhere explains its mark in the environment, and is not the one that is guarded here.
    let elsewhere = tripwire_testing::folder();
    let mut far = std::process::Command::new(&client);
    let line =
        format!("{} resume --workspace '{}'; exit $?", crate::hooks::fixture::TRIPWIRE, fixture.root().display());
    far.args(["-c", &line])
        .current_dir(elsewhere.path())
        .env_clear()
        .env("HOME", elsewhere.path())
        .env("CLAUDECODE", "1");
    let far = far.output().unwrap();
    assert_eq!(far.status.code(), Some(0), "{far:?}");
    let own = crate::hooks::fixture::run(fixture.command(&["resume"]), b"");
    assert_eq!(own.status.code(), Some(0), "a person's own terminal: {own:?}");
}

#[test]
fn ctrl_3_our_own_program_is_known_under_another_name() {
    let fixture = fixture("claude");
    let copy = fixture.root().join("tw");
    if std::fs::hard_link(crate::hooks::fixture::TRIPWIRE, &copy).is_err() {
        tripwire_testing::copy_program(Path::new(crate::hooks::fixture::TRIPWIRE), &copy).unwrap();
    }
    assert!(fixture.answer("PreToolUse", &shell("./tw resume")).to_string().contains("deny"));
    assert_eq!(fixture.answer("PreToolUse", &shell("./tw status")), Value::Null);
    assert_eq!(fixture.answer("PreToolUse", &shell("./other resume")), Value::Null);
}
