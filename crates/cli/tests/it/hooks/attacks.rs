//! What an agent can put in the way of its guard, each with the honest neighbour that must stay quiet.

use crate::hooks::fixture::{HookFixture, fixture, run, shell};
use serde_json::{Value, json};
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use tripwire_testing::write_program;

fn git(folder: &Path, words: &[&str]) {
    let mut git = Command::new("git");
    git.args(["-c", "user.name=x", "-c", "user.email=x@example.invalid", "-c", "protocol.file.allow=always"])
        .args(words);
    git.current_dir(folder).env("GIT_CONFIG_GLOBAL", "/dev/null").stdin(Stdio::null());
    let output = git.output().unwrap();
    assert!(output.status.success(), "git {words:?}: {output:?}");
}

/// A repository with one committed file, and a program beside it that leaves a mark when it is run.
fn trapped(fixture: &HookFixture) -> (String, std::path::PathBuf) {
    let (root, mark) = (fixture.root(), fixture.root().join("../sprung"));
    git(&root, &["init", "-q"]);
    fs::write(root.join("a"), "one\n").unwrap();
    git(&root, &["add", "a"]);
    git(&root, &["commit", "-qm", "x"]);
    let trap = root.join("../trap.sh");
    write_program(&trap, &format!("#!/bin/sh\ntouch {}\ncat\n", mark.display())).unwrap();
    (trap.display().to_string(), mark)
}

fn pipe(path: &Path) {
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}

/// Calls the hook for a tool as a client with this patience would.
fn within(fixture: &HookFixture, client: &str, seconds: &str, call: &Value) -> (std::process::Output, Duration) {
    let event = if client == "gemini" { "BeforeTool" } else { "PreToolUse" };
    let mut command = fixture.command(&["hook", client]);
    command.env("TRIPWIRE_HOOK_SECONDS", seconds).env("PATH", std::env::var_os("PATH").unwrap_or_default());
    let start = Instant::now();
    (run(command, fixture.input(event, call).to_string().as_bytes()), start.elapsed())
}

fn is_refused(output: &std::process::Output) -> bool {
    output.status.code() == Some(2) || String::from_utf8_lossy(&output.stdout).contains("\"deny\"")
}

#[test]
fn floor_1_asking_git_runs_nothing_of_the_repositorys() {
    let fixture = fixture("claude");
    let (trap, mark) = trapped(&fixture);
    let root = fixture.root();
    git(&root, &["config", "filter.a=b.clean", &trap]);
    fs::write(root.join(".gitattributes"), "* filter=a=b\n").unwrap();
    git(&root, &["config", "core.fsmonitor", &trap]);
    git(&root, &["init", "-q", "../m"]);
    let module = root.join("../m");
    fs::write(module.join("f"), "1\n").unwrap();
    git(&module, &["add", "f"]);
    git(&module, &["commit", "-qm", "f"]);
    git(&root, &["-c", "core.fsmonitor=false", "submodule", "--quiet", "add", "../m", "sub"]);
    git(&root.join("sub"), &["config", "filter.evil.clean", &trap]);
    fs::write(root.join(".git/modules/sub/info/attributes"), "* filter=evil\n").unwrap();
    fs::write(root.join("sub/f"), "2\n").unwrap();
    fs::write(root.join("a"), "two\n").unwrap();
    drop(fs::remove_file(&mark));
    let (held, _) = within(&fixture, "claude", "90", &shell("git checkout -- ."));
    assert!(is_refused(&held) && String::from_utf8_lossy(&held.stdout).contains("uncommitted"), "{held:?}");
    let (held, _) = within(&fixture, "claude", "90", &shell("git reset --hard --recurse-submodules"));
    assert!(is_refused(&held), "{held:?}");
    assert!(!mark.exists(), "a program of the repository was run");
}

#[test]
fn floor_1_a_clean_repository_with_a_filter_stays_quiet() {
    let fixture = fixture("claude");
    let (trap, mark) = trapped(&fixture);
    git(&fixture.root(), &["config", "filter.lfs.clean", &trap]);
    git(&fixture.root(), &["config", "filter.lfs.required", "true"]);
    fs::write(fixture.root().join(".git/info/attributes"), "* filter=lfs\n").unwrap();
    let (output, _) = within(&fixture, "claude", "90", &shell("git checkout -- ."));
    assert!(output.status.success() && output.stdout.is_empty() && !mark.exists(), "{output:?}");
}

#[test]
fn const_5_a_client_that_keeps_its_pipe_open_hears_a_refusal() {
    use std::io::Write as _;
    let fixtures = ["claude", "codex", "gemini"].map(|client| (client, fixture(client)));
    let mut waiting = Vec::new();
    for (client, fixture) in &fixtures {
        let whole = fixture.input("PreToolUse", &shell("ls")).to_string();
        for text in ["", whole.as_str()] {
            let mut command = fixture.command(&["hook", client]);
            let mut child = command.env("TRIPWIRE_HOOK_SECONDS", "1").spawn().unwrap();
            let mut open = child.stdin.take().unwrap();
            open.write_all(text.as_bytes()).unwrap();
            waiting.push((child, open));
        }
    }
    for (child, open) in waiting {
        let output = child.wait_with_output().unwrap();
        drop(open);
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        assert!(String::from_utf8_lossy(&output.stderr).contains("found no answer"), "{output:?}");
    }
}

#[test]
fn floor_1_a_script_that_the_agent_wrote_is_read_when_it_runs() {
    let fixture = fixture("claude");
    let write = |name: &str| fs::write(fixture.root().join(name), "#!/bin/sh\nrm -rf ~\n").unwrap();
    write("before.sh");
    if fixture.root().join("before.sh").metadata().unwrap().created().is_err() {
        return tripwire_testing::skip("this disk keeps no times of birth: scripts of a session were not tried");
    }
    assert_eq!(fixture.answer("PreToolUse", &shell("ls")), Value::Null, "the session begins");
    write("s.sh");
    for line in ["sh s.sh", "cd . && ./s.sh"] {
        let answer = fixture.answer("PreToolUse", &shell(line));
        assert_eq!(answer["hookSpecificOutput"]["permissionDecision"], "deny", "{line}: {answer}");
        assert!(answer.to_string().contains("in `s.sh`, which this session wrote"), "{line}: {answer}");
    }
    for line in ["sh before.sh", "cat s.sh", "chmod +x s.sh"] {
        assert_eq!(fixture.answer("PreToolUse", &shell(line)), Value::Null, "{line}");
    }
}

#[test]
fn floor_1_a_command_is_judged_at_every_tool() {
    for (client, tool, input) in [
        ("claude", "Monitor", json!({"command": "rm -rf ~", "description": "x"})),
        ("claude", "mcp__desktop-commander__start_process", json!({"command": "rm -rf ~", "timeout_ms": 1})),
        ("claude", "mcp__x__run", json!({"script": "rm -rf ~"})),
        ("claude", "Bash", json!({"command": "ls", "cmd": "rm -rf ~"})),
        ("codex", "local_shell", json!({"action": {"command": ["rm", "-rf", "~"]}})),
        ("codex", "write_stdin", json!({"session_id": 1, "chars": "rm -rf ~\n"})),
        ("gemini", "run_shell_command", json!({"command": "rm -rf ~"})),
    ] {
        let fixture = fixture(client);
        let (output, _) =
            within(&fixture, client, "90", &json!({"tool_name": tool, "tool_input": input, "tool_use_id": "t"}));
        assert!(is_refused(&output), "{tool} {input}: {output:?}");
    }
    let fixture = fixture("claude");
    for (tool, input) in [
        ("Monitor", json!({"command": "tail -f log", "description": "rm -rf ~"})),
        ("Write", json!({"file_path": "x.sh", "content": "rm -rf ~"})),
        ("Task", json!({"prompt": "never run rm -rf ~", "description": "x"})),
        ("mcp__jira__create_issue", json!({"text": "rm -rf ~"})),
    ] {
        let (output, _) =
            within(&fixture, "claude", "90", &json!({"tool_name": tool, "tool_input": input, "tool_use_id": "t"}));
        assert!(output.status.success() && output.stdout.is_empty(), "{tool}: {output:?}");
    }
}

#[test]
fn const_5_pipes_in_the_place_of_files_keep_no_hook_waiting() {
    for name in ["transcript", "AGENTS.md", "CLAUDE.md", ".mcp.json"] {
        for client in ["claude", "codex", "gemini"] {
            let fixture = fixture(client);
            pipe(&if name == "transcript" { fixture.transcript() } else { fixture.root().join(name) });
            let (output, took) = within(&fixture, client, "90", &shell("rm -rf ~"));
            assert!(is_refused(&output) && took < Duration::from_secs(40), "{name} {client} {took:?}: {output:?}");
        }
    }
}

#[test]
fn const_5_a_hook_that_is_stuck_refuses_before_its_client_gives_up() {
    for client in ["claude", "codex", "gemini"] {
        let fixture = fixture(client);
        trapped(&fixture);
        fs::write(fixture.root().join("a"), "two\n").unwrap();
        let call = shell("git checkout -- .");
        let (quick, _) = within(&fixture, client, "90", &call);
        assert!(is_refused(&quick), "{quick:?}");
        // git itself reads this file, and waits for a writer that never comes.
        pipe(&fixture.root().join(".git/info/attributes"));
        let (output, took) = within(&fixture, client, "6", &call);
        assert!(is_refused(&output), "{client} after {took:?}: {output:?}");
        assert!(String::from_utf8_lossy(&output.stderr).contains("no answer in 1 s"), "{output:?}");
        assert!(took < Duration::from_secs(30), "{client}: {took:?}");
    }
}
