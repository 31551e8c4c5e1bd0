//! Asking an engine as the loop does.

use crate::support::dialects::Api;
use crate::support::server::Server;
use serde_json::json;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};
use tripwire_agent::engines::{EngineError, Heard, Question, ToolAnswer, ToolSpec, Turn, open};
use tripwire_core::run::record::{Answer, Call, Spent};
use tripwire_core::units::Tokens;

/// The key of all tests; it must never be seen again.
pub(crate) const KEY: &str = "sk-test-0123456789abcdef";

/// The longest that a test waits for an answer which should come at once; generous, because machines are loaded.
pub(crate) const LONG: Duration = Duration::from_secs(60);

/// A conversation with everything in it.
pub(crate) fn conversation() -> Vec<Turn> {
    vec![
        Turn::User("look".to_owned()),
        Turn::Model {
            text: "I look".to_owned(),
            calls: vec![
                Call { id: "call_a".into(), tool: "read".into(), arguments: r#"{"path":"x"}"#.into() },
                Call { id: "call_b".into(), tool: "read".into(), arguments: "{broken".into() },
            ],
        },
        Turn::Results(vec![
            ToolAnswer { id: "call_a".to_owned(), tool: "read".to_owned(), text: "42".to_owned(), is_error: false },
            ToolAnswer { id: "call_b".to_owned(), tool: "read".to_owned(), text: "bad".to_owned(), is_error: true },
        ]),
        Turn::User("go on".to_owned()),
    ]
}

/// The registry of all tests.
pub(crate) fn tools() -> Vec<ToolSpec> {
    let schema = json!({"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]});
    vec![ToolSpec { name: "read".to_owned(), description: "Reads a file".to_owned(), schema }]
}

/// A question over these turns.
pub(crate) fn question<'a>(turns: &'a [Turn], tools: &'a [ToolSpec]) -> Question<'a> {
    Question { system: "be brief", tools, turns, output_tokens_max: Tokens::new(1_000), measured: None }
}

/// Asks one engine by name, with the test key in every variable.
pub(crate) fn ask_name(name: &str, time: Duration) -> (Result<Answer, EngineError>, String) {
    let mut engine = open(name, &|_| Some(KEY.to_owned())).unwrap_or_else(|error| panic!("{error}"));
    let (turns, tools) = (conversation(), tools());
    let mut heard = String::new();
    let answer = engine.ask(&question(&turns, &tools), Instant::now() + time, &mut |piece| {
        if let Heard::Text(text) = piece {
            heard.push_str(text);
        }
        ControlFlow::Continue(())
    });
    (answer, heard)
}

/// Asks, and tells what the question used where it gave no answer.
pub(crate) fn spent_by(name: &str, time: Duration, cut_at: usize) -> (Result<Answer, EngineError>, Option<Spent>) {
    let mut engine = open(name, &|_| Some(KEY.to_owned())).unwrap_or_else(|error| panic!("{error}"));
    let (turns, tools, mut heard) = (conversation(), tools(), 0);
    let answer = engine.ask(&question(&turns, &tools), Instant::now() + time, &mut |piece| {
        if let Heard::Text(text) = piece {
            heard += text.len();
        }
        if heard >= cut_at { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    let spent = engine.spent();
    assert_eq!(engine.spent(), None, "it is told once");
    (answer, spent)
}

/// Asks the engine of an API at a server.
pub(crate) fn ask(api: Api, server: &Server) -> (Result<Answer, EngineError>, String) {
    ask_name(&api.engine(&server.url()), LONG)
}
