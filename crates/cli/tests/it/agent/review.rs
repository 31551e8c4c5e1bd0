//! The review gate in our own loop: what was approved is applied to the byte, and nothing else is (REVIEW-1).

use crate::support::{Bed, call, finish, of_kind, shell};
use serde_json::{Value, json};

fn work() -> Vec<Value> {
    vec![call("write", json!({"path": "a.sh", "content": "true\n"})), shell("sh a.sh"), finish()]
}

#[test]
fn review_1_a_change_reaches_the_workspace_only_when_the_reviewer_approves_it() {
    let bed = Bed::new();
    let no = json!({"expect": ["+true", "reach the aim"], "text": "It needs a comment.\nREJECTED"});
    let yes = json!({"expect": ["+# always true"], "text": "Good.\nAPPROVED"});
    let reviewer = bed.cassette("reviewer.jsonl", &[no, yes]);
    let mut answers = work();
    let again = call("write", json!({"path": "a.sh", "content": "# always true\ntrue\n"}));
    answers.push(json!({"expect": "It needs a comment.", "text": again["text"], "calls": again["calls"]}));
    answers.extend([shell("sh a.sh"), finish()]);
    bed.agent(&answers, &["--review", &reviewer, "--verify", "sh a.sh"]).ended(0);
    assert_eq!(bed.read("a.sh"), "# always true\ntrue\n");
    let transcript = bed.transcript();
    let reviews: Vec<&Value> = of_kind(&transcript, "review").iter().map(|line| &line["answer"]).collect();
    assert_eq!(reviews, [&json!("rejected"), &json!("approved")]);
}

#[test]
fn review_1_without_an_approval_the_workspace_stays_as_it_was() {
    for words in ["I cannot say.", "APPROVED or REJECTED?", "It is UNAPPROVED."] {
        let bed = Bed::new();
        let reviewer = bed.cassette("reviewer.jsonl", &[json!({"text": words})]);
        let run = bed.agent(&work(), &["--review", &reviewer, "--verify", "sh a.sh"]);
        assert_ne!(run.code, 0, "{words}: {}", run.stdout);
        assert!(!bed.work().join("a.sh").exists(), "{words}");
    }
}

#[test]
fn review_1_a_reviewer_that_does_not_answer_ends_with_11_and_applies_nothing() {
    let bed = Bed::new();
    let reviewer = bed.cassette("reviewer.jsonl", &[json!({"error": {"kind": "unreachable", "said": "gone"}})]);
    bed.agent(&work(), &["--review", &reviewer, "--verify", "sh a.sh"]).ended(11);
    assert!(!bed.work().join("a.sh").exists());
}
