//! What the machine remembers between two facts; all of it is bounded.

use super::ending::Ending;
use super::line::{Line, Switched};
use super::moves::{CallAnswer, LoopEffect};
use super::record::{Answer, EngineFailure, Returned, Reviewed, Spent, Spoken, WorkEnd};
use crate::decision::Decision;
use crate::effect::{Deadlock, Effect, HoldReason, SwitchReason};
use crate::label::Label;
use crate::record::canonical;
use crate::text::Instruction;
use crate::units::RunMillis;
use alloc::format;
use alloc::vec::Vec;
use serde::{Deserialize, Serialize};

/// What is awaited.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Phase {
    Taking(Asked),
    Asking,
    Checking,
    Executing(Execution),
    JudgingLoop,
    Advising(Deadlock),
    Reviewing,
    Applying,
    Waiting {
        ms: RunMillis,
        then: Asked,
    },
    /// The call at hand is held, and a person is asked about it.
    AwaitingAnswer {
        code: Label,
        ms: RunMillis,
    },
    Holding(HoldReason),
    Done(Ending),
}

/// Whether a permitted call has begun.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Execution {
    Permitted,
    Started,
}

/// Whose question used something without an answer for the loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Asker {
    /// The one before the start.
    Probe,
    /// The model's.
    Model,
    /// The advisor's.
    Advisor,
    /// The reviewer's.
    Reviewer,
    /// The advisor's, with an answer.
    Advice,
    /// The one about the loop itself, with an answer or without.
    Opinion,
    /// The reviewer's, with an answer.
    Review,
}

/// What is put before the chain.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Asked {
    Iteration,
    /// What a question used without an answer, and whose question it was.
    Spent(Asker),
    ModelRequest,
    ModelEvent,
    ToolRequest,
    ToolResult,
    ToolEvent,
    Claim,
    Compacted,
    Advice,
    Verdict,
    ApplyRequest,
    ApplyResult,
}

/// The model turn that is being carried out; its size is bounded by the engine's limits on an answer.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(super) struct ModelTurn {
    pub(super) answer: Option<Answer>,
    /// The call that is at hand.
    pub(super) at: usize,
    /// The result of the call at hand.
    pub(super) result: Option<Returned>,
    /// Whether the call at hand was carried out, and not only refused.
    #[serde(default)]
    pub(super) ran: bool,
    /// How long the call at hand has waited for a person's answer, if it has.
    #[serde(default)]
    pub(super) awaited: Option<RunMillis>,
    /// What the model will see.
    pub(super) answers: Vec<CallAnswer>,
    /// What a question beside the model's answers used, while the chain takes it in.
    #[serde(default)]
    pub(super) spent: Option<Spent>,
    /// The failure of that question, if it has no answer.
    #[serde(default)]
    pub(super) failed: Option<EngineFailure>,
    /// What the advisor said.
    pub(super) advice: Option<Spoken>,
    /// What the reviewer said.
    pub(super) reviewed: Option<Reviewed>,
}

/// What the chain asked for and is not done yet.
#[expect(clippy::struct_excessive_bools, reason = "a list of things to be done, each on its own")]
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(super) struct Due {
    pub(super) advisor: Option<Deadlock>,
    /// The advisor that is asked, as a place in the list.
    #[serde(default)]
    pub(super) advisor_at: usize,
    /// The advisor was asked whether the loop at hand is one.
    #[serde(default)]
    pub(super) loop_judged: bool,
    /// An advisor gave no answer: asking again would be a loop of our own.
    pub(super) advice_failed: bool,
    /// The deadlock is a worker's own: its hold is in another session, so the machine hands on the advice itself.
    #[serde(default)]
    pub(super) worker_stuck: Option<WorkEnd>,
    /// What the worker's guard said it repeated.
    #[serde(default)]
    pub(super) worker_object: Label,
    pub(super) fresh_context: bool,
    /// A new context was started and no answer has come since.
    pub(super) just_fresh: bool,
    pub(super) switch: Option<SwitchReason>,
    /// A switch that the chain has not heard of yet.
    #[serde(default)]
    pub(super) switched: Option<Switched>,
    /// What the next turn says to the model.
    pub(super) words: Vec<Instruction>,
    /// The iteration is over, as the chain said.
    pub(super) iteration_over: bool,
}

impl Due {
    /// Notes what a decision asks for; it is done between two steps.
    pub(super) fn absorb(&mut self, decision: &Decision, phase: &Phase, views: &mut Vec<LoopEffect>) {
        for effect in &decision.effects {
            match effect {
                Effect::Inject(constraint) => {
                    views.push(LoopEffect::Line(Line::Override(constraint.clone())));
                    let typed = canonical::to_string(constraint).unwrap_or_default();
                    self.words.push(format!("LOOP_OVERRIDE {typed}").into());
                }
                // The answer to a claim is the result of that call.
                Effect::Prompt(_) if *phase == Phase::Taking(Asked::Claim) => {}
                Effect::Prompt(text) => self.words.push(text.clone()),
                Effect::WarnContext => self.words.push(CONTEXT_WARNING.into()),
                Effect::Compact => self.fresh_context = true,
                Effect::AskAdvisor(deadlock) => self.advisor = Some(*deadlock),
                Effect::SwitchEngine(reason) => self.switch = Some(*reason),
                Effect::EndIteration(end) => {
                    views.push(LoopEffect::Line(Line::IterationEnd {
                        exit_status: end.exit_status,
                        interrupt_reason: end.interrupt_reason.clone(),
                    }));
                    self.iteration_over = true;
                }
                Effect::Hold(_)
                | Effect::Stop(_)
                | Effect::Kill
                | Effect::WriteReport(_)
                | Effect::Notify(_)
                | Effect::WakeAt(_) => {}
            }
        }
    }
}

/// The instruction at the first tier of the context gate.
const CONTEXT_WARNING: &str = "The context is nearly full: keep results short. At 80 % it begins anew with a briefing.";
