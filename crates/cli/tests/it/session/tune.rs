//! `tripwire tune`, and that `not-a-loop` and its check agree with it.

use crate::session::fixture::{Place, call, calls};
use std::fs;

/// A session in which `kubectl get pods` came four times with the same answer: warned, then stopped.
fn polled() -> Place {
    let place = Place::new();
    place.step(&format!("{}{}", calls(2), call("kubectl get pods -n prod", "pending").repeat(4)));
    place
}

fn manifest(place: &Place) -> String {
    fs::read_to_string(place.geometry("MANIFEST.yaml")).unwrap_or_default()
}

/// Runs the check that `not-a-loop` prints.
fn check(place: &Place, printed: &str) -> i32 {
    let printed = printed.split("`tripwire decide").nth(1).unwrap().split('`').next().unwrap();
    let words: Vec<&str> = std::iter::once("decide").chain(printed.split_whitespace()).collect();
    place.run(&words).code
}

#[test]
fn loop_3_the_offers_name_their_flags_and_what_would_vanish_and_write_nothing() {
    let place = polled();
    let before = manifest(&place);
    let said = place.run(&["tune", "5"]).ended(5);
    for words in ["--ignore 'kubectl get pods -n prod'", "--ignore 'kubectl get *'", "--exempt-tool", "--raise loops."]
    {
        assert!(said.out.contains(words), "{words}: {}", said.out);
    }
    assert!(said.out.contains("past alarms would vanish"), "{}", said.out);
    let json = place.run(&["tune", "--json"]).ended(5).json();
    assert_eq!((&json["rule"], &json["decision"]), (&"LOOP-1.exact".into(), &5.into()), "the last alarm: {json}");
    assert!(json["offers"].as_array().unwrap().iter().all(|offer| !offer["vanish"].as_array().unwrap().is_empty()));
    place.run(&["tune", "5", "--ignore", "--dry-run"]).ended(0).says("nothing (`--dry-run`)");
    assert_eq!(manifest(&place), before);
}

#[test]
fn loop_3_an_ignored_command_is_written_here_and_the_next_session_is_quiet() {
    let place = polled();
    let saved = place.run(&["not-a-loop", "5"]).ended(0);
    assert_eq!(check(&place, &saved.out), 9, "before anything was tuned");
    let said = place.run(&["tune", "5", "--ignore", "kubectl get *"]).ended(0);
    assert!(said.out.contains("2 past alarms would vanish, 0 stay"), "{}", said.out);
    assert!(said.out.contains("loops.ignore: [\"kubectl get *\"]"), "{}", said.out);
    assert!(manifest(&place).contains("ignore: [\"kubectl get *\"]"), "{}", manifest(&place));
    assert_eq!(check(&place, &saved.out), 0, "the printed check agrees");
    let later = place.run(&["not-a-loop", "5", "--out", "later.jsonl"]).ended(0);
    assert_eq!(check(&place, &later.out), 0, "whichever comes first");
    // The stopped session stays stopped: what it froze holds. A new one does not even warn.
    place.step(&call("ls", "a")).ended(7);
    place.run(&["ack", "blocker"]);
    let poll = call("kubectl get pods -n prod", "pending").repeat(6);
    let fresh = place.feed(&["step", "--new", "-"], &poll).ended(0);
    assert!(!fresh.out.contains("LOOP_OVERRIDE"), "{}", fresh.out);
    place.run(&["tune", "5", "--ignore", "kubectl get *", "--session", &oldest(&place)]).ended(0).says("already");
}

fn oldest(place: &Place) -> String {
    let mut names: Vec<String> = fs::read_dir(place.geometry("journal"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names.remove(0)
}

#[test]
fn loop_3_everywhere_writes_the_persons_settings_and_a_workspace_overrides_them() {
    let place = polled();
    let saved = place.run(&["not-a-loop", "5"]).ended(0);
    place.run(&["tune", "5", "--exempt-tool", "--everywhere"]).ended(0).says("settings.yaml");
    let settings = place.path().join("config/tripwire/settings.yaml");
    assert!(fs::read_to_string(&settings).unwrap().contains("exempt_tools: [\"Bash\"]"));
    assert!(!manifest(&place).contains("exempt_tools"));
    assert_eq!(check(&place, &saved.out), 0, "the person's settings count in the printed check");
    let shown = place.run(&["policy", "show"]).ended(0);
    assert!(shown.out.lines().any(|line| line.starts_with("loops.exempt_tools") && line.contains("settings.yaml")));
    // The workspace's own word comes first.
    place.manifest("loops:\n  exempt_tools: [\"Read\"]\n");
    assert_eq!(check(&place, &saved.out), 9);
    place.run(&["tune", "5", "--exempt-tool", "--everywhere"]).ended(0).says("which comes first here");
}

#[test]
fn loop_3_a_threshold_is_raised_just_enough_or_to_a_value() {
    let place = polled();
    let json = place.run(&["tune", "5", "--json"]).ended(5).json();
    let raise =
        json["offers"].as_array().unwrap().iter().find(|offer| offer["flags"].as_str().unwrap().starts_with("--raise"));
    let setting = raise.expect("a threshold")["setting"].as_str().unwrap().to_owned();
    place.run(&["tune", "5", "--raise", &setting]).ended(0).says("would vanish");
    assert!(manifest(&place).contains(setting.rsplit('.').next().unwrap()), "{}", manifest(&place));
    place.run(&["tune", "5", "--raise", &format!("{setting}=50")]).ended(0);
    assert!(manifest(&place).contains(": 50"), "{}", manifest(&place));
    place.run(&["policy", "check"]).ended(0);
    place.run(&["tune", "5", "--raise", &format!("{setting}=many")]).ended(2).complains("is no value");
    let before = manifest(&place);
    for lower in ["1", "2", "3"] {
        let refused = place.run(&["tune", "5", "--raise", &format!("{setting}={lower}")]).ended(2);
        let refused = refused.complains("the alarm of decision 5 would still come");
        assert!(refused.err.contains(&format!("--raise {setting}=")), "{}", refused.err);
    }
    assert_eq!(manifest(&place), before, "nothing was written");
    place.run(&["tune", "5", "--raise", "money.budget_micro_usd"]).ended(2).complains("no threshold");
}

#[test]
fn floor_1_the_destructive_command_guard_is_not_tuned() {
    let place = Place::new();
    let asked = serde_json::json!({
        "session_id": "s1", "cwd": place.work(), "hook_event_name": "PreToolUse", "tool_name": "Bash",
        "tool_use_id": "t1", "tool_input": {"command": "rm -rf ~"},
    });
    place.feed(&["hook", "claude"], &asked.to_string());
    let held = place.run(&["log", "--rule", "FLOOR-1", "--json"]).ended(0).json_lines();
    let number = held[0]["i"].to_string();
    let refused =
        place.run(&["tune", &number, "--exempt-tool"]).ended(11).complains("is not noise that can be tuned away");
    assert!(refused.err.contains("tripwire allow"), "{}", refused.err);
}

#[test]
fn loop_3_what_is_no_alarm_and_broken_settings_are_refused() {
    let place = polled();
    place.run(&["tune", "0"]).ended(2).complains("raised no alarm");
    place.run(&["tune", "99"]).ended(2).complains("there is no decision");
    assert_eq!(place.run(&["tune", "four"]).code, 2);
    assert_eq!(place.run(&["tune", "5", "--ignore", "x", "--exempt-tool"]).code, 2, "one choice at a time");
    let below = crate::session::fixture::Said::of(
        place.command(&["tune", "5", "--ignore"]).env("CLAUDECODE", "1").output().unwrap(),
    );
    below.ended(11).complains("is for a person");
    fs::create_dir_all(place.path().join("config/tripwire")).unwrap();
    let settings = place.path().join("config/tripwire/settings.yaml");
    fs::write(&settings, "loops: [unclosed\n").unwrap();
    place.run(&["tune", "5", "--ignore", "--everywhere"]).ended(2).complains("settings.yaml");
    fs::write(&settings, "safety:\n  iteration_count: 3\n").unwrap();
    place.feed(&["step", "--new", "-"], &calls(1)).ended(2).complains("belongs to one workspace");
    let quiet = Place::new();
    quiet.step(&calls(3)).ended(0);
    quiet.run(&["tune"]).ended(2).complains("no alarm was raised");
}

#[test]
fn loop_3_every_advised_command_names_the_session_that_was_given() {
    let place = polled();
    let session = place.session();
    place.feed(&["step", "--new"], &calls(1)).ended(0);
    let option = format!(" --session {session}`");
    let offers = place.run(&["tune", "5", "--session", &session]).ended(5);
    let offers = offers.out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(offers.contains("`tripwire tune 5 --ignore") && offers.contains(&option), "{offers}");
    assert_eq!(offers.matches("`tripwire tune 5").count(), offers.matches(&option).count(), "{offers}");
    let advised = format!("`tripwire tune 5 --session {session}`");
    place.run(&["why", "5", "--session", &session]).ended(0).says(&advised);
    place.run(&["not-a-loop", "5", "--session", &session]).ended(0).says(&advised);
    let log = format!("tripwire log --level override --session {session}");
    place.run(&["not-a-loop", "0", "--session", &session]).ended(2).complains(&log);
}
