//! `agent --allow-host`: commands of our own loop reach what a person named and nothing else.

use crate::agent::fixture::{AgentFixture, AgentRun, finish, shell};
use crate::sandbox::network::ask;
use std::net::TcpListener;

/// What a command is answered that asks the proxy for a destination; nothing without a proxy.
fn asked(destination: &str, options: &[&str]) -> (String, AgentRun) {
    let fixture = AgentFixture::new();
    fixture.file("ask.sh", &ask(destination));
    let line = "[ -n \"$https_proxy\" ] || exit 7; bash ask.sh";
    let run = fixture.agent(&[shell(line), finish()], options);
    (fixture.transcript_text(), run)
}

#[test]
fn box_1_agent_a_host_that_nobody_named_is_refused_and_a_named_one_is_not_refused_for_its_name() {
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    let named = format!("localhost:{}", server.local_addr().unwrap().port());
    let (transcript, run) = asked("other.example:443", &["--allow-host", &named]);
    run.ended(0);
    assert!(transcript.contains("HTTP/1.1 403"), "{transcript}");
    assert!(run.stderr.contains("network: other.example:443 is not allowed (host_not_allowed)"), "{}", run.stderr);

    // A named host is looked up; that its address is a private one is the next rule.
    let (transcript, run) = asked(&named, &["--allow-host", &named]);
    run.ended(0);
    assert!(transcript.contains("HTTP/1.1 403") && !run.stderr.contains("host_not_allowed"), "{}", run.stderr);
}

#[test]
fn box_1_agent_without_a_named_host_there_is_no_way_out() {
    let (transcript, run) = asked("other.example:443", &[]);
    run.ended(0);
    assert!(transcript.contains("\"exitCode\":7"), "{transcript}");
}

#[test]
fn box_2_agent_a_list_that_cannot_be_served_starts_nothing() {
    let (code, stderr) = {
        let fixture = AgentFixture::new();
        let run = fixture.agent(&[finish()], &["--allow-host", "10.0.0.1"]);
        assert!(fixture.sessions().is_empty(), "{:?}", fixture.sessions());
        (run.code, run.stderr)
    };
    assert!(code == 2 && stderr.contains("10.0.0.1"), "{code}: {stderr}");
}
