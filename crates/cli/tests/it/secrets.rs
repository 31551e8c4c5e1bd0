//! Keys of every known format in the commands, outputs, files, arguments, errors and model texts of real runs: nothing that we
//! wrote holds one of them, in any spelling (SECRET-1), and nothing else changes (SECRET-2).

use crate::agent::fixture::{AgentFixture, call, finish, shell as agent_shell};
use crate::hooks::fixture::{HookFixture, fixture, shell};
use crate::run::fixture::RunFixture;
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;
use tripwire_secrets::SHAPES;
use tripwire_testing::keys::{RandomLetters, key_of};

/// A key of every format.
fn keys() -> Vec<String> {
    let mut random = RandomLetters::new(16);
    SHAPES.iter().map(|shape| key_of(shape, &mut random)).collect()
}

/// The same bytes as others would write them.
fn spellings(key: &str) -> Vec<String> {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let bits: String = key.bytes().map(|byte| format!("{byte:08b}")).collect();
    let digit = |six: &[u8]| {
        let number = usize::from_str_radix(std::str::from_utf8(six).unwrap(), 2).unwrap();
        char::from(DIGITS[number])
    };
    let base64: String = bits.as_bytes().chunks_exact(6).map(digit).collect();
    let url: String = key
        .bytes()
        .map(|byte| if byte.is_ascii_alphanumeric() { char::from(byte).to_string() } else { format!("%{byte:02X}") })
        .collect();
    vec![key.to_owned(), base64, url, key.replace('/', "\\/")]
}

/// Every file below a folder.
fn files_below(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        let kind = entry.file_type().unwrap();
        // Snapshots are copies of the workspace's own files, in which the agent wrote the real values.
        let is_snapshot = path.ends_with("packs") || path.ends_with("large");
        if kind.is_dir() && !is_snapshot {
            files.extend(files_below(&path));
        } else if kind.is_file() {
            files.push(path);
        }
    }
    files
}

/// No file below these folders, and none of these texts, holds one of the values in any spelling.
fn assert_clean(folders: &[&Path], said: &[&[u8]], values: &[String]) {
    let mut places: Vec<(String, Vec<u8>)> =
        said.iter().map(|text| ("what was said".to_owned(), text.to_vec())).collect();
    for file in folders.iter().flat_map(|folder| files_below(folder)) {
        places.push((file.display().to_string(), fs::read(&file).unwrap()));
    }
    assert!(places.iter().any(|(_, bytes)| !bytes.is_empty()), "nothing was written at all");
    for (place, bytes) in &places {
        let text = String::from_utf8_lossy(bytes);
        for value in values {
            for spelling in spellings(value) {
                assert!(!text.contains(&spelling), "`{spelling}` is in {place}");
            }
        }
    }
}

fn ran(fixture: &HookFixture, words: &[&str]) -> Output {
    let output = crate::hooks::fixture::run(fixture.command(words), b"");
    assert!(output.status.success(), "{words:?}: {output:?}");
    output
}

/// What is shown and exported of the newest session.
fn shown(fixture: &HookFixture) -> Vec<Vec<u8>> {
    let bundle = fixture.root().join("../home/bundle");
    ran(fixture, &["export", bundle.to_str().unwrap()]);
    let mut shown = vec![fs::read(&bundle).unwrap()];
    for words in [["log", "--json"].as_slice(), &["log"], &["status"], &["verify"], &["replay"]] {
        shown.push(ran(fixture, words).stdout);
    }
    shown
}

#[test]
fn secret_1_no_key_that_passes_a_hook_is_in_anything_we_wrote() {
    let fixture = fixture("claude");
    let keys = keys();
    assert!(keys.len() >= 200, "{}", keys.len());
    for (number, some) in keys.chunks(8).enumerate() {
        let commands: Vec<String> = some.iter().map(|key| format!("deploy-it --key {key}")).collect();
        let output: String = some.iter().map(|key| format!("used {key}\nerror: `{key}` was refused (401)\n")).collect();
        let mut call = shell(&commands.join(" && "));
        call["tool_use_id"] = json!(format!("t{number}"));
        fixture.answer("PreToolUse", &call);
        call["tool_response"] = json!({"stdout": output, "stderr": ""});
        fixture.answer("PostToolUse", &call);
    }
    let prompt = format!("use {} and {}", keys[0], keys[1]);
    fixture.answer("UserPromptSubmit", &json!({"prompt": prompt}));
    let write = json!({"tool_name": "Write", "tool_input": {"file_path": "config.py", "content": keys.join("\n")}, "tool_use_id": "w"});
    fixture.answer("PreToolUse", &write);
    fixture.answer("PreCompact", &json!({"trigger": "auto"}));
    let shown = shown(&fixture);
    let shown: Vec<&[u8]> = shown.iter().map(Vec::as_slice).collect();
    assert_clean(&[&fixture.geometry(""), &fixture.root().join("../home")], &shown, &keys);
    let log = String::from_utf8(ran(&fixture, &["log"]).stdout).unwrap();
    assert!(log.contains("deploy-it"), "the rest of the command is kept: {log}");
}

#[test]
fn secret_1_no_key_of_an_own_run_is_in_anything_we_wrote_and_the_work_has_the_real_values() {
    let fixture = AgentFixture::new();
    let keys = keys();
    let content = keys.join("\n") + "\n";
    let said = format!("I will use {} for it.", keys[3]);
    let mut first = call("write", json!({"path": "keys.txt", "content": content}));
    first["text"] = json!(said);
    let command = format!("echo {} > one.txt; cat keys.txt; echo {} >&2; exit 3", keys[5], keys[7]);
    let answers = [
        first,
        call("read_file", json!({"path": "keys.txt"})),
        agent_shell(&command),
        call("remember", json!({"text": format!("the key is {}", keys[9])})),
        call("plan", json!({"steps": [{"text": format!("deploy with {}", keys[11]), "status": "pending"}]})),
        finish(),
        finish(),
        finish(),
    ];
    let run = fixture.agent(&answers, &[]);
    assert_eq!(fixture.read("keys.txt"), content, "{}", run.stderr);
    assert_eq!(fixture.read("one.txt"), format!("{}\n", keys[5]));
    let home = fixture.beside("home");
    assert_clean(&[&fixture.geometry(), &home], &[run.stdout.as_bytes(), run.stderr.as_bytes()], &keys);
    assert!(fixture.transcript_text().contains("\u{2039}secret:"), "{}", fixture.transcript_text());
    let session = fixture.sessions().pop().unwrap();
    fixture.run(&["replay", &session]).ended(0);
    fixture.run(&["verify"]).ended(0);
}

#[test]
fn secret_1_no_key_under_run_is_in_anything_we_wrote() {
    let keys = keys();
    let script: String = keys.chunks(40).map(|some| format!("tool \"echo {}\"\n", some.join(" "))).collect();
    let fixture = RunFixture::new(&format!("begin\n{script}finish"));
    let ended = fixture.run(&[]);
    assert!(fixture.geometry("journal").is_dir(), "{}", ended.stderr);
    assert_clean(&[&fixture.geometry("")], &[ended.stderr.as_bytes()], &keys);
}

#[test]
fn secret_1_values_of_the_environment_and_of_env_files_are_known_in_every_spelling() {
    let fixture = fixture("claude");
    fs::write(fixture.root().join(".env"), "DB_PASSWORD=correct-horse9\nHOST=example\n").unwrap();
    let values = ["correct-horse9".to_owned(), "battery-staple7".to_owned()];
    let call = |command: &str| {
        let mut hook = fixture.command(&["hook", "claude"]);
        hook.env("DEPLOY_TOKEN", "battery-staple7");
        let mut input = fixture.input("PostToolUse", &shell(command));
        input["tool_response"] = json!({"stdout": "Y29ycmVjdC1ob3JzZTk= battery%2Dstaple7 ok", "stderr": ""});
        assert!(crate::hooks::fixture::run(hook, input.to_string().as_bytes()).status.success());
    };
    call("psql correct-horse9");
    call("echo battery-staple7 HOST example");
    assert_clean(&[&fixture.geometry("")], &[], &values);
    assert!(String::from_utf8(ran(&fixture, &["log"]).stdout).unwrap().contains("example"), "what is no secret stays");
}

#[test]
fn secret_2_a_loop_with_a_key_in_it_is_a_loop_and_one_with_other_keys_is_none() {
    let level = |command: &dyn Fn(usize) -> String| {
        let fixture = fixture("claude");
        ran(&fixture, &["arm"]);
        let mut denied = false;
        for number in 0..6 {
            let mut call = shell(&command(number));
            call["tool_use_id"] = json!(format!("t{number}"));
            denied |= fixture.answer("PreToolUse", &call)["hookSpecificOutput"]["permissionDecision"] == "deny";
            call["tool_response"] = json!({"stdout": "401 unauthorized", "stderr": ""});
            fixture.answer("PostToolUse", &call);
        }
        denied
    };
    let keys = keys();
    assert!(level(&|_| format!("deploy-it --key {}", keys[20])));
    let others = |number: usize| format!("deploy-it --stage{number} --key {}", keys[20 + number]);
    assert_eq!(level(&others), level(&|number| format!("deploy-it --stage{number} --key plain{number}")));
}

#[test]
fn secret_1_a_call_with_a_placeholder_is_held_and_one_with_look_alikes_is_not() {
    let fixture = fixture("claude");
    ran(&fixture, &["arm"]);
    let asked = |command: &str| fixture.answer("PreToolUse", &shell(command))["hookSpecificOutput"].clone();
    let held = asked("echo \u{2039}secret:github:1f3a0b2c\u{203a} > token.txt");
    assert_eq!(held["permissionDecision"], "deny", "{held}");
    let why = held["permissionDecisionReason"].as_str().unwrap();
    assert!(why.contains("SECRET-1") && why.contains("stands for a secret"), "{why}");
    assert_eq!(asked("echo '\u{2039}secret\u{203a}' secret:github:1f3a0b2c"), Value::Null);
}

#[test]
fn secret_1_after_a_resume_a_lost_secret_is_told_and_its_placeholder_runs_nowhere() {
    let fixture = AgentFixture::new();
    let key = &keys()[30];
    let answers = [agent_shell(&format!("echo {key} > a.txt; sleep 60")), finish()];
    let running = fixture.start(&answers, &[]);
    crate::agent::fixture::until("the call has begun", || fixture.read("a.txt").contains(key.as_str()));
    running.kill();
    let placeholder = {
        let text = fixture.journal().iter().map(Value::to_string).collect::<String>();
        let at = text.find('\u{2039}').expect("a placeholder");
        let end = text[at..].find('\u{203a}').unwrap();
        text[at..at + end + 3].to_owned()
    };
    let engine = fixture
        .cassette("again.jsonl", &[agent_shell(&format!("echo {placeholder} > b.txt")), finish(), finish(), finish()]);
    let session = fixture.sessions().pop().unwrap();
    let resumed = fixture.run(&["agent", "--resume", &session, "--engine", &engine]);
    assert!(resumed.stderr.contains("no longer in memory"), "{}", resumed.stderr);
    assert!(!fixture.work().join("b.txt").exists(), "{}", resumed.stderr);
    assert!(fixture.transcript_text().contains("SECRET-1"), "{}", fixture.transcript_text());
}

#[test]
fn secret_1_an_env_file_that_cannot_be_read_stops_the_recording_and_the_call() {
    let fixture = fixture("claude");
    fs::write(fixture.root().join(".env"), vec![b'x'; 2 << 20]).unwrap();
    let output = fixture.call("PreToolUse", &shell("ls"));
    let said = String::from_utf8_lossy(&output.stderr).into_owned() + &String::from_utf8_lossy(&output.stdout);
    assert!(output.status.code() == Some(2) || said.contains("deny"), "{said}");
    assert!(said.contains(".env") && said.contains("move it out"), "{said}");
    let step = crate::hooks::fixture::run(fixture.command(&["step", "-"]), b"{\"tool\":\"x\",\"timestamp\":1}\n");
    assert_eq!(step.status.code(), Some(9), "{step:?}");
    assert!(!fixture.geometry("journal").exists(), "nothing was recorded");
}

#[test]
fn secret_1_a_setting_with_a_secret_in_it_begins_no_session_and_one_that_names_a_variable_does() {
    let manifest = |fixture: &HookFixture, command: &str| {
        fs::write(fixture.geometry("MANIFEST.yaml"), format!("dirty_bits:\n  test_command: \"{command}\"\n")).unwrap();
    };
    let key = &keys()[30];
    let refused = fixture("claude");
    manifest(&refused, &format!("run-tests --token {key}"));
    let output = refused.call("PreToolUse", &shell("ls"));
    let said = String::from_utf8_lossy(&output.stderr).into_owned() + &String::from_utf8_lossy(&output.stdout);
    assert!(output.status.code() == Some(2) || said.contains("deny"), "{said}");
    assert!(said.contains("`dirty_bits.test_command` holds a secret") && said.contains("$NAME"), "{said}");
    let step = crate::hooks::fixture::run(refused.command(&["step", "-"]), b"{\"tool\":\"x\",\"timestamp\":1}\n");
    assert_eq!(step.status.code(), Some(2), "{step:?}");
    assert!(!refused.geometry("journal").exists(), "nothing was recorded");

    let begun = fixture("claude");
    manifest(&begun, "run-tests --token $CI_TOKEN");
    begun.answer("PreToolUse", &shell("ls"));
    assert!(begun.geometry("journal").exists());
}

#[test]
fn secret_1_what_stood_in_an_env_file_stays_a_secret_after_the_file_changed() {
    let fixture = AgentFixture::new();
    let (old, new) = ("correct horse 11", "battery staple 22");
    fs::write(fixture.work().join(".env"), format!("DB_PASSWORD=\"{old}\"\n")).unwrap();
    let wait = agent_shell("touch waits; for i in $(seq 200); do [ -e go ] && exit; sleep 0.1; done");
    let again = agent_shell(&format!("echo one {old} other {new}"));
    let running = fixture.start(&[wait, again, finish(), finish(), finish()], &[]);
    crate::agent::fixture::until("the call has begun", || fixture.work().join("waits").exists());
    fs::write(fixture.work().join(".env"), format!("DB_PASSWORD=\"{new}\"\n")).unwrap();
    fs::write(fixture.work().join("go"), "").unwrap();
    let run = running.end();
    assert!(fixture.transcript_text().contains("one \u{2039}secret:"), "{}", fixture.transcript_text());
    let said = [run.stdout.as_bytes(), run.stderr.as_bytes()];
    assert_clean(&[&fixture.geometry()], &said, &[old.to_owned(), new.to_owned()]);
}

#[test]
fn secret_1_the_policy_lets_harmless_values_pass_and_refuses_a_pattern_for_everything() {
    let fixture = fixture("claude");
    let key = &keys()[30];
    let start: String = key.chars().take(key.len() / 2).collect();
    let manifest = |allow: &str| {
        fs::write(fixture.geometry("MANIFEST.yaml"), format!("secrets:\n  allow: \"{allow}\"\n")).unwrap()
    };
    manifest(&format!("{start}*"));
    let mut call = shell(&format!("deploy-it {key}"));
    call["tool_response"] = json!({"stdout": "", "stderr": ""});
    fixture.answer("PostToolUse", &call);
    assert!(String::from_utf8(ran(&fixture, &["log"]).stdout).unwrap().contains(key.as_str()));
    manifest("*");
    let refused = crate::hooks::fixture::run(fixture.command(&["policy", "check"]), b"");
    assert_eq!(refused.status.code(), Some(2), "{refused:?}");
    assert!(String::from_utf8_lossy(&refused.stderr).contains("secrets.allow"), "{refused:?}");
}

#[test]
fn secret_2_no_scenario_holds_what_is_taken_for_a_secret_so_all_are_decided_alike() {
    let redactor = tripwire_secrets::Redactor::default();
    let files = files_below(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios"));
    assert!(files.len() > 100, "{}", files.len());
    for file in files {
        let text = fs::read_to_string(&file).unwrap();
        assert_eq!(redactor.redact_json(&text), text, "{}", file.display());
    }
}
