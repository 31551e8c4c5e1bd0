//! The budget of our own loop, with a provider that counts as much as one may.

use crate::agent::fixture::AgentFixture;
use crate::gateway::support::{Provider, say};
use serde_json::{Value, json};
use std::net::Shutdown;
use std::sync::{Arc, Mutex};

/// Micro-dollars of a thousand tokens of `gpt-5`, put in and given out.
const PRICES: (u64, u64) = (1_250, 10_000);

/// What a provider counts, from the bytes that it was asked with and the longest answer that it may give.
type Tokens = fn(u64, u64) -> (u64, u64);

/// What is wrong with a provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Trouble {
    Nothing,
    /// Each second connection ends without an answer.
    Breaks,
    /// Each second answer ends in its middle.
    BreaksInside,
    /// The answers name another model.
    Calls(&'static str),
}

/// A provider of the Chat Completions API whose model looks at one thing after the other, and what it has charged.
struct Till {
    provider: Provider,
    charged: Arc<Mutex<u64>>,
}

impl Till {
    fn new(counted: Tokens, steps: usize, trouble: Trouble) -> Self {
        let charged = Arc::new(Mutex::new(0));
        let (till, asked) = (Arc::clone(&charged), Mutex::new(0));
        let provider = Provider::new(move |request, socket| {
            let body: Value = serde_json::from_str(&request.body).unwrap();
            let bytes = texts(&body["messages"]) + texts(&body["tools"]);
            let most = body["max_completion_tokens"].as_u64().or(body["max_tokens"].as_u64()).unwrap();
            let (input, output) = counted(bytes, most);
            *till.lock().unwrap() += (input * PRICES.0 + output * PRICES.1).div_ceil(1_000);
            let mut asked = asked.lock().unwrap();
            *asked += 1;
            let is_second = *asked % 2 == 0;
            if trouble == Trouble::Breaks && is_second {
                return drop(socket.shutdown(Shutdown::Both));
            }
            let (tool, arguments) = match *asked > steps {
                true => ("finish", json!({"summary": "seen"})),
                false => ("shell", json!({"command": format!("echo look {asked}; seq {asked} 90")})),
            };
            let call = json!({"index": 0, "id": format!("c{asked}"), "type": "function", "function": {"name": tool, "arguments": arguments.to_string()}});
            let usage = json!({"prompt_tokens": input, "completion_tokens": output});
            if trouble == Trouble::BreaksInside && is_second {
                let chunk =
                    json!({"id": "x", "model": "gpt-5", "choices": [{"index": 0, "delta": {"tool_calls": [call]}}]});
                return say(socket, "200 OK", "text/event-stream", format!("data: {chunk}\n\n").as_bytes());
            }
            let model = if let Trouble::Calls(model) = trouble { model } else { "gpt-5" };
            let chunk = json!({"id": "x", "model": model, "choices": [{"index": 0, "delta": {"tool_calls": [call]}, "finish_reason": "tool_calls"}], "usage": usage});
            say(socket, "200 OK", "text/event-stream", format!("data: {chunk}\n\ndata: [DONE]\n\n").as_bytes());
        });
        Self { provider, charged }
    }

    fn engine(&self) -> String {
        format!("openai-chat:gpt-5@http://{}/v1", self.provider.address)
    }

    fn charged(&self) -> u64 {
        *self.charged.lock().unwrap()
    }
}

/// The bytes of all texts and names in a value.
fn texts(value: &Value) -> u64 {
    match value {
        Value::String(text) => text.len() as u64,
        Value::Array(values) => values.iter().map(texts).sum(),
        Value::Object(members) => members.iter().map(|(name, value)| name.len() as u64 + texts(value)).sum(),
        Value::Null | Value::Bool(_) | Value::Number(_) => 1,
    }
}

#[test]
fn gate_8_a_provider_that_counts_every_byte_and_answers_at_full_length_is_paid_no_more_than_the_budget() {
    for budget in [60_000_u32, 150_000, 400_000] {
        let fixture = AgentFixture::new();
        let till = Till::new(|bytes, most| (bytes, most), usize::MAX, Trouble::Nothing);
        let limit = format!("{}usd", f64::from(budget) / 1e6);
        let run = fixture.run(&["agent", "--objective", "look", "--engine", &till.engine(), "--budget", &limit]);
        assert_eq!(run.code, 6, "{}", run.stderr);
        assert!(till.charged() <= u64::from(budget), "{} of {budget}", till.charged());
        assert!(till.charged() * 2 > u64::from(budget), "most of it is of use: {} of {budget}", till.charged());
    }
}

#[test]
fn gate_8_work_that_the_budget_pays_for_is_done_although_its_worst_case_is_many_times_as_much() {
    let fixture = AgentFixture::new();
    let till = Till::new(|bytes, _| (bytes / 4, 60), 8, Trouble::Nothing);
    fixture.run(&["agent", "--objective", "look", "--engine", &till.engine(), "--budget", "0.06usd"]).ended(0);
    assert_eq!(till.provider.requests(), 9);
}

#[test]
fn gate_8_lost_answers_and_answers_of_another_name_are_paid_from_the_budget_too() {
    for trouble in
        [Trouble::Breaks, Trouble::BreaksInside, Trouble::Calls("gpt-5-nano"), Trouble::Calls("a-model-of-nobody")]
    {
        let fixture = AgentFixture::new();
        let till = Till::new(|bytes, most| (bytes, most), usize::MAX, trouble);
        let run = fixture.run(&["agent", "--objective", "look", "--engine", &till.engine(), "--budget", "0.40usd"]);
        assert_eq!(run.code, 6, "{trouble:?}: {}", run.stderr);
        assert!(till.charged() <= 400_000, "{trouble:?}: {}", till.charged());
    }
}
