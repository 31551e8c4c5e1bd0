//! Each "How to verify" line of the guardrails' document, end to end.

use crate::agent::fixture::{AgentFixture, call, finish, of_kind, shell};
use serde_json::{Value, json};

#[test]
fn tool_1_read_a_file_of_more_than_500_lines_and_confirm_that_it_is_truncated_with_pagination_metadata() {
    let fixture = AgentFixture::new();
    fixture.file("long.txt", &(1..=1_200).map(|n| format!("line {n}\n")).collect::<String>());
    fixture.agent(&[call("read_file", json!({"path": "long.txt"})), finish()], &[]).ended(0);
    let transcript = fixture.transcript();
    let text = of_kind(&transcript, "result")[0]["text"].as_str().unwrap().to_owned();
    let result: Value = serde_json::from_str(&text).unwrap();
    assert_eq!((&result["lines_shown"], &result["lines_remaining"]), (&json!(500), &json!(700)));
    assert_eq!(result["has_more"], true);
    assert!(text.contains("line 500") && !text.contains("line 501"));
}

#[test]
fn tool_1_run_a_search_that_yields_zero_results_and_confirm_the_guidance_message() {
    let fixture = AgentFixture::new();
    fixture.file("a.txt", "nothing of the kind\n");
    fixture.agent(&[call("search", json!({"pattern": "zebra"})), finish()], &[]).ended(0);
    let text = fixture.transcript_text();
    assert!(text.contains("no matches found"), "{text}");
}

#[test]
fn tool_1_call_an_unknown_tool_and_confirm_that_a_typed_error_is_emitted_and_correction_is_required() {
    let fixture = AgentFixture::new();
    let corrected = json!({"expect": ["there is no tool `lst`", "`list`"], "text": "I meant list.", "calls": [{"tool": "list", "arguments": {}}]});
    fixture.agent(&[call("lst", json!({})), corrected, finish()], &[]).ended(0);
    let transcript = fixture.transcript();
    assert_eq!(of_kind(&transcript, "fault")[0]["fault"]["kind"], "UNKNOWN_TOOL");
    assert!(fixture.safety_log().contains("UNKNOWN_TOOL"));
    assert_eq!(of_kind(&transcript, "result").len(), 3, "the unknown call is answered, and never run");
}

#[test]
fn loop_1_repeat_the_same_action_3_times_and_confirm_an_override_then_again_and_confirm_system_error() {
    for profile in ["balanced", "strict"] {
        let fixture = AgentFixture::new();
        fixture.file("a.txt", "the same each time\n");
        let same = || shell("cat a.txt");
        let run = fixture.agent(&[same(), same(), same(), same(), finish()], &["--profile", profile]);
        run.ended(7);
        let transcript = fixture.transcript();
        let told = of_kind(&transcript, "override");
        assert_eq!(told.len(), 1, "{profile}");
        assert!(told[0]["doNotRepeat"].as_str().unwrap().contains("cat"), "{}", told[0]);
        let users = of_kind(&transcript, "user");
        assert!(users.iter().any(|line| line["text"].as_str().unwrap().contains("LOOP_OVERRIDE {")), "{profile}");
        assert_eq!(of_kind(&transcript, "result").len(), 3, "{profile}: the fourth never ran");
        assert!(run.stdout.contains("tripwire resume --restart"), "{}", run.stdout);
        let log = fixture.safety_log();
        assert!(log.contains("LOOP_OVERRIDE") && log.contains("\"action_taken\":\"stopped\""), "{profile}: {log}");
        assert!(log.contains("cat a.txt") || log.contains("cat"), "the signature is logged: {log}");
    }
}

#[test]
fn loop_1_three_different_actions_are_no_loop() {
    let fixture = AgentFixture::new();
    fixture.agent(&[shell("echo a"), shell("echo b"), shell("echo c"), finish()], &[]).ended(0);
    assert!(of_kind(&fixture.transcript(), "override").is_empty());
}

#[test]
fn tool_2_emit_invalid_json_and_confirm_that_repairs_are_enforced_and_stop_after_the_limit() {
    let broken = || json!({"text": "oops", "calls": [{"tool": "write", "arguments": "{\"path\": "}]});
    let fixture = AgentFixture::new();
    let run = fixture.agent(&[broken(), broken(), broken(), finish()], &[]);
    run.ended(3);
    let transcript = fixture.transcript();
    assert_eq!(of_kind(&transcript, "fault").len(), 3);
    let end = &transcript.last().unwrap();
    assert_eq!(end["how"], "systemError");
    assert!(end["diagnostics"].as_str().unwrap().contains("not JSON"), "{end}");
    assert!(fixture.safety_log().contains("VALIDATION_ERROR"));
}

#[test]
fn tool_2_arguments_that_do_not_fit_are_repaired_from_the_words_of_the_error() {
    let fixture = AgentFixture::new();
    fixture.file("a.txt", "x\n");
    let wrong = call("read_file", json!({"file": "a.txt"}));
    let mended = json!({"expect": ["\"path\" is a required property"], "text": "path it is", "calls": [{"tool": "read_file", "arguments": {"path": "a.txt"}}]});
    fixture.agent(&[wrong, mended, finish()], &[]).ended(0);
}

#[test]
fn term_1_max_steps_is_a_hard_limit_and_without_an_iteration_left_the_exit_code_is_8() {
    let fixture = AgentFixture::new();
    let answers: Vec<Value> = (0..6).map(|n| shell(&format!("echo {n}"))).collect();
    let run = fixture.agent(&answers, &["--max-steps", "2", "--max-iterations", "2"]);
    run.ended(8);
    let transcript = fixture.transcript();
    let ends: Vec<&Value> = of_kind(&transcript, "iterationEnd").iter().map(|line| &line["exit_status"]).collect();
    assert_eq!(ends, [&json!("max_steps"), &json!("max_steps")]);
    assert_eq!(of_kind(&transcript, "result").len(), 4);
    assert!(fixture.geometry().join("CHECKPOINT.md").exists());
}

#[test]
fn dirty_1_a_change_without_a_test_run_is_released_as_unverified_with_exit_code_4() {
    let fixture = AgentFixture::new();
    let answers = [call("write", json!({"path": "a.sh", "content": "true\n"})), finish(), finish(), finish()];
    let run = fixture.agent(&answers, &["--verify", "sh a.sh"]);
    run.ended(4);
    let demands = of_kind(&fixture.transcript(), "claim").iter().filter(|line| line["demand"].is_string()).count();
    assert_eq!(demands, 2, "refused at most twice");
    assert!(run.stdout.contains("UNVERIFIED"), "{}", run.stdout);
}

#[test]
fn ctx_2_a_full_context_begins_anew_with_the_briefing() {
    let fixture = AgentFixture::new();
    fixture.file("a.txt", "x\n");
    let full = json!({"text": "full", "calls": [{"tool": "read_file", "arguments": {"path": "a.txt"}}], "usage": {"input": 100, "cacheRead": 165_000, "output": 10}});
    let fresh = json!({"expect": ["reach the aim", "Read .geometry/MISSION_BRIEFING.md and continue"], "text": "I read it.", "calls": [{"tool": "read_file", "arguments": {"path": ".geometry/MISSION_BRIEFING.md"}}], "usage": {"input": 500, "output": 10}});
    let done = json!({"expect": ["a.txt"], "text": "now I know", "calls": [{"tool": "finish", "arguments": {"summary": "x"}}]});
    fixture.agent(&[full, fresh, done], &[]).ended(0);
    assert_eq!(of_kind(&fixture.transcript(), "freshContext").len(), 1);
    assert!(fixture.safety_log().contains("COMPACTION_GATE"));
}

#[test]
fn gate_8_the_budget_holds_with_exit_code_6_only_where_answers_cost_money() {
    let fixture = AgentFixture::new();
    fixture.agent(&[shell("echo a"), finish()], &["--budget", "0.01usd"]).ended(0);
}
