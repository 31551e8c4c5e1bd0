//! Whatever breaks inside is a refusal with a reason, and never a word that a client would not understand.

use crate::hooks::fixture::{TRIPWIRE, fixture, run, shell};
use serde_json::{Value, json};
use std::fs;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

#[test]
fn const_5_an_input_that_is_not_understood_is_refused_by_every_client() {
    for client in ["claude", "codex", "gemini"] {
        let fixture = fixture(client);
        for input in [&b"not json"[..], b"", b"{}", br#"{"session_id":1}"#, b"\xff\xfe", b"[1,2"] {
            let output = fixture.raw(input);
            assert_eq!(output.status.code(), Some(2));
            assert!(String::from_utf8_lossy(&output.stderr).contains("the guard is broken"), "{output:?}");
            assert!(output.stdout.is_empty());
        }
    }
}

#[test]
fn const_5_a_broken_guard_refuses_what_asks_and_lets_go_what_ends() {
    let fixture = fixture("claude");
    fs::write(fixture.geometry("MANIFEST.yaml"), "safety: [").unwrap();
    for event in ["PreToolUse", "PostToolUse"] {
        assert_eq!(fixture.call(event, &shell("ls")).status.code(), Some(2), "{event}: an unreadable policy refuses");
    }
    assert_eq!(fixture.call("UserPromptSubmit", &json!({"prompt": "x"})).status.code(), Some(2));
    let stop = fixture.answer("Stop", &json!({"stop_hook_active": false}));
    assert!(stop["systemMessage"].as_str().unwrap().contains("the guard is broken"), "an end is not refused: {stop}");
    let link = crate::hooks::fixture::fixture("claude");
    fs::remove_dir(link.root().join(".geometry")).unwrap();
    std::os::unix::fs::symlink("/tmp", link.root().join(".geometry")).unwrap();
    assert_eq!(link.call("PreToolUse", &shell("ls")).status.code(), Some(2), "a planted link refuses");
}

#[test]
fn the_words_of_a_hook_whose_output_is_closed_land_in_no_file() {
    let fixture = fixture("claude");
    fixture.answer("PreToolUse", &shell("ls"));
    let plain = fixture.command(&["hook", "claude"]);
    let mut closed = Command::new("bash");
    closed.args(["-c", "exec \"$@\" >&-", "bash"]).arg(plain.get_program()).args(plain.get_args());
    closed.current_dir(fixture.root()).env_clear();
    closed.envs(plain.get_envs().filter_map(|(name, value)| Some((name, value?))));
    closed.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let input = fixture.input("PreToolUse", &shell("rm -rf /")).to_string();
    let output = run(closed, input.as_bytes());
    assert!(output.stdout.is_empty(), "{output:?}");
    let found =
        Command::new("grep").args(["-rl", "hookSpecificOutput", ".geometry"]).current_dir(fixture.root()).output();
    assert_eq!(found.unwrap().status.code(), Some(1), "no file holds the answer");
    let answered = fixture.answer("PreToolUse", &shell("rm -rf /"));
    assert!(answered["hookSpecificOutput"].is_object(), "with an output it is heard: {answered}");
}

#[test]
fn what_a_hook_says_comes_in_whole_lines() {
    let fixture = fixture("claude");
    // Each write arrives as a datagram of its own. Who ends the hook between two of them must not leave half a line behind.
    let (ours, theirs) = std::os::unix::net::UnixDatagram::pair().unwrap();
    let mut command = fixture.command(&["hook", "claude"]);
    command.stderr(std::os::fd::OwnedFd::from(theirs));
    let output = run(command, b"not json");
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    ours.set_nonblocking(true).unwrap();
    let mut piece = [0; 4_096];
    let pieces: Vec<String> = std::iter::from_fn(|| ours.recv(&mut piece).ok().map(|length| piece[..length].to_vec()))
        .map(|bytes| String::from_utf8(bytes).unwrap())
        .collect();
    assert!(pieces.concat().contains("the guard is broken"), "{pieces:?}");
    assert!(pieces.iter().all(|piece| piece.ends_with('\n')), "{pieces:?}");
}

/// Calls a hook whose files may not grow, which is what a full disk looks like to the journal.
fn call_on_a_full_disk(fixture: &crate::hooks::fixture::HookFixture, event: &str, more: &Value) -> Output {
    let plain = fixture.command(&["hook", "claude"]);
    let mut limited = Command::new("bash");
    limited.args(["-c", "trap '' XFSZ; ulimit -f 1; exec \"$@\"", "bash"]).arg(plain.get_program());
    limited.args(plain.get_args()).current_dir(fixture.root()).env_clear();
    limited.envs(plain.get_envs().filter_map(|(name, value)| Some((name, value?))));
    limited.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    run(limited, fixture.input(event, more).to_string().as_bytes())
}

#[test]
fn const_5_a_full_disk_refuses_what_asks_in_every_mode_and_nothing_is_lost() {
    for mode in ["arm", "disarm"] {
        let fixture = fixture("claude");
        fixture.answer("PreToolUse", &shell("ls"));
        let chosen = run(fixture.command(&[mode, "--project"]), b"");
        assert!(chosen.status.success(), "{chosen:?}");
        let refused = call_on_a_full_disk(&fixture, "PreToolUse", &shell("ls -l"));
        assert_eq!(refused.status.code(), Some(2), "{mode}: {refused:?}");
        assert!(String::from_utf8_lossy(&refused.stderr).contains("the guard is broken"), "{mode}: {refused:?}");
        let ended = call_on_a_full_disk(&fixture, "Stop", &json!({"stop_hook_active": false}));
        assert!(ended.status.success(), "{mode}: an end is not refused: {ended:?}");
        assert_eq!(fixture.answer("PreToolUse", &shell("ls -l")), Value::Null, "{mode}: there is room again");
        let verified = run(fixture.command(&["verify"]), b"");
        assert!(verified.status.success(), "{mode}: {verified:?}");
    }
}

/// Damages the journal of the session that was begun.
fn spoil(fixture: &crate::hooks::fixture::HookFixture) {
    let session = fs::read_dir(fixture.geometry("journal")).unwrap().next().unwrap().unwrap().path();
    let journal = session.join("00000001.jsonl");
    let spoilt =
        fs::read_to_string(&journal).unwrap().replace("\"ls\"", "\"rm\"").replace("allowed\":true", "allowed\":1");
    fs::write(&journal, spoilt).unwrap();
}

const ALLOW: &str = "gate:\n  on_guard_failure: allow\n";

#[test]
fn const_5_a_damaged_journal_refuses_unless_a_person_chose_otherwise() {
    let fixture = fixture("claude");
    fs::write(fixture.geometry("MANIFEST.yaml"), ALLOW).unwrap();
    fixture.answer("PreToolUse", &shell("ls"));
    spoil(&fixture);
    let passed = fixture.call("PreToolUse", &shell("ls"));
    assert!(passed.status.success() && passed.stdout.is_empty(), "{passed:?}");
    assert!(String::from_utf8_lossy(&passed.stderr).contains("NOT GUARDED"), "it says so: {passed:?}");
}

#[test]
fn const_6_what_a_broken_guard_means_is_frozen_with_the_session() {
    let fixture = fixture("claude");
    fixture.answer("PreToolUse", &shell("ls"));
    spoil(&fixture);
    assert_eq!(fixture.call("PreToolUse", &shell("ls")).status.code(), Some(2));
    fs::write(fixture.geometry("MANIFEST.yaml"), ALLOW).unwrap();
    assert_eq!(fixture.call("PreToolUse", &shell("ls")).status.code(), Some(2), "the session froze another word");
}

#[test]
fn const_5_a_session_that_another_process_holds_is_refused_in_time() {
    let fixture = fixture("claude");
    fixture.answer("PreToolUse", &shell("ls"));
    let notes = fs::read_dir(fixture.geometry("state/clients")).unwrap().map(|entry| entry.unwrap().path());
    let notes = notes.into_iter().find(|path| path.extension().is_some_and(|end| end == "notes")).unwrap();
    let held = fs::File::open(notes).unwrap();
    held.lock().unwrap();
    let started = Instant::now();
    assert_eq!(fixture.call("PreToolUse", &shell("ls")).status.code(), Some(2));
    assert!(started.elapsed() < Duration::from_secs(25), "before the client's own time is over");
    held.unlock().unwrap();
    assert_eq!(fixture.answer("PreToolUse", &shell("ls")), Value::Null);
}

#[test]
fn an_unknown_client_is_a_usage_error_and_blocks_too() {
    let mut command = Command::new(TRIPWIRE);
    command.args(["hook", "nobody"]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let output = run(command, b"{}");
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("nobody"));
}
