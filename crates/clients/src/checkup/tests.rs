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
        // By another process: what this one had open could not be executed while a child that another test forked has it too.
        let write = "printf '#!/bin/sh\\n%s\\n' \"$1\" > \"$0\" && chmod 755 \"$0\"";
        let written = std::process::Command::new("sh").args(["-c", write]).arg(&program).arg(script).status();
        assert!(written.unwrap().success());
        Found { client: Client::Claude, program }
    }

    fn patient<'a>(&'a self, workspace: &'a Path) -> Patient<'a> {
        Patient { homes: &self.homes, workspace, program: Path::new("/opt/tripwire"), search: None }
    }

    fn promises(&self, found: Option<&Found>) -> Vec<Promise> {
        let workspace = self.dir.path().join("work");
        self.patient(&workspace).client(Client::Claude, found)
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
        (right.replacen('{', "{ // mine", 1), "claude.hooks.user", "line 1: Claude Code ignores settings"),
    ] {
        machine.settings(&text);
        let promises = machine.promises(None);
        let broken: Vec<_> = promises.iter().filter(|promise| promise.state == State::Broken).collect();
        assert_eq!(broken.len(), 1, "{promises:?}");
        assert!(broken[0].id == id && broken[0].proof.contains(words) && !broken[0].fix.is_empty(), "{broken:?}");
    }
}

#[test]
fn settings_with_a_comment_and_no_hooks_of_ours_are_no_matter() {
    let machine = Machine::new();
    machine.settings("{ // mine\n}");
    assert_eq!(states(&machine.promises(None)), [("claude", State::Off)]);
}

#[test]
fn hooks_by_hand_hold_if_the_search_path_leads_to_this_program() {
    let machine = Machine::new();
    let (here, elsewhere) = (machine.dir.path().join("here"), machine.dir.path().join("elsewhere"));
    for (folder, text) in [(&here, "this"), (&elsewhere, "that")] {
        std::fs::create_dir(folder).unwrap();
        std::fs::write(folder.join("tripwire"), text).unwrap();
        std::fs::set_permissions(folder.join("tripwire"), std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    let by_hand = machine.installed("/x").replace("TRIPWIRE_HOOK_SECONDS=90 '/x'", "tripwire").replace("90", "30");
    machine.settings(&by_hand);
    let (program, workspace) = (here.join("tripwire"), machine.dir.path().join("work"));
    for (search, state) in [(&here, State::Kept), (&elsewhere, State::Broken)] {
        let patient = Patient { program: &program, search: Some(search.as_os_str()), ..machine.patient(&workspace) };
        let promises = patient.client(Client::Claude, None);
        assert_eq!(states(&promises), [("claude", State::Off), ("claude.hooks.user", state)], "{promises:?}");
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
