//! Letting sessions go on: orders are taken back, and what waits for a person's look is cleared. The command line and the terminal
//! view do it alike.

use crate::control::{Actor, journal_line};
use crate::money;
use crate::order_error::OrderError;
use crate::summary::{self, SessionSummary};
use tripwire_core::chain::ChainView;
use tripwire_core::effect::{HoldReason, StopReason};
use tripwire_core::input::{HumanAct, What};
use tripwire_core::units::MicroUsd;
use tripwire_fs::file::Removed;
use tripwire_session::driver::{Driver, DriverError, RemovedBy, views};
use tripwire_session::ended::{self, Ended};
use tripwire_workspace::Workspace;
use tripwire_workspace::clock;
use tripwire_workspace::control::ControlFile;
use tripwire_workspace::control::order::Order;
use tripwire_workspace::geometry::layout::Layout;
use tripwire_workspace::session::SessionId;

/// Other sessions that are looked at, and how long ago they may have been heard of.
const LOOKED_AT_MAX: usize = 32;
const LATELY_MS: u64 = 24 * 60 * 60 * 1_000;

/// What is to go on.
#[derive(Debug, Default)]
pub struct ResumeOrder<'a> {
    /// One session; without, every session of the workspace.
    pub session: Option<&'a str>,
    /// Whether a session that ended by itself is started again.
    pub restart: bool,
    /// By how much the money budget is raised.
    pub raise: Option<MicroUsd>,
}

/// What became of it.
#[derive(Debug, Default)]
pub struct ResumeReport {
    /// The session that it was journaled in.
    pub session: Option<String>,
    /// In words, a line each.
    pub lines: Vec<String>,
    /// What would make it go on, where something still holds it.
    pub next: Option<String>,
    /// Whether something still waits for a person.
    pub waits: bool,
}

impl ResumeReport {
    /// Adds a line.
    pub fn say(&mut self, line: &str) {
        self.lines.push(line.to_owned());
    }

    /// The error of an order that failed after this much of it was done.
    #[must_use]
    pub fn cut_short(&self, error: OrderError) -> OrderError {
        if self.lines.is_empty() {
            return error;
        }
        OrderError::CutShort { done: self.lines.clone(), error: Box::new(error) }
    }

    /// Says where the acts were journaled, how the session stands now, and what would make it go on.
    pub fn close(&mut self, layout: &Layout, acts: &SessionActs<'_>) {
        self.session = acts.session();
        self.lines.push(journal_line(acts.driver.as_ref().map(Driver::session).zip(acts.records)));
        self.waits = self.stands(layout, acts.driver.as_ref());
    }

    fn stands(&mut self, layout: &Layout, driver: Option<&Driver>) -> bool {
        let Some(driver) = driver else {
            self.say("nothing holds this workspace");
            return false;
        };
        let (view, ended) = (driver.view(), ended::look(layout, driver));
        if let Some(Ended { how, goes_on_with: None, .. }) = &ended {
            self.say(&format!("this session cannot be resumed ({how}); start a new run"));
            return view.stopped.is_some() || view.held.is_some();
        }
        match (view.stopped, view.held) {
            (None, None) => {
                match ended.and_then(|ended| ended.goes_on_with) {
                    // Our own loop has left; it must be called again.
                    Some(command) => {
                        self.say("nothing holds the session any more");
                        self.next = Some(command);
                    }
                    None => self.say("the session goes on at its next step"),
                }
                false
            }
            (Some(reason), _) => {
                self.say(&format!("the session is still stopped: {}", reason.explain()));
                let by_person = reason == StopReason::StoppedByPerson;
                let next = if by_person { "tripwire resume" } else { "tripwire resume --restart" };
                self.next = Some(next.to_owned());
                true
            }
            (None, Some(reason)) => {
                self.say(&format!("the session still waits: {}", reason.explain()));
                let next = if is_cleared_by_resume(reason) { "tripwire status" } else { ended::cleared_by(reason) };
                self.next = Some(next.to_owned());
                true
            }
        }
    }
}

/// Takes back a stop or a pause, and clears what waits for a person's look.
///
/// # Errors
/// When a control file cannot be removed, or an act cannot be journaled.
pub fn resume(workspace: &Workspace, order: &ResumeOrder<'_>, actor: &Actor<'_>) -> Result<ResumeReport, OrderError> {
    let layout = workspace.layout();
    let mut said = ResumeReport::default();
    let files = withdraw(layout, &mut said).map_err(|error| said.cut_short(error))?;
    let begun = SessionActs::of(workspace, order.session, actor).and_then(|acts| {
        let mut acts = acts.removed(files.clone());
        acts.take(What::Tick)?;
        Ok(acts)
    });
    // The others go on whatever became of the first one.
    if order.session.is_none() && order.raise.is_none() {
        let newest = views::newest(layout).ok().flatten();
        said.lines.extend(resume_others(workspace, newest.as_ref(), actor, &files));
    }
    let acted = begun.and_then(|mut acts| act(order, layout, &mut acts, &mut said));
    acted.map_err(|error| said.cut_short(error))?;
    Ok(said)
}

/// Takes back the orders that stand as files.
fn withdraw(layout: &Layout, said: &mut ResumeReport) -> Result<Vec<ControlFile>, OrderError> {
    let mut files = Vec::new();
    for (order, file, name) in [(Order::Stop, ControlFile::Stop, "STOP"), (Order::Pause, ControlFile::Pause, "PAUSE")] {
        if order.withdraw(layout)? == Removed::Now {
            said.say(&format!("`.geometry/{name}` is removed"));
            files.push(file);
        }
    }
    Ok(files)
}

/// Does what was ordered in the session that is meant, and says how it stands.
fn act(
    order: &ResumeOrder<'_>,
    layout: &Layout,
    acts: &mut SessionActs<'_>,
    said: &mut ResumeReport,
) -> Result<(), OrderError> {
    let actor = acts.actor;
    if let Some(by) = order.raise {
        acts.take(actor.sign(HumanAct::RaiseBudget(by)))?;
        said.say(&format!("the money budget is raised by {}", money::exactly(by.get())));
    }
    if order.restart {
        match acts.driver.as_ref().map(|driver| ended::can_be_restarted(layout, driver)) {
            Some(true) => {
                acts.take(actor.sign(HumanAct::Restart))?;
                said.say("the session is started again by a person");
            }
            Some(false) if acts.view().is_some_and(|view| view.stopped.is_none()) => {
                said.say("nothing is to be restarted: the session has not ended by itself");
            }
            Some(false) => {
                said.say("this run cannot be restarted, its client has ended: start a new one with `tripwire run`");
                said.session = acts.session();
                said.waits = true;
                return Ok(());
            }
            None => {}
        }
    }
    if acts.view().is_some_and(|view| view.stopped.is_none() && view.held.is_some_and(is_cleared_by_resume)) {
        acts.take(actor.sign(HumanAct::Resume))?;
        said.say("what waited for a person's look is cleared");
    }
    said.close(layout, acts);
    Ok(())
}

/// Holds that a person clears by saying: go on. Reports and money need an act of their own.
const fn is_cleared_by_resume(hold: HoldReason) -> bool {
    match hold {
        HoldReason::Loop
        | HoldReason::SoftSuspend
        | HoldReason::Context
        | HoldReason::GuardFailure
        | HoldReason::Converged
        | HoldReason::Paused => true,
        HoldReason::NoProgress
        | HoldReason::IterationCap
        | HoldReason::UnreadBlocker
        | HoldReason::UnreadCheckpoint
        | HoldReason::Money => false,
    }
}

/// The session in which a person's acts are journaled at once: the named one or the newest, if there is one.
pub struct SessionActs<'a> {
    actor: &'a Actor<'a>,
    driver: Option<Driver>,
    records: Option<u64>,
}

impl<'a> SessionActs<'a> {
    /// The session that is meant.
    ///
    /// # Errors
    /// When it cannot be opened.
    pub fn of(workspace: &Workspace, session: Option<&str>, actor: &'a Actor<'a>) -> Result<Self, OrderError> {
        let session = match session {
            Some(text) => Some(SessionId::parse(text)?),
            None => views::newest(workspace.layout())?,
        };
        let driver = session.map(|session| Driver::resume(workspace.layout(), &session)).transpose()?;
        Ok(Self { actor, driver: driver.map(|driver| driver.signed_by(actor.signing.clone())), records: None })
    }

    /// The same, for a person who has just removed control files.
    #[must_use]
    pub fn removed(self, files: Vec<ControlFile>) -> Self {
        let by = self.actor.removed(files);
        Self { driver: self.driver.map(|driver| driver.after_removal(by)), ..self }
    }

    /// Journals an act; nothing where there is no session.
    ///
    /// # Errors
    /// When it cannot be journaled.
    pub fn take(&mut self, what: What) -> Result<(), OrderError> {
        let Some(driver) = &mut self.driver else { return Ok(()) };
        let taken = driver.take_now(what, clock::now)?;
        (self.actor.notify)(driver, &taken);
        self.records = Some(driver.journal().records());
        Ok(())
    }

    /// How the session stands.
    #[must_use]
    pub fn view(&self) -> Option<ChainView> {
        self.driver.as_ref().map(Driver::view)
    }

    /// Its name.
    #[must_use]
    pub fn session(&self) -> Option<String> {
        self.driver.as_ref().map(|driver| driver.session().to_string())
    }
}

impl Actor<'_> {
    /// An act as an input, with who does it and why.
    #[must_use]
    pub fn sign(&self, act: HumanAct) -> What {
        What::Human(act.signed(&self.who, self.reason))
    }

    fn removed(&self, files: Vec<ControlFile>) -> RemovedBy {
        RemovedBy { files, who: self.who.clone(), reason: self.reason.to_owned() }
    }
}

/// Lets every session but one go on, as far as a person's word does that; says what became of those that waited.
fn resume_others(
    workspace: &Workspace,
    but: Option<&SessionId>,
    actor: &Actor<'_>,
    removed: &[ControlFile],
) -> Vec<String> {
    let since = clock::now().epoch_ms().saturating_sub(LATELY_MS);
    let sessions = summary::of_workspace(workspace, LOOKED_AT_MAX).into_iter();
    let others = sessions.filter(|other| Some(&other.id) != but && other.heard_ms >= since && other.standing.waits());
    others.filter_map(|other| resume_one(workspace, &other, actor, removed)).collect()
}

fn resume_one(
    workspace: &Workspace,
    other: &SessionSummary,
    actor: &Actor<'_>,
    removed: &[ControlFile],
) -> Option<String> {
    let go_on = || -> Result<Driver, DriverError> {
        let driver = Driver::resume(workspace.layout(), &other.id)?.signed_by(actor.signing.clone());
        let mut driver = driver.after_removal(actor.removed(removed.to_vec()));
        let take = |driver: &mut Driver, what: What| -> Result<(), DriverError> {
            let taken = driver.take_now(what, clock::now)?;
            (actor.notify)(driver, &taken);
            Ok(())
        };
        take(&mut driver, What::Tick)?;
        let view = driver.view();
        let cleared = |hold| ended::cleared_by(hold) == "tripwire resume";
        if view.stopped.is_none() && view.held.is_some_and(cleared) {
            take(&mut driver, actor.sign(HumanAct::Resume))?;
        }
        Ok(driver)
    };
    let id = &other.id;
    Some(match go_on() {
        Ok(driver) => match (driver.view().stopped, driver.view().held) {
            (None, None) => format!("{id} goes on at its next step too"),
            (None, Some(hold)) => {
                format!("{id} still waits: {}; `{} --session {id}`", hold.in_short(), ended::cleared_by(hold))
            }
            // What ended by itself is started again one by one.
            (Some(_), _) => return None,
        },
        Err(error) => format!("{id} could not be told: {error}"),
    })
}
