//! What is promised of the page, in figures, for the program that `TRIPWIRE_BENCH_BINARY` names: `just bench-console`. They are
//! printed and not asserted: a machine that does something else at the same time is slower.

use super::browser::{self, Browser};
use super::long::{SCROLL, long_session};
use super::served::Served;
use crate::session::fixture::{Place, call};
use serde_json::Value;
use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::process::Command;
use std::time::{Instant, UNIX_EPOCH};

/// Records of the long session.
const RECORDS: u64 = 1_000_000;
/// Pages that are opened; the median counts.
const ROUNDS: usize = 9;

/// The page of a place, served by the program that is measured.
fn served(place: &Place) -> Served {
    let command = place.command(&["web", "--json"]);
    let Some(program) = std::env::var_os("TRIPWIRE_BENCH_BINARY") else { return Served::of(command) };
    let mut measured = Command::new(program);
    measured.args(command.get_args()).current_dir(command.get_current_dir().unwrap()).env_clear();
    measured.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    Served::of(measured)
}

/// The address of a page that holds one word and is there at once: what this browser takes on this machine for nothing.
fn one_word() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for mut socket in listener.incoming().flatten() {
            let mut head = [0; 4096];
            drop(socket.read(&mut head));
            let page = "HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: 22\r\nconnection: close\r\n\r\n<!doctype html><p>word";
            drop(socket.write_all(page.as_bytes()));
        }
    });
    format!("http://{address}/")
}

fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures[figures.len() / 2]
}

#[test]
#[ignore = "a bench: `just bench-console`"]
fn bars_of_a_thousand_sessions() {
    let Some(program) = browser::program() else { return };
    let place = Place::new();
    place.step(&call("make", "ok")).ended(0);
    for _ in 1..1_000 {
        place.feed(&["step", "--new", "-"], &call("make", "ok")).ended(0);
    }
    let paint = "performance.getEntriesByName('first-contentful-paint')[0].startTime";
    let bare = one_word();
    let bare_paints = (0..ROUNDS).map(|_| {
        let mut browser = Browser::start(&program);
        browser.size(1440, 900);
        browser.open(&bare);
        browser.until(paint);
        browser.ask(paint).as_f64().unwrap()
    });
    eprintln!("a page of one word, as an empty anchor: first paint {:.0} ms", median(bare_paints.collect()));
    let empty = Place::new();
    empty.step(&call("make", "ok")).ended(0);
    for (what, place) in [("one session, as an anchor", &empty), ("1,000 sessions", &place)] {
        let (mut paints, mut rows) = (Vec::new(), Vec::new());
        let mut bytes = 0;
        for _ in 0..ROUNDS {
            // A new server and a new browser each: nothing is warm but the disk.
            let served = served(place);
            let mut browser = Browser::start(&program);
            browser.size(1440, 900);
            browser.open(&served.url);
            browser.until("document.querySelector('.session-row')");
            browser.until(paint);
            paints.push(browser.ask(paint).as_f64().unwrap());
            rows.push(browser.ask("performance.now()").as_f64().unwrap());
            let assets = "performance.getEntriesByType('resource').filter((one) => !one.name.includes('/api/'))";
            bytes = browser.ask(&format!("{assets}.reduce((sum, one) => sum + one.transferSize, 0)")).as_u64().unwrap();
        }
        eprintln!(
            "{what}: first paint {:.0} ms (promised: 300), first rows by {:.0} ms, {bytes} bytes of assets (promised: 307200)",
            median(paints),
            median(rows)
        );
    }
}

#[test]
#[ignore = "a bench: `just bench-console`"]
fn bars_of_a_million_records() {
    let Some(program) = browser::program() else { return };
    let place = Place::new();
    let session = long_session(&place, RECORDS);
    let served = served(&place);
    let key: Value = serde_json::from_str(&served.read("/api/sessions").body).unwrap();
    let key = key["workspaces"][0]["key"].as_str().unwrap().to_owned();
    let mut browser = Browser::start(&program);
    browser.size(1200, 900);
    let begun = Instant::now();
    browser.open(&format!("{}/s/{key}/{session}", served.url));
    browser.until("document.querySelector('.log-row .text').textContent.includes('of the work')");
    eprintln!("{RECORDS} records: the newest page is shown after {:?} (promised: 1 s)", begun.elapsed());
    for when in ["while the journal is read", "when it is read"] {
        if when == "when it is read" {
            while !browser.ask("document.body.textContent.includes('verified ·')").as_bool().unwrap_or(false) {
                std::thread::sleep(std::time::Duration::from_millis(500));
            }
        }
        let trace = browser.traced(&["devtools.timeline", "disabled-by-default-devtools.timeline"], |browser| {
            drop(browser.ask(SCROLL))
        });
        let (tasks, frames) = main_thread(&trace);
        let p95 = frames[frames.len() * 95 / 100];
        eprintln!(
            "scrolling {when}: longest task {:.1} ms (promised: 50), {} frames, script and layout p95 {p95:.2} ms (promised: 8)",
            tasks.iter().copied().fold(0.0, f64::max),
            frames.len()
        );
    }
    let heap = browser.ask("performance.memory.usedJSHeapSize").as_f64().unwrap_or_default();
    eprintln!("page memory: {:.1} MB of script heap", heap / 1_048_576.0);
}

#[test]
#[ignore = "a bench: `just bench-console`"]
fn bars_of_new_records() {
    let Some(program) = browser::program() else { return };
    let place = Place::new();
    place.step(&call("make", "ok")).ended(0);
    let served = served(&place);
    let mut browser = Browser::start(&program);
    browser.size(1200, 900);
    browser.open(&served.url);
    browser.until("document.querySelector('.session-row')");
    browser.ask("document.querySelector('.session-row').click()");
    browser.until("document.querySelector('.chips').textContent.includes('verified ·')");
    browser.ask(
        "window.seen = {}; new MutationObserver(() => { for (const row of document.querySelectorAll('.log-row:not(.blank) .number')) if (row.parentElement.querySelector('.text').textContent) window.seen[row.textContent] ??= Date.now(); })
         .observe(document.querySelector('.log-body'), {subtree: true, childList: true, characterData: true})",
    );
    let mut delays = Vec::new();
    for number in 1..10_u64 {
        place.step(&call(&format!("live {number}"), "ok")).ended(0);
        let journaled = place.journal("00000001.jsonl").metadata().unwrap().modified().unwrap();
        browser.until(&format!("window.seen['#{number}']"));
        let seen = browser.ask(&format!("window.seen['#{number}']")).as_f64().unwrap();
        delays.push(seen - journaled.duration_since(UNIX_EPOCH).unwrap().as_secs_f64() * 1_000.0);
    }
    eprintln!("a new record is shown {:.0} ms after it was journaled (promised: 250)", median(delays));
}

/// The tasks of the page's main thread, and what script and layout took in each frame, sorted; in milliseconds.
fn main_thread(trace: &[Value]) -> (Vec<f64>, Vec<f64>) {
    let named = |name: &'static str| trace.iter().filter(move |event| event["name"] == name);
    let thread = named("FireAnimationFrame").next().map(|event| (event["pid"].clone(), event["tid"].clone()));
    let (pid, tid) = thread.expect("frames in the trace");
    let is_own = |event: &&Value| event["pid"] == pid && event["tid"] == tid;
    let ms = |event: &Value, field: &str| event[field].as_f64().unwrap_or_default() / 1_000.0;
    let tasks = named("RunTask").filter(is_own).map(|event| ms(event, "dur")).collect();
    // The scroll asks for one animation frame after the other.
    let mut begins: Vec<f64> = named("FireAnimationFrame").filter(is_own).map(|event| ms(event, "ts")).collect();
    begins.sort_by(f64::total_cmp);
    let mut work: Vec<(f64, f64)> = trace
        .iter()
        .filter(is_own)
        .filter(|event| {
            ["FireAnimationFrame", "FunctionCall", "EventDispatch", "RunMicrotasks", "UpdateLayoutTree", "Layout"]
                .iter()
                .any(|name| event["name"] == *name)
        })
        .map(|event| (ms(event, "ts"), ms(event, "ts") + ms(event, "dur")))
        .collect();
    work.sort_by(|one, two| one.0.total_cmp(&two.0));
    let mut frames = vec![0.0; begins.len()];
    let mut covered = 0.0_f64;
    for (from, to) in work {
        let frame = begins.partition_point(|begin| *begin <= from).saturating_sub(1);
        // What runs inside of something else is counted once.
        if let Some(sum) = frames.get_mut(frame) {
            *sum += (to - from.max(covered)).max(0.0);
        }
        covered = covered.max(to);
    }
    frames.sort_by(f64::total_cmp);
    (tasks, frames)
}
