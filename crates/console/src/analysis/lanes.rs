//! What each agent of the tree did when: its model thought, its tool ran, it was held, it waited for a person.

use crate::filter::agent_of;
use serde::Serialize;
use std::collections::BTreeMap;
use tripwire_core::chain::ChainView;
use tripwire_core::chain::event::AgentEvent;
use tripwire_core::decision::Decision;
use tripwire_core::input::{Input, What};

/// An input's number and its time in the session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Moment {
    /// The number.
    pub i: u64,
    /// Milliseconds since the start.
    pub at: u64,
}

/// Agents that have a lane of their own; what the others do is shown together.
const LANES_MAX: usize = 48;
/// Spans of one lane; when there are more, the shortest neighbours become one.
const SPANS_MAX: usize = 1_500;
/// A longer silence is a person's or a client's, not the model's.
const THINKING_MS_MAX: u64 = 10 * 60 * 1_000;

/// The lanes by agent.
#[derive(Debug, Default)]
pub struct Lanes {
    lanes: BTreeMap<String, Lane>,
    waits: Vec<Span>,
    waiting_since: Option<Moment>,
    last: u64,
}

#[derive(Debug, Default)]
struct Lane {
    spans: Vec<Span>,
    /// When the agent was last heard of.
    heard: Option<u64>,
    /// The call that it asked for and that has not ended.
    open: Option<Moment>,
    /// That call in a few words.
    open_label: String,
    /// What its calls cost, where they say so, in micro-dollars.
    micro_usd: u64,
}

/// What an agent did for a while.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Span {
    /// What it was.
    pub kind: SpanKind,
    /// From when, in milliseconds since the start.
    pub from: u64,
    /// Until when.
    pub to: u64,
    /// The input that ended it.
    pub i: u64,
    /// In a few words.
    pub label: String,
}

/// What an agent was doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum SpanKind {
    /// Its model thought.
    Model,
    /// A tool ran.
    Tool,
    /// A tool ran and failed.
    Failed,
    /// A call was not let through.
    Held,
    /// The session waited for a person.
    Wait,
}

/// A lane as it is shown.
#[derive(Debug, Serialize)]
pub struct ShownLane<'a> {
    /// The agent; empty for the main one.
    pub agent: &'a str,
    /// What it did.
    pub spans: Vec<&'a Span>,
}

/// What an agent of the tree does now.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct AgentNow<'a> {
    /// The agent; empty for the main one.
    pub agent: &'a str,
    /// The call that runs, or the last one.
    pub call: &'a str,
    /// What became of that call; nothing while it runs.
    pub ended: Option<SpanKind>,
    /// When it was last heard of, in milliseconds since the start.
    pub heard: Option<u64>,
    /// What its calls cost, where they say so, in micro-dollars.
    pub micro_usd: u64,
}

impl Lanes {
    /// The agents, the main one first, each with what it does now.
    #[must_use]
    pub fn agents(&self) -> Vec<AgentNow<'_>> {
        let agents = self.lanes.iter().map(|(agent, lane)| {
            let last = lane.spans.iter().rfind(|span| span.kind != SpanKind::Model);
            let (call, ended) = match (&lane.open, last) {
                (Some(_), _) => (lane.open_label.as_str(), None),
                (None, Some(last)) => (last.label.as_str(), Some(last.kind)),
                (None, None) => ("", Some(SpanKind::Model)),
            };
            AgentNow { agent, call, ended, heard: lane.heard, micro_usd: lane.micro_usd }
        });
        agents.collect()
    }

    pub(super) fn add(&mut self, moment: Moment, input: &Input, decision: &Decision, view: &ChainView) {
        self.last = moment.at;
        let stands = view.held.is_some() || view.stopped.is_some();
        match (stands, self.waiting_since) {
            (true, None) => self.waiting_since = Some(moment),
            (false, Some(since)) => {
                self.waits.push(wait(since, moment.at));
                self.waiting_since = None;
                bound(&mut self.waits);
            }
            (true, Some(_)) | (false, None) => {}
        }
        let Some(action) = input.what.action() else { return };
        let agent = agent_of(&input.what).unwrap_or_default();
        let lane = self.lane(agent);
        let label = &*action.named();
        if let What::Event(event) = &input.what {
            lane.ended(moment, event, label);
        } else {
            lane.asked(moment, decision, label);
        }
        bound(&mut lane.spans);
    }

    fn lane(&mut self, agent: &str) -> &mut Lane {
        let known = self.lanes.contains_key(agent) || self.lanes.len() < LANES_MAX;
        let name = if known { agent } else { "other agents" };
        self.lanes.entry(name.to_owned()).or_default()
    }

    /// The lanes, the main agent first; the waits of the session stand in its lane.
    #[must_use]
    pub fn shown(&self) -> Vec<ShownLane<'_>> {
        let lanes = self.lanes.iter().map(|(agent, lane)| {
            let waits = self.waits.iter().filter(|_| agent.is_empty());
            let mut spans: Vec<&Span> = lane.spans.iter().chain(waits).collect();
            spans.sort_by_key(|span| span.from);
            ShownLane { agent, spans }
        });
        lanes.collect()
    }

    /// Since when the session waits, if it does.
    #[must_use]
    pub const fn waiting_since(&self) -> Option<Moment> {
        self.waiting_since
    }

    /// The newest time, in milliseconds since the start.
    #[must_use]
    pub const fn last(&self) -> u64 {
        self.last
    }
}

impl Lane {
    fn asked(&mut self, moment: Moment, decision: &Decision, label: &str) {
        self.thought(moment.at, moment.i);
        if decision.safety.allowed {
            self.open = Some(moment);
            self.open_label = label.chars().take(LABEL_CHARS).collect();
        } else {
            self.push(SpanKind::Held, (moment.at, moment.at), moment.i, label);
        }
        self.heard = Some(moment.at);
    }

    fn ended(&mut self, moment: Moment, event: &AgentEvent, label: &str) {
        self.micro_usd = self.micro_usd.saturating_add(event.cost_micro_usd.unwrap_or_default().get());
        let ran = moment.at.saturating_sub(event.latency_ms.get());
        let from = self.open.take().map_or(ran, |open| open.at).max(self.heard.unwrap_or_default().min(moment.at));
        self.thought(from, moment.i);
        let kind = if event.failed() { SpanKind::Failed } else { SpanKind::Tool };
        self.push(kind, (from, moment.at), moment.i, label);
        self.heard = Some(moment.at);
    }

    fn thought(&mut self, until: u64, i: u64) {
        if let Some(heard) = self.heard.filter(|heard| *heard < until && until - heard <= THINKING_MS_MAX) {
            self.push(SpanKind::Model, (heard, until), i, "model");
        }
    }

    fn push(&mut self, kind: SpanKind, (from, to): (u64, u64), i: u64, label: &str) {
        self.spans.push(Span { kind, from, to, i, label: label.chars().take(LABEL_CHARS).collect() });
    }
}

/// A span's label is a hint; the whole call is in its record.
const LABEL_CHARS: usize = 80;

fn wait(since: Moment, until: u64) -> Span {
    Span { kind: SpanKind::Wait, from: since.at, to: until, i: since.i, label: "waits for a person".to_owned() }
}

/// Joins neighbours that are too short to be seen, where there are too many.
fn bound(spans: &mut Vec<Span>) {
    if spans.len() <= SPANS_MAX {
        return;
    }
    let whole = spans.last().map_or(0, |last| last.to).saturating_sub(spans.first().map_or(0, |first| first.from));
    let least = whole / 1_000;
    let all = std::mem::take(spans);
    for span in all {
        match spans.last_mut() {
            Some(last) if span.to.saturating_sub(last.from) <= least && last.kind != SpanKind::Held => {
                if span.to - span.from > last.to - last.from || span.kind == SpanKind::Held {
                    (last.kind, last.i) = (span.kind, span.i);
                    last.label = span.label;
                }
                last.to = span.to;
            }
            Some(_) | None => spans.push(span),
        }
    }
    // Events that all lie far apart: the older ones go.
    let surplus = spans.len().saturating_sub(SPANS_MAX * 3 / 4);
    spans.drain(..surplus);
}
