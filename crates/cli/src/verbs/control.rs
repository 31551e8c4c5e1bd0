//! `tripwire stop`, `pause`, `resume` and `ack`: people's controls, as commands. They need no daemon and no session.

use crate::error::Problem;
use crate::exit::Exit;
use crate::limits;
use crate::notify;
use crate::person::{self, Reason};
use crate::print::{Form, Out};
use crate::verbs::fleet::{OrderScope, WideOrder, order_everywhere};
use crate::workspace::{self, Which};
use clap::{Args, ValueEnum};
use serde_json::json;
use tripwire_console::OrderError;
use tripwire_console::control::{self, Actor, OrderReport};
use tripwire_console::resume::{self, ResumeOrder, ResumeReport, SessionActs};
use tripwire_core::effect::HoldReason;
use tripwire_core::input::{HumanAct, Report, What};
use tripwire_core::units::MicroUsd;
use tripwire_fleet::order::FleetAct;
use tripwire_fs::file::Removed;
use tripwire_workspace::Workspace;
use tripwire_workspace::account;
use tripwire_workspace::control::ControlFile;
use tripwire_workspace::control::order::Order;
use tripwire_workspace::geometry::layout::Layout;
use tripwire_workspace::geometry::reports::Report as File;

/// Stop every session of the workspace, and block new ones.
///
/// Writes `.geometry/STOP` and journals the act in the newest session. A client under `tripwire run` is ended at
/// once, and a receipt shows how many processes ended and that none survived. Other sessions stop at their next step.
/// `tripwire resume` lifts the stop. `--all` stops every workspace of this machine, or every machine of its fleet,
/// each with its receipt.
#[derive(Debug, Args)]
pub(crate) struct StopArgs {
    #[command(flatten)]
    order: OrderArgs,
}

/// Pause every session of the workspace at its next step; no work is lost.
///
/// Writes `.geometry/PAUSE` and journals the act in the newest session. `tripwire resume` lifts the pause.
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
    scope: OrderScope,
    #[command(flatten)]
    reason: Reason,
    /// Write JSON.
    #[arg(long)]
    json: bool,
}

/// Continue: lift a stop or a pause, and clear holds that wait for a person.
///
/// Without `--session` it applies to every session of the workspace. A session that ended by itself (a hard stop, a
/// runaway, a loop) continues only with `--restart`. `--raise-budget` applies to one session.
#[derive(Debug, Args)]
pub(crate) struct ResumeArgs {
    #[command(flatten)]
    which: Which,
    #[command(flatten)]
    scope: OrderScope,
    /// Restart a session that ended by itself.
    #[arg(long, conflicts_with = "targets")]
    restart: bool,
    /// Raise the money budget by this amount, such as `5usd`.
    #[arg(long, value_name = "AMOUNT", value_parser = limits::budget, conflicts_with = "targets")]
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
    if args.scope.is_wide() {
        let act = match order {
            Order::Stop => FleetAct::Stop,
            Order::Pause => FleetAct::Pause,
        };
        let form = Form { json: args.json };
        return order_everywhere(&WideOrder { act, scope: &args.scope, reason: &args.reason.reason, form });
    }
    let workspace = args.which.place.open()?;
    let report = control::give(&workspace, args.which.named(), order, actor(&workspace, &args.reason))?;
    let next = format!("{}{}", OrderReport::TAKEN_BACK_BY, args.which.options());
    let mut out = Out::lock();
    if args.json {
        let mut object = report.as_json();
        object["next"] = json!(next);
        out.line(&object.to_string())?;
    } else {
        for line in &report.lines {
            out.prose(line)?;
        }
        out.prose(&format!("next: `{next}`"))?;
    }
    out.flush()?;
    Ok(if report.holds { Exit::Done } else { Exit::DoesNotHold })
}

/// Runs `tripwire resume`.
pub(crate) fn resume(args: &ResumeArgs) -> Result<Exit, Problem> {
    person::only("resume", &args.which.place)?;
    if args.scope.is_wide() {
        let (act, reason) = (FleetAct::Resume, args.reason.reason.as_str());
        return order_everywhere(&WideOrder { act, scope: &args.scope, reason, form: args.form });
    }
    let workspace = args.which.place.open()?;
    let order =
        ResumeOrder { session: args.which.named(), restart: args.restart, raise: args.raise_budget.map(MicroUsd::new) };
    let report = resume::resume(&workspace, &order, &actor(&workspace, &args.reason))?;
    print("resume", &where_it_was(report, &args.which), args.form)
}

fn actor<'a>(workspace: &Workspace, reason: &'a Reason) -> Actor<'a> {
    Actor {
        who: account::current(),
        reason: &reason.reason,
        signing: workspace::signing(workspace),
        notify: &notify::notify,
    }
}

/// Runs `tripwire ack`.
pub(crate) fn ack(args: &AckArgs) -> Result<Exit, Problem> {
    person::only("ack", &args.which.place)?;
    let workspace = args.which.place.open()?;
    let layout: &Layout = workspace.layout();
    let (mut said, actor) = (ResumeReport::default(), actor(&workspace, &args.reason));
    let acknowledged = acknowledge(args, &workspace, &actor, &mut said);
    let after = acknowledged.map_err(|error| said.cut_short(error))?;
    if said.lines.is_empty() {
        said.say("no report waits for an acknowledgement");
    }
    said.close(layout, &after);
    print("ack", &where_it_was(said, &args.which), Form { json: args.json })
}

/// The same report, whose next command means the workspace and the session that were given.
fn where_it_was(mut report: ResumeReport, which: &Which) -> ResumeReport {
    report.next = report.next.map(|next| {
        let names_it = which.named().is_some_and(|session| next.contains(session));
        let options = if names_it { which.place.option() } else { which.options() };
        format!("{next}{options}")
    });
    report
}

/// Removes the reports and tells the sessions; what was done before it failed is in the report.
fn acknowledge<'a>(
    args: &AckArgs,
    workspace: &Workspace,
    actor: &'a Actor<'a>,
    said: &mut ResumeReport,
) -> Result<SessionActs<'a>, OrderError> {
    let layout = workspace.layout();
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
    let mut after = SessionActs::of(workspace, args.which.named(), actor)?.removed(files.clone());
    after.take(What::Tick)?;
    // Each session that wrote a report hears of it at once, not only the newest one.
    for writer in writers.iter().filter(|writer| after.session().as_ref() != Some(writer)) {
        let Ok(told) = SessionActs::of(workspace, Some(writer), actor) else { continue };
        told.removed(files.clone()).take(What::Tick)?;
    }
    for (hold, report) in reports.iter().map(|report| report.act()) {
        // The report of this hold was never written, or it was removed meanwhile.
        if after.view().is_some_and(|view| view.held == Some(hold)) {
            after.take(actor.sign(HumanAct::Acknowledge(report)))?;
            said.say("what waited for the acknowledgement is cleared");
        }
    }
    Ok(after)
}

fn print(verb: &str, report: &ResumeReport, form: Form) -> Result<Exit, Problem> {
    let ResumeReport { session, lines, next, waits } = report;
    let mut out = Out::lock();
    if form.json {
        out.line(&json!({"verb": verb, "session": session, "done": lines, "next": next}).to_string())?;
    } else {
        for line in lines {
            out.prose(line)?;
        }
        if let Some(next) = next {
            out.prose(&format!("next: `{next}`"))?;
        }
    }
    out.flush()?;
    Ok(if *waits { Exit::Held } else { Exit::Done })
}
