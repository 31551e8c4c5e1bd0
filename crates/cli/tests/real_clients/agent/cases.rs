//! What each client does as an engine: it works and is proved, is sent back, loops and is held, is left for the next one.

use crate::agent::fixture::{AgentFixture, finish, of_kind};
use crate::support::clients::Kind;
use crate::support::model::{Model, Turn, Usage};
use serde_json::{Value, json};
use std::fs;

const CLIENTS: [Kind; 3] = [Kind::Claude, Kind::Codex, Kind::Gemini];
const TEST: (&str, &str) =
    ("test.sh", "[ \"$(sh sum.sh 2 3)\" = 5 ] && echo passed || { echo 'it does not add'; exit 1; }\n");
const VERIFY: [&str; 2] = ["--verify", "sh test.sh"];

fn write(text: &str) -> Turn {
    Turn::Write("sum.sh".to_owned(), text.to_owned())
}

fn say(text: &str) -> Turn {
    Turn::Say(text.to_owned())
}

fn right() -> Turn {
    write("echo $(($1 + $2))")
}

/// The client's own test run, so that its guard lets it go at once.
fn test() -> Turn {
    Turn::Shell("sh test.sh".to_owned())
}

#[test]
#[ignore = "needs the real clients: just test-clients"]
fn run_4_a_worker_does_its_turn_and_the_loops_own_test_run_proves_it() {
    for kind in CLIENTS {
        let script = Model::scripted(vec![right(), test(), say("It adds now.")]);
        let Some(fixture) = AgentFixture::new(kind, script, &[TEST]) else { continue };
        let ran = fixture.run(&VERIFY);
        ran.ended(0);
        assert!(ran.stdout.contains("done and VERIFIED"), "{kind:?}: {}", ran.stdout);
        assert!(ran.stdout.contains("It adds now."), "{kind:?}: the worker's words are told: {}", ran.stdout);
        let transcript = fixture.transcript();
        let answers = of_kind(&transcript, "answer");
        assert_eq!(answers.len(), 1, "{kind:?}: one turn is enough");
        assert_eq!((&answers[0]["work"]["end"], &answers[0]["work"]["changed"]), (&json!("finished"), &json!(true)));
        let result = of_kind(&transcript, "result")[0];
        assert_eq!((&result["tool"], &result["exitCode"]), (&json!("shell"), &json!(0)), "{kind:?}");
        assert!(fixture.model.asked()[0].contains("make sum.sh add"), "{kind:?}: it was told the objective");
        assert_eq!(fixture.sessions(), 2, "{kind:?}: the loop's session and the worker's");
        let (text, session) = (transcript.iter().map(Value::to_string).collect::<String>(), fixture.session());
        assert!(!text.contains("auto-20"), "{kind:?}: no session's id stands in the transcript: {text}");
        finish(fixture.verb(&["replay", &session]).spawn().expect("replay")).ended(0);
        finish(fixture.verb(&["verify", &session]).spawn().expect("verify")).ended(0);
    }
}

#[test]
#[ignore = "needs the real clients: just test-clients"]
fn run_4_a_worker_whose_claim_does_not_hold_is_told_what_the_test_said_and_works_again() {
    for kind in CLIENTS {
        // Three claims of the first turn: its own guard refuses two of them.
        let wrong = vec![write("echo 0"), say("Done."), say("Done."), say("Done.")];
        let script = wrong.into_iter().chain([right(), test(), say("Now it adds.")]).collect();
        let Some(fixture) = AgentFixture::new(kind, Model::scripted(script), &[TEST]) else { continue };
        let ran = fixture.run(&VERIFY);
        ran.ended(0);
        let transcript = fixture.transcript();
        assert_eq!(of_kind(&transcript, "answer").len(), 2, "{kind:?}: {}", ran.stdout);
        let asked = fixture.model.asked();
        assert!(asked[4].contains("it does not add") && asked[4].contains("make sum.sh add"), "{kind:?}: {}", asked[4]);
        assert_eq!(fixture.sessions(), 3, "{kind:?}");
    }
}

#[test]
#[ignore = "needs the real clients: just test-clients"]
fn loop_1_a_worker_that_loops_is_held_and_the_loop_ends_as_it_did() {
    for kind in CLIENTS {
        let Some(fixture) = AgentFixture::new(kind, Model::repeating("echo tick", 12), &[TEST]) else { continue };
        let ran = fixture.run(&VERIFY);
        ran.ended(7);
        assert!(fixture.model.asked().len() <= 6, "{kind:?}: {} requests of 13", fixture.model.asked().len());
        let transcript = fixture.transcript();
        let end = &of_kind(&transcript, "answer")[0]["work"]["end"];
        assert_eq!(end["held"], "loop", "{kind:?}: {end}");
        assert!(of_kind(&transcript, "result").is_empty(), "{kind:?}: nothing was claimed, nothing was run");
    }
}

#[test]
#[ignore = "needs the real clients: just test-clients"]
fn run_4_a_worker_that_its_guard_stops_is_left_for_the_next_engine_and_the_switch_is_announced() {
    let Some(fixture) = AgentFixture::new(Kind::Claude, Model::repeating("echo tick", 12), &[TEST]) else { return };
    let write = json!({"expect": "A worker before you ended early", "text": "I write it.", "calls": [{"tool": "write", "arguments": {"path": "sum.sh", "content": "echo $(($1 + $2))\n"}}]});
    let call = |tool: &str, arguments: Value| json!({"text": tool, "calls": [{"tool": tool, "arguments": arguments}]});
    let next = fixture.cassette(
        "next.jsonl",
        &[write, call("shell", json!({"command": "sh test.sh"})), call("finish", json!({"summary": "done"}))],
    );
    let ran = fixture.run(&["--verify", "sh test.sh", "--fallback", &next]);
    ran.ended(0);
    let transcript = fixture.transcript();
    let switch = of_kind(&transcript, "engineSwitch")[0];
    assert_eq!(switch["to"], "scripted:next.jsonl");
    assert!(switch["from"].as_str().is_some_and(|from| from.starts_with("claude ")), "{switch}");
    assert!(
        fs::read_to_string(fixture.work().join(".geometry/safety_log.json")).expect("a log").contains("ENGINE_SWITCH")
    );
}

#[test]
#[ignore = "needs the real clients: just test-clients"]
fn run_5_the_advisor_gets_a_held_worker_going_again_once() {
    let mut turns = vec![Turn::Shell("echo tick".to_owned()); 5];
    turns.extend([right(), test(), say("It adds now.")]);
    let Some(fixture) = AgentFixture::new(Kind::Claude, Model::scripted(turns), &[TEST]) else { return };
    let advice = json!({"expect": "DEADLOCK TYPE: HARD_LOOP", "text": "Do not tick. Write sum.sh."});
    let advisor = fixture.cassette("advisor.jsonl", &[advice]);
    let ran = fixture.run(&["--verify", "sh test.sh", "--advisor", &advisor]);
    let transcript = fixture.transcript();
    assert_eq!(of_kind(&transcript, "advice").len(), 1, "{}\n{}", ran.stdout, ran.stderr);
    assert_eq!(of_kind(&transcript, "override")[0]["advice"], "Do not tick. Write sum.sh.");
    let told = fixture.model.asked().iter().any(|body| body.contains("Do not tick. Write sum.sh."));
    assert!(told, "the worker hears the advice");
}

#[test]
#[ignore = "needs the real clients: just test-clients"]
fn ctrl_1_stop_ends_a_worker_and_the_loop_with_10() {
    let turns = (0..60).map(|n| Turn::Shell(format!("sleep 0.2; echo step {n}"))).collect();
    let Some(fixture) = AgentFixture::new(Kind::Claude, Model::scripted(turns), &[]) else { return };
    let child = fixture.start(&[]);
    fixture.wait_for_requests(2);
    let before = fixture.model.asked().len();
    fs::write(fixture.work().join(".geometry/STOP"), "").expect("the order");
    finish(child).ended(10);
    assert!(fixture.model.asked().len() <= before + 1, "{} after {before}", fixture.model.asked().len());
}

#[test]
#[ignore = "needs the real clients: just test-clients"]
fn term_1_the_wall_clock_cuts_a_worker() {
    let turns = (0..60).map(|n| Turn::Shell(format!("sleep 1; echo step {n}"))).collect();
    let Some(fixture) = AgentFixture::new(Kind::Claude, Model::scripted(turns), &[]) else { return };
    let ran = fixture.run(&["--max-runtime", "8s"]);
    ran.ended(8);
    assert!(ran.stdout.contains("time is used up"), "{}", ran.stdout);
}

#[test]
#[ignore = "needs the real clients: just test-clients"]
fn gate_8_a_workers_money_is_the_sessions() {
    let dear = Usage { fresh: 20_000, read: 0, write: 0, output: 10_000 };
    let turns = (0..12).map(|n| Turn::Shell(format!("echo step {n}"))).collect();
    let Some(fixture) = AgentFixture::new(Kind::Claude, Model::costing(turns, dear), &[]) else { return };
    let ran = fixture.run(&["--budget", "0.20usd"]);
    ran.ended(6);
    assert!(fixture.model.asked().len() <= 5, "{} requests: {}", fixture.model.asked().len(), ran.stdout);
}

#[test]
#[ignore = "needs the real clients: just test-clients"]
fn a_kill_while_a_worker_works_leaves_nobody_and_the_next_one_is_told() {
    let mut turns = vec![Turn::Shell("echo begun >> log; sleep 600".to_owned())];
    turns.extend([right(), test(), say("It adds now.")]);
    let Some(fixture) = AgentFixture::new(Kind::Claude, Model::scripted(turns), &[TEST]) else { return };
    let mut child = fixture.start(&VERIFY);
    let start = std::time::Instant::now();
    while !fixture.work().join("log").exists() {
        assert!(start.elapsed().as_secs() < 120, "the command never ran");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    child.kill().expect("it can be killed");
    child.wait().expect("it is gone");
    let session = fixture.session();
    let run = crate::support::clients::Run {
        workspace: &fixture.work(),
        hook: None,
        model: &fixture.model.url,
        user: crate::support::clients::User::Same,
    };
    let home = fixture.beside("home-2");
    fs::create_dir(&home).expect("a home");
    let plain = crate::support::clients::Client::find(Kind::Claude).expect("it was there").command(run, &home);
    let mut again = fixture.verb(&["agent", "--resume", &session]);
    again.envs(plain.get_envs().filter_map(|(name, value)| Some((name, value?))));
    finish(again.spawn().expect("it starts")).ended(0);
    let asked = fixture.model.asked();
    assert!(asked[1].contains("A worker before you ended early") && asked[1].contains("killed"), "{}", asked[1]);
    assert_eq!(fs::read_to_string(fixture.work().join("log")).expect("the log"), "begun\n", "it ran once");
}
