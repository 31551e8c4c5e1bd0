//! `tripwire identity`, and critical operations at the door of a hook.

use crate::session::fixture::{Place, Said, feed};
use serde_json::json;
use std::fs;

/// A workspace with a prompt and tools, whose configuration somebody vouched for.
fn signed() -> Place {
    let place = Place::new();
    place.manifest("");
    fs::remove_file(place.geometry("MANIFEST.yaml")).unwrap();
    fs::write(place.work().join("CLAUDE.md"), "be careful\n").unwrap();
    fs::write(place.work().join(".mcp.json"), "{}\n").unwrap();
    let said = place.run(&["identity", "sign", "--name", "nightly"]).ended(0).says("signed sha256:");
    assert!(said.err.contains("made a signing key"), "{}", said.err);
    place
}

fn push(place: &Place, session: &str, role: &str) -> Said {
    let call = json!({"session_id": session, "cwd": place.work(), "hook_event_name": "PreToolUse", "tool_name": "Bash",
                      "tool_input": {"command": "git push origin main"}, "tool_use_id": "t"});
    let mut command = place.command(&["hook", "claude"]);
    command.env("TRIPWIRE_ROLE", role);
    Said::of(feed(command, call.to_string().as_bytes())).ended(0)
}

#[test]
fn ident_1_a_signed_configuration_verifies_and_show_names_its_parts() {
    let place = signed();
    place.run(&["identity", "verify"]).ended(0).says("`nightly`");
    let shown = place.run(&["identity", "show", "--json"]).ended(0).json();
    assert!(shown["agentChecksum"].as_str().unwrap().starts_with("sha256:"));
    assert_eq!(shown["pinned"], shown["agentChecksum"], "signing fills the manifest");
    for part in ["policy", "permissions", "prompt", "tools"] {
        assert_eq!(shown["parts"][part].as_str().unwrap().len(), 64, "{part}");
    }
    assert!(shown["key"].as_str().unwrap().starts_with("tripwire-identity+"));
    let key = place.path().join("state/tripwire/keys/identity.key");
    let mode = std::os::unix::fs::MetadataExt::mode(&fs::metadata(key).unwrap());
    assert_eq!(mode & 0o777, 0o600);
    let again = place.run(&["identity", "sign"]).ended(0);
    assert!(!again.err.contains("made a signing key"), "{}", again.err);
}

#[test]
fn ident_1_a_changed_prompt_tool_policy_or_permission_is_refused_by_name() {
    for (file, text, part) in [
        ("CLAUDE.md", "be bold\n", "prompt"),
        (".mcp.json", "{\"mcpServers\":{}}", "tools"),
        (".claude/settings.json", "{}", "client"),
        (".geometry/policy.cedar", "permit (principal, action, resource);", "permissions"),
    ] {
        let place = signed();
        let path = place.work().join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
        place.run(&["identity", "verify"]).ended(11).complains(&format!("these parts changed: {part}"));
    }
    let place = signed();
    let manifest = fs::read_to_string(place.geometry("MANIFEST.yaml")).unwrap();
    place.manifest(&manifest.replace("max_iterations: 100", "max_iterations: 7"));
    place.run(&["identity", "verify"]).ended(11).complains("these parts changed: policy");
}

#[test]
fn ident_1_a_list_that_was_changed_or_signed_by_a_stranger_does_not_hold() {
    let place = signed();
    let list = place.geometry("gold_standard.note");
    let text = fs::read_to_string(&list).unwrap();
    fs::write(&list, text.replace("nightly", "nightlx")).unwrap();
    place.run(&["identity", "verify"]).ended(9).complains("does not hold");
    place.run(&["identity", "sign"]).ended(9).complains("does not hold");
    fs::write(&list, &text).unwrap();
    place.run(&["identity", "verify"]).ended(0);
    // Another person does not trust it until told to.
    let stranger = |args: &[&str]| {
        let mut command = place.command(args);
        command.env("XDG_STATE_HOME", place.path().join("home"));
        Said::of(command.output().unwrap())
    };
    let verify = ["identity", "verify"];
    stranger(&verify).ended(9).complains("no key is trusted");
    let key = place.run(&["identity", "show", "--json"]).json()["key"].as_str().unwrap().to_owned();
    stranger(&["identity", "trust", &key]).ended(0).says("trusted");
    stranger(&verify).ended(0);
    stranger(&["identity", "trust", "rubbish"]).ended(2).complains("`rubbish` is not a verifier key");
}

#[test]
fn ident_1_without_a_list_or_with_another_role_it_is_refused() {
    let place = Place::new();
    place.run(&["identity", "verify"]).ended(11).complains("there is no gold-standard list");
    let place = signed();
    place.run(&["identity", "verify", "--role", "tester"]).ended(11).complains("role `tester`");
    place.run(&["identity", "show", "--prompt", "/nonexistent"]).ended(2).complains("cannot open");
    let inside = Place::new();
    let mut command = inside.command(&["identity", "sign"]);
    command.env("XDG_STATE_HOME", inside.work());
    Said::of(command.output().unwrap()).ended(9).complains("inside the workspace");
}

#[test]
fn ident_1_a_push_to_a_protected_branch_needs_the_checksum_and_the_role() {
    let place = signed();
    assert_eq!(push(&place, "a", "developer").out, "", "listed and authorized");
    let tester = push(&place, "b", "tester");
    assert!(tester.out.contains("deny") && tester.out.contains("authorized_roles"), "{}", tester.out);
    fs::write(place.work().join("CLAUDE.md"), "push whatever you like\n").unwrap();
    for session in ["a", "c"] {
        let changed = push(&place, session, "developer");
        assert!(changed.out.contains("deny") && changed.out.contains("gold-standard"), "{session}: {}", changed.out);
    }
    let unsigned = Place::new();
    let denied = push(&unsigned, "a", "developer");
    assert!(denied.out.contains("deny") && denied.out.contains("gold-standard"), "{}", denied.out);
}

#[test]
fn ident_1_a_session_of_another_workflow_does_nothing_critical() {
    let place = signed();
    assert_eq!(push(&place, "a", "developer").out, "", "no workflow is named: each session is bound to its own id");
    let manifest = fs::read_to_string(place.geometry("MANIFEST.yaml")).unwrap();
    place.manifest(&manifest.replace("workflow_binding: null", "workflow_binding: \"release-7\""));
    place.run(&["identity", "show"]).ended(0).says("workflow_binding  release-7");
    let old = push(&place, "a", "developer");
    assert!(old.out.contains("deny") && old.out.contains("workflow_binding"), "{}", old.out);
    assert_eq!(push(&place, "b", "developer").out, "", "a session that is begun now belongs to it");
    place.manifest(&manifest);
    assert_eq!(push(&place, "b", "developer").out, "", "none is named again");
}
