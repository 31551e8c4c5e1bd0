//! The page in a real browser.

use super::browser::{self, Browser};
use super::served::Served;
use crate::session::fixture::{Place, call, calls};
use serde_json::{Value, json};
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpListener;
use std::time::Duration;

/// A place with two sessions, one of them in a loop, and a browser on its page.
struct Shown {
    place: Place,
    served: Served,
    browser: Browser,
}

impl Shown {
    fn open(width: u32) -> Option<Self> {
        let program = browser::program()?;
        let place = Place::new();
        place.feed(&["step", "--times", "own", "-"], &looping());
        place.feed(&["step", "--new", "-"], &calls(5)).ended(0);
        Some(Self::of(place, &program, width))
    }

    fn of(place: Place, program: &std::path::Path, width: u32) -> Self {
        let served = Served::start(&place, &[]);
        let mut browser = Browser::start(program);
        browser.size(width, 900);
        browser.open(&served.url);
        browser.until("document.documentElement.dataset.ready");
        browser.until("document.querySelectorAll('.session-row').length >= 1");
        Self { place, served, browser }
    }

    /// Opens the session that is in a loop.
    fn session(&mut self) {
        self.browser.ask(
            "[...document.querySelectorAll('.session-row')].find((row) => row.textContent.includes('loop')).click()",
        );
        self.browser
            .until("document.querySelector('.log-row .text') && document.querySelector('.log-row .text').textContent");
        self.browser.until("document.querySelector('.chips').textContent.includes('verified ·')");
    }

    #[track_caller]
    fn is_quiet(&self) {
        assert!(self.browser.complaints.is_empty(), "{:#?}", self.browser.complaints);
    }
}

/// Some work, with a sub-agent at hand, and then three calls in turn that lead nowhere.
fn looping() -> String {
    let mut at = 0;
    let mut line = |tool: &str, args: Value, output: &str, agent: Option<&str>| {
        at += 4_000 + at % 7 * 900;
        let mut event = json!({
            "timestamp": at, "tool": tool, "args": args, "output": output, "costMicroUsd": 21_000 + at % 5 * 4_000, "latencyMs": 1_500,
            "contextTokens": 30_000 + at / 3, "contextWindow": 200_000, "tokenCount": 900,
        });
        if output.contains("error") || output.contains("failed") {
            event["outcome"] = json!({"status": "error"});
        }
        if let Some(agent) = agent {
            event["agentId"] = json!(agent);
        }
        format!("{event}\n")
    };
    let mut text = String::new();
    for n in 0..9 {
        let helper = (n % 3 == 1).then_some("explorer");
        text += &line("Grep", json!({"pattern": format!("fn parse_{n}")}), &format!("{n} hits"), helper);
        text += &line(
            "Read",
            json!({"file_path": format!("src/parser/rule_{n}.rs")}),
            &format!("contents of rule {n}"),
            None,
        );
    }
    for _ in 0..6 {
        text += &line("Read", json!({"file_path": "src/parser.rs"}), "the same contents", None);
        text += &line(
            "Edit",
            json!({"file_path": "src/parser.rs", "old_string": "a", "new_string": "b"}),
            "error: no match",
            None,
        );
        text += &line("Bash", json!({"command": "cargo test parser"}), "1 test failed", None);
    }
    text
}

#[test]
fn sessions_open_and_a_session_shows_curves_a_cycle_findings_and_records() {
    let Some(mut shown) = Shown::open(1440) else { return };
    shown.browser.picture("sessions");
    assert_eq!(shown.browser.ask("location.hash"), "#/", "the secret does not stay in the address");
    let kept = shown.browser.ask("document.cookie");
    assert_eq!(kept, "", "no script can read the cookie");
    shown.session();
    shown.browser.until("document.querySelectorAll('.curve').length === 3");
    assert!(
        shown.browser.ask("document.querySelectorAll('.limit').length").as_u64().unwrap() >= 3,
        "both thresholds of health"
    );
    assert!(
        shown.browser.ask("document.querySelectorAll('.mark').length").as_u64().unwrap() >= 1,
        "the event behind a drop"
    );
    shown.browser.until("document.querySelector('.graph svg')");
    let label = shown.browser.ask("document.querySelector('.graph svg').getAttribute('aria-label')");
    assert!(label.as_str().unwrap().starts_with("A cycle"), "{label}");
    assert!(shown.browser.ask("document.querySelectorAll('.edge.strong').length").as_u64().unwrap() >= 2);
    assert!(shown.browser.ask("document.querySelectorAll('.finding').length").as_u64().unwrap() >= 1);
    shown.browser.size(1440, 1180);
    std::thread::sleep(Duration::from_millis(200));
    shown.browser.picture("session");
    shown.browser.ask(
        "document.querySelector('.mark').dispatchEvent(new MouseEvent('click', {bubbles: true, cancelable: true}))",
    );
    shown.browser.until("!document.getElementById('drawer').hidden && document.querySelector('.drawer-title')");
    let inside = shown.browser.ask("document.getElementById('drawer').textContent");
    for wanted in ["Threshold", "sha256:", "Raw records", "replays equal"] {
        assert!(inside.as_str().unwrap().contains(wanted), "{wanted}: {inside}");
    }
    shown.browser.picture("decision");
    shown.is_quiet();
}

#[test]
fn a_new_record_is_shown_without_a_reload() {
    let Some(mut shown) = Shown::open(1200) else { return };
    shown.browser.ask(
        "[...document.querySelectorAll('.session-row')].find((row) => row.textContent.includes('active')).click()",
    );
    shown.browser.until("document.querySelector('.log-row .number') && [...document.querySelectorAll('.log-row .number')].some((one) => one.textContent === '#4')");
    shown.browser.until("document.querySelector('.chips').textContent.includes('verified ·')");
    // A page that is loaded again does not know this.
    shown.browser.ask("window.here = true");
    for number in 5..10_u64 {
        shown.place.step(&call(&format!("live {number}"), "ok")).ended(0);
        shown.browser.until(&format!(
            "[...document.querySelectorAll('.log-row:not(.blank)')].some((row) => row.querySelector('.number').textContent === '#{number}' && row.querySelector('.text').textContent)"
        ));
    }
    assert_eq!(shown.browser.ask("window.here"), true);
    let rows = shown.browser.ask("document.querySelectorAll('.log-row').length");
    assert!(rows.as_u64().unwrap() < 60, "only what is in view is in the document: {rows}");
    shown.is_quiet();
}

#[test]
fn the_filter_finds_and_says_what_it_does_not_understand() {
    let Some(mut shown) = Shown::open(1200) else { return };
    shown.session();
    shown.browser.ask("document.getElementById('filter').focus()");
    shown.browser.write("tool:Bash verdict:refused");
    shown.browser.until("document.querySelector('.log-status').textContent.includes('found')");
    let rows = "[...document.querySelectorAll('.log-row:not([hidden])')].map((row) => row.dataset.verdict)";
    let verdicts = shown.browser.ask(rows);
    assert!(
        !verdicts.as_array().unwrap().is_empty() && verdicts.as_array().unwrap().iter().all(|one| one == "refused"),
        "{verdicts}"
    );
    shown.browser.key("Escape");
    shown.browser.until("document.querySelector('.log-status').textContent === ''");
    shown.browser.write("colour:red");
    shown.browser.until("document.querySelector('.log-status').textContent.includes('knows no')");
    // The browser itself reports the refused request, and nothing else.
    assert!(shown.browser.complaints.iter().all(|one| one.contains("400")), "{:?}", shown.browser.complaints);
}

#[test]
fn pressing_stop_pauses_and_holding_it_stops_each_with_a_receipt() {
    let Some(mut shown) = Shown::open(1200) else { return };
    shown.browser.press("#stop", Duration::from_millis(80));
    shown.browser.until("document.getElementById('sheet').textContent.includes('receipt holds')");
    assert!(shown.place.geometry("PAUSE").exists() && !shown.place.geometry("STOP").exists());
    shown.browser.picture("receipt");
    shown.browser.key("Escape");
    shown
        .browser
        .until("document.querySelector('.banner') && document.querySelector('.banner').textContent.includes('Paused')");
    shown.browser.press("#stop", Duration::from_millis(1_300));
    shown.browser.until("document.getElementById('sheet').textContent.includes('Stopped')");
    assert!(shown.place.geometry("STOP").exists());
    let told = shown.browser.ask("document.getElementById('sheet').textContent");
    assert!(told.as_str().unwrap().contains("tripwire resume"), "{told}");
    shown.is_quiet();
}

#[test]
fn the_keyboard_is_enough() {
    let Some(mut shown) = Shown::open(1200) else { return };
    shown.browser.key("j");
    shown.browser.until("document.activeElement.classList.contains('session-row')");
    shown.browser.key("Enter");
    shown
        .browser
        .until("document.querySelector('.log-row .text') && document.querySelector('.log-row .text').textContent");
    shown.browser.key("j");
    shown.browser.key("j");
    shown.browser.until("document.querySelector('.log-row.selected')");
    shown.browser.key("Enter");
    shown.browser.until("!document.getElementById('drawer').hidden");
    shown.browser.key("Escape");
    shown.browser.until("document.getElementById('drawer').hidden");
    shown.browser.key("/");
    shown.browser.until("document.activeElement.id === 'filter'");
    shown.browser.key("Escape");
    shown.browser.key("Escape");
    shown.browser.until("document.querySelector('.session-row')");
    shown.browser.key("?");
    shown.browser.until("document.getElementById('sheet').open");
    shown.browser.key("Escape");
    shown.browser.until("!document.getElementById('sheet').open");
    shown.browser.ask("document.getElementById('stop').focus()");
    shown.browser.key_event("keyDown", " ");
    std::thread::sleep(Duration::from_millis(1_300));
    shown.browser.key_event("keyUp", " ");
    shown.browser.until("document.getElementById('sheet').textContent.includes('Stopped')");
    assert!(shown.place.geometry("STOP").exists());
    shown.is_quiet();
}

#[test]
fn a_phone_shows_everything_without_scrolling_sideways() {
    let Some(mut shown) = Shown::open(390) else { return };
    let fits = "document.documentElement.scrollWidth <= innerWidth";
    assert_eq!(shown.browser.ask(fits), true);
    shown.browser.picture("phone-sessions");
    shown.session();
    shown.browser.until("document.querySelectorAll('.curve').length === 3");
    assert_eq!(shown.browser.ask(fits), true);
    let stop = shown.browser.ask("(() => { scrollTo(0, 600); const box = document.getElementById('stop').getBoundingClientRect(); return box.top >= 0 && box.right <= innerWidth; })()");
    assert_eq!(stop, true, "the stop button stays in view");
    shown.browser.picture("phone-session");
    for page in ["#/approvals", "#/policy"] {
        shown.browser.ask(&format!("location.hash = '{page}'"));
        shown.browser.until("document.querySelector('h1') && document.querySelector('.view.narrow')");
        assert_eq!(shown.browser.ask(fits), true, "{page}");
    }
    shown.is_quiet();
}

#[test]
fn what_agents_write_is_text_and_never_code() {
    let Some(program) = browser::program() else { return };
    let place = Place::new();
    let corpus = [
        "<script>window.hit=1</script>",
        "<img src=x onerror=window.hit=1>",
        "<svg onload=window.hit=1>",
        "\\\"><iframe src=javascript:window.hit=1>",
        "<a href=javascript:window.hit=1>x</a>",
        "</textarea><script>window.hit=1</script>",
        "{{constructor.constructor('window.hit=1')()}}",
        "<style>@import 'x'</style>",
        "<base href=//evil.example/>",
        "<meta http-equiv=refresh content=0>",
        "<math><mi xlink:href=data:x>",
        "<form action=//evil.example><input autofocus onfocus=window.hit=1>",
        "<details open ontoggle=window.hit=1>",
        "%3Cscript%3Ewindow.hit=1%3C/script%3E",
    ];
    let lines: String = corpus.iter().map(|one| call(&format!("echo {one}"), one)).collect();
    place.step(&lines);
    let served = Served::start(&place, &[]);
    let mut browser = Browser::start(&program);
    browser.size(1200, 900);
    browser.open(&served.url);
    browser.until("document.querySelectorAll('.session-row').length === 1");
    browser.ask("document.querySelector('.session-row').click()");
    browser
        .until("[...document.querySelectorAll('.log-row .text')].some((row) => row.textContent.includes('<script>'))");
    for number in 0..corpus.len() {
        browser.ask(&format!("location.hash = location.hash.split('/').slice(0, 4).join('/') + '/{number}'"));
        browser.until(&format!("document.querySelector('.drawer-title') && document.querySelector('.drawer-title').textContent.includes('#{number} ')"));
    }
    assert_eq!(browser.ask("typeof window.hit"), "undefined");
    let foreign = browser.ask("document.querySelectorAll('main img, main script, main iframe, main form, aside img, aside script, aside iframe, base, body style').length");
    assert_eq!(foreign, 0);
    assert!(browser.complaints.is_empty(), "{:#?}", browser.complaints);
}

#[test]
fn nothing_serious_stands_in_the_way_of_a_screen_reader() {
    let Some(axe) = axe() else { return };
    let Some(mut shown) = Shown::open(1280) else { return };
    let mut found = Vec::new();
    for (theme, page) in [
        ("light", "sessions"),
        ("dark", "sessions"),
        ("light", "session"),
        ("dark", "session"),
        ("light", "approvals"),
        ("dark", "policy"),
        ("light", "fleet"),
    ] {
        shown.browser.ask(&format!("document.documentElement.dataset.theme = '{theme}'"));
        match page {
            "sessions" => {}
            "session" if theme == "light" => {
                shown.session();
                shown.browser.until("document.querySelectorAll('.curve').length === 3");
                shown.browser.ask("document.querySelector('.finding a').click()");
                shown.browser.until("!document.getElementById('drawer').hidden");
            }
            "session" => {}
            other => {
                shown.browser.ask(&format!("location.hash = '#/{other}'"));
                shown.browser.until("document.querySelector('.view h1:not(.hidden)')");
                std::thread::sleep(Duration::from_millis(300));
            }
        }
        shown.browser.picture(&format!("{page}-{theme}"));
        shown.browser.ask(&axe);
        let serious = shown.browser.ask(
            "axe.run(document, {resultTypes: ['violations']}).then((all) => all.violations.filter((one) => ['serious', 'critical'].includes(one.impact))
             .map((one) => `${one.id}: ${one.nodes.slice(0, 3).map((node) => node.html + ' ' + node.failureSummary).join(' | ')}`))",
        );
        found.extend(serious.as_array().unwrap().iter().map(|one| format!("{page} ({theme}): {one}")));
    }
    assert!(found.is_empty(), "{found:#?}");
}

/// The checker's script, where `.ci/run` has put it.
fn axe() -> Option<String> {
    let folder = std::env::var_os("TRIPWIRE_AXE").map(std::path::PathBuf::from);
    let text = folder.and_then(|file| std::fs::read_to_string(file).ok());
    if text.is_none() {
        assert!(std::env::var_os("TRIPWIRE_BROWSER").is_none(), "no axe-core here, and this run demands it");
        tripwire_testing::skip("`TRIPWIRE_AXE` names no axe.min.js: accessibility is not checked");
    }
    text
}

#[test]
fn a_server_on_another_port_that_got_the_cookie_cannot_act() {
    let Some(mut shown) = Shown::open(1000) else { return };
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let caught = std::thread::spawn(move || {
        for socket in listener.incoming().flatten() {
            let mut socket = socket;
            let mut cookie = None;
            for line in BufReader::new(socket.try_clone().unwrap()).lines().map_while(Result::ok) {
                if line.is_empty() {
                    break;
                }
                if let Some((name, value)) = line.split_once(':')
                    && name.eq_ignore_ascii_case("cookie")
                {
                    cookie = Some(value.trim().to_owned());
                }
            }
            socket
                .write_all(
                    b"HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: 2\r\nconnection: close\r\n\r\nhi",
                )
                .ok();
            if cookie.is_some() {
                return cookie;
            }
        }
        None
    });
    let ours = shown.served.origin();
    shown.browser.open(&format!("http://127.0.0.1:{port}/api/"));
    let cookie = caught.join().unwrap().expect("the browser gives our cookie to every port of this machine");
    shown.browser.until("document.body.innerText.includes('hi')");
    // The page of that server tries by itself, with the browser's own cookie.
    let tried = shown.browser.ask(&format!(
        "fetch('{ours}/api/act/stop', {{method: 'POST', mode: 'no-cors', credentials: 'include', headers: {{'content-type': 'text/plain'}}, body: '{{}}'}}).then((reply) => reply.type, () => 'refused')"
    ));
    assert!(tried == "opaque" || tried == "refused", "{tried}");
    let read = shown
        .browser
        .ask(&format!("fetch('{ours}/api/sessions', {{credentials: 'include'}}).then(() => 'read', () => 'refused')"));
    assert_eq!(read, Value::from("refused"));
    // And the server replays the cookie itself, with everything that a page of ours sends but the secret.
    let headers = [("cookie", cookie.as_str()), ("origin", ours.as_str()), ("content-type", "application/json")];
    let answer = shown.served.ask("POST /api/act/stop", &headers, &json!({}).to_string());
    assert_eq!(answer.status, 403, "{answer:?}");
    assert!(!shown.place.geometry("STOP").exists() && !shown.place.geometry("PAUSE").exists());
    let all = shown.served.ask("GET /api/sessions", &[("cookie", cookie.as_str())], "");
    assert_eq!(all.status, 200, "the cookie reads, and that is all");
    assert!(!all.body.contains(&shown.served.secret));
}
