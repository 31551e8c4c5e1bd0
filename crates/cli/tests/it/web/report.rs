//! `tripwire report`: one file that says everything and asks nobody.

use super::browser::{self, Browser};
use crate::session::fixture::{Place, call, calls};
use std::fs;

#[test]
fn the_report_says_what_was_done_what_it_cost_and_what_is_proved() {
    let place = Place::new();
    place.step(&call("make <b>", "error").repeat(4));
    let text = place.run(&["report"]).ended(0).out;
    for wanted in ["**proved**", "**cost**", "records verify", "decided again, are equal", "Alarms by cause", "LOOP-"] {
        assert!(text.contains(wanted), "{wanted}:\n{text}");
    }
    let json = place.run(&["report", "--json"]).ended(0).json();
    assert_eq!((json["version"].as_u64(), json["sessions"][0]["calls"].as_u64()), (Some(1), Some(4)), "{json}");
    let file = place.path().join("morning.html");
    place.run(&["report", "--html", file.to_str().unwrap()]).ended(0);
    let page = fs::read_to_string(&file).unwrap();
    assert!(
        page.contains("&lt;b&gt;")
            && !page.contains("<b>make")
            && !page.contains("http://")
            && !page.contains("<script")
    );
    let shared = place.run(&["report", "--redact"]).ended(0).out;
    assert!(
        !shared.contains("make") && !shared.contains(place.work().to_str().unwrap()) && shared.contains("LOOP-"),
        "{shared}"
    );
}

#[test]
fn a_report_of_a_damaged_journal_says_so_and_ends_with_9() {
    let place = Place::new();
    place.step(&calls(4)).ended(0);
    let segment = place.journal("00000001.jsonl");
    let text = fs::read_to_string(&segment).unwrap();
    fs::write(&segment, text.replacen("work 2", "work X", 1)).unwrap();
    place.run(&["report"]).ended(9).says("DAMAGED at record");
    place.run(&["report", "auto-2020-01-01-000000"]).ended(2).complains("there is no session");
    Place::new().run(&["report"]).ended(2).complains("there is no session");
}

#[test]
fn ten_thousand_events_are_a_page_below_two_megabytes_that_opens_from_disk() {
    let place = Place::new();
    let count = tripwire_testing::sized(600, 10_000);
    let lines: String = (0..count)
        .map(|n| {
            call(
                &format!("step {} of the work in src/module_{}/file_{n}.rs", n % 700, n % 40),
                if n % 9 == 0 { "error: no" } else { "done" },
            )
        })
        .collect();
    fs::write(place.path().join("lines.jsonl"), lines).unwrap();
    place.run(&["step", "../lines.jsonl"]);
    let file = place.path().join("morning.html");
    place.run(&["report", "--html", file.to_str().unwrap()]).ended(0);
    let bytes = fs::metadata(&file).unwrap().len();
    eprintln!("the page of {count} events has {bytes} bytes");
    assert!(bytes <= 2 << 20, "{bytes} bytes of {count} events");
    let Some(program) = browser::program() else { return };
    let mut browser = Browser::start(&program);
    browser.call("Network.enable", serde_json::json!({}));
    browser.open(&format!("file://{}", file.display()));
    browser.until("document.querySelector('svg') && document.querySelectorAll('table').length >= 1");
    assert_eq!(browser.ask("performance.getEntriesByType('resource').length"), 0, "it asks for nothing");
    browser.picture("report");
    assert!(browser.complaints.is_empty(), "{:?}", browser.complaints);
}
