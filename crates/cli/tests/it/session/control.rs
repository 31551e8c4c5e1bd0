//! `tripwire stop`, `pause`, `resume` and `ack`.

use crate::session::fixture::{Place, call, calls};
use std::fs;

#[test]
fn ctrl_2_stop_works_without_a_session_and_blocks_the_next_one() {
    let place = Place::new();
    place
        .run(&["stop", "--reason", "going home"])
        .ended(0)
        .says("no supervised process")
        .says("there is no session yet");
    let order = fs::read_to_string(place.geometry("STOP")).unwrap();
    assert!(
        order.contains(&format!("who: {}", tripwire_workspace::account::current()))
            && order.contains("reason: going home"),
        "{order}"
    );
    place.step(&calls(1)).ended(10);
    place.run(&["resume"]).ended(0).says("`.geometry/STOP` is removed");
    place.step(&calls(1)).ended(0);
}

#[test]
fn ctrl_2_stop_is_journaled_at_once_with_who_and_why_and_may_be_given_twice() {
    let place = Place::new();
    place.step(&calls(1)).ended(0);
    place.run(&["stop", "--reason", "enough"]).ended(0).says("are stopped").says("next: `tripwire resume`");
    place
        .run(&["log", "--type", "human"])
        .ended(0)
        .says(&format!("by {}", tripwire_workspace::account::current()))
        .says("because enough")
        .says("a person: \"stop\"");
    place.run(&["stop", "--reason", "again"]).ended(0).says("stood already");
    assert!(fs::read_to_string(place.geometry("STOP")).unwrap().contains("enough"), "the first author's words stay");
    let json = place.run(&["stop", "--json"]).ended(0).json();
    assert_eq!((&json["verb"], &json["next"]), (&"stop".into(), &"tripwire resume".into()));
    place.step(&calls(1)).ended(10);
    place.run(&["resume"]).ended(0).says("goes on");
    place.step(&calls(1)).ended(0);
}

#[test]
fn ctrl_2_pause_holds_and_resume_goes_on_where_it_was() {
    let place = Place::new();
    place.step(&calls(2)).ended(0);
    place.run(&["pause"]).ended(0).says("`.geometry/PAUSE` is written");
    place.run(&["pause"]).ended(0).says("stood already");
    place.step(&calls(1)).ended(5);
    place.run(&["resume"]).ended(0).says("`.geometry/PAUSE` is removed");
    place.run(&["resume"]).ended(0).says("goes on");
    place.step(&calls(1)).ended(0);
    place.run(&["verify"]).ended(0);
}

#[test]
fn ctrl_2_a_session_that_ended_by_itself_needs_a_restart() {
    let place = Place::new();
    place.step(&call("make", "error").repeat(4)).ended(7);
    place.run(&["resume"]).ended(5).says("still stopped").says("next: `tripwire resume --restart`");
    place.step(&calls(1)).ended(7);
    place.run(&["ack", "blocker"]).ended(5).says("is acknowledged and removed");
    place.run(&["resume", "--restart"]).ended(0).says("started again by a person");
    place.step(&calls(1)).ended(0);
    place.run(&["log", "--type", "human"]).ended(0).says("restart");
}

#[test]
fn prog_1_ack_clears_the_checkpoint_that_holds_and_nothing_else() {
    let place = Place::new();
    place.manifest("safety:\n  max_iterations: 2\n");
    let begin = "{\"at\":0,\"what\":\"iterationStarted\"}\n";
    place.step(&begin.repeat(3)).ended(5);
    assert!(place.geometry("CHECKPOINT.md").exists());
    place.run(&["resume"]).ended(5).says("tripwire ack checkpoint");
    place.run(&["ack", "blocker"]).ended(5).says("no report waits");
    place.run(&["ack", "checkpoint"]).ended(0).says("is acknowledged");
    assert!(!place.geometry("CHECKPOINT.md").exists());
    place.step(begin).ended(0);
    place.run(&["ack"]).ended(0).says("no report waits");
}

#[test]
fn an_order_binds_even_when_it_cannot_be_journaled() {
    let place = Place::new();
    place.step(&calls(2)).ended(0);
    fs::write(place.journal("00000001.jsonl"), "rubbish\n").unwrap();
    place.run(&["stop"]).ended(9).complains("is written and is enforced, but the act was not journaled");
    assert!(place.geometry("STOP").exists());
}

#[test]
fn ctrl_2_wrong_words_are_refused_and_change_nothing() {
    let place = Place::new();
    place.step(&calls(1)).ended(0);
    for wrong in
        [&["ack", "everything"][..], &["stop", "now"], &["resume", "--raise-budget", "much"], &["pause", "--for"]]
    {
        assert_eq!(place.run(wrong).code, 2, "{wrong:?}");
    }
    place.run(&["stop", "--workspace", "/nonexistent/place"]).ended(2).complains("/nonexistent/place");
    place.run(&["status"]).ended(0);
}

#[test]
fn ctrl_1_a_stop_binds_every_session_of_the_workspace() {
    let place = Place::new();
    place.step(&calls(1)).ended(0);
    let older = place.session();
    place.feed(&["step", "--new"], &calls(1)).ended(0);
    place.run(&["stop"]).ended(0);
    place.feed(&["step", "--session", &older], &calls(1)).ended(10);
    place.run(&["resume"]).ended(0);
    place.feed(&["step", "--session", &older], &calls(1)).ended(0);
}

#[test]
fn const_6_a_threshold_that_was_edited_is_noted_and_not_applied_while_a_counter_is_honoured() {
    let place = Place::new();
    place.step("{\"at\":0,\"what\":\"iterationStarted\"}\n").ended(0);
    let manifest = fs::read_to_string(place.geometry("MANIFEST.yaml")).unwrap();
    let edited = manifest
        .replace("max_iterations: 100", "max_iterations: 1")
        .replace("iteration_count: 1", "iteration_count: 42");
    assert_ne!(edited, manifest);
    fs::write(place.geometry("MANIFEST.yaml"), edited).unwrap();
    place.step(&calls(1)).ended(0);
    place.run(&["log", "--type", "POLICY_DRIFT"]).ended(0).says("`safety.max_iterations` is `1` on disk; not applied");
    place.run(&["log", "--type", "MANUAL_OVERRIDE"]).ended(0).says("a person set a counter");
    assert_eq!(place.run(&["status", "--json"]).ended(0).json()["session"]["view"]["iterations"], 42);
}

#[test]
fn ctrl_2_resume_is_for_every_session_of_the_workspace() {
    let place = Place::new();
    place.step(&calls(1)).ended(0);
    let first = place.session();
    place.feed(&["step", "--new", "-"], &calls(1)).ended(0);
    place.run(&["pause"]).ended(0);
    place.feed(&["step", "--session", &first, "-"], &calls(1)).ended(5);
    let states = || {
        let json = place.run(&["ls", "--json"]).ended(0).json();
        let sessions = json["sessions"].as_array().unwrap().clone();
        sessions.iter().map(|one| one["state"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(states(), ["paused", "paused"]);
    let said = place.run(&["resume", "--reason", "lunch is over"]).ended(0);
    assert!(said.out.contains(&format!("{first} goes on at its next step too")), "{}", said.out);
    assert_eq!(states(), ["active", "active"]);
    let log = place.run(&["log", "--session", &first]).ended(0);
    assert!(log.out.contains("lunch is over"), "signed with the reason there too: {}", log.out);
    // A session that is named is the only one.
    place.run(&["pause"]).ended(0);
    place.feed(&["step", "--session", &first, "-"], &calls(1)).ended(5);
    let newest = place.session();
    assert!(!place.run(&["resume", "--session", &newest]).out.contains("at its next step too"));
}

/// A workspace with two sessions, and the older one's name.
fn two_sessions() -> (Place, String) {
    let place = Place::new();
    place.step(&calls(1)).ended(0);
    let older = place.session();
    place.feed(&["step", "--new", "-"], &calls(2)).ended(0);
    (place, older)
}

/// Damages the journal of the newest session.
fn damage(place: &Place) {
    let segment = place.journal("00000001.jsonl");
    let text = fs::read_to_string(&segment).unwrap();
    fs::write(&segment, text.replacen("work", "wurk", 1)).unwrap();
    fs::remove_dir_all(place.geometry("state")).unwrap();
}

#[test]
fn ctrl_2_what_was_done_before_an_order_failed_is_said_and_the_other_sessions_go_on() {
    let (place, older) = two_sessions();
    place.run(&["pause"]).ended(0);
    place.feed(&["step", "--session", &older, "-"], &call("more", "ok")).ended(5);
    damage(&place);
    let said = place.run(&["resume"]).ended(9);
    let done = format!("`.geometry/PAUSE` is removed; {older} goes on at its next step too; then it failed: ");
    assert!(said.err.contains(&done) && said.err.contains("damaged"), "{}", said.err);
    assert!(!place.geometry("PAUSE").exists());
    place.feed(&["step", "--session", &older, "-"], &call("more", "ok")).ended(0);
    fs::write(place.geometry("BLOCKER_REPORT.md"), "# look\n").unwrap();
    place.run(&["ack", "blocker"]).ended(9).complains("is acknowledged and removed; then it failed: ");
}

#[test]
fn ctrl_2_an_order_that_fails_before_anything_was_done_says_only_why() {
    let (place, _) = two_sessions();
    damage(&place);
    for verb in ["resume", "ack"] {
        let said = place.run(&[verb]).ended(9);
        assert!(!said.err.contains("then it failed") && said.err.contains("damaged"), "{}", said.err);
    }
}

/// A workspace whose name a shell would take apart, and the option that names it.
fn folder_with_a_space(place: &Place) -> (String, String) {
    let folder = place.path().join("my work");
    fs::create_dir(&folder).unwrap();
    let shown = folder.canonicalize().unwrap().display().to_string();
    (folder.to_str().unwrap().to_owned(), format!(" --workspace '{shown}'"))
}

#[test]
fn ctrl_2_the_next_command_names_the_workspace_and_the_session_that_were_given() {
    let place = Place::new();
    let (folder, option) = folder_with_a_space(&place);
    place.feed(&["step", "--workspace", &folder], &calls(1)).ended(0);
    let next = format!("next: `tripwire resume{option}`");
    place.run(&["stop", "--workspace", &folder]).ended(0).says(&next);
    place.run(&["resume", "--workspace", &folder]).ended(0);
    place.run(&["pause", "--workspace", &folder]).ended(0).says(&next);
    let json = place.run(&["pause", "--workspace", &folder, "--json"]).ended(0).json();
    assert_eq!(json["next"], format!("tripwire resume{option}"));
    place.run(&["resume", "--workspace", &folder]).ended(0);
    // What still holds after a resume is advised with the same options.
    place.feed(&["step", "--workspace", &folder], &call("make", "error").repeat(4)).ended(7);
    let status = place.run(&["status", "--workspace", &folder, "--json"]).json();
    let session = status["session"]["id"].as_str().unwrap().to_owned();
    place
        .run(&["resume", "--workspace", &folder, "--session", &session])
        .ended(5)
        .says(&format!("next: `tripwire resume --restart{option} --session {session}`"));
}
