//! Our own loop as a door of authority: what the role may not do is not done (PERM-1).

use crate::support::{Bed, call, finish, of_kind, shell};
use serde_json::json;

#[test]
fn perm_1_a_role_that_may_not_edit_is_refused_by_the_gate_and_by_the_mount() {
    let bed = Bed::new();
    bed.file("a.txt", "as it was\n");
    let answers = [
        call("write", json!({"path": "a.txt", "content": "changed\n"})),
        shell("echo changed > a.txt"),
        call("read_file", json!({"path": "a.txt"})),
        finish(),
    ];
    bed.agent(&answers, &["--role", "reviewer"]).ended(0);
    assert_eq!(bed.read("a.txt"), "as it was\n");
    let transcript = bed.transcript();
    let refused = of_kind(&transcript, "refused");
    assert!(refused[0]["reason"].as_str().unwrap().contains("permission denied: role `reviewer`"), "{refused:?}");
    assert!(bed.transcript_text().contains("as it was"), "reading passes");
}

#[test]
fn perm_1_a_role_that_may_run_nothing_ends_with_11_before_the_model_is_asked() {
    let bed = Bed::new();
    let run = bed.agent(&[finish()], &["--role", "observer"]);
    run.ended(11);
    assert!(run.stdout.contains("permission denied: role `observer`"), "{}", run.stdout);
    assert!(of_kind(&bed.transcript(), "answer").is_empty());
}

#[test]
fn perm_1_the_usual_role_may_edit() {
    let bed = Bed::new();
    let answers = [call("write", json!({"path": "a.sh", "content": "true\n"})), shell("sh a.sh"), finish()];
    bed.agent(&answers, &["--verify", "sh a.sh"]).ended(0);
    assert_eq!(bed.read("a.sh"), "true\n");
}

#[test]
fn perm_1_a_role_that_nobody_defined_begins_no_session() {
    let bed = Bed::new();
    let run = bed.agent(&[finish()], &["--role", "wizard"]);
    run.ended(2);
    assert!(run.stderr.contains("`wizard`") && run.stderr.contains("hint: "), "{}", run.stderr);
    assert!(bed.sessions().is_empty());
}
