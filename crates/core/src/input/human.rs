//! What people do: the acts, who did them and why, and what they may set.

use crate::label::Label;
use crate::units::{Count, MicroUsd};
use alloc::boxed::Box;
use serde::{Deserialize, Serialize};

/// What a person did.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum HumanAct {
    /// End everything.
    Stop,
    /// Hold everything, keep the state.
    Pause,
    /// Take the order to stop back: clears a stop that a person gave, and no other.
    WithdrawStop,
    /// Go on after a pause or a soft suspend.
    Resume,
    /// Start again after a stop; the only thing that clears a hard stop.
    Restart,
    /// Clear a report (by removing the file or with `tripwire ack`); its counter goes to zero.
    Acknowledge(Report),
    /// Set a counter by hand in the manifest.
    SetCounter(CounterEdit),
    /// Set dirty bits by hand in the manifest.
    SetDirtyBits(DirtyBitsEdit),
    /// Raise the session's money budget.
    RaiseBudget(MicroUsd),
    /// Let the held command with this code pass once (FLOOR-1).
    AllowOnce(Label),
    /// Refuse the held command with this code: the agent is told when it asks the next time (FLOOR-1).
    Deny(Label),
    /// Speak again after a loop ended the agent's turn: the decision to go on. Clears a loop, and nothing else.
    Prompt,
    /// Let decisions bind, or only watch.
    SetMode(Mode),
    /// What broke the guard is fixed: clears that hold, and no other.
    MendGuard,
    /// Set a limit or the budget of the session that runs; no threshold can be set this way.
    Retune(Retune),
    /// Take steps of the agent back, or bring them back: what the tests proved before is stale.
    ChangeFiles(Label),
    /// One of the others, with who did it and why.
    Signed(SignedAct),
    /// Something else that is only written down, such as an edit of a figure that the engine measures itself.
    Other(Label),
}

/// An act with who did it and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SignedAct {
    /// What was done; never signed itself.
    pub act: Box<HumanAct>,
    /// Why, in the person's words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Label>,
    /// Who did it; see [`ActOrigin`].
    pub who: Label,
}

/// Who acted, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ActOrigin {
    /// Why, in the person's words. It is part of the state, whose form has no fields that are left out.
    pub reason: Option<Label>,
    /// The account that acted, or the file in which the act was found with its owner.
    pub who: Label,
}

impl core::fmt::Display for ActOrigin {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "by {}", self.who)?;
        match &self.reason {
            Some(reason) => write!(f, ": {reason}"),
            None => Ok(()),
        }
    }
}

impl HumanAct {
    /// The act with who did it and why.
    #[must_use]
    pub fn signed(self, who: &str, reason: &str) -> Self {
        let reason = Some(reason.trim()).filter(|reason| !reason.is_empty()).map(Label::cut);
        Self::Signed(SignedAct { act: Box::new(self), reason, who: Label::cut(who) })
    }

    /// The act itself, and who did it where that is known.
    #[must_use]
    pub fn unsigned(&self) -> (&Self, Option<ActOrigin>) {
        match self {
            Self::Signed(SignedAct { act, reason, who }) => {
                (act, Some(ActOrigin { reason: reason.clone(), who: who.clone() }))
            }
            Self::Stop
            | Self::Pause
            | Self::WithdrawStop
            | Self::Resume
            | Self::Restart
            | Self::Acknowledge(_)
            | Self::SetCounter(_)
            | Self::SetDirtyBits(_)
            | Self::RaiseBudget(_)
            | Self::AllowOnce(_)
            | Self::Deny(_)
            | Self::Prompt
            | Self::SetMode(_)
            | Self::MendGuard
            | Self::Retune(_)
            | Self::ChangeFiles(_)
            | Self::Other(_) => (self, None),
        }
    }
}

/// A limit, or the budget, of the session that runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Retune {
    /// Its dotted name.
    pub key: Label,
    /// Its new value, as the policy writes it.
    pub value: Label,
}

impl Retune {
    /// Whether a person may set this while a session runs: limits and the budget, and no threshold.
    #[must_use]
    pub fn may_set(key: &str) -> bool {
        key.starts_with("limits.") || key == BUDGET
    }

    /// Whether it is the budget.
    #[must_use]
    pub fn is_budget(&self) -> bool {
        self.key.as_str() == BUDGET
    }
}

/// The setting that holds the money budget.
const BUDGET: &str = "money.budget_micro_usd";

/// A report that waits for a person.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Report {
    /// `BLOCKER_REPORT.md`
    Blocker,
    /// `CHECKPOINT.md`
    Checkpoint,
}

/// Whether decisions bind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Mode {
    /// Decisions bind.
    #[default]
    Armed,
    /// Decisions are taken and logged; only people's controls, explicit budgets and holds of destructive commands bind.
    Observe,
}

/// A counter that a person may set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CounterEdit {
    /// Which one.
    pub counter: Counter,
    /// Its new value.
    pub value: Count,
}

/// The counters of the manifest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Counter {
    /// `safety.iteration_count`
    Iterations,
    /// `safety.consecutive_failures`
    ConsecutiveFailures,
}

/// The dirty bits after a person's edit; absent ones stay as they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct DirtyBitsEdit {
    /// `dirty_bits.code_modified`
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code_modified: Option<bool>,
    /// `dirty_bits.docs_updated`
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub docs_updated: Option<bool>,
    /// `dirty_bits.tests_passing`
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tests_passing: Option<bool>,
    /// `dirty_bits.tests_run`
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tests_run: Option<bool>,
}
