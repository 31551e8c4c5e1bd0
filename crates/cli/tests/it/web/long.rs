//! Long journals and many sessions: the page opens at once and scrolls.

use super::browser::{self, Browser};
use super::served::Served;
use crate::session::fixture::{Place, call, calls};
use serde_json::{Value, json};
use std::time::Instant;
use tripwire_core::chain::Chain;
use tripwire_core::input::Input;
use tripwire_core::policy::Policy;
use tripwire_journal::storage::Disk;
use tripwire_journal::{Append, Batch, Durability, Entry, Journal, Options, SessionId, SessionPaths};
use tripwire_session::body::{SessionBody, write_decision, write_input};

/// Writes a session of so many records: real inputs with their real decisions.
pub(super) fn long_session(place: &Place, records: u64) -> String {
    place.step(&calls(1)).ended(0);
    let name = "auto-2026-01-01-000000";
    let paths = SessionPaths::new(&place.geometry(""), &SessionId::parse(name).unwrap());
    let mut journal = Journal::open(Disk, paths, Options::default()).unwrap();
    let policy = Policy::default();
    let mut bodies = vec![SessionBody::new(name, &policy).unwrap().text().unwrap()];
    let mut chain = Chain::new(policy).unwrap();
    let mut number = 0_u64;
    while journal.records() < records {
        while bodies.len() < 1_024 {
            let at = number * 700;
            let text = format!(
                r#"{{"at":{at},"what":{{"event":{{"action":{{"tool":"Bash","signature":"Bash(cmd=step {0})","argsDigest":"{number}","words":"step {number} of the work"}},
                "costMicroUsd":300,"latencyMs":200,"outputLength":9,"outcome":{{"status":"ok"}},"resultDigest":"r{number}","timestamp":{at},"tokenCount":9,"toolCalls":1}}}}}}"#,
                number % 50
            );
            let input: Input = serde_json::from_str(&text).unwrap();
            let (mut asked, mut decided) = (String::new(), String::new());
            write_input(&input, &mut asked).unwrap();
            write_decision(name, &chain.step(&input).decision, &mut decided).unwrap();
            bodies.extend([asked, decided]);
            number += 1;
        }
        let entries = bodies.drain(..).map(|body| Entry {
            body: body.into(),
            durations_ms: [].into(),
            wall_ms: 1_767_225_600_000,
        });
        let batch = Batch { entries: entries.collect(), durability: Durability::Grouped, after: None };
        assert!(matches!(journal.append(&batch), Ok(Append::Ack(_))));
    }
    name.to_owned()
}

#[test]
fn a_long_session_opens_before_it_was_read_and_scrolls() {
    let place = Place::new();
    let records = tripwire_testing::sized(30_000, 200_000);
    let session = long_session(&place, records);
    let served = Served::start(&place, &[]);
    let key = serde_json::from_str::<Value>(&served.read("/api/sessions").body).unwrap()["workspaces"][0]["key"]
        .as_str()
        .unwrap()
        .to_owned();
    let cookie = served.cookie();
    let ask = |path: String| {
        let begun = Instant::now();
        let answer = served.ask(&format!("GET {path}"), &[("cookie", &cookie)], "");
        assert_eq!(answer.status, 200, "{}", answer.body);
        (serde_json::from_str::<Value>(&answer.body).unwrap(), begun.elapsed())
    };
    let (opened, open_took) = ask(format!("/api/session?w={key}&s={session}"));
    let rows = opened["rows"].as_u64().unwrap();
    assert!(rows >= records / 2 - 1_024, "{rows}");
    assert_eq!(opened["walk"]["truth"]["state"], "notVerifiedYet", "nothing is called verified before it was");
    let (newest, newest_took) = ask(format!("/api/rows?w={key}&s={session}&from={}&limit=100", rows - 100));
    assert_eq!(newest["rows"][99]["i"].as_u64(), Some(rows - 1));
    let (middle, middle_took) = ask(format!("/api/rows?w={key}&s={session}&from={}&limit=100", rows / 3));
    assert_eq!(middle["rows"][0]["i"].as_u64(), Some(rows / 3));
    eprintln!(
        "{records} records: open {open_took:?}, newest page {newest_took:?}, a page in the middle {middle_took:?}"
    );
    let Some(program) = browser::program() else { return };
    let mut browser = Browser::start(&program);
    browser.size(1200, 900);
    let begun = Instant::now();
    browser.open(&format!("{}/s/{key}/{session}", served.url));
    browser.until("document.querySelector('.log-row .text').textContent.includes('of the work')");
    eprintln!("in the browser after {:?}", begun.elapsed());
    browser.call("Performance.enable", json!({}));
    let before = metrics(&mut browser);
    browser.ask(SCROLL);
    let after = metrics(&mut browser);
    let seen = browser.ask("window.scrolled");
    let frames = seen["frames"].as_f64().unwrap();
    let per_frame = |name: &str| (after[name].as_f64().unwrap() - before[name].as_f64().unwrap()) * 1_000.0 / frames;
    eprintln!(
        "{frames} frames: script {:.2} ms, layout {:.2} ms each; tasks over 50 ms: {}; rows in the document: {}; heap {} MB",
        per_frame("ScriptDuration"),
        per_frame("LayoutDuration") + per_frame("RecalcStyleDuration"),
        seen["long"],
        seen["rows"],
        after["JSHeapUsedSize"].as_f64().unwrap() as u64 >> 20
    );
    assert!(seen["rows"].as_u64().unwrap() < 60, "only what is in view is in the document");
    browser
        .until("[...document.querySelectorAll('.log-row:not([hidden]) .text')].every((row) => row.textContent !== '')");
    assert!(browser.complaints.is_empty(), "{:?}", browser.complaints);
}

/// Goes through the records for two seconds, from the newest to the oldest.
pub(super) const SCROLL: &str = "new Promise((done) => {
    const view = document.querySelector('.log-view');
    const seen = window.scrolled = {frames: 0, long: 0, rows: 0};
    const observer = new PerformanceObserver((list) => { seen.long += list.getEntries().length; });
    observer.observe({type: 'longtask'});
    const step = () => {
        seen.frames += 1;
        seen.rows = Math.max(seen.rows, document.querySelectorAll('.log-row').length);
        view.scrollTop = (view.scrollHeight * seen.frames) / 120;
        if (seen.frames < 120) requestAnimationFrame(step); else setTimeout(() => { observer.disconnect(); done(); }, 200);
    };
    step();
})";

fn metrics(browser: &mut Browser) -> Value {
    let told = browser.call("Performance.getMetrics", json!({}));
    told["metrics"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| (one["name"].as_str().unwrap().to_owned(), one["value"].clone()))
        .collect()
}

#[test]
fn hundreds_of_sessions_are_listed_and_painted() {
    let place = Place::new();
    // More than are drawn at once.
    let count = tripwire_testing::sized(70, 300);
    place.step(&call("make", "ok")).ended(0);
    for _ in 1..count {
        place.feed(&["step", "--new", "-"], &call("make", "ok")).ended(0);
    }
    let served = Served::start(&place, &[]);
    let Some(program) = browser::program() else { return };
    let mut browser = Browser::start(&program);
    browser.size(1440, 900);
    browser.call("Page.addScriptToEvaluateOnNewDocument", json!({"source": COUNT_DRAWN}));
    browser.open(&served.url);
    browser.until(&format!("document.querySelectorAll('.session-row').length === {count}"));
    let paint = browser.ask("performance.getEntriesByName('first-contentful-paint')[0].startTime");
    let first = browser.ask("performance.now()");
    let bytes = browser.ask("performance.getEntriesByType('resource').filter((one) => !one.name.includes('/api/')).reduce((sum, one) => sum + one.transferSize, 0)");
    eprintln!("{count} sessions: first paint {paint} ms, all rows by {first} ms, {bytes} bytes of assets");
    assert!(paint.as_f64().unwrap() > 0.0, "{paint}");
    // How soon it is painted depends on the machine; these do not.
    let drawn = browser.ask("window.drawnAtOnce");
    assert!((1..=60).contains(&drawn.as_u64().unwrap()), "rows that are drawn in one go: {drawn}");
    let asked =
        browser.ask("performance.getEntriesByType('resource').filter((one) => one.name.includes('/api/')).length");
    assert!(asked.as_u64().unwrap() < 30, "the list comes whole and not session by session: {asked} requests");
    assert!(bytes.as_u64().unwrap() <= 300 * 1_024, "{bytes}");
    assert!(browser.complaints.is_empty(), "{:?}", browser.complaints);
}

/// Keeps the most rows that came into the page within one task of its script.
const COUNT_DRAWN: &str = "window.drawnAtOnce = 0;
    window.rowsBefore = 0;
    new MutationObserver(() => {
        const rows = document.querySelectorAll('.session-row').length;
        window.drawnAtOnce = Math.max(window.drawnAtOnce, rows - window.rowsBefore);
        window.rowsBefore = rows;
    }).observe(document, {subtree: true, childList: true});";
