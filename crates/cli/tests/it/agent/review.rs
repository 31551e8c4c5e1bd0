//! The review gate in our own loop: what was approved is applied to the byte, and nothing else is (REVIEW-1).

use crate::agent::fixture::{AgentFixture, call, finish, of_kind, shell};
use serde_json::{Value, json};

fn work() -> Vec<Value> {
    vec![call("write", json!({"path": "a.sh", "content": "true\n"})), shell("sh a.sh"), finish()]
}

#[test]
fn review_1_a_change_reaches_the_workspace_only_when_the_reviewer_approves_it() {
    let fixture = AgentFixture::new();
    let no = json!({"expect": ["+true", "reach the aim"], "text": "It needs a comment.\nREJECTED"});
    let yes = json!({"expect": ["+# always true"], "text": "Good.\nAPPROVED"});
    let reviewer = fixture.cassette("reviewer.jsonl", &[no, yes]);
    let mut answers = work();
    let again = call("write", json!({"path": "a.sh", "content": "# always true\ntrue\n"}));
    answers.push(json!({"expect": "It needs a comment.", "text": again["text"], "calls": again["calls"]}));
    answers.extend([shell("sh a.sh"), finish()]);
    fixture.agent(&answers, &["--review", &reviewer, "--verify", "sh a.sh"]).ended(0);
    assert_eq!(fixture.read("a.sh"), "# always true\ntrue\n");
    let transcript = fixture.transcript();
    let reviews: Vec<&Value> = of_kind(&transcript, "review").iter().map(|line| &line["answer"]).collect();
    assert_eq!(reviews, [&json!("rejected"), &json!("approved")]);
}

#[test]
fn review_1_without_an_approval_the_workspace_stays_as_it_was() {
    for words in ["I cannot say.", "APPROVED or REJECTED?", "It is UNAPPROVED."] {
        let fixture = AgentFixture::new();
        let reviewer = fixture.cassette("reviewer.jsonl", &[json!({"text": words})]);
        let run = fixture.agent(&work(), &["--review", &reviewer, "--verify", "sh a.sh"]);
        assert_ne!(run.code, 0, "{words}: {}", run.stdout);
        assert!(!fixture.work().join("a.sh").exists(), "{words}");
    }
}

#[test]
fn review_1_a_reviewer_that_does_not_answer_ends_with_11_and_applies_nothing() {
    let fixture = AgentFixture::new();
    let reviewer = fixture.cassette("reviewer.jsonl", &[json!({"error": {"kind": "unreachable", "said": "gone"}})]);
    fixture.agent(&work(), &["--review", &reviewer, "--verify", "sh a.sh"]).ended(11);
    assert!(!fixture.work().join("a.sh").exists());
}
