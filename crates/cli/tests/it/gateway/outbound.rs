//! Requests that carry a secret of the workspace.

use super::support::{Gateway, Provider, config, everything, message, say};
use tripwire_testing::TestDir;

const PASSWORD: &str = "correct-horse9";

fn asks(content: &str) -> String {
    let turn = serde_json::json!({"role": "user", "content": content});
    serde_json::json!({"model": "claude-sonnet-4-5", "max_tokens": 100, "messages": [turn]}).to_string()
}

fn gateway(provider: &Provider, manifest: &str) -> Gateway {
    let dir = TestDir::new();
    let geometry = dir.path().join("w/.geometry");
    std::fs::create_dir_all(&geometry).unwrap();
    std::fs::write(geometry.join("MANIFEST.yaml"), manifest).unwrap();
    std::fs::write(dir.path().join("w/.env"), format!("DB_PASSWORD={PASSWORD}\nHOST=example.org\n")).unwrap();
    Gateway::start_in(dir, &config(provider, ""))
}

fn provider() -> Provider {
    Provider::new(|_, socket| say(socket, "200 OK", "application/json", message(10, 10).as_bytes()))
}

#[test]
fn secret_1_a_request_with_a_secret_of_the_workspace_is_noted_once_and_one_without_is_not() {
    let provider = provider();
    let gateway = gateway(&provider, "");
    assert_eq!(gateway.post("/anthropic/v1/messages", &asks("connect to example.org")).status, 200);
    assert_eq!(gateway.json(&["gateway", "usage"])["notes"].as_array().map(Vec::len), Some(0));
    for _ in 0..2 {
        assert_eq!(gateway.post("/anthropic/v1/messages", &asks(&format!("use {PASSWORD}"))).status, 200);
    }
    let notes = gateway.json(&["gateway", "usage"])["notes"].clone();
    assert_eq!(notes.as_array().map(Vec::len), Some(1), "{notes}");
    assert!(notes[0]["kind"] == "SECRET_OUT" && !notes.to_string().contains(PASSWORD), "{notes}");
    assert!(gateway.stderr().contains("carries a secret"), "{}", gateway.stderr());
}

#[test]
fn secret_1_a_request_with_a_secret_is_held_where_the_policy_says_so_in_any_spelling() {
    let provider = provider();
    let gateway = gateway(&provider, "secrets:\n  outbound: hold\n");
    for content in [format!("use {PASSWORD}"), "Y29ycmVjdC1ob3JzZTk=".to_owned()] {
        let reply = gateway.post("/anthropic/v1/messages", &asks(&content));
        assert_eq!(reply.status, 403, "{content}");
        assert!(reply.body.contains("permission_error") && reply.body.contains("secrets.outbound"), "{}", reply.body);
    }
    assert_eq!(provider.requests(), 0);
    assert_eq!(gateway.post("/anthropic/v1/messages", &asks("connect to example.org")).status, 200);
    assert_eq!(provider.requests(), 1);
}

#[test]
fn secret_1_a_secret_in_the_place_of_a_model_is_neither_kept_nor_shown() {
    let provider = provider();
    let gateway = gateway(&provider, "");
    let ask = asks("hi").replace("claude-sonnet-4-5", &format!("claude-{PASSWORD}"));
    assert_eq!(gateway.post("/anthropic/v1/messages", &ask).status, 200);
    assert!(provider.last().body.contains(PASSWORD), "the request itself is the caller's");
    let path = format!("/gemini/v1beta/models/{PASSWORD}:embedContent");
    assert_eq!(gateway.post(&path, "{}").status, 200);
    let shown = String::from_utf8(gateway.verb(&["gateway", "usage"]).stdout).unwrap();
    assert!(shown.contains("claude-") && !shown.contains(PASSWORD), "{shown}");
    assert!(!everything(&gateway.workspace().join(".geometry")).contains(PASSWORD));
}

#[test]
fn secret_1_the_name_of_a_model_is_kept_as_it_is() {
    let provider = provider();
    let gateway = gateway(&provider, "");
    let name = "ft:gpt-4o-mini-2024-07-18:acme:web:9Xa2";
    gateway.post("/anthropic/v1/messages", &asks("hi").replace("claude-sonnet-4-5", name));
    assert_eq!(gateway.json(&["gateway", "usage"])["rows"][0]["model"], name);
}
