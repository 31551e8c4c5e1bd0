//! The records of a session: its tool calls, the model calls of our own loop, and what was decided.

use crate::attribute::Attribute;
use crate::calls::{ModelCall, SpanPlace, root_of, span_of, trace_of};
use crate::metrics::MetricsState;
use crate::otlp::{Span, SpanEvent, SpanKind, SpanStatus};
use serde::Deserialize;
use serde_json::Value;
use tripwire_core::record::chain::Digest;
use tripwire_core::units::Tokens;
use tripwire_core::usage::Usage;
use tripwire_journal::Record;

/// Follows one session: an input and the decision behind it are told together.
#[derive(Debug)]
pub(crate) struct SessionTrace {
    session: String,
    /// Who works in it.
    agent: String,
    waiting: Option<WaitingInput>,
    began_ms: Option<u64>,
    last_ms: u64,
    /// How the session stands: the rule that does not let it go on.
    refused_by: Option<String>,
    tool_calls: u64,
}

#[derive(Debug)]
struct WaitingInput {
    what: Value,
    hash: Digest,
    wall_ms: u64,
}

/// A record's body, as far as it matters here.
#[derive(Deserialize)]
struct SessionLine {
    input: Option<InputLine>,
    decision: Option<DecisionLine>,
}

#[derive(Deserialize)]
struct InputLine {
    what: Value,
}

#[derive(Deserialize)]
struct DecisionLine {
    activity: ActivityLine,
    #[serde(default)]
    findings: Vec<FindingLine>,
    intent: IntentLine,
    safety: SafetyLine,
}

#[derive(Deserialize)]
struct ActivityLine {
    mode: String,
}

#[derive(Deserialize)]
struct IntentLine {
    intent: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct SafetyLine {
    allowed: bool,
    rule: String,
    veto_reason: Option<String>,
}

#[derive(Deserialize)]
struct FindingLine {
    rule: String,
    level: String,
    #[serde(rename = "type")]
    kind: String,
}

impl SessionTrace {
    pub(crate) const fn new(session: String, agent: String) -> Self {
        Self { session, agent, waiting: None, began_ms: None, last_ms: 0, refused_by: None, tool_calls: 0 }
    }

    /// Takes the next record and gives the spans that it completes.
    pub(crate) fn take(&mut self, record: &Record, metrics: &mut MetricsState) -> Vec<Span> {
        let wall_ms = record.times.wall_ms;
        self.began_ms.get_or_insert(wall_ms);
        self.last_ms = self.last_ms.max(wall_ms);
        // A record of another form says nothing about calls.
        let Ok(line) = serde_json::from_str::<SessionLine>(&record.body) else { return Vec::new() };
        if let Some(InputLine { what }) = line.input {
            self.waiting = Some(WaitingInput { what, hash: record.hash, wall_ms });
        }
        match (line.decision, self.waiting.take()) {
            (Some(decision), Some(input)) => self.pair(&input, &decision, metrics),
            (Some(_), None) => Vec::new(),
            (None, waiting) => {
                self.waiting = waiting;
                Vec::new()
            }
        }
    }

    /// The span that holds all of the session, once it is over here.
    pub(crate) fn root(&self) -> Option<Span> {
        let refused = self.refused_by.as_ref().map(|rule| Attribute::text("tripwire.decision.rule", rule.clone()));
        let attributes = [
            Attribute::text("gen_ai.operation.name", "invoke_agent"),
            Attribute::text("gen_ai.agent.name", self.agent.clone()),
            Attribute::text("gen_ai.conversation.id", self.session.clone()),
            Attribute::integer("tripwire.session.tool_calls", self.tool_calls),
            Attribute::of("tripwire.decision.allowed", self.refused_by.is_none()),
        ];
        Some(Span {
            trace: trace_of(&self.session),
            id: root_of(&self.session),
            parent: None,
            name: format!("invoke_agent {}", self.agent),
            kind: SpanKind::Internal,
            start_ms: self.began_ms?,
            end_ms: self.last_ms,
            attributes: attributes.into_iter().chain(refused).collect(),
            events: Vec::new(),
            status: SpanStatus::Unset,
        })
    }

    fn pair(&mut self, input: &WaitingInput, decision: &DecisionLine, metrics: &mut MetricsState) -> Vec<Span> {
        self.refused_by = (!decision.safety.allowed).then(|| decision.safety.rule.clone());
        let mut spans = Vec::new();
        let event = input.what.get("event");
        if let Some(call) = event.and_then(|event| model_call(event, input.wall_ms)) {
            let more = [Attribute::text("gen_ai.conversation.id", self.session.clone())];
            let call = ModelCall { more: more.into(), ..call };
            spans.push(call.tell(SpanPlace::of_session(&self.session), &input.hash, metrics));
        }
        let request = input.what.get("request");
        let tool = |part: Option<&Value>| text(part?, "/action/tool").map(str::to_owned);
        match (tool(event), tool(request)) {
            (Some(tool), _) => {
                self.tool_calls += 1;
                spans.push(self.tool_span(&tool, input, decision, metrics));
            }
            (None, Some(tool)) => {
                spans.push(self.decision_span(&format!("decide {tool}"), Some(tool), input, decision))
            }
            (None, None) if !decision.findings.is_empty() => {
                spans.push(self.decision_span(&format!("decide {}", kind(&input.what)), None, input, decision));
            }
            (None, None) => return spans,
        }
        metrics.count_decision(vec![
            Attribute::of("tripwire.decision.allowed", decision.safety.allowed),
            Attribute::text("tripwire.decision.rule", decision.safety.rule.clone()),
        ]);
        spans
    }

    fn tool_span(&self, tool: &str, input: &WaitingInput, decision: &DecisionLine, metrics: &mut MetricsState) -> Span {
        let event = input.what.get("event").unwrap_or(&Value::Null);
        let duration_ms = number(event, "/latencyMs");
        let failed = text(event, "/outcome/status") == Some("error");
        let error = failed.then(|| text(event, "/outcome/errorClass").unwrap_or("tool_error").to_owned());
        let error = error.map(|error| Attribute::text("error.type", error));
        let names =
            [Attribute::text("gen_ai.operation.name", "execute_tool"), Attribute::text("gen_ai.tool.name", tool)];
        metrics.time_tool(names.iter().cloned().chain(error.clone()).collect(), duration_ms);
        let span = self.decision_span(&format!("execute_tool {tool}"), None, input, decision);
        Span {
            id: span_of(&input.hash, "tool"),
            start_ms: input.wall_ms.saturating_sub(duration_ms),
            status: if failed { SpanStatus::Error } else { SpanStatus::Unset },
            attributes: names.into_iter().chain(error).chain(span.attributes).collect(),
            ..span
        }
    }

    fn decision_span(&self, name: &str, tool: Option<String>, input: &WaitingInput, decision: &DecisionLine) -> Span {
        let veto = decision.safety.veto_reason.clone();
        let of_agent = ["/event/agentId", "/request/agentId"].iter().find_map(|path| text(&input.what, path));
        let attributes = [
            Attribute::text("gen_ai.conversation.id", self.session.clone()),
            Attribute::of("tripwire.decision.allowed", decision.safety.allowed),
            Attribute::text("tripwire.decision.rule", decision.safety.rule.clone()),
            Attribute::text("tripwire.decision.intent", decision.intent.intent.clone()),
            Attribute::text("tripwire.activity.mode", decision.activity.mode.clone()),
        ];
        let more = [
            tool.map(|tool| Attribute::text("gen_ai.tool.name", tool)),
            veto.map(|veto| Attribute::text("tripwire.decision.veto", veto)),
            of_agent.map(|agent| Attribute::text("gen_ai.agent.id", agent)),
        ];
        let found = |finding: &FindingLine| SpanEvent {
            name: "tripwire.finding",
            at_ms: input.wall_ms,
            attributes: vec![
                Attribute::text("tripwire.finding.rule", finding.rule.clone()),
                Attribute::text("tripwire.finding.level", finding.level.clone()),
                Attribute::text("tripwire.finding.type", finding.kind.clone()),
            ],
        };
        Span {
            trace: trace_of(&self.session),
            id: span_of(&input.hash, "decide"),
            parent: Some(root_of(&self.session)),
            name: name.to_owned(),
            kind: SpanKind::Internal,
            start_ms: input.wall_ms,
            end_ms: input.wall_ms,
            attributes: attributes.into_iter().chain(more.into_iter().flatten()).collect(),
            events: decision.findings.iter().map(found).collect(),
            status: SpanStatus::Unset,
        }
    }
}

/// The model call that an event tells of, where its source counted tokens.
fn model_call(event: &Value, end_ms: u64) -> Option<ModelCall> {
    let model = text(event, "/model")?.to_owned();
    let tokens = |path: &str| Tokens::new(number(event, path));
    let reasoning = tokens("/reasoningTokens");
    let output = Tokens::new(number(event, "/outputTokens").saturating_sub(reasoning.get()));
    let usage = Usage {
        cache_read: tokens("/cacheReadTokens"),
        cache_write: tokens("/cacheWriteTokens"),
        fresh_input: tokens("/inputTokens"),
        output,
        reasoning,
        ..Usage::default()
    };
    if usage.total().is_zero() {
        return None;
    }
    // An event with a tool took the tool's time.
    let is_tool = event.get("action").is_some();
    Some(ModelCall {
        provider: None,
        model,
        usage,
        micro_usd: number(event, "/costMicroUsd"),
        end_ms,
        duration_ms: if is_tool { 0 } else { number(event, "/latencyMs") },
        error: None,
        more: Vec::new(),
    })
}

/// What kind of input it was.
fn kind(what: &Value) -> &str {
    match what {
        Value::String(name) => name,
        Value::Object(members) => members.keys().next().map_or("input", String::as_str),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => "input",
    }
}

fn text<'v>(value: &'v Value, path: &str) -> Option<&'v str> {
    value.pointer(path).and_then(Value::as_str)
}

fn number(value: &Value, path: &str) -> u64 {
    value.pointer(path).and_then(Value::as_u64).unwrap_or(0)
}
