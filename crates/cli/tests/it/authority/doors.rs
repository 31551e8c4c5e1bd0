//! Every permission at every door that exists: granted it happens, denied it does not, and the refusal is journaled.
//!
//! A new door adds rows to `ROWS`; a permission without a row fails the last test.

use crate::session::fixture::{Place, Said};
use serde_json::json;
use std::fs;
use tripwire_core::input::Permission;

/// One permission at one door: who has it, who lacks it, and what happens then.
struct Row {
    permission: Permission,
    door: &'static str,
    granted: &'static str,
    denied: &'static str,
    try_it: fn(&Place, &str) -> Tried,
}

/// What an attempt led to.
struct Tried {
    /// Whether the thing was done: a permit was issued and used.
    done: bool,
    said: String,
}

const ROWS: &[Row] = &[
    row(Permission::CanExecuteTasks, "driver", "tester", "observer", |place, role| step(place, role, "Bash", None)),
    row(Permission::CanEditSource, "driver", "developer", "tester", |place, role| {
        step(place, role, "Edit", Some("src/a"))
    }),
    row(Permission::Write, "driver", "tester", "reviewer", |place, role| {
        step(place, role, "Edit", Some("/elsewhere/a"))
    }),
    row(Permission::CanExecuteTasks, "hook", "tester", "observer", |place, role| {
        hook(place, role, "Read", json!({"file_path": "a"}))
    }),
    row(Permission::CanEditSource, "hook", "developer", "tester", |place, role| {
        hook(place, role, "Edit", json!({"file_path": "a"}))
    }),
    row(Permission::Write, "hook", "tester", "reviewer", |place, role| {
        hook(place, role, "Bash", json!({"command": "ls"}))
    }),
    row(Permission::CanWriteMemories, "memory", "tester", "reviewer", put),
    row(Permission::CanAccessPrivateMemories, "memory", "developer", "tester", get_private),
    row(Permission::ContinueAfterConvergence, "driver", "developer", "reviewer", converge),
    row(Permission::CanExecuteTasks, "sandbox", "tester", "observer", |place, role| confined(place, role, &[], "true")),
    row(Permission::CanEditSource, "sandbox", "developer", "tester", |place, role| {
        confined(place, role, &[], "echo x > made")
    }),
    row(Permission::Write, "sandbox", "developer", "reviewer", |place, role| {
        confined(place, role, &[], "echo x > made")
    }),
    row(Permission::Read, "hook", "developer", "hermit", |place, role| {
        hook(place, role, "Read", json!({"file_path": "secrets/key"}))
    }),
    row(Permission::Read, "hook", "developer", "hermit", |place, role| {
        hook(place, role, "Bash", json!({"command": "cd secrets; sudo cat ./key"}))
    }),
    row(Permission::Reach, "sandbox", "developer", "hermit", |place, role| {
        confined(place, role, &["--allow-host", "example.com"], "true")
    }),
];

const fn row(
    permission: Permission,
    door: &'static str,
    granted: &'static str,
    denied: &'static str,
    try_it: fn(&Place, &str) -> Tried,
) -> Row {
    Row { permission, door, granted, denied, try_it }
}

/// A place with one more role, which may run tools, reach nothing and read no secrets.
fn place() -> Place {
    let place = Place::new();
    place.manifest("roles:\n  hermit: [can_execute_tasks, can_edit_source]\n");
    let policies = format!(
        "{}\nforbid (principal in Role::\"hermit\", action == Action::\"reach\", resource);\n\
         forbid (principal in Role::\"hermit\", action == Action::\"read\", resource in Path::\"secrets\");\n",
        tripwire_authority::DEFAULT_POLICIES
    );
    fs::write(place.geometry("policy.cedar"), policies).unwrap();
    place
}

fn tried((said, done): (&Said, bool)) -> Tried {
    Tried { done, said: format!("{}{}", said.out, said.err) }
}

fn step(place: &Place, role: &str, tool: &str, target: Option<&str>) -> Tried {
    let line = json!({"at": 0, "what": {"request": {"action": {"tool": tool, "target": target}}}}).to_string();
    let said = place.feed(&["step", "-", "--role", role, "--json"], &format!("{line}\n"));
    let allowed = said.json_lines().pop().is_some_and(|decision| decision["safety"]["allowed"] == true);
    tried((&said, allowed && said.code == 0))
}

fn hook(place: &Place, role: &str, tool: &str, input: serde_json::Value) -> Tried {
    let call = json!({"session_id": "s", "cwd": place.work(), "hook_event_name": "PreToolUse", "tool_name": tool,
                      "tool_input": input, "tool_use_id": "t"});
    let mut command = place.command(&["hook", "claude"]);
    command.env("TRIPWIRE_ROLE", role);
    let said = Said::of(crate::session::fixture::feed(command, call.to_string().as_bytes()));
    tried((&said, said.code == 0 && !said.out.contains("deny")))
}

fn put(place: &Place, role: &str) -> Tried {
    let said = place.feed(&["memory", "put", "-", "--role", role, "--json"], "a note");
    let stored = place.run(&["memory", "list"]).out;
    tried((&said, said.code == 0 && stored.contains("mem:")))
}

fn get_private(place: &Place, role: &str) -> Tried {
    let pointer = place.feed(&["memory", "put", "-", "--private"], "a secret").ended(0).out;
    let said = place.run(&["memory", "get", pointer.trim(), "--role", role]);
    let listed = place.run(&["memory", "list", "--role", role]).out;
    assert_eq!(listed.contains(pointer.trim()), said.code == 0, "a listing shows what may be read");
    let done = said.code == 0 && said.out == "a secret";
    assert!(done || !said.out.contains("secret"));
    tried((&said, done))
}

/// Three iterations that end with the same workspace, then a request.
fn converge(place: &Place, role: &str) -> Tried {
    let claim = json!({"at": 0, "what": {"claim": {"workspaceHash": "same"}}}).to_string();
    let begin = json!({"at": 0, "what": "iterationStarted"}).to_string();
    let lines = format!("{begin}\n{claim}\n").repeat(3);
    place.feed(&["step", "-", "--role", role], &lines);
    let read = json!({"at": 0, "what": {"request": {"action": {"tool": "Read"}}}}).to_string();
    let said = place.feed(&["step", "-", "--role", role, "--json"], &format!("{read}\n"));
    assert!(said.code == 0 || said.code == 5, "held, not failed: {}", said.out);
    let mut tried = tried((&said, said.code == 0));
    tried.said.push_str("stop_on_convergence");
    tried
}

fn confined(place: &Place, role: &str, more: &[&str], script: &str) -> Tried {
    let work = place.work().display().to_string();
    let start = ["sandbox", "exec", "--json", "--workspace", &work, "--role", role];
    let said = place.run(&[&start, more, &["--", "bash", "-c", script]].concat());
    let made = !script.contains("made") || place.work().join("made").exists();
    tried((&said, said.code == 0 && made))
}

/// Whether this machine can confine at all; without that the sandbox's rows say nothing.
fn can_confine() -> bool {
    let place = Place::new();
    place.manifest("");
    let can = confined(&place, "developer", &[], "true").done;
    if !can {
        crate::session::fixture::skip("the sandbox does not run here, so its rows are not tried");
    }
    can
}

#[test]
fn perm_1_every_permission_holds_at_every_door() {
    let can_confine = can_confine();
    for row in ROWS.iter().filter(|row| can_confine || row.door != "sandbox") {
        let name = format!("{:?} at {}", row.permission, row.door);
        let yes = (row.try_it)(&place(), row.granted);
        assert!(yes.done, "{name}: {} has it: {}", row.granted, yes.said);
        let at = place();
        let no = (row.try_it)(&at, row.denied);
        assert!(!no.done, "{name}: {} lacks it: {}", row.denied, no.said);
        // A mount that is read-only refuses by itself; everywhere else the refusal names the rule.
        let by_mount = row.door == "sandbox"
            && row.permission != Permission::CanExecuteTasks
            && row.permission != Permission::Reach;
        if by_mount {
            continue;
        }
        let named = no.said.contains(row.permission.name()) || no.said.contains("stop_on_convergence");
        assert!(
            named && (no.said.contains(row.denied) || row.permission == Permission::ContinueAfterConvergence),
            "{name}: {}",
            no.said
        );
        if row.permission != Permission::ContinueAfterConvergence {
            let log = at.run(&["log", "--json"]).ended(0).out;
            assert!(log.contains("PERM-1"), "{name}: the refusal is journaled: {log}");
        }
    }
}

#[test]
fn perm_1_every_permission_has_a_row() {
    for permission in Permission::ALL {
        assert!(ROWS.iter().any(|row| row.permission == permission), "{permission:?} is enforced at no door");
    }
}

#[test]
fn perm_1_a_request_without_role_and_permission_is_denied_at_the_driver() {
    let place = Place::new();
    let line = json!({"at": 0, "what": {"request": {"action": {"tool": "Read"}}}}).to_string();
    let said = place.step(&format!("{line}\n")).ended(11);
    assert!(said.out.contains("PermissionDenied") && said.out.contains("can_execute_tasks"), "{}", said.out);
}

#[test]
fn perm_1_a_refusal_has_the_same_fields_for_programs() {
    let place = Place::new();
    let said = place.feed(&["memory", "put", "-", "--role", "reviewer", "--json"], "x").ended(11);
    let refused = &said.json()["refused"];
    assert_eq!(refused["error"], "PermissionDenied");
    assert_eq!((refused["role"].as_str(), refused["rule"].as_str()), (Some("reviewer"), Some("PERM-1")));
    assert_eq!(refused["permission"], "can_write_memories");
    assert!(refused["fix"].as_str().unwrap().contains("--role"), "{refused}");
    place.feed(&["memory", "put", "-", "--role", "reviewer"], "x").ended(11).complains("`can_write_memories`");
}
