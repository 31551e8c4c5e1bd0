//! From a line of JSON to an input of the engine. Bad input gets an error that names the field; nothing is guessed.
//!
//! A line is either an event as the master specification names its fields (with SPEC §3.2's optional ones), or a raw
//! call (`tool`, `args`, `output`, `error`, `exitCode`) from which the facts are computed here, or a full input
//! `{"at":…,"what":{…}}` as the journal holds it.

use crate::formats::scenario::{Expect, Header};
use serde::Deserialize;
use serde_json::value::RawValue;
use std::borrow::Cow;
use tripwire_core::chain::event::{Action, AgentEvent, Flags, Gain, Outcome};
use tripwire_core::explain::Explain;
use tripwire_core::input::{Input, What};
use tripwire_core::label::Label;
use tripwire_core::sketch::Sketch;
use tripwire_core::units::{Count, MicroUsd, RunMillis, Tokens};
use tripwire_observe::{CleanCall, Observer, RawCall};
use tripwire_secrets::Redactor;

/// Why a line is no input.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// A field is missing.
    #[error("field `{field}` is missing")]
    Missing {
        /// Which one.
        field: &'static str,
    },
    /// A field's value is wrong, or the line is no JSON object.
    #[error("{}column {column}: {problem}", field.as_deref().map(|field| format!("field `{field}`, ")).unwrap_or_default())]
    Value {
        /// Where in the object, if it is known.
        field: Option<String>,
        /// The column, from 1.
        column: usize,
        /// What is wrong.
        problem: String,
    },
    /// The line is JSON of another kind, or none at all.
    #[error("column {column}: a JSON object was expected{found}")]
    NoObject {
        /// The column, from 1.
        column: usize,
        /// What stands there instead, where that helps.
        found: &'static str,
    },
    /// Two forms are mixed in one line.
    #[error("field `{field}` cannot be combined with `{beside}`")]
    Mixed {
        /// One field.
        field: &'static str,
        /// The other.
        beside: &'static str,
    },
}

impl Explain for DecodeError {
    fn hint(&self) -> Cow<'_, str> {
        "correct the line; the format: `tripwire help events`".into()
    }
}

/// One decoded line.
#[derive(Debug)]
pub struct Line {
    /// What it says.
    pub content: Content,
    /// What the line expects of the decision, in a scenario.
    pub expect: Option<Box<Expect>>,
}

/// What a line says.
#[derive(Debug)]
pub enum Content {
    /// An input of the engine.
    Input(Box<Input>),
    /// The head of a scenario: which policy it runs under.
    Header(Box<Header>),
}

/// Everything that a line may hold, in one pass, so that a field given twice is seen. Rare parts are boxed: every line
/// pays for the size of this type.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Wire<'a> {
    // The full input.
    at: Option<RunMillis>,
    what: Option<Box<What>>,
    // A scenario.
    scenario: Option<Box<Header>>,
    expect: Option<Box<Expect>>,
    // The raw call.
    #[serde(borrow)]
    tool: Option<Cow<'a, str>>,
    #[serde(borrow)]
    args: Option<&'a RawValue>,
    #[serde(borrow)]
    output: Option<Cow<'a, str>>,
    error: Option<bool>,
    exit_code: Option<i32>,
    #[serde(borrow)]
    text: Option<Cow<'a, str>>,
    // The master specification's event.
    timestamp: Option<RunMillis>,
    token_count: Option<Tokens>,
    tool_calls: Option<Count>,
    latency_ms: Option<RunMillis>,
    output_length: Option<Tokens>,
    output_hash: Option<Label>,
    // What SPEC §3.2 added.
    action: Option<Action>,
    agent_id: Option<Label>,
    cache_read_tokens: Option<Tokens>,
    cache_write_tokens: Option<Tokens>,
    context_tokens: Option<Tokens>,
    context_window: Option<Tokens>,
    cost_micro_usd: Option<MicroUsd>,
    error_digest: Option<Label>,
    error_kind: Option<Label>,
    error_text: Option<Label>,
    flags: Option<Flags>,
    gain: Option<Gain>,
    input_tokens: Option<Tokens>,
    model: Option<Label>,
    outcome: Option<Outcome>,
    output_tokens: Option<Tokens>,
    parent_agent_id: Option<Label>,
    reasoning_tokens: Option<Tokens>,
    result_digest: Option<Label>,
    sketch: Option<Sketch>,
    text_sketch: Option<Sketch>,
    turn_id: Option<Label>,
    user_turn: Option<bool>,
    workspace_hash: Option<Label>,
}

/// Decodes one line. The observer is that of the stream: what is new in a raw call is judged against what came before.
/// What is recorded needs a redactor.
///
/// # Errors
/// When it is no JSON object, or a field is missing, wrong, unknown to its enum, or given twice.
pub fn decode(line: &[u8], observer: &mut Observer, redactor: Option<&Redactor>) -> Result<Line, DecodeError> {
    expect_object(line)?;
    let mut wire: Wire<'_> = serde_json::from_slice(line).map_err(|error| locate(line, &error))?;
    let expect = wire.expect.take();
    let content = match (wire.scenario.take(), wire.what.take()) {
        (Some(_), Some(_)) => return Err(DecodeError::Mixed { field: "what", beside: "scenario" }),
        (Some(header), None) => {
            wire.stands_alone("scenario")?;
            Content::Header(header)
        }
        (None, Some(what)) => {
            wire.stands_alone("what")?;
            Content::Input(Box::new(Input { at: wire.at.ok_or(DecodeError::Missing { field: "at" })?, what: *what }))
        }
        (None, None) => {
            if wire.at.is_some() {
                return Err(DecodeError::Mixed { field: "at", beside: "an event; its time is `timestamp`" });
            }
            let event = if wire.tool.is_some() { wire.raw_event(observer, redactor)? } else { wire.event()? };
            Content::Input(Box::new(Input { at: event.timestamp, what: What::Event(event) }))
        }
    };
    Ok(Line { content, expect })
}

/// Refuses everything but an object: a list of the right length would pass for one.
fn expect_object(line: &[u8]) -> Result<(), DecodeError> {
    let start = line.iter().position(|byte| !byte.is_ascii_whitespace()).unwrap_or(line.len());
    let found = match line.get(start) {
        Some(b'{') => return Ok(()),
        Some(b'[') => " and not a list",
        Some(b'"') => " and not a text",
        Some(0xEF) => "; the line begins with a byte order mark",
        Some(_) | None => "",
    };
    Err(DecodeError::NoObject { column: start + 1, found })
}

impl Wire<'_> {
    /// Refuses the fields of an event beside something that is none: one of the two would be lost.
    fn stands_alone(&self, beside: &'static str) -> Result<(), DecodeError> {
        let fields = [
            ("timestamp", self.timestamp.is_some()),
            ("tool", self.tool.is_some()),
            ("args", self.args.is_some()),
            ("output", self.output.is_some()),
            ("action", self.action.is_some()),
            ("tokenCount", self.token_count.is_some()),
            ("toolCalls", self.tool_calls.is_some()),
            ("latencyMs", self.latency_ms.is_some()),
            ("outputLength", self.output_length.is_some()),
        ];
        match fields.into_iter().find(|(_, given)| *given) {
            Some((field, _)) => Err(DecodeError::Mixed { field, beside }),
            None => Ok(()),
        }
    }

    /// An event whose five fields of the master specification are all there.
    fn event(self) -> Result<AgentEvent, DecodeError> {
        let missing = |field| DecodeError::Missing { field };
        let raw = [
            ("args", self.args.is_some()),
            ("output", self.output.is_some()),
            ("error", self.error.is_some()),
            ("exitCode", self.exit_code.is_some()),
            ("text", self.text.is_some()),
        ];
        if let Some((field, _)) = raw.into_iter().find(|(_, given)| *given) {
            return Err(DecodeError::Mixed { field, beside: "an event without `tool`" });
        }
        Ok(AgentEvent {
            timestamp: self.timestamp.ok_or(missing("timestamp"))?,
            token_count: self.token_count.ok_or(missing("tokenCount"))?,
            tool_calls: self.tool_calls.ok_or(missing("toolCalls"))?,
            latency_ms: self.latency_ms.ok_or(missing("latencyMs"))?,
            output_length: self.output_length.ok_or(missing("outputLength"))?,
            ..self.optional()
        })
    }

    /// An event from a raw call: what the master specification asks for and the line lacks is computed or counts as
    /// nothing; a fact that the line gives stands.
    fn raw_event(self, observer: &mut Observer, redactor: Option<&Redactor>) -> Result<AgentEvent, DecodeError> {
        let timestamp = self.timestamp.ok_or(DecodeError::Missing { field: "timestamp" })?;
        let raw = RawCall {
            tool: self.tool.as_deref().unwrap_or_default(),
            args: self.args.map_or("", RawValue::get),
            output: self.output.as_deref(),
            error: self.error,
            exit_code: self.exit_code,
            text: self.text.as_deref(),
            ..RawCall::default()
        };
        let facts = match redactor {
            Some(redactor) => observer.observe(&CleanCall::of(&raw, redactor).raw()),
            None => observer.observe(&raw),
        };
        let (token_count, tool_calls, latency_ms) = (self.token_count, self.tool_calls, self.latency_ms);
        let output_length = self.output_length;
        let given_flags = self.flags;
        let given = self.optional();
        Ok(AgentEvent {
            timestamp,
            token_count: token_count.unwrap_or_default(),
            tool_calls: tool_calls.unwrap_or(Count::new(1)),
            latency_ms: latency_ms.unwrap_or_default(),
            output_length: output_length.unwrap_or(facts.output_length),
            action: given.action.or(Some(facts.action)),
            outcome: given.outcome.or(Some(facts.outcome)),
            flags: given_flags.unwrap_or(facts.flags),
            result_digest: given.result_digest.or(facts.result_digest),
            error_digest: given.error_digest.or(facts.error_digest),
            error_kind: given.error_kind.or(facts.error_kind),
            error_text: given.error_text.or(facts.error_text),
            gain: given.gain.or(facts.gain),
            ignored: facts.ignored,
            output_hash: given.output_hash.or(facts.output_hash),
            sketch: given.sketch.or(facts.sketch),
            text_sketch: given.text_sketch.or(facts.text_sketch),
            ..given
        })
    }

    /// The optional fields as they were given.
    fn optional(self) -> AgentEvent {
        AgentEvent {
            action: self.action,
            agent_id: self.agent_id,
            cache_read_tokens: self.cache_read_tokens,
            cache_write_tokens: self.cache_write_tokens,
            context_tokens: self.context_tokens,
            context_window: self.context_window,
            cost_micro_usd: self.cost_micro_usd,
            error_digest: self.error_digest,
            error_kind: self.error_kind,
            error_text: self.error_text,
            flags: self.flags.unwrap_or_default(),
            gain: self.gain,
            input_tokens: self.input_tokens,
            model: self.model,
            outcome: self.outcome,
            output_hash: self.output_hash,
            output_tokens: self.output_tokens,
            parent_agent_id: self.parent_agent_id,
            reasoning_tokens: self.reasoning_tokens,
            result_digest: self.result_digest,
            sketch: self.sketch,
            text_sketch: self.text_sketch,
            turn_id: self.turn_id,
            user_turn: self.user_turn.unwrap_or_default(),
            workspace_hash: self.workspace_hash,
            ..AgentEvent::default()
        }
    }
}

/// Finds the field of an error: the line is read once more with a reader that keeps track of it.
fn locate(line: &[u8], error: &serde_json::Error) -> DecodeError {
    let mut reader = serde_json::Deserializer::from_slice(line);
    let field = serde_path_to_error::deserialize::<_, Wire<'_>>(&mut reader)
        .err()
        .map(|error| error.path().to_string())
        .filter(|path| path != "." && !path.contains('?'));
    DecodeError::Value { field, column: error.column(), problem: problem(error) }
}

/// What is wrong, without the place (it is told apart) and without the names of Rust's types.
pub(crate) fn problem(error: &serde_json::Error) -> String {
    const NAMES: [(&str, &str); 5] = [
        ("expected u64", "expected a whole number that is not negative"),
        ("expected u32", "expected a whole number that is not negative"),
        ("expected i32", "expected a whole number"),
        ("expected a boolean", "expected true or false"),
        ("expected ident", "this is not JSON"),
    ];
    let text = error.to_string();
    let mut problem = text.rsplit_once(" at line ").map_or(text.as_str(), |(problem, _)| problem).to_owned();
    for (name, words) in NAMES {
        problem = problem.replace(name, words);
    }
    match problem.find("expected struct ") {
        Some(place) => format!("{}expected an object", &problem[..place]),
        None => problem,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EVENT: &str = r#"{"timestamp":1,"tokenCount":2,"toolCalls":3,"latencyMs":4,"outputLength":5}"#;

    fn input(line: &str) -> Input {
        match decode(line.as_bytes(), &mut Observer::default(), None).unwrap().content {
            Content::Input(input) => *input,
            Content::Header(header) => panic!("{header:?}"),
        }
    }

    fn problem(line: &str) -> String {
        decode(line.as_bytes(), &mut Observer::default(), None).unwrap_err().to_string()
    }

    #[test]
    fn an_event_a_raw_call_and_a_full_input_are_read() {
        assert!(matches!(input(EVENT).what, What::Event(event) if event.tool_calls == Count::new(3)));
        let raw = input(r#"{"timestamp":9,"tool":"Bash","args":{"command":"ls"},"output":"a","exitCode":0}"#);
        let What::Event(event) = raw.what else { panic!("an event") };
        assert_eq!((event.tool_calls, event.output_length), (Count::new(1), Tokens::new(1)));
        assert!(event.action.is_some() && event.result_digest.is_some() && event.sketch.is_some());
        assert_eq!(input(r#"{"at":7,"what":"tick"}"#), Input { at: RunMillis::new(7), what: What::Tick });
    }

    #[test]
    fn what_a_line_gives_stands_over_what_would_be_computed() {
        let line = r#"{"timestamp":0,"tool":"Bash","args":"ls","output":"a","resultDigest":"mine","flags":["wait"]}"#;
        let What::Event(event) = input(line).what else { panic!("an event") };
        assert_eq!(event.result_digest, Label::new("mine"));
        assert_eq!(serde_json::to_string(&event.flags).unwrap(), r#"["wait"]"#);
    }

    #[test]
    fn every_field_of_an_event_survives_the_way_through_a_line() {
        let line = r#"{"timestamp":1,"tokenCount":2,"toolCalls":3,"latencyMs":4,"outputLength":5,"outputHash":"h",
            "action":{"tool":"Bash","argsDigest":"a","signature":"s","target":"t","type":"k"},"agentId":"x",
            "cacheReadTokens":6,"cacheWriteTokens":7,"contextTokens":8,"contextWindow":9,"costMicroUsd":10,
            "errorDigest":"e","errorKind":"k","flags":["edit"],"gain":{"echo":1,"new":2,"total":3},"inputTokens":11,"model":"m","outcome":{"status":"error","exitCode":-1},
            "outputTokens":12,"parentAgentId":"p","reasoningTokens":13,"resultDigest":"r","turnId":"t","userTurn":true,
            "workspaceHash":"w"}"#
            .replace('\n', " ");
        let What::Event(event) = input(&line).what else { panic!("an event") };
        let direct: AgentEvent = serde_json::from_str(&line).unwrap();
        assert_eq!(event, direct, "a field of AgentEvent is missing in the wire form");
    }

    #[test]
    fn bad_lines_name_the_field_and_the_problem() {
        for (line, expected) in [
            ("{", "EOF"),
            ("[1]", "column 1: a JSON object was expected and not a list"),
            ("nonsense", "column 1: a JSON object was expected"),
            ("\u{feff}{}", "byte order mark"),
            (r#"{"timestamp":-1}"#, "expected a whole number that is not negative"),
            (r#"{"at":1,"what":"tick","tool":"Bash"}"#, "field `tool` cannot be combined with `what`"),
            (&EVENT.replace('{', "{\"at\":1,"), "field `at` cannot be combined with"),
            (&EVENT.replace('}', ",\"text\":\"x\"}"), "field `text` cannot be combined with"),
            (&EVENT.replace('}', ",\"action\":5}"), "expected an object"),
            (r#"{"timestamp":1}"#, "field `tokenCount` is missing"),
            (&EVENT.replace("\"tokenCount\":2", "\"tokenCount\":-2"), "field `tokenCount`, column"),
            (
                &EVENT.replace("\"tokenCount\":2", "\"tokenCount\":1152921504606846976"),
                "largest allowed number of tokens",
            ),
            (&EVENT.replace('{', "{\"timestamp\":0,"), "duplicate field `timestamp`"),
            (&EVENT.replace('}', ",\"outcome\":{\"status\":\"maybe\"}}"), "field `outcome.status`"),
            (&EVENT.replace('}', ",\"flags\":[\"dance\"]}"), "unknown flag `dance`"),
            (&EVENT.replace('}', ",\"output\":\"x\"}"), "field `output` cannot be combined with"),
            (r#"{"what":"tick"}"#, "field `at` is missing"),
            (r#"{"at":1,"what":"dance"}"#, "unknown variant `dance`"),
            (r#"{"at":1,"what":"tick","timestamp":4}"#, "cannot be combined with"),
        ] {
            assert!(problem(line).contains(expected), "{line}: {}", problem(line));
        }
        let invalid =
            decode(b"{\"timestamp\":1,\"turnId\":\"\xff\"}", &mut Observer::default(), None).unwrap_err().to_string();
        assert!(invalid.contains("invalid unicode"), "{invalid}");
    }
}
