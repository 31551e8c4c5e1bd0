//! The fleet on the page: its machines, budgets and rates, and a machine without one.

use super::browser::{self, Browser};
use super::served::Served;
use crate::session::fixture::{Place, calls};
use serde_json::Value;
use tripwire_testing::TestDir;

/// A machine that has served in a fleet with a budget, a rate and an order.
fn joined() -> (TestDir, Place) {
    let (shared, place) = (TestDir::new(), Place::new());
    let address = format!("file:{}", shared.path().display());
    place.run(&["fleet", "join", &address, "--machine", "m", "--label", "team=search"]).ended(0);
    place.step(&calls(2)).ended(0);
    place.run(&["fleet", "serve", "--timeout", "1"]).ended(0);
    place.run(&["fleet", "budget", "team-search", "--limit", "5usd"]).ended(0);
    place.run(&["fleet", "rate", "team-search", "--per-minute", "600"]).ended(0);
    place.run(&["pause", "--all", "--reason", "lunch", "--wait", "1"]).ended(0);
    (shared, place)
}

#[test]
fn the_page_is_told_of_the_fleet_and_of_none() {
    let place = Place::new();
    let served = Served::start(&place, &[]);
    let alone: Value = serde_json::from_str(&served.read("/api/fleet").body).unwrap();
    assert!(alone["fleet"].is_null(), "{alone}");
    let (shared, place) = joined();
    let served = Served::start(&place, &[]);
    let told: Value = serde_json::from_str(&served.read("/api/fleet").body).unwrap();
    let (fleet, machine) = (&told["fleet"], &told["fleet"]["machines"][0]);
    assert_eq!((machine["machine"].as_str(), machine["held"]["act"].as_str()), (Some("m"), Some("pause")), "{told}");
    assert_eq!(fleet["budgets"]["team-search"]["limit"], 5_000_000, "{told}");
    assert_eq!(fleet["rates"]["team-search"]["per_minute"], 600, "{told}");
    std::fs::write(shared.path().join("subjects").join("tw.state.machine.m"), "damage\n").unwrap();
    let broken = served.read("/api/fleet");
    assert!(broken.status == 409 && broken.body.contains("damaged"), "{broken:?}");
}

#[test]
fn the_page_shows_machines_what_holds_them_budgets_and_rates() {
    let Some(program) = browser::program() else { return };
    let (_shared, place) = joined();
    let served = Served::start(&place, &[]);
    let mut browser = Browser::start(&program);
    browser.size(1440, 900);
    browser.open(&served.url);
    browser.until("document.documentElement.dataset.ready");
    browser.ask("document.querySelector('[data-view=fleet]').click()");
    browser.until("document.querySelectorAll('.view table').length === 3");
    browser.picture("fleet");
    let text = browser.ask("document.querySelector('main').textContent");
    let text = text.as_str().unwrap();
    for words in ["team=search", "pause", "lunch", "$0.00 of $5.00", "600 calls a minute"] {
        assert!(text.contains(words), "`{words}` is not in: {text}");
    }
    assert!(browser.complaints.is_empty(), "{:#?}", browser.complaints);
}
