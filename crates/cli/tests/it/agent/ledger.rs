//! Our own loop in the ledger: what each question reserved and cost, by agent, and what a kill leaves of it.

use crate::agent::fixture::{AgentFixture, Running, finish, shell, until};
use crate::gateway::support::{Provider, say};
use serde_json::{Value, json};
use std::net::TcpStream;
use std::sync::{Arc, Mutex};
use tripwire_core::label::Label;
use tripwire_core::ledger::{AccountId, CallEnd, SettledCall, UtcDate};
use tripwire_core::units::{Count, MicroUsd, Tokens};
use tripwire_core::usage::{AudioInput, FigureSource, Usage};
use tripwire_session::ledger::LedgerBook;
use tripwire_workspace::geometry::layout::Layout;
use tripwire_workspace::geometry::wall_clock::WallClock;

/// What every answer below uses: 1,000 tokens in at $1.25 and 100 out at $10 a million.
const USED: (u64, u64) = (1_000, 100);
/// What that costs, in micro-dollars.
const PRICE: u64 = 2_250;

/// A provider of the Chat Completions API that gives its answers in this order; nothing hangs until the client is gone.
fn provider(answers: Vec<Option<Value>>) -> Provider {
    let answers = Arc::new(Mutex::new(answers.into_iter()));
    Provider::new(move |_, socket| {
        let next = answers.lock().unwrap().next();
        match next.unwrap_or_else(|| Some(calls("finish", &json!({"summary": "done"})))) {
            Some(delta) => answer(socket, &delta, USED),
            None => {
                while socket.peek(&mut [0]).is_ok_and(|read| read > 0) {
                    std::thread::sleep(std::time::Duration::from_millis(20));
                }
            }
        }
    })
}

fn calls(tool: &str, arguments: &Value) -> Value {
    let function = json!({"name": tool, "arguments": arguments.to_string()});
    json!({"tool_calls": [{"index": 0, "id": format!("c-{tool}"), "type": "function", "function": function}]})
}

fn look(number: u32) -> Option<Value> {
    Some(calls("shell", &json!({"command": format!("echo look {number}")})))
}

fn answer(socket: &mut TcpStream, delta: &Value, (input, output): (u64, u64)) {
    let usage = json!({"prompt_tokens": input, "completion_tokens": output});
    let choice = json!({"index": 0, "delta": delta, "finish_reason": "stop"});
    let chunk = json!({"id": "x", "model": "gpt-5", "choices": [choice], "usage": usage});
    say(socket, "200 OK", "text/event-stream", format!("data: {chunk}\n\ndata: [DONE]\n\n").as_bytes());
}

fn engine(provider: &Provider) -> String {
    format!("openai-chat:gpt-5@http://{}/v1", provider.address)
}

fn json_of(fixture: &AgentFixture, arguments: &[&str]) -> Value {
    let run = fixture.run(arguments);
    serde_json::from_str(&run.stdout).unwrap_or_else(|error| panic!("{error}: {}{}", run.stdout, run.stderr))
}

fn session(fixture: &AgentFixture) -> String {
    fixture.sessions().pop().unwrap()
}

/// The calls of the only session, and what they cost together.
fn cost(fixture: &AgentFixture) -> (Vec<Value>, u64) {
    let lines = json_of(fixture, &["cost", &session(fixture), "--json"]);
    let calls = lines["calls"].as_array().unwrap().iter().map(|line| line["call"].clone()).collect();
    (calls, lines["micro_usd"].as_u64().unwrap())
}

/// What the money gate of the only session has taken in.
fn spent(fixture: &AgentFixture) -> u64 {
    let status = json_of(fixture, &["status", "--json", "--session", &session(fixture)]);
    status["session"]["view"]["spent"]["microUsd"].as_u64().unwrap_or_else(|| panic!("{status}"))
}

fn agent_of(call: &Value) -> String {
    let name = call["path"][0]["name"].as_str().unwrap();
    name.split_once('/').map_or(name, |(_, agent)| agent).to_owned()
}

#[test]
fn gate_8_each_question_of_our_own_loop_is_a_line_whose_arithmetic_is_shown() {
    let fixture = AgentFixture::new();
    let provider = provider(vec![look(0), look(1), look(2)]);
    let engine = engine(&provider);
    fixture.run(&["agent", "--objective", "look", "--engine", &engine, "--budget", "1usd"]).ended(0);
    let (calls, sum) = cost(&fixture);
    assert_eq!(calls.len(), provider.requests(), "{calls:?}");
    assert_eq!((sum, spent(&fixture)), (calls.len() as u64 * PRICE, sum));
    for (place, call) in calls.iter().enumerate() {
        assert_eq!((agent_of(call).as_str(), &call["path"][1]["kind"]), ("model", &json!("session")), "{call}");
        assert_eq!((&call["model"], &call["end"]), (&json!("gpt-5"), &json!("complete")), "{call}");
        let reserved = call["reserved"].as_u64().unwrap();
        // The question before the session began is told by it, and was reserved by nobody.
        assert_eq!(reserved > PRICE, place > 0, "{place}: {call}");
    }
    let line = json_of(&fixture, &["cost", "--json"])["calls"][1]["line"].to_string();
    let explained = json_of(&fixture, &["cost", "--explain", &line, "--json"]);
    assert_eq!((&explained["list_micro_usd"], &explained["call"]["microUsd"]), (&json!(PRICE), &json!(PRICE)));
    let text = fixture.run(&["cost", &session(&fixture)]).stdout;
    assert!(text.contains("agent ") && text.contains("/model") && text.contains("together 0.9¢"), "{text}");
    fixture.run(&["verify"]).ended(0);
}

#[test]
fn gate_8_answers_that_cost_nothing_make_no_ledger() {
    let fixture = AgentFixture::new();
    fixture.agent(&[shell("echo a"), finish()], &[]).ended(0);
    assert!(!fixture.geometry().join("ledger").exists());
    assert!(fixture.run(&["cost"]).stdout.contains("no model call was settled here"));
}

/// A session whose change is reviewed by this model; gives its exit code and how often the reviewer was asked.
fn reviewed_by(fixture: &AgentFixture, model: &str, budget: &str) -> (i32, usize) {
    let write = calls("write", &json!({"path": "a.sh", "content": "true\n"}));
    let test = calls("shell", &json!({"command": "sh a.sh"}));
    let worker = provider(vec![look(0), Some(write), Some(test)]);
    let reviewer = provider(vec![Some(json!({"content": "Good.\nAPPROVED"}))]);
    let (worker, asked) = (engine(&worker), format!("openai-chat:{model}@http://{}/v1", reviewer.address));
    let words = ["agent", "--objective", "x", "--engine", &worker, "--review", &asked, "--verify", "sh a.sh"];
    let run = fixture.run(&[&words[..], &["--budget", budget]].concat());
    (run.code, reviewer.requests())
}

#[test]
fn gate_8_a_reviewer_has_an_account_of_its_own_and_spends_the_sessions_budget() {
    let rich = AgentFixture::new();
    assert_eq!(reviewed_by(&rich, "gpt-5", "1usd"), (0, 1));
    let (calls, sum) = cost(&rich);
    assert_eq!(calls.iter().filter(|call| agent_of(call) == "reviewer").count(), 1, "{calls:?}");
    assert_eq!((sum, spent(&rich)), (calls.len() as u64 * PRICE, sum));
    // 256 tokens of this reviewer cost $0.046 alone, and the model has spent a part of the budget.
    let poor = AgentFixture::new();
    assert_eq!(reviewed_by(&poor, "gpt-5.5-pro", "0.04usd"), (11, 0), "what the budget does not pay for is not asked");
    let (calls, sum) = cost(&poor);
    assert!(calls.iter().all(|call| agent_of(call) == "model") && sum == spent(&poor), "{calls:?}");
}

#[test]
fn gate_8_a_provider_that_charges_more_than_was_reserved_closes_the_sessions_account() {
    let fixture = AgentFixture::new();
    let asked = Mutex::new(0);
    let provider = Provider::new(move |_, socket| {
        let number = {
            let mut asked = asked.lock().unwrap();
            *asked += 1;
            *asked
        };
        let used = if number == 2 { (1_000, 400_000) } else { USED };
        let done = calls("finish", &json!({"summary": "seen"}));
        answer(socket, &look(number).filter(|_| number < 4).unwrap_or(done), used);
    });
    let engine = engine(&provider);
    let run = fixture.run(&["agent", "--objective", "look", "--engine", &engine, "--budget", "50usd"]);
    run.ended(6);
    assert_eq!(provider.requests(), 2, "nothing is asked after it");
    assert!(format!("{}{}", run.stdout, run.stderr).contains("RESERVE_SHORT"), "{}{}", run.stdout, run.stderr);
    let (calls, sum) = cost(&fixture);
    assert!(calls[1]["excess"].as_u64().unwrap() > 3_000_000 && sum == spent(&fixture), "{calls:?}");
    // A person takes it up: the account is open again, and what was spent stays.
    fixture.run(&["agent", "--resume", &session(&fixture), "--engine", &engine]);
    assert!(provider.requests() > 2);
}

/// A session that was killed while its third question was under way, with the question reserved and nothing of it settled.
fn killed(fixture: &AgentFixture) -> Provider {
    let provider = provider(vec![look(0), look(1), None]);
    let engine = engine(&provider);
    let words = ["agent", "--objective", "look", "--engine", &engine, "--budget", "1usd"];
    let running = Running::of(&mut fixture.command(&words));
    until("the third question is asked", || provider.requests() == 3);
    running.kill();
    provider
}

#[test]
fn gate_8_a_kill_between_reservation_and_settlement_counts_the_worst_case() {
    let fixture = AgentFixture::new();
    let provider = killed(&fixture);
    assert_eq!(cost(&fixture).1, 2 * PRICE, "what was settled is on disk");
    let engine = engine(&provider);
    fixture.run(&["agent", "--resume", &session(&fixture), "--engine", &engine]).ended(0);
    let (calls, sum) = cost(&fixture);
    let lost: Vec<&Value> = calls.iter().filter(|call| call["end"] == "broken").collect();
    let [lost] = lost.as_slice() else { panic!("{calls:?}") };
    assert_eq!((&lost["microUsd"], &lost["source"]), (&lost["reserved"], &json!("estimated")), "{lost}");
    let worst = lost["microUsd"].as_u64().unwrap();
    assert!(worst > 20 * PRICE, "a long answer may have come: {lost}");
    assert_eq!(sum, worst + (calls.len() as u64 - 1) * PRICE);
    assert_eq!(sum, spent(&fixture), "one truth");
    fixture.run(&["replay", &session(&fixture)]).ended(0);
    fixture.run(&["verify"]).ended(0);
}

#[test]
fn gate_8_a_kill_between_settlement_and_journal_counts_what_was_settled_once() {
    let fixture = AgentFixture::new();
    let provider = killed(&fixture);
    // The line that the process would have written before it journaled the answer.
    let account = AccountId::session(&session(&fixture));
    let usage = Usage { fresh_input: Tokens::new(4_000), output: Tokens::new(500), ..Usage::default() };
    let call = SettledCall {
        audio: AudioInput::default(),
        other_models: Vec::new(),
        path: vec![AccountId::agent(&account, "model"), account],
        day: UtcDate { year: 2026, month: 11, day: 18 },
        provider: Label::cut("openai-chat"),
        model: Label::cut("gpt-5"),
        end: CallEnd::Complete,
        status: Count::new(200),
        usage,
        source: FigureSource::Told,
        doubt: None,
        reserved: MicroUsd::new(90_000),
        micro_usd: MicroUsd::new(10_000),
        excess: MicroUsd::ZERO,
        price_estimated: false,
        request: None,
    };
    let mut book = LedgerBook::open(&Layout::at(&fixture.geometry())).unwrap();
    book.append_call(&call, WallClock::from_epoch_ms(1), 1).unwrap();
    book.sync().unwrap();
    drop(book);
    let engine = engine(&provider);
    fixture.run(&["agent", "--resume", &session(&fixture), "--engine", &engine]).ended(0);
    let (calls, sum) = cost(&fixture);
    assert!(calls.iter().all(|call| call["end"] == "complete"), "the worst case is not taken: {calls:?}");
    assert_eq!(sum, 10_000 + (calls.len() as u64 - 1) * PRICE);
    assert_eq!(sum, spent(&fixture), "the gate has heard of it");
    fixture.run(&["replay", &session(&fixture)]).ended(0);
}

#[test]
fn gate_8_a_kill_while_the_reviewer_is_asked_counts_the_worst_case_on_its_account() {
    let fixture = AgentFixture::new();
    let write = calls("write", &json!({"path": "a.sh", "content": "true\n"}));
    let worker = provider(vec![look(0), Some(write), Some(calls("shell", &json!({"command": "sh a.sh"})))]);
    let reviewer = provider(vec![None, Some(json!({"content": "Good.\nAPPROVED"}))]);
    let (asked, reviews) = (engine(&worker), engine(&reviewer));
    let words = ["agent", "--objective", "x", "--engine", &asked, "--review", &reviews, "--verify", "sh a.sh"];
    let running = Running::of(&mut fixture.command(&words));
    until("the reviewer is asked", || reviewer.requests() == 1);
    running.kill();
    let before = cost(&fixture).1;
    fixture.run(&["agent", "--resume", &session(&fixture)]).ended(0);
    let (calls, sum) = cost(&fixture);
    let of_reviewer: Vec<&Value> = calls.iter().filter(|call| agent_of(call) == "reviewer").collect();
    let [lost, heard] = of_reviewer.as_slice() else { panic!("{calls:?}") };
    assert_eq!((&lost["end"], &heard["end"]), (&json!("broken"), &json!("complete")), "{lost} {heard}");
    let worst = lost["microUsd"].as_u64().unwrap();
    assert!(worst > 20 * PRICE && lost["reserved"] == worst, "{lost}");
    assert_eq!((sum, spent(&fixture)), (before + worst + PRICE, sum), "the gate has heard of it");
    fixture.run(&["replay", &session(&fixture)]).ended(0);
}

#[test]
fn gate_8_a_session_from_before_the_ledger_goes_on_with_what_it_had_spent() {
    let fixture = AgentFixture::new();
    let provider = killed(&fixture);
    std::fs::remove_dir_all(fixture.geometry().join("ledger")).unwrap();
    let engine = engine(&provider);
    fixture.run(&["agent", "--resume", &session(&fixture), "--engine", &engine]).ended(0);
    let (calls, sum) = cost(&fixture);
    assert_eq!((&calls[0]["model"], &calls[0]["microUsd"]), (&json!("earlier-calls"), &json!(2 * PRICE)), "{calls:?}");
    assert_eq!(sum, spent(&fixture), "the sum is the session's");
    fixture.run(&["replay", &session(&fixture)]).ended(0);
}
