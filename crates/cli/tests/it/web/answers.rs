//! Held calls of a real agent run, answered on the page.

use super::browser::{self, Browser};
use super::served::Served;
use crate::run::fixture::{RunFixture, finish, wait_until};
use crate::session::fixture::Place;
use serde_json::{Value, json};
use std::fs;

/// A place in which a held call waits for as long as a console is open, with work that git does not know.
fn held_place(place: &std::path::Path) {
    fs::create_dir(place.join("data")).unwrap();
    for name in ["a", "b", "c"] {
        fs::write(place.join("data").join(name), "work\n").unwrap();
    }
}

#[test]
fn floor_1_a_held_command_of_a_run_is_approved_in_the_browser_and_the_run_goes_on() {
    let Some(program) = browser::program() else { return };
    for (label, is_gone) in [("Approve once", true), ("Deny", false)] {
        let fixture = RunFixture::new("begin\ntool 'rm -rf data' && touch went-on\nfinish");
        held_place(fixture.place());
        // The page alone makes the call wait: no setting says so.
        let served =
            Served::of(fixture.verb(&["web", "--json", "--workspace", &fixture.place().display().to_string()]));
        let child = fixture.command(&[]).spawn().unwrap();
        let mut browser = Browser::start(&program);
        browser.size(390, 844);
        browser.open(&format!("{}/approvals", served.url));
        browser.until("document.querySelector('.wait .reason')");
        let card = browser.ask("document.querySelector('.wait').textContent").as_str().unwrap().to_owned();
        assert!(card.contains("What would be hit") && card.contains("data: 3 files"), "{card}");
        assert_eq!(browser.ask("document.querySelector('.wait .call').textContent"), "rm -rf data");
        browser.ask("document.querySelector('.wait .reason').focus()");
        // Whatever else happens in the workspace, somebody who types is not interrupted.
        let looks = "performance.getEntriesByType('resource').filter((one) => one.name.includes('approvals')).length";
        let before = browser.ask(looks).as_u64().unwrap();
        fs::write(fixture.geometry("another.note"), "").unwrap();
        browser.until(&format!("{looks} > {before} + 1"));
        browser.write("I looked at it");
        assert_eq!(browser.ask("document.querySelector('.wait .reason').value"), "I looked at it");
        let button =
            format!("[...document.querySelectorAll('.wait button')].find((one) => one.textContent === '{label}')");
        browser.ask(&format!("{button}.focus()"));
        browser.picture(if is_gone { "approve" } else { "deny" });
        browser.key("Enter");
        let ran = finish(child);
        assert_eq!(fixture.place().join("data").exists(), !is_gone, "{}", ran.stderr);
        assert_eq!(fixture.place().join("went-on").exists(), is_gone, "{}", ran.stderr);
        browser.until("document.body.textContent.includes('Nothing waits for you')");
        assert!(browser.complaints.is_empty(), "{:#?}", browser.complaints);
        let log = fixture.verb(&["log", "--json"]).output().unwrap();
        let log = String::from_utf8_lossy(&log.stdout).into_owned();
        assert!(log.contains("(console)") && log.contains("I looked at it"), "who and why are journaled");
        if !is_gone {
            assert!(fixture.home_text("refused").contains("I looked at it"), "the agent hears the reason");
        }
    }
}

#[test]
fn ctrl_1_holding_stop_on_the_page_ends_a_client_with_its_children_and_shows_the_receipt() {
    let Some(program) = browser::program() else { return };
    let fixture = RunFixture::new("begin\ntool 'touch begun'\nsetsid sleep 300 &\nsleep 300");
    let place = fixture.place().display().to_string();
    let served = Served::of(fixture.verb(&["web", "--json", "--workspace", &place]));
    let child = fixture.command(&[]).spawn().unwrap();
    fixture.wait_for("begun");
    let mut browser = Browser::start(&program);
    browser.size(1200, 900);
    browser.open(&served.url);
    browser.until("document.querySelector('.session-row')");
    browser.press("#stop", std::time::Duration::from_millis(1_300));
    browser.until("document.querySelector('#sheet .receipt')");
    let receipt = browser.ask("document.querySelector('#sheet .receipt').textContent").as_str().unwrap().to_owned();
    assert!(receipt.contains("0 survivors") && !receipt.starts_with("0 processes"), "{receipt}");
    let ran = finish(child);
    assert_eq!(ran.report["receipt"]["survivors"], 0, "{}", ran.stderr);
    assert_eq!(ran.report["how"], "stopped by a person", "{}", ran.stderr);
    assert!(browser.complaints.is_empty(), "{:#?}", browser.complaints);
}

#[test]
fn floor_1_an_answer_needs_the_secret_and_a_second_one_is_told_so() {
    let place = Place::new();
    held_place(&place.work());
    let served = Served::start(&place, &[]);
    let hook = place.command(&["hook", "claude"]);
    let root = hook.get_current_dir().unwrap().to_owned();
    let input = json!({
        "session_id": "a1", "transcript_path": "/nonexistent", "cwd": root, "hook_event_name": "PreToolUse",
        "tool_name": "Bash", "tool_input": {"command": "rm -rf data"}, "tool_use_id": "t",
    });
    let asked = std::thread::spawn(move || crate::session::fixture::feed(hook, input.to_string().as_bytes()));
    let mut waiting = Value::Null;
    wait_until("the held command", || {
        let all: Value = serde_json::from_str(&served.read("/api/approvals").body).unwrap();
        waiting = all["waiting"][0].clone();
        waiting != Value::Null
    });
    let answer = |verdict: &str, secret: &str| {
        let body = json!({"workspace": waiting["key"], "id": waiting["id"], "verdict": verdict}).to_string();
        let (cookie, origin) = (served.cookie(), served.origin());
        let headers = [
            ("cookie", cookie.as_str()),
            ("origin", origin.as_str()),
            ("content-type", "application/json"),
            ("x-tripwire-secret", secret),
        ];
        served.ask("POST /api/act/answer", &headers, &body)
    };
    let forged = answer("approve", "tw-000000000000000000000000000000000000000000000000");
    assert!(forged.status == 401 || forged.status == 403, "{forged:?}");
    let denied = answer("deny", &served.secret);
    assert_eq!(denied.status, 200, "{denied:?}");
    let second = answer("approve", &served.secret);
    assert!(second.status >= 400 && second.status < 500, "{second:?}");
    let output = asked.join().unwrap();
    assert!(String::from_utf8_lossy(&output.stdout).contains("denied by a person"), "{output:?}");
}
