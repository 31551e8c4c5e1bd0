//! A guard that does not hold ends the run with 9, and `status` says so.

use crate::bed::{Bed, Ran, finish, output};
use std::process::Command;

fn does_not_hold(bed: &Bed, ran: &Ran, why: &str) {
    ran.ended(9);
    assert!(ran.report["how"].as_str().unwrap().contains(why), "{}", ran.stderr);
    let (code, status) = output(bed.verb(&["status"]));
    assert_eq!(code, Some(9), "{status}");
    assert!(status.contains("BROKEN") && status.contains("guard of the last run"), "{status}");
}

#[test]
fn const_5_a_client_that_never_calls_its_hook_is_a_broken_guard() {
    let bed = Bed::new("touch ran; exit 0");
    let ran = bed.run(&[]);
    does_not_hold(&bed, &ran, "never called its hook");
}

#[test]
fn const_5_a_call_that_no_hook_announced_ends_the_run() {
    let script = "begin
        echo '{\"type\":\"assistant\",\"message\":{\"content\":[{\"type\":\"tool_use\",\"id\":\"x1\",\"name\":\"Bash\"}]}}' >> $record
        echo '{\"type\":\"user\",\"message\":{\"content\":[{\"type\":\"tool_result\",\"tool_use_id\":\"x1\",\"content\":\"done\"}]}}' >> $record
        sleep 60";
    let bed = Bed::new(script);
    let ran = bed.run(&[]);
    does_not_hold(&bed, &ran, "no hook announced it");
}

#[test]
fn const_5_a_hook_that_could_not_be_started_ends_the_run() {
    let script = "begin
        echo '{\"type\":\"user\",\"message\":{\"content\":[{\"type\":\"tool_result\",\"tool_use_id\":\"x1\",\"is_error\":true,\
        \"content\":\"hook error: tripwire: guard failed\"}]}}' >> $record
        sleep 60";
    let bed = Bed::new(script);
    let ran = bed.run(&[]);
    does_not_hold(&bed, &ran, "could not be run");
}

#[test]
fn const_5_words_that_are_no_hook_input_end_the_run() {
    let bed = Bed::new("begin; echo 'not json' | $guard/tripwire hook claude && touch passed; sleep 60");
    let ran = bed.run(&[]);
    does_not_hold(&bed, &ran, "not understood");
    assert!(!bed.place().join("passed").exists());
}

#[test]
fn const_5_a_journal_that_cannot_grow_refuses_the_call_and_ends_the_run() {
    let bed =
        Bed::new("begin; i=0; while tool \"echo $i; touch ran-$i\"; do i=$((i+1)); done; touch refused; sleep 60");
    let plain = bed.command(&[]);
    let mut limited = Command::new("bash");
    // A file may not grow beyond 64 KiB, which is what a full disk looks like to the journal.
    limited.args(["-c", "trap '' XFSZ; ulimit -f 64; exec \"$@\"", "bash"]).arg(plain.get_program());
    limited.args(plain.get_args()).current_dir(bed.place()).env_clear();
    limited.envs(plain.get_envs().filter_map(|(name, value)| Some((name, value?))));
    limited
        .stdin(std::process::Stdio::null())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped());
    let ran = finish(limited.spawn().unwrap());
    ran.ended(9);
    let calls = std::fs::read_dir(bed.place()).unwrap().filter_map(Result::ok);
    let calls = calls.filter(|entry| entry.file_name().to_string_lossy().starts_with("ran-")).count();
    assert!(calls >= 3, "some calls fit the journal: {}", ran.stderr);
    let journaled = std::fs::read_dir(bed.geometry("journal")).unwrap().next().unwrap().unwrap().path();
    let text = std::fs::read_to_string(journaled.join("00000001.jsonl")).unwrap();
    let asked = text.matches("\"request\":").count();
    assert!(asked >= calls, "no call ran that is not in the journal: {asked} of {calls}");
    assert_eq!(output(bed.verb(&["status"])).0, Some(9));
}
