//! `tripwire review`: proposed, answered, applied, as docs/guide/authority.md does it; and everything that must not be applied.

use crate::session::fixture::{Place, Said, skip};
use std::fs;
use std::process::Stdio;

/// Stages a change in a fresh place; nothing if the sandbox does not run here.
fn staged(script: &str) -> Option<Place> {
    let place = Place::new();
    place.manifest("review:\n  required: true\n");
    fs::write(place.work().join("kept"), "old\n").unwrap();
    stage(&place, script).then_some(place)
}

fn stage(place: &Place, script: &str) -> bool {
    let work = place.work().display().to_string();
    let said = place.run(&["sandbox", "exec", "--stage", "--workspace", &work, "--", "bash", "-c", script]);
    if said.code != 0 {
        skip(&format!("the sandbox does not run here, so nothing can be staged: {}", said.err));
    }
    said.code == 0
}

fn propose(place: &Place) -> String {
    let proposal = place.run(&["review", "propose", "--json"]).ended(0).json();
    assert_eq!(proposal["short"].as_str().unwrap().len(), 16);
    proposal["digest"].as_str().unwrap().to_owned()
}

fn decide(place: &Place, answer: &str) -> Said {
    place.feed(&["review", "decide", "-"], answer)
}

fn kept(place: &Place) -> String {
    fs::read_to_string(place.work().join("kept")).unwrap()
}

#[test]
fn review_1_an_approved_change_is_applied_and_journaled() {
    let Some(place) = staged("echo new >> kept; echo x > added") else { return };
    let digest = propose(&place);
    assert_eq!(digest.len(), 64);
    let shown = place.run(&["review", "show", digest.get(..16).unwrap()]).ended(0);
    assert!(shown.out.contains("modify kept") && shown.out.contains("proposed"), "{}", shown.out);
    decide(&place, "I read it.\n\nVerdict: APPROVED\n").ended(0).says("approved");
    assert_eq!(kept(&place), "old\n", "an approval changes nothing yet");
    place.run(&["review", "apply"]).ended(0).says("applied");
    assert_eq!(kept(&place), "old\nnew\n");
    assert!(place.work().join("added").exists());
    let log = place.run(&["log", "--json"]).ended(0).out;
    assert!(log.contains("APPROVED") && log.contains(&digest) && log.contains("review.apply"), "{log}");
    place.run(&["review", "apply"]).ended(11).complains("was applied already");
    place.run(&["review", "show"]).ended(0).says("applied");
}

#[test]
fn review_1_missing_rejected_and_edited_changes_are_refused_and_nothing_is_applied() {
    let Some(place) = staged("echo new >> kept") else { return };
    propose(&place);
    let refused = place.run(&["review", "apply", "--json"]).ended(11).json();
    assert_eq!(refused["refused"]["error"], "ReviewGating");
    assert!(refused["refused"]["message"].as_str().unwrap().contains("missing"), "{refused}");
    decide(&place, "APPROVED").ended(0);
    // An edit after the approval voids it.
    assert!(stage(&place, "echo more >> kept"));
    place.run(&["review", "apply"]).ended(11).complains("mismatched");
    assert_eq!(kept(&place), "old\n");
    decide(&place, "REJECTED: too much").ended(11).complains("was not proposed");
    propose(&place);
    decide(&place, "REJECTED: too much").ended(0).says("rejected");
    place.run(&["review", "apply"]).ended(11).complains("rejected");
    decide(&place, "After all:\nAPPROVED").ended(0).says("the proposal is rejected");
    place.run(&["review", "apply"]).ended(11).complains("rejected");
    assert_eq!(kept(&place), "old\n");
}

#[test]
fn review_1_an_answer_without_exactly_one_explicit_word_decides_nothing() {
    let Some(place) = staged("echo new >> kept") else { return };
    propose(&place);
    for (answer, why) in [
        ("APPROVED and REJECTED", "both"),
        ("looks good to me", "neither"),
        ("```\nAPPROVED\n```", "code block"),
        ("say `APPROVED`", "code"),
        ("> APPROVED", "quotation"),
        ("NOT APPROVED", "ambiguous"),
        ("far from APPROVED", "ambiguous"),
        ("- [ ] APPROVED", "ambiguous"),
        ("APPROVED after you fix line 3", "ambiguous"),
        ("Verdict: rejected\nPrevious verdict: APPROVED", "ambiguous"),
        ("Verdict: rejected\nAPPROVED", "both"),
        ("UNAPPROVED", "ambiguous"),
        ("DISAPPROVED", "ambiguous"),
        ("approved", "neither"),
        ("", "neither"),
    ] {
        decide(&place, answer).ended(11).complains(why);
    }
    place.run(&["review", "apply"]).ended(11).complains("missing");
    assert_eq!(kept(&place), "old\n");
}

#[test]
fn review_1_of_concurrent_applies_exactly_one_wins_and_the_others_say_so() {
    let Some(place) = staged("echo new >> kept; mkdir d; for i in $(seq 50); do echo $i > d/$i; done") else { return };
    propose(&place);
    decide(&place, "APPROVED").ended(0);
    let children: Vec<_> = (0..4)
        .map(|_| {
            let mut command = place.command(&["review", "apply"]);
            command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
        })
        .collect();
    let said: Vec<Said> = children.into_iter().map(|child| Said::of(child.wait_with_output().unwrap())).collect();
    assert_eq!(said.iter().filter(|said| said.code == 0).count(), 1, "{said:?}");
    for other in said.into_iter().filter(|said| said.code != 0) {
        other.ended(11).complains("was applied already");
    }
    assert_eq!(kept(&place), "old\nnew\n");
}

#[test]
fn review_1_sandbox_apply_is_refused_where_a_review_is_required_and_free_elsewhere() {
    let Some(place) = staged("echo new >> kept") else { return };
    let digest = propose(&place);
    let work = place.work().display().to_string();
    let apply = ["sandbox", "apply", "--workspace", &work, "--digest", &digest];
    place.run(&apply).ended(11).complains("a review is required");
    place.manifest("review:\n  required: false\n");
    place.run(&apply).ended(0);
    assert_eq!(kept(&place), "old\nnew\n");
}

#[test]
fn review_1_a_role_that_may_not_edit_applies_nothing() {
    let Some(place) = staged("echo new >> kept") else { return };
    propose(&place);
    decide(&place, "APPROVED").ended(0);
    place.run(&["review", "apply", "--role", "tester"]).ended(11).complains("`can_edit_source`");
    assert_eq!(kept(&place), "old\n");
    place.run(&["review", "apply", "--role", "developer"]).ended(0);
}

#[test]
fn review_1_broken_input_is_a_clear_error() {
    let place = Place::new();
    place.run(&["review", "propose"]).ended(2).complains("nothing is staged");
    place.run(&["review", "apply"]).ended(2).complains("nothing is staged");
    place.run(&["review", "show"]).ended(0);
    place.run(&["review", "show", "abcd"]).ended(2).complains("`abcd`");
    place.run(&["review", "decide", "/nonexistent"]).ended(2).complains("cannot open");
    decide(&place, "APPROVED").ended(2).complains("nothing is staged");
    fs::create_dir_all(place.geometry("reviews")).unwrap();
    fs::write(place.geometry("reviews/x.json"), "{").unwrap();
    place.run(&["review", "show"]).ended(9).complains("is damaged");
}
