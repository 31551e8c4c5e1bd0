//! OpenTelemetry of the whole program; the crate `telemetry` has the tests of what is in each span.

use super::support::{Gateway, Provider, config, message, say};
use crate::agent::fixture::AgentFixture;
use crate::run::fixture::{RunFixture, finish};
use tripwire_testing::TestDir;

const ASK: &str =
    r#"{"model":"claude-sonnet-4-5","max_tokens":100,"messages":[{"role":"user","content":"a private question"}]}"#;
const ENDPOINT: &str = "OTEL_EXPORTER_OTLP_ENDPOINT";
/// Whether this build has it.
const IS_BUILT_IN: bool = cfg!(feature = "telemetry");
const MISSING: &str = "this build has no telemetry";

/// A receiver that takes everything.
fn receiver() -> (Provider, String) {
    let receiver = Provider::new(|_, socket| say(socket, "200 OK", "application/x-protobuf", b""));
    let url = format!("http://{}", receiver.address);
    (receiver, url)
}

/// All that a receiver got.
fn got(receiver: &Provider) -> String {
    receiver.seen.lock().unwrap().iter().map(|seen| format!("{}{}", seen.head, seen.body)).collect()
}

fn folder() -> TestDir {
    let dir = TestDir::new();
    std::fs::create_dir(dir.path().join("w")).unwrap();
    dir
}

#[test]
fn gate_8_the_gateway_exports_its_calls_or_says_once_that_it_cannot() {
    let (receiver, url) = receiver();
    let provider = Provider::new(|_, socket| say(socket, "200 OK", "application/json", message(10, 20).as_bytes()));
    let mut gateway = Gateway::start_with(folder(), &config(&provider, ""), &[(ENDPOINT, &url)]);
    for _ in 0..2 {
        assert_eq!(gateway.post("/anthropic/v1/messages", ASK).status, 200);
    }
    gateway.signal("-TERM");
    assert!(gateway.wait().success());
    let (got, said) = (got(&receiver), gateway.stderr());
    if !IS_BUILT_IN {
        assert_eq!((got.as_str(), said.matches(MISSING).count()), ("", 1), "{said}");
        return;
    }
    for part in ["POST /v1/traces", "chat claude-sonnet-4-5", "gen_ai.usage.input_tokens", "POST /v1/metrics"] {
        assert!(got.contains(part), "{part}: {got}");
    }
    assert!(!got.contains("private question") && !got.contains("Done."), "{got}");
    assert!(!said.contains("telemetry"), "{said}");
}

#[test]
fn gate_8_without_the_variable_nothing_is_exported_and_nothing_is_said() {
    let provider = Provider::new(|_, socket| say(socket, "200 OK", "application/json", message(10, 20).as_bytes()));
    let mut gateway = Gateway::start(&config(&provider, ""));
    assert_eq!(gateway.post("/anthropic/v1/messages", ASK).status, 200);
    gateway.signal("-TERM");
    assert!(gateway.wait().success());
    assert!(!gateway.stderr().contains("telemetry"), "{}", gateway.stderr());
}

#[test]
fn gate_8_a_variable_that_cannot_be_used_changes_nothing_but_a_line() {
    let provider = Provider::new(|_, socket| say(socket, "200 OK", "application/json", message(10, 20).as_bytes()));
    let gateway = Gateway::start_with(folder(), &config(&provider, ""), &[(ENDPOINT, "no address")]);
    assert_eq!(gateway.post("/anthropic/v1/messages", ASK).status, 200);
    let said = gateway.stderr();
    let expected = if IS_BUILT_IN { "telemetry: nothing is exported: `OTEL_EXPORTER_OTLP_ENDPOINT`" } else { MISSING };
    assert!(said.contains(expected), "{said}");
}

#[test]
fn gate_8_a_run_exports_its_session_before_its_report_or_says_that_it_cannot() {
    let (receiver, url) = receiver();
    let fixture = RunFixture::new("begin; tool 'echo a private word'; finish; exit 0");
    let mut command = fixture.command(&[]);
    let ran = finish(command.env(ENDPOINT, &url).spawn().unwrap());
    ran.ended(0);
    let got = got(&receiver);
    if !IS_BUILT_IN {
        assert!(got.is_empty() && ran.report["notes"].to_string().contains(MISSING), "{}", ran.report);
        return;
    }
    for part in ["invoke_agent claude", "decide Bash", "execute_tool Bash", "tripwire.decisions"] {
        assert!(got.contains(part), "{part}: {got}");
    }
    assert!(got.contains(ran.report["session"].as_str().unwrap()) && !got.contains("private word"), "{got}");
}

#[test]
fn gate_8_our_own_loop_exports_its_session_or_says_that_it_cannot() {
    let (receiver, url) = receiver();
    let fixture = AgentFixture::new();
    let temp = fixture.beside("temp");
    std::fs::create_dir(&temp).unwrap();
    let mut command = fixture.command(&["agent", "--example"]);
    let output = command.env("TMPDIR", &temp).env(ENDPOINT, &url).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(0), "{said}");
    let got = got(&receiver);
    if !IS_BUILT_IN {
        assert!(got.is_empty() && said.contains(MISSING), "{said}");
        return;
    }
    for part in ["invoke_agent tripwire", "execute_tool edit", "decide "] {
        assert!(got.contains(part), "{part}: {got}");
    }
}
