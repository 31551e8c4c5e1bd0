//! `tripwire stop`, `pause`, `resume` and `ack`: people's controls, as commands. They need no daemon and no session.

mod others;

use crate::error::Problem;
use crate::exit::Exit;
use crate::limits;
use crate::notify;
use crate::person::{self, Reason};
use crate::print::{Form, Out, money};
use crate::workspace::{self, Which};
use clap::{Args, ValueEnum};
use serde_json::json;
use tripwire_console::control::{self, Actor, OrderReport, journal_line};
use tripwire_core::chain::ChainView;
use tripwire_core::effect::{HoldReason, StopReason};
use tripwire_core::input::{HumanAct, Report, What};
use tripwire_core::units::MicroUsd;
use tripwire_fs::file::Removed;
use tripwire_session::driver::{Driver, RemovedBy};
use tripwire_session::ended::{self, Ended};
use tripwire_workspace::Workspace;
use tripwire_workspace::account;
use tripwire_workspace::clock;
use tripwire_workspace::control::ControlFile;
use tripwire_workspace::control::order::Order;
use tripwire_workspace::geometry::layout::Layout;
use tripwire_workspace::geometry::reports::Report as File;
use tripwire_workspace::session::SessionId;

/// Stop every session of the workspace, and let no new one begin.
///
/// Writes `.geometry/STOP` and journals the act in the newest session. A client under `tripwire run` is ended at once, with
/// its receipt: how many processes ended, and that none survived. Other sessions stop at their next step. `tripwire
/// resume` takes it back.
#[derive(Debug, Args)]
pub(crate) struct StopArgs {
    #[command(flatten)]
    order: OrderArgs,
}

/// Hold every session of the workspace at its next step; nothing is lost.
///
/// Writes `.geometry/PAUSE` and journals the act in the newest session. `tripwire resume` goes on.
#[derive(Debug, Args)]
pub(crate) struct PauseArgs {
    #[command(flatten)]
    order: OrderArgs,
}

#[derive(Debug, Args)]
struct OrderArgs {
    #[command(flatten)]
    which: Which,
    #[command(flatten)]
    reason: Reason,
    /// Write JSON.
    #[arg(long)]
    json: bool,
}

/// Go on: take back a stop or a pause, and clear what waits for a person's look.
///
/// Without `--session` this is for every session of the workspace. A session that ended by itself (a hard stop, a runaway, a
/// loop) goes on only with `--restart`, and `--raise-budget` is for one session.
#[derive(Debug, Args)]
pub(crate) struct ResumeArgs {
    #[command(flatten)]
    which: Which,
    /// Start again a session that ended by itself.
    #[arg(long)]
    restart: bool,
    /// Raise the money budget by so much, such as `5usd`.
    #[arg(long, value_name = "AMOUNT", value_parser = limits::budget)]
    raise_budget: Option<u64>,
    #[command(flatten)]
    reason: Reason,
    #[command(flatten)]
    form: Form,
}

/// Acknowledge a report: `BLOCKER_REPORT.md`, `CHECKPOINT.md`, or whatever waits.
#[derive(Debug, Args)]
pub(crate) struct AckArgs {
    /// Which one; by default both.
    report: Option<ReportName>,
    #[command(flatten)]
    which: Which,
    #[command(flatten)]
    reason: Reason,
    /// Write JSON.
    #[arg(long)]
    json: bool,
}

/// The reports by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ReportName {
    /// `BLOCKER_REPORT.md`
    Blocker,
    /// `CHECKPOINT.md`
    Checkpoint,
}

impl ReportName {
    const fn file(self) -> File {
        match self {
            Self::Blocker => File::Blocker,
            Self::Checkpoint => File::Checkpoint,
        }
    }

    const fn control(self) -> ControlFile {
        match self {
            Self::Blocker => ControlFile::BlockerReport,
            Self::Checkpoint => ControlFile::Checkpoint,
        }
    }

    const fn act(self) -> (HoldReason, Report) {
        match self {
            Self::Blocker => (HoldReason::NoProgress, Report::Blocker),
            Self::Checkpoint => (HoldReason::IterationCap, Report::Checkpoint),
        }
    }
}

/// Runs `tripwire stop`.
pub(crate) fn stop(args: &StopArgs) -> Result<Exit, Problem> {
    order(&args.order, Order::Stop)
}

/// Runs `tripwire pause`.
pub(crate) fn pause(args: &PauseArgs) -> Result<Exit, Problem> {
    order(&args.order, Order::Pause)
}

fn order(args: &OrderArgs, order: Order) -> Result<Exit, Problem> {
    let workspace = args.which.place.open()?;
    let actor = Actor {
        who: account::current(),
        reason: &args.reason.reason,
        signing: workspace::signing(&workspace),
        notify: &notify::notify,
    };
    let report = control::give(&workspace, args.which.named(), order, actor)?;
    let mut out = Out::lock();
    if args.json {
        out.line(&report.as_json().to_string())?;
    } else {
        for line in &report.lines {
            out.prose(line)?;
        }
        out.prose(&format!("next: `{}`", OrderReport::TAKEN_BACK_BY))?;
    }
    out.flush()?;
    Ok(if report.holds { Exit::Done } else { Exit::DoesNotHold })
}

/// Runs `tripwire resume`.
pub(crate) fn resume(args: &ResumeArgs) -> Result<Exit, Problem> {
    person::only("resume", &args.which.place)?;
    let workspace = args.which.place.open()?;
    let layout = workspace.layout();
    let mut said = ControlReport::new("resume", None);
    let mut files = Vec::new();
    for (order, file, name) in [(Order::Stop, ControlFile::Stop, "STOP"), (Order::Pause, ControlFile::Pause, "PAUSE")] {
        if order.withdraw(layout)? == Removed::Now {
            said.say(&format!("`.geometry/{name}` is removed"));
            files.push(file);
        }
    }
    let mut after = After::of(&args.which, &workspace)?.removed(args.reason.removed(files.clone()));
    after.take(What::Tick)?;
    if args.which.session.is_none() && args.raise_budget.is_none() {
        let newest = after.driver.as_ref().map(Driver::session);
        let lines = others::resume(&workspace, newest, &args.reason, &files);
        lines.iter().for_each(|line| said.say(line));
    }
    if let Some(by) = args.raise_budget {
        after.take(args.reason.sign(HumanAct::RaiseBudget(MicroUsd::new(by))))?;
        said.say(&format!("the money budget is raised by {}", money::exactly(by)));
    }
    if args.restart {
        match after.driver.as_ref().map(|driver| ended::can_be_restarted(layout, driver)) {
            Some(true) => {
                after.take(args.reason.sign(HumanAct::Restart))?;
                said.say("the session is started again by a person");
            }
            Some(false) if after.view().is_some_and(|view| view.stopped.is_none()) => {
                said.say("nothing is to be restarted: the session has not ended by itself");
            }
            Some(false) => {
                said.say("this run cannot be restarted, its client has ended: start a new one with `tripwire run`");
                said.session = after.session();
                said.json = args.form.json;
                said.print()?;
                return Ok(Exit::Held);
            }
            None => {}
        }
    }
    if after.view().is_some_and(|view| view.stopped.is_none() && view.held.is_some_and(is_cleared_by_resume)) {
        after.take(args.reason.sign(HumanAct::Resume))?;
        said.say("what waited for a person's look is cleared");
    }
    said.session = after.session();
    said.journaled(&after);
    let exit = standing(&mut said, layout, after.driver.as_ref());
    said.json = args.form.json;
    said.print()?;
    Ok(exit)
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

/// Says how the session stands now, and what would make it go on.
fn standing(said: &mut ControlReport, layout: &Layout, driver: Option<&Driver>) -> Exit {
    let Some(driver) = driver else {
        said.say("nothing holds this workspace");
        return Exit::Done;
    };
    let (view, ended) = (driver.view(), ended::look(layout, driver));
    if let Some(Ended { how, goes_on_with: None, .. }) = &ended {
        said.say(&format!("this session cannot be resumed ({how}); start a new run"));
        return if view.stopped.is_none() && view.held.is_none() { Exit::Done } else { Exit::Held };
    }
    match (view.stopped, view.held) {
        (None, None) => {
            match ended.and_then(|ended| ended.goes_on_with) {
                // Our own loop has left; it must be called again.
                Some(command) => {
                    said.say("nothing holds the session any more");
                    said.next(&command);
                }
                None => said.say("the session goes on at its next step"),
            }
            Exit::Done
        }
        (Some(reason), _) => {
            said.say(&format!("the session is still stopped: {}", reason.explain()));
            said.next(if reason == StopReason::StoppedByPerson {
                "tripwire resume"
            } else {
                "tripwire resume --restart"
            });
            Exit::Held
        }
        (None, Some(reason)) => {
            said.say(&format!("the session still waits: {}", reason.explain()));
            said.next(if is_cleared_by_resume(reason) { "tripwire status" } else { ended::cleared_by(reason) });
            Exit::Held
        }
    }
}

/// Runs `tripwire ack`.
pub(crate) fn ack(args: &AckArgs) -> Result<Exit, Problem> {
    person::only("ack", &args.which.place)?;
    let workspace = args.which.place.open()?;
    let layout: &Layout = workspace.layout();
    let mut said = ControlReport::new("ack", None);
    let reports = args.report.map_or(vec![ReportName::Blocker, ReportName::Checkpoint], |report| vec![report]);
    let (mut files, mut writers) = (Vec::new(), Vec::new());
    for report in &reports {
        writers.extend(report.file().writers(layout));
        let removed = match args.which.named() {
            Some(session) => report.file().remove_for(layout, session)?,
            None => report.file().remove(layout)?,
        };
        if removed == Removed::Now {
            files.push(report.control());
            said.say(&format!("`{}` is acknowledged and removed", report.file().path(layout).display()));
        }
    }
    let mut after = After::of(&args.which, &workspace)?.removed(args.reason.removed(files.clone()));
    after.take(What::Tick)?;
    // Each session that wrote a report hears of it at once, not only the newest one.
    for writer in writers.iter().filter(|writer| after.session().as_ref() != Some(writer)) {
        let Ok(session) = SessionId::parse(writer) else { continue };
        let Ok(driver) = Driver::resume(layout, &session) else { continue };
        let driver = Some(driver.signed_by(workspace::signing(&workspace)));
        After { driver, records: None }.removed(args.reason.removed(files.clone())).take(What::Tick)?;
    }
    for (hold, report) in reports.iter().map(|report| report.act()) {
        // The report of this hold was never written, or it was removed meanwhile.
        if after.view().is_some_and(|view| view.held == Some(hold)) {
            after.take(args.reason.sign(HumanAct::Acknowledge(report)))?;
            said.say("what waited for the acknowledgement is cleared");
        }
    }
    if said.lines.is_empty() {
        said.say("no report waits for an acknowledgement");
    }
    said.session = after.session();
    said.journaled(&after);
    let exit = standing(&mut said, layout, after.driver.as_ref());
    said.json = args.json;
    said.print()?;
    Ok(exit)
}

/// The newest session, if there is one, to journal an act at once.
struct After {
    driver: Option<Driver>,
    records: Option<u64>,
}

impl After {
    fn of(which: &Which, workspace: &Workspace) -> Result<Self, Problem> {
        let session = which.find_if_any(workspace.layout())?;
        let driver = match session {
            Some(session) => {
                let driver = Driver::resume(workspace.layout(), &session)?;
                Some(driver.signed_by(workspace::signing(workspace)))
            }
            None => None,
        };
        Ok(Self { driver, records: None })
    }

    /// The same, for a person who has just removed control files.
    fn removed(self, by: RemovedBy) -> Self {
        Self { driver: self.driver.map(|driver| driver.after_removal(by)), ..self }
    }

    fn take(&mut self, what: What) -> Result<(), Problem> {
        let Some(driver) = &mut self.driver else { return Ok(()) };
        let taken = driver.take_now(what, clock::now)?;
        notify::notify(driver, &taken);
        self.records = Some(driver.journal().records());
        Ok(())
    }

    fn view(&self) -> Option<ChainView> {
        self.driver.as_ref().map(Driver::view)
    }

    fn session(&self) -> Option<String> {
        self.driver.as_ref().map(|driver| driver.session().to_string())
    }
}

/// What a verb says it did.
struct ControlReport {
    verb: &'static str,
    session: Option<String>,
    lines: Vec<String>,
    next: Option<String>,
    json: bool,
}

impl ControlReport {
    const fn new(verb: &'static str, session: Option<String>) -> Self {
        Self { verb, session, lines: Vec::new(), next: None, json: false }
    }

    fn say(&mut self, line: &str) {
        self.lines.push(line.to_owned());
    }

    fn next(&mut self, command: &str) {
        self.next = Some(command.to_owned());
    }

    fn journaled(&mut self, after: &After) {
        let at = after.driver.as_ref().map(Driver::session).zip(after.records);
        self.lines.push(journal_line(at));
    }

    fn print(&self) -> Result<(), Problem> {
        let mut out = Out::lock();
        let Self { verb, session, lines, next, json: _ } = self;
        if self.json {
            out.line(&json!({"verb": verb, "session": session, "done": lines, "next": next}).to_string())?;
        } else {
            for line in &self.lines {
                out.prose(line)?;
            }
            if let Some(next) = &self.next {
                out.prose(&format!("next: `{next}`"))?;
            }
        }
        out.flush()
    }
}
