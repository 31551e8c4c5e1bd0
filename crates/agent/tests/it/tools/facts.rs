//! What the engine learns from a call: the same facts as through every other door.

use crate::tools::fixture::{Fixture, call, fixture};
use serde_json::{Value, json};
use tripwire_agent::tools::{ToolFault, decode};
use tripwire_core::chain::event::{AgentEvent, ErrorClass, Flag, Status};
use tripwire_core::input::Permission;
use tripwire_observe::{Observer, RawCall, observe};
use tripwire_secrets::Redactor;

fn event(fixture: &mut Fixture, tool: &str, arguments: &Value) -> AgentEvent {
    let ran = fixture.run(tool, arguments);
    let call = call(tool, arguments);
    let decoded = decode(&call, fixture.registry.entries()).unwrap();
    ran.event(&decoded, &fixture.files, &mut Observer::default(), &Redactor::default())
}

#[test]
fn chain_2_the_request_and_the_event_name_the_same_action() {
    let mut fixture = fixture(&[("src/a.rs", "x\n")]);
    let absolute = fixture.root().join("src/a.rs");
    let arguments = json!({"path": absolute, "old": "x", "new": "y"});
    let call = call("edit", &arguments);
    let asked = decode(&call, fixture.registry.entries()).unwrap().meaning(&fixture.files, &fixture.memory);
    assert_eq!(asked.action.target.as_ref().unwrap().as_str(), "src/a.rs");
    assert_eq!(asked.action.signature.as_ref().unwrap().as_str(), "Edit(file=a.rs)");
    assert_eq!(asked.writes, ["src/a.rs"]);
    assert_eq!(asked.permissions, [Permission::CanExecuteTasks, Permission::Write, Permission::CanEditSource]);
    let event = event(&mut fixture, "edit", &arguments);
    assert_eq!(event.action.as_ref().unwrap().exact(), asked.action.exact());
    assert!(event.flags.has(Flag::Edit) && !event.failed());
}

#[test]
fn chain_2_a_patch_names_all_files_that_it_would_write() {
    let fixture = fixture(&[]);
    let patch = "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n--- a/../y\n+++ b/../y\n@@ -1 +1 @@\n-a\n+b\n";
    let call = call("edit", &json!({"patch": patch}));
    let asked = decode(&call, fixture.registry.entries()).unwrap().meaning(&fixture.files, &fixture.memory);
    assert_eq!(asked.writes, ["x", "../y"]);
}

#[test]
fn chain_2_reads_searches_and_failed_edits_carry_their_flags() {
    let mut fixture = fixture(&[("a", "x\n")]);
    assert!(event(&mut fixture, "read_file", &json!({"path": "a"})).flags.has(Flag::Read));
    assert!(event(&mut fixture, "search", &json!({"pattern": "x"})).flags.has(Flag::Search));
    let failed = event(&mut fixture, "edit", &json!({"path": "a", "old": "never", "new": "y"}));
    assert!(failed.failed() && !failed.flags.has(Flag::Edit) && failed.flags.has(Flag::Change));
    assert_eq!(failed.outcome.unwrap().error_class, Some(ErrorClass::Tool));
    assert!(failed.error_digest.is_some());
    let refused = event(&mut fixture, "write", &json!({"path": ".geometry/STOP", "content": ""}));
    assert_eq!(refused.outcome.unwrap().error_class, Some(ErrorClass::Refused));
}

#[test]
fn chain_2_the_text_of_a_file_is_no_error_whatever_it_says() {
    let mut fixture = fixture(&[("log", "error: everything failed\nTraceback (most recent call last)\n")]);
    let event = event(&mut fixture, "read_file", &json!({"path": "log"}));
    assert_eq!(event.outcome.unwrap().status, Status::Ok);
}

#[test]
fn loop_1_the_same_wrong_call_is_the_same_action_and_the_same_error() {
    let fixture = fixture(&[]);
    let wrong = call("raed_file", &json!({"path": "a"}));
    let fault = decode(&wrong, fixture.registry.entries()).unwrap_err();
    assert!(matches!(fault, ToolFault::UnknownTool { .. }));
    let mut observer = Observer::default();
    let first = fault.event(&wrong, &fixture.files, &mut observer);
    let second = fault.event(&wrong, &fixture.files, &mut observer);
    assert_eq!(first.action.as_ref().unwrap().exact(), second.action.as_ref().unwrap().exact());
    assert_eq!((first.error_digest.clone(), first.failed()), (second.error_digest.clone(), true));
    let plain = observe(&RawCall { tool: "raed_file", args: &wrong.arguments, ..RawCall::default() });
    assert_eq!(plain.action.exact(), first.action.unwrap().exact());
}
