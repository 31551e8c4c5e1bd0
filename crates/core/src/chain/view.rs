//! What a person sees of a session: the figures that `status` and the manifest show, and nothing that decides.

use super::Chain;
use super::gate::cause::Cause;
use super::gate::dirty_bits::Verification;
use super::gate::floor::HeldCommand;
use crate::decision::{ActivityMode, Intensity};
use crate::effect::{HoldReason, StopReason};
use crate::input::{ActOrigin, DirtyBitsEdit, Mode};
use crate::label::{Fingerprint, Label};
use crate::units::{Count, EventIndex, MicroUsd, Price, Ratio, RunMillis, StepId, Tokens};
use alloc::vec::Vec;
use serde::Serialize;

/// A session at a glance.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ChainView {
    /// The budget in force, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub budget_micro_usd: Option<MicroUsd>,
    /// What led to the hold or to the end, where that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cause: Option<Cause>,
    /// Failed iterations in a row.
    pub consecutive_failures: Count,
    /// The figure of the context is an estimate, because nobody gives figures.
    pub context_estimated: bool,
    /// How full the context is, in per cent.
    pub context_percent: Count,
    /// The dirty bits.
    pub dirty_bits: DirtyBitsEdit,
    /// Health.
    pub health: Ratio,
    /// What holds the session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub held: Option<HoldReason>,
    /// Inputs so far.
    pub inputs: EventIndex,
    /// How much is going on.
    pub intensity: Intensity,
    /// Iterations begun.
    pub iterations: Count,
    /// What the agent is doing.
    pub mode: ActivityMode,
    /// Whether decisions bind.
    pub guard: Mode,
    /// The newest time, in milliseconds since the start.
    pub now: RunMillis,
    /// Tokens left in this minute.
    pub remaining_budget: Tokens,
    /// When the session's wall clock runs out, in milliseconds since the start.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_deadline: Option<RunMillis>,
    /// Everything spent.
    pub spent: Price,
    /// Steps so far.
    pub steps: StepId,
    /// What ended the session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stopped: Option<StopReason>,
    /// Test files that changed in this session, the first few: what passed may not be what was to be proved.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tests_changed: Vec<Label>,
    /// Held commands that a person may allow or deny, newest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub waiting: Vec<HeldCommand>,
    /// What is proved about the work.
    pub verdict: Verification,
    /// Who skipped the check, where the verdict is `WAIVED` and that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waived_by: Option<ActOrigin>,
}

impl ChainView {
    /// The hold that binds now: while only observing, a person's pause and a budget do.
    #[must_use]
    pub const fn binding_hold(&self) -> Option<HoldReason> {
        match (self.held, self.guard) {
            (Some(hold @ (HoldReason::Paused | HoldReason::Money)), _) | (Some(hold), Mode::Armed) => Some(hold),
            (Some(_), Mode::Observe) | (None, Mode::Armed | Mode::Observe) => None,
        }
    }
}

impl Chain {
    /// The session at a glance.
    #[must_use]
    pub fn view(&self) -> ChainView {
        let (state, gate) = (&self.state, &self.state.gate);
        let activity = state.activity.state();
        ChainView {
            budget_micro_usd: gate.money.budget(&self.policy.money),
            cause: gate.cause().cloned(),
            consecutive_failures: state.progress.failures(),
            context_estimated: gate.context.basis() == super::gate::context::ContextBasis::Estimate,
            context_percent: gate.context.percent(),
            dirty_bits: gate.dirty.shown(),
            health: gate.health.level(),
            held: gate.held(&self.policy),
            inputs: state.next,
            intensity: activity.intensity,
            iterations: gate.iterations.count(),
            mode: activity.mode,
            guard: gate.mode,
            now: state.now,
            remaining_budget: super::gate::budget::remaining(&self.policy, &gate.minute, gate.health.level()),
            session_deadline: gate.session_deadline(&self.policy),
            spent: gate.money.spent(),
            steps: state.step,
            stopped: gate.standing.stopped(),
            tests_changed: gate.dirty.tests_changed().to_vec(),
            waiting: gate.floor.waiting(),
            verdict: gate.dirty.verdict(Fingerprint::NONE),
            waived_by: gate.dirty.waived_by().cloned(),
        }
    }
}
