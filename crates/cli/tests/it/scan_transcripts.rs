//! `tripwire scan` on the clients' own transcripts: through the binary, in a throw-away home.

use serde_json::{Value, json};
use std::fs;
use std::process::{Command, Output, Stdio};

const TRIPWIRE: &str = env!("CARGO_BIN_EXE_tripwire");

/// A person with a home and a workspace.
struct Person(tempfile::TempDir);

impl Person {
    fn new() -> Self {
        let folder = tripwire_testing::folder();
        for name in ["home", "work/.git"] {
            fs::create_dir_all(folder.path().join(name)).unwrap();
        }
        Self(folder)
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.0.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(TRIPWIRE);
        command.args(arguments).current_dir(self.0.path().join("work")).env_clear();
        command.env("HOME", self.0.path().join("home")).stdin(Stdio::null());
        command
    }

    fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().unwrap()
    }

    fn lines(&self, arguments: &[&str]) -> Vec<Value> {
        let output = self.run(arguments);
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        let text = String::from_utf8(output.stdout).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// A transcript of Claude Code: a person's word, then one command again and again with these results.
fn claude(results: &[String]) -> String {
    let mut lines = vec![json!({"type": "user", "sessionId": "s1", "message": {"role": "user", "content": "go"}})];
    for (n, result) in results.iter().enumerate() {
        let block = json!({"type": "tool_use", "id": format!("t{n}"), "name": "Bash", "input": {"command": "make"}});
        let at = format!("2026-11-15T00:{n:02}:00.000Z");
        lines.push(json!({"type": "assistant", "timestamp": at, "message": {"id": format!("m{n}"), "content": [block],
            "model": "claude-opus-4-5", "usage": {"input_tokens": 100_000, "output_tokens": 1_000}}}));
        let failed = result.starts_with("no rule");
        let result =
            json!({"type": "tool_result", "tool_use_id": format!("t{n}"), "content": result, "is_error": failed});
        lines.push(json!({"type": "user", "timestamp": at, "message": {"content": [result]}}));
    }
    lines.iter().map(|line| format!("{line}\n")).collect()
}

fn stuck() -> String {
    claude(&vec!["no rule to make target".to_owned(); 8])
}

fn healthy() -> String {
    let parts = ["parser", "lexer", "reader", "writer", "printer", "linker", "loader", "tester"];
    claude(&parts.map(|part| format!("the {part} is compiled")))
}

const PROJECT: &str = "home/.claude/projects/-work";

#[test]
fn a_stuck_session_is_told_with_what_it_would_have_saved_and_a_healthy_one_is_not() {
    let person = Person::new();
    person.write(&format!("{PROJECT}/a.jsonl"), &stuck());
    person.write(&format!("{PROJECT}/b.jsonl"), &healthy());
    let output = person.run(&["scan"]);
    let said = text(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let rows: Vec<&str> = said.lines().filter(|line| line.starts_with("claude ")).collect();
    assert_eq!(rows.len(), 1, "{said}");
    assert!(rows[0].contains("stopped") && rows[0].contains("$4.20") && rows[0].contains("LOOP-1.exact"), "{said}");
    assert!(said.lines().any(|line| line.trim() == "Bash make"), "the repeated call is named: {said}");
    assert!(said.contains("2 sessions: 1 would have been stopped, 0 held, 0 warned, 1 only noted, 0 clean"), "{said}");
    assert!(rows[0].contains("2026-11-15 00:03") && rows[0].contains("4 of 8"), "when, and at which call: {said}");
    assert!(said.contains("in ~/.claude/projects/-work, session s1"), "where: {said}");
    // Eight answers at $0.525 are $4.20; four of them came behind the fourth call.
    assert!(rows[0].contains("$2.10"), "{said}");
    assert!(!person.0.path().join("work/.geometry").exists(), "nothing is written");
    assert!(!person.0.path().join("home/.local").exists(), "nothing is written");
}

#[test]
fn json_gives_one_line_per_transcript_and_a_summary_and_skips_what_is_foreign() {
    let person = Person::new();
    person.write(&format!("{PROJECT}/a.jsonl"), &stuck());
    person.write(&format!("{PROJECT}/bad.jsonl"), "this is no transcript\n");
    person.write(&format!("{PROJECT}/torn.jsonl"), &format!("{}{{\"type\":", healthy()));
    let lines = person.lines(&["scan", "--json"]);
    assert_eq!(lines.len(), 4, "{lines:?}");
    assert_eq!(
        (&lines[0]["client"], &lines[0]["session"], &lines[0]["kind"]),
        (&json!("claude"), &json!("s1"), &json!("stop"))
    );
    assert_eq!(lines[0]["saved"]["micro_usd"], 2_100_000);
    assert_eq!(lines[0]["since_first_repeat"]["micro_usd"], 7 * 525_000);
    assert!(lines[1]["skipped"].as_str().unwrap().contains("no transcript of claude"), "{}", lines[1]);
    assert_eq!((&lines[2]["broken_lines"], &lines[2]["levels"]["hold"]), (&json!(1), &Value::Null));
    assert_eq!((&lines[3]["summary"]["transcripts"], &lines[3]["summary"]["skipped"]), (&json!(2), &json!(1)));
    let words = person.run(&["scan"]);
    assert!(text(&words.stderr).contains("skipped `") && text(&words.stderr).contains("bad.jsonl"), "{words:?}");
    assert_eq!(person.lines(&["scan", "--json", "--client", "codex"]).len(), 1, "only the summary");
}

#[test]
fn copies_of_a_transcript_count_once_and_answers_of_a_fork_are_paid_once() {
    let person = Person::new();
    person.write(&format!("{PROJECT}/a.jsonl"), &stuck());
    let alone = person.lines(&["scan", "--json"]);
    for n in 0..20 {
        person.write(&format!("{PROJECT}/copy-{n}.jsonl"), &stuck());
    }
    // A fork: the same answers in another session, with one result that differs.
    person.write(
        "home/.claude/projects/-fork/f.jsonl",
        &stuck().replace("\"s1\"", "\"s2\"").replacen("no rule", "none", 1),
    );
    let lines = person.lines(&["scan", "--json"]);
    let (before, after) = (&alone.last().unwrap()["summary"], &lines.last().unwrap()["summary"]);
    assert_eq!((&after["transcripts"], &after["copies"]), (&json!(2), &json!(20)), "{after}");
    assert_eq!(before["spent"], after["spent"], "the answers of the fork are those of the first");
    let said = text(&person.run(&["scan"]).stdout);
    assert!(said.contains("20 transcripts are a copy of another and not counted again"), "{said}");
}

#[test]
fn a_scan_is_narrowed_by_time_by_folder_and_to_one_session() {
    let person = Person::new();
    let place = person.0.path().join("work").canonicalize().unwrap();
    let here = stuck().replacen("{", &format!("{{\"cwd\":{},", json!(place)), 1);
    person.write(&format!("{PROJECT}/a.jsonl"), &here);
    person.write(&format!("{PROJECT}/b.jsonl"), &healthy().replace("\"s1\"", "\"s9\""));
    let count = |arguments: &[&str]| person.lines(&[&["scan", "--json"], arguments].concat()).len() - 1;
    assert_eq!(count(&[]), 2);
    assert_eq!(count(&["--project", "."]), 1);
    assert_eq!(count(&["--since", "2026-11-14T00:00:00Z"]), 2);
    assert_eq!(count(&["--since", "2027-11-14T00:00:00Z"]), 0);
    assert_eq!(count(&["--session", "s9"]), 1);
    let detail = text(&person.run(&["scan", "--session", "s1"]).stdout);
    assert!(detail.contains("warned") && detail.contains("stopped") && detail.contains("a.jsonl"), "{detail}");
    assert!(detail.matches("Bash make").count() >= 2, "each alarm names its call: {detail}");
    let stopping = |line: &&str| line.contains("stopped ") && line.contains("Bash make");
    assert_eq!(detail.lines().filter(stopping).count(), 1, "one cause is told once: {detail}");
    assert!(!detail.contains("tripwire resume"), "it was never guarded: {detail}");
    let quiet = text(&person.run(&["scan", "--session", "s9"]).stdout);
    assert!(quiet.contains("noted") && quiet.contains("LOOP-2.action") && !quiet.contains("stopped  "), "{quiet}");
    for wrong in [&["--session", "nobody"][..], &["--since", "yesterday"], &["--project", "/no/such/folder"]] {
        let output = person.run(&[&["scan"], wrong].concat());
        assert_eq!(output.status.code(), Some(2), "{wrong:?}: {output:?}");
        assert!(text(&output.stderr).contains("hint: "), "{output:?}");
    }
}

#[test]
fn an_unknown_model_is_marked_as_an_estimate() {
    let person = Person::new();
    person.write(&format!("{PROJECT}/a.jsonl"), &stuck().replace("claude-opus-4-5", "nobody-knows-1"));
    let said = text(&person.run(&["scan"]).stdout);
    assert!(said.contains("~$") && said.contains("~ 1 session with an unknown model"), "{said}");
}

#[test]
fn without_transcripts_it_says_where_it_looked() {
    let person = Person::new();
    let output = person.run(&["scan"]);
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    for folder in [".claude/projects", ".codex/sessions", ".gemini/tmp"] {
        assert!(said.contains(folder), "{said}");
    }
    let elsewhere = person.command(&["scan"]).env("CLAUDE_CONFIG_DIR", "/else/where").output().unwrap();
    assert!(text(&elsewhere.stderr).contains("/else/where/projects"), "{elsewhere:?}");
}

#[test]
fn a_home_that_is_not_set_and_a_policy_that_cannot_be_read_are_refused() {
    let person = Person::new();
    let homeless = person.command(&["scan"]).env_remove("HOME").output().unwrap();
    assert_eq!(homeless.status.code(), Some(2), "{homeless:?}");
    assert!(text(&homeless.stderr).contains("`HOME` is not set"), "{homeless:?}");
    person.write("work/.geometry/MANIFEST.yaml", "safety: [unclosed\n");
    let broken = person.run(&["scan"]);
    assert_eq!(broken.status.code(), Some(2), "{broken:?}");
    assert!(text(&broken.stderr).contains("MANIFEST.yaml"), "{broken:?}");
    let unknown = person.run(&["scan", "--client", "vim"]);
    assert_eq!(unknown.status.code(), Some(2), "{unknown:?}");
}

#[test]
fn the_manifest_of_the_workspace_is_the_policy() {
    let person = Person::new();
    person.write(&format!("{PROJECT}/a.jsonl"), &healthy());
    assert_eq!(person.lines(&["scan", "--json"])[0]["levels"]["hold"], Value::Null);
    // To the letter the same signature five times is a HARD_LOOP, whatever came back.
    person.write("work/.geometry/MANIFEST.yaml", "profile: strict\n");
    assert!(person.lines(&["scan", "--json"])[0]["levels"]["hold"].is_u64());
}

#[test]
fn secret_1_old_records_are_searched_for_secrets_and_the_value_is_never_printed() {
    let person = Person::new();
    let key = format!("ghp_{}", "a1B2c3D4e5f6".repeat(3));
    let transcript = "home/.claude/projects/-work/s1.jsonl";
    person.write(transcript, &healthy());
    let quiet = person.run(&["scan", "--secrets"]);
    assert_eq!((quiet.status.code(), text(&quiet.stdout)), (Some(0), "no secrets in 1 file\n".to_owned()));
    person.write(transcript, &claude(&[format!("pushed with {key}"), "the door code is Kn0wnOnlyByFile".to_owned()]));
    let found = person.run(&["scan", "--secrets"]);
    assert_eq!(found.status.code(), Some(1), "{found:?}");
    assert!(text(&found.stdout).contains("s1.jsonl\n  line      3  github\n1 secret in 1 file: github 1"), "{found:?}");
    // What the workspace's own file calls a password is one wherever it stands.
    person.write("work/.env", "DOOR_PASSWORD=Kn0wnOnlyByFile\n");
    let found = person.run(&["scan", "--secrets", "--json"]);
    let lines: Vec<Value> = text(&found.stdout).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.last().unwrap()["summary"]["kinds"], json!({"github": 1, "known": 1}));
    for output in [&found, &person.run(&["scan", "--secrets"])] {
        let said = text(&output.stdout) + &text(&output.stderr);
        assert!(!said.contains(&key) && !said.contains("Kn0wnOnlyByFile"), "{said}");
    }
    for words in [&["scan", "--secrets", "--traces", "-"][..], &["scan", "--secrets", "--project", "/no/such"]] {
        assert_eq!(person.run(words).status.code(), Some(2), "{words:?}");
    }
}

#[test]
fn the_transcripts_of_a_folder_that_is_gone_are_found() {
    let person = Person::new();
    let gone = person.0.path().join("gone");
    let there = stuck().replacen("{", &format!("{{\"cwd\":{},", json!(gone)), 1);
    person.write(&format!("{PROJECT}/a.jsonl"), &there);
    let found = person.lines(&["scan", "--json", "--project", gone.to_str().unwrap()]);
    assert_eq!(found.len(), 2, "{found:?}");
}
