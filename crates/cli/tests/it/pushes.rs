//! A push to a protected branch is a critical operation however it is spelled, at every door: the hook of each client, the
//! supervisor, our own loop, and `tripwire judge` for what destroys. What only looks like one passes.

use crate::agent::fixture::{AgentFixture, finish, of_kind, shell};
use crate::hooks::fixture::{HookFixture, fixture, run};
use crate::run::fixture::RunFixture;
use serde_json::{Value, json};
use std::fs;

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

/// Another list of protected branches.
const OTHER_LIST: &str = "identity:\n  protected_branches: \"prod, ship/*\"\n";

const OTHER_HELD: [&str; 8] = [
    "git push --force origin prod",
    "git push origin --delete prod",
    "git push -f origin ship/1",
    "git push origin :ship/1",
    "g=git; $g push --force origin prod",
    "g=git; $g push origin --delete ship/1",
    "echo git push --force origin prod | sh",
    "echo git push origin :ship/1 | sh",
];

const OTHER_PASSED: [&str; 6] = [
    "git push --force origin prod-notes",
    "git push --force origin main",
    "git push --force origin shipped",
    "g=git; $g push --force origin main",
    "echo git push --force origin shipped | sh",
    "git push origin --delete prod-notes",
];

/// Many different commands in one session must not meet the rules about failures.
const PATIENT: &str = "safety:\n  max_consecutive_failures: 1000\nhealth:\n  looping_cost: 0\n  incident_cost: 0\n\
    loops:\n  error_override_threshold: 1000\n  error_hold_threshold: 1000\n  error_stop_threshold: 1000\n  \
    failing_override_threshold: 1000\n  refusals_hold_threshold: 1000\n  refusals_stop_threshold: 1000\n";

/// The same table with lines that pass between those that do not, so that no rule about repetition speaks.
fn mixed(held: &[&'static str], passed: &[&'static str]) -> Vec<(&'static str, bool)> {
    let mut lines = Vec::new();
    for index in 0..held.len().max(passed.len()) {
        lines.extend(held.get(index).map(|line| (*line, true)));
        lines.extend(passed.get(index).map(|line| (*line, false)));
    }
    lines
}

/// Holds the answers of a door against the table.
fn compare(door: &str, lines: &[(&str, bool)], answers: &[String]) {
    assert_eq!(lines.len(), answers.len(), "{door}: {answers:?}");
    for ((line, is_held), answer) in lines.iter().zip(answers) {
        // A hook denies and names the rule; the judge and the result of a refused call have words of their own.
        // What a permitted call of our own loop prints may quote the guard's own records.
        let says_no = match door {
            "agent" => answer.starts_with("\"refused: "),
            _ => ["IDENT-1", "deny", "\"verdict\":\"hold\""].iter().any(|no| answer.contains(no)),
        };
        let is_named = !is_held || ["judge", "agent"].contains(&door) || answer.contains("IDENT-1");
        assert!(is_named, "{door}: {line}: {answer}");
        assert_eq!(says_no, *is_held, "{door}: {line}: {answer}");
    }
}

/// The answers of a client's hook, in one session.
fn at_hook(client: &'static str, manifest: &str, lines: &[(&str, bool)]) -> Vec<String> {
    let (event, tool) = match client {
        "gemini" => ("BeforeTool", "run_shell_command"),
        _ => ("PreToolUse", "Bash"),
    };
    let fixture: HookFixture = fixture(client);
    fs::write(fixture.geometry("MANIFEST.yaml"), format!("{PATIENT}{manifest}")).unwrap();
    let answer = |(line, _): &(&str, bool)| {
        let output = fixture.call(event, &json!({"tool_name": tool, "tool_input": {"command": line}}));
        format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
    };
    lines.iter().map(answer).collect()
}

/// The answers that a client under `tripwire run` hears, in one session.
fn at_run(manifest: &str, lines: &[(&str, bool)]) -> Vec<String> {
    let fixture = RunFixture::new(
        r#"begin
while IFS= read -r input; do
  n=$((n + 1))
  echo "$(event PreToolUse "\"tool_name\":\"Bash\",\"tool_input\":$input,\"tool_use_id\":\"t$n\"" 2>&1)" >> "$HOME/answers"
done < "$HOME/calls"
finish"#,
    );
    fs::create_dir_all(fixture.geometry("")).unwrap();
    fs::write(fixture.geometry("MANIFEST.yaml"), format!("{PATIENT}{manifest}")).unwrap();
    let calls: String = lines.iter().map(|(line, _)| json!({"command": line}).to_string() + "\n").collect();
    fs::write(fixture.home().join("calls"), calls).unwrap();
    fixture.run(&[]).ended(0);
    fixture.home_text("answers").lines().map(str::to_owned).collect()
}

/// What our own loop gives back for each call, in one session.
fn at_agent(manifest: &str, lines: &[(&str, bool)]) -> Vec<String> {
    let fixture = AgentFixture::new();
    fixture.file(".geometry/MANIFEST.yaml", &format!("{PATIENT}{manifest}"));
    let mut answers: Vec<Value> = lines.iter().map(|(line, _)| shell(line)).collect();
    answers.extend([finish(), finish(), finish()]);
    fixture.agent(&answers, &[]);
    let transcript = fixture.transcript();
    let results = of_kind(&transcript, "result");
    results.iter().take(lines.len()).map(|result| result["text"].to_string()).collect()
}

/// What `tripwire judge` answers.
fn at_judge(manifest: &str, lines: &[(&str, bool)]) -> Vec<String> {
    let fixture = fixture("claude");
    fs::write(fixture.geometry("MANIFEST.yaml"), manifest).unwrap();
    let questions: String = lines.iter().map(|(line, _)| json!({"command": line}).to_string() + "\n").collect();
    let output = run(fixture.command(&["judge", "-"]), questions.as_bytes());
    let text = String::from_utf8_lossy(&output.stdout);
    // Each part of a line has a verdict of its own behind that of the whole.
    let whole = |line: &str| json!({"verdict": serde_json::from_str::<Value>(line).unwrap()["verdict"]}).to_string();
    text.lines().map(whole).collect()
}

const CLIENTS: [&str; 3] = ["claude", "codex", "gemini"];

#[test]
fn ident_1_a_push_is_a_push_however_it_is_spelled_at_every_hook_and_a_look_alike_is_none() {
    let lines = mixed(&PUSHES, &LOOK_ALIKES);
    for client in CLIENTS {
        compare(client, &lines, &at_hook(client, "", &lines));
    }
}

#[test]
fn ident_1_a_push_is_a_push_however_it_is_spelled_under_the_supervisor() {
    let lines = mixed(&PUSHES, &LOOK_ALIKES);
    compare("run", &lines, &at_run("", &lines));
}

#[test]
fn ident_1_a_push_is_a_push_however_it_is_spelled_in_our_own_loop() {
    let lines = mixed(&PUSHES, &LOOK_ALIKES);
    compare("agent", &lines, &at_agent("", &lines));
}

#[test]
fn ident_1_another_list_of_protected_branches_counts_at_every_door() {
    let lines = mixed(&OTHER_HELD, &OTHER_PASSED);
    compare("judge", &lines, &at_judge(OTHER_LIST, &lines));
    for client in CLIENTS {
        compare(client, &lines, &at_hook(client, OTHER_LIST, &lines));
    }
    compare("run", &lines, &at_run(OTHER_LIST, &lines));
    compare("agent", &lines, &at_agent(OTHER_LIST, &lines));
}
