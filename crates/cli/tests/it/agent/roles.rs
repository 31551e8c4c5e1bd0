//! Our own loop as a door of authority: what the role may not do is not done (PERM-1).

use crate::agent::fixture::{AgentFixture, call, finish, of_kind, shell};
use serde_json::json;

#[test]
fn perm_1_a_role_that_may_not_edit_is_refused_by_the_gate_and_by_the_mount() {
    let fixture = AgentFixture::new();
    fixture.file("a.txt", "as it was\n");
    let answers = [
        call("write", json!({"path": "a.txt", "content": "changed\n"})),
        shell("echo changed > a.txt"),
        call("read_file", json!({"path": "a.txt"})),
        finish(),
    ];
    fixture.agent(&answers, &["--role", "reviewer"]).ended(0);
    assert_eq!(fixture.read("a.txt"), "as it was\n");
    let transcript = fixture.transcript();
    let refused = of_kind(&transcript, "refused");
    assert!(refused[0]["reason"].as_str().unwrap().contains("permission denied: role `reviewer`"), "{refused:?}");
    assert!(fixture.transcript_text().contains("as it was"), "reading passes");
}

#[test]
fn perm_1_a_role_that_may_run_nothing_ends_with_11_before_the_model_is_asked() {
    let fixture = AgentFixture::new();
    let run = fixture.agent(&[finish()], &["--role", "observer"]);
    run.ended(11);
    assert!(run.stdout.contains("permission denied: role `observer`"), "{}", run.stdout);
    assert!(of_kind(&fixture.transcript(), "answer").is_empty());
}

#[test]
fn perm_1_the_usual_role_may_edit() {
    let fixture = AgentFixture::new();
    let answers = [call("write", json!({"path": "a.sh", "content": "true\n"})), shell("sh a.sh"), finish()];
    fixture.agent(&answers, &["--verify", "sh a.sh"]).ended(0);
    assert_eq!(fixture.read("a.sh"), "true\n");
}

#[test]
fn perm_1_a_role_that_nobody_defined_begins_no_session() {
    let fixture = AgentFixture::new();
    let run = fixture.agent(&[finish()], &["--role", "wizard"]);
    run.ended(2);
    assert!(run.stderr.contains("`wizard`") && run.stderr.contains("hint: "), "{}", run.stderr);
    assert!(fixture.sessions().is_empty());
}
