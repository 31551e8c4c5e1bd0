//! The safety log: every veto and refusal is an entry, and what is taken out of it is found and comes back (LOG-2).

use serde_json::Value;
use std::fs;
use tripwire_core::chain::event::{Action, AgentEvent};
use tripwire_core::input::{Authority, Grant, IdentityFact, Permission, Request, What};
use tripwire_core::label::Label;
use tripwire_core::units::{Count, MicroUsd, Tokens};
use tripwire_session::driver::log_view::{self, LogDifference};
use tripwire_session::driver::{Driver, StateSaves, views};
use tripwire_workspace::geometry::layout::Layout;
use tripwire_workspace::geometry::wall_clock::WallClock;

struct LogPlace {
    _folder: tempfile::TempDir,
    layout: Layout,
}

impl LogPlace {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let geometry = folder.path().join(".geometry");
        fs::create_dir(&geometry).unwrap();
        Self { layout: Layout::at(&geometry), _folder: folder }
    }

    fn begin(&self, settings: &[(&str, &str)]) -> Driver {
        Driver::begin(&self.layout, at(0), |policy| {
            settings.iter().try_for_each(|(path, value)| policy.set(path, value))
        })
        .unwrap()
    }

    fn events(&self) -> Vec<Value> {
        let Ok(text) = fs::read_to_string(self.layout.safety_log()) else { return Vec::new() };
        serde_json::from_str::<Value>(&text).unwrap()["events"].as_array().unwrap().clone()
    }

    fn types(&self) -> Vec<String> {
        self.events().iter().map(|event| event["type"].as_str().unwrap().to_owned()).collect()
    }

    /// Writes the log as somebody with an editor would.
    fn write(&self, events: &[Value]) {
        let lines: Vec<String> = events.iter().map(Value::to_string).collect();
        fs::write(self.layout.safety_log(), format!("{{\"events\":[\n{}\n]}}\n", lines.join(",\n"))).unwrap();
    }
}

fn at(seconds: u64) -> WallClock {
    WallClock::from_epoch_ms(1_790_000_000_000 + seconds * 1_000)
}

fn event(n: u64, tokens: u64, calls: u32) -> What {
    What::Event(AgentEvent {
        output_hash: Label::new(&n.to_string()),
        token_count: Tokens::new(tokens),
        tool_calls: Count::new(calls),
        ..AgentEvent::default()
    })
}

fn request(grant: Grant, identity: Option<IdentityFact>) -> What {
    let authority = Authority { grant, identity, permission: Permission::CanEditSource, role: Label::cut("observer") };
    What::Request(Request {
        agent_id: None,
        starts_agent: None,
        running: None,
        action: Action { tool: Label::cut("Edit"), ..Action::default() },
        authority: Some(authority),
        floor: None,
        proposal: None,
        reserve_micro_usd: None,
    })
}

#[test]
fn log_2_every_veto_is_an_entry_under_its_own_name() {
    let strict = [("profile", "strict")];
    for (veto, inputs) in [
        ("TOKEN_BUDGET_EXCEEDED", [(0, 30_000, 1), (6, 30_000, 1), (7, 1, 1), (8, 1, 1)]),
        ("RATE_LIMIT_EXCEEDED", [(0, 10, 30), (6, 10, 31), (7, 10, 1), (8, 10, 1)]),
        ("COOLDOWN_ACTIVE", [(0, 30_000, 1), (6, 30_000, 1), (62, 1, 1), (65, 1, 1)]),
    ] {
        let place = LogPlace::new();
        let mut driver = place.begin(&strict);
        for (seconds, tokens, calls) in inputs {
            driver.take(event(seconds, tokens, calls), at(seconds)).unwrap();
        }
        let found: Vec<Value> = place.events().into_iter().filter(|event| event["type"] == veto).collect();
        assert!(!found.is_empty(), "{veto}: {:?}", place.types());
        assert_eq!(found[0]["action_taken"], "blocked");
        let details = &found[0]["details"];
        assert_eq!(details["session"], driver.session().as_str(), "{details}");
        assert!(details["index"].is_u64() && details["rule"].is_string(), "{details}");
    }
}

#[test]
fn log_2_a_quiet_session_has_no_vetoes_and_money_is_no_token_veto() {
    let place = LogPlace::new();
    let mut driver = place.begin(&[("profile", "strict")]);
    for n in 0..8 {
        driver.take(event(n, 10, 1), at(n * 7)).unwrap();
    }
    assert_eq!(place.types(), Vec::<String>::new());
    let place = LogPlace::new();
    let mut driver = place.begin(&[("money.budget_micro_usd", "1000000")]);
    for (n, cost) in [(0, 100_000), (6, 750_000)] {
        let What::Event(event) = event(n, 10, 1) else { panic!() };
        let paid = AgentEvent { cost_micro_usd: Some(MicroUsd::new(cost)), ..event };
        driver.take(What::Event(paid), at(n)).unwrap();
    }
    assert_eq!(place.types(), ["BUDGET_WARNING"]);
}

#[test]
fn log_2_refusals_of_role_and_identity_are_entries_and_a_permitted_call_is_none() {
    let place = LogPlace::new();
    let mut driver = place.begin(&[]);
    let asked = driver.take(request(Grant::Denied, None), at(1)).unwrap();
    assert!(!asked.decision.safety.allowed, "{:?}", asked.decision.safety);
    driver.take(request(Grant::Granted, Some(IdentityFact::UnknownChecksum)), at(2)).unwrap();
    assert_eq!(place.types(), ["PERMISSION_DENIED", "PERMISSION_DENIED"]);
    let details = &place.events()[0]["details"];
    assert_eq!((&details["role"], &details["permission"]), (&"observer".into(), &"can_edit_source".into()));
}

/// A session whose log has three entries.
fn noted() -> (LogPlace, Driver) {
    let place = LogPlace::new();
    let mut driver = place.begin(&[]);
    for n in 1..=3 {
        driver.take(request(Grant::Denied, None), at(n)).unwrap();
    }
    assert_eq!(place.events().len(), 3);
    (place, driver)
}

#[test]
fn log_2_an_entry_that_was_taken_out_is_found_and_comes_back_with_the_next() {
    let (place, mut driver) = noted();
    assert_eq!(log_view::compare(&place.layout).unwrap(), LogDifference::default());
    let events = place.events();
    place.write(&events[1..]);
    assert_eq!(log_view::compare(&place.layout).unwrap(), LogDifference { missing: 1, foreign: 0, is_edited: true });
    let taken = driver.take(request(Grant::Denied, None), at(4)).unwrap();
    assert!(taken.notices.iter().any(|notice| notice.contains("rebuilt")), "{:?}", taken.notices);
    assert_eq!(place.events()[..3], events[..]);
    assert_eq!(place.events().len(), 4);
    assert!(log_view::compare(&place.layout).unwrap().is_none());
}

#[test]
fn log_2_an_edit_of_the_same_length_and_a_removed_log_are_found() {
    let (place, _driver) = noted();
    let mut events = place.events();
    events[0]["action_taken"] = "stopped".into();
    place.write(&events);
    assert_eq!(log_view::compare(&place.layout).unwrap(), LogDifference { missing: 1, foreign: 1, is_edited: false });
    fs::remove_file(place.layout.safety_log()).unwrap();
    assert_eq!(log_view::compare(&place.layout).unwrap(), LogDifference { missing: 3, foreign: 0, is_edited: true });
    assert_eq!(log_view::rebuild(&place.layout).unwrap(), 3);
    assert!(log_view::compare(&place.layout).unwrap().is_none());
}

/// A process that is killed between its journal and the log leaves the log one entry short, and nobody has touched it.
#[test]
fn log_2_a_log_that_a_killed_process_left_behind_is_not_an_edited_one() {
    let (place, mut driver) = noted();
    let log = place.layout.safety_log();
    let length = place.layout.state().join("safety_log.length");
    let before = (fs::read(&log).unwrap(), fs::read(&length).unwrap());
    driver.take(request(Grant::Denied, None), at(4)).unwrap();
    fs::write(&log, &before.0).unwrap();
    fs::write(&length, &before.1).unwrap();
    let difference = log_view::compare(&place.layout).unwrap();
    assert!(difference.is_behind() && difference.missing == 1, "{difference:?}");
    fs::write(&log, "{\"events\":[\n]}\n").unwrap();
    assert!(!log_view::compare(&place.layout).unwrap().is_behind(), "an emptied log is not one that is behind");
    for file in [&log, &length] {
        fs::remove_file(file).unwrap();
    }
    let removed = log_view::compare(&place.layout).unwrap();
    assert!(removed.missing > 1 && !removed.is_behind(), "entries of several turns were logged: {removed:?}");
}

#[test]
fn log_2_a_rebuild_keeps_what_is_left_of_a_session_whose_journal_is_gone() {
    let (place, driver) = noted();
    drop(driver);
    let lost = views::newest(&place.layout).unwrap().unwrap();
    fs::remove_dir_all(place.layout.journal_of(&lost)).unwrap();
    assert_eq!(log_view::rebuild(&place.layout).unwrap(), 3);
    assert!(log_view::compare(&place.layout).unwrap().is_none());
}

#[test]
fn log_1_the_manifest_shows_the_newest_signatures_and_a_loop_that_ended_the_session() {
    let place = LogPlace::new();
    let mut driver = place.begin(&[("profile", "strict")]);
    let manifest = || fs::read_to_string(place.layout.manifest()).unwrap();
    let call = |args: &str| {
        What::Event(AgentEvent {
            action: Some(Action {
                args_digest: Label::new(args),
                signature: Label::new("Bash(cmd=make)"),
                tool: Label::cut("Bash"),
                ..Action::default()
            }),
            result_digest: Label::new("same"),
            tool_calls: Count::new(1),
            ..AgentEvent::default()
        })
    };
    driver.take(call("a"), at(1)).unwrap();
    assert!(manifest().contains("last_tool_signatures: [\"Bash(cmd=make)\"]"), "{}", manifest());
    assert!(manifest().contains("loop_detected: false") && manifest().contains("last_compaction: null"));
    for n in 2..=5 {
        driver.take(call("same"), at(n)).unwrap();
    }
    assert!(driver.view().stopped.is_some());
    assert!(manifest().contains("loop_detected: true"), "{}", manifest());
    let taken = driver.take(What::Tick, at(9)).unwrap();
    assert!(taken.before.is_empty(), "what the session shows is nobody's edit: {:?}", taken.before);
}

#[test]
fn log_1_a_process_that_stays_shows_the_newest_signatures_once_in_a_while_and_at_its_end() {
    let place = LogPlace::new();
    let mut driver = place.begin(&[]).with_saves(StateSaves::Seldom);
    let shown = || {
        let manifest = fs::read_to_string(place.layout.manifest()).unwrap();
        let line = manifest.lines().find(|line| line.contains("last_tool_signatures")).unwrap();
        line.rsplit("Bash(cmd=").next().unwrap().trim_end_matches(")\"]").to_owned()
    };
    let mut calls = |range: std::ops::RangeInclusive<u64>| {
        for n in range {
            let action = Action {
                args_digest: Label::new(&n.to_string()),
                signature: Label::new(&format!("Bash(cmd={n})")),
                tool: Label::cut("Bash"),
                ..Action::default()
            };
            let event = AgentEvent { action: Some(action), tool_calls: Count::new(1), ..AgentEvent::default() };
            driver.take(What::Event(event), at(n)).unwrap();
        }
    };
    calls(1..=31);
    assert_eq!(shown(), "1", "a write at every few calls would cost more than their decisions");
    calls(32..=33);
    assert_eq!(shown(), "32");
    driver.finish().unwrap();
    assert_eq!(shown(), "33");
    let taken = driver.take(What::Tick, at(34)).unwrap();
    assert!(taken.before.is_empty(), "what the session shows is nobody's edit: {:?}", taken.before);
}

#[test]
fn log_1_the_manifest_shows_when_the_context_was_compacted() {
    let place = LogPlace::new();
    let mut driver = place.begin(&[]);
    driver.take(What::Compacted(tripwire_core::input::Compaction::default()), at(7)).unwrap();
    let text = fs::read_to_string(place.layout.manifest()).unwrap();
    assert!(text.contains(&format!("last_compaction: \"{}\"", at(7))), "{text}");
}
