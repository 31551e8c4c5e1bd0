//! The verb through its success, its refusals and its broken input; what the server answers to its own page.

use super::served::Served;
use crate::session::fixture::{Place, Said, call, calls, feed};
use serde_json::Value;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

#[test]
fn the_page_shows_sessions_rows_decisions_and_policy() {
    let place = Place::new();
    place.step(&call("make", "error").repeat(4));
    let served = Served::start(&place, &[]);
    assert!(served.url.starts_with("http://127.0.0.1:") && served.secret.starts_with("tw-"));
    let listed = json(&served.read("/api/sessions").body);
    let one = &listed["sessions"][0];
    assert_eq!(one["state"], "stopped: loop", "{listed}");
    let (key, session) = (one["key"].as_str().unwrap(), one["session"].as_str().unwrap());
    let rows = json(&served.read(&format!("/api/rows?w={key}&s={session}")).body);
    assert_eq!((rows["total"].as_u64(), rows["rows"].as_array().unwrap().len()), (Some(4), 4), "{rows}");
    let found = json(&served.read(&format!("/api/rows?w={key}&s={session}&filter=verdict%3Arefused")).body);
    assert!(found["rows"].as_array().unwrap().len() < 4 && found["next"].is_null(), "{found}");
    let why = json(&served.read(&format!("/api/decision?w={key}&s={session}&i=3")).body);
    assert!(why["rules"][0]["threshold"].is_string() && why["hash"].as_str().unwrap().len() == 64, "{why}");
    let policy = json(&served.read(&format!("/api/policy?w={key}")).body);
    assert!(policy["settings"].as_array().unwrap().len() > 20, "{policy}");
    let mut state = Value::Null;
    for _ in 0..200 {
        state = json(&served.read(&format!("/api/session?w={key}&s={session}")).body);
        if state["walk"]["truth"]["state"] == "verified" {
            break;
        }
        assert_eq!(state["walk"]["truth"]["state"], "notVerifiedYet", "{state}");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    assert_eq!(state["walk"]["truth"]["state"], "verified", "{state}");
    assert_eq!(state["replay"]["state"], "equal", "{state}");
    assert!(!state["drops"].as_array().unwrap().is_empty() && !state["causes"].as_array().unwrap().is_empty());
}

#[test]
fn a_folder_whose_path_is_no_text_is_shown_and_one_with_blanks_is_quoted_in_what_is_advised() {
    let place = Place::new();
    for name in [&b"caf\xe9"[..], b"q sp"] {
        let folder = place.path().join(OsStr::from_bytes(name));
        fs::create_dir_all(folder.join(".geometry")).unwrap();
        let mut step = place.command(&["step", "-"]);
        step.current_dir(&folder);
        Said::of(feed(step, calls(2).as_bytes())).ended(0);
    }
    let served = Served::start(&place, &[]);
    let listed = served.read("/api/sessions");
    assert_eq!(listed.status, 200, "{listed:?}");
    let spaced = json(&listed.body)["workspaces"].as_array().unwrap().clone();
    let of = |name: &str| spaced.iter().find(|one| one["root"].as_str().unwrap().ends_with(name)).unwrap().clone();
    assert!(of("caf\u{fffd}")["key"].is_string());
    let advised = of("q sp")["resumedBy"].as_str().unwrap().to_owned();
    assert_eq!(advised, format!("tripwire resume --workspace '{}'", of("q sp")["root"].as_str().unwrap()));
    for path in ["/api/approvals", "/api/sessions"] {
        assert_eq!(served.read(path).status, 200, "{path}");
    }
    let key = of("caf\u{fffd}")["key"].as_str().unwrap().to_owned();
    assert_eq!(served.read(&format!("/api/policy?w={key}")).status, 200);
}

#[test]
fn a_damaged_journal_is_shown_up_to_the_damage_and_named() {
    let place = Place::new();
    place.step(&calls(6)).ended(0);
    let segment = place.journal("00000001.jsonl");
    let text = fs::read_to_string(&segment).unwrap();
    let lines: Vec<String> = text
        .lines()
        .enumerate()
        .map(|(at, line)| if at == 7 { line.replacen("work 3", "work X", 1) } else { line.to_owned() })
        .collect();
    fs::write(&segment, format!("{}\n", lines.join("\n"))).unwrap();
    let served = Served::start(&place, &[]);
    let key = json(&served.read("/api/sessions").body)["workspaces"][0]["key"].as_str().unwrap().to_owned();
    let session = place.session();
    let mut state = Value::Null;
    for _ in 0..200 {
        state = json(&served.read(&format!("/api/session?w={key}&s={session}")).body);
        if state["walk"]["truth"]["state"] == "damaged" {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    assert_eq!(
        (&state["walk"]["truth"]["state"], &state["walk"]["truth"]["at"]),
        (&Value::from("damaged"), &Value::from(7))
    );
    let rows = json(&served.read(&format!("/api/rows?w={key}&s={session}")).body);
    assert_eq!(rows["rows"].as_array().unwrap().len(), 3, "{rows}");
}

#[test]
fn a_journal_with_records_of_a_newer_form_is_shown_up_to_them() {
    use tripwire_journal::{Append, Batch, Durability, Entry, Journal, Options, SessionId, SessionPaths};
    let place = Place::new();
    place.step(&calls(3)).ended(0);
    let session = place.session();
    let paths = SessionPaths::new(&place.geometry(""), &SessionId::parse(&session).unwrap());
    let mut journal = Journal::open(tripwire_journal::storage::Disk, paths, Options::default()).unwrap();
    let entry = Entry { body: "{\"future\":1}".into(), durations_ms: [].into(), wall_ms: 1 };
    let batch = Batch { entries: vec![entry], durability: Durability::Synced, after: None };
    assert!(matches!(journal.append(&batch), Ok(Append::Ack(_))));
    let served = Served::start(&place, &[]);
    let key = json(&served.read("/api/sessions").body)["workspaces"][0]["key"].as_str().unwrap().to_owned();
    let mut state = Value::Null;
    for _ in 0..200 {
        state = json(&served.read(&format!("/api/session?w={key}&s={session}")).body);
        if state["walk"]["problem"].is_string() && state["rows"] == 3 {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    assert!(state["walk"]["problem"].as_str().unwrap().contains("journal record 7"), "{state}");
    assert_eq!(state["walk"]["truth"]["state"], "notVerifiedYet", "{state}");
    let rows = json(&served.read(&format!("/api/rows?w={key}&s={session}")).body);
    assert_eq!(rows["rows"].as_array().unwrap().len(), 3, "{rows}");
}

#[test]
fn stop_and_pause_act_with_the_secret_and_say_what_they_did() {
    let place = Place::new();
    place.step(&calls(2)).ended(0);
    let served = Served::start(&place, &[]);
    let (cookie, origin) = (served.cookie(), served.origin());
    let headers = [
        ("cookie", cookie.as_str()),
        ("origin", origin.as_str()),
        ("content-type", "application/json"),
        ("x-tripwire-secret", served.secret.as_str()),
    ];
    let paused = served.ask("POST /api/act/pause", &headers, "{\"reason\":\"lunch\"}");
    assert_eq!(paused.status, 200, "{paused:?}");
    assert_eq!(json(&paused.body)["holds"], true);
    assert!(fs::read_to_string(place.geometry("PAUSE")).unwrap().contains("(console)"));
    place.run(&["resume"]).ended(0);
    let stopped = json(&served.ask("POST /api/act/stop", &headers, "{}").body);
    assert_eq!((stopped["holds"].as_bool(), place.geometry("STOP").exists()), (Some(true), true), "{stopped}");
    assert!(stopped["workspaces"][0]["done"].as_array().unwrap().len() >= 2, "{stopped}");
    for broken in ["", "[1]", "{\"reason\":1}", "{\"workspaces\":[\"nobody\"]}", "{\"more\":true}"] {
        let answer = served.ask("POST /api/act/stop", &headers, broken);
        assert!(matches!(answer.status, 400 | 404), "{broken}: {answer:?}");
    }
}

#[test]
fn no_secret_of_the_workspace_is_shown() {
    let place = Place::new();
    fs::write(place.work().join(".env"), "DB_PASSWORD=correct-horse-battery-staple\n").unwrap();
    place.step(&call("echo hello", "hello")).ended(0);
    // A record from before the secret was known.
    fs::write(place.work().join(".env"), "DB_PASSWORD=work-with-hello-and-echo\n").unwrap();
    place.step(&call("deploy", "x")).ended(0);
    fs::write(place.work().join(".env"), "DB_PASSWORD=deploy\nAPI_TOKEN=echo-hello-4711-secret\n").unwrap();
    place.step(&call("run echo-hello-4711-secret now", "x")).ended(0);
    let served = Served::start(&place, &[]);
    let key = json(&served.read("/api/sessions").body)["workspaces"][0]["key"].as_str().unwrap().to_owned();
    let rows = served.read(&format!("/api/rows?w={key}&s={}", place.session()));
    assert!(!rows.body.contains("echo-hello-4711-secret"), "{}", rows.body);
}

#[test]
fn the_verb_refuses_addresses_that_others_reach_and_tells_bad_input() {
    let place = Place::new();
    place.run(&["web", "--listen", "0.0.0.0:0"]).ended(11).complains("can be reached by others");
    assert_eq!(place.run(&["web", "--listen", "nowhere"]).code, 2);
    assert_eq!(place.run(&["web", "--listen", "unix:"]).code, 2);
    place.run(&["web", "--listen", "unix:/nowhere/at/all.sock"]).ended(2).complains("cannot listen");
    place.run(&["web", "--workspace", "/nowhere/at/all"]).ended(2).complains("/nowhere/at/all");
    let homeless = Said::of(place.command(&["web"]).env_remove("HOME").env_remove("XDG_STATE_HOME").output().unwrap());
    homeless.ended(2).complains("`HOME` is not set");
}

#[test]
fn a_socket_of_the_file_system_is_private_and_serves() {
    use std::io::{BufRead as _, BufReader, Write as _};
    use std::os::unix::fs::PermissionsExt as _;
    use std::os::unix::net::UnixStream;
    let place = Place::new();
    place.step(&calls(1)).ended(0);
    let path = place.path().join("page.sock");
    let mut command = place.command(&["web", "--json", "--listen", &format!("unix:{}", path.display())]);
    let mut child = command.stdout(std::process::Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    let mut socket = UnixStream::connect(&path).unwrap();
    socket.write_all(b"GET / HTTP/1.1\r\nhost: localhost:8080\r\n\r\n").unwrap();
    let page = super::served::read_answer(&mut BufReader::new(socket)).unwrap();
    assert_eq!(page.status, 200);
    let mut socket = UnixStream::connect(&path).unwrap();
    socket.write_all(b"GET / HTTP/1.1\r\nhost: evil.example\r\n\r\n").unwrap();
    assert_eq!(super::served::read_answer(&mut BufReader::new(socket)).unwrap().status, 403);
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn log_takes_the_filter_of_the_page() {
    let place = Place::new();
    place.step(&call("make", "error").repeat(4));
    let all = place.run(&["log", "--json"]).ended(0).json_lines().len();
    let refused = place.run(&["log", "--json", "verdict:refused"]).ended(0).json_lines().len();
    assert!((1..all).contains(&refused), "{refused} of {all}");
    assert_eq!(place.run(&["log", "--json", "tool:Bash", "after:1h"]).ended(0).json_lines().len(), all);
    assert_eq!(place.run(&["log", "--json", "tool:Edit"]).ended(0).json_lines().len(), 0);
    assert_eq!(place.run(&["log", "--json", "--", "-tool:Bash"]).ended(0).json_lines().len(), 0);
    place.run(&["log", "colour:red"]).ended(2).complains("the filter knows no `colour:`");
    place.run(&["log", "--rule", "LOOP-99"]).ended(2).complains("there is no rule `LOOP-99`");
}
