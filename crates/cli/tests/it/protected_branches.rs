//! One list of protected branches, `identity.protected_branches`, at every door; and a look-alike that passes at each.

use crate::agent::fixture::{AgentFixture, finish, shell};
use crate::run::fixture::RunFixture;
use serde_json::json;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

const MANIFEST: &str = "identity:\n  protected_branches: \"prod,ship/*\"\n";
const HELD: [&str; 4] = [
    "git push --force origin prod",
    "g=git; $g push --force origin prod",
    "echo git push -f origin ship/1 | sh",
    "git push origin :prod",
];
const PASSING: [&str; 3] =
    ["git push --force origin prod-notes", "git push -f origin main", "git push -f origin shipped"];

fn protect(workspace: &Path) {
    std::fs::create_dir_all(workspace.join(".geometry")).unwrap();
    std::fs::write(workspace.join(".geometry/MANIFEST.yaml"), MANIFEST).unwrap();
}

fn tripwire(folder: &Path, arguments: &[&str], input: &str) -> (Option<i32>, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tripwire"));
    command.args(arguments).current_dir(folder).env_clear().env("HOME", folder);
    command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    (output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned())
}

#[test]
fn floor_1_the_policys_protected_branches_hold_at_the_verb() {
    let folder = tempfile::tempdir().unwrap();
    protect(folder.path());
    for line in HELD {
        let (code, said) = tripwire(folder.path(), &["judge", "--", line], "");
        assert!(code == Some(11) && said.contains("force-push"), "{line}: {code:?} {said}");
    }
    for line in PASSING {
        assert_eq!(tripwire(folder.path(), &["judge", "--", line], "").0, Some(0), "{line}");
    }
    let (code, _) =
        tripwire(folder.path(), &["judge", "--protected-branch", "main", "--", "git push -f origin main"], "");
    assert_eq!(code, Some(11), "the flag adds to the policy's list");
    std::fs::write(folder.path().join(".geometry/MANIFEST.yaml"), "identity:\n  protected_branches: [").unwrap();
    let (code, said) = tripwire(folder.path(), &["judge", "--", "ls"], "");
    assert!(code != Some(0) && said.is_empty(), "a policy that cannot be read is no policy: {code:?} {said}");
}

#[test]
fn floor_1_the_policys_protected_branches_hold_at_the_hook() {
    let folder = tempfile::tempdir().unwrap();
    protect(folder.path());
    let asked = |line: &str| {
        let event = json!({
            "session_id": "a1", "transcript_path": "/nowhere.jsonl", "cwd": folder.path(), "hook_event_name": "PreToolUse",
            "tool_name": "Bash", "tool_input": {"command": line}, "tool_use_id": "t",
        });
        tripwire(folder.path(), &["hook", "claude"], &event.to_string()).1
    };
    for line in HELD {
        let said = asked(line);
        assert!(said.contains("\"deny\"") && said.contains("FLOOR-1"), "{line}: {said}");
    }
    for line in PASSING {
        assert_eq!(asked(line), "", "{line}");
    }
}

#[test]
fn floor_1_the_policys_protected_branches_hold_under_the_supervisor() {
    let script =
        "begin; tool 'git push --force origin prod'; tool 'git push --force origin prod-notes'; finish; exit 0";
    let fixture = RunFixture::new(script);
    protect(fixture.place());
    let ran = fixture.run(&[]);
    let log = std::fs::read_to_string(fixture.geometry("safety_log.json")).unwrap_or_default();
    assert!(log.contains("the protected branch `prod` on"), "{log}\n{}", ran.stderr);
    assert!(!log.contains("prod-notes"), "{log}");
}

#[test]
fn floor_1_the_policys_protected_branches_hold_in_the_own_loop() {
    let fixture = AgentFixture::new();
    protect(&fixture.work());
    let answers =
        [shell("git push --force origin prod"), shell("git push --force origin prod-notes"), finish(), finish()];
    let run = fixture.agent(&answers, &["--max-iterations", "1"]);
    let log = fixture.safety_log();
    assert!(log.contains("the protected branch `prod` on"), "{log}\n{}", run.stdout);
    assert!(!log.contains("protected branch `prod-notes`"), "{log}");
}
