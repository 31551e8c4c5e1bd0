//! Every promise about a client: one test that it is seen broken, one that it is quiet.

use super::*;
use crate::check_result::CheckState;
use crate::install;
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
        settings::with_hooks(
            "{}",
            Client::Claude.adapter().settings,
            &install::command(Path::new(program), Client::Claude),
        )
        .unwrap()
    }

    fn program(&self, script: &str) -> Found {
        let program = self.dir.path().join("claude");
        // By another process: what this one had open could not be executed while a child that another test forked has it too.
        let write = "printf '#!/bin/sh\\n%s\\n' \"$1\" > \"$0\" && chmod 755 \"$0\"";
        let written = std::process::Command::new("sh").args(["-c", write]).arg(&program).arg(script).status();
        assert!(written.unwrap().success());
        Found { client: Client::Claude, program }
    }

    fn check<'a>(&'a self, workspace: &'a Path) -> ClientCheck<'a> {
        ClientCheck { homes: &self.homes, workspace, program: Path::new("/opt/tripwire"), search: None }
    }

    fn checks(&self, found: Option<&Found>) -> Vec<CheckResult> {
        let workspace = self.dir.path().join("work");
        self.check(&workspace).client(Client::Claude, found)
    }
}

fn states(checks: &[CheckResult]) -> Vec<(&str, CheckState)> {
    checks.iter().map(|check| (check.id.as_str(), check.state)).collect()
}

#[test]
fn hooks_that_call_this_program_hold() {
    let machine = Machine::new();
    machine.settings(&machine.installed("/opt/tripwire"));
    let found = machine.program("echo 2.1.0 of me");
    let checks = machine.checks(Some(&found));
    let kept =
        [("claude", CheckState::Kept), ("claude.hooks.user", CheckState::Kept), ("claude.sandbox", CheckState::Off)];
    assert_eq!(states(&checks), kept, "{checks:?}");
    assert!(checks[0].proof.starts_with("2.1.0 of me at `"), "{checks:?}");
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
        let checks = machine.checks(None);
        let broken: Vec<_> = checks.iter().filter(|check| check.state == CheckState::Broken).collect();
        assert_eq!(broken.len(), 1, "{checks:?}");
        assert!(broken[0].id == id && broken[0].proof.contains(words) && !broken[0].fix.is_empty(), "{broken:?}");
    }
}

#[test]
fn settings_with_a_comment_and_no_hooks_of_ours_are_no_matter() {
    let machine = Machine::new();
    machine.settings("{ // mine\n}");
    assert_eq!(states(&machine.checks(None)), [("claude", CheckState::Off)]);
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
    for (search, state) in [(&here, CheckState::Kept), (&elsewhere, CheckState::Broken)] {
        let check = ClientCheck { program: &program, search: Some(search.as_os_str()), ..machine.check(&workspace) };
        let checks = check.client(Client::Claude, None);
        assert_eq!(states(&checks), [("claude", CheckState::Off), ("claude.hooks.user", state)], "{checks:?}");
    }
}

#[test]
fn a_client_without_hooks_is_told_how_to_get_them_and_is_no_failure() {
    let machine = Machine::new();
    let found = machine.program("echo 1");
    let checks = machine.checks(Some(&found));
    let off = [("claude", CheckState::Kept), ("claude.hooks", CheckState::Off), ("claude.sandbox", CheckState::Off)];
    assert_eq!(states(&checks), off, "{checks:?}");
    assert!(checks[1].fix.contains("tripwire init"), "{checks:?}");
    assert_eq!(states(&machine.checks(None)), [("claude", CheckState::Off)]);
}

#[test]
fn a_client_that_cannot_tell_its_version_is_broken() {
    let machine = Machine::new();
    for script in ["exit 3", "true", "kill -SEGV $$"] {
        let found = machine.program(script);
        assert_eq!(machine.checks(Some(&found))[0].state, CheckState::Broken, "{script}");
    }
    let gone = Found { client: Client::Claude, program: "/nowhere/claude".into() };
    assert_eq!(machine.checks(Some(&gone))[0].state, CheckState::Broken);
}
