//! People and wall clocks: STOP, PAUSE and Ctrl-C bind while something runs, and nothing runs beyond its deadline.

use crate::agent::fixture::{AgentFixture, finish, of_kind, shell, untested, until};
use serde_json::json;
use std::process::Stdio;
use std::time::{Duration, Instant};

/// A model that thinks for a long time before it answers.
fn slow() -> serde_json::Value {
    json!({"delayMs": 600_000, "text": "at last", "calls": [{"tool": "finish", "arguments": {"summary": "x"}}]})
}

/// What a process may need to start and end on a loaded machine, beside the deadline itself.
const ROOM: Duration = Duration::from_secs(20);

#[test]
fn term_1_the_wall_clock_cuts_a_hanging_model_call() {
    let fixture = AgentFixture::new();
    let begun = Instant::now();
    let run = fixture.agent(&[slow()], &["--max-runtime", "3s"]);
    run.ended(8);
    assert!(begun.elapsed() < Duration::from_secs(3) + ROOM, "{:?}", begun.elapsed());
    assert_eq!(of_kind(&fixture.transcript(), "engineError")[0]["trouble"], "cut");
    assert!(ended_after(&fixture) < 3_000 + 1_000, "within a second of the deadline: {} ms", ended_after(&fixture));
}

#[test]
fn term_1_the_wall_clock_cuts_a_hanging_tool() {
    let fixture = AgentFixture::new();
    let run = fixture.agent(&[shell("sleep 600"), finish()], &["--max-runtime", "4s"]);
    run.ended(8);
    let transcript = fixture.transcript();
    assert_eq!(of_kind(&transcript, "result")[0]["how"], "cut", "{transcript:?}");
    // The promise is a second after the deadline; a loaded machine gets more, but not what a dead disk takes.
    assert!(u128::from(ended_after(&fixture)) < 4_000 + ROOM.as_millis(), "{} ms", ended_after(&fixture));
}

#[test]
fn term_1_work_that_ends_in_time_is_not_cut() {
    let fixture = AgentFixture::new();
    fixture.agent(&[shell("sleep 0.2; echo slept"), finish()], &["--max-runtime", "5m"]).ended(0);
    assert!(fixture.transcript_text().contains("slept"));
}

/// When the last input was journaled, in milliseconds since the session's start.
fn ended_after(fixture: &AgentFixture) -> u64 {
    let at = |record: &serde_json::Value| record["b"]["input"]["at"].as_u64();
    fixture.journal().iter().filter_map(at).max().unwrap()
}

#[test]
fn ctrl_1_stop_ends_a_running_model_call() {
    let fixture = AgentFixture::new();
    let running = fixture.start(&[slow()], &[]);
    until("the model is asked", || fixture.journal().len() >= 6);
    std::fs::write(fixture.geometry().join("STOP"), "").unwrap();
    let begun = Instant::now();
    running.end().ended(10);
    assert!(begun.elapsed() < ROOM, "{:?}", begun.elapsed());
    assert_eq!(fixture.transcript().last().unwrap()["reason"], "STOPPED_BY_PERSON");
    let status = fixture.run(&["status"]).stdout;
    let session = fixture.sessions().pop().unwrap();
    let goes_on =
        format!("`tripwire resume --session {session}`, then `tripwire agent --resume {session}` goes on with it");
    assert!(status.contains(&goes_on), "{status}");
    let resumed = fixture.run(&["resume"]);
    resumed.ended(0);
    assert!(resumed.stdout.contains(&format!("next: `tripwire agent --resume {session}`")), "{}", resumed.stdout);
}

#[test]
fn ctrl_1_stop_ends_a_running_tool_and_everything_that_it_started() {
    let fixture = AgentFixture::new();
    let running = fixture.start(&[shell("echo begun > begun; sleep 600 & sleep 600"), finish()], &[]);
    until("the command runs", || fixture.work().join("begun").exists());
    std::fs::write(fixture.geometry().join("STOP"), "").unwrap();
    let begun = Instant::now();
    running.end().ended(10);
    assert!(begun.elapsed() < ROOM, "{:?}", begun.elapsed());
}

#[test]
fn ctrl_4_stop_says_that_our_own_loop_and_its_command_were_ended() {
    let fixture = AgentFixture::new();
    let running = fixture.start(&[shell("echo begun > begun; sleep 600"), finish()], &[]);
    until("the command runs", || fixture.work().join("begun").exists());
    let stop = fixture.run(&["stop", "--reason", "enough"]);
    running.end().ended(10);
    assert!(stop.stdout.contains("our own loop is ended"), "{}", stop.stdout);
    assert!(!stop.stdout.contains("not killed"), "{}", stop.stdout);

    let idle = AgentFixture::new();
    let stop = idle.run(&["stop"]);
    assert!(!stop.stdout.contains("our own loop is ended"), "{}", stop.stdout);
}

#[test]
fn ctrl_1_an_interrupt_from_the_terminal_is_journaled_and_ends_with_10_and_the_session_can_be_taken_up() {
    let fixture = AgentFixture::new();
    let one = shell("echo one >> log");
    let running = fixture.start(&[one.clone(), slow()], &[]);
    until("the first command ran", || fixture.read("log") == "one\n" && fixture.journal().len() > 15);
    let pid = rustix::process::Pid::from_raw(i32::try_from(running.pid()).unwrap()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    running.end().ended(10);
    let acts = fixture.run(&["log", "--type", "human"]).stdout;
    assert!(acts.contains(&format!("by {}", tripwire_workspace::account::current())), "{acts}");
    let session = fixture.sessions().pop().unwrap();
    let engine = fixture.cassette("model.jsonl", &untested(vec![one, shell("echo two >> log")]));
    fixture.run(&["agent", "--resume", &session, "--engine", &engine]).ended(4);
    assert_eq!(fixture.read("log"), "one\ntwo\n");
    fixture.run(&["replay", &session]).ended(0);
}

#[test]
fn purge_is_refused_while_a_session_runs_and_deletes_nothing() {
    let fixture = AgentFixture::new();
    let running = fixture.start(&[slow()], &[]);
    until("the session has begun", || !fixture.sessions().is_empty() && fixture.journal().len() > 5);
    let refused = fixture.run(&["init", "--remove", "--purge", "--yes"]);
    assert_eq!(refused.code, 2, "{}", refused.stderr);
    assert!(refused.stderr.contains("is running") && refused.stderr.contains("tripwire stop"), "{}", refused.stderr);
    assert!(fixture.geometry().join("journal").is_dir());
    running.kill();
    fixture.run(&["init", "--remove", "--purge", "--yes"]).ended(0);
    assert!(!fixture.geometry().exists());
}

#[test]
fn ctrl_1_pause_holds_between_two_calls_and_removing_it_goes_on() {
    let fixture = AgentFixture::new();
    let answers = untested(vec![shell("sleep 1; echo one >> log"), shell("echo two >> log")]);
    let mut running = fixture.start(&answers, &[]);
    until("the session has begun", || fixture.geometry().join("transcripts").exists());
    std::fs::write(fixture.geometry().join("PAUSE"), "").unwrap();
    until("the pause is journaled", || {
        fixture.journal().iter().any(|record| record["b"]["input"]["what"]["human"] == "pause")
    });
    std::thread::sleep(Duration::from_millis(700));
    assert!(!running.is_over() && !fixture.read("log").contains("two"), "{}", fixture.read("log"));
    std::fs::remove_file(fixture.geometry().join("PAUSE")).unwrap();
    running.end().ended(4);
    assert!(fixture.read("log").contains("two"));
}

#[test]
fn two_processes_cannot_run_one_session() {
    let fixture = AgentFixture::new();
    let running = fixture.start(&[slow()], &[]);
    until("the model is asked", || fixture.journal().len() >= 6);
    let session = fixture.sessions().pop().unwrap();
    let run = fixture.run(&["agent", "--resume", &session]);
    run.ended(2);
    assert!(run.stderr.contains("another process") && run.stderr.contains("hint: "), "{}", run.stderr);
    running.kill();
}

/// A sandbox that cannot be started: somebody holds the lock that every start takes, as a dead network disk would.
fn blocked_sandbox(fixture: &AgentFixture) -> std::fs::File {
    use std::os::unix::fs::DirBuilderExt as _;
    let folder = fixture.beside("run/tripwire");
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(&folder).unwrap();
    let lock = std::fs::File::create(folder.join("lock")).unwrap();
    lock.lock().unwrap();
    lock
}

#[test]
fn term_1_the_wall_clock_cuts_a_sandbox_that_does_not_start() {
    let fixture = AgentFixture::new();
    let lock = blocked_sandbox(&fixture);
    let engine = fixture.cassette("model.jsonl", &[shell("touch ran"), finish()]);
    let mut command = fixture.command(&["agent", "--objective", "x", "--engine", &engine, "--max-runtime", "4s"]);
    let output = command.env("XDG_RUNTIME_DIR", fixture.beside("run")).output().unwrap();
    assert_eq!(output.status.code(), Some(8), "{}", String::from_utf8_lossy(&output.stdout));
    assert!(ended_after(&fixture) < 4_000 + 1_000, "within a second of the deadline: {} ms", ended_after(&fixture));
    let transcript = fixture.transcript();
    assert_eq!(of_kind(&transcript, "result")[0]["how"], "cut", "{transcript:?}");
    drop(lock);
    std::thread::sleep(Duration::from_millis(300));
    assert!(!fixture.work().join("ran").exists(), "what was given up never starts");
}

#[test]
fn ctrl_1_stop_does_not_wait_for_a_sandbox_that_does_not_start() {
    let fixture = AgentFixture::new();
    let lock = blocked_sandbox(&fixture);
    let engine = fixture.cassette("model.jsonl", &[shell("touch ran"), finish()]);
    let mut command = fixture.command(&["agent", "--objective", "x", "--engine", &engine]);
    let child =
        command.env("XDG_RUNTIME_DIR", fixture.beside("run")).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
    let mut child = child.unwrap();
    until("the call is journaled", || fixture.journal().iter().any(|record| record.to_string().contains("started")));
    std::fs::write(fixture.geometry().join("STOP"), "").unwrap();
    let begun = Instant::now();
    assert_eq!(child.wait().unwrap().code(), Some(10));
    assert!(begun.elapsed() < ROOM, "{:?}", begun.elapsed());
    drop(lock);
    assert!(!fixture.work().join("ran").exists());
}

#[test]
fn ctrl_1_a_pause_during_a_call_lets_it_end_holds_then_and_goes_on_with_the_same_transcript() {
    let answers = untested(vec![shell("touch begun; sleep 1.5; echo one >> log"), shell("echo two >> log")]);
    let plain = AgentFixture::new();
    plain.agent(&answers, &[]).ended(4);
    let fixture = AgentFixture::new();
    let mut running = fixture.start(&answers, &[]);
    until("the call runs", || fixture.work().join("begun").exists());
    fixture.run(&["pause"]).ended(0);
    until("the call has ended", || fixture.read("log") == "one\n");
    until("the pause is journaled", || {
        fixture.journal().iter().any(|record| record["b"]["input"]["what"]["human"] == "pause")
    });
    std::thread::sleep(Duration::from_millis(700));
    assert!(!running.is_over() && fixture.read("log") == "one\n", "nothing is begun while it is paused");
    fixture.run(&["resume"]).ended(0);
    running.end().ended(4);
    assert_eq!(fixture.read("log"), "one\ntwo\n");
    assert_eq!(fixture.transcript_text(), plain.transcript_text(), "the pause left no trace in what happened");
}
