//! Every event of the clients in its own form: decoded to what it means, and answered in words the client knows.
#![expect(clippy::unwrap_used, clippy::panic, clippy::print_stdout, reason = "a broken premise must end the test")]

mod mutated;

use proptest::prelude::*;
use serde_json::{Value, json};
use tripwire_clients::Client;
use tripwire_clients::hooks::{self, Answer, Event, HookCall, Repeat, ShortResult, Source, Turn};

/// The versions that the sandbox was measured with are those that `.ci/run` installs.
#[test]
fn box_5_clients_are_measured_in_the_sandbox_at_the_versions_of_the_checks() {
    let script = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../.ci/run")).unwrap();
    let clients = Client::ALL.into_iter().chain(Client::AT_GATEWAY);
    let measured: Vec<(&str, &str)> =
        clients.filter_map(|client| Some((client.name(), client.adapter().sandbox.measured?))).collect();
    assert_eq!(measured.len(), 5, "{measured:?}");
    for (name, version) in measured {
        let starts = format!("\"{name} ");
        let line = script.lines().find(|line| line.trim().starts_with(&starts)).unwrap_or_else(|| panic!("{name}"));
        assert!(line.contains(&format!(" {version}\"")), "{name} {version}: {line}");
    }
}

/// An event with the fields that the client sends with it.
fn input(event: &str, more: &Value) -> Vec<u8> {
    let mut input = json!({"session_id": "s-1", "transcript_path": "/home/u/t.jsonl", "cwd": "/w", "hook_event_name": event,
        "permission_mode": "default", "tomorrow": [1, {"x": null}]});
    input.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    input.to_string().into_bytes()
}

fn tool(more: &Value) -> Value {
    let mut call = json!({"tool_name": "Bash", "tool_input": {"command": "echo tick"}, "tool_use_id": "t1"});
    call.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    call
}

fn read(client: Client, event: &str, more: &Value) -> HookCall {
    hooks::read(client, &input(event, more)).unwrap_or_else(|error| panic!("{event}: {error}"))
}

fn output(call: &HookCall) -> (&str, Option<bool>) {
    let Event::Done(_, outcome) = &call.event else { panic!("{:?}", call.event) };
    (outcome.output.as_str(), outcome.failed)
}

#[test]
fn claudes_events_are_understood() {
    let read = |event, more: &Value| read(Client::Claude, event, more);
    let asked = read("PreToolUse", &tool(&json!({})));
    let Event::Asked(call) = &asked.event else { panic!("{asked:?}") };
    assert_eq!((call.name.as_str(), call.call_id.as_deref()), ("Bash", Some("t1")));
    assert_eq!(call.input, r#"{"command":"echo tick"}"#);
    assert_eq!((asked.session.as_str(), asked.transcript.unwrap().to_str()), ("s-1", Some("/home/u/t.jsonl")));
    let shell = json!({"tool_response": {"stdout": "a", "stderr": "b", "interrupted": false}, "duration_ms": 71});
    assert_eq!(output(&read("PostToolUse", &tool(&shell))), ("a\nb", Some(false)));
    let other = json!({"tool_response": {"filePath": "/w/a", "success": true}});
    assert_eq!(output(&read("PostToolUse", &tool(&other))).0, r#"{"filePath":"/w/a","success":true}"#);
    let failed = json!({"error": "Exit code 1", "is_interrupt": false});
    assert_eq!(output(&read("PostToolUseFailure", &tool(&failed))), ("", None), "the exit code is told apart");
    let refused = json!({"error": "<tool_use_error>String not found</tool_use_error>"});
    assert_eq!(output(&read("PostToolUseFailure", &tool(&refused))), ("String not found", Some(true)));
    let found = json!({"tool_response": {"mode": "files_with_matches", "filenames": ["a", "b"], "durationMs": 7}});
    assert_eq!(output(&read("PostToolUse", &tool(&found))).0, "a\nb");
    let cases = [
        ("UserPromptSubmit", json!({"prompt": "x"}), Event::Prompt),
        ("Stop", json!({"stop_hook_active": false}), Event::Claimed(Repeat::First)),
        ("Stop", json!({"stop_hook_active": true}), Event::Claimed(Repeat::Again)),
        ("SessionStart", json!({"source": "startup"}), Event::SessionStarted(Source::Startup)),
        ("SessionStart", json!({"source": "compact"}), Event::SessionStarted(Source::Compacted)),
        ("SessionStart", json!({"source": "fork"}), Event::SessionStarted(Source::Resumed)),
        ("SessionEnd", json!({"reason": "other"}), Event::SessionEnded),
        ("SubagentStart", json!({"agent_id": "a", "agent_type": "x"}), Event::AgentStarted),
        ("SubagentStop", json!({"agent_id": "a", "agent_transcript_path": "/t/a.jsonl"}), Event::AgentEnded),
        ("PreCompact", json!({"trigger": "auto", "custom_instructions": null}), Event::Compacting),
        ("PostCompact", json!({"trigger": "manual", "compact_summary": "x"}), Event::Compacted),
        ("PostToolBatch", json!({"tool_calls": []}), Event::Other),
        ("PermissionRequest", tool(&json!({"permission_suggestions": []})), Event::Other),
        ("MessageDisplay", json!({"index": 0, "final": true, "delta": "x"}), Event::Other),
    ];
    for (event, more, meaning) in cases {
        assert_eq!(read(event, &more).event, meaning, "{event}");
    }
    let agent = read("SubagentStop", &json!({"agent_id": "a", "agent_transcript_path": "/t/a.jsonl"})).agent.unwrap();
    assert_eq!((agent.id.as_str(), agent.transcript.unwrap().to_str()), ("a", Some("/t/a.jsonl")));
}

#[test]
fn codexs_events_are_understood() {
    let read = |event, more: &Value| read(Client::Codex, event, more);
    let done = read("PostToolUse", &tool(&json!({"tool_response": "tick\n", "turn_id": "x", "model": "m"})));
    assert_eq!(output(&done), ("tick\n", None), "it does not say whether it failed");
    let cases = [
        ("UserPromptSubmit", json!({"prompt": "x"}), Event::Prompt),
        ("Stop", json!({"stop_hook_active": true}), Event::Claimed(Repeat::Again)),
        ("SessionStart", json!({"source": "resume"}), Event::SessionStarted(Source::Resumed)),
        ("SessionEnd", json!({"reason": "other"}), Event::SessionEnded),
        ("SubagentStart", json!({"agent_id": "a"}), Event::AgentStarted),
        ("SubagentStop", json!({"agent_id": "a"}), Event::AgentEnded),
        ("PreCompact", json!({"trigger": "auto"}), Event::Compacting),
        ("PostCompact", json!({"trigger": "auto"}), Event::Compacted),
        ("PreModelRequest", json!({"model": "m"}), Event::Other),
        ("Interrupt", json!({}), Event::Other),
    ];
    for (event, more, meaning) in cases {
        assert_eq!(read(event, &more).event, meaning, "{event}");
    }
    let without = json!({"transcript_path": null, "source": "startup"});
    assert_eq!(read("SessionStart", &without).transcript, None, "its path may be null");
}

#[test]
fn geminis_events_are_understood() {
    let read = |event, more: &Value| read(Client::Gemini, event, more);
    let content = "<untrusted_context>\nOutput: tick\nProcess Group PGID: 21106\n</untrusted_context>";
    let done = json!({"tool_response": {"llmContent": content, "returnDisplay": "tick"}});
    assert_eq!(output(&read("AfterTool", &tool(&done))), ("tick", None), "without the frame of the client");
    let failed = json!({"tool_response": {"llmContent": "no such file", "error": {"message": "x"}}});
    assert_eq!(output(&read("AfterTool", &tool(&failed))), ("no such file", Some(true)));
    let asked = json!({"llm_request": {"model": "gemini-2.5-pro", "messages": [{"role": "user", "content": "x"}]}});
    assert_eq!(read("BeforeModel", &asked).event, Event::ModelAsked { model: "gemini-2.5-pro".to_owned() });
    let cases = [
        ("BeforeAgent", json!({"prompt": "x"}), Event::Prompt),
        (
            "AfterAgent",
            json!({"prompt": "x", "prompt_response": "y", "stop_hook_active": false}),
            Event::Claimed(Repeat::First),
        ),
        ("SessionStart", json!({"source": "startup"}), Event::SessionStarted(Source::Startup)),
        ("SessionEnd", json!({"reason": "exit"}), Event::SessionEnded),
        ("PreCompress", json!({"trigger": "auto"}), Event::Other),
        ("AfterModel", json!({"llm_response": {"text": ""}}), Event::Other),
        ("BeforeToolSelection", json!({}), Event::Other),
    ];
    for (event, more, meaning) in cases {
        assert_eq!(read(event, &more).event, meaning, "{event}");
    }
}

#[test]
fn an_event_without_its_tool_is_not_understood() {
    for (client, event) in
        [(Client::Claude, "PreToolUse"), (Client::Codex, "PostToolUse"), (Client::Gemini, "BeforeTool")]
    {
        let error = hooks::read(client, &input(event, &json!({}))).unwrap_err().to_string();
        assert!(error.contains(event) && error.contains("names no tool"), "{error}");
    }
}

/// What a client's answer to an event may hold, as measured: anything else and it may drop the whole.
fn allowed(client: Client, event: &str) -> &'static [&'static str] {
    match (client, event) {
        (Client::Codex, "PreToolUse") => &["hookSpecificOutput"],
        (Client::Codex, _) => &["decision", "reason", "hookSpecificOutput"],
        (Client::Claude | Client::Gemini, _) => &["continue", "stopReason", "decision", "reason", "hookSpecificOutput"],
        (
            Client::Opencode
            | Client::Qwen
            | Client::Aider
            | Client::AnthropicApi
            | Client::OpenAiApi
            | Client::GeminiApi
            | Client::Mcp,
            _,
        ) => &[],
    }
}

#[test]
fn no_answer_holds_what_the_client_would_reject() {
    let refuse = |turn| Answer::Refuse { reason: "why".to_owned(), turn };
    let answers = [
        refuse(Turn::GoesOn),
        refuse(Turn::Ends),
        Answer::Tell("x".to_owned()),
        Answer::Override { text: "x".to_owned(), result: "y".to_owned() },
        Answer::SendBack("x".to_owned()),
        Answer::Shorten(ShortResult { beside: Some("x".to_owned()), bytes: 0, words: "y".to_owned() }),
    ];
    for client in Client::ALL {
        let events = [
            "PreToolUse",
            "PostToolUse",
            "UserPromptSubmit",
            "Stop",
            "SessionStart",
            "SessionEnd",
            "SubagentStart",
            "SubagentStop",
            "PreCompact",
            "PostCompact",
            "BeforeTool",
            "AfterTool",
            "BeforeAgent",
            "AfterAgent",
            "BeforeModel",
            "Other",
        ];
        for event in events {
            let call = read(client, event, &tool(&json!({"tool_response": "x", "llm_request": {"model": "m"}})));
            assert_eq!(hooks::say(&call, &Answer::Pass), hooks::Reply::default());
            for answer in &answers {
                let reply = hooks::say(&call, answer);
                assert_eq!((reply.exit_code, reply.stderr.as_str()), (0, ""));
                if reply.stdout.is_empty() {
                    continue;
                }
                let said: Value = serde_json::from_str(&reply.stdout).unwrap();
                let fields = said.as_object().unwrap();
                assert!(
                    fields.keys().all(|key| allowed(client, event).contains(&key.as_str())),
                    "{client:?} {event} {said}"
                );
                if let Some(own) = fields.get("hookSpecificOutput") {
                    assert_eq!(own["hookEventName"], event, "{client:?}: without its name all is thrown away");
                }
            }
        }
    }
}

proptest! {
    #[test]
    fn no_bytes_make_a_decoder_panic(bytes in proptest::collection::vec(any::<u8>(), 0..400), cut in 0_usize..400) {
        for client in Client::ALL {
            drop(hooks::read(client, &bytes));
            let reply = hooks::broken(client, &bytes, "x");
            prop_assert!(reply.exit_code == 2 && !reply.stderr.is_empty() || !reply.stdout.is_empty());
            let whole = input("PreToolUse", &tool(&json!({})));
            drop(hooks::read(client, &whole[..cut.min(whole.len())]));
        }
    }
}
