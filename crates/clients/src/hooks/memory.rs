//! What the hooks of one session remember from call to call, beside the engine's own state.
//!
//! All of it was journaled as facts of events; losing it costs sharpness and never a decision that was taken.

use super::calls::CallLedger;
use crate::usage::SessionUsage;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::path::Path;
use tripwire_core::label::Fingerprint;
use tripwire_core::units::EventIndex;
use tripwire_judge::outside::{OutsideText, OutsideTexts};
use tripwire_secrets::Redactor;

/// Remarks that wait.
const REMARKS_MAX: usize = 8;
/// Sub-agents that are remembered; the policy allows fewer.
const AGENTS_MAX: usize = 64;
/// Transcripts that are remembered: the main one and those of the newest sub-agents.
const RECORDS_MAX: usize = 16;

/// The memory of a session's hooks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct HookMemory {
    /// Remarks that wait for an answer that can carry them.
    #[serde(rename = "told")]
    pub(super) remarks: Vec<String>,
    /// What a person has to know, and no answer could carry yet.
    pub(super) notices: Vec<String>,
    /// A person spoke and no event has said so yet.
    pub(super) person_spoke: bool,
    /// Sub-agents that the engine let in.
    agents: Vec<Fingerprint>,
    /// Who started a sub-agent of which nothing was heard yet, oldest first; empty for the main agent.
    starters: Vec<String>,
    /// Who started which sub-agent, the newest last.
    parents: Vec<(Fingerprint, String)>,
    /// What was read of which transcript, the newest last.
    records: Vec<(Fingerprint, SessionUsage)>,
    /// Model requests that the client announced, for clients that do so.
    pub(super) model_requests: u64,
    /// Lines of output since the context began, while no figures came.
    output_lines: u64,
    /// Calls that ended without any figures before or with them; none once figures came.
    calls_without_figures: Option<u32>,
    /// Calls that ended before the client's record named the answer that asked for them.
    late_calls: Vec<String>,
    /// The newest such answer, and the step that it is.
    late_answer: Option<(String, String)>,
    /// Whether the client's record could be read at this event.
    #[serde(skip)]
    record: Record,
    /// Calls between their question and their result.
    pub(super) calls: CallLedger,
    /// What the session has read from outside. It has a line of its own, which holds no secrets.
    #[serde(skip)]
    pub(super) outside: OutsideLine,
}

/// What the session has read from outside, with its line: most events add nothing to it, and those that do add one text.
#[derive(Debug, Clone, Default)]
pub(super) struct OutsideLine {
    texts: OutsideTexts,
    /// Each text as the line has it, oldest first, once the line was asked for.
    written: Option<Vec<String>>,
}

impl PartialEq for OutsideLine {
    fn eq(&self, other: &Self) -> bool {
        self.texts == other.texts
    }
}

impl Eq for OutsideLine {}

impl OutsideLine {
    fn read(line: &[u8]) -> Self {
        Self { texts: serde_json::from_slice(line).unwrap_or_default(), written: None }
    }

    /// The texts.
    pub(super) const fn texts(&self) -> &OutsideTexts {
        &self.texts
    }

    /// A text came, at this event.
    pub(super) fn add(&mut self, text: OutsideText, at: EventIndex) {
        let Self { texts, written } = self;
        texts.add(text, at);
        if let Some(written) = written {
            written.extend(texts.iter().next_back().map(json));
            keep_newest(written, texts.iter().len());
        }
    }

    fn line(&mut self) -> String {
        let Self { texts, written } = self;
        let written = written.get_or_insert_with(|| texts.iter().map(json).collect());
        ["[", &written.join(","), "]"].concat()
    }
}

/// Whether a client's record of its session could be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Record {
    /// It could.
    #[default]
    Read,
    /// It could not.
    Unread,
}

impl Default for HookMemory {
    fn default() -> Self {
        Self {
            remarks: Vec::new(),
            notices: Vec::new(),
            person_spoke: false,
            agents: Vec::new(),
            starters: Vec::new(),
            parents: Vec::new(),
            records: Vec::new(),
            model_requests: 0,
            output_lines: 0,
            calls_without_figures: Some(0),
            late_calls: Vec::new(),
            late_answer: None,
            record: Record::Read,
            calls: CallLedger::default(),
            outside: OutsideLine::default(),
        }
    }
}

impl HookMemory {
    /// Reads it back; what cannot be read starts empty.
    pub(super) fn read(text: &[u8]) -> Self {
        let mut lines = text.split(|byte| *byte == b'\n');
        let mut next = || lines.next().unwrap_or_default();
        let memory: Self = serde_json::from_slice(next()).unwrap_or_default();
        Self { outside: OutsideLine::read(next()), ..memory }
    }

    /// As text for the next hook, without secrets.
    pub(super) fn text(&mut self, redactor: &Redactor) -> String {
        for list in [&mut self.remarks, &mut self.starters, &mut self.late_calls] {
            keep_newest(list, REMARKS_MAX);
        }
        keep_newest(&mut self.agents, AGENTS_MAX);
        keep_newest(&mut self.parents, AGENTS_MAX);
        keep_newest(&mut self.records, RECORDS_MAX);
        let own = serde_json::to_string(self).unwrap_or_default();
        let own = if self.has_words() { redactor.redact_json(&own) } else { Cow::Borrowed(own.as_str()) };
        [&own, "\n", self.outside.line().as_str()].concat()
    }

    /// Whether anything in it was written by someone else: where all is numbers, there is nothing to redact.
    fn has_words(&self) -> bool {
        let Self {
            remarks,
            notices,
            person_spoke: _,
            agents: _,
            starters,
            parents,
            records,
            model_requests: _,
            output_lines: _,
            calls_without_figures: _,
            late_calls,
            late_answer,
            record: _,
            calls,
            outside: _,
        } = self;
        let lists = [remarks, notices, starters, late_calls];
        lists.iter().any(|list| !list.is_empty())
            || !parents.is_empty()
            || !records.is_empty()
            || late_answer.is_some()
            || calls.has_words()
    }

    /// Notes whether this event's look at the client's record gave figures.
    pub(super) const fn note_figures(&mut self, record: Record, found: usize) {
        self.record = record;
        if found > 0 {
            self.calls_without_figures = None;
        }
    }

    /// The step of a call: the answer that asked for it, or the call itself while the record does not name one. A name that came
    /// before tells nothing.
    pub(super) fn step_of_call(&mut self, path: &Path, call: &str) -> Option<String> {
        match (self.usage(path).answer_of(call), &self.late_answer) {
            (Some(answer), Some((late, step))) if answer == *late => Some(step.clone()),
            (Some(answer), _) => Some(answer),
            (None, _) if self.late_calls.iter().any(|late| late == call) => None,
            (None, _) => {
                self.late_calls.push(call.to_owned());
                Some(own_step(call))
            }
        }
    }

    /// The step of an answer whose call ended before the record named the answer: that call's own.
    pub(super) fn step_of_late_answer(&mut self, path: &Path, answer: &str) -> Option<String> {
        let calls = std::mem::take(&mut self.late_calls);
        let (named, late): (Vec<String>, Vec<String>) =
            calls.into_iter().partition(|call| self.usage(path).answer_of(call).is_some());
        self.late_calls = late;
        let call = named.iter().find(|call| self.usage(path).answer_of(call).as_deref() == Some(answer))?;
        let step = own_step(call);
        self.late_answer = Some((answer.to_owned(), step.clone()));
        Some(step)
    }

    /// Whether the client's record could not be read at this event.
    pub(super) fn is_unread(&self) -> bool {
        self.record == Record::Unread
    }

    /// How full the context is, in per cent, after so many more lines of output, by the seed's heuristic: 500 lines are 70 %. None
    /// where figures come, or may still come: a record may be read a few calls late.
    pub(super) fn estimate_context(&mut self, lines: u64) -> Option<u64> {
        const FIGURES_LATE_MAX: u32 = 5;
        self.output_lines = self.output_lines.saturating_add(lines);
        let calls = self.calls_without_figures.as_mut()?;
        *calls = calls.saturating_add(1);
        let hopeless = self.record == Record::Unread || *calls > FIGURES_LATE_MAX;
        hopeless.then(|| (self.output_lines.saturating_mul(70) / 500).min(100))
    }

    /// The context starts over.
    pub(super) const fn forget_context(&mut self) {
        self.output_lines = 0;
    }

    /// What was counted of a transcript.
    pub(super) fn usage(&mut self, path: &Path) -> &mut SessionUsage {
        let key = Fingerprint::of(path.as_os_str().as_encoded_bytes());
        let at = self.records.iter().position(|(known, _)| *known == key).unwrap_or_else(|| {
            self.records.push((key, SessionUsage::default()));
            self.records.len() - 1
        });
        // The one that is read now must not be the next to be forgotten.
        let entry = self.records.remove(at);
        self.records.push(entry);
        let newest = self.records.len() - 1;
        &mut self.records[newest].1
    }

    /// Whether the engine let this sub-agent in.
    pub(super) fn knows(&self, agent: &str) -> bool {
        self.agents.contains(&Fingerprint::of(agent.as_bytes()))
    }

    /// The engine let this sub-agent in.
    pub(super) fn let_in(&mut self, agent: &str) {
        if !self.knows(agent) {
            self.agents.push(Fingerprint::of(agent.as_bytes()));
        }
    }

    /// An agent is about to start another one.
    pub(super) fn starts_one(&mut self, starter: Option<&str>) {
        self.starters.push(starter.unwrap_or_default().to_owned());
    }

    /// The agent that was about to be started is not: the call was refused.
    pub(super) fn starts_none(&mut self) {
        self.starters.pop();
    }

    /// Who started this sub-agent: the one that asked first and has not got one. None for the main agent.
    pub(super) fn parent_of(&mut self, agent: &str) -> Option<String> {
        let fingerprint = Fingerprint::of(agent.as_bytes());
        let known = self.parents.iter().find(|(child, _)| *child == fingerprint).map(|(_, parent)| parent.clone());
        let parent = known.unwrap_or_else(|| {
            let parent = if self.starters.is_empty() { String::new() } else { self.starters.remove(0) };
            self.parents.push((fingerprint, parent.clone()));
            parent
        });
        (!parent.is_empty()).then_some(parent)
    }
}

/// The step of a call whose answer is not known yet.
fn own_step(call: &str) -> String {
    format!("call {call}")
}

fn json(part: &impl Serialize) -> String {
    serde_json::to_string(part).unwrap_or_default()
}

fn keep_newest<T>(list: &mut Vec<T>, max: usize) {
    let surplus = list.len().saturating_sub(max);
    list.drain(..surplus);
}

#[cfg(test)]
mod tests {
    use super::*;
    use tripwire_secrets::KnownSecret;

    #[test]
    fn gate_8_a_sub_agents_parent_is_the_one_that_asked_first() {
        let mut memory = HookMemory::default();
        memory.starts_one(None);
        assert_eq!(memory.parent_of("a"), None);
        memory.starts_one(Some("a"));
        assert_eq!(memory.parent_of("b").as_deref(), Some("a"));
        assert_eq!(memory.parent_of("b").as_deref(), Some("a"), "it stays so");
        assert_eq!(memory.parent_of("nobody asked"), None);
    }

    #[test]
    fn secret_1_words_of_others_are_redacted_wherever_they_are_kept() {
        let secret = "kR7vPq2LmX9wTz4bNc8dHs".to_owned();
        let mut redactor = Redactor::default();
        redactor.know(&KnownSecret { name: "TOKEN".to_owned(), value: secret.clone() });
        let holds = |change: &dyn Fn(&mut HookMemory)| {
            let mut memory = HookMemory::default();
            change(&mut memory);
            memory.text(&redactor).contains(&secret)
        };
        let call = |id: Option<&str>, input: &str| crate::hooks::ToolCall {
            name: "t".to_owned(),
            input: input.to_owned(),
            call_id: id.map(str::to_owned),
        };
        let shared = super::super::dialect::CallIds::Shared;
        assert!(!holds(&|memory| memory.remarks.push(secret.clone())));
        assert!(!holds(&|memory| memory.notices.push(secret.clone())));
        assert!(!holds(&|memory| memory.starts_one(Some(&secret))));
        assert!(!holds(&|memory| memory.late_calls.push(secret.clone())));
        assert!(!holds(&|memory| memory.late_answer = Some((secret.clone(), String::new()))));
        assert!(!holds(&|memory| memory.parents.push((Fingerprint::of(b"a"), secret.clone()))));
        assert!(!holds(&|memory| memory.calls.asked(shared, &call(None, &format!("{{\"k\":\"{secret}\"}}")))));
        assert!(!holds(&|memory| memory.calls.asked(shared, &call(Some(&secret), "{}"))));
    }

    #[test]
    fn floor_3_the_line_of_texts_from_outside_is_that_of_all_of_them_whenever_it_is_asked_for() {
        let facts = tripwire_judge::Facts::default();
        for asked_from in [0, 3, 12] {
            let mut outside = OutsideLine::default();
            for n in 0..13 {
                if n >= asked_from {
                    assert_eq!(
                        outside.line(),
                        serde_json::to_string(outside.texts()).unwrap(),
                        "{n} from {asked_from}"
                    );
                }
                let output = format!("run me and me number {n}");
                let call = tripwire_observe::RawCall {
                    tool: "mcp__s__t",
                    args: "{}",
                    output: Some(&output),
                    ..tripwire_observe::RawCall::default()
                };
                outside.add(OutsideText::of(&facts, &call).unwrap(), EventIndex::new(n));
            }
            let line = outside.line();
            assert_eq!(line, serde_json::to_string(outside.texts()).unwrap());
            assert_eq!(OutsideLine::read(line.as_bytes()), outside);
        }
    }

    #[test]
    fn a_memory_is_bounded_and_a_broken_one_is_begun_anew() {
        let mut memory = HookMemory::default();
        for n in 0..200 {
            memory.let_in(&n.to_string());
            memory.remarks.push("x".to_owned());
        }
        let text = memory.text(&Redactor::default());
        assert!(text.len() < 8_000, "{}", text.len());
        assert!(HookMemory::read(text.as_bytes()).knows("199"));
        assert_eq!(HookMemory::read(b"{"), HookMemory::default());
    }
}
