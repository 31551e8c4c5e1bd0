//! What a session did in all: calls, models, files, refusals, what people did, what was claimed.

use super::lanes::Moment;
use crate::rows;
use serde::Serialize;
use std::collections::BTreeMap;
use tripwire_core::chain::event::{AgentEvent, Flag};
use tripwire_core::decision::{Decision, FindingKind};
use tripwire_core::input::{HumanAct, Input, What};
use tripwire_session::driver::words;

/// Entries of each list that are kept: the newest ones of lists, the first ones of tables.
const LISTED_MAX: usize = 400;

/// The totals.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Totals {
    /// Calls that ended.
    pub calls: u64,
    /// Calls that failed.
    pub failed: u64,
    /// Requests that were not let through.
    pub refused: u64,
    /// Tokens that the budget counts.
    pub tokens: u64,
    /// Calls by tool.
    pub tools: BTreeMap<String, ToolTotal>,
    /// Model calls by model.
    pub models: BTreeMap<String, ModelTotal>,
    /// Files that changed, with the last input that changed them.
    pub files: BTreeMap<String, ChangedFile>,
    /// Requests that were not let through, oldest first.
    pub refusals: Vec<Refusal>,
    /// What people did, oldest first.
    pub people: Vec<Told>,
    /// Models or engines that went on for others.
    pub switches: Vec<Told>,
    /// When the agent said that it was done, and what was answered.
    pub claims: Vec<ClaimAnswer>,
    /// Sub-agents that were seen.
    pub agents: Vec<String>,
}

/// The calls of a tool.
#[derive(Debug, Default, Serialize)]
pub struct ToolTotal {
    /// How many.
    pub calls: u64,
    /// How many failed.
    pub failed: u64,
    /// How long they ran, in milliseconds.
    pub ms: u64,
}

/// The calls of a model.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ModelTotal {
    /// How many.
    pub calls: u64,
    /// What they cost, in micro-dollars.
    pub micro_usd: u64,
    /// Their tokens that the budget counts.
    pub tokens: u64,
}

/// A file that changed.
#[derive(Debug, Default, Serialize)]
pub struct ChangedFile {
    /// How often.
    pub times: u64,
    /// The last input that changed it.
    pub i: u64,
    /// Whether it holds tests.
    pub test: bool,
}

/// A call that was not let through.
#[derive(Debug, Serialize)]
pub struct Refusal {
    /// The decision.
    pub i: u64,
    /// Milliseconds since the start.
    pub at: u64,
    /// The call.
    pub call: String,
    /// The rule.
    pub rule: &'static str,
    /// Why.
    pub reason: String,
}

/// Something that was done, in words.
#[derive(Debug, Serialize)]
pub struct Told {
    /// The input.
    pub i: u64,
    /// Milliseconds since the start.
    pub at: u64,
    /// What.
    pub what: String,
}

/// What was answered when the agent said that it was done.
#[derive(Debug, Serialize)]
pub struct ClaimAnswer {
    /// The decision.
    pub i: u64,
    /// Milliseconds since the start.
    pub at: u64,
    /// Whether it was accepted.
    pub accepted: bool,
    /// The answer.
    pub answer: String,
}

impl Totals {
    /// Counts an input.
    pub(super) fn input(&mut self, i: u64, input: &Input) {
        if let What::Event(event) = &input.what {
            self.event(i, event);
        } else if let What::ModelSpend(spend) = &input.what {
            self.model(spend.model.as_str(), spend.micro_usd.get(), spend.price().tokens.get());
        } else if let What::Request(request) = &input.what
            && let Some(agent) = &request.agent_id
        {
            self.agent(agent.as_str());
        }
    }

    fn event(&mut self, i: u64, event: &AgentEvent) {
        self.tokens = self.tokens.saturating_add(event.budget_tokens().get());
        if let Some(agent) = &event.agent_id {
            self.agent(agent.as_str());
        }
        if let Some(model) = &event.model {
            let cost = event.cost_micro_usd.unwrap_or_default().get();
            self.model(model.as_str(), cost, event.budget_tokens().get());
        }
        let Some(action) = &event.action else { return };
        self.calls += 1;
        self.failed += u64::from(event.failed());
        if let Some(tool) = entry(&mut self.tools, action.tool.as_str()) {
            tool.calls += 1;
            tool.failed += u64::from(event.failed());
            tool.ms = tool.ms.saturating_add(event.latency_ms.get());
        }
        match &event.changes {
            Some(changes) => {
                for path in changes.code.iter().chain(&changes.other).chain(&changes.tests) {
                    let is_test = changes.tests.contains(path);
                    if let Some(file) = self.file(path.as_str(), i) {
                        file.test |= is_test;
                    }
                }
            }
            None if event.flags.has(Flag::Edit) && !event.failed() => {
                if let Some(path) = &action.target {
                    self.file(path.as_str(), i);
                }
            }
            None => {}
        }
    }

    fn agent(&mut self, agent: &str) {
        if self.agents.len() < LISTED_MAX && !self.agents.iter().any(|known| known == agent) {
            self.agents.push(agent.to_owned());
        }
    }

    fn model(&mut self, model: &str, micro_usd: u64, tokens: u64) {
        if let Some(total) = entry(&mut self.models, model) {
            total.calls += 1;
            total.micro_usd = total.micro_usd.saturating_add(micro_usd);
            total.tokens = total.tokens.saturating_add(tokens);
        }
    }

    fn file(&mut self, path: &str, i: u64) -> Option<&mut ChangedFile> {
        let file = entry(&mut self.files, path)?;
        file.times += 1;
        file.i = i;
        Some(file)
    }

    /// Counts what was decided on it.
    pub(super) fn decided(&mut self, moment: Moment, input: &Input, decision: &Decision) {
        let Moment { i, at } = moment;
        let safety = &decision.safety;
        match &input.what {
            What::Request(_) if !safety.allowed => {
                self.refused += 1;
                let call = input.what.action().map(|action| action.named().into_owned()).unwrap_or_default();
                let (rule, reason) = (safety.rule.id(), safety.reason.to_string());
                keep(&mut self.refusals, Refusal { i, at, call, rule, reason });
            }
            // A prompt is a person's work, and no act on the guard.
            What::Human(HumanAct::Prompt) => {}
            What::Human(act) => {
                let effect = decision.findings.iter().find(|finding| finding.kind == FindingKind::ManualOverride);
                let what = rows::of_person(act, effect.map(|finding| finding.reason.as_str()));
                keep(&mut self.people, Told { i, at, what });
            }
            What::EngineSwitched(_) => keep(&mut self.switches, Told { i, at, what: words::in_short(&input.what) }),
            What::Claim(_) => {
                let missing = decision.sent_back();
                let answer = missing.map_or(&safety.reason, |finding| &finding.reason).to_string();
                keep(&mut self.claims, ClaimAnswer { i, at, accepted: safety.allowed && missing.is_none(), answer });
            }
            What::ToolsSeen(_)
            | What::Request(_)
            | What::Event(_)
            | What::Result(_)
            | What::Tick
            | What::Advisor(_)
            | What::Review(_)
            | What::IterationStarted
            | What::WorkspaceMeasured(_)
            | What::ReportStands(_)
            | What::Compacted(_)
            | What::Fault(_)
            | What::PolicyDrift(_)
            | What::ModelSpend(_)
            | What::SandboxHeld(_) => {}
        }
    }
}

/// The entry of a name, unless the table is full.
fn entry<'a, T: Default>(table: &'a mut BTreeMap<String, T>, name: &str) -> Option<&'a mut T> {
    if table.len() >= LISTED_MAX && !table.contains_key(name) {
        return None;
    }
    Some(table.entry(name.to_owned()).or_default())
}

fn keep<T>(list: &mut Vec<T>, one: T) {
    if list.len() >= LISTED_MAX {
        list.drain(..LISTED_MAX / 4);
    }
    list.push(one);
}
