//! A push to a protected branch is a critical operation however it is spelled, at every client's hook; what only looks like one
//! is none.

use super::fixture::{HookFixture, fixture};
use serde_json::json;

const CLIENTS: [(&str, &str, &str); 3] =
    [("claude", "PreToolUse", "Bash"), ("codex", "PreToolUse", "Bash"), ("gemini", "BeforeTool", "run_shell_command")];

const PUSHES: [&str; 14] = [
    "git push origin main",
    "bash -c 'git push origin main'",
    "eval 'git push origin main'",
    "b=main; git push origin $b",
    "xargs git push origin <<< main",
    "g=git; $g push origin main",
    "$'git' push origin main",
    "echo git push origin main | sh",
    "f(){ git push origin main; }; f",
    "env -S 'git push origin main'",
    "su -c 'git push origin main'",
    "find . -maxdepth 0 -exec git push origin main ';'",
    "p='push origin main'; git $p",
    "python3 -c \"import os; os.system('git push origin main')\"",
];

const LOOK_ALIKES: [&str; 14] = [
    "git push origin feature",
    "echo git push origin main",
    "grep -r 'git push origin main' .",
    "git log origin/main",
    "git commit -m 'git push origin main'",
    "printf '%s\\n' 'git push origin main' > notes.txt",
    "# git push origin main",
    "git push --dry-run origin main",
    "git fetch origin main",
    "git pull origin main",
    "b=feature; git push origin $b",
    "echo git push origin feature | sh",
    "git diff main",
    "f(){ git status; }; f",
];

/// What the hook says to a command of a session of its own, so that no rule about repetition speaks.
fn answer(fixture: &HookFixture, (event, tool): (&str, &str), line: &str, session: usize) -> String {
    let call = json!({"session_id": format!("s{session}"), "tool_name": tool, "tool_input": {"command": line}});
    let output = fixture.call(event, &call);
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

#[test]
fn ident_1_a_push_is_a_push_however_it_is_spelled_at_every_hook() {
    for (client, event, tool) in CLIENTS {
        let fixture = fixture(client);
        for (session, line) in PUSHES.iter().enumerate() {
            let said = answer(&fixture, (event, tool), line, session);
            assert!(said.contains("IDENT-1"), "{client}: {line}: {said}");
        }
    }
}

#[test]
fn ident_1_what_only_looks_like_a_push_passes_at_every_hook() {
    for (client, event, tool) in CLIENTS {
        let fixture = fixture(client);
        for (session, line) in LOOK_ALIKES.iter().enumerate() {
            let said = answer(&fixture, (event, tool), line, session);
            assert!(!said.contains("IDENT-1") && !said.contains("deny"), "{client}: {line}: {said}");
        }
    }
}
