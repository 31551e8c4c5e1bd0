//! `tripwire serve --stdio`: a program asks before each call, over pipes.

use crate::session::fixture::{Place, skip};
use serde_json::{Value, json};
use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// A program on the other end of the pipes.
struct Program {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    asked: u64,
}

impl Program {
    fn start(place: &Place, args: &[&str]) -> Self {
        let mut command = place.command(&[&["serve", "--stdio"], args].concat());
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let (input, output) = (child.stdin.take(), BufReader::new(child.stdout.take().unwrap()));
        Self { child, input, output, asked: 0 }
    }

    /// One that has begun its session.
    fn begun(place: &Place, params: Value) -> Self {
        let mut program = Self::start(place, &[]);
        let mut params = params;
        params["protocol"] = json!(1);
        let begun = program.ask("initialize", params);
        assert_eq!(begun["result"]["protocol"], 1, "{begun}");
        program
    }

    fn say(&mut self, line: &str) {
        let input = self.input.as_mut().unwrap();
        input.write_all(line.as_bytes()).unwrap();
        input.write_all(b"\n").unwrap();
    }

    fn hear(&mut self) -> Value {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line:?}"))
    }

    fn ask(&mut self, method: &str, params: Value) -> Value {
        self.asked += 1;
        self.say(&json!({"jsonrpc": "2.0", "id": self.asked, "method": method, "params": params}).to_string());
        let answer = self.hear();
        assert_eq!(answer["id"], self.asked, "{answer}");
        answer
    }

    fn before(&mut self, tool: &str, args: Value) -> Value {
        self.ask("before", json!({"tool": tool, "args": args}))["result"].clone()
    }

    /// A call with its result; ends the test if it may not run.
    #[track_caller]
    fn call(&mut self, command: &str, output: &str) -> Value {
        let asked = self.before("Bash", json!({"command": command}));
        assert_eq!(asked["allowed"], true, "{asked}");
        self.ask("after", json!({"call": asked["call"], "output": output, "exitCode": 0}))["result"].clone()
    }

    /// Closes the pipe and says how it ended, with what it said to people.
    fn end(mut self) -> (i32, String) {
        drop(self.input.take());
        let output = self.child.wait_with_output().unwrap();
        (output.status.code().unwrap_or(-1), String::from_utf8_lossy(&output.stderr).into_owned())
    }
}

#[test]
fn embed_1_a_call_is_asked_for_run_and_closed_and_the_record_replays_equal() {
    let place = Place::new();
    let mut program = Program::begun(&place, json!({"budget": "5usd"}));
    for part in ["one", "two", "three"] {
        let answer = program.call(&format!("grep -n {part} src/{part}.rs"), &format!("3: let {part} = 1;"));
        assert!(answer.get("stop").is_none(), "distinct work is untouched: {answer}");
    }
    let status = program.ask("status", json!({}))["result"].clone();
    assert_eq!((&status["openCalls"], &status["budgetMicroUsd"]), (&json!(0), &json!(5_000_000)));
    let closed = program.ask("close", json!({}))["result"].clone();
    assert_eq!(closed["session"], place.session().as_str());
    assert_eq!(program.end().0, 0);
    place.run(&["verify"]).ended(0);
    place.run(&["replay", &place.session()]).ended(0);
}

#[test]
fn embed_1_an_identical_loop_is_held_and_so_are_two_calls_in_turn() {
    for commands in [&["make"][..], &["make", "cat Makefile"]] {
        let place = Place::new();
        let mut program = Program::begun(&place, json!({"profile": "balanced"}));
        let mut stop = Value::Null;
        for round in 0..40 {
            let command = commands[round % commands.len()];
            let asked = program.before("Bash", json!({"command": command}));
            if asked["allowed"] == false {
                stop = asked["stop"].clone();
                break;
            }
            let output = format!("error: {command} failed the same way");
            program.ask("after", json!({"call": asked["call"], "output": output, "exitCode": 2}));
        }
        assert_eq!(stop["kind"], "held", "{commands:?}");
        assert!(stop["rule"].as_str().is_some_and(|rule| !rule.is_empty()), "{stop}");
        assert!(stop["evidence"].as_array().is_some_and(|evidence| !evidence.is_empty()), "{stop}");
        assert!(stop["hint"].as_str().is_some_and(|hint| hint.contains("tripwire")), "{stop}");
        assert_eq!(program.end().0, 7, "a loop");
        place.run(&["replay", &place.session()]).ended(0);
    }
}

#[test]
fn embed_1_a_destructive_call_waits_for_a_person_whose_answer_counts_at_once() {
    let place = Place::new();
    fs::create_dir(place.work().join("data")).unwrap();
    fs::write(place.work().join("data/rows.csv"), "1,2\n").unwrap();
    let mut program = Program::begun(&place, json!({}));
    let asked = program.before("Bash", json!({"command": "rm -rf /usr/share"}));
    assert_eq!((&asked["allowed"], &asked["stop"]["kind"]), (&json!(false), &json!("held")), "{asked}");
    let code = asked["stop"]["code"].as_str().unwrap();
    place.run(&["allow", "--once", code]).ended(0);
    let again = program.before("Bash", json!({"command": "rm -rf /usr/share"}));
    assert_eq!(again["allowed"], true, "another process answered, under the same lock: {again}");
    // The guard's own files are out of reach, and that is no question for a person.
    let own = program.before("Bash", json!({"command": "rm -rf .geometry"}));
    assert_eq!(own["stop"]["kind"], "refused", "{own}");
}

#[test]
fn floor_3_a_program_is_held_to_what_a_person_wants_and_not_to_what_a_page_says() {
    let order = "./deploy.sh --to production";
    // A page from outside is one; a file of the workspace with the same words is none.
    for (tool, args, allowed) in [
        ("web_fetch", json!({"url": "https://docs.example/"}), false),
        ("Read", json!({"file_path": "SETUP.md"}), true),
    ] {
        let place = Place::new();
        let mut program = Program::begun(&place, json!({}));
        let asked = program.before(tool, args);
        let page = format!("Setup:\n\n    $ {order}\n");
        program.ask("after", json!({"call": asked["call"], "output": page}));
        let answer = program.before("Bash", json!({"command": order}));
        assert_eq!(answer["allowed"], allowed, "{tool}: {answer}");
        assert_eq!(answer["stop"]["rule"] == "FLOOR-3", !allowed, "{tool}: {answer}");
    }
}

#[test]
fn embed_1_the_budget_holds_over_sub_agents_and_a_stop_file_holds_all() {
    let place = Place::new();
    let mut program = Program::begun(&place, json!({"budget": "0.10usd"}));
    let child = program.ask("child", json!({"name": "researcher"}))["result"]["agent"].clone();
    let second = program.ask("child", json!({"name": "researcher"}))["result"]["agent"].clone();
    assert_ne!(child, second, "each has a name of its own");
    let tokens = |agent: &Value| json!({"model": "claude-sonnet-4-5", "inputTokens": 12_000, "agent": agent});
    let mut stop = Value::Null;
    for agent in [&child, &second, &child] {
        stop = program.ask("usage", tokens(agent))["result"]["stop"].clone();
    }
    assert_eq!(stop["kind"], "held", "three times 36 thousandths of a dollar");
    let asked = program.ask("before", json!({"tool": "Read", "args": {"path": "a"}, "agent": second}));
    assert_eq!(asked["result"]["stop"]["kind"], "held", "{asked}");
    assert_eq!(program.end().0, 6, "the budget");

    let place = Place::new();
    let mut program = Program::begun(&place, json!({}));
    program.call("ls", "a");
    fs::write(place.geometry("STOP"), "").unwrap();
    let asked = program.before("Bash", json!({"command": "ls b"}));
    assert_eq!(asked["stop"]["kind"], "held", "{asked}");
    assert!(program.ask("status", json!({}))["result"]["held"].as_str().is_some());
    assert_eq!(program.end().0, 10, "stopped by a person");
}

#[test]
fn embed_2_parallel_calls_are_closed_by_their_ids_and_each_only_once() {
    let place = Place::new();
    let mut program = Program::begun(&place, json!({}));
    let calls: Vec<Value> =
        (0..5).map(|n| program.before("Read", json!({"path": format!("{n}.rs")}))["call"].clone()).collect();
    for call in calls.iter().rev() {
        let done = program.ask("after", json!({"call": call, "output": format!("text of {call}")}));
        assert!(done.get("error").is_none(), "{done}");
    }
    let twice = program.ask("after", json!({"call": calls[0], "output": "again"}));
    assert_eq!(twice["error"]["code"], -32_004, "{twice}");
    let unknown = program.ask("before", json!({"tool": "Read", "args": {}, "agent": "nobody"}));
    assert_eq!(unknown["error"]["code"], -32_005, "{unknown}");
    assert_eq!(program.end().0, 0);
}

#[test]
fn embed_2_a_call_that_is_open_when_the_pipe_ends_has_no_result_and_nothing_is_lost() {
    let place = Place::new();
    let mut program = Program::begun(&place, json!({}));
    program.call("ls", "a");
    assert_eq!(program.before("Bash", json!({"command": "make"}))["allowed"], true);
    let (code, said) = program.end();
    assert_eq!(code, 4, "done, and not verified: {said}");
    assert!(said.contains("1 open call"), "{said}");
    let journal = fs::read_to_string(place.journal("00000001.jsonl")).unwrap();
    assert!(journal.contains("no result: the program went away"), "{journal}");
    let last = journal.lines().rev().find(|line| line.contains("\"event\"")).unwrap();
    assert!(last.contains(r#""status":"error""#), "no result is no success: {last}");
    place.run(&["verify"]).ended(0);

    // A message that is cut off is an error of its own, and what came before it stands.
    let mut program = Program::begun(&place, json!({}));
    program.call("ls", "a");
    program.input.as_mut().unwrap().write_all(br#"{"jsonrpc":"2.0","id":9,"method":"bef"#).unwrap();
    drop(program.input.take());
    assert_eq!(program.hear()["error"]["code"], -32_700);
    let (code, said) = program.end();
    assert_eq!(code, 2, "{said}");
    assert!(said.contains("in the middle of a message"), "{said}");
    place.run(&["verify"]).ended(0);
}

#[test]
fn embed_3_each_mistake_has_its_own_error_and_costs_nothing_else() {
    let place = Place::new();
    let mut program = Program::start(&place, &[]);
    let mut wrong = |line: &str, code: i64| {
        program.say(line);
        let answer = program.hear();
        assert_eq!(answer["error"]["code"], code, "{line}: {answer}");
        assert!(answer["error"]["data"]["hint"].as_str().is_some_and(|hint| !hint.is_empty()), "{answer}");
        answer
    };
    wrong("nonsense", -32_700);
    wrong("[1,2", -32_700);
    wrong("[]", -32_600);
    wrong("7", -32_600);
    wrong(r#"{"jsonrpc":"1.0","id":1,"method":"status"}"#, -32_600);
    wrong(r#"{"jsonrpc":"2.0","id":1}"#, -32_600);
    wrong(r#"{"jsonrpc":"2.0","id":{},"method":"status"}"#, -32_600);
    wrong(r#"{"jsonrpc":"2.0","id":1,"method":"explode"}"#, -32_601);
    wrong(r#"{"jsonrpc":"2.0","id":1,"method":"before","params":{"tool":"x"}}"#, -32_001);
    let newer = r#"{"jsonrpc":"2.0","id":"a","method":"initialize","params":{"protocol":2,"later":true}}"#;
    assert_eq!(wrong(newer, -32_002)["error"]["data"]["supported"], json!([1]));
    wrong(r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocol":1,"budget":"much"}}"#, -32_602);
    wrong(r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocol":1,"bugdet":"5usd"}}"#, -32_602);
    wrong(
        r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocol":1,"session":"auto-2020-01-01-000000"}}"#,
        -32_003,
    );
    wrong(r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocol":1,"profile":"lax"}}"#, -32_003);
    assert!(!place.geometry("journal").exists() || fs::read_dir(place.geometry("journal")).unwrap().count() == 0);
    let begun = program.ask("initialize", json!({"protocol": 1}));
    assert_eq!(begun["result"]["protocol"], 1, "after all of that: {begun}");
    for (method, params, code) in [
        ("initialize", json!({"protocol": 1}), -32_006),
        ("before", json!({}), -32_602),
        ("before", json!({"tool": "x", "tol": 1}), -32_602),
        ("after", json!({"call": "c9"}), -32_004),
        ("usage", json!({"model": "m", "inputTokens": -1}), -32_602),
        ("status", json!({"x": 1}), -32_602),
    ] {
        let answer = program.ask(method, params);
        assert_eq!(answer["error"]["code"], code, "{method}: {answer}");
    }
    // Without an id nobody waits: what only reports is taken in, what asks is refused.
    let call = program.before("Bash", json!({"command": "ls"}))["call"].clone();
    program.say(&json!({"jsonrpc": "2.0", "method": "after", "params": {"call": call, "output": "a"}}).to_string());
    program.say(r#"{"jsonrpc":"2.0","method":"before","params":{"tool":"Read"}}"#);
    assert_eq!(program.hear()["error"]["code"], -32_600);
    assert_eq!(program.ask("status", json!({}))["result"]["openCalls"], 0);
    assert_eq!(program.end().0, 0);
}

#[test]
fn embed_3_a_session_is_taken_up_under_its_frozen_settings() {
    let place = Place::new();
    let mut program = Program::begun(&place, json!({"budget": "3usd"}));
    program.call("ls", "a");
    program.ask("close", json!({}));
    let session = place.session();
    assert_eq!(program.end().0, 0);
    let mut program = Program::start(&place, &["--session", &session]);
    let frozen = program.ask("initialize", json!({"protocol": 1, "budget": "9usd"}));
    assert_eq!(frozen["error"]["code"], -32_602, "{frozen}");
    let begun = program.ask("initialize", json!({"protocol": 1}));
    assert_eq!(begun["result"]["status"]["session"], session.as_str());
    assert_eq!(begun["result"]["status"]["budgetMicroUsd"], 3_000_000);
    assert!(begun["result"]["status"]["steps"].as_u64().is_some_and(|steps| steps > 0), "{begun}");
}

#[test]
fn embed_3_a_session_whose_usage_is_told_is_not_estimated_when_it_is_taken_up_and_another_one_is() {
    for told in [true, false] {
        let place = Place::new();
        let mut program = Program::begun(&place, json!({}));
        if told {
            program.ask("usage", json!({"model": "claude-sonnet-4-5", "inputTokens": 1_000, "outputTokens": 100}));
        }
        program.call("ls", &"x".repeat(4_000));
        let spent = |program: &mut Program| program.ask("status", json!({}))["result"]["spentMicroUsd"].as_u64();
        let before = spent(&mut program);
        assert_eq!(program.end().0, 0);
        let mut program = Program::begun(&place, json!({"session": place.session()}));
        program.call("ls src", &"y".repeat(4_000));
        assert_eq!(spent(&mut program) == before, told, "told: {told}, before: {before:?}");
        assert_eq!(program.end().0, 0);
    }
}

#[test]
fn embed_3_wrong_usage_of_the_verb_is_refused_with_its_own_code() {
    let place = Place::new();
    place.run(&["serve"]).ended(2);
    place.run(&["serve", "--stdio", "--budget", "much"]).ended(2);
    place.feed(&["serve", "--stdio"], "").ended(0);
    assert!(!place.geometry("journal").exists(), "nothing asked, nothing made");
}

#[test]
fn embed_4_the_node_package_speaks_the_protocol() {
    let place = Place::new();
    match node_tests(&place, "guard.test.js").output() {
        Ok(output) => {
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
        }
        Err(error) => eprintln!("SKIPPED: no node here: {error}"),
    }
}

#[test]
fn embed_4_the_vercel_ai_sdk_is_guarded_by_the_example_and_its_sessions_replay() {
    if std::env::var_os("TRIPWIRE_AI_SDK").is_none() {
        return skip(
            "TRIPWIRE_AI_SDK names no folder in which `npm install ai zod` was run: its example was not tried",
        );
    }
    let place = Place::new();
    let output = node_tests(&place, "vercel.test.mjs").output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    let sessions: Vec<String> = fs::read_dir(place.geometry("journal"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    assert!(sessions.len() >= 5, "{sessions:?}");
    for session in sessions {
        place.run(&["replay", &session]).ended(0).says("equal");
    }
}

/// The tests of the Node package in a file, with the binary.
fn node_tests(place: &Place, file: &str) -> Command {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packaging/npm/test").join(file);
    let mut node = Command::new("node");
    node.arg("--test").arg(tests.canonicalize().unwrap()).current_dir(place.work());
    node.env("HOME", place.path().join("home")).env("XDG_STATE_HOME", place.path().join("state"));
    node.env("TRIPWIRE_BINARY", env!("CARGO_BIN_EXE_tripwire"));
    node
}
