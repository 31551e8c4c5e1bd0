//! The calls of one step, one after the other: checked, permitted, carried out, observed.
//!
//! After an error nothing else of the turn is run, so that the model sees it before any further call (RUN-2).

use super::ending::Ending;
use super::line::{Line, ResultLine};
use super::phase::{Asked, Execution, ModelTurn, Phase};
use super::reading::{DecisionReading, GateAnswer};
use super::record::{AnswerEnd, Call, CallFault, CallOutcome, Checked, FaultKind, OnHold, Returned};
use super::{CallAnswer, LoopEffect, Run, Saying, worker};
use crate::chain::gate::dirty_bits::Verification;
use crate::effect::{Effect, ExitStatus, SwitchReason};
use crate::enforcement::EnforcementError;
use crate::input::What;
use crate::policy::{Audience, OnToolError};
use crate::text::{CallId, Instruction, Reason, ToolOutput};
use crate::units::{Count, RunMillis};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

impl Run {
    /// The call at hand.
    pub(super) fn call(&self) -> Option<&Call> {
        self.turn.answer.as_ref()?.calls.get(self.turn.at)
    }

    /// The model's turn is accounted for: now its calls.
    pub(super) fn model_event_answered(&mut self, views: &mut Vec<LoopEffect>) {
        if let Some((engine, end)) = self.turn.answer.as_ref().and_then(worker::left_early) {
            return self.worker_left(&engine, end, views);
        }
        let cut_off = self.turn.answer.as_ref().is_some_and(|answer| answer.end == AnswerEnd::OutputLimit);
        if self.call().is_some() {
            self.phase = Phase::Checking;
            return;
        }
        let text = if cut_off { CUT_OFF } else { NO_CALL };
        let fault = CallFault { kind: FaultKind::ValidationError, text: Reason::fixed(text) };
        views.push(LoopEffect::Line(Line::Fault { call: CallId::default(), fault: fault.clone() }));
        if self.is_beyond_repair(&fault, views) {
            return;
        }
        self.due.words.push(fault.text.into_string().into());
        self.end_step(views);
    }

    pub(super) fn take_checked(&mut self, checked: &Checked, views: &mut Vec<LoopEffect>) {
        match checked {
            Checked::Valid => {
                self.repairs = Count::ZERO;
                self.phase = Phase::Taking(Asked::ToolRequest);
            }
            Checked::Finish => {
                self.repairs = Count::ZERO;
                self.phase = Phase::Taking(Asked::Claim);
            }
            Checked::Fault(fault) => {
                let call = self.call().map(|call| call.id.clone()).unwrap_or_default();
                views.push(LoopEffect::Line(Line::Fault { call, fault: fault.clone() }));
                if self.is_beyond_repair(fault, views) {
                    return;
                }
                let kind = match fault.kind {
                    FaultKind::UnknownTool => "UNKNOWN_TOOL",
                    FaultKind::ValidationError => "VALIDATION_ERROR",
                };
                self.take_refusal(format!("{kind}: {}", fault.text).into(), views);
            }
        }
    }

    /// Counts a repair; after the last allowed one the run ends with its diagnostics (TOOL-2).
    fn is_beyond_repair(&mut self, fault: &CallFault, views: &mut Vec<LoopEffect>) -> bool {
        self.repairs = self.repairs.next();
        if self.repairs <= self.rules.repairs_max {
            return false;
        }
        let diagnostics: Reason =
            format!("still invalid after {} repairs: {}", self.rules.repairs_max, fault.text).into();
        let interrupt_reason = Some(diagnostics.clone());
        views.push(LoopEffect::Line(Line::IterationEnd { exit_status: ExitStatus::SystemError, interrupt_reason }));
        self.finish(Ending::SystemError { diagnostics }, views);
        true
    }

    pub(super) fn tool_request_answered(&mut self, reading: &DecisionReading<'_>, views: &mut Vec<LoopEffect>) {
        match reading.permission() {
            GateAnswer::Allowed => self.phase = Phase::Executing(Execution::Permitted),
            GateAnswer::Later(ms) => self.phase = Phase::Waiting { ms, then: Asked::ToolRequest },
            GateAnswer::Denied if self.awaits_answer(reading) => {}
            GateAnswer::Denied => {
                self.note_refusal(reading, views);
                self.take_refusal(format!("refused: {}{}", reading.reason(), self.unanswered(reading)).into(), views);
            }
            GateAnswer::Over(_) | GateAnswer::Held(_) => {
                self.note_refusal(reading, views);
                self.answer_call(&refused(format!("not run: {}", reading.reason()).into()), views);
                self.end_step(views);
            }
        }
    }

    /// A call that only a person's answer is missing for waits for it, once.
    fn awaits_answer(&mut self, reading: &DecisionReading<'_>) -> bool {
        let Some(EnforcementError::FloorHeld(held)) = &reading.decision.safety.error else { return false };
        let seen = match self.setup.patience {
            OnHold::Wait => Audience::Person,
            OnHold::Leave => Audience::Nobody,
        };
        let ms = self.rules.answer_wait.seen_by(seen);
        if held.denied.is_some() || ms == RunMillis::ZERO || self.turn.awaited.is_some() {
            return false;
        }
        self.turn.awaited = Some(ms);
        self.phase = Phase::AwaitingAnswer { code: held.code.clone(), ms };
        true
    }

    /// What is said of a call that waited and that nobody answered.
    fn unanswered(&self, reading: &DecisionReading<'_>) -> String {
        match (&reading.decision.safety.error, self.turn.awaited) {
            (Some(EnforcementError::FloorHeld(held)), Some(ms)) if held.denied.is_none() => {
                format!("; nobody answered within {} s", ms.get() / 1_000)
            }
            _ => String::new(),
        }
    }

    fn note_refusal(&self, reading: &DecisionReading<'_>, views: &mut Vec<LoopEffect>) {
        let what = self.call().map(|call| call.tool.clone()).unwrap_or_default();
        views.push(LoopEffect::Line(Line::Refused {
            what,
            reason: reading.reason(),
            rule: reading.decision.safety.rule.id(),
        }));
    }

    /// A call that was never run: the model hears why, and the chain sees that it was tried.
    fn take_refusal(&mut self, text: ToolOutput, views: &mut Vec<LoopEffect>) {
        let returned = refused(text);
        self.answer_call(&returned, views);
        self.turn.result = Some(returned);
        self.phase = Phase::Taking(Asked::ToolEvent);
    }

    pub(super) fn take_returned(&mut self, returned: &Returned, views: &mut Vec<LoopEffect>) {
        if returned.how == CallOutcome::Done {
            self.tick_plan(views);
        }
        self.turn.ran = true;
        self.answer_call(returned, views);
        self.turn.result = Some(returned.clone());
        self.phase = Phase::Taking(Asked::ToolResult);
    }

    /// The call at hand ended well: the step of the plan that it fits is done.
    fn tick_plan(&mut self, views: &mut Vec<LoopEffect>) {
        let Some(call) = self.call().cloned() else { return };
        let Some(number) = self.plan.tick(&call.tool, &call.arguments) else { return };
        let of = Count::new(u32::try_from(self.plan.steps.len()).unwrap_or(u32::MAX));
        let at = usize::try_from(number.get()).unwrap_or(usize::MAX).saturating_sub(1);
        let purpose = self.plan.steps.get(at).map(|step| step.purpose.clone()).unwrap_or_default();
        views.push(LoopEffect::Line(Line::PlanStep { number, of, purpose }));
        views.push(LoopEffect::Plan(self.plan.clone()));
    }

    /// Remembers a call that was carried out, in the words of its event: those name paths below the workspace as such.
    pub(super) fn note_step(&mut self, what: &What) {
        let (What::Event(event), Phase::Taking(Asked::ToolEvent)) = (what, &self.phase) else { return };
        if !core::mem::take(&mut self.turn.ran) {
            return; // A call that was refused is no step that was completed.
        }
        let (Some(action), Some(returned)) = (&event.action, &self.turn.result) else { return };
        let end = match returned.exit_code {
            Some(code) => format!("exit {code}"),
            None if returned.how.is_error() => "error".into(),
            None => "ok".into(),
        };
        self.last = Some(format!("{}: {end}", action.named()).into());
        self.next = None;
    }

    /// Writes the result down and keeps it for the model.
    fn answer_call(&mut self, returned: &Returned, views: &mut Vec<LoopEffect>) {
        let Some(call) = self.call().cloned() else { return };
        views.push(LoopEffect::Line(Line::Result(ResultLine {
            call: call.id.clone(),
            exit_code: returned.exit_code,
            how: returned.how,
            pointer: returned.pointer.clone(),
            text: returned.text.clone(),
            tool: call.tool.clone(),
            verbatim: returned.verbatim.clone(),
        })));
        let is_error = returned.how.is_error();
        self.turn.answers.push(CallAnswer { call, text: returned.text.clone(), is_error });
    }

    pub(super) fn tool_event_answered(&mut self, views: &mut Vec<LoopEffect>) {
        let result = self.turn.result.take();
        let failed = result.as_ref().is_some_and(|result| result.how.is_error());
        if self.rules.on_tool_error == OnToolError::Stop && result.is_some_and(|result| result.how.is_tool_error()) {
            let said = self.last.clone().map(|last| last.into_string().into()).unwrap_or_default();
            return self.finish(Ending::ToolFailed { said }, views);
        }
        self.turn.at = self.turn.at.saturating_add(1);
        self.turn.awaited = None;
        if failed || self.call().is_none() { self.end_step(views) } else { self.phase = Phase::Checking }
    }

    pub(super) fn claim_answered(&mut self, reading: &DecisionReading<'_>, views: &mut Vec<LoopEffect>) {
        if let Some(verdict) = reading.verdict() {
            views.push(LoopEffect::Line(Line::Claim { demand: None, verdict: Some(verdict) }));
            self.answer_call(&done(DONE.into()), views);
            self.turn.at = self.turn.at.saturating_add(1);
            return self.release(verdict, views);
        }
        let demands: Vec<&str> = reading.decision.effects.iter().filter_map(prompt).collect();
        let demand: Instruction =
            if demands.is_empty() { reading.reason().into_string().into() } else { demands.join("\n").into() };
        self.unverified = self.unverified.next();
        if self.unverified > self.rules.unverified_max {
            self.unverified = Count::ZERO;
            self.due.switch = Some(SwitchReason::VerificationFailed);
        }
        views.push(LoopEffect::Line(Line::Claim { demand: Some(demand.clone()), verdict: None }));
        self.next = demand.lines().next().map(Into::into);
        self.answer_call(&refused(demand.into_string().into()), views);
        self.end_step(views);
    }

    /// The work is done; where a review is asked for, it comes first.
    fn release(&mut self, verdict: Verification, views: &mut Vec<LoopEffect>) {
        if self.setup.reviewer.is_some() {
            self.close_turn(views);
            self.verdict = Some(verdict);
            self.phase = Phase::Reviewing;
            return;
        }
        self.finish(Ending::Completed { verdict }, views);
    }

    /// Closes the step: the results are said, the recitation is due every few steps.
    pub(super) fn end_step(&mut self, views: &mut Vec<LoopEffect>) {
        self.close_turn(views);
        self.steps = self.steps.next();
        let every = self.rules.recite_every.get();
        if every > 0 && self.steps.get().checked_rem(every) == Some(0) {
            self.write_todo(views);
            self.due.words.push(self.progress_words());
            self.due.words.extend(self.plan.recited());
        }
        self.go_on(views);
    }

    /// Says the results of the turn; calls that were not reached get that as their result, because every call needs an answer.
    pub(super) fn close_turn(&mut self, views: &mut Vec<LoopEffect>) {
        let turn = core::mem::take(&mut self.turn);
        let ModelTurn { answer, mut answers, advice, reviewed, .. } = turn;
        (self.turn.advice, self.turn.reviewed) = (advice, reviewed);
        let Some(answer) = answer else { return };
        if let Some(call) = answer.calls.get(answers.len()) {
            self.next =
                Some(format!("`{}`, asked for and not run: look at the error before it first", call.tool).into());
        }
        for call in answer.calls.iter().skip(answers.len()) {
            answers.push(CallAnswer { call: call.clone(), text: NOT_REACHED.into(), is_error: true });
        }
        if !answers.is_empty() {
            views.push(LoopEffect::Say(Saying::Results(answers)));
        }
    }
}

fn prompt(effect: &Effect) -> Option<&str> {
    if let Effect::Prompt(text) = effect { Some(text) } else { None }
}

fn refused(text: ToolOutput) -> Returned {
    Returned { exit_code: None, how: CallOutcome::Refused, pointer: None, text, verbatim: None }
}

fn done(text: ToolOutput) -> Returned {
    Returned { exit_code: None, how: CallOutcome::Done, pointer: None, text, verbatim: None }
}

/// What is said of a claim that was released.
const DONE: &str = "released";
/// What is said of a call behind one that failed.
const NOT_REACHED: &str = "not run: look at the error of the call before it first";
/// What is said to an answer without a call.
const NO_CALL: &str = "the answer holds no tool call; call one of the tools, or `finish` when the objective is reached";
/// What is said to an answer that was cut off before its call.
const CUT_OFF: &str = "the answer was cut off at the limit of output and holds no tool call; answer shorter";
