//! The session while it runs: the loop around the machine in `core`.

use super::asking::{Listening, late_or, longest, missing, read_verdict, with_own_ids};
use super::conversation::{Conversation, OUTPUT_TOKENS_MAX, Tail};
use super::engine_set::{AuxEngine, EngineSet};
use super::error::SessionError;
use super::facts::{self, Facts};
use super::frontend::{Frontend, Status};
use super::tool_runner::ToolRunner;
use super::watch::Watch;
use crate::engines::{Question, Turn};
use crate::prompt;
use std::path::PathBuf;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};
use tripwire_core::chain::ChainView;
use tripwire_core::chain::gate::Permit;
use tripwire_core::effect::{Deadlock, HoldReason};
use tripwire_core::input::{AdvisorReply, Claim, Compaction, HumanAct, What};
use tripwire_core::label::Label;
use tripwire_core::record::chain::Digest;
use tripwire_core::run::ending::Ending;
use tripwire_core::run::record::{
    Answer, Call, CallOutcome, EngineFailure, FailureKind, Returned, ReviewAnswer, Reviewed, RunRecord, Spoken,
};
use tripwire_core::run::{LoopEffect, LoopRequest, Next, Recitation, Run, RunInput, engine_label};
use tripwire_core::text::StepSummary;
use tripwire_core::units::{EventIndex, MicroUsd, RunMillis};
use tripwire_fs::file::FileError;
use tripwire_session::driver::Driver;
use tripwire_session::transcript::Transcript;
use tripwire_workspace::account;
use tripwire_workspace::clock;
use tripwire_workspace::geometry::layout::Layout;
use tripwire_workspace::geometry::reports::{Report, Todo};
use tripwire_workspace::loop_lock::LoopLock;

/// How often a waiting session looks at the control files.
const LOOK: Duration = Duration::from_millis(100);
/// A wait that is long enough to be shown.
const SHOWN_WAIT_MS: u64 = 2_000;
/// How long a session waits for a person before it looks at its own wall clock again.
const TICK: Duration = Duration::from_secs(30);

/// How a session was left.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionEnd {
    /// How it ended.
    pub ending: Ending,
    /// The engine's figures at the end.
    pub figures: ChainView,
    /// The session's id.
    pub session: String,
    /// Where the transcript is.
    pub transcript: PathBuf,
    /// The number of the most telling decision: the one behind the strictest of the newest findings.
    pub telling: Option<EventIndex>,
}

/// One session of our own loop, run by this process alone.
pub struct Session<'a> {
    driver: Driver,
    run: Run,
    layout: Layout,
    root: PathBuf,
    engines: EngineSet,
    runner: ToolRunner,
    conversation: Conversation,
    tail: Tail,
    transcript: Transcript,
    /// The right to do what was just allowed.
    permit: Option<Permit>,
    /// How long the last call took.
    took: Duration,
    watch: Watch,
    frontend: &'a mut dyn Frontend,
    _lock: LoopLock,
}

/// What a session is put together from.
pub(super) struct Parts {
    pub(super) driver: Driver,
    pub(super) run: Run,
    pub(super) runner: ToolRunner,
    pub(super) lock: LoopLock,
    pub(super) engines: EngineSet,
    pub(super) layout: Layout,
    pub(super) root: PathBuf,
    /// The lines of the transcript so far.
    pub(super) transcript: String,
    pub(super) conversation: Conversation,
    pub(super) tail: Tail,
}

impl<'a> Session<'a> {
    /// Puts a session together.
    pub(super) fn new(mut parts: Parts, frontend: &'a mut dyn Frontend) -> Result<Self, SessionError> {
        // What is journaled so far was shown already, however old the state file is.
        parts.driver.refresh()?;
        parts.driver.follow();
        Ok(Self {
            transcript: Transcript::open(&parts.layout, parts.driver.session(), &parts.transcript)?,
            watch: Watch::new(&parts.layout, parts.driver.session().as_str()),
            driver: parts.driver,
            run: parts.run,
            layout: parts.layout,
            root: parts.root,
            engines: parts.engines,
            runner: parts.runner,
            conversation: parts.conversation,
            tail: parts.tail,
            permit: None,
            took: Duration::ZERO,
            frontend,
            _lock: parts.lock,
        })
    }

    pub(super) const fn driver(&mut self) -> &mut Driver {
        &mut self.driver
    }
}

impl Session<'_> {
    /// Runs to the end.
    ///
    /// # Errors
    /// When something could not be journaled for certain: then nothing goes on.
    pub fn play(mut self) -> Result<SessionEnd, SessionError> {
        loop {
            if self.frontend.is_interrupted() && self.driver.view().stopped.is_none() {
                self.put(interrupt())?;
            }
            match self.run.next() {
                Next::Take(request) => {
                    let what = self.what(&request);
                    self.put(what)?;
                }
                Next::Ask { engine } => self.ask(engine)?,
                Next::Check(call) => {
                    let checked = self.runner.check(&call);
                    self.learn(&RunRecord::Checked(checked), Duration::ZERO)?;
                }
                Next::Execute(call) => self.execute(&call)?,
                Next::Advise(deadlock) => self.advise(deadlock)?,
                Next::Review => self.review()?,
                Next::Apply(proposal) => self.apply(proposal)?,
                Next::Wait(wait) => self.wait(wait)?,
                Next::AwaitPerson(reason) => self.await_person(reason)?,
                Next::Finished(ending) => return self.leave(ending),
            }
        }
    }

    /// What the machine wants put before the chain, with the facts.
    fn what(&mut self, request: &LoopRequest) -> What {
        match request {
            LoopRequest::IterationStarted => What::IterationStarted,
            LoopRequest::Spent(spent) => What::Event(self.facts().spent_event(spent)),
            LoopRequest::ModelRequest => What::Request(self.facts().model_request()),
            LoopRequest::ModelEvent(answer) => What::Event(self.facts().model_event(answer)),
            LoopRequest::ToolRequest(call) => {
                let meaning = self.runner.meaning(call);
                What::Request(self.facts().tool_request(call, meaning))
            }
            LoopRequest::ToolResult(returned) | LoopRequest::ApplyResult(returned) => {
                What::Result(self.facts().result(returned))
            }
            LoopRequest::ToolEvent(call, returned) => {
                let event = self.runner.event(call, returned);
                What::Event(self.facts().tool_event(event))
            }
            LoopRequest::Claim => What::Claim(Claim { workspace_hash: self.facts().workspace(), ..Claim::default() }),
            LoopRequest::Compacted => {
                What::Compacted(Compaction { context_tokens: None, workspace_hash: self.facts().workspace() })
            }
            LoopRequest::Advice(spoken) => What::Advisor(AdvisorReply { advice: Label::cut(spoken.text.trim()) }),
            LoopRequest::Verdict(reviewed) => What::Review(facts::verdict(reviewed)),
            LoopRequest::ApplyRequest(proposal) => What::Request(self.facts().apply_request(*proposal)),
        }
    }

    fn facts(&self) -> Facts<'_> {
        Facts {
            driver: &self.driver,
            engines: &self.engines,
            root: &self.root,
            tree: self.runner.tree(),
            step: self.run.step(),
            took: self.took,
        }
    }

    /// Puts something before the chain.
    pub(super) fn put(&mut self, what: What) -> Result<(), SessionError> {
        let taken = self.driver.take_now(what.clone(), clock::now)?;
        self.catch_up()?;
        for decision in &taken.before {
            let effects = self.run.take(RunInput::Noticed(decision));
            self.carry_out(effects)?;
        }
        self.permit = taken.permit;
        let effects = self.run.take(RunInput::Decided(&what, &taken.decision));
        self.carry_out(effects)?;
        taken.notices.iter().for_each(|notice| self.frontend.notice(notice));
        Ok(())
    }

    /// Journals what was learnt, then lets the machine use it.
    pub(super) fn learn(&mut self, record: &RunRecord, took: Duration) -> Result<(), SessionError> {
        self.driver.learn(record, took, clock::now())?;
        self.catch_up()?;
        let effects = self.run.take(RunInput::Record(record));
        self.carry_out(effects)
    }

    /// Takes in what other processes decided before, in the order in which the journal has it.
    fn catch_up(&mut self) -> Result<(), SessionError> {
        for (input, decision) in self.driver.followed() {
            let effects = self.run.take(RunInput::Decided(&input.what, &decision));
            self.carry_out(effects)?;
        }
        Ok(())
    }

    /// Carries out the effects that the machine asks for.
    pub(super) fn carry_out(&mut self, effects: Vec<LoopEffect>) -> Result<(), SessionError> {
        for effect in effects {
            if let Err(error) = self.driver.log(&effect, clock::now()) {
                self.frontend.notice(&format!("the safety log could not be written: {error}"));
            }
            match effect {
                LoopEffect::Line(line) => {
                    self.transcript.append(&line)?;
                    self.tail.push(&line.text()?);
                    let status = self.status("");
                    self.frontend.line(&line, &status);
                }
                LoopEffect::Say(saying) => self.conversation.say(&saying),
                LoopEffect::Forget => self.conversation.forget(),
                LoopEffect::Brief => self.driver.brief(clock::now())?,
                LoopEffect::Recite(recitation) => write_todo(&self.layout, recitation)?,
            }
        }
        Ok(())
    }

    /// Asks an engine of the chain with the conversation as it stands.
    fn ask(&mut self, engine: usize) -> Result<(), SessionError> {
        // The permit is for this one question.
        let until = self.permit.take().and_then(|permit| self.deadline(permit.deadline()));
        let step = self.run.step().get();
        let begun = Instant::now();
        let name = self.engines.label(engine);
        let status = self.status(&format!("asks {name}"));
        let money = self.money_left();
        let Self { engines, conversation, runner, watch, frontend, .. } = self;
        let question = conversation.question(prompt::SYSTEM, runner.specs());
        let record = match engines.chain.get_mut(engine) {
            None => RunRecord::Failed(missing(name)),
            Some(asked) => {
                asked.allow(money);
                let longest = longest(asked.as_ref());
                let heard =
                    Listening { status, watch, frontend: &mut **frontend, until }.ask(asked.as_mut(), &question);
                let used = asked.spent();
                engines.record(&question, &heard);
                match heard {
                    Ok(answer) => RunRecord::Answered(with_own_ids(runner.claim_of_worker(answer), step)),
                    Err(error) => RunRecord::Failed(late_or(error, until, longest).failure(name, used)),
                }
            }
        };
        self.took = begun.elapsed();
        let took = self.took;
        self.learn(&record, took)
    }

    /// What is left of the money, where it is bounded.
    fn money_left(&self) -> Option<MicroUsd> {
        let figures = self.driver.view();
        let spent = figures.spent.micro_usd.get();
        figures.budget_micro_usd.map(|budget| MicroUsd::new(budget.get().saturating_sub(spent)))
    }

    /// Asks the advisor what to do about a deadlock (RUN-5).
    fn advise(&mut self, deadlock: Deadlock) -> Result<(), SessionError> {
        let text = prompt::advisor(deadlock, &self.tail.text());
        let begun = Instant::now();
        let record = match self.ask_aux(AuxEngine::Advisor, text) {
            Ok(spoken) => RunRecord::Advised(spoken),
            Err(failure) => RunRecord::NoAdvice(*failure),
        };
        self.learn(&record, begun.elapsed())
    }

    /// Has the staged change reviewed by its digest (REVIEW-1).
    fn review(&mut self) -> Result<(), SessionError> {
        let begun = Instant::now();
        let record = match self.runner.proposal(&self.root) {
            Err(problem) => RunRecord::NoReview(EngineFailure {
                engine: Label::cut("stage"),
                kind: FailureKind::Refused,
                retry_after_ms: None,
                said: problem.to_string().into(),
                spent: None,
            }),
            Ok(None) => {
                RunRecord::Reviewed(Reviewed { proposal: None, answer: ReviewAnswer::NothingChanged, spoken: None })
            }
            Ok(Some((digest, change))) => self.ask_reviewer(digest, &change),
        };
        self.learn(&record, begun.elapsed())
    }

    fn ask_reviewer(&mut self, digest: Digest, change: &str) -> RunRecord {
        let text = prompt::reviewer(&self.run.setup().objective, &digest.to_string(), change);
        match self.ask_aux(AuxEngine::Reviewer, text) {
            Ok(spoken) => {
                let answer = read_verdict(&spoken.text);
                RunRecord::Reviewed(Reviewed { proposal: Some(digest), answer, spoken: Some(spoken) })
            }
            Err(failure) => RunRecord::NoReview(*failure),
        }
    }

    /// Applies what was approved; the permit is for exactly this change.
    fn apply(&mut self, proposal: Digest) -> Result<(), SessionError> {
        let permit = self.permit.take();
        let returned = self.runner.apply(permit, facts::apply_action().exact(), &proposal);
        self.learn(&RunRecord::Applied(returned), Duration::ZERO)
    }

    fn ask_aux(&mut self, aux: AuxEngine, text: String) -> Result<Spoken, Box<EngineFailure>> {
        let status = self.status(aux.doing());
        let until = self.wall_clock();
        let Self { engines, watch, frontend, .. } = self;
        let Some(asked) = engines.aux(aux) else { return Err(Box::new(missing(Label::cut(aux.doing())))) };
        let turns = [Turn::User(text)];
        let question = Question { system: "", tools: &[], turns: &turns, output_tokens_max: OUTPUT_TOKENS_MAX };
        let heard = Listening { status, watch, frontend: &mut **frontend, until }.ask(asked, &question);
        let (name, lost) = (engine_label(asked.name()), asked.spent());
        engines.record_aux(aux, &question, &heard);
        match heard {
            Ok(Answer { model, text, usage, .. }) => Ok(Spoken { engine: name, model, text, usage }),
            Err(error) => Err(Box::new(error.failure(name, lost))),
        }
    }

    /// Carries out a permitted call, in a thread of its own, so that a person and the wall clock can end it.
    fn execute(&mut self, call: &Call) -> Result<(), SessionError> {
        // Without a permit nothing runs; the machine asks for one again.
        let Some(permit) = self.permit.take() else {
            return self.learn(&RunRecord::Returned(not_permitted()), Duration::ZERO);
        };
        self.learn(&RunRecord::Started, Duration::ZERO)?;
        let begun = Instant::now();
        let deadline = self.deadline(permit.deadline());
        let interrupt = self.runner.interrupt();
        // An order that was withdrawn before it ended anything is not for this call.
        if !self.must_stop() {
            interrupt.clear();
        }
        let mut status = self.status(&format!("{} {}", call.tool, call.arguments));
        let Self { runner, watch, frontend, .. } = self;
        let returned = std::thread::scope(|scope| {
            let (sender, receiver) = mpsc::channel();
            scope.spawn(move || sender.send(runner.execute(permit, call, deadline)));
            loop {
                match receiver.recv_timeout(LOOK) {
                    Ok(returned) => return returned,
                    Err(RecvTimeoutError::Disconnected) => return broken(),
                    Err(RecvTimeoutError::Timeout) => {}
                }
                if frontend.is_interrupted() || watch.is_stop_ordered() {
                    interrupt.raise();
                }
                status.left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
                frontend.beat(&status);
            }
        });
        self.took = begun.elapsed();
        let took = self.took;
        self.learn(&RunRecord::Returned(returned), took)
    }

    fn must_stop(&self) -> bool {
        self.frontend.is_interrupted() || self.watch.is_stop_ordered()
    }

    /// Waits, but not for a person who says stop, and not beyond the wall clock.
    fn wait(&mut self, wait: RunMillis) -> Result<(), SessionError> {
        let end = Instant::now() + Duration::from_millis(wait.get());
        let end = self.wall_clock().map_or(end, |clock| clock.min(end));
        let status = self.status("waits");
        if wait.get() >= SHOWN_WAIT_MS {
            let seconds = wait.get().div_ceil(1_000);
            self.frontend.notice(&format!("waits {seconds} s: the gate or the provider asked for it"));
        }
        while Instant::now() < end && !self.must_stop() {
            std::thread::sleep(LOOK.min(end.saturating_duration_since(Instant::now())));
            self.frontend.beat(&status);
        }
        self.learn(&RunRecord::Waited, Duration::ZERO)
    }

    /// Waits until a person did something, or until the wall clock has something to say.
    fn await_person(&mut self, reason: HoldReason) -> Result<(), SessionError> {
        self.frontend.notice(reason.explain());
        let before = self.watch.look();
        let tick = Instant::now() + TICK;
        let end = self.wall_clock().map_or(tick, |clock| clock.min(tick));
        let mut status = self.status("waits for a person");
        while Instant::now() < end && self.watch.look() == before && !self.frontend.is_interrupted() {
            std::thread::sleep(LOOK);
            status.left = self.left();
            self.frontend.beat(&status);
        }
        let act = if self.frontend.is_interrupted() { interrupt() } else { What::Tick };
        self.put(act)
    }

    /// Freezes the replay and says how it ended.
    fn leave(self, ending: Ending) -> Result<SessionEnd, SessionError> {
        if let Err(error) = self.driver.freeze() {
            self.frontend.notice(&format!("the frozen replay was not written: {error}"));
        }
        Ok(SessionEnd {
            ending,
            figures: self.driver.view(),
            session: self.driver.session().as_str().to_owned(),
            transcript: self.transcript.path().to_owned(),
            telling: self.driver.recent().iter().max_by_key(|finding| finding.level).map(|finding| finding.decision),
        })
    }

    /// A moment of the session's time, on this process's clock.
    fn deadline(&self, at: Option<RunMillis>) -> Option<Instant> {
        let passed = clock::now().epoch_ms().saturating_sub(self.driver.start().epoch_ms());
        at.map(|at| Instant::now() + Duration::from_millis(at.get().saturating_sub(passed)))
    }

    /// When the session's own wall clock runs out.
    fn wall_clock(&self) -> Option<Instant> {
        self.deadline(self.driver.policy().limits.max_session_runtime_ms.get())
    }

    fn left(&self) -> Option<Duration> {
        self.wall_clock().map(|clock| clock.saturating_duration_since(Instant::now()))
    }

    fn status(&self, doing: &str) -> Status {
        Status {
            doing: doing.to_owned(),
            iteration: self.run.iteration(),
            step: self.run.step(),
            figures: self.driver.view(),
            left: self.left(),
        }
    }
}

/// Rewrites `todo.md` as the machine recites it.
fn write_todo(layout: &Layout, recitation: Recitation) -> Result<(), FileError> {
    let todo = Todo {
        objective: recitation.objective.into_string(),
        steps_done: u64::from(recitation.steps.get()),
        progress: vec![format!("iteration {}", recitation.iteration)],
        last_completed: recitation.last.map(StepSummary::into_string),
        next: recitation.next.map(StepSummary::into_string),
    };
    Report::Todo.write(layout, &todo.text())
}

/// The person at the terminal interrupted the loop.
fn interrupt() -> What {
    What::Human(HumanAct::Stop.signed(&account::current(), "interrupt"))
}

fn not_permitted() -> Returned {
    not_run("not run: the permit was lost; ask again")
}

fn broken() -> Returned {
    not_run("not run: the tool broke off inside tripwire")
}

fn not_run(text: &str) -> Returned {
    Returned { exit_code: None, how: CallOutcome::NotRun, pointer: None, text: text.into(), verbatim: None }
}
