//! What `status` shows beside the engine's own figures: the last findings, and how far the journal is signed.

use serde::{Deserialize, Serialize};
use tripwire_core::chain::event::AgentEvent;
use tripwire_core::decision::{Decision, Level};
use tripwire_core::input::{Input, What};
use tripwire_core::units::{EventIndex, RunMillis};

/// Findings that are kept: a screen has no room for more.
const FINDINGS_MAX: usize = 5;

/// Facts that travel with the state file. Losing them loses nothing: the journal and the checkpoints hold them too.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(super) struct Memo {
    /// The newest findings, oldest first.
    pub(super) findings: Vec<RecentFinding>,
    /// How many records the last signed checkpoint covers.
    pub(super) signed: u64,
    /// The model that spoke last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) model: Option<String>,
}

/// A finding in short.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecentFinding {
    /// The decision that carries it, for `tripwire why`.
    pub decision: EventIndex,
    /// When, in milliseconds since the session's start.
    pub at: RunMillis,
    /// How far up the ladder.
    pub level: Level,
    /// The rule.
    pub rule: String,
    /// In one sentence.
    pub reason: String,
}

impl Memo {
    /// Takes in an input and what its decision found.
    pub(super) fn note(&mut self, input: &Input, decision: &Decision) {
        if let What::Event(AgentEvent { model: Some(model), .. }) = &input.what {
            self.model = Some(model.as_str().to_owned());
        }
        for finding in &decision.findings {
            if self.findings.len() >= FINDINGS_MAX {
                self.findings.remove(0);
            }
            self.findings.push(RecentFinding {
                decision: decision.i,
                at: input.at,
                level: finding.level,
                rule: finding.rule.id().to_owned(),
                reason: finding.reason.clone(),
            });
        }
    }
}
