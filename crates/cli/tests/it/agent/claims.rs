//! What a claim to be done must stand on: the session's own test command, and the files that really changed.

use crate::agent::fixture::{AgentFixture, call, finish, of_kind, shell, untested};
use serde_json::json;

fn failing() -> AgentFixture {
    let fixture = AgentFixture::new();
    fixture.file("test.sh", "exit 1\n").file("other/test.sh", "exit 0\n").file("code.sh", "old\n");
    fixture
}

#[test]
fn dirty_1_no_line_around_the_test_command_proves_that_the_tests_pass() {
    let around = [
        "cd other && sh test.sh",
        "sh other/test.sh",
        "exit 0; sh test.sh",
        "sh(){ :;}; sh test.sh",
        "trap 'exit 0' ERR EXIT; sh test.sh",
        "sh test.sh || true",
        "sh -n test.sh",
        "pytest(){ echo '5 passed in 0.1s'; }; pytest",
    ];
    for line in around {
        let fixture = failing();
        let answers = untested(vec![shell("echo new > code.sh"), shell(line)]);
        let run = fixture.agent(&answers, &["--verify", "sh test.sh"]);
        run.ended(4);
        assert!(!run.stdout.contains("and VERIFIED"), "{line}: {}", run.stdout);
    }
    let fixture = failing();
    let answers = [shell("echo new > code.sh; echo exit 0 > test.sh"), shell(" sh test.sh\n"), finish()];
    let run = fixture.agent(&answers, &["--verify", "sh test.sh"]);
    run.ended(0);
    assert!(run.stdout.contains("and VERIFIED"), "{}", run.stdout);
}

#[test]
fn dirty_1_code_that_changed_is_seen_whatever_changed_it() {
    for line in [
        "sh gen.sh",
        "awk 'BEGIN { print \"new\" > \"code.sh\" }'",
        "printf new | dd of=code.sh 2>/dev/null",
        "ln -sf gen.sh code.sh",
        "echo new > code.sh; exit 1",
        "echo new > code.sh; kill -9 $$",
    ] {
        let fixture = failing();
        fixture.file("gen.sh", "echo new > code.sh\n");
        let run = fixture.agent(&untested(vec![shell(line)]), &["--verify", "sh test.sh"]);
        assert_eq!(run.code, 4, "{line}: {}", run.stdout);
    }
    for line in ["cat code.sh; exit 1", "sh other/test.sh", "echo a note > notes.md", "sh build.sh"] {
        let fixture = failing();
        fixture.file("build.sh", "mkdir -p target; echo x > target/a.o\n");
        let run = fixture.agent(&[shell(line), finish()], &["--verify", "sh test.sh"]);
        assert_eq!(run.code, 0, "{line}: {}", run.stdout);
        assert!(run.stdout.contains("no code was changed"), "{line}: {}", run.stdout);
    }
}

#[test]
fn mem_1_a_role_that_only_reads_gets_back_what_was_cut() {
    let fixture = AgentFixture::new();
    let kept = fixture.agent(&[call("remember", json!({"text": "a note"})), finish()], &[]);
    kept.ended(0);
    let transcript = fixture.transcript();
    let result: serde_json::Value =
        serde_json::from_str(of_kind(&transcript, "result")[0]["text"].as_str().unwrap()).unwrap();
    let pointer = result["pointer"].as_str().unwrap().to_owned();
    fixture.agent(&[call("recall", json!({"pointer": pointer})), finish()], &["--role", "reviewer"]).ended(0);
    let transcript = fixture.transcript();
    assert_eq!(of_kind(&transcript, "result")[0]["how"], "done", "{transcript:?}");
}

#[test]
fn what_an_agent_calls_things_does_not_steer_a_persons_terminal() {
    let fixture = AgentFixture::new();
    let answers = untested(vec![call("write", json!({"path": "a\u{1b}[2Jb.sh", "content": "x"}))]);
    fixture.agent(&answers, &[]).ended(4);
    let log = fixture.run(&["log"]);
    assert!(log.stdout.contains("b.sh") && !log.stdout.contains('\u{1b}'), "{}", log.stdout.escape_debug());
    for number in 0..8 {
        assert!(!fixture.run(&["why", &number.to_string()]).stdout.contains('\u{1b}'));
    }
}

#[test]
fn an_agent_that_gets_more_than_the_named_folder_is_said_to() {
    let fixture = AgentFixture::new();
    std::fs::create_dir(fixture.geometry()).unwrap();
    fixture.file("part/a.sh", "x");
    let run = fixture.agent(&[finish()], &["--workspace", "part"]);
    run.ended(0);
    assert!(run.stderr.contains("the workspace is") && run.stderr.contains("`part`"), "{}", run.stderr);
    let run = fixture.agent(&[finish()], &["--workspace", "."]);
    run.ended(0);
    assert!(!run.stderr.contains("the workspace is"), "{}", run.stderr);
}

#[test]
fn dirty_1_what_changed_no_file_of_code_needs_no_tests() {
    for line in [
        "echo old > code.sh",
        "echo z > /nonexistent/x.py; ls",
        "echo step >> done.log",
        "echo 1 > server.pid; rm server.pid",
        "touch code.sh",
    ] {
        let fixture = failing();
        let run = fixture.agent(&[shell(line), finish()], &["--verify", "sh test.sh"]);
        assert_eq!(run.code, 0, "{line}: {}", run.stdout);
        assert!(run.stdout.contains("no code was changed"), "{line}: {}", run.stdout);
    }
    let fixture = failing();
    let same = call("write", json!({"path": "code.sh", "content": "old\n"}));
    fixture.agent(&[same, finish()], &["--verify", "sh test.sh"]).ended(0);
}

#[test]
fn dirty_1_tests_that_changed_are_named_beside_the_verdict() {
    let of = |line: &str| {
        let fixture = AgentFixture::new();
        fixture.file("test.sh", "exit 0\n").file("code.sh", "old\n");
        let run = fixture.agent(&[shell(line), shell("sh test.sh"), finish()], &["--verify", "sh test.sh"]);
        run.ended(0);
        run.stdout
    };
    let said = of("echo true > test.sh");
    assert!(said.contains("and VERIFIED") && said.contains("tests     changed in this session: test.sh"), "{said}");
    let said = of("echo new > code.sh");
    assert!(said.contains("and VERIFIED") && !said.contains("changed in this session"), "{said}");
}

/// What the report says of the claims of the newest session.
fn answers_in_report(fixture: &AgentFixture) -> Vec<String> {
    let report: serde_json::Value = serde_json::from_str(&fixture.run(&["report", "--json"]).stdout).unwrap();
    let claims = report["sessions"][0]["claims"].as_array().unwrap().iter();
    claims.map(|claim| claim["what"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn dirty_1_a_claim_that_was_sent_back_is_nowhere_called_accepted() {
    let fixture = failing();
    let answers = untested(vec![shell("echo new > code.sh"), shell("sh test.sh")]);
    fixture.agent(&answers, &["--verify", "sh test.sh"]).ended(4);
    let told = answers_in_report(&fixture);
    assert!(told[0].starts_with("sent back: Cannot complete task with failing tests"), "{told:?}");
    assert!(told.last().unwrap().starts_with("accepted: "), "the last one is let go, unproved: {told:?}");
    let log = fixture.run(&["log", "--json", "verdict:refused", "type:claim"]).stdout;
    let first: serde_json::Value = serde_json::from_str(log.lines().next().unwrap()).unwrap();
    let why = fixture.run(&["why", &first["i"].to_string()]).stdout;
    assert!(why.contains("decision   sent back: Cannot complete task with failing tests [DIRTY-1]"), "{why}");
}

#[test]
fn dirty_1_a_claim_that_holds_is_accepted() {
    let fixture = failing();
    fixture.file("test.sh", "exit 0\n");
    fixture.agent(&[shell("echo new > code.sh"), shell("sh test.sh"), finish()], &["--verify", "sh test.sh"]).ended(0);
    let told = answers_in_report(&fixture);
    assert!(told.len() == 1 && told[0].starts_with("accepted: "), "{told:?}");
    assert_eq!(fixture.run(&["log", "--json", "verdict:refused", "type:claim"]).stdout, "");
}

#[test]
fn dirty_1_a_note_after_the_tests_takes_nothing_back_and_an_edit_does() {
    for (last, claims) in [("echo seen > NOTES.md; echo x > run.log", 1), ("echo other > code.sh", 2)] {
        let fixture = failing();
        fixture.file("test.sh", "exit 0\n");
        let answers =
            [shell("echo new > code.sh"), shell("sh test.sh"), shell(last), finish(), shell("sh test.sh"), finish()];
        fixture.agent(&answers, &["--verify", "sh test.sh"]).ended(0);
        assert_eq!(answers_in_report(&fixture).len(), claims, "{last}");
    }
}
