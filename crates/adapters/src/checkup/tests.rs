//! Every promise about a client: one test that it is seen broken, one that it is quiet.

use super::*;
use std::os::unix::fs::PermissionsExt as _;

struct Machine {
    dir: tempfile::TempDir,
    homes: Homes,
}

impl Machine {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let homes = Homes { home: Some(dir.path().join("home")), ..Homes::default() };
        Self { dir, homes }
    }

    fn settings(&self, text: &str) {
        let file = self.dir.path().join("home/.claude/settings.json");
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, text).unwrap();
    }

    fn installed(&self, program: &str) -> String {
        settings::with_hooks("{}", Client::Claude, &install::command(Path::new(program), Client::Claude)).unwrap()
    }

    fn program(&self, script: &str) -> Found {
        let program = self.dir.path().join("claude");
        std::fs::write(&program, format!("#!/bin/sh\n{script}\n")).unwrap();
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
        Found { client: Client::Claude, program }
    }

    fn promises(&self, found: Option<&Found>) -> Vec<Promise> {
        let workspace = self.dir.path().join("work");
        let patient = Patient { homes: &self.homes, workspace: &workspace, program: Path::new("/opt/tripwire") };
        patient.client(Client::Claude, found)
    }
}

fn states(promises: &[Promise]) -> Vec<(&str, State)> {
    promises.iter().map(|promise| (promise.id.as_str(), promise.state)).collect()
}

#[test]
fn hooks_that_call_this_program_hold() {
    let machine = Machine::new();
    machine.settings(&machine.installed("/opt/tripwire"));
    let found = machine.program("echo 2.1.0 of me");
    let promises = machine.promises(Some(&found));
    assert_eq!(states(&promises), [("claude", State::Kept), ("claude.hooks.user", State::Kept)], "{promises:?}");
    assert!(promises[0].proof.starts_with("2.1.0 of me at `"), "{promises:?}");
}

#[test]
fn hooks_that_are_foreign_incomplete_switched_off_or_unreadable_are_broken() {
    let machine = Machine::new();
    let right = machine.installed("/opt/tripwire");
    let incomplete = right.replacen("\"PreToolUse\"", "\"NoToolUse\"", 1);
    let off = right.replacen('{', "{\"disableAllHooks\": true,", 1);
    for (text, id, words) in [
        (machine.installed("/old/tripwire"), "claude.hooks.user", "another program"),
        (incomplete, "claude.hooks.user", "lacks some"),
        (right.replace("\"*\"", "\"NoSuchTool\""), "claude.hooks.user", "not for every tool"),
        (off, "claude.hooks.user.switch", "disableAllHooks"),
        ("{".to_owned(), "claude.hooks.user", "cannot be read"),
    ] {
        machine.settings(&text);
        let promises = machine.promises(None);
        let broken: Vec<_> = promises.iter().filter(|promise| promise.state == State::Broken).collect();
        assert_eq!(broken.len(), 1, "{promises:?}");
        assert!(broken[0].id == id && broken[0].proof.contains(words) && !broken[0].fix.is_empty(), "{broken:?}");
    }
}

#[test]
fn a_client_without_hooks_is_told_how_to_get_them_and_is_no_failure() {
    let machine = Machine::new();
    let found = machine.program("echo 1");
    let promises = machine.promises(Some(&found));
    assert_eq!(states(&promises), [("claude", State::Kept), ("claude.hooks", State::Off)], "{promises:?}");
    assert!(promises[1].fix.contains("tripwire init"), "{promises:?}");
    assert_eq!(states(&machine.promises(None)), [("claude", State::Off)]);
}

#[test]
fn a_client_that_cannot_tell_its_version_is_broken() {
    let machine = Machine::new();
    for script in ["exit 3", "true", "kill -SEGV $$"] {
        let found = machine.program(script);
        assert_eq!(machine.promises(Some(&found))[0].state, State::Broken, "{script}");
    }
    let gone = Found { client: Client::Claude, program: "/nowhere/claude".into() };
    assert_eq!(machine.promises(Some(&gone))[0].state, State::Broken);
}
