//! What `status` shows beside the engine's own figures: the last findings, and how far the journal is signed.

use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use tripwire_core::chain::event::{AgentEvent, Flag, TestResult};
use tripwire_core::decision::{Decision, Level};
use tripwire_core::input::{Input, What};
use tripwire_core::label::{self, Label};
use tripwire_core::units::{EventIndex, RunMillis};

/// Findings that are kept: a screen has no room for more.
const FINDINGS_MAX: usize = 5;
/// Changed files that are told apart; beyond it the figure stands still.
const FILES_MAX: usize = 1_000;

/// Attempts that a report names.
const ATTEMPTS_MAX: usize = 12;
/// Signatures that the manifest shows: the seed's history.
const SIGNATURES_MAX: usize = 10;
/// The most of one signature.
const SIGNATURE_BYTES_MAX: usize = 160;
/// Open calls that are followed; a client has few at once.
const OPEN_CALLS_MAX: usize = 64;

/// Facts that travel with the state file. Losing them loses nothing: the journal and the checkpoints hold them too.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(super) struct Memo {
    /// The newest findings, oldest first.
    pub(super) findings: Vec<RecentFinding>,
    /// How many records the last signed checkpoint covers.
    pub(super) signed: u64,
    /// The model that spoke last.
    pub(super) model: Option<String>,
    /// What was done so far, for the checkpoint.
    pub(super) progress: Progress,
    /// The newest tool signatures, oldest first, as the manifest shows them.
    pub(super) signatures: Vec<String>,
    /// All calls that were seen.
    pub(super) calls: u64,
    /// When the context was last compacted.
    pub(super) compacted_at: Option<RunMillis>,
    /// Calls that were allowed and have no result yet, by their fingerprint, oldest first.
    open_calls: Vec<u64>,
}

/// What a session has done, in figures.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(super) struct Progress {
    /// The files that were changed, by the fingerprint of their path; at most [`FILES_MAX`] are told apart.
    files: BTreeSet<u64>,
    /// Test runs.
    pub(super) tests_run: u64,
    /// Test runs that passed.
    pub(super) tests_passed: u64,
    /// The newest action, in words.
    pub(super) last_action: Option<String>,
    /// What was tried last, the newest at the end; at most [`ATTEMPTS_MAX`].
    pub(super) attempts: Vec<Attempt>,
}

/// One action that was tried, and how that went.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Attempt {
    /// The action, in words.
    pub(super) what: String,
    /// How often.
    pub(super) times: u32,
    /// How often it failed.
    pub(super) failed: u32,
}

impl Progress {
    /// How many files were changed.
    pub(super) fn files_modified(&self) -> u64 {
        u64::try_from(self.files.len()).unwrap_or(u64::MAX)
    }

    fn note_attempt(&mut self, what: &str, event: &AgentEvent) {
        let known = self.attempts.iter().position(|attempt| attempt.what == what);
        let before = known.map(|at| self.attempts.remove(at)).map_or((0, 0), |attempt| (attempt.times, attempt.failed));
        if self.attempts.len() >= ATTEMPTS_MAX {
            self.attempts.remove(0);
        }
        let (times, failed) = (before.0.saturating_add(1), before.1.saturating_add(u32::from(event.failed())));
        self.attempts.push(Attempt { what: what.to_owned(), times, failed });
    }

    fn note(&mut self, event: &AgentEvent) {
        let Some(action) = &event.action else { return };
        let named = action.named();
        self.note_attempt(&named, event);
        self.last_action = Some(named.into_owned());
        if event.flags.has(Flag::Edit) && !event.failed() && self.files.len() < FILES_MAX {
            let target = action.target.as_ref().map_or_else(|| action.exact(), Label::fingerprint);
            self.files.insert(target.get());
        }
        if event.flags.has(Flag::Test) {
            self.tests_run += 1;
            let passed = event.outcome.is_some_and(|outcome| outcome.test == Some(TestResult::Passed));
            self.tests_passed += u64::from(passed);
        }
    }
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
    /// Whether a call of the agent may be running.
    pub(super) const fn has_open_calls(&self) -> bool {
        !self.open_calls.is_empty()
    }

    /// Follows calls from their question to their result. A prompt and a claim end the turn, and with it every call.
    fn follow_calls(&mut self, what: &What, decision: &Decision) {
        match what {
            What::Request(request) if decision.safety.allowed => {
                if self.open_calls.len() >= OPEN_CALLS_MAX {
                    self.open_calls.remove(0);
                }
                self.open_calls.push(request.action.exact().get());
            }
            What::Event(AgentEvent { action: Some(action), .. }) => {
                let ended = self.open_calls.iter().position(|open| *open == action.exact().get());
                ended.map(|at| self.open_calls.remove(at));
            }
            What::IterationStarted | What::Claim(_) => self.open_calls.clear(),
            What::Request(_)
            | What::Event(_)
            | What::Result(_)
            | What::Tick
            | What::Human(_)
            | What::WorkspaceMeasured(_)
            | What::ReportStands(_)
            | What::Advisor(_)
            | What::Review(_)
            | What::Compacted(_)
            | What::Fault(_)
            | What::PolicyDrift(_)
            | What::EngineSwitched(_)
            | What::ToolsSeen(_)
            | What::ModelSpend(_)
            | What::SandboxHeld(_) => {}
        }
    }

    fn note_signature(&mut self, event: &AgentEvent) {
        let Some(action) = &event.action else { return };
        self.calls += 1;
        self.signatures.push(label::cut(action.shown(), SIGNATURE_BYTES_MAX).to_owned());
        self.signatures.drain(..self.signatures.len().saturating_sub(SIGNATURES_MAX));
    }

    /// Takes in an input and what its decision found.
    pub(super) fn note(&mut self, input: &Input, decision: &Decision) {
        self.follow_calls(&input.what, decision);
        if let What::Compacted(_) = &input.what {
            self.compacted_at = Some(input.at);
        }
        if let What::Event(event) = &input.what {
            self.note_signature(event);
            self.progress.note(event);
            if let Some(model) = &event.model {
                self.model = Some(model.as_str().to_owned());
            }
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
                reason: finding.reason.to_string(),
            });
        }
    }
}
