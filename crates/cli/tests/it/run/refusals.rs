//! What cannot be begun is told with its next command, and leaves nothing half begun.

use crate::run::fixture::{RunFixture, output};
use std::fs;

fn no_session(fixture: &RunFixture) {
    assert!(!fixture.geometry("journal").exists(), "no session was begun");
}

#[test]
fn a_program_that_is_no_client_is_refused_with_the_names_of_the_clients() {
    let fixture = RunFixture::new("");
    for words in [&["run", "--", "make", "all"][..], &["run", "--engine-fallback", "make", "--", "claude"]] {
        let (code, said) = output(fixture.verb(words));
        assert_eq!(code, Some(2), "{said}");
        assert!(said.contains("claude, codex, gemini, ") && said.contains("--client"), "{said}");
    }
    no_session(&fixture);
}

/// The client would not know it, or ignore it: then a limit that a person believes in binds nobody.
#[test]
fn a_limit_behind_the_clients_name_is_refused_and_begins_nothing() {
    let fixture = RunFixture::new("");
    for words in [
        &["run", "claude", "--budget", "1usd", "-p", "x"][..],
        &["run", "claude", "-p", "x", "--max-runtime=5m"],
        &["run", "--", "claude", "--verify", "make"],
    ] {
        let (code, said) = output(fixture.verb(words));
        assert_eq!(code, Some(2), "{words:?}: {said}");
        assert!(said.contains("after the client's name") && said.contains("put it first"), "{said}");
    }
    no_session(&fixture);
    let (code, said) = output(fixture.verb(&["run", "--", "no/such/claude", "--json", "--profile", "x", "budget"]));
    assert!(code == Some(2) && said.contains("is not found"), "the client's own words pass: {said}");
}

#[test]
fn wrong_usage_is_refused() {
    let fixture = RunFixture::new("");
    for words in [
        &["run"][..],
        &["run", "--"],
        &["run", "--budget", "much", "--", "claude"],
        &["run", "--budget", "0", "--", "claude"],
        &["run", "--max-runtime", "soon", "--", "claude"],
        &["run", "--until", "25:00", "--", "claude"],
        &["run", "--client", "nobody", "--", "claude"],
    ] {
        let (code, said) = output(fixture.verb(words));
        assert_eq!(code, Some(2), "{words:?}: {said}");
    }
    for (words, told) in [
        (&["run", "--", "no/such/claude"][..], "is not found"),
        (&["run", "--workspace", "/no/such/folder", "--", "claude"], "`/no/such/folder` is no folder to work in"),
        (&["status", "--workspace", "/no/such/folder"], "`/no/such/folder` is no folder to work in"),
        (&["run", "--profile", "brave", "--", "/bin/../bin/claude"], "is not found"),
    ] {
        let (code, said) = output(fixture.verb(words));
        assert_eq!(code, Some(2), "{words:?}: {said}");
        assert!(said.contains(told) && said.contains("hint:"), "{said}");
    }
    let bad = fixture.run(&["--profile", "brave"]);
    assert_eq!(bad.code, Some(2), "{}", bad.stderr);
    no_session(&fixture);
}

#[test]
fn the_client_may_be_named_without_two_dashes() {
    let fixture = RunFixture::new("");
    let client = fixture.add_client("claude", "echo \"$@\"");
    let client = client.to_str().unwrap();
    let (code, said) = output(fixture.verb(&["run", client, "--version"]));
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("--version"), "what comes behind the client is the client's: {said}");
    let (code, said) = output(fixture.verb(&["run", "--no-such-option", client]));
    assert_eq!(code, Some(2), "{said}");
}

#[test]
fn ctrl_1_a_leftover_order_blocks_the_start() {
    for (file, code) in [("STOP", 10), ("PAUSE", 5)] {
        let fixture = RunFixture::new("touch started");
        fs::create_dir(fixture.place().join(".geometry")).unwrap();
        fs::write(fixture.geometry(file), "").unwrap();
        let ran = fixture.run(&[]);
        assert_eq!(ran.code, Some(code), "{}", ran.stderr);
        assert!(ran.stderr.contains("tripwire resume"), "{}", ran.stderr);
        assert!(!fixture.place().join("started").exists());
        no_session(&fixture);
    }
}

#[test]
fn const_5_a_policy_that_cannot_be_read_starts_nothing() {
    let fixture = RunFixture::new("touch started");
    fs::create_dir(fixture.place().join(".geometry")).unwrap();
    fs::write(fixture.geometry("MANIFEST.yaml"), "safety: [").unwrap();
    let ran = fixture.run(&[]);
    assert!(ran.code.is_some_and(|code| code != 0) && ran.stderr.contains("hint:"), "{}", ran.stderr);
    assert!(!fixture.place().join("started").exists());
    let settings = fixture.run(&[]);
    assert_eq!(settings.report, serde_json::Value::Null);
}
