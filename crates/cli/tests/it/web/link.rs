//! The link of a message: looked at by anybody who fetches it, and answered once by the button of its page.

use super::browser::{self, Browser};
use super::served::{Answer, Served};
use crate::approvals::{answer_of, ask, output, waiting_for};
use crate::hooks::fixture::HookFixture;
use crate::run::fixture::wait_until;
use crate::session::fixture::Place;
use serde_json::json;
use std::fs;
use std::path::{Path, PathBuf};
use tripwire_core::record::chain::Digest;
use tripwire_journal::keys::KeyHome;
use tripwire_session::approval_link::{LinkKey, LinkSubject};
use tripwire_testing::write_program;
use tripwire_workspace::geometry::layout::Layout;
use tripwire_workspace::geometry::wall_clock::WallClock;
use tripwire_workspace::session::SessionId;

const HOST: &str = "box.example";
const BASE: &str = "https://box.example/tripwire";
const FORM: &str = "application/x-www-form-urlencoded";

/// Headers beside the host.
type Headers<'a> = &'a [(&'a str, &'a str)];

/// A workspace whose messages carry links below this address, with a held command; and the message.
fn held(base: &str) -> (HookFixture, String) {
    let fixture = waiting_for("0");
    let (notify, told) = told_beside(&fixture.root(), base);
    fs::write(fixture.geometry("MANIFEST.yaml"), format!("approvals:\n  wait: 0\n{notify}")).unwrap();
    assert!(answer_of(ask(&fixture, "rm -rf data")).contains("\"deny\""), "it is held");
    wait_until("the message", || told.exists());
    let message = fs::read_to_string(&told).unwrap();
    (fixture, message)
}

/// The part of a manifest that has messages written to a file beside the workspace, and that file.
fn told_beside(root: &Path, base: &str) -> (String, PathBuf) {
    let (tell, told) = (root.join("../tell"), root.join("../told"));
    write_program(&tell, "#!/bin/sh\nprintf '%s' \"$2\" > \"$1.part\" && mv \"$1.part\" \"$1\"\n").unwrap();
    let link = if base.is_empty() { String::new() } else { format!("  link_base: \"{base}\"\n") };
    (format!("notify:\n  command: \"{} {}\"\n{link}", tell.display(), told.display()), told)
}

/// A session that has used up its budget of a tenth of a cent, and the message about it.
fn out_of_money() -> (Place, String) {
    let place = Place::new();
    let (notify, told) = told_beside(&place.work(), BASE);
    place.manifest(&format!("money:\n  budget_micro_usd: 1000\n{notify}"));
    let line = json!({"timestamp": 0, "tool": "Read", "args": {"path": "a"}, "output": "x", "costMicroUsd": 5_000});
    place.step(&format!("{line}\n")).ended(6);
    wait_until("the message", || told.exists());
    let message = fs::read_to_string(&told).unwrap();
    (place, message)
}

/// What stands behind the address in the message's link.
fn path_of(message: &str, base: &str) -> String {
    let (_, behind) = message.split_once(base).unwrap_or_else(|| panic!("no link: {message}"));
    behind.split_whitespace().next().unwrap().to_owned()
}

fn serve(fixture: &HookFixture, more: &[&str]) -> Served {
    let root = fixture.root().display().to_string();
    Served::of(fixture.command(&[&["web", "--json", "--workspace", &root], more].concat()))
}

/// A request under the name that the person exposes.
fn request(served: &Served, line: &str, headers: Headers<'_>, body: &str) -> Answer {
    let mut text = format!("{line} HTTP/1.1\r\nconnection: close\r\ncontent-length: {}\r\n", body.len());
    if !headers.iter().any(|(name, _)| *name == "host") {
        text.push_str(&format!("host: {HOST}\r\n"));
    }
    headers.iter().for_each(|(name, value)| text.push_str(&format!("{name}: {value}\r\n")));
    served.send(format!("{text}\r\n{body}").as_bytes()).expect("an answer")
}

fn press(served: &Served, path: &str, body: &str) -> Answer {
    let headers = [("origin", "https://box.example"), ("content-type", FORM), ("sec-fetch-site", "same-origin")];
    request(served, &format!("POST {path}"), &headers, body)
}

fn is_waiting(fixture: &HookFixture) -> bool {
    output(fixture.command(&["approvals"])).0 == Some(5)
}

#[test]
fn approval_link_is_unspent_by_head_get_prefetch_and_unfurl_and_spent_once_by_the_button() {
    let (fixture, message) = held(BASE);
    let path = path_of(&message, BASE);
    let served = serve(&fixture, &[]);
    let looks: [Headers<'_>; 4] = [
        &[],
        &[("sec-purpose", "prefetch;prerender"), ("sec-fetch-site", "cross-site")],
        &[("user-agent", "Slackbot-LinkExpanding 1.0"), ("accept", "*/*")],
        &[("sec-fetch-site", "cross-site"), ("sec-fetch-mode", "navigate"), ("cookie", "tripwire-1=x")],
    ];
    for headers in looks {
        for method in ["GET", "HEAD", "GET"] {
            let line = format!("{method} {path}");
            let answer = if method == "HEAD" { head(&served, &path) } else { request(&served, &line, headers, "") };
            assert_eq!(answer.status, 200, "{answer:?}");
            assert!(answer.head.contains("form-action 'self'") && answer.head.contains("default-src 'none'"));
        }
    }
    let page = request(&served, &format!("GET {path}"), &[], "").body;
    assert!(page.contains("data: 3 files") && page.contains("method=\"post\"") && !page.contains("<script"), "{page}");
    assert!(is_waiting(&fixture), "looking does nothing");
    let pressed = press(&served, &path, "reason=I+looked+at+it&answer=approve");
    assert_eq!(pressed.status, 200, "{pressed:?}");
    assert!(pressed.body.contains("Approved"), "{pressed:?}");
    assert!(!is_waiting(&fixture));
    for answer in [press(&served, &path, "answer=deny"), request(&served, &format!("GET {path}"), &[], "")] {
        assert_eq!(answer.status, 410, "{answer:?}");
        assert!(answer.body.contains("used before"), "{answer:?}");
    }
    let (_, log) = output(fixture.command(&["log"]));
    assert!(log.contains("(link)") && log.contains("I looked at it"), "who and why are journaled: {log}");
    assert_eq!(answer_of(ask(&fixture, "rm -rf data")), "", "what was approved passes");
}

/// The head of an answer; a body does not follow it.
fn head(served: &Served, path: &str) -> Answer {
    use std::io::{Read as _, Write as _};
    let mut socket = std::net::TcpStream::connect(("127.0.0.1", served.port)).unwrap();
    write!(socket, "HEAD {path} HTTP/1.1\r\nhost: {HOST}\r\nconnection: close\r\n\r\n").unwrap();
    let mut text = String::new();
    socket.read_to_string(&mut text).unwrap();
    let status = text.split(' ').nth(1).unwrap().parse().unwrap();
    let (head, body) = text.split_once("\r\n\r\n").unwrap();
    assert_eq!(body, "");
    Answer { status, head: head.to_owned(), body: String::new() }
}

#[test]
fn approval_link_takes_no_answer_from_another_page_host_or_form() {
    let (fixture, message) = held(BASE);
    let path = path_of(&message, BASE);
    let served = serve(&fixture, &[]);
    let post = format!("POST {path}");
    let ours = ("origin", "https://box.example");
    let form = ("content-type", FORM);
    let cases: [(Headers<'_>, &str, u16); 8] = [
        (&[form], "answer=approve", 403),
        (&[("origin", "https://evil.example"), form], "answer=approve", 403),
        (&[("origin", "null"), form], "answer=approve", 403),
        (&[ours, form, ("sec-fetch-site", "cross-site")], "answer=approve", 403),
        (&[ours, form, ("host", "evil.example")], "answer=approve", 403),
        (&[ours, ("content-type", "text/plain")], "answer=approve", 415),
        (&[ours, form], "answer=maybe", 400),
        (&[ours, form], "answer=approve&answer=deny", 400),
    ];
    for (headers, body, status) in cases {
        let answer = request(&served, &post, headers, body);
        assert_eq!(answer.status, status, "{headers:?} {body}: {answer:?}");
        assert!(is_waiting(&fixture), "{headers:?} {body}");
    }
    assert_eq!(request(&served, &format!("DELETE {path}"), &[ours], "").status, 405);
    let pages = [request(&served, "GET /", &[], ""), request(&served, "GET /api/sessions", &[], "")];
    assert!(
        pages.iter().all(|answer| answer.status == 403),
        "the exposed name opens links and nothing else: {pages:?}"
    );
    let denied = press(&served, &path, "answer=deny&reason=we+need+it");
    assert!(denied.status == 200 && denied.body.contains("Denied"), "{denied:?}");
    assert!(answer_of(ask(&fixture, "rm -rf data")).contains("we need it"), "the agent hears why");
}

#[test]
fn approval_link_that_is_forged_expired_or_about_something_else_answers_nothing() {
    let (fixture, message) = held(BASE);
    let path = path_of(&message, BASE);
    let served = serve(&fixture, &[]);
    let parts: Vec<&str> = path.trim_start_matches("/link/").split('.').collect();
    let (session, code) = (SessionId::parse(parts[1]).unwrap(), parts[2]);
    let home = KeyHome::at(fixture.root().join("../home/.local/state/tripwire"));
    let geometry = fixture.root().canonicalize().unwrap().join(".geometry");
    let key = LinkKey::of(&home, &Layout::at(&geometry)).unwrap();
    let of = |digest: Digest| LinkSubject { id: code.to_owned(), digest };
    let now = tripwire_workspace::clock::now();
    let long_ago = WallClock::from_epoch_ms(now.epoch_ms() - 2 * 3_600_000);
    let real: Digest = parts[3].parse().unwrap();
    let last = path.len() - 1;
    let forged = format!("{}{}", &path[..last], if path.ends_with('0') { "1" } else { "0" });
    let cases = [
        (forged, 403, "not made here"),
        (format!("/link/{}", key.link(&session, &of(real), long_ago)), 410, "expired"),
        (format!("/link/{}", key.link(&session, &of(Digest::of(b"another command")), now)), 409, "has changed"),
        ("/link/".to_owned(), 403, "not made here"),
        (format!("/link/{}", "a.".repeat(400)), 403, "not made here"),
    ];
    for (path, status, why) in &cases {
        for answer in [request(&served, &format!("GET {path}"), &[], ""), press(&served, path, "answer=approve")] {
            assert_eq!(answer.status, *status, "{path}: {answer:?}");
            assert!(answer.body.contains(why), "{path}: {answer:?}");
        }
        assert!(is_waiting(&fixture), "{path}");
    }
    assert_eq!(press(&served, &path, "answer=approve").status, 200, "the real one is good all the same");
}

#[test]
fn approval_link_is_made_only_where_the_address_of_the_page_is_named() {
    let (fixture, message) = held("");
    assert!(message.contains("tripwire") && !message.contains("/link/"), "{message}");
    drop(fixture);
    let (fixture, message) = held(BASE);
    let path = path_of(&message, BASE);
    fs::write(fixture.geometry("MANIFEST.yaml"), "approvals:\n  wait: 0\n").unwrap();
    let served = serve(&fixture, &[]);
    assert_eq!(press(&served, &path, "answer=approve").status, 403, "no longer exposed");
    assert!(is_waiting(&fixture));
}

#[test]
fn approval_link_is_answered_by_its_button_in_a_real_browser() {
    let Some(program) = browser::program() else { return };
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let base = format!("http://127.0.0.1:{port}");
    let (fixture, message) = held(&base);
    let served = serve(&fixture, &["--listen", &format!("127.0.0.1:{port}")]);
    let mut browser = Browser::start(&program);
    browser.open(&format!("{base}{}", path_of(&message, &base)));
    browser.until("document.querySelector('button[value=approve]')");
    assert!(is_waiting(&fixture));
    browser.ask("document.querySelector('button[value=approve]').click()");
    browser.until("document.body.textContent.includes('Approved')");
    assert!(!is_waiting(&fixture));
    assert!(browser.complaints.is_empty(), "{:#?}", browser.complaints);
    drop(served);
}

#[test]
fn approval_link_of_a_spent_budget_raises_it_once_by_the_dollars_of_the_form() {
    let (place, message) = out_of_money();
    let path = path_of(&message, BASE);
    let served = Served::of(place.command(&["web", "--json"]));
    let page = request(&served, &format!("GET {path}"), &[], "");
    assert_eq!(page.status, 200, "{page:?}");
    assert!(page.body.contains("GATE-8") && page.body.contains("name=\"dollars\""), "{}", page.body);
    for wrong in
        ["answer=approve", "answer=approve&dollars=0", "answer=approve&dollars=-3", "answer=approve&dollars=1000000"]
    {
        let refused = press(&served, &path, wrong);
        assert_eq!(refused.status, 400, "{wrong}: {refused:?}");
        assert!(refused.body.contains("whole dollars"), "{wrong}: {refused:?}");
        place.run(&["approvals"]).ended(5);
    }
    let raised = press(&served, &path, "answer=approve&dollars=2&reason=go+on");
    assert_eq!(raised.status, 200, "{raised:?}");
    place.run(&["approvals"]).ended(0);
    let log = place.run(&["log", "--json"]).ended(0).out;
    assert!(log.contains("raiseBudget") && log.contains("2000000") && log.contains("(link)"), "{log}");
    assert_eq!(press(&served, &path, "answer=approve&dollars=2").status, 410, "it answers once");
}

#[test]
fn approval_link_of_a_budget_that_was_raised_meanwhile_answers_nothing() {
    let (place, message) = out_of_money();
    let path = path_of(&message, BASE);
    let served = Served::of(place.command(&["web", "--json"]));
    let id = format!("budget-{}", place.session());
    place.run(&["approvals", "approve", &id, "--raise", "0.01usd"]).ended(0);
    assert_eq!(press(&served, &path, "answer=approve&dollars=2").status, 409, "nothing waits any more");
    let line = json!({"timestamp": 1, "tool": "Read", "args": {"path": "b"}, "output": "y", "costMicroUsd": 50_000});
    place.step(&format!("{line}\n")).ended(6);
    let refused = press(&served, &path, "answer=approve&dollars=2");
    assert_eq!(refused.status, 409, "{refused:?}");
    assert!(refused.body.contains("the budget has changed"), "{refused:?}");
    place.run(&["approvals"]).ended(5);
}
