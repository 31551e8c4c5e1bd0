//! `HOOK_SILENT`: a call that the model asked for and that no hook announces, and all the cases in which that is as it should be.

use super::support::{Provider, say};
use super::under_run::{ASK, KEY};
use crate::run::fixture::{RunEnd, RunFixture, finish};
use tripwire_supervisor::WatchLimits;

/// A model whose first reply holds this content.
fn model(content: &'static str) -> Provider {
    Provider::new(move |seen, socket| {
        let content = if seen.body.contains("tool_result") { r#"{"type":"text","text":"Done."}"# } else { content };
        let body = format!(
            r#"{{"type":"message","model":"claude-sonnet-4-5","content":[{content}],"usage":{{"input_tokens":100,"output_tokens":10}}}}"#
        );
        say(socket, "200 OK", "application/json", body.as_bytes());
    })
}

/// One call of a tool that is hooked; the fixture's `tool` announces its calls as `t1`, `t2`, …
const CALL: &str = r#"{"type":"tool_use","id":"t2","name":"Bash","input":{"command":"echo two"}}"#;

fn run(provider: &Provider, script: &str) -> RunEnd {
    let fixture = RunFixture::new(&format!("{ASK}begin; tool 'echo one'; {script}; finish; exit 0"));
    let mut command = fixture.command(&[]);
    command.env("ANTHROPIC_BASE_URL", format!("http://{}", provider.address)).env("ANTHROPIC_API_KEY", KEY);
    command.env(WatchLimits::SECONDS_VARIABLE, "2");
    finish(command.spawn().unwrap())
}

#[test]
fn const_5_a_call_that_no_hook_announces_ends_the_run() {
    let ran = run(&model(CALL), "ask > $HOME/reply; echo two; sleep 20");
    ran.ended(9);
    assert!(ran.report["how"].as_str().unwrap().contains("HOOK_SILENT"), "{}", ran.report);
    assert!(ran.report["how"].as_str().unwrap().contains("`t2` of `Bash`"), "{}", ran.report);
}

#[test]
fn const_5_a_call_that_its_hook_announces_is_quiet() {
    let ran = run(&model(CALL), "ask > $HOME/reply; tool 'echo two'; sleep 5");
    ran.ended(0);
}

#[test]
fn const_5_a_call_that_runs_after_a_long_one_is_quiet() {
    let both = r#"{"type":"tool_use","id":"t2","name":"Bash","input":{"command":"sleep 6"}},{"type":"tool_use","id":"t3","name":"Bash","input":{"command":"echo three"}}"#;
    let ran = run(&model(both), "ask > $HOME/reply; tool 'sleep 6'; tool 'echo three'");
    ran.ended(0);
}

#[test]
fn const_5_a_call_that_was_declined_is_quiet() {
    let declined = r#"{"model":"claude-sonnet-4-5","max_tokens":1000,"messages":[{"role":"user","content":"x"},{"role":"user","content":[{"type":"tool_result","tool_use_id":"t2","content":"The user does not want to proceed","is_error":true}]}]}"#;
    let ran = run(&model(CALL), &format!("ask > $HOME/reply; ask '{declined}' > $HOME/reply; sleep 5"));
    ran.ended(0);
}

#[test]
fn const_5_a_providers_own_tool_and_a_text_are_quiet() {
    for content in [
        r#"{"type":"server_tool_use","id":"srv_1","name":"web_search","input":{"query":"x"}}"#,
        r#"{"type":"text","text":"I could call Bash."}"#,
    ] {
        let ran = run(&model(content), "ask > $HOME/reply; sleep 5");
        ran.ended(0);
    }
}
