//! Beginning a session, or taking one up again. What can be known to be wrong is said before anything is made.

use super::asking::Aside;
use super::{Doors, Remembered, Session, SessionError};
use crate::conversation::{Conversation, Tail, spent};
use crate::engine::cassette::Recorder;
use crate::engine::{Answer, Engine, EngineError, EngineKind, Fare, Place, Question, Turn};
use crate::hands::{Hands, HandsError, Reach};
use crate::prompt;
use crate::tool::Registry;
use crate::watch::Watch;
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use tripwire_authority::identity::{Configuration, Part};
use tripwire_core::input::{HumanAct, What};
use tripwire_core::label::Label;
use tripwire_core::policy::{Policy, PolicyError};
use tripwire_core::record::chain::Digest;
use tripwire_core::run::fallback::Seat;
use tripwire_core::run::line::Line;
use tripwire_core::run::record::{FailureKind, OnHold, RUN_VERSION, RunRecord, Setup, Spent};
use tripwire_core::run::{LoopEffect, Next, Run, engine_label};
use tripwire_core::units::Tokens;
use tripwire_session::driver::run::again;
use tripwire_session::driver::{Driver, DriverError, Signing, open_existing};
use tripwire_session::transcript::Transcript;
use tripwire_workspace::clock;
use tripwire_workspace::geometry::layout::Layout;
use tripwire_workspace::loop_lock::LoopLock;
use tripwire_workspace::policy_file;
use tripwire_workspace::session::SessionId;

/// How long an engine may take to say a word before a session is begun: a model on this machine may have to be loaded
/// first.
const PROBE_TIME: Duration = Duration::from_secs(180);

/// The engines of a session.
pub struct Engines {
    /// Those that are asked, in the order in which they are taken.
    pub chain: Vec<Box<dyn Engine>>,
    /// The advisor.
    pub advisor: Option<Box<dyn Engine>>,
    /// The reviewer.
    pub reviewer: Option<Box<dyn Engine>>,
    /// Where the answers are recorded.
    pub recorders: Recorders,
    /// What [`Engines::probe`] used.
    pub probed: Option<Spent>,
}

/// Where the answers are recorded, one cassette for each part.
#[derive(Debug, Default)]
pub struct Recorders {
    /// The model's answers.
    pub model: Option<Recorder>,
    /// The advisor's.
    pub advisor: Option<Recorder>,
    /// The reviewer's.
    pub reviewer: Option<Recorder>,
}

impl Engines {
    pub(super) fn label(&self, engine: usize) -> Label {
        self.chain.get(engine).map_or_else(Label::default, |engine| engine_label(engine.name()))
    }

    /// The window of the engine with this label.
    pub(super) fn window_of(&self, label: &Label) -> Option<Tokens> {
        self.named(label).and_then(Engine::window)
    }

    /// What the tokens of the engine with this label cost; one that is gone is taken for a remote one.
    pub(super) fn fare_of(&self, label: &Label) -> Fare {
        self.named(label).map_or(Fare::Full, Engine::fare)
    }

    /// Those that are workers.
    fn workers(&self) -> Vec<Label> {
        let workers = self.chain.iter().filter(|engine| engine.kind() == EngineKind::Worker);
        workers.map(|engine| engine_label(engine.name())).collect()
    }

    fn named(&self, label: &Label) -> Option<&dyn Engine> {
        let all = self.chain.iter().chain(&self.advisor).chain(&self.reviewer);
        all.map(Box::as_ref).find(|engine| engine_label(engine.name()) == *label)
    }

    /// The names for the record.
    fn remembered(&self) -> Remembered {
        let name = |engine: &dyn Engine| engine.name().to_owned();
        Remembered {
            engines: self.chain.iter().map(|engine| name(engine.as_ref())).collect(),
            advisor: self.advisor.as_deref().map(name),
            reviewer: self.reviewer.as_deref().map(name),
        }
    }

    /// Has the first engine say a word, so that a wrong key, an unknown model or a dead host is told before anything is
    /// begun. A cassette needs no such question, and a worker's program was looked for when it was opened. It takes no
    /// longer than the session itself may.
    ///
    /// # Errors
    /// When it does not answer at all.
    pub fn probe(
        &mut self,
        interrupted: &(dyn Fn() -> bool + Sync),
        runtime_max: Option<Duration>,
    ) -> Result<(), EngineError> {
        let asked =
            |engine: &&mut Box<dyn Engine>| engine.kind() == EngineKind::Model && !engine.name().starts_with(CASSETTE);
        let Some(first) = self.chain.first_mut().filter(asked) else { return Ok(()) };
        let turns = [Turn::User("Answer with the one word: ready".to_owned())];
        let question = Question { system: "", tools: &[], turns: &turns, output_tokens_max: PROBE_TOKENS };
        let time = runtime_max.map_or(PROBE_TIME, |runtime| runtime.min(PROBE_TIME));
        let asked = first.ask(&question, Instant::now() + time, &mut |_| match interrupted() {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        });
        let label = engine_label(first.name());
        self.probed = match &asked {
            Ok(answer) => {
                let model = Label::cut(&answer.model);
                Some(Spent { engine: label, estimated: false, model, usage: answer.usage })
            }
            Err(_) => first.spent().map(|used| spent(label, &used)),
        };
        match asked {
            Ok(_) => Ok(()),
            // Only a wall clock that ended it can be made longer.
            Err(EngineError::Deadline { engine }) if time == PROBE_TIME => {
                Err(EngineError::Unreachable { engine, why: format!("no answer within {} s", PROBE_TIME.as_secs()) })
            }
            // A provider that is busy now is what the fallback chain is for.
            Err(EngineError::Overloaded { .. } | EngineError::RateLimited { .. }) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Tells cassettes how far they were played.
    fn skip(&mut self, had: &BTreeMap<Label, u64>) {
        for engine in &mut self.chain {
            let answers = had.get(&engine_label(engine.name())).copied().unwrap_or(0);
            engine.skip(answers);
        }
    }
}

/// Where an engine runs, in the words of the fallback table.
const fn seat(place: Place) -> Seat {
    match place {
        Place::Local => Seat::Local,
        Place::Remote => Seat::Remote,
    }
}

/// The names of cassettes begin so.
const CASSETTE: &str = "scripted";
/// The shortest answer that every provider accepts as a limit.
const PROBE_TOKENS: Tokens = Tokens::new(16);

/// What a person asked for.
pub struct Plan {
    /// The objective, verbatim.
    pub objective: String,
    /// The engines.
    pub engines: Engines,
    /// What a hold means.
    pub patience: OnHold,
    /// Where the workspace is.
    pub root: PathBuf,
    /// Its `.geometry/`.
    pub layout: Layout,
    /// Who signs checkpoints.
    pub signing: Option<Signing>,
}

impl Session<'_> {
    /// Checks everything about a new session that can be checked without making anything; gives its wall clock.
    ///
    /// # Errors
    /// When it could not begin: an order to stop stands, the policy is wrong, the workspace is no folder.
    pub fn would_begin(
        layout: &Layout,
        root: &Path,
        change: impl Fn(&mut Policy) -> Result<(), PolicyError>,
    ) -> Result<Option<Duration>, SessionError> {
        if layout.stop().symlink_metadata().is_ok() {
            return Err(SessionError::StopStands { path: layout.stop() });
        }
        let trial = trial(layout, &change)?;
        Hands::new(root, layout, &trial, Reach::nowhere())?;
        Ok(trial.limits.max_session_runtime_ms.get().map(|ms| Duration::from_millis(ms.get())))
    }
}

impl<'a> Session<'a> {
    /// Begins a new session. Nothing is made unless everything is in order.
    ///
    /// # Errors
    /// When something is not: the engine does not answer, the policy is wrong, an order to stop stands.
    pub fn begin(
        plan: Plan,
        doors: Doors<'a>,
        change: impl Fn(&mut Policy) -> Result<(), PolicyError>,
    ) -> Result<Self, SessionError> {
        let registry_sha256 = *Registry::new().map_err(HandsError::from)?.digest();
        let prompt_sha256 = Digest::of(prompt::SYSTEM.as_bytes());
        let mut own = Configuration::default();
        own.set(Part::Prompt, Some(prompt_sha256));
        own.set(Part::Tools, Some(registry_sha256));
        let driver = Driver::begin_signed((&plan.layout, plan.signing.clone()), clock::now(), own, change)?;
        let sole = LoopLock::claim(&plan.layout, driver.session())?;
        let hands = hands(&plan, &driver)?;
        driver.keep_objective(&plan.objective)?;
        plan.engines.remembered().keep(&plan.layout, driver.session().as_str())?;
        let labels = |engines: &[Box<dyn Engine>]| engines.iter().map(|engine| engine_label(engine.name())).collect();
        let setup = Setup {
            advisor: plan.engines.advisor.as_ref().map(|engine| engine_label(engine.name())),
            engines: labels(&plan.engines.chain),
            objective: plan.objective.as_str().into(),
            patience: plan.patience,
            prompt: prompt::SYSTEM.into(),
            prompt_sha256,
            probe: plan.engines.probed.clone(),
            registry_sha256,
            reviewer: plan.engines.reviewer.as_ref().map(|engine| engine_label(engine.name())),
            role: Label::cut(driver.role()),
            seats: plan.engines.chain.iter().map(|engine| seat(engine.place())).collect(),
            version: RUN_VERSION,
            workers: plan.engines.workers(),
        };
        let (run, views) = Run::new(setup.clone(), driver.policy());
        let mut session = Self::assemble(plan, doors, (driver, run, hands, sole), "")?;
        session.driver.learn(&RunRecord::Begun(setup), Duration::ZERO, clock::now())?;
        session.show(views)?;
        Ok(session)
    }

    /// Takes up a session that was left, by a hold, a crash or a kill.
    ///
    /// # Errors
    /// When it is over, is not one of our own loop, or was frozen with another prompt or other tools.
    pub fn resume(id: &SessionId, mut plan: Plan, doors: Doors<'a>) -> Result<Self, SessionError> {
        let session = || id.as_str().to_owned();
        if plan.layout.stop().symlink_metadata().is_ok() {
            return Err(SessionError::StopStands { path: plan.layout.stop() });
        }
        let sole = LoopLock::claim(&plan.layout, id)?;
        let journal = open_existing(&plan.layout, id)?;
        let mut told = Told::default();
        let Some(run) = again(&journal, |view, _| told.take(view))? else {
            return Err(SessionError::NotOurs { session: session() });
        };
        if let Next::Finished(ending) = run.next()
            && !ending.can_go_on()
        {
            // A kill at the very end may have cost the transcript its last lines.
            Transcript::open(&plan.layout, id, &told.text)?;
            return Err(SessionError::Over { session: session(), ending: ending.clone() });
        }
        let driver = Driver::resume(&plan.layout, id)?.signed_by(plan.signing.clone());
        let hands = hands(&plan, &driver)?;
        for (what, frozen, now) in [
            ("system prompt", run.setup().prompt_sha256, Digest::of(prompt::SYSTEM.as_bytes())),
            ("tool registry", run.setup().registry_sha256, *hands.digest()),
        ] {
            if frozen != now {
                return Err(SessionError::Changed { session: session(), what });
            }
        }
        plan.engines.skip(&told.had);
        let patience = plan.patience;
        let mut session = Self::assemble(plan, doors, (driver, run, hands, sole), &told.text)?;
        (session.conversation, session.tail) = (told.conversation, told.tail);
        if session.driver.view().stopped.is_some() {
            // Whoever takes it up takes the order back: an order on disk was refused above.
            session.put(What::Human(HumanAct::WithdrawStop))?;
        }
        session.learn(&RunRecord::Resumed(patience), Duration::ZERO)?;
        Ok(session)
    }

    fn assemble(
        plan: Plan,
        doors: Doors<'a>,
        (mut driver, run, hands, sole): (Driver, Run, Hands, LoopLock),
        so_far: &str,
    ) -> Result<Self, SessionError> {
        // What is journaled so far was told already, however old the state file is.
        driver.refresh()?;
        driver.follow();
        Ok(Self {
            transcript: Transcript::open(&plan.layout, driver.session(), so_far)?,
            watch: Watch::new(&plan.layout, driver.session().as_str()),
            driver,
            run,
            layout: plan.layout,
            root: plan.root,
            engines: plan.engines,
            hands,
            conversation: Conversation::default(),
            tail: Tail::default(),
            permit: None,
            took: Duration::ZERO,
            doors,
            _sole: sole,
        })
    }
}

/// The hands of a session, as far as its role reaches; on a staged copy, where a reviewer must approve what they did.
fn hands(plan: &Plan, driver: &Driver) -> Result<Hands, SessionError> {
    let reach = Reach::of(driver.frozen().permissions.as_ref(), driver.role());
    let hands = Hands::new(&plan.root, &plan.layout, driver.policy(), reach)?;
    if plan.engines.reviewer.is_none() {
        return Ok(hands);
    }
    let folder = plan.layout.state().join(format!("{}.stage", driver.session()));
    Ok(hands.stage(&folder, (&plan.root, &plan.layout), driver.policy())?)
}

/// The policy that the session would be frozen with.
fn trial(layout: &Layout, change: &impl Fn(&mut Policy) -> Result<(), PolicyError>) -> Result<Policy, SessionError> {
    let mut policy = policy_file::load_or_default(&layout.manifest()).map_err(DriverError::from)?;
    change(&mut policy).map_err(DriverError::from)?;
    policy.check().map_err(DriverError::from)?;
    Ok(policy)
}

/// What a journal tells whoever takes a session up.
#[derive(Default)]
struct Told {
    text: String,
    conversation: Conversation,
    tail: Tail,
    /// Answers and errors that each engine gave.
    had: BTreeMap<Label, u64>,
}

impl Told {
    fn take(&mut self, view: &LoopEffect) {
        match view {
            LoopEffect::Line(line) => {
                // A line that had no canonical form was never written.
                let Ok(text) = line.text() else { return };
                self.tail.push(&text);
                self.text.extend([text.as_str(), "\n"]);
                if let Line::Answer(answer) = line {
                    *self.had.entry(answer.engine.clone()).or_default() += 1;
                }
                if let Line::EngineError(failure) = line
                    && failure.kind != FailureKind::Cut
                {
                    *self.had.entry(failure.engine.clone()).or_default() += 1;
                }
            }
            LoopEffect::Say(saying) => self.conversation.say(saying),
            LoopEffect::Forget => self.conversation.forget(),
            LoopEffect::Brief | LoopEffect::Recite(_) => {}
        }
    }
}

impl Engines {
    /// Records what the model said.
    pub(super) fn record(&mut self, question: &Question<'_>, heard: &Result<Answer, EngineError>) {
        note(self.recorders.model.as_mut(), question, heard);
    }

    /// Records what somebody beside the loop said.
    pub(super) fn record_aside(&mut self, aside: Aside, question: &Question<'_>, heard: &Result<Answer, EngineError>) {
        let recorder = match aside {
            Aside::Advisor => self.recorders.advisor.as_mut(),
            Aside::Reviewer => self.recorders.reviewer.as_mut(),
        };
        note(recorder, question, heard);
    }
}

/// A recording that cannot be written does not end the session: the journal holds every answer.
fn note(recorder: Option<&mut Recorder>, question: &Question<'_>, heard: &Result<Answer, EngineError>) {
    if let Some(recorder) = recorder {
        drop(recorder.record(question, heard));
    }
}
