//! A guard that does not hold ends the run with 9, and `status` says so.

use crate::run::fixture::{RunEnd, RunFixture, finish, output};
use std::process::Command;

fn does_not_hold(fixture: &RunFixture, ran: &RunEnd, why: &str) {
    ran.ended(9);
    assert!(ran.report["how"].as_str().unwrap().contains(why), "{}", ran.stderr);
    let (code, status) = output(fixture.verb(&["status"]));
    assert_eq!(code, Some(9), "{status}");
    assert!(status.contains("BROKEN") && status.contains("guard of the last run"), "{status}");
}

#[test]
fn const_5_a_client_that_never_calls_its_hook_is_a_broken_guard() {
    let fixture = RunFixture::new("touch ran; exit 0");
    let ran = fixture.run(&[]);
    does_not_hold(&fixture, &ran, "never called its hook");
}

#[test]
fn const_5_a_call_that_no_hook_announced_ends_the_run() {
    let script = "begin
        echo '{\"type\":\"assistant\",\"message\":{\"content\":[{\"type\":\"tool_use\",\"id\":\"x1\",\"name\":\"Bash\"}]}}' >> $record
        echo '{\"type\":\"user\",\"message\":{\"content\":[{\"type\":\"tool_result\",\"tool_use_id\":\"x1\",\"content\":\"done\"}]}}' >> $record
        sleep 60";
    let fixture = RunFixture::new(script);
    let ran = fixture.run(&[]);
    does_not_hold(&fixture, &ran, "no hook announced it");
}

#[test]
fn const_5_a_hook_that_could_not_be_started_ends_the_run() {
    let script = "begin
        echo '{\"type\":\"user\",\"message\":{\"content\":[{\"type\":\"tool_result\",\"tool_use_id\":\"x1\",\"is_error\":true,\
        \"content\":\"hook error: tripwire: guard failed\"}]}}' >> $record
        sleep 60";
    let fixture = RunFixture::new(script);
    let ran = fixture.run(&[]);
    does_not_hold(&fixture, &ran, "could not be run");
}

#[test]
fn const_5_words_that_are_no_hook_input_end_the_run() {
    let fixture = RunFixture::new("begin; echo 'not json' | $guard/tripwire hook claude && touch passed; sleep 60");
    let ran = fixture.run(&[]);
    does_not_hold(&fixture, &ran, "not understood");
    assert!(!fixture.place().join("passed").exists());
}

#[test]
fn const_5_a_journal_that_cannot_grow_refuses_the_call_and_ends_the_run() {
    let fixture = RunFixture::new(
        "begin; i=0; while tool \"echo $i; touch ran-$i\"; do i=$((i+1)); done; touch refused; sleep 60",
    );
    let plain = fixture.command(&[]);
    let mut limited = Command::new("bash");
    // A file may not grow beyond 64 KiB, which is what a full disk looks like to the journal.
    limited.args(["-c", "trap '' XFSZ; ulimit -f 64; exec \"$@\"", "bash"]).arg(plain.get_program());
    limited.args(plain.get_args()).current_dir(fixture.place()).env_clear();
    limited.envs(plain.get_envs().filter_map(|(name, value)| Some((name, value?))));
    limited
        .stdin(std::process::Stdio::null())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped());
    let ran = finish(limited.spawn().unwrap());
    ran.ended(9);
    let calls = std::fs::read_dir(fixture.place()).unwrap().filter_map(Result::ok);
    let calls = calls.filter(|entry| entry.file_name().to_string_lossy().starts_with("ran-")).count();
    assert!(calls >= 3, "some calls fit the journal: {}", ran.stderr);
    let journaled = std::fs::read_dir(fixture.geometry("journal")).unwrap().next().unwrap().unwrap().path();
    let text = std::fs::read_to_string(journaled.join("00000001.jsonl")).unwrap();
    let asked = text.matches("\"request\":").count();
    assert!(asked >= calls, "no call ran that is not in the journal: {asked} of {calls}");
    assert_eq!(output(fixture.verb(&["status"])).0, Some(9));
}

#[test]
fn const_5_hooks_that_are_switched_off_start_nothing() {
    let fixture = RunFixture::new("touch ran; begin; finish");
    let off = "{\"disableAllHooks\": true}";
    let (project, local) =
        (fixture.place().join(".claude/settings.json"), fixture.place().join(".claude/settings.local.json"));
    for (file, words, named) in [
        (Some(project.clone()), &["-p", "x"][..], ".claude/settings.json`"),
        (Some(local), &["-p", "x"], ".claude/settings.local.json`"),
        (Some(fixture.home().join(".claude/settings.json")), &["-p", "x"], ".claude/settings.json`"),
        (None, &["--settings", off, "-p", "x"], "`--settings`"),
        (None, &["--bare", "-p", "x"], "`--bare`"),
        (None, &["-p", "x", "--safe-mode"], "`--safe-mode`"),
    ] {
        if let Some(file) = &file {
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(file, off).unwrap();
        }
        let ran = fixture.run_with(words);
        assert_eq!(ran.code, Some(9), "{named}: {}", ran.stderr);
        assert!(ran.stderr.contains(named) && ran.stderr.contains("hint: "), "{named}: {}", ran.stderr);
        assert!(!fixture.place().join("ran").exists(), "{named}");
        if let Some(file) = &file {
            std::fs::remove_file(file).unwrap();
        }
    }
    let mut simple = fixture.command(&[]);
    let ran = finish(simple.env("CLAUDE_CODE_SIMPLE", "1").spawn().unwrap());
    assert_eq!(ran.code, Some(9), "{}", ran.stderr);
    assert!(ran.stderr.contains("`CLAUDE_CODE_SIMPLE=1`") && !fixture.place().join("ran").exists(), "{}", ran.stderr);
    std::fs::write(project, "{\"disableAllHooks\": false}").unwrap();
    let mut on = fixture.command(&[]);
    let ran = finish(on.env("CLAUDE_CODE_SIMPLE", "0").spawn().unwrap());
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(fixture.place().join("ran").exists());
}

#[test]
fn const_5_hooks_of_the_other_clients_that_are_switched_off_start_nothing() {
    let fixture = RunFixture::new("exit 0");
    let codex = fixture.add_client("codex", "touch ran");
    let gemini = fixture.add_client("gemini", "touch ran");
    let run = |program: &std::path::Path, words: &[&str]| {
        let mut command = fixture.verb(&["run", "--"]);
        output({
            command.arg(program).args(words);
            command
        })
    };
    for words in [&["exec", "--disable", "hooks", "x"][..], &["-c", "features.hooks=false", "exec", "x"]] {
        let (code, told) = run(&codex, words);
        assert_eq!(code, Some(9), "{told}");
        assert!(told.contains("hooks"), "{told}");
    }
    std::fs::create_dir(fixture.place().join(".codex")).unwrap();
    std::fs::write(fixture.place().join(".codex/config.toml"), "[features]\nhooks = false\n").unwrap();
    let (code, told) = run(&codex, &["exec", "x"]);
    assert!(code == Some(9) && told.contains("config.toml"), "{told}");
    std::fs::create_dir(fixture.place().join(".gemini")).unwrap();
    let settings = fixture.place().join(".gemini/settings.json");
    std::fs::write(&settings, "{ // mine\n\"hooksConfig\": {\"enabled\": false}}").unwrap();
    let (code, told) = run(&gemini, &["-p", "x"]);
    assert!(code == Some(9) && told.contains("`hooksConfig.enabled`"), "{told}");
    assert!(!fixture.place().join("ran").exists());
}

#[test]
fn const_5_work_that_the_output_tells_of_before_any_hook_ends_the_run() {
    let fixture = RunFixture::new("echo '{\"type\":\"assistant\",\"message\":{\"content\":[]}}'; sleep 100");
    let ran = fixture.run_with(&["-p", "x", "--output-format", "stream-json"]);
    does_not_hold(&fixture, &ran, "worked all the same: its output");
}

#[test]
fn const_5_work_that_a_new_transcript_tells_of_before_any_hook_ends_the_run() {
    let fixture = RunFixture::new(
        "mkdir -p $HOME/.claude/projects/w
        echo \"{\\\"cwd\\\":\\\"$(pwd -P)\\\",\\\"type\\\":\\\"assistant\\\",\\\"message\\\":{\\\"content\\\":[{\\\"type\\\":\\\"tool_use\\\",\\\"id\\\":\\\"x\\\"}]}}\" \
        > $HOME/.claude/projects/w/new.jsonl
        sleep 100",
    );
    let ran = fixture.run(&[]);
    does_not_hold(&fixture, &ran, "calls are in");
}
