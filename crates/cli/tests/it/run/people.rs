//! People's controls over a run: stop, pause, resume, an interrupt, and the death of the supervisor itself.

use crate::run::fixture::{RunFixture, alive, finish, output, wait_until};
use std::fs;
use std::time::Duration;

/// A client that works on until it is ended, and leaves a trace of each step.
const WORKS: &str =
    "begin; touch began; i=0; while [ $i -lt 4000 ]; do i=$((i+1)); tool \"echo $i >> trace\"; sleep 0.05; done";

fn trace(fixture: &RunFixture) -> usize {
    fs::read_to_string(fixture.place().join("trace")).unwrap_or_default().lines().count()
}

#[test]
fn ctrl_4_a_stop_ends_everything_with_a_receipt() {
    let fixture = RunFixture::new(WORKS);
    let child = fixture.command(&[]).spawn().unwrap();
    fixture.wait_for("trace");
    let (code, said) = output(fixture.verb(&["stop", "--json"]));
    let said: serde_json::Value = serde_json::from_str(&said).unwrap();
    assert_eq!((code, &said["receipt"]["survivors"]), (Some(0), &0.into()), "{said}");
    assert!(said["receipt"]["ended"].as_u64().unwrap() >= 1, "{said}");
    assert!(said["done"].to_string().contains("so that a new one may begin"), "{said}");
    finish(child).ended(10);
    let (code, status) = output(fixture.verb(&["status"]));
    assert_eq!(code, Some(5), "STOP stands: {status}");
    assert!(status.contains("0 survivors"), "{status}");
    assert!(status.contains("stopped by a person; cannot be resumed") && !status.contains("lifts"), "{status}");
    let (code, resumed) = output(fixture.verb(&["resume"]));
    assert_eq!(code, Some(0), "{resumed}");
    assert!(resumed.contains("cannot be resumed") && !resumed.contains("goes on at its next step"), "{resumed}");
}

#[test]
fn ctrl_4_a_stop_of_several_runs_has_a_receipt_of_each() {
    let fixture = RunFixture::new("begin; sleep 60 & sleep 60 & mktemp ready.XXXXXX >/dev/null; wait");
    let ready = || fs::read_dir(fixture.place()).unwrap().flatten();
    let started =
        |count| ready().filter(|entry| entry.file_name().to_string_lossy().starts_with("ready.")).count() >= count;
    let runs: Vec<_> = (1..=3)
        .map(|count| {
            let child = fixture.command(&[]).spawn().unwrap();
            crate::run::fixture::wait_until("the client", || started(count));
            child
        })
        .collect();
    let (code, said) = output(fixture.verb(&["stop", "--json"]));
    let said: serde_json::Value = serde_json::from_str(&said).unwrap();
    assert_eq!(code, Some(0), "{said}");
    let receipts = said["receipts"].as_array().unwrap();
    assert_eq!(receipts.len(), 3, "{said}");
    assert!(receipts.iter().all(|one| one["ended"].as_u64() >= Some(3) && one["survivors"] == 0), "{said}");
    assert!(said["receipt"]["ended"].as_u64() >= Some(9), "{said}");
    for run in runs {
        finish(run).ended(10);
    }
}

#[test]
fn ctrl_4_a_full_screen_client_that_is_stopped_leaves_the_terminal_as_it_was() {
    if std::process::Command::new("script").arg("--version").output().is_err() {
        tripwire_testing::skip("no `script`, so no terminal");
        return;
    }
    let set = "printf '\\033[?1049h\\033[?25l\\033[?1003h\\033[?2004h'";
    let fixture = RunFixture::new(&format!("begin >/dev/null; stty raw; {set}; touch ready; sleep 60"));
    let log = fixture.home().join("screen");
    let run = format!("{} run -- {}", crate::run::fixture::TRIPWIRE, fixture.client().display());
    let mut command = fixture.verb(&[]);
    let shown = std::process::Command::new("script")
        .args(["-q", "-e", "-f", "-c", &run])
        .arg(&log)
        .current_dir(fixture.place())
        .env_clear()
        .envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))))
        .env("TERM", "xterm")
        .stdin(std::process::Stdio::null())
        .stdout(std::process::Stdio::null())
        .spawn();
    command.arg("status");
    let mut shown = shown.unwrap();
    fixture.wait_for("ready");
    let (code, said) = output(fixture.verb(&["stop"]));
    assert_eq!(code, Some(0), "{said}");
    shown.wait().unwrap();
    let screen = fs::read(&log).unwrap();
    let last = |sequence: &str| screen.windows(sequence.len()).rposition(|part| part == sequence.as_bytes());
    for mode in ["1049", "1003", "2004"] {
        assert!(last(&format!("\u{1b}[?{mode}l")) > last(&format!("\u{1b}[?{mode}h")), "{mode}");
    }
    assert!(last("\u{1b}[?25h") > last("\u{1b}[?25l"), "the cursor");
    // What follows is of the program that recorded the screen.
    let end = last("\nScript done").unwrap_or(screen.len());
    let report = &screen[last("\u{1b}[?25h").unwrap()..end];
    assert!(String::from_utf8_lossy(report).contains("tripwire: stopped by a person"), "the report comes behind it");
    let bare = report.windows(2).filter(|pair| pair[1] == b'\n' && pair[0] != b'\r').count();
    assert_eq!(bare, 0, "each line begins at the left edge: {}", String::from_utf8_lossy(report));
}

#[test]
fn ctrl_1_a_touched_stop_file_is_enough() {
    let fixture = RunFixture::new(WORKS);
    let child = fixture.command(&[]).spawn().unwrap();
    fixture.wait_for("trace");
    fs::write(fixture.geometry("STOP"), "").unwrap();
    let ran = finish(child);
    ran.ended(10);
    let before = trace(&fixture);
    std::thread::sleep(Duration::from_millis(200));
    assert_eq!(trace(&fixture), before, "nothing goes on");
}

#[test]
fn ctrl_1_a_pause_freezes_and_a_resume_goes_on_as_if_nothing_had_been() {
    let fixture = RunFixture::new(
        "begin; touch began; for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16; do tool \"echo $i >> trace\"; done; finish; finish; finish; exit 0",
    );
    let child = fixture.command(&[]).spawn().unwrap();
    fixture.wait_for("trace");
    let (code, said) = output(fixture.verb(&["pause"]));
    assert_eq!(code, Some(0), "{said}");
    // What was under way when the order came may end; then everything stands still.
    let stands = (0..20).map(|_| trace(&fixture)).any(|before| {
        std::thread::sleep(Duration::from_millis(1_500));
        trace(&fixture) == before
    });
    assert!(stands && trace(&fixture) < 16, "a paused run stands still");
    let (_, status) = output(fixture.verb(&["status"]));
    assert!(status.contains("supervises claude") && status.contains("PAUSE is set"), "{status}");
    let (code, said) = output(fixture.verb(&["resume"]));
    assert_eq!(code, Some(0), "{said}");
    let ran = finish(child);
    ran.ended(4);
    assert_eq!(trace(&fixture), 16, "every step was made once");
    assert_eq!(fixture.home_text("refused"), "", "nothing was refused meanwhile");
}

#[test]
fn ctrl_4_an_interrupt_of_the_supervisor_is_a_stop_with_a_receipt() {
    let mark = format!("5{:07}", std::process::id());
    let fixture =
        RunFixture::new(&format!("begin; touch began; (setsid sleep {mark} &); trap '' TERM INT; sleep {mark}"));
    let child = fixture.command(&[]).spawn().unwrap();
    fixture.wait_for("began");
    wait_until("the client's children", || alive(&mark) >= 2);
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    let ran = finish(child);
    ran.ended(10);
    assert_eq!(alive(&mark), 0);
}

#[test]
fn ctrl_4_a_killed_supervisor_leaves_nobody_and_status_says_so() {
    let mark = format!("4{:07}", std::process::id());
    let fixture =
        RunFixture::new(&format!("begin; touch began; (setsid sleep {mark} &); trap '' TERM INT; sleep {mark}"));
    let mut child = fixture.command(&[]).spawn().unwrap();
    fixture.wait_for("began");
    wait_until("the client's children", || alive(&mark) >= 2);
    child.kill().unwrap();
    child.wait().unwrap();
    wait_until("the end of the client", || alive(&mark) == 0);
    let (code, status) = output(fixture.verb(&["status"]));
    assert_eq!(code, Some(9), "{status}");
    assert!(status.contains("gone without a receipt"), "{status}");
}
