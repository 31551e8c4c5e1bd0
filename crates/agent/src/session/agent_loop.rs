//! The session while it runs: the loop around the machine in `core`.

use super::conversation::{Conversation, Tail};
use super::engine_set::EngineSet;
use super::error::SessionError;
use super::facts::{self, Facts};
use super::frontend::{Frontend, Status};
use super::money::{SessionMoney, may_cost};
use super::outside::ReadTexts;
use super::real_call::{self, RealCall};
use super::tool_runner::{ToolRunner, not_run};
use super::watch::Watch;
use super::written::{keep_plan, write_todo};
use crate::engines::question_size;
use crate::prompt;
use crate::tools::plan_of;
use crate::tools::registry::PLAN;
use std::path::PathBuf;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};
use tripwire_core::chain::ChainView;
use tripwire_core::chain::gate::Permit;
use tripwire_core::effect::{HoldReason, StopReason};
use tripwire_core::input::{AdvisorReply, Claim, Compaction, HumanAct, What, WorkspaceMeasurement};
use tripwire_core::label::Label;
use tripwire_core::policy::Switch;
use tripwire_core::run::ending::Ending;
use tripwire_core::run::line::Line;
use tripwire_core::run::record::{Call, Checked, RunRecord};
use tripwire_core::run::{LoopEffect, LoopRequest, Next, Run, RunInput};
use tripwire_core::units::{Count, EventIndex, RunMillis};
use tripwire_session::driver::Driver;
use tripwire_session::transcript::Transcript;
use tripwire_workspace::account;
use tripwire_workspace::clock;
use tripwire_workspace::geometry::layout::Layout;
use tripwire_workspace::loop_lock::LoopLock;

/// How often a waiting session looks at the control files.
pub(super) const LOOK: Duration = Duration::from_millis(100);
/// A wait that is long enough to be shown.
pub(super) const SHOWN_WAIT_MS: u64 = 2_000;
/// How long a session waits for a person before it looks at its own wall clock again.
pub(super) const TICK: Duration = Duration::from_secs(30);

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
    pub(super) driver: Driver,
    pub(super) run: Run,
    layout: Layout,
    pub(super) root: PathBuf,
    pub(super) engines: EngineSet,
    pub(super) runner: ToolRunner,
    pub(super) conversation: Conversation,
    pub(super) tail: Tail,
    read: ReadTexts,
    /// The newest decision.
    decided: EventIndex,
    transcript: Transcript,
    /// The right to do what was just allowed.
    pub(super) permit: Option<Permit>,
    /// The accounts, where an engine may cost something.
    pub(super) money: Option<SessionMoney>,
    /// Why the gate lets the next call wait, if it does.
    pub(super) throttled: Option<String>,
    /// How long the last call took.
    pub(super) took: Duration,
    pub(super) watch: Watch,
    pub(super) frontend: &'a mut dyn Frontend,
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
    /// Answers and results so far, with the decisions before them.
    pub(super) results: Vec<(Line, EventIndex)>,
}

impl<'a> Session<'a> {
    /// Puts a session together.
    pub(super) fn new(mut parts: Parts, frontend: &'a mut dyn Frontend) -> Result<Self, SessionError> {
        // What is journaled so far was shown already, however old the state file is.
        parts.driver.refresh()?;
        parts.driver.follow();
        let mut read = ReadTexts::default();
        for (line, decided) in &parts.results {
            read.take(line, &parts.root, parts.driver.policy(), *decided);
        }
        let prices = parts.driver.policy().price_list();
        let costs = parts.engines.all().any(|engine| may_cost(engine, &prices));
        let (id, view) = (parts.driver.session().as_str(), parts.driver.view());
        let money = costs.then(|| SessionMoney::open(&parts.layout, id, &view)).transpose()?;
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
            read,
            decided: EventIndex::default(),
            permit: None,
            money,
            throttled: None,
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
                    let (before, what) = (self.before(&request), self.what(&request));
                    self.put_all(before, what)?;
                    self.account_for(&request)?;
                }
                Next::Ask { engine } => self.ask(engine)?,
                Next::Check(call) => {
                    let checked = match RealCall::of(&call, self.driver.vault()) {
                        Ok(call) => self.runner.check(&call),
                        Err(error) => Checked::Fault(real_call::fault(&error)),
                    };
                    self.learn(RunRecord::Checked(checked), Duration::ZERO)?;
                }
                Next::Execute(call) => self.execute(&call)?,
                Next::JudgeLoop => self.judge_loop()?,
                Next::Advise { deadlock, advisor } => self.advise(deadlock, advisor)?,
                Next::Review => self.review()?,
                Next::Apply(proposal) => self.apply(proposal)?,
                Next::Wait(wait) => self.wait(wait)?,
                Next::AwaitAnswer { code, ms } => self.await_answer(&code, ms)?,
                Next::AwaitPerson(reason) => self.await_person(reason)?,
                Next::Finished(ending) => return self.leave(ending),
            }
        }
    }

    /// What the chain has to know before what the machine asks for: how an iteration left the workspace where the session stops
    /// on convergence, and that another engine goes on.
    fn before(&self, request: &LoopRequest) -> Vec<What> {
        match request {
            LoopRequest::IterationStarted
                if self.run.iteration() > Count::ZERO
                    && self.driver.policy().limits.stop_on_convergence == Switch::On =>
            {
                let measured = self.facts().workspace().map(|workspace_hash| WorkspaceMeasurement { workspace_hash });
                measured.map(What::WorkspaceMeasured).into_iter().collect()
            }
            LoopRequest::ModelRequest => self
                .run
                .switched()
                .map(|switched| What::EngineSwitched(facts::switched(switched)))
                .into_iter()
                .collect(),
            LoopRequest::IterationStarted
            | LoopRequest::Spent(_)
            | LoopRequest::ModelEvent(_)
            | LoopRequest::ToolRequest(_)
            | LoopRequest::ToolResult(_)
            | LoopRequest::ToolEvent(..)
            | LoopRequest::Claim
            | LoopRequest::Compacted
            | LoopRequest::Advice(_)
            | LoopRequest::Verdict(_)
            | LoopRequest::ApplyRequest(_)
            | LoopRequest::ApplyResult(_) => Vec::new(),
        }
    }

    /// What the machine wants put before the chain, with the facts.
    fn what(&mut self, request: &LoopRequest) -> What {
        match request {
            LoopRequest::IterationStarted => What::IterationStarted,
            LoopRequest::Spent(spent) => What::Event(self.facts().spent_event(spent)),
            LoopRequest::ModelRequest => {
                let reserve = self.worst_case();
                What::Request(self.facts().model_request(reserve))
            }
            LoopRequest::ModelEvent(answer) => {
                let question = self.conversation.question(prompt::SYSTEM, self.runner.specs());
                What::Event(self.facts().model_event(answer, question_size::size(&question)))
            }
            LoopRequest::ToolRequest(call) => match RealCall::of(call, self.driver.vault()) {
                Ok(call) => {
                    let meaning = self.runner.meaning(&call);
                    What::Request(self.facts().tool_request(&call.real, meaning))
                }
                // A call that does not decode is never requested; without authority the gate refuses it.
                Err(_) => What::Request(self.facts().tool_request(call, None)),
            },
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

    pub(super) fn facts(&self) -> Facts<'_> {
        Facts {
            driver: &self.driver,
            engines: &self.engines,
            root: &self.root,
            tree: self.runner.tree(),
            step: self.run.step(),
            took: self.took,
            outside: self.read.texts(),
        }
    }

    /// Puts something before the chain.
    pub(super) fn put(&mut self, what: What) -> Result<(), SessionError> {
        self.put_all(Vec::new(), what)
    }

    /// Puts something before the chain, with what it has to know first.
    fn put_all(&mut self, before: Vec<What>, what: What) -> Result<(), SessionError> {
        let mut taken = self.driver.take_all_now(before, what, clock::now)?;
        self.catch_up()?;
        for decision in &taken.before {
            let effects = self.run.take(RunInput::Noticed(decision));
            self.carry_out(effects)?;
        }
        self.decided = taken.decision.i;
        self.permit = taken.permit.take();
        let safety = &taken.decision.safety;
        self.throttled = safety.retry_after_ms.map(|_| format!("{} [{}]", safety.reason, safety.rule.id()));
        let effects = self.run.take(RunInput::Decided(&taken.what, &taken.decision));
        self.carry_out(effects)?;
        taken.notices.iter().for_each(|notice| self.frontend.notice(notice));
        self.frontend.taken(&self.driver, &taken);
        Ok(())
    }

    /// Journals what was learnt, then lets the machine use it.
    pub(super) fn learn(&mut self, record: RunRecord, took: Duration) -> Result<(), SessionError> {
        let record = self.driver.learn(record, took, clock::now())?;
        self.catch_up()?;
        let effects = self.run.take(RunInput::Record(&record));
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
                    self.read.take(&line, &self.root, self.driver.policy(), self.decided);
                    let status = self.status("");
                    self.frontend.line(&line, &status);
                }
                LoopEffect::Say(saying) => self.conversation.say(&saying, self.driver.vault()),
                LoopEffect::Forget => self.conversation.forget(),
                LoopEffect::Brief => self.driver.brief(clock::now())?,
                LoopEffect::Plan(plan) => keep_plan(&self.layout, &plan)?,
                LoopEffect::Recite(recitation) => write_todo(&self.layout, recitation)?,
            }
        }
        Ok(())
    }

    /// Carries out a permitted call, in a thread of its own, so that a person and the wall clock can end it.
    fn execute(&mut self, call: &Call) -> Result<(), SessionError> {
        // Without a permit nothing runs; the machine asks for one again.
        let Some(permit) = self.permit.take() else {
            return self.learn(RunRecord::Returned(not_run("not run: the permit was lost; ask again")), Duration::ZERO);
        };
        self.learn(RunRecord::Started, Duration::ZERO)?;
        let real = match RealCall::of(call, self.driver.vault()) {
            Ok(real) => real,
            Err(error) => {
                return self.learn(RunRecord::Returned(not_run(&real_call::not_resolved(&error))), Duration::ZERO);
            }
        };
        self.runner.redact_with(self.driver.redactor()?);
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
            scope.spawn(move || sender.send(runner.execute(permit, &real, deadline)));
            loop {
                match receiver.recv_timeout(LOOK) {
                    Ok(returned) => return returned,
                    Err(RecvTimeoutError::Disconnected) => {
                        return not_run("not run: the tool broke off inside tripwire");
                    }
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
        self.runner.snapshot_notices().iter().for_each(|notice| self.frontend.notice(notice));
        let plan = plan_of(&call.arguments).filter(|_| call.tool == PLAN && !returned.how.is_error());
        plan.map(|plan| self.learn(RunRecord::Planned(plan), Duration::ZERO)).transpose()?;
        self.learn(RunRecord::Returned(returned), took)
    }

    pub(super) fn must_stop(&self) -> bool {
        self.frontend.is_interrupted() || self.watch.is_stop_ordered()
    }

    /// Freezes the replay and says how it ended.
    fn leave(mut self, ending: Ending) -> Result<SessionEnd, SessionError> {
        self.report_for_worker(&ending)?;
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

    /// A worker whose guard ended it leaves no report of its own: where the loop ends with it, the loop does.
    fn report_for_worker(&mut self, ending: &Ending) -> Result<(), SessionError> {
        let view = self.driver.view();
        let blocked = match ending {
            Ending::Held { reason } => {
                matches!(reason, HoldReason::Loop | HoldReason::NoProgress) && view.held.is_none()
            }
            Ending::Stopped { reason } => *reason != StopReason::StoppedByPerson && view.stopped.is_none(),
            Ending::Completed { .. }
            | Ending::SystemError { .. }
            | Ending::ToolFailed { .. }
            | Ending::Refused { .. }
            | Ending::OutOfIterations
            | Ending::Parked { .. }
            | Ending::NoEngine { .. }
            | Ending::NoMoney { .. } => false,
        };
        if blocked {
            self.driver.report_blocker(&ending.explain(), clock::now())?;
        }
        Ok(())
    }

    /// A moment of the session's time, on this process's clock.
    pub(super) fn deadline(&self, at: Option<RunMillis>) -> Option<Instant> {
        let passed = clock::now().epoch_ms().saturating_sub(self.driver.start().epoch_ms());
        at.map(|at| Instant::now() + Duration::from_millis(at.get().saturating_sub(passed)))
    }

    /// When the session's own wall clock runs out.
    pub(super) fn wall_clock(&self) -> Option<Instant> {
        self.deadline(self.driver.view().session_deadline)
    }

    pub(super) fn left(&self) -> Option<Duration> {
        self.wall_clock().map(|clock| clock.saturating_duration_since(Instant::now()))
    }

    pub(super) fn status(&self, doing: &str) -> Status {
        Status {
            doing: doing.to_owned(),
            iteration: self.run.iteration(),
            step: self.run.step(),
            figures: self.driver.view(),
            left: self.left(),
        }
    }
}

/// The person at the terminal interrupted the loop.
pub(super) fn interrupt() -> What {
    What::Human(HumanAct::Stop.signed(&account::current(), "interrupt"))
}
