//! How runs end: done, proved or not, in a loop, at a wall clock, with the client's own failure.

use crate::run::fixture::{RunFixture, alive, output};
use std::time::{Duration, Instant};
use tripwire_testing::write_program;

#[test]
fn an_agent_that_is_done_ends_with_0_and_its_streams_pass_untouched() {
    let fixture =
        RunFixture::new("begin; echo out; echo err >&2; printf 'no line end'; tool 'echo hi'; finish; exit 0");
    let ran = fixture.run(&[]);
    ran.ended(0);
    assert_eq!(ran.stdout, "out\nno line end");
    assert!(ran.stderr.starts_with("err\n"), "{}", ran.stderr);
    assert_eq!(ran.report["verdict"], "NOTHING_TO_VERIFY");
    assert_eq!(ran.report["clients"][0], "claude");
    let journal = std::fs::read_dir(fixture.geometry("journal")).unwrap().count();
    assert_eq!(journal, 1, "one run is one session");
    let (_, status) = output(fixture.verb(&["status"]));
    assert!(status.contains("with NOTHING_TO_VERIFY: done; no code was changed; cannot be resumed"), "{status}");
    let (_, status) = output(fixture.verb(&["status", "--json"]));
    let status: serde_json::Value = serde_json::from_str(&status).unwrap();
    let ended = &status["session"]["ended"];
    assert_eq!((&ended["verdict"], &ended["goesOnWith"]), (&"NOTHING_TO_VERIFY".into(), &serde_json::Value::Null));
    assert!(ended["at"].is_string() && ended["how"].is_string(), "{status}");
}

#[test]
fn the_report_as_json_is_all_that_standard_error_holds() {
    let fixture = RunFixture::new("begin; tool ls; finish");
    let ran = fixture.run(&["--verify", "echo all 12 tests passed; echo and a word >&2"]);
    ran.ended(0);
    let whole: serde_json::Value = serde_json::from_str(&ran.stderr).unwrap();
    assert_eq!(whole["verify"], "passed", "{whole}");
    assert!(whole["notes"].to_string().contains("and a word"), "its last words are kept: {whole}");
}

#[test]
fn the_clients_own_command_to_go_on_is_told_where_its_conversation_is_known() {
    let fixture = RunFixture::new("session=conversation-7; begin; tool ls; finish");
    let ran = fixture.run(&[]);
    ran.ended(0);
    assert_eq!(ran.report["client_resume"], "tripwire run -- claude --resume conversation-7");
    let silent = RunFixture::new("exit 1");
    let ran = silent.run(&[]);
    ran.ended(3);
    assert!(ran.report["client_resume"].is_null(), "{}", ran.report);
}

#[test]
fn log_3_a_run_that_is_held_leaves_its_frozen_replay() {
    let fixture = RunFixture::new("begin; for n in 1 2 3 4 5 6 7 8; do tool 'echo a'; tool 'echo b'; done; finish");
    fixture.run(&[]).ended(7);
    assert_eq!(std::fs::read_dir(fixture.geometry("replays")).unwrap().count(), 1);
}

#[test]
fn loop_7_a_run_whose_calls_are_held_one_after_the_other_ends_held() {
    let fixture = RunFixture::new("begin; for n in 1 2 3 4 5 6 7 8; do tool \"rm -rf q$n\"; done; finish");
    for n in 1..9 {
        let folder = fixture.place().join(format!("q{n}"));
        std::fs::create_dir(&folder).unwrap();
        for name in ["a", "b", "c"] {
            std::fs::write(folder.join(name), "work").unwrap();
        }
    }
    let ran = fixture.run(&[]);
    ran.ended(7);
    assert!(ran.report["findings"].to_string().contains("LOOP-7"), "{}", ran.report);
    assert!(fixture.place().join("q1/a").exists());
}

#[test]
fn loop_1_an_agent_that_ignores_its_stop_is_ended_with_all_its_children() {
    let mark = format!("7{:07}", std::process::id());
    let script = format!(
        "begin; (setsid sh -c 'trap \"\" TERM HUP INT; sleep {mark}' &) ; sleep {mark} &
         for i in 1 2 3 4 5 6 7 8 9 10 11 12; do tool 'echo tick'; done; touch survived_the_loop; sleep {mark}"
    );
    let fixture = RunFixture::new(&script);
    let ran = fixture.run(&[]);
    ran.ended(7);
    assert!(fixture.home_text("told").contains("LOOP_OVERRIDE"), "the agent was told before it was stopped");
    assert!(fixture.home_text("refused").contains("\"continue\":false"), "and was told to end its turn");
    assert!(fixture.geometry("BLOCKER_REPORT.md").exists());
    assert!(ran.report["receipt"]["ended"].as_u64().unwrap() >= 3, "{}", ran.stderr);
    assert_eq!(alive(&mark), 0);
    assert!(ran.report["findings"].as_array().unwrap().iter().any(|found| found["level"] == "stop"));
}

#[test]
fn dirty_1_unproved_work_ends_with_4_and_proved_work_with_0() {
    let edit = "begin; tool 'echo x > a.py'; event Stop '\"stop_hook_active\":false' >> $HOME/stop
        event Stop '\"stop_hook_active\":true' >> $HOME/stop; event Stop '\"stop_hook_active\":true' >> $HOME/stop; exit 0";
    let unproved = RunFixture::new(edit);
    let ran = unproved.run(&[]);
    ran.ended(4);
    assert_eq!(ran.report["verdict"], "UNVERIFIED");
    assert_eq!(unproved.home_text("stop").matches("\"block\"").count(), 2, "sent back twice, then let go");
    let proved = RunFixture::new(edit).run(&["--verify", "test -f a.py"]);
    proved.ended(0);
    assert_eq!((&proved.report["verdict"], &proved.report["verify"]), (&"VERIFIED".into(), &"passed".into()));
    let named = RunFixture::new(edit);
    let failed = named.run(&["--verify", "echo looking; exit 3"]);
    failed.ended(4);
    assert_eq!((&failed.report["verdict"], &failed.report["verify"]), (&"FAILED".into(), &"failed with 3".into()));
    assert!(failed.stderr.contains("looking") && !failed.stdout.contains("looking"), "its output is talk");
    assert!(named.home_text("stop").contains("echo looking; exit 3"), "the agent is told the person's own command");
}

#[test]
fn dirty_1_a_change_that_no_call_showed_counts() {
    let script = "begin; tool './change'; finish; finish; finish; exit 0";
    let fixture = RunFixture::new(script);
    std::fs::write(fixture.place().join("a.rs"), "old").unwrap();
    let change = fixture.place().join("change");
    write_program(&change, "#!/bin/sh\necho new > a.rs\n").unwrap();
    fixture.run(&[]).ended(4);
}

#[test]
fn term_1_the_wall_clock_cuts_what_hangs() {
    let mark = format!("8{:07}", std::process::id());
    let fixture = RunFixture::new(&format!("begin; sleep {mark} & exec sleep {mark}"));
    let start = Instant::now();
    let ran = fixture.run(&["--max-runtime", "3s"]);
    ran.ended(8);
    assert!(start.elapsed() >= Duration::from_secs(3) && start.elapsed() < Duration::from_secs(20));
    assert_eq!(alive(&mark), 0);
}

#[test]
fn a_client_that_fails_is_not_taken_for_done() {
    let failed = RunFixture::new("begin; tool 'echo a'; exit 5").run(&[]);
    failed.ended(3);
    assert!(failed.report["how"].as_str().unwrap().contains("exit code 5"), "{}", failed.stderr);
    // A client that was killed may exit with 0: what counts is that it was let go.
    let silent = RunFixture::new("begin; tool 'echo a'; exit 0").run(&[]);
    silent.ended(3);
    let killed = RunFixture::new("begin; kill -9 $$").run(&[]);
    killed.ended(3);
}

#[test]
fn run_4_a_provider_without_room_parks_the_run() {
    let script = "begin; echo '{\"type\":\"assistant\",\"isApiErrorMessage\":true,\"message\":{\"content\":[{\"type\":\"text\",\
        \"text\":\"API Error: 529 Overloaded\"}]}}' >> $record; sleep 0.2; exit 1";
    let ran = RunFixture::new(script).run(&[]);
    ran.ended(75);
    assert!(ran.report["how"].as_str().unwrap().contains("529"), "{}", ran.stderr);
}

/// A client that only prints something, or refuses its command line, as the real ones do.
const TALKER: &str =
    "case \"$*\" in *--version*) echo 9.9.9; exit 0 ;; *--nosuchflag*) echo unknown option >&2; exit 1 ;; esac";

#[test]
fn a_client_that_asked_for_nothing_is_no_broken_guard() {
    let fixture = RunFixture::new(TALKER);
    let told = fixture.run_with(&["--version"]);
    told.ended(0);
    assert_eq!((told.stdout.as_str(), &told.report["ending"]), ("9.9.9\n", &"nothingAsked".into()));
    assert!(told.stderr.contains("exit code 0 before it asked for anything"), "{}", told.stderr);
    let refused = fixture.run_with(&["--nosuchflag", "-p", "Do the task."]);
    refused.ended(3);
    assert!(refused.stderr.contains("exit code 1, before it asked for anything"), "{}", refused.stderr);
    let (code, status) = output(fixture.verb(&["status"]));
    assert_eq!(code, Some(0), "{status}");
}

#[test]
fn const_5_a_client_that_worked_past_its_guard_is_a_broken_guard_whatever_it_says() {
    // File times lag by up to a tick of the kernel, in which no real client gets as far as its first call.
    let changed = RunFixture::new("sleep 0.05; touch ran; exit 1").run_with(&["--version"]);
    changed.ended(9);
    assert!(changed.stderr.contains("worked all the same") && changed.stderr.contains("ran"), "{}", changed.stderr);
    let call = "{\"type\":\"assistant\",\"message\":{\"content\":[{\"type\":\"tool_use\",\"id\":\"x1\"}]}}";
    let script = format!(
        "sleep 0.05; mkdir -p $HOME/.claude/projects/w; echo '{call}' > $HOME/.claude/projects/w/a.jsonl; exit 1"
    );
    let called = RunFixture::new(&script).run_with(&["--version"]);
    called.ended(9);
    assert!(called.stderr.contains("calls are in"), "{}", called.stderr);
}
