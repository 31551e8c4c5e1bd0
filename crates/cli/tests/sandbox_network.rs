//! `--allow-host` through the binary: what is named is reached, everything else is refused, as root and as a user.

mod sandbox_common;

use sandbox_common::{Host, everybody};
use serde_json::Value;
use std::io::Read as _;
use std::net::TcpListener;

/// Asks the proxy for one destination from inside and prints the status line it answers with.
fn ask(destination: &str) -> String {
    format!(
        "exec 3<>/dev/tcp/127.0.0.1/${{https_proxy##*:}} || exit 9; \
         printf 'CONNECT {destination} HTTP/1.1\\r\\nHost: {destination}\\r\\n\\r\\n' >&3; \
         IFS= read -r -t 5 line <&3; printf '%s\\n' \"$line\"; printf 'GET / HTTP/1.0\\r\\n\\r\\n' >&3; cat <&3 >/dev/null; true"
    )
}

fn status(answer: &Value) -> String {
    assert_eq!(answer["ran"], true, "{answer}");
    answer["stdout"].as_str().unwrap_or_default().trim().to_owned()
}

#[test]
fn box_1_a_host_that_is_not_named_is_refused_before_it_is_looked_up() {
    for who in everybody() {
        let host = Host::new(who);
        for destination in ["other.example:443", "127.0.0.1:443", "localhost:443", "allowed.example:80"] {
            let said = status(&host.exec_with(&["--allow-host", "allowed.example"], &ask(destination)));
            assert!(said.starts_with("HTTP/1.1 4"), "{who:?} {destination}: {said}");
        }
    }
}

#[test]
fn box_1_a_named_host_is_reached_only_with_tls_of_its_name_and_never_a_private_address() {
    for who in everybody() {
        let server = TcpListener::bind("127.0.0.1:0").expect("a loopback port");
        let port = server.local_addr().expect("an address").port();
        let named = format!("localhost:{port}");
        let host = Host::new(who);
        let private = status(&host.exec_with(&["--allow-host", &named], &ask(&named)));
        assert!(private.starts_with("HTTP/1.1 4") || private.starts_with("HTTP/1.1 5"), "{who:?}: {private}");
        let flag = port.to_string();
        let opened = status(&host.exec_with(&["--allow-host", &named, "--allow-loopback-port", &flag], &ask(&named)));
        assert!(opened.starts_with("HTTP/1.1 200"), "{who:?}: {opened}");
        let (mut stream, _) = server.accept().expect("the proxy connected");
        let mut got = Vec::new();
        stream.read_to_end(&mut got).expect("the proxy closed");
        assert!(got.is_empty(), "{who:?}: bytes that are no TLS of this name were forwarded: {got:?}");
    }
}

#[test]
fn box_2_a_list_that_cannot_be_served_runs_nothing() {
    for who in everybody() {
        let answer = Host::new(who).exec_with(&["--allow-host", "10.0.0.1"], "echo ran");
        assert_eq!((&answer["ran"], &answer["refused_by"]), (&Value::Bool(false), &Value::from("network")), "{answer}");
    }
}
