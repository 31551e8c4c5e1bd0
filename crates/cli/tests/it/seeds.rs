//! The documents' own verification steps and smoke tests, run to the letter in the profile `strict`: a section per document.
//! Which other tests hold which line stands in `docs/reference/seeds.md`.

use crate::agent::fixture::{AgentFixture, AgentRun, call, finish, of_kind, shell};
use crate::session::fixture::{Place, Said};
use serde_json::{Value, json};

/// Plays a cassette in `strict`.
fn play(fixture: &AgentFixture, answers: &[Value], more: &[&str]) -> AgentRun {
    let mut arguments = vec!["--profile", "strict"];
    arguments.extend(more);
    fixture.agent(answers, &arguments)
}

/// A workspace whose sessions are `strict`.
fn strict_place(manifest: &str) -> Place {
    let place = Place::new();
    place.manifest(&format!("profile: strict\n{manifest}"));
    place
}

/// Sets a key of the manifest as a person does in an editor, or with `yq '.section.key = value' -i`.
fn set(place: &Place, section: &str, key: &str, value: &str) {
    let path = place.geometry("MANIFEST.yaml");
    let text = std::fs::read_to_string(&path).unwrap();
    let is_key = |line: &&str| line.trim_start().strip_prefix(key).is_some_and(|rest| rest.starts_with(':'));
    let mut lines: Vec<String> = text.lines().filter(|line| !is_key(line)).map(str::to_owned).collect();
    let at = lines.iter().position(|line| line == &format!("{section}:")).unwrap_or_else(|| panic!("{text}"));
    lines.insert(at + 1, format!("  {key}: {value}"));
    std::fs::write(path, lines.join("\n") + "\n").unwrap();
}

/// What was decided on each event.
fn decisions(events: &str) -> Vec<Value> {
    let place = Place::new();
    place.feed(&["decide", "--profile", "strict", "--json", "-"], events).json_lines()
}

fn event(at: u64, tokens: u64, calls: u64, hash: &str) -> String {
    json!({"timestamp": at, "tokenCount": tokens, "toolCalls": calls, "latencyMs": 800, "outputLength": 120, "outputHash": hash})
        .to_string()
        + "\n"
}

mod agent_loop {
    use super::*;

    fn story() -> Vec<Value> {
        vec![
            call("write", json!({"path": "src/sum.sh", "content": "echo $(($1 + $2))\n"})),
            shell("sh src/sum.sh 1 2; echo to stderr >&2; exit 3"),
            shell("sh test.sh"),
            finish(),
        ]
    }

    #[test]
    fn run_1_smoke_test_1_the_same_input_twice_gives_the_identical_transcript() {
        let played = || {
            let fixture = AgentFixture::new();
            fixture.file("test.sh", "[ \"$(sh src/sum.sh 2 3)\" = 5 ]\n");
            play(&fixture, &story(), &["--verify", "sh test.sh"]).ended(0);
            fixture.transcript_text()
        };
        assert_eq!(played(), played());
    }

    #[test]
    fn run_2_smoke_test_2_the_error_of_a_failing_tool_is_appended_verbatim() {
        let fixture = AgentFixture::new();
        let failing = shell("echo partial; echo 'the reason: ü' >&2; exit 7");
        // The second answer is played only if the model was shown the error, word for word.
        let seen = json!({"expect": ["the reason: ü", "partial", "\"exit_code\":7"], "text": "I see it.", "calls": [{"tool": "finish", "arguments": {"summary": "x"}}]});
        play(&fixture, &[failing, seen], &[]).ended(0);
        assert_eq!(of_kind(&fixture.transcript(), "result")[0]["exitCode"], 7);
    }

    #[test]
    fn mem_1_smoke_test_3_a_long_note_is_restored_exactly_by_its_pointer() {
        let fixture = AgentFixture::new();
        let note: String = (0..5_000).fold(String::new(), |text, n| text + &format!("line {n} of a long note\n"));
        play(&fixture, &[call("remember", json!({"text": note})), finish()], &[]).ended(0);
        let text = of_kind(&fixture.transcript(), "result")[0]["text"].as_str().unwrap().to_owned();
        let pointer = serde_json::from_str::<Value>(&text).unwrap()["pointer"].as_str().unwrap().to_owned();
        assert_eq!(fixture.command(&["memory", "get", &pointer]).output().unwrap().stdout, note.as_bytes());
    }

    #[test]
    fn box_1_smoke_test_4_the_shell_tool_is_denied_a_disallowed_path() {
        let fixture = AgentFixture::new();
        let secret = fixture.beside("secret.txt");
        std::fs::write(&secret, "the-secret-content").unwrap();
        let read = format!("cat {}; echo code $?", secret.display());
        let write = format!("echo x > {}; echo code $?", fixture.beside("planted").display());
        play(&fixture, &[shell(&read), shell(&write), finish()], &[]).ended(0);
        let text = fixture.transcript_text();
        assert!(!text.contains("the-secret-content") && !fixture.beside("planted").exists(), "{text}");
        assert!(text.contains("code 1") || text.contains("code 2"), "the shell says that it was denied: {text}");
    }

    #[test]
    fn run_3_smoke_test_5_six_steps_update_the_todo_at_least_twice() {
        let fixture = AgentFixture::new();
        fixture.file("a.txt", "one\n");
        let answers = [
            call("read_file", json!({"path": "a.txt"})),
            call("list", json!({})),
            call("search", json!({"pattern": "one"})),
            shell("wc -l a.txt"),
            shell("echo five"),
            call("read_file", json!({"path": "a.txt"})),
            finish(),
        ];
        play(&fixture, &answers, &[]).ended(0);
        assert!(of_kind(&fixture.transcript(), "recited").len() >= 2);
        let todo = std::fs::read_to_string(fixture.geometry().join("todo.md")).unwrap();
        assert!(todo.contains("reach the aim"), "{todo}");
    }
}

mod runtime_guardrails {
    use super::*;

    #[test]
    fn tool_1_read_a_file_of_more_than_500_lines_and_confirm_pagination_metadata() {
        let fixture = AgentFixture::new();
        fixture.file("long.txt", &(1..=1_200).fold(String::new(), |text, n| text + &format!("line {n}\n")));
        play(&fixture, &[call("read_file", json!({"path": "long.txt"})), finish()], &[]).ended(0);
        let text = of_kind(&fixture.transcript(), "result")[0]["text"].as_str().unwrap().to_owned();
        let result: Value = serde_json::from_str(&text).unwrap();
        assert_eq!((&result["lines_shown"], &result["lines_remaining"]), (&json!(500), &json!(700)));
        assert_eq!(result["has_more"], true);
    }

    #[test]
    fn tool_1_run_a_search_with_zero_results_and_confirm_the_guidance() {
        let fixture = AgentFixture::new();
        fixture.file("a.txt", "nothing of the kind\n");
        play(&fixture, &[call("search", json!({"pattern": "zebra"})), finish()], &[]).ended(0);
        assert!(fixture.transcript_text().contains("no matches found"), "{}", fixture.transcript_text());
    }

    #[test]
    fn tool_1_call_an_unknown_tool_and_confirm_the_typed_error_and_the_correction() {
        let fixture = AgentFixture::new();
        let corrected = json!({"expect": ["there is no tool `lst`", "`list`"], "text": "I meant list.", "calls": [{"tool": "list", "arguments": {}}]});
        play(&fixture, &[call("lst", json!({})), corrected, finish()], &[]).ended(0);
        assert_eq!(of_kind(&fixture.transcript(), "fault")[0]["fault"]["kind"], "UNKNOWN_TOOL");
        assert!(fixture.safety_log().contains("UNKNOWN_TOOL"));
    }

    #[test]
    fn loop_1_repeat_a_signature_3_times_and_confirm_the_override_and_again_the_system_error() {
        let fixture = AgentFixture::new();
        fixture.file("a.txt", "the same each time\n");
        let same = || shell("cat a.txt");
        play(&fixture, &[same(), same(), same(), same(), finish()], &[]).ended(7);
        let transcript = fixture.transcript();
        assert_eq!(of_kind(&transcript, "override").len(), 1);
        assert_eq!(of_kind(&transcript, "result").len(), 3, "the fourth never ran");
        assert!(fixture.safety_log().contains("LOOP_OVERRIDE"));
        assert_eq!(transcript.last().unwrap()["reason"], "SYSTEM_ERROR", "{:?}", transcript.last());
    }

    #[test]
    fn tool_2_emit_invalid_json_and_confirm_repairs_that_stop_after_the_limit() {
        let broken = || json!({"text": "oops", "calls": [{"tool": "write", "arguments": "{\"path\": "}]});
        let fixture = AgentFixture::new();
        play(&fixture, &[broken(), broken(), broken(), finish()], &[]).ended(3);
        let transcript = fixture.transcript();
        assert_eq!(of_kind(&transcript, "fault").len(), 3, "two repairs, then the stop");
        assert!(transcript.last().unwrap()["diagnostics"].as_str().unwrap().contains("not JSON"));
    }
}

mod tripwire_master_spec {
    use super::*;

    #[test]
    fn replay_1_the_hash_of_the_live_run_is_that_of_the_replay() {
        let place = Place::new();
        let events: String = (0..40).map(|n| event(n * 3_000, 700, 1, &format!("o{}", n % 7))).collect();
        place.feed(&["decide", "--profile", "strict", "--record", "live.jsonl", "-"], &events).ended(0);
        place.run(&["replay", "live.jsonl"]).ended(0).says("· equal");
        let file = place.work().join("live.jsonl");
        let text = std::fs::read_to_string(&file).unwrap().replacen("\"tokenCount\":700", "\"tokenCount\":701", 1);
        std::fs::write(&file, text).unwrap();
        let changed = place.run(&["replay", "live.jsonl"]);
        assert_ne!(changed.code, 0, "{}", changed.out);
    }

    #[test]
    fn act_1_thirty_seconds_without_an_event_are_idle_and_no_failure() {
        let tick = |at: u64| json!({"at": at, "what": "tick"}).to_string() + "\n";
        let said = decisions(&(event(0, 600, 1, "a") + &tick(29_999) + &tick(30_000)));
        let modes: Vec<&str> = said.iter().map(|one| one["activity"]["mode"].as_str().unwrap()).collect();
        assert_eq!(modes, ["WORKING", "WORKING", "IDLE"]);
        assert_eq!(said[2]["intent"]["intent"], "CONTINUE");
    }

    #[test]
    fn act_1_five_outputs_that_are_alike_are_looping_and_vetoed() {
        let same: String = (0..5).map(|n| event(n * 4_000, 40, 1, "same")).collect();
        let said = decisions(&same);
        assert_eq!(said[3]["safety"]["allowed"], true);
        assert_eq!(said[4]["safety"]["vetoReason"], "LOOP_DETECTED", "{}", said[4]);
        let other: String = (0..5).map(|n| event(n * 4_000, 40, 1, &format!("other {n}"))).collect();
        assert_eq!(decisions(&other)[4]["safety"]["allowed"], true);
    }

    #[test]
    fn act_1_steps_in_less_than_a_third_of_the_usual_time_are_a_runaway() {
        let paced = |fast: u64| -> String {
            let slow = (1..=20).map(|n| event(n * 10_000, 300, 1, &format!("o{n}")));
            slow.chain((1..=8).map(|n| event(200_000 + n * fast, 300, 1, &format!("f{n}")))).collect()
        };
        let vetoed =
            |events: &str| decisions(events).iter().any(|one| one["safety"]["vetoReason"] == "RUNAWAY_DETECTED");
        assert!(vetoed(&paced(1_000)));
        assert!(!vetoed(&paced(9_000)));
    }

    #[test]
    fn gate_2_50000_tokens_and_60_calls_a_minute_with_warnings_before() {
        let said = decisions(&(event(0, 40_000, 1, "a") + &event(1_000, 10_001, 1, "b")));
        assert_eq!(said[0]["findings"][0]["type"], "TOKEN_WARNING", "{}", said[0]);
        assert_eq!(said[1]["safety"]["vetoReason"], "TOKEN_BUDGET_EXCEEDED", "{}", said[1]);
        let said = decisions(&(event(0, 10, 45, "a") + &event(1_000, 10, 16, "b")));
        assert_eq!(said[0]["findings"][0]["type"], "TOOL_CALL_WARNING", "{}", said[0]);
        assert_eq!(said[1]["safety"]["vetoReason"], "RATE_LIMIT_EXCEEDED", "{}", said[1]);
    }

    #[test]
    fn gate_3_sixty_seconds_of_waiting_follow_a_veto() {
        let said = decisions(&(event(0, 50_001, 1, "a") + &event(60_500, 10, 1, "b") + &event(121_000, 10, 1, "c")));
        assert_eq!(said[0]["safety"]["vetoReason"], "TOKEN_BUDGET_EXCEEDED");
        assert_eq!(said[2]["safety"]["allowed"], true, "{}", said[2]);
        let said = decisions(&(event(0, 50_001, 1, "a") + &event(30_000, 10, 1, "b")));
        assert_eq!(said[1]["safety"]["allowed"], false);
    }

    #[test]
    fn gate_4_health_below_six_tenths_suspends_and_below_three_tenths_stops() {
        let failing: String = (0..12)
            .map(|n: u64| {
                json!({"timestamp": n * 1_000, "tokenCount": 100, "toolCalls": 1, "latencyMs": 800, "outputLength": 120, "outputHash": format!("o{n}"), "outcome": {"status": "error", "errorClass": "timeout"}})
                    .to_string()
                    + "\n"
            })
            .collect();
        for one in decisions(&failing) {
            let health = one["safety"]["health"].as_f64().unwrap();
            assert_eq!(one["safety"]["allowed"] == true, health >= 0.6, "{one}");
            if health < 0.3 {
                assert_eq!(one["intent"]["intent"], "STOP", "{one}");
            }
        }
    }
}

mod phase0_enforcement {
    use super::*;

    #[test]
    fn perm_1_a_role_without_the_permission_executes_nothing_and_both_are_named() {
        let fixture = AgentFixture::new();
        std::fs::create_dir(fixture.geometry()).unwrap();
        let manifest = "roles:\n  reader: [can_access_private_memories]\nidentity:\n  authorized_roles: [reader]\n";
        std::fs::write(fixture.geometry().join("MANIFEST.yaml"), manifest).unwrap();
        let run = play(&fixture, &[shell("touch ran"), finish()], &["--role", "reader"]);
        assert!(!fixture.work().join("ran").exists());
        let said = run.stdout.clone() + &run.stderr + &fixture.transcript_text();
        assert!(said.contains("reader") && said.contains("can_execute_tasks"), "{said}");
    }

    #[test]
    fn term_1_every_cycle_ends_by_one_of_four_and_says_which() {
        let ends = |fixture: &AgentFixture| -> Vec<Value> {
            of_kind(&fixture.transcript(), "iterationEnd").iter().map(|line| line["exit_status"].clone()).collect()
        };
        let fixture = AgentFixture::new();
        let answers: Vec<Value> = (0..4).map(|n| shell(&format!("echo {n}"))).collect();
        play(&fixture, &answers, &["--max-steps", "2", "--max-iterations", "1"]).ended(8);
        assert_eq!(ends(&fixture), ["max_steps"]);

        let fixture = AgentFixture::new();
        play(&fixture, &[shell("sleep 600"), finish()], &["--max-runtime", "3s"]).ended(8);
        assert_eq!(ends(&fixture), ["timeout"]);

        let fixture = AgentFixture::new();
        play(&fixture, &[shell("echo a"), finish()], &[]).ended(0);
        assert_eq!(ends(&fixture), ["completed"]);

        let fixture = AgentFixture::new();
        std::fs::create_dir(fixture.geometry()).unwrap();
        std::fs::write(fixture.geometry().join("STOP"), "").unwrap();
        play(&fixture, &[shell("touch ran"), finish()], &[]).ended(10);
        assert!(!fixture.work().join("ran").exists(), "an interrupt needs no agent that cooperates");
    }

    #[test]
    fn review_1_without_a_fitting_approval_nothing_is_applied() {
        let place = strict_place("review:\n  required: true\n");
        std::fs::write(place.work().join("kept"), "old\n").unwrap();
        let work = place.work().display().to_string();
        let stage = ["sandbox", "exec", "--stage", "--workspace", &work, "--", "sh", "-c", "echo new > kept"];
        if place.run(&stage).code != 0 {
            crate::session::fixture::skip("the sandbox does not run here, so nothing can be staged");
            return;
        }
        let kept = || std::fs::read_to_string(place.work().join("kept")).unwrap();
        place.run(&["review", "propose"]).ended(0);
        place.run(&["review", "apply"]).ended(11);
        place.feed(&["review", "decide", "-"], "Verdict: REJECTED\n");
        place.run(&["review", "apply"]).ended(11);
        assert_eq!(kept(), "old\n", "missing and rejected");
        place
            .run(&["sandbox", "exec", "--stage", "--workspace", &work, "--", "sh", "-c", "echo better > kept"])
            .ended(0);
        place.run(&["review", "propose"]).ended(0);
        place.feed(&["review", "decide", "-"], "Verdict: APPROVED\n").ended(0);
        place.run(&["review", "apply"]).ended(0);
        assert_eq!(kept(), "better\n");
    }
}

mod geometry_safety_rules {
    use super::*;
    use crate::session::fixture::calls;

    /// Edits of files of one name in different folders: one signature, different calls.
    fn edits(count: usize) -> String {
        (0..count)
            .map(|n| {
                json!({"timestamp": n * 4_000, "tool": "Edit", "args": {"file_path": format!("pkg{n}/encoder.py"), "old_string": format!("v{n}"), "new_string": format!("w{n}")}, "output": format!("result {n} {}", "x".repeat(n)), "error": false, "tokenCount": 100})
                    .to_string()
                    + "\n"
            })
            .collect()
    }

    #[test]
    fn loop_1_three_signatures_warn_five_ask_the_advisor_and_ten_stop() {
        let kinds = |said: &Value| {
            said["findings"].as_array().unwrap().iter().map(|one| one["type"].clone()).collect::<Vec<_>>()
        };
        let said = decisions(&edits(5));
        assert_eq!((kinds(&said[2]), &said[2]["safety"]["allowed"]), (vec![json!("SOFT_LOOP")], &json!(true)));
        assert_eq!((kinds(&said[4]), &said[4]["safety"]["allowed"]), (vec![json!("HARD_LOOP")], &json!(false)));

        let place = strict_place("");
        place.feed(&["step", "--times", "own", "-"], &edits(9));
        assert!(!place.geometry("BLOCKER_REPORT.md").exists());
        place.feed(&["step", "--times", "own", "-"], edits(10).lines().last().unwrap()).ended(7);
        assert!(place.geometry("BLOCKER_REPORT.md").exists());
        let log = std::fs::read_to_string(place.geometry("safety_log.json")).unwrap();
        for kind in ["SOFT_LOOP", "HARD_LOOP", "INFINITE_LOOP"] {
            assert!(log.contains(kind), "{log}");
        }
    }

    #[test]
    fn iter_1_the_cap_writes_a_checkpoint_and_its_removal_goes_on() {
        let place = strict_place("safety:\n  max_iterations: 2\n");
        let begin = "{\"at\":0,\"what\":\"iterationStarted\"}\n";
        place.step(&begin.repeat(3)).ended(5);
        let text = std::fs::read_to_string(place.geometry("CHECKPOINT.md")).unwrap();
        assert!(text.contains("Reached iteration cap: 2/2") && text.contains("rm .geometry/CHECKPOINT.md"), "{text}");
        std::fs::remove_file(place.geometry("CHECKPOINT.md")).unwrap();
        place.step(begin).ended(0);
    }

    #[test]
    fn ctx_2_the_three_tiers_of_the_window() {
        let at = |n: u64, tokens: u64| {
            json!({"timestamp": n * 4_000, "tokenCount": 600, "toolCalls": 1, "latencyMs": 800, "outputLength": 120, "contextTokens": tokens, "outputHash": format!("{n}")})
                .to_string()
                + "\n"
        };
        let said = decisions(&(at(0, 149_999) + &at(1, 150_000) + &at(2, 160_000) + &at(3, 170_000)));
        let allowed: Vec<bool> = said.iter().map(|one| one["safety"]["allowed"].as_bool().unwrap()).collect();
        assert_eq!(allowed, [true, true, true, false]);
        let effects = |n: usize| said[n]["effects"].to_string();
        assert_eq!(effects(0), "[]");
        assert!(effects(1).contains("warnContext") && effects(2).contains("compact"), "{} {}", effects(1), effects(2));
    }

    #[test]
    fn dirty_1_a_claim_without_tests_gets_the_prompt_and_one_with_them_is_done() {
        let fixture = AgentFixture::new();
        let write = || call("write", json!({"path": "a.sh", "content": "true\n"}));
        let run = play(&fixture, &[write(), finish(), shell("sh a.sh"), finish()], &["--verify", "sh a.sh"]);
        run.ended(0);
        let demand = of_kind(&fixture.transcript(), "claim")[0]["demand"].as_str().unwrap_or_default().to_owned();
        assert!(demand.contains("You modified code but haven't run tests") && demand.contains("sh a.sh"), "{demand}");
        assert!(fixture.safety_log().contains("DIRTY_BIT_VIOLATION"));
    }

    #[test]
    fn ctrl_1_touch_stop_ends_and_touch_pause_holds() {
        let place = strict_place("");
        place.step(&calls(1)).ended(0);
        std::fs::write(place.geometry("PAUSE"), "").unwrap();
        place.step(&calls(1)).ended(5);
        std::fs::remove_file(place.geometry("PAUSE")).unwrap();
        place.step(&calls(1)).ended(0);
        std::fs::write(place.geometry("STOP"), "").unwrap();
        place.step(&calls(1)).ended(10);
    }

    fn failed_iterations(count: u64) -> String {
        (0..count)
            .map(|n| {
                let make = json!({"timestamp": 0, "tool": "Bash", "args": {"command": format!("{} make", ["time", "nice", "env"][n as usize % 3])}, "output": format!("make: *** [all] Error {n}: part {n} does not link"), "exitCode": 2});
                format!("{{\"at\":0,\"what\":\"iterationStarted\"}}\n{make}\n")
            })
            .collect()
    }

    #[test]
    fn prog_1_three_failed_iterations_write_the_blocker_and_its_removal_goes_on() {
        let place = strict_place("");
        let held: Said = place.step(&(failed_iterations(3) + "{\"at\":0,\"what\":\"iterationStarted\"}\n"));
        assert_eq!(held.code, 7, "{}\n{}", held.out, held.err);
        assert!(place.geometry("BLOCKER_REPORT.md").exists());
        std::fs::remove_file(place.geometry("BLOCKER_REPORT.md")).unwrap();
        place.step(&calls(1)).ended(0);
    }

    #[test]
    fn ctrl_2_the_failure_counter_is_reset_by_a_person_in_the_manifest() {
        let place = strict_place("");
        place.step(&failed_iterations(2)).ended(0);
        set(&place, "safety", "consecutive_failures", "0");
        place.step(&failed_iterations(1)).ended(0);
        assert!(!place.geometry("BLOCKER_REPORT.md").exists());
        place.run(&["log", "--type", "human"]).ended(0).says("consecutive");
    }

    #[test]
    fn dirty_1_bits_set_by_a_person_skip_the_check_and_the_end_says_so() {
        let place = strict_place("");
        let edit = json!({"timestamp": 0, "tool": "Edit", "args": {"file_path": "src/a.py", "old_string": "a", "new_string": "b"}, "output": "done", "error": false});
        place.step(&format!("{edit}\n")).ended(0);
        set(&place, "dirty_bits", "tests_run", "true");
        set(&place, "dirty_bits", "tests_passing", "true");
        let claim = "{\"at\":0,\"what\":{\"claim\":{}}}\n";
        let said = place.step(claim);
        assert!(said.out.contains("WAIVED") || said.err.contains("WAIVED"), "{}\n{}", said.out, said.err);
    }
}
