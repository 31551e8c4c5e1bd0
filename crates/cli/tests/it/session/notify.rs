//! The ways of the frozen policy by which a person is notified.

use crate::session::fixture::{Place, calls};
use hmac::{Hmac, Mac as _};
use serde_json::{Value, json};
use sha2::Sha256;
use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpListener;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use tripwire_testing::write_program;

fn with_command(place: &Place, script: &str) {
    let path = place.path().join("tell");
    write_program(&path, &format!("#!/bin/sh\n{script}\n")).unwrap();
    place.manifest(&format!("notify:\n  command: \"{} {}\"\n", path.display(), place.path().join("told").display()));
}

fn told(place: &Place) -> Option<String> {
    let end = Instant::now() + Duration::from_secs(20);
    while Instant::now() < end {
        if let Ok(text) = fs::read_to_string(place.path().join("told"))
            && !text.is_empty()
        {
            return Some(text);
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    None
}

#[test]
fn a_hold_runs_the_command_with_the_message_and_a_clean_environment() {
    let place = Place::new();
    with_command(&place, "echo \"$2 secret=$SECRET\" > \"$1.tmp\" && mv \"$1.tmp\" \"$1\"");
    place.step(&calls(1)).ended(0);
    assert!(!place.path().join("told").exists(), "nothing to tell");
    fs::write(place.geometry("PAUSE"), "").unwrap();
    let mut command = place.command(&["step", "-"]);
    command.env("SECRET", "token");
    let output = crate::session::fixture::feed(command, calls(1).as_bytes());
    assert_eq!(output.status.code(), Some(5));
    let text = told(&place).unwrap();
    assert!(text.contains(&place.session()) && text.contains("paused by a person"), "{text}");
    assert!(text.trim().ends_with("secret="), "{text}");
}

#[test]
fn a_command_that_hangs_or_is_missing_does_not_hold_up_the_decision() {
    let place = Place::new();
    with_command(&place, "sleep 60");
    place.step(&calls(1)).ended(0);
    fs::write(place.geometry("STOP"), "").unwrap();
    let begun = Instant::now();
    place.step(&calls(1)).ended(10);
    assert!(begun.elapsed() < Duration::from_secs(30), "{:?}", begun.elapsed());
    let other = Place::new();
    other.manifest("notify:\n  command: \"/nonexistent/tell\"\n");
    fs::write(other.geometry("STOP"), "").unwrap();
    other.step(&calls(1)).ended(10);
}

/// A server that takes some requests, one after the other, and gives them back: the head in lower case, and the body.
fn receiver(requests: usize) -> (String, JoinHandle<Vec<(String, String)>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let taken = std::thread::spawn(move || {
        let mut taken = Vec::new();
        while taken.len() < requests {
            let (mut stream, _) = listener.accept().unwrap();
            stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
            let mut reader = BufReader::new(stream.try_clone().unwrap());
            let mut head = String::new();
            while !head.ends_with("\r\n\r\n") && reader.read_line(&mut head).unwrap() > 0 {}
            let head = head.to_lowercase();
            let length =
                head.split("content-length: ").nth(1).and_then(|rest| rest.lines().next()?.trim().parse().ok());
            let mut body = vec![0; length.unwrap_or(0)];
            reader.read_exact(&mut body).unwrap();
            stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n").unwrap();
            taken.push((head, String::from_utf8(body).unwrap()));
        }
        taken
    });
    (address, taken)
}

#[test]
fn ctrl_2_a_hold_reaches_a_signed_webhook_ntfy_and_slack() {
    let (address, taken) = receiver(3);
    let place = Place::new();
    let (key, chat) = (place.path().join("key"), place.path().join("chat"));
    fs::write(&key, "webhook key\n").unwrap();
    fs::write(&chat, format!("{address}/slack\n")).unwrap();
    place.manifest(&format!(
        "notify:\n  webhook: \"{address}/hook\"\n  webhook_key: \"file:{}\"\n  ntfy: \"{address}/topic\"\n  slack: \"file:{}\"\n",
        key.display(),
        chat.display()
    ));
    place.step(&calls(1)).ended(0);
    fs::write(place.geometry("PAUSE"), "").unwrap();
    place.step(&calls(1)).ended(5);
    let taken = taken.join().unwrap();
    let of = |path: &str| taken.iter().find(|(head, _)| head.starts_with(&format!("post {path} "))).unwrap();
    let (head, body) = of("/hook");
    let message: Value = serde_json::from_str(body).unwrap();
    assert!(message["kind"] == "held" && message["session"] == place.session().as_str(), "{message}");
    let header =
        |name: &str| head.split(&format!("{name}: ")).nth(1).unwrap().lines().next().unwrap().trim().to_owned();
    let mut mac = Hmac::<Sha256>::new_from_slice(b"webhook key").unwrap();
    mac.update(format!("{}.{body}", header("x-tripwire-timestamp")).as_bytes());
    let signed: String = mac.finalize().into_bytes().iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(header("x-tripwire-signature"), format!("sha256={signed}"));
    let (head, body) = of("/topic");
    assert!(head.contains("title: tripwire: held") && body.contains("paused by a person"), "{head}{body}");
    let slack: Value = serde_json::from_str(&of("/slack").1).unwrap();
    assert!(slack["text"].as_str().unwrap().contains("paused by a person"), "{slack}");
}

#[test]
fn ctrl_2_an_unsigned_webhook_is_not_called_and_a_dead_one_holds_nothing_up() {
    let order = |ways: &Value| {
        json!({"ways": ways, "notice": {"kind": "held", "session": "auto-1", "text": "held"}, "state": null})
            .to_string()
    };
    let ways = |webhook: &str, key: &str| json!({"command": "", "webhook": webhook, "webhook_key": key, "ntfy": "", "slack": "", "desktop": "false"});
    let place = Place::new();
    let send = |input: &str| crate::session::fixture::feed(place.command(&["notify-and-wait"]), input.as_bytes());
    let unsigned = send(&order(&ways("http://127.0.0.1:9/x", "")));
    assert!(String::from_utf8_lossy(&unsigned.stderr).contains("`notify.webhook_key`"), "{unsigned:?}");
    let dead = send(&order(&ways("http://127.0.0.1:9/x", "k")));
    assert!(
        dead.status.code() == Some(9) && String::from_utf8_lossy(&dead.stderr).contains("notify.webhook"),
        "{dead:?}"
    );
    let broken = send("{");
    assert_eq!(broken.status.code(), Some(2), "{broken:?}");
}

#[test]
fn ctrl_2_a_finished_run_of_the_own_loop_is_told() {
    let place = Place::new();
    with_command(&place, "echo \"$2\" > \"$1.tmp\" && mv \"$1.tmp\" \"$1\"");
    let cassette = place.path().join("model.jsonl");
    fs::write(
        &cassette,
        "{\"cassette\":1}\n{\"text\":\"x\",\"calls\":[{\"tool\":\"finish\",\"arguments\":{\"summary\":\"done\"}}]}\n",
    )
    .unwrap();
    let engine = format!("scripted:{}", cassette.display());
    place.run(&["agent", "--objective", "say it", "--engine", &engine]);
    let text = told(&place).unwrap();
    assert!(text.starts_with("tripwire auto-"), "{text}");
}
