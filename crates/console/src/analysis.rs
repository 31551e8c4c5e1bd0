//! What a whole journal says, gathered in one walk from its first record: curves, lanes, findings, the graph of calls, totals. The
//! walk decides every input again, so it also knows whether the session replays equal.
//!
//! Everything is bounded, however long the journal is; it is a cache in memory and never the truth.

pub mod curve;
pub mod findings;
pub mod graph;
pub mod lanes;
pub mod totals;

use crate::filter;
use curve::Curve;
use findings::Findings;
use graph::CallGraph;
use lanes::{Lanes, Moment};
use serde::Serialize;
use totals::Totals;
use tripwire_core::chain::Chain;
use tripwire_core::decision::Decision;
use tripwire_core::input::{Input, What};
use tripwire_core::limits::RULES_VERSION;
use tripwire_journal::Record;
use tripwire_session::body::{ReadBody, SessionBody, write_decision};
use tripwire_session::driver::DriverError;

/// What was gathered so far.
#[derive(Debug, Default)]
pub struct Analysis {
    head: Option<SessionBody>,
    chain: Option<Chain>,
    replay: Replay,
    /// The number of the next input.
    next: u64,
    /// What a replay decides for the last input, to be compared with what was journaled.
    decided: Option<String>,
    start_ms: u64,
    last_ms: u64,
    /// Curves.
    pub curve: Curve,
    /// Lanes.
    pub lanes: Lanes,
    /// Findings.
    pub findings: Findings,
    /// The graph of calls.
    pub graph: CallGraph,
    /// Totals.
    pub totals: Totals,
}

/// Whether the session, decided again, decides the same.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[serde(tag = "state", rename_all = "camelCase")]
pub enum Replay {
    /// Every decision so far is equal.
    #[default]
    Equal,
    /// A decision is another one.
    Differs {
        /// Its number.
        i: u64,
    },
    /// It cannot be compared.
    NotCompared {
        /// Why.
        why: String,
    },
}

impl Analysis {
    /// Takes in the next record of the journal.
    ///
    /// # Errors
    /// When the record is none of a session: what comes before it stays.
    pub fn take(&mut self, record: &Record) -> Result<(), DriverError> {
        let bad = |error: serde_json::Error| DriverError::Record { index: record.index, problem: error.to_string() };
        let body: ReadBody<'_> = serde_json::from_str(&record.body).map_err(bad)?;
        self.last_ms = record.times.wall_ms;
        if let Some(head) = body.session {
            self.begin(head, record.times.wall_ms);
        } else if let Some(input) = body.input {
            let input: Input = serde_json::from_str(input.get()).map_err(bad)?;
            self.step(&input)?;
        } else if body.decision.is_some() {
            self.compare(&record.body);
        }
        Ok(())
    }

    fn begin(&mut self, head: SessionBody, wall_ms: u64) {
        self.start_ms = wall_ms;
        match head.policy().map(Chain::new) {
            Ok(Ok(chain)) => {
                if head.rules != RULES_VERSION {
                    let why = format!("it was decided by rules of version {}", head.rules);
                    self.replay = Replay::NotCompared { why };
                }
                self.chain = Some(chain);
            }
            Ok(Err(error)) => self.replay = Replay::NotCompared { why: error.to_string() },
            Err(error) => self.replay = Replay::NotCompared { why: error.to_string() },
        }
        self.head = Some(head);
    }

    fn step(&mut self, input: &Input) -> Result<(), DriverError> {
        let i = self.next;
        self.next += 1;
        self.totals.input(i, input);
        let Some(chain) = &mut self.chain else { return Ok(()) };
        let step = chain.step(input);
        let view = chain.view();
        let moment = Moment { i, at: view.now.get() };
        self.curve.add(moment, &view, || why(input, &step.decision));
        self.lanes.add(moment, input, &step.decision, &view);
        self.findings.add(moment, &step.decision);
        self.totals.decided(moment, input, &step.decision);
        if let What::Event(event) = &input.what
            && let Some(action) = &event.action
        {
            self.graph.add(filter::agent_of(&input.what).unwrap_or_default(), &action.named(), i);
        }
        let run_id = self.head.as_ref().map(|head| head.run_id.as_str()).unwrap_or_default();
        let mut text = String::new();
        write_decision(run_id, &step.decision, &mut text)?;
        self.decided = Some(text);
        Ok(())
    }

    fn compare(&mut self, body: &str) {
        let Some(decided) = self.decided.take() else { return };
        if self.replay == Replay::Equal && decided != body {
            self.replay = Replay::Differs { i: self.next.saturating_sub(1) };
        }
    }

    /// How many inputs were taken in.
    #[must_use]
    pub const fn inputs(&self) -> u64 {
        self.next
    }

    /// Whether the session replays equal, as far as it was walked.
    #[must_use]
    pub const fn replay(&self) -> &Replay {
        &self.replay
    }

    /// When the session began, in milliseconds since 1970.
    #[must_use]
    pub const fn start_ms(&self) -> u64 {
        self.start_ms
    }

    /// When the last record was journaled, in milliseconds since 1970.
    #[must_use]
    pub const fn last_ms(&self) -> u64 {
        self.last_ms
    }

    /// The engine, as far as the walk came.
    #[must_use]
    pub const fn chain(&self) -> Option<&Chain> {
        self.chain.as_ref()
    }

    /// The head of the session.
    #[must_use]
    pub const fn head(&self) -> Option<&SessionBody> {
        self.head.as_ref()
    }
}

/// Why something changed, in one line: what was noticed, else what happened.
fn why(input: &Input, decision: &Decision) -> String {
    match decision.findings.first() {
        Some(finding) => finding.reason.to_string(),
        None => tripwire_session::driver::words::in_short(&input.what),
    }
}

#[cfg(test)]
mod tests;
