//! Servers that hang: the deadline or the listener ends the call in time, and the connection is closed.

use crate::engines::ask::{KEY, ask_name, conversation, question, tools};
use crate::support::dialects::{ALL, Api, Say};
use crate::support::server::{Server, Step};
use std::net::TcpListener;
use std::ops::ControlFlow;
use std::thread;
use std::time::{Duration, Instant};
use tripwire_agent::engines::{EngineError, HEARTBEAT, Heard, open};

/// The promise is one second after the deadline; a loaded machine gets more in the test, but not what a hanging call takes.
const AFTER: Duration = Duration::from_secs(20);
const TIME: Duration = Duration::from_millis(400);

fn stream_then(api: Api, events: usize, then: &[Step]) -> Vec<Step> {
    let all = api.events(&Say::text(&["half"]));
    let mut script = vec![Step::Streams];
    script.extend(all.into_iter().take(events).map(|event| Step::Chunk(event.into_bytes())));
    script.extend_from_slice(then);
    script
}

/// Asks all APIs at once: each of them waits for its deadline.
fn at_once(test: impl Fn(Api) + Sync) {
    thread::scope(|scope| {
        for api in ALL {
            scope.spawn({
                let test = &test;
                move || test(api)
            });
        }
    });
}

#[test]
fn run_4_the_deadline_ends_a_call_that_hangs_anywhere() {
    at_once(|api| {
        let half_headers = Step::Raw(b"HTTP/1.1 200 OK\r\ncontent-ty".to_vec());
        let cases = [
            ("after accepting", vec![Step::Hang]),
            ("in the headers", vec![half_headers, Step::Hang]),
            ("before the body", stream_then(api, 0, &[Step::Hang])),
            ("in the body", stream_then(api, 1, &[Step::Hang])),
            ("in an event", stream_then(api, 1, &[Step::Chunk(b"data: {".to_vec()), Step::Hang])),
        ];
        thread::scope(|scope| {
            for (what, script) in cases {
                scope.spawn(move || ends_at_the_deadline(api, what, script));
            }
        });
    });
}

fn ends_at_the_deadline(api: Api, what: &str, script: Vec<Step>) {
    let server = Server::start(vec![script]);
    let begin = Instant::now();
    let error = ask_name(&api.engine(&server.url()), TIME).0.unwrap_err();
    assert!(matches!(error, EngineError::Deadline { .. }), "{api:?} {what}: {error}");
    let took = begin.elapsed();
    assert!(took >= TIME && took < TIME + AFTER, "{api:?} {what}: {took:?}");
    server.wait_until_left(1);
}

#[test]
fn run_4_a_slow_drip_is_cut_by_the_deadline() {
    at_once(|api| {
        let drip = [Step::Chunk(b": x\n".to_vec()), Step::Pause(Duration::from_millis(20))];
        let script = [vec![Step::Streams], vec![drip.to_vec(); 2_000].concat()].concat();
        let server = Server::start(vec![script]);
        let begin = Instant::now();
        let error = ask_name(&api.engine(&server.url()), TIME).0.unwrap_err();
        assert!(matches!(error, EngineError::Deadline { .. }), "{api:?}: {error}");
        assert!(begin.elapsed() < TIME + AFTER, "{api:?}");
        server.wait_until_left(1);
    });
}

#[test]
fn run_4_a_port_that_never_accepts_is_cut_by_the_deadline() {
    // The kernel completes the connection out of the backlog; nobody ever reads the request.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    at_once(|api| {
        // Over https it hangs in the handshake.
        for url in [url.clone(), url.replace("http:", "https:")] {
            let error = ask_name(&api.engine(&url), TIME).0.unwrap_err();
            assert!(matches!(error, EngineError::Deadline { .. }), "{api:?}: {error}");
        }
    });
}

#[test]
fn run_4_the_listener_is_heard_at_every_heartbeat_and_can_cut() {
    at_once(|api| {
        let server = Server::start(vec![stream_then(api, 3, &[Step::Hang])]);
        let mut engine = open(&api.engine(&server.url()), &|_| Some(KEY.to_owned())).unwrap();
        let (turns, tools) = (conversation(), tools());
        let (mut silences, mut longest, mut last) = (0, Duration::ZERO, Instant::now());
        let far = Instant::now() + Duration::from_secs(600);
        let error = engine.ask(&question(&turns, &tools), far, &mut |heard| {
            longest = longest.max(last.elapsed());
            last = Instant::now();
            silences += usize::from(heard == Heard::Silence);
            if silences >= 10 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        assert!(matches!(error, Err(EngineError::Cut { .. })), "{api:?}");
        assert!(longest < HEARTBEAT + AFTER, "{api:?}: {longest:?}");
        server.wait_until_left(1);
    });
}

#[test]
fn run_4_the_listener_can_cut_in_the_middle_of_the_text() {
    at_once(|api| {
        let say = Say { text: vec!["again ".to_owned(); 50], ..Say::default() };
        let mut script = vec![Step::Streams];
        for event in api.events(&say).into_iter().take(40) {
            script.extend([Step::Chunk(event.into_bytes()), Step::Pause(Duration::from_millis(5))]);
        }
        script.push(Step::Hang);
        let server = Server::start(vec![script]);
        let mut engine = open(&api.engine(&server.url()), &|_| Some(KEY.to_owned())).unwrap();
        let (turns, tools, mut heard) = (conversation(), tools(), String::new());
        let far = Instant::now() + Duration::from_secs(600);
        let error = engine.ask(&question(&turns, &tools), far, &mut |piece| {
            if let Heard::Text(text) = piece {
                heard.push_str(text);
            }
            if heard.len() >= 30 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        assert!(matches!(error, Err(EngineError::Cut { .. })), "{api:?}");
        assert!(heard.starts_with("again again "), "{api:?}: {heard}");
        server.wait_until_left(1);
    });
}

#[test]
fn run_4_a_status_is_not_lost_when_the_body_of_its_error_hangs() {
    at_once(|api| {
        let head = b"HTTP/1.1 429 X\r\nretry-after: 9\r\ncontent-length: 1000\r\n\r\n{\"error\"".to_vec();
        let server = Server::start(vec![vec![Step::Raw(head), Step::Hang]]);
        let error = ask_name(&api.engine(&server.url()), Duration::from_secs(60)).0.unwrap_err();
        let wait = Some(Duration::from_secs(9));
        assert!(
            matches!(error, EngineError::RateLimited { retry_after, .. } if retry_after == wait),
            "{api:?}: {error}"
        );
    });
}

#[test]
fn run_4_a_server_that_keeps_the_connection_open_after_the_end_is_not_waited_for() {
    for api in [Api::Anthropic, Api::Chat, Api::Responses] {
        let server = Server::start(vec![stream_then(api, 100, &[Step::Hang])]);
        let answer = ask_name(&api.engine(&server.url()), Duration::from_secs(60)).0.unwrap();
        assert_eq!(answer.text, "half", "{api:?}");
        server.wait_until_left(1);
    }
}
