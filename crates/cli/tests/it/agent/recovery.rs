//! The ways on: what stands from before holds a new session, and a person's word opens what it says that it opens.

use crate::agent::fixture::{AgentFixture, call, finish, of_kind, shell, untested};
use serde_json::{Value, json};

/// A veto's cooldown is not what these tests wait for.
const FAST: &str = "gate:\n  cooldown_duration_ms: 200\n";

fn fixture(manifest: &str) -> AgentFixture {
    let fixture = AgentFixture::new();
    fixture.file(".geometry/MANIFEST.yaml", &format!("{FAST}{manifest}"));
    fixture
}

fn late(n: usize) -> Value {
    call("shell", json!({"command": format!("sleep 9; echo {n}"), "timeout_ms": 100}))
}

fn results(fixture: &AgentFixture) -> usize {
    of_kind(&fixture.transcript(), "result").len()
}

fn session(fixture: &AgentFixture) -> String {
    fixture.sessions().pop().unwrap()
}

fn work() -> Vec<Value> {
    untested(vec![call("write", json!({"path": "second.sh", "content": "x\n"}))])
}

#[test]
fn gate_4_a_suspended_loop_waits_in_sight_and_goes_on_after_resume() {
    let fixture = fixture("health:\n  soft_suspend_threshold: 0.75\n");
    let mut answers: Vec<Value> = (0..6).map(late).collect();
    answers.extend([call("list", json!({})), finish(), finish()]);
    fixture.agent(&answers, &[]).ended(5);
    let (id, done) = (session(&fixture), results(&fixture));
    fixture.run(&["status"]).ended(5);
    fixture.run(&["agent", "--resume", &id]).ended(5);
    assert_eq!(results(&fixture), done, "without a person's word it goes nowhere");
    fixture.run(&["resume"]).ended(0);
    fixture.run(&["agent", "--resume", &id]).ended(0);
    assert!(results(&fixture) > done);
}

#[test]
fn gate_4_a_hard_stop_is_opened_by_a_restart_and_by_nothing_else() {
    let fixture = fixture("health:\n  incident_cost: 0.8\n");
    fixture.agent(&[late(0), call("list", json!({})), finish()], &[]).ended(3);
    let id = session(&fixture);
    let over = fixture.run(&["agent", "--resume", &id]);
    over.ended(2);
    assert!(over.stderr.contains(&format!("tripwire resume --restart --session {id}")), "{}", over.stderr);
    assert!(fixture.run(&["status"]).stdout.contains("tripwire resume --restart"));
    fixture.run(&["resume", "--restart"]).ended(0);
    fixture.run(&["agent", "--resume", &id]).ended(0);
    let done = fixture.run(&["resume", "--restart"]);
    done.ended(0);
    assert!(done.stdout.contains("nothing is to be restarted"), "{}", done.stdout);
    let replayed = fixture.run(&["replay", &id]);
    replayed.ended(0);
}

#[test]
fn prog_1_a_blocker_report_keeps_every_new_session_from_beginning() {
    let fixture = fixture("");
    fixture.file("a.txt", "same\n");
    let mut loops: Vec<Value> = (0..8).map(|_| shell("cat a.txt")).collect();
    loops.push(finish());
    fixture.agent(&loops, &["--profile", "strict"]);
    let writer = session(&fixture);
    let refused = fixture.agent(&work(), &[]);
    refused.ended(5);
    assert!(refused.stderr.contains(&writer) && refused.stderr.contains("tripwire ack blocker"), "{}", refused.stderr);
    assert_eq!((fixture.sessions().len(), fixture.read("second.sh").as_str()), (1, ""), "nothing was begun");
    fixture.run(&["ack", "blocker"]);
    fixture.agent(&work(), &[]).ended(4);
    assert_eq!(fixture.read("second.sh"), "x\n");
    let removed = AgentFixture::new();
    removed.file(".geometry/BLOCKER_REPORT.md", "a person's own\n");
    removed.agent(&work(), &[]).ended(5);
    std::fs::remove_file(removed.geometry().join("BLOCKER_REPORT.md")).unwrap();
    removed.agent(&work(), &[]).ended(4);
}

#[test]
fn iter_1_a_checkpoint_names_its_objective_and_is_written_over_by_no_other_session() {
    let fixture = fixture("");
    let steps: Vec<Value> = (0..6).map(|n| shell(&format!("echo {n} > made{n}.txt; echo {n}"))).collect();
    let more = ["--max-steps", "2", "--max-iterations", "2"];
    fixture.agent(&steps, &more).ended(8);
    let first = fixture.read(".geometry/CHECKPOINT.md");
    assert!(first.contains("2/2") && first.contains("- Task: reach the aim"), "{first}");
    fixture.agent(&steps, &more).ended(5);
    assert_eq!((fixture.read(".geometry/CHECKPOINT.md"), fixture.sessions().len()), (first, 1));
    let id = session(&fixture);
    fixture.run(&["ack", "checkpoint"]).ended(0);
    fixture.run(&["agent", "--resume", &id]).ended(3);
    assert!(fixture.read("made4.txt").contains('4'), "the session that wrote it goes on");
}

#[test]
fn iter_1_a_start_that_is_refused_uses_up_no_iteration() {
    let fixture = fixture("safety:\n  max_iterations: 6\n");
    fixture.file("code.sh", "echo 0\n").file("test.sh", "echo FAILED; exit 1\n");
    let round =
        |n: usize| [call("write", json!({"path": "code.sh", "content": format!("echo {n}\n")})), shell("sh test.sh")];
    let rounds: Vec<Value> = (1..13).flat_map(round).collect();
    fixture.agent(&rounds, &["--max-steps", "2", "--verify", "sh test.sh"]).ended(7);
    let (id, ran) = (session(&fixture), results(&fixture) / 2);
    for _ in 0..3 {
        fixture.run(&["agent", "--resume", &id]).ended(7);
    }
    assert!(fixture.read(".geometry/MANIFEST.yaml").contains(&format!("iteration_count: {ran}")));
    let report = fixture.read(".geometry/BLOCKER_REPORT.md");
    assert!(
        report.contains("reach the aim") && report.contains("code.sh") && report.contains("failed each time"),
        "{report}"
    );
    fixture.run(&["ack", "blocker"]).ended(0);
    fixture.run(&["agent", "--resume", &id]);
    assert!(results(&fixture) / 2 > ran);
}

#[test]
fn perm_1_three_unchanged_iterations_end_the_loop_where_that_is_asked_for() {
    let story = |manifest: &str, change: bool| {
        let fixture = fixture(manifest);
        let mut answers = Vec::new();
        for n in 0..5 {
            let line = if change { format!("echo {n} > made{n}.txt; echo {n}") } else { format!("echo {n}") };
            answers.extend([shell(&line), call("search", json!({"pattern": format!("q{n}")}))]);
        }
        answers.extend([finish(), finish(), finish()]);
        let run = fixture.agent(&answers, &["--max-steps", "2", "--verify", "true"]);
        (results(&fixture) / 2, run.code)
    };
    let setting = "limits:\n  stop_on_convergence: true\n";
    assert_eq!(story(setting, false), (3, 5));
    assert!(story(setting, true).0 >= 5, "it moves");
    assert!(story("", false).0 >= 5, "nobody asked for it");
}

#[test]
fn run_4_an_engine_that_is_dead_at_the_start_is_passed_over_and_said() {
    let fixture = fixture("");
    let second = fixture.cassette("second.jsonl", &[call("list", json!({})), finish()]);
    for dead in ["anthropic:claude-opus-5", "ollama:none@http://127.0.0.1:9/v1", "/nowhere/claude"] {
        let run = fixture.run(&["agent", "--objective", "x", "--engine", dead, "--fallback", &second]);
        run.ended(0);
        assert!(run.stdout.contains("switch: scripted:second.jsonl goes on for"), "{dead}: {}", run.stdout);
    }
    assert!(fixture.safety_log().contains("ENGINE_SWITCH"));
    let alone = fixture.run(&["agent", "--objective", "x", "--engine", "anthropic:claude-opus-5"]);
    alone.ended(2);
    let typo = fixture.run(&["agent", "--objective", "x", "--engine", "antropic:x", "--fallback", &second]);
    typo.ended(2);
}

#[test]
fn run_4_the_manifests_chain_is_taken_where_nobody_names_an_engine() {
    let fixture = AgentFixture::new();
    let listed = fixture.cassette("listed.jsonl", &[call("list", json!({})), finish()]);
    fixture.file(".geometry/MANIFEST.yaml", &format!("engines:\n  chain: ['anthropic:claude-opus-5', '{listed}']\n"));
    let run = fixture.run(&["agent", "--objective", "x"]);
    run.ended(0);
    assert!(run.stdout.contains("engine anthropic:claude-opus-5, then scripted:listed.jsonl"), "{}", run.stdout);
    assert!(!run.stderr.contains("no engine was named"), "{}", run.stderr);
}

#[test]
fn run_5_a_second_advisor_helps_where_the_first_has_nothing_to_say() {
    let story = |advisors: &[&str]| {
        let fixture = fixture("");
        fixture.file("a.txt", "x\n");
        let mut answers = Vec::new();
        (0..3).for_each(|_| answers.extend([shell("cat a.txt"), call("search", json!({"pattern": "q"}))]));
        answers.extend([call("list", json!({})), finish()]);
        let mut more = vec!["--max-steps".to_owned(), "40".to_owned()];
        for (n, text) in advisors.iter().enumerate() {
            more.extend([
                "--advisor".to_owned(),
                fixture.cassette(&format!("advisor{n}.jsonl"), &[json!({"text": text})]),
            ]);
        }
        fixture.agent(&answers, &more.iter().map(String::as_str).collect::<Vec<_>>()).code
    };
    assert_eq!(story(&["   ", "Write b.txt instead."]), 0);
    assert_eq!(story(&["   ", "  "]), 7);
}

#[test]
fn gate_4_failing_commands_and_time_outs_cost_what_they_cost_elsewhere() {
    let health = |answers: &[Value]| {
        let fixture = fixture("");
        fixture.agent(answers, &["--max-steps", "40"]);
        let status = fixture.run(&["status", "--json"]).stdout;
        let status: Value = serde_json::from_str(&status).unwrap();
        status["session"]["view"]["health"].to_string()
    };
    let failing = |n: usize| shell(&format!("cat nofile{}; exit {}", "x".repeat(n), n + 2));
    let end = || [call("list", json!({})), finish()];
    let of = |count: usize| health(&(1..=count).map(failing).chain(end()).collect::<Vec<_>>());
    assert_eq!(of(2), "1000000", "two failures cost nothing");
    assert_eq!(of(4), "900000", "the third and the fourth cost 0.05 each");
    assert_eq!(health(&[late(0), call("list", json!({})), finish()]), "950000", "a time-out costs once");
}

#[test]
fn tool_2_a_plan_is_checked_kept_shown_and_ticked_off() {
    let fixture = fixture("");
    let step =
        |tool: &str, target: &str| json!({"tool": tool, "target": target, "purpose": format!("{tool} {target}")});
    let plan = json!({"steps": [step("write", "notes.md"), step("shell", "cat notes.md"), step("shell", "never")]});
    let wrong = [json!({"steps": []}), json!({"steps": [{"tool": "dance", "purpose": "x"}]})];
    let answers = vec![
        call("plan", wrong[0].clone()),
        call("plan", wrong[1].clone()),
        call("plan", plan),
        call("write", json!({"path": "notes.md", "content": "x\n"})),
        shell("cat notes.md"),
        finish(),
    ];
    let run = fixture.agent(&answers, &[]);
    run.ended(0);
    assert!(run.stdout.contains("plan: step 2 of 3 is done"), "{}", run.stdout);
    let kept: Value = serde_json::from_str(&fixture.read(".geometry/plan.json")).unwrap();
    let done: Vec<bool> = kept["steps"].as_array().unwrap().iter().map(|step| step["done"] == true).collect();
    assert_eq!(done, [true, true, false]);
    assert_eq!(fixture.safety_log().matches("VALIDATION_ERROR").count(), 2);
    let wrong = call("plan", json!({"steps": [{"tool": "write"}]}));
    let ended = AgentFixture::new().agent(&[wrong.clone(), wrong.clone(), wrong, finish()], &[]);
    ended.ended(3);
    assert!(ended.stdout.contains("SYSTEM_ERROR"), "{}", ended.stdout);
}
