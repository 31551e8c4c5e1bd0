//! Programs without hooks under `tripwire run`: what they do is read from their model calls, and the same engine decides.

use super::support::{Provider, begin_stream, chunk, say};
use super::under_run::{ASK, KEY, cost, spent};
use crate::run::fixture::{RunEnd, RunFixture, finish, output};
use std::sync::atomic::{AtomicUsize, Ordering};

/// An agent of a few lines: it asks, runs what it is asked for, and carries the result back, until it is asked for nothing more.
const AGENT: &str = r#"
results=''
n=0
while [ $n -lt 14 ]; do
  n=$((n + 1))
  ask '{"model":"claude-sonnet-4-5","max_tokens":1000,"tools":[{"name":"bash"}],"messages":[{"role":"user","content":"'"${task:-Do the task.}"'"}'"$results"']}' > $HOME/reply
  head -1 $HOME/reply >> $HOME/heads
  grep -q '"type":"tool_use"' $HOME/reply || break
  command=$(sed -n 's/.*"command":"\([^"]*\)".*/\1/p' $HOME/reply | head -1)
  id=$(sed -n 's/.*"id":"\(toolu_[^"]*\)".*/\1/p' $HOME/reply | head -1)
  echo "$command" >> $HOME/ran
  out=$(sh -c "$command" 2>&1 | tr -d '"')
  results="$results,{\"role\":\"user\",\"content\":[{\"type\":\"tool_result\",\"tool_use_id\":\"$id\",\"content\":\"$out\"}]}"
done
grep -q '"text":"Done."' $HOME/reply
"#;

/// A model that asks for one command after the other, and is done after the last one.
fn model(commands: Vec<String>) -> Provider {
    let asked = AtomicUsize::new(0);
    Provider::new(move |_, socket| {
        let number = asked.fetch_add(1, Ordering::SeqCst);
        let content = match commands.get(number) {
            Some(command) => format!(
                r#"{{"type":"tool_use","id":"toolu_{number}","name":"bash","input":{{"command":"{command}"}}}}"#
            ),
            None => r#"{"type":"text","text":"Done."}"#.to_owned(),
        };
        let body = format!(
            r#"{{"type":"message","model":"claude-sonnet-4-5","content":[{content}],"usage":{{"input_tokens":100,"output_tokens":10}}}}"#
        );
        say(socket, "200 OK", "application/json", body.as_bytes());
    })
}

fn run(fixture: &RunFixture, provider: &Provider, flags: &[&str], script: &str) -> RunEnd {
    let program = fixture.add_client("agent", &format!("{ASK}{script}"));
    let mut command = fixture.verb(&[&["run", "--json", "--client", "anthropic"], flags, &["--"]].concat());
    command.arg(program);
    command.env("ANTHROPIC_BASE_URL", format!("http://{}", provider.address)).env("ANTHROPIC_API_KEY", KEY);
    finish(command.spawn().unwrap())
}

fn lines(fixture: &RunFixture, name: &str) -> usize {
    fixture.home_text(name).lines().count()
}

#[test]
fn loop_1_a_program_without_hooks_that_repeats_itself_is_ended() {
    let fixture = RunFixture::new("");
    let provider = model(vec!["echo tick".to_owned(); 14]);
    let ran = run(&fixture, &provider, &[], AGENT);
    ran.ended(7);
    assert!(provider.requests() <= 6, "{} requests where 15 were scripted: {}", provider.requests(), ran.stderr);
    assert!(ran.report["findings"].to_string().contains("LOOP-"), "{}", ran.report);
    assert_eq!(cost(&fixture, &[])["micro_usd"], spent(&ran));
}

#[test]
fn loop_3_a_program_without_hooks_that_does_different_things_is_left_alone() {
    let fixture = RunFixture::new("");
    let provider = model((0..12).map(|n| format!("echo part {n} > part{n}.txt; echo {}", n * n)).collect());
    let ran = run(&fixture, &provider, &[], AGENT);
    assert_eq!((provider.requests(), lines(&fixture, "ran")), (13, 12), "{}", ran.stderr);
    ran.ended(0);
    assert!(ran.report["steps"].as_u64().unwrap() >= 12, "its calls are steps: {}", ran.report);
    assert_eq!(ran.report["gateway"]["calls"], 13);
}

#[test]
fn floor_1_a_destructive_call_of_a_program_without_hooks_does_not_reach_it() {
    let fixture = RunFixture::new("");
    std::fs::create_dir(fixture.place().join("work")).unwrap();
    std::fs::write(fixture.place().join("work/only-copy.txt"), "work").unwrap();
    let provider = model(vec!["echo one".to_owned(), "rm -rf work".to_owned()]);
    let ran = run(&fixture, &provider, &[], AGENT);
    assert_eq!(fixture.home_text("ran"), "echo one\n", "{}", ran.stderr);
    assert!(fixture.place().join("work/only-copy.txt").exists());
    assert_ne!(ran.code, Some(0), "{}", ran.stderr);
}

#[test]
fn dirty_1_tests_that_a_program_without_hooks_runs_prove_its_work() {
    let fixture = RunFixture::new("");
    std::fs::write(fixture.place().join("run_tests.py"), "print('1 passed in 0.01s')\n").unwrap();
    let edit = "echo x = 1 > calc.py".to_owned();
    let untested = run(&fixture, &model(vec![edit.clone()]), &[], AGENT);
    untested.ended(4);
    let proved = RunFixture::new("");
    let ran = run(&proved, &model(vec![edit]), &["--verify", "true"], AGENT);
    ran.ended(0);
    assert_eq!(ran.report["verdict"], "VERIFIED", "{}", ran.report);
}

#[test]
fn gate_8_a_stream_with_a_refused_call_ends_with_an_error_and_without_the_call() {
    let fixture = RunFixture::new("");
    std::fs::create_dir(fixture.place().join("work")).unwrap();
    std::fs::write(fixture.place().join("work/only-copy.txt"), "work").unwrap();
    let provider = Provider::new(|_, socket| {
        begin_stream(socket);
        for event in [
            r#"{"type":"message_start","message":{"model":"claude-sonnet-4-5","usage":{"input_tokens":50,"output_tokens":1}}}"#,
            r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"I clean up."}}"#,
            r#"{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"toolu_1","name":"bash","input":{}}}"#,
            r#"{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{\"command\":\"rm -rf work\"}"}}"#,
            r#"{"type":"content_block_stop","index":1}"#,
            r#"{"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":20}}"#,
            r#"{"type":"message_stop"}"#,
        ] {
            chunk(socket, &format!("data: {event}\n\n"));
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        chunk(socket, "");
    });
    let ask = r#"{"model":"claude-sonnet-4-5","max_tokens":1000,"stream":true,"tools":[{"name":"bash"}],"messages":[{"role":"user","content":"x"}]}"#;
    let ran = run(&fixture, &provider, &[], &format!("ask '{ask}' > $HOME/reply; exit 1"));
    let reply = fixture.home_text("reply");
    assert!(reply.contains("I clean up.") && reply.contains("permission_error"), "{reply}");
    assert!(!reply.contains("rm -rf") && !reply.contains("tool_use"), "{reply}");
    assert_eq!(spent(&ran), 450, "what the reply cost is booked: {}", ran.report);
}

#[test]
fn agents_of_one_run_are_told_apart_by_the_beginning_of_their_conversation() {
    let fixture = RunFixture::new("");
    let provider =
        model(vec!["echo tick".to_owned(), "echo tock".to_owned(), "echo tick".to_owned(), "echo tock".to_owned()]);
    let script = format!(
        "one() {{ {AGENT} }}\ntask='Main task.'; one; for t in A B; do task=\"Sub-task $t.\"; one; done; exit 0"
    );
    let ran = run(&fixture, &provider, &[], &script);
    ran.ended(0);
    let (_, log) = output(fixture.verb(&["log", "--json"]));
    assert!(log.contains("conversation-"), "{log}");
}

#[test]
fn const_5_without_a_gateway_a_program_without_hooks_is_not_started() {
    let fixture = RunFixture::new("");
    let provider = model(Vec::new());
    let ran = run(&fixture, &provider, &["--no-gateway"], "touch started");
    assert_eq!(ran.code, Some(9), "{}", ran.stderr);
    assert!(ran.stderr.contains("nothing of a program with Anthropic's API would be guarded"), "{}", ran.stderr);
    assert!(!fixture.place().join("started").exists());
}

#[test]
fn any_program_is_told_of_the_gateway_by_the_usual_variables() {
    for (client, variables) in [
        ("openai", &["OPENAI_BASE_URL", "OPENAI_API_BASE"][..]),
        ("anthropic", &["ANTHROPIC_BASE_URL"]),
        ("gemini", &["GOOGLE_GEMINI_BASE_URL"]),
    ] {
        let fixture = RunFixture::new("");
        let program = fixture.add_client("agent", "env > $HOME/seen");
        let mut command = fixture.verb(&["run", "--json", "--client", client, "--"]);
        command.arg(program).env("OPENAI_API_KEY", "k-1").env("ANTHROPIC_API_KEY", "k-2").env("GEMINI_API_KEY", "k-3");
        let ran = finish(command.spawn().unwrap());
        ran.ended(0);
        let seen = fixture.home_text("seen");
        for variable in variables {
            assert!(seen.contains(&format!("{variable}=http://127.0.0.1:")), "{client}: {seen}");
        }
        let key = match client {
            "openai" => "k-1",
            "anthropic" => "k-2",
            _ => "k-3",
        };
        assert!(!seen.contains(&format!("={key}\n")), "{client}: {seen}");
    }
}

/// Commands that go in circles, and how many of them a guarded agent may run.
fn circles() -> Vec<(&'static str, Vec<String>)> {
    let words = |line: &str, times: usize| {
        line.split(',').collect::<Vec<_>>().repeat(times).into_iter().map(str::to_owned).collect()
    };
    vec![
        ("identical", words("echo tick", 12)),
        ("two in turn", words("echo a,echo b", 8)),
        ("the same failure", words("cat missing.txt", 12)),
    ]
}

#[test]
fn loop_1_hooks_and_gateway_end_the_same_circle_at_the_same_call() {
    for (name, commands) in circles() {
        let calls = commands
            .iter()
            .map(|command| format!("tool '{command}' || exit 0; echo ran >> $HOME/ran"))
            .collect::<Vec<_>>();
        let hooks = RunFixture::new(&format!("begin; {}; finish; exit 0", calls.join("; ")));
        let by_hooks = hooks.run(&["--no-gateway"]);
        let gateway = RunFixture::new("");
        let by_gateway = run(&gateway, &model(commands.clone()), &[], AGENT);
        let (one, other) = (lines(&hooks, "ran"), lines(&gateway, "ran"));
        assert!(one < commands.len(), "{name}: {}", by_hooks.stderr);
        assert_eq!(one, other, "{name}: {} {}", by_hooks.report["findings"], by_gateway.report["findings"]);
        assert_eq!(by_hooks.code, by_gateway.code, "{name}");
    }
}
