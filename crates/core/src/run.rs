//! Our own loop as a pure state machine: what has been learnt goes in, what to do next comes out.
//!
//! [`Run::take`] takes in one fact (a journaled record, or a decision of the chain) and gives views to carry out: lines
//! of the transcript, turns of the conversation, the recitation. [`Run::next`] says what to do now. The machine only
//! sequences. Whether something may happen is the chain's decision: every model call and every tool call is a request
//! to it, and a refusal is never overruled here. There is no clock and no I/O, so a journal runs again as it ran.

mod advice;
mod asking;
mod calls;
pub mod ending;
pub mod fallback;
pub mod line;
mod moves;
mod phase;
pub mod plan;
mod reading;
pub mod record;
mod resume;
mod review;
mod worker;

pub use self::moves::{CallAnswer, LoopEffect, LoopRequest, Next, Recitation, RunInput, Saying};

use self::ending::Ending;
use self::line::Line;
use self::phase::{Asked, Asker, Due, Execution, ModelTurn, Phase};
use self::plan::Plan;
use self::reading::{DecisionReading, SessionStanding};
use self::record::{OnHold, RunRecord, Setup};
use crate::chain::gate::dirty_bits::Verification;
use crate::effect::{Deadlock, ExitStatus, HoldReason};
use crate::input::What;
use crate::label::Label;
use crate::policy::{AnswerWait, OnToolError, Policy, Switch};
use crate::text::{Instruction, Objective, Reason, StepSummary};
use crate::units::Count;
use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use serde::{Deserialize, Serialize};

/// One session's loop.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Run {
    setup: Setup,
    rules: Rules,
    phase: Phase,
    /// A person's restart opened a loop that had ended; the next process takes it up.
    reopened: bool,
    /// The engine that is asked, as a place in the list.
    engine: usize,
    /// Failures of that engine in a row.
    failures: Count,
    iteration: Count,
    /// Steps of the whole session.
    steps: Count,
    /// Invalid plans or arguments in a row.
    repairs: Count,
    /// Claims that were refused in this session.
    unverified: Count,
    /// The turn that is being carried out.
    turn: ModelTurn,
    /// What the chain asked for and is not done yet.
    due: Due,
    /// What is proved about the work, once a claim was released and waits for its review.
    verdict: Option<Verification>,
    /// The agent's plan.
    plan: Plan,
    /// The step completed last, and the next one where it is known: a call that was asked for and not reached, or what the
    /// gate demands. What the model said before a call is about that call, which is done by now.
    last: Option<StepSummary>,
    next: Option<StepSummary>,
}

/// The settings that the loop itself reads; frozen with the policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct Rules {
    model_check: Switch,
    answer_wait: AnswerWait,
    on_tool_error: OnToolError,
    recite_every: Count,
    repairs_max: Count,
    unverified_max: Count,
}

impl Run {
    /// A loop that begins now.
    #[must_use]
    pub fn new(setup: Setup, policy: &Policy) -> (Self, Vec<LoopEffect>) {
        let rules = Rules {
            model_check: policy.loops.model_check,
            answer_wait: policy.approvals.wait,
            on_tool_error: policy.tools.on_tool_error,
            recite_every: policy.tools.recite_every,
            repairs_max: policy.tools.repair_max_attempts,
            unverified_max: policy.tools.max_failed_verifications,
        };
        let head = LoopEffect::Line(Line::Head(setup.clone()));
        let run = Self {
            setup,
            rules,
            phase: Phase::Taking(Asked::Iteration),
            reopened: false,
            engine: 0,
            failures: Count::ZERO,
            iteration: Count::ZERO,
            steps: Count::ZERO,
            repairs: Count::ZERO,
            unverified: Count::ZERO,
            turn: ModelTurn::default(),
            due: Due::default(),
            verdict: None,
            plan: Plan::default(),
            last: None,
            next: None,
        };
        (run, alloc::vec![head])
    }

    /// What is frozen with the loop.
    #[must_use]
    pub const fn setup(&self) -> &Setup {
        &self.setup
    }

    /// The step that is being done, from 1; calls of one step share it.
    #[must_use]
    pub const fn step(&self) -> Count {
        self.steps.next()
    }

    /// The engine that is asked, as a place in the list.
    #[must_use]
    pub const fn engine(&self) -> usize {
        self.engine
    }

    /// The running iteration, from 1.
    #[must_use]
    pub const fn iteration(&self) -> Count {
        self.iteration
    }

    /// Takes in one fact; gives what is to be shown and said because of it.
    pub fn take(&mut self, input: RunInput<'_>) -> Vec<LoopEffect> {
        let mut views = Vec::new();
        match input {
            RunInput::Record(record) => self.take_record(record, &mut views),
            RunInput::Decided(what, decision) if is_answer(what) => {
                self.note_step(what);
                let reading = DecisionReading::of(decision);
                self.due.absorb(decision, &self.phase, &mut views);
                self.answered(&reading, &mut views);
            }
            RunInput::Decided(what, decision) => {
                let reading = DecisionReading::of(decision);
                self.due.absorb(decision, &self.phase, &mut views);
                self.reopen_if_restarted(what);
                self.noticed(&reading, &mut views);
            }
            RunInput::Noticed(decision) => {
                let reading = DecisionReading::of(decision);
                self.due.absorb(decision, &self.phase, &mut views);
                self.noticed(&reading, &mut views);
            }
        }
        views
    }

    /// What to do now.
    #[must_use]
    pub fn next(&self) -> Next {
        // INVARIANT: the phases that need a turn are entered with one, so the model request is never asked in their place.
        let or_ask = |next: Option<Next>| next.unwrap_or(Next::Take(LoopRequest::ModelRequest));
        match &self.phase {
            Phase::Taking(asked) => or_ask(self.request(asked).map(Next::Take)),
            Phase::Asking => Next::Ask { engine: self.engine },
            Phase::Checking => or_ask(self.call().cloned().map(Next::Check)),
            Phase::Executing(_) => or_ask(self.call().cloned().map(Next::Execute)),
            Phase::JudgingLoop => Next::JudgeLoop,
            Phase::Advising(deadlock) => Next::Advise { deadlock: *deadlock, advisor: self.due.advisor_at },
            Phase::Reviewing => Next::Review,
            Phase::Applying => self.proposal().map_or(Next::Review, Next::Apply),
            Phase::Waiting { ms, .. } => Next::Wait(*ms),
            Phase::AwaitingAnswer { code, ms } => Next::AwaitAnswer { code: code.clone(), ms: *ms },
            Phase::Holding(reason) => Next::AwaitPerson(*reason),
            Phase::Done(ending) => Next::Finished(ending.clone()),
        }
    }

    /// What is put before the chain, with its facts; `None` only if the machine had lost its own turn.
    fn request(&self, asked: &Asked) -> Option<LoopRequest> {
        let turn = &self.turn;
        Some(match asked {
            Asked::Iteration => LoopRequest::IterationStarted,
            Asked::Spent(Asker::Probe) => LoopRequest::Spent(self.setup.probe.clone()?),
            Asked::Spent(
                Asker::Model | Asker::Advisor | Asker::Reviewer | Asker::Advice | Asker::Opinion | Asker::Review,
            ) => LoopRequest::Spent(turn.spent.clone()?),
            Asked::ModelRequest => LoopRequest::ModelRequest,
            Asked::ModelEvent => LoopRequest::ModelEvent(Box::new(turn.answer.clone()?)),
            Asked::ToolRequest => LoopRequest::ToolRequest(self.call()?.clone()),
            Asked::ToolResult => LoopRequest::ToolResult(turn.result.clone()?),
            Asked::ToolEvent => LoopRequest::ToolEvent(self.call()?.clone(), turn.result.clone()?),
            Asked::Claim => LoopRequest::Claim,
            Asked::Compacted => LoopRequest::Compacted,
            Asked::Advice => LoopRequest::Advice(turn.advice.clone()?),
            Asked::Verdict => LoopRequest::Verdict(turn.reviewed.clone()?),
            Asked::ApplyRequest => LoopRequest::ApplyRequest(self.proposal()?),
            Asked::ApplyResult => LoopRequest::ApplyResult(turn.result.clone()?),
        })
    }

    /// A record that does not fit the phase is left alone: it was journaled by a process that died before it was used.
    fn take_record(&mut self, record: &RunRecord, views: &mut Vec<LoopEffect>) {
        match (record, &self.phase) {
            (RunRecord::Resumed(patience), _) => {
                self.setup.patience = *patience;
                self.resume(views);
            }
            (RunRecord::Answered(answer), Phase::Asking) => self.take_answer(answer, views),
            (RunRecord::Failed(failure), Phase::Asking) => self.take_failure(failure, views),
            (RunRecord::Checked(checked), Phase::Checking) => self.take_checked(checked, views),
            (RunRecord::Planned(plan), Phase::Executing(_)) => {
                self.plan = plan.clone();
                views.push(LoopEffect::Line(Line::Plan(plan.clone())));
                views.push(LoopEffect::Plan(plan.clone()));
            }
            (RunRecord::Started, Phase::Executing(_)) => self.phase = Phase::Executing(Execution::Started),
            (RunRecord::Returned(returned), Phase::Executing(_)) => self.take_returned(returned, views),
            (RunRecord::LoopJudged(spoken), Phase::JudgingLoop) => self.take_opinion(spoken, views),
            (RunRecord::LoopNotJudged(failure), Phase::JudgingLoop) => self.take_no_opinion(failure, views),
            (RunRecord::Advised(spoken), Phase::Advising(_)) => self.take_advice(spoken, views),
            (RunRecord::NoAdvice(failure), Phase::Advising(_)) => self.take_no_advice(failure, views),
            (RunRecord::Reviewed(reviewed), Phase::Reviewing) => self.take_review(reviewed, views),
            (RunRecord::NoReview(failure), Phase::Reviewing) => self.take_no_review(failure, views),
            (RunRecord::Applied(returned), Phase::Applying) => self.take_applied(returned, views),
            (RunRecord::Waited, Phase::Waiting { then, .. }) => self.phase = Phase::Taking(then.clone()),
            (RunRecord::Waited, Phase::AwaitingAnswer { .. }) => self.phase = Phase::Taking(Asked::ToolRequest),
            (
                RunRecord::Begun(_)
                | RunRecord::Answered(_)
                | RunRecord::Failed(_)
                | RunRecord::Checked(_)
                | RunRecord::Planned(_)
                | RunRecord::Started
                | RunRecord::Returned(_)
                | RunRecord::LoopJudged(_)
                | RunRecord::LoopNotJudged(_)
                | RunRecord::Advised(_)
                | RunRecord::NoAdvice(_)
                | RunRecord::Reviewed(_)
                | RunRecord::NoReview(_)
                | RunRecord::Applied(_)
                | RunRecord::Waited,
                _,
            ) => {}
        }
    }

    /// The chain answered what was put before it.
    fn answered(&mut self, reading: &DecisionReading<'_>, views: &mut Vec<LoopEffect>) {
        let Phase::Taking(asked) = self.phase.clone() else { return };
        if let SessionStanding::Stopped(reason) = reading.standing {
            return self.finish(Ending::Stopped { reason }, views);
        }
        match asked {
            Asked::Iteration => self.iteration_answered(reading, views),
            Asked::Spent(asker) => self.spent_answered(asker, views),
            Asked::ModelRequest => self.model_request_answered(reading, views),
            Asked::ModelEvent => self.model_event_answered(views),
            Asked::ToolRequest => self.tool_request_answered(reading, views),
            Asked::ToolResult => self.phase = Phase::Taking(Asked::ToolEvent),
            Asked::ToolEvent => self.tool_event_answered(views),
            Asked::Claim => self.claim_answered(reading, views),
            Asked::Compacted => self.begin_fresh_context(views),
            Asked::Advice => self.advice_answered(views),
            Asked::Verdict => self.verdict_answered(views),
            Asked::ApplyRequest => self.apply_request_answered(reading, views),
            Asked::ApplyResult => self.apply_result_answered(views),
        }
    }

    /// Something else was decided: what a person did, or time that passed.
    fn noticed(&mut self, reading: &DecisionReading<'_>, views: &mut Vec<LoopEffect>) {
        if let Phase::Holding(_) = self.phase {
            match reading.standing {
                SessionStanding::Stopped(reason) => self.finish(Ending::Stopped { reason }, views),
                SessionStanding::Held(reason) => self.phase = Phase::Holding(reason),
                SessionStanding::Open => self.go_on(views),
            }
        }
    }

    fn iteration_answered(&mut self, reading: &DecisionReading<'_>, views: &mut Vec<LoopEffect>) {
        match reading.standing {
            SessionStanding::Held(HoldReason::IterationCap) if self.setup.patience == OnHold::Leave => {
                return self.finish(Ending::OutOfIterations, views);
            }
            SessionStanding::Held(reason) => return self.hold(reason, views),
            SessionStanding::Open | SessionStanding::Stopped(_) => {}
        }
        self.iteration = self.iteration.next();
        self.due.iteration_over = false;
        views.push(LoopEffect::Line(Line::Iteration { number: self.iteration }));
        let is_first = self.iteration == Count::new(1);
        if is_first {
            self.due.words.insert(0, objective_words(&self.setup.objective));
        } else {
            self.write_todo(views);
            self.due.words.insert(0, self.progress_words());
        }
        self.speak(views);
        // Inside of the first step, so that it is no step of its own.
        if is_first && self.setup.probe.is_some() {
            self.phase = Phase::Taking(Asked::Spent(Asker::Probe));
            return;
        }
        self.go_on(views);
    }

    /// Chooses what comes next between two steps, the strictest first.
    fn go_on(&mut self, views: &mut Vec<LoopEffect>) {
        if let Some(deadlock) = self.due.advisor
            && self.has_advisor()
        {
            return self.begin_advice(deadlock, views);
        }
        self.due.advisor = None;
        if self.due.fresh_context {
            views.push(LoopEffect::Brief);
            self.phase = Phase::Taking(Asked::Compacted);
            return;
        }
        if let Some(reason) = self.due.switch.take() {
            self.switch_for(reason, views);
        }
        self.speak(views);
        let next = if self.iteration == Count::ZERO || self.due.iteration_over {
            Asked::Iteration
        } else {
            Asked::ModelRequest
        };
        self.phase = Phase::Taking(next);
    }

    /// Says to the model what is due.
    fn speak(&mut self, views: &mut Vec<LoopEffect>) {
        if self.due.words.is_empty() {
            return;
        }
        let words = core::mem::take(&mut self.due.words);
        let words: Vec<&str> = words.iter().map(Instruction::as_str).collect();
        let text = Instruction::from(words.join("\n\n"));
        views.push(LoopEffect::Line(Line::User { text: text.clone() }));
        views.push(LoopEffect::Say(Saying::User(text)));
    }

    /// Starts a new conversation: the objective, and where to read what happened (CTX-3).
    fn begin_fresh_context(&mut self, views: &mut Vec<LoopEffect>) {
        self.due.fresh_context = false;
        self.due.just_fresh = true;
        views.push(LoopEffect::Line(Line::FreshContext));
        views.push(LoopEffect::Forget);
        let words = format!("{}\n\n{BRIEFING_WORDS}", objective_words(&self.setup.objective));
        self.due.words.insert(0, words.into());
        self.go_on(views);
    }

    /// Ends the running iteration and asks for the next one.
    fn end_iteration(&mut self, exit_status: ExitStatus, reason: &'static str, views: &mut Vec<LoopEffect>) {
        if !self.due.iteration_over {
            let interrupt_reason = Some(Reason::fixed(reason));
            views.push(LoopEffect::Line(Line::IterationEnd { exit_status, interrupt_reason }));
            self.due.iteration_over = true;
        }
        self.go_on(views);
    }

    /// A hold: the advisor ends one for a loop, people end the others.
    fn hold(&mut self, reason: HoldReason, views: &mut Vec<LoopEffect>) {
        if reason == HoldReason::Loop && self.has_advisor() && !self.due.advice_failed {
            self.due.advisor.get_or_insert(Deadlock::HardLoop);
            return self.go_on(views);
        }
        if reason == HoldReason::Context && !self.due.just_fresh {
            self.due.fresh_context = true;
            return self.go_on(views);
        }
        // The person who paused it is about to come back; every other hold would need a person who is not there.
        if reason == HoldReason::Paused || self.setup.patience == OnHold::Wait {
            self.phase = Phase::Holding(reason);
            return;
        }
        self.finish(Ending::Held { reason }, views);
    }

    fn finish(&mut self, ending: Ending, views: &mut Vec<LoopEffect>) {
        self.close_turn(views);
        self.write_todo(views);
        views.push(LoopEffect::Line(Line::End(ending.clone())));
        self.phase = Phase::Done(ending);
    }

    /// Rewrites `todo.md` (RUN-3).
    fn write_todo(&self, views: &mut Vec<LoopEffect>) {
        views.push(LoopEffect::Line(Line::Recited { steps: self.steps }));
        views.push(LoopEffect::Recite(Recitation {
            objective: self.setup.objective.clone(),
            steps: self.steps,
            iteration: self.iteration,
            last: self.last.clone(),
            next: self.next.clone().or_else(|| Some(NEXT_IS_OPEN.into())),
        }));
    }

    /// The recitation as the model hears it.
    fn progress_words(&self) -> Instruction {
        let word = |step: &Option<StepSummary>, none: &str| step.clone().unwrap_or_else(|| none.into());
        format!(
            "{}\n\nProgress: {} steps, iteration {}.\nLast completed step: {}\nNext step: {}",
            objective_words(&self.setup.objective),
            self.steps,
            self.iteration,
            word(&self.last, "(none)"),
            word(&self.next, NEXT_IS_OPEN)
        )
        .into()
    }
}

/// The objective as the model hears it, verbatim.
fn objective_words(objective: &Objective) -> Instruction {
    format!("Objective:\n{objective}").into()
}

/// What the recitation says where no next step was asked for yet.
const NEXT_IS_OPEN: &str = "yours to choose from the objective and the last result; say it before you act";

/// The seed's words for a fresh worker.
const BRIEFING_WORDS: &str = "Read .geometry/MISSION_BRIEFING.md and continue";

/// Whether an input of the chain is one that the loop put there itself; all others are people's acts and time.
const fn is_answer(what: &What) -> bool {
    match what {
        What::Event(_)
        | What::Request(_)
        | What::Result(_)
        | What::Claim(_)
        | What::Advisor(_)
        | What::Review(_)
        | What::Compacted(_)
        | What::IterationStarted => true,
        What::Tick
        | What::Human(_)
        | What::WorkspaceMeasured(_)
        | What::ReportStands(_)
        | What::Fault(_)
        | What::PolicyDrift(_)
        | What::EngineSwitched(_)
        | What::ToolsSeen(_)
        | What::ModelSpend(_)
        | What::SandboxHeld(_) => false,
    }
}

/// The label of an engine that the transcript shows; where a cassette or a worker's program lies is no part of a session.
#[must_use]
pub fn engine_label(name: &str) -> Label {
    let base = |path: &str| String::from(path.rsplit('/').next().unwrap_or(path));
    match (name.strip_prefix("scripted:"), name.split_once(' ')) {
        (Some(path), _) => Label::cut(&format!("scripted:{}", base(path))),
        (None, Some((program, words))) if is_path(program) => Label::cut(&format!("{} {words}", base(program))),
        (None, None) if is_path(name) => Label::cut(&base(name)),
        (None, Some(_) | None) => Label::cut(name),
    }
}

fn is_path(word: &str) -> bool {
    word.starts_with('/') || word.starts_with("./") || word.starts_with("../")
}
