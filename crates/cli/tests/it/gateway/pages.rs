//! Pages in a browser: they cannot spend the key of a gateway that asks for no token.

use super::support::{Gateway, PROVIDER_KEY, Provider, Reply, TOKEN, config, message, say};
use std::io::Write;

const ASK: &str = r#"{"model":"claude-sonnet-4-5","max_tokens":10,"messages":[]}"#;

fn provider() -> Provider {
    Provider::new(|_, socket| say(socket, "200 OK", "application/json", message(1, 1).as_bytes()))
}

/// A gateway without keys: everybody on this machine may call.
fn without_keys(provider: &Provider) -> Gateway {
    Gateway::start(config(provider, "").split("[[key]]").next().unwrap())
}

fn send(gateway: &Gateway, line: &str, headers: &str) -> Reply {
    let mut socket = gateway.connect();
    let request = format!(
        "{line} HTTP/1.1\r\nconnection: close\r\n{headers}content-type: text/plain\r\ncontent-length: {}\r\n\r\n{ASK}",
        ASK.len()
    );
    socket.write_all(request.as_bytes()).unwrap();
    Reply::read(&mut socket)
}

#[test]
fn gate_8_gateway_without_keys_a_foreign_page_cannot_spend_the_providers_key() {
    let provider = provider();
    let gateway = without_keys(&provider);
    let ours = format!("host: {}\r\n", gateway.address);
    for headers in [
        "host: evil.example\r\norigin: http://evil.example\r\n".to_owned(),
        format!("{ours}origin: https://evil.example\r\n"),
        format!("{ours}origin: null\r\n"),
        format!("{ours}sec-fetch-site: cross-site\r\n"),
    ] {
        for (line, place) in [
            ("POST /anthropic/v1/messages", "/error/type"),
            ("POST /openai/v1/embeddings", "/error/code"),
            ("GET /metrics", "/error/type"),
        ] {
            let reply = send(&gateway, line, &headers);
            let word = reply.json().pointer(place).unwrap().clone();
            assert_eq!((reply.status, word.as_str()), (403, Some("permission_error")), "{line} {headers}");
            assert!(reply.body.contains("tripwire gateway key new"), "{}", reply.body);
        }
    }
    // A page that only reads names no origin, so there the name decides.
    for line in ["GET /metrics", "GET /openai/v1/models", "GET /openai/v1/files"] {
        assert_eq!(send(&gateway, line, "host: evil.example\r\n").status, 403, "{line}");
    }
    assert_eq!(provider.requests(), 0);
}

#[test]
fn gate_8_gateway_without_keys_libraries_on_this_machine_are_served_as_before() {
    let provider = provider();
    let gateway = without_keys(&provider);
    let port = gateway.address.split(':').nth(1).unwrap();
    let hosts = [format!("127.0.0.1:{port}"), format!("localhost:{port}")];
    for host in &hosts {
        for more in ["", "sec-fetch-mode: cors\r\n", "x-api-key: anything\r\n"] {
            let reply = send(&gateway, "POST /anthropic/v1/messages", &format!("host: {host}\r\n{more}"));
            assert_eq!(reply.status, 200, "{host} {more}: {reply:?}");
        }
        for line in ["GET /metrics", "GET /openai/v1/models", "GET /openai/v1/files"] {
            assert_eq!(send(&gateway, line, &format!("host: {host}\r\n")).status, 200, "{host} {line}");
        }
    }
    let proxied = send(&gateway, "POST /anthropic/v1/messages", "host: gateway\r\n");
    assert_eq!(proxied.status, 200, "a program may call us what it likes: {proxied:?}");
    assert!(provider.last().head.contains(PROVIDER_KEY));
    assert_eq!(gateway.send("GET", "/healthz", "", "").body, "ok\n");
    // With keys the token decides, under whatever name the gateway is asked.
    let gateway = Gateway::start(&config(&provider, ""));
    let reply = send(
        &gateway,
        "POST /anthropic/v1/messages",
        &format!("host: box.example\r\norigin: https://app.example\r\nx-api-key: {TOKEN}\r\n"),
    );
    assert_eq!(reply.status, 200, "{reply:?}");
}
