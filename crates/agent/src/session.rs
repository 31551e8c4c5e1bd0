//! The shell of our own loop: it does what the machine in `core` says, journals what comes of it, and decides nothing.
//!
//! The order is always the same: what was learnt is journaled, then the machine takes it in, then its views are carried
//! out. A process that dies at any moment leaves a journal from which the next one goes on.

mod asking;
mod begin;
mod facts;
mod remembered;

pub use begin::{Engines, Plan, Recorders};
pub use remembered::{Remembered, RememberedError};

use crate::conversation::{Conversation, Tail};
use crate::engine::EngineError;
use crate::hands::{Hands, HandsError};
use crate::watch::Watch;
use std::path::PathBuf;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};
use tripwire_core::chain::ChainView as Figures;
use tripwire_core::chain::gate::Permit;
use tripwire_core::effect::HoldReason;
use tripwire_core::explain::Explain as _;
use tripwire_core::input::{HumanAct, What};
use tripwire_core::record::canonical::CanonicalError;
use tripwire_core::run::ending::Ending;
use tripwire_core::run::line::Line;
use tripwire_core::run::record::{Call, Returned, RunRecord};
use tripwire_core::run::{LoopEffect, LoopRequest, Next, Recitation, Run, RunInput};
use tripwire_core::text::StepSummary;
use tripwire_core::units::{Count, EventIndex, RunMillis};
use tripwire_fs::file::FileError;
use tripwire_session::driver::{Driver, DriverError};
use tripwire_session::transcript::Transcript;
use tripwire_workspace::clock;
use tripwire_workspace::geometry::layout::Layout;
use tripwire_workspace::geometry::reports::{Report, Todo};
use tripwire_workspace::loop_lock::{LoopLock, LoopLockError};

/// How often a waiting session looks at the control files.
const LOOK: Duration = Duration::from_millis(100);
/// A wait that is long enough to be told.
const TOLD_WAIT_MS: u64 = 2_000;
/// How long a session waits for a person before it looks at its own wall clock again.
const TICK: Duration = Duration::from_secs(30);

/// Hears what happens, for a person or a program. It changes nothing.
pub trait Audience {
    /// A line was written to the transcript.
    fn line(&mut self, line: &Line, status: &Status);
    /// Something is running; told about ten times a second.
    fn beat(&mut self, status: &Status);
    /// A person should know this.
    fn notice(&mut self, text: &str);
}

/// The session at a glance, while it runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Status {
    /// What is being done.
    pub doing: String,
    /// The running iteration.
    pub iteration: Count,
    /// The running step.
    pub step: Count,
    /// The engine's figures.
    pub figures: Figures,
    /// What is left of the wall clock, where there is one.
    pub left: Option<Duration>,
}

/// Why a session cannot be begun or go on.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    /// The session cannot be driven: nothing happens.
    #[error(transparent)]
    Driver(#[from] DriverError),
    /// Another process runs it.
    #[error(transparent)]
    Sole(#[from] LoopLockError),
    /// The tools cannot be had.
    #[error(transparent)]
    Hands(#[from] HandsError),
    /// An engine cannot answer, and nothing was begun.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// A file cannot be written.
    #[error(transparent)]
    File(#[from] FileError),
    /// A person's order to stop stands.
    #[error("`{}` stands: a person stopped this workspace", path.display())]
    StopStands {
        /// The order.
        path: PathBuf,
    },
    /// The session was begun by something else.
    #[error("session {session} is not one of `tripwire agent`")]
    NotOurs {
        /// The session.
        session: String,
    },
    /// There is nothing to go on with.
    #[error("session {session} is over: {}", ending.explain())]
    Over {
        /// The session.
        session: String,
        /// How it ended.
        ending: Ending,
    },
    /// The prompt or the tools are not those that the session was frozen with.
    #[error("the {what} of this tripwire is not the one that session {session} was frozen with")]
    Changed {
        /// The session.
        session: String,
        /// What differs.
        what: &'static str,
    },
    /// What a session is to remember cannot be had.
    #[error(transparent)]
    Remembered(#[from] RememberedError),
    /// A line has no canonical form.
    #[error(transparent)]
    Canonical(#[from] CanonicalError),
}

impl SessionError {
    /// What a person can do about it.
    #[must_use]
    pub fn hint(&self) -> String {
        match self {
            Self::Driver(error) => error.hint().into_owned(),
            Self::Sole(error) => error.hint().into_owned(),
            Self::Hands(error) => error.hint(),
            Self::Engine(error) => error.hint(),
            Self::File(error) => error.hint().into_owned(),
            Self::StopStands { .. } => "take the order back with `tripwire resume`".to_owned(),
            Self::NotOurs { .. } => "list the sessions with `tripwire status`".to_owned(),
            Self::Over { .. } | Self::Changed { .. } => {
                "begin a new session with `tripwire agent --task FILE`".to_owned()
            }
            Self::Remembered(error) => error.hint(),
            Self::Canonical(_) => "this is a defect of tripwire; please report it".to_owned(),
        }
    }
}

/// How a session was left.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Left {
    /// How it ended.
    pub ending: Ending,
    /// The engine's figures at the end.
    pub figures: Figures,
    /// The session's id.
    pub session: String,
    /// The transcript.
    pub transcript: PathBuf,
    /// The number of the decision that tells most: the one behind the strictest of the newest findings.
    pub telling: Option<EventIndex>,
}

/// One session of our own loop, run by this process alone.
pub struct Session<'a> {
    driver: Driver,
    run: Run,
    layout: Layout,
    root: PathBuf,
    engines: Engines,
    hands: Hands,
    conversation: Conversation,
    tail: Tail,
    transcript: Transcript,
    /// The right to do what was just allowed.
    permit: Option<Permit>,
    /// How long the last call took.
    took: Duration,
    watch: Watch,
    doors: Doors<'a>,
    _sole: LoopLock,
}

/// How a session reaches the person in front of it.
pub struct Doors<'a> {
    /// Whether the person pressed Ctrl-C.
    pub interrupted: &'a (dyn Fn() -> bool + Sync),
    /// Who hears what happens.
    pub audience: &'a mut dyn Audience,
}

impl Session<'_> {
    /// Runs to the end.
    ///
    /// # Errors
    /// When something could not be journaled for certain: then nothing goes on.
    pub fn play(mut self) -> Result<Left, SessionError> {
        loop {
            if (self.doors.interrupted)() && self.driver.view().stopped.is_none() {
                self.put(What::Human(HumanAct::Stop))?;
            }
            match self.run.next() {
                Next::Take(request) => self.take(&request)?,
                Next::Ask { engine } => self.ask(engine)?,
                Next::Check(call) => {
                    let checked = self.hands.check(&call);
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

    /// Puts something before the chain.
    fn take(&mut self, request: &LoopRequest) -> Result<(), SessionError> {
        let what = self.what(request);
        self.put(what)
    }

    fn put(&mut self, what: What) -> Result<(), SessionError> {
        let taken = self.driver.take_now(what.clone(), clock::now)?;
        self.catch_up()?;
        for decision in &taken.before {
            let views = self.run.take(RunInput::Noticed(decision));
            self.show(views)?;
        }
        self.permit = taken.permit;
        let views = self.run.take(RunInput::Decided(&what, &taken.decision));
        self.show(views)?;
        taken.notices.iter().for_each(|notice| self.doors.audience.notice(notice));
        Ok(())
    }

    /// Journals what was learnt, then lets the machine use it.
    fn learn(&mut self, record: &RunRecord, took: Duration) -> Result<(), SessionError> {
        self.driver.learn(record, took, clock::now())?;
        self.catch_up()?;
        let views = self.run.take(RunInput::Record(record));
        self.show(views)
    }

    /// Takes in what other processes decided before, in the order in which the journal has it.
    fn catch_up(&mut self) -> Result<(), SessionError> {
        for (input, decision) in self.driver.followed() {
            let views = self.run.take(RunInput::Decided(&input.what, &decision));
            self.show(views)?;
        }
        Ok(())
    }

    /// Carries out the machine's views.
    fn show(&mut self, views: Vec<LoopEffect>) -> Result<(), SessionError> {
        for view in views {
            if let Err(error) = self.driver.log(&view, clock::now()) {
                self.doors.audience.notice(&format!("the safety log could not be written: {error}"));
            }
            match view {
                LoopEffect::Line(line) => {
                    self.transcript.append(&line)?;
                    self.tail.push(&line.text()?);
                    let status = self.status("");
                    self.doors.audience.line(&line, &status);
                }
                LoopEffect::Say(saying) => self.conversation.say(&saying),
                LoopEffect::Forget => self.conversation.forget(),
                LoopEffect::Brief => self.driver.brief(clock::now())?,
                LoopEffect::Recite(recitation) => recite(&self.layout, recitation)?,
            }
        }
        Ok(())
    }

    /// Carries out a permitted call, in a thread of its own: whoever waits can be interrupted, the wall clock too.
    fn execute(&mut self, call: &Call) -> Result<(), SessionError> {
        // Without a permit nothing runs; the machine asks for one again.
        let Some(permit) = self.permit.take() else {
            return self.learn(&RunRecord::Returned(not_permitted()), Duration::ZERO);
        };
        self.learn(&RunRecord::Started, Duration::ZERO)?;
        let begun = Instant::now();
        let deadline = self.deadline(permit.deadline());
        let interrupt = self.hands.interrupt();
        // An order that was taken back before it ended anything concerns this call no more.
        if !self.is_told_to_stop() {
            interrupt.clear();
        }
        let mut status = self.status(&format!("{} {}", call.tool, call.arguments));
        let Self { hands, watch, doors, .. } = self;
        let returned = std::thread::scope(|scope| {
            let (tell, told) = mpsc::channel();
            scope.spawn(move || tell.send(hands.execute(permit, call, deadline)));
            loop {
                match told.recv_timeout(LOOK) {
                    Ok(returned) => return returned,
                    Err(RecvTimeoutError::Disconnected) => return broken(),
                    Err(RecvTimeoutError::Timeout) => {}
                }
                if (doors.interrupted)() || watch.stop_stands() {
                    interrupt.raise();
                }
                status.left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
                doors.audience.beat(&status);
            }
        });
        self.took = begun.elapsed();
        let took = self.took;
        self.learn(&RunRecord::Returned(returned), took)
    }

    fn is_told_to_stop(&self) -> bool {
        (self.doors.interrupted)() || self.watch.stop_stands()
    }

    /// Waits, but not for a person who says stop, and not beyond the wall clock.
    fn wait(&mut self, wait: RunMillis) -> Result<(), SessionError> {
        let end = Instant::now() + Duration::from_millis(wait.get());
        let end = self.wall_clock().map_or(end, |clock| clock.min(end));
        let status = self.status("waits");
        if wait.get() >= TOLD_WAIT_MS {
            let seconds = wait.get().div_ceil(1_000);
            self.doors.audience.notice(&format!("waits {seconds} s: the gate or the provider asked for it"));
        }
        while Instant::now() < end && !self.is_told_to_stop() {
            std::thread::sleep(LOOK.min(end.saturating_duration_since(Instant::now())));
            self.doors.audience.beat(&status);
        }
        self.learn(&RunRecord::Waited, Duration::ZERO)
    }

    /// Waits until a person did something, or until the wall clock has something to say.
    fn await_person(&mut self, reason: HoldReason) -> Result<(), SessionError> {
        self.doors.audience.notice(reason.explain());
        let before = self.watch.look();
        let tick = Instant::now() + TICK;
        let end = self.wall_clock().map_or(tick, |clock| clock.min(tick));
        let mut status = self.status("waits for a person");
        while Instant::now() < end && self.watch.look() == before && !(self.doors.interrupted)() {
            std::thread::sleep(LOOK);
            status.left = self.left();
            self.doors.audience.beat(&status);
        }
        let act = if (self.doors.interrupted)() { What::Human(HumanAct::Stop) } else { What::Tick };
        self.put(act)
    }

    /// Closes the books.
    fn leave(self, ending: Ending) -> Result<Left, SessionError> {
        if let Err(error) = self.driver.freeze() {
            self.doors.audience.notice(&format!("the frozen replay was not written: {error}"));
        }
        Ok(Left {
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

/// Rewrites `todo.md`.
fn recite(layout: &Layout, recitation: Recitation) -> Result<(), FileError> {
    let todo = Todo {
        objective: recitation.objective.into_string(),
        steps_done: u64::from(recitation.steps.get()),
        progress: vec![format!("iteration {}", recitation.iteration)],
        last_completed: recitation.last.map(StepSummary::into_string),
        next: recitation.next.map(StepSummary::into_string),
    };
    Report::Todo.write(layout, &todo.text())
}

fn not_permitted() -> Returned {
    refused("not run: the permit was lost; ask again")
}

fn broken() -> Returned {
    refused("not run: the tool broke off inside tripwire")
}

fn refused(text: &str) -> Returned {
    use tripwire_core::run::record::CallOutcome;
    Returned { exit_code: None, how: CallOutcome::NotRun, pointer: None, text: text.into(), verbatim: None }
}
