//! `tripwire status`: one screen, from the state file, whatever the length of the journal.

mod everywhere;

use crate::error::Problem;
use crate::exit::Exit;
use crate::print::money;
use crate::print::style::{self, Tone};
use crate::print::terminal;
use crate::print::{Form, Out};
use crate::sessions::{self, SessionSummary};
use crate::verbs::{verify, web};
use crate::workspace::Which;
use clap::Args;
use serde_json::json;
use std::time::Duration;
use tripwire_core::chain::ChainView;
use tripwire_core::counted::{agreeing, counted};
use tripwire_core::effect::{HoldReason, StopReason};
use tripwire_core::explain::Explain as _;
use tripwire_core::input::Mode;
use tripwire_core::label::Label;
use tripwire_session::driver::{Driver, views};
use tripwire_session::ended::{self, Ended};
use tripwire_session::supervised::{self, RunRecord, Supervisor};
use tripwire_workspace::clock;
use tripwire_workspace::control::ControlFile;
use tripwire_workspace::geometry::layout::Layout;
use tripwire_workspace::geometry::wall_clock::WallClock;
use tripwire_workspace::policy_file;
use tripwire_workspace::session::SessionId;
use tripwire_workspace::{StatePlace, Workspace};

/// Show the newest session on one screen, and every other session that is running or waiting.
///
/// With `--all`, one line for each workspace in which tripwire was used.
///
/// Exit codes: 0 if all is well, 5 if something waits for a person, 9 if the guard itself is broken.
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
#[derive(Debug, Args)]
pub(crate) struct StatusArgs {
    #[command(flatten)]
    which: Which,
    /// The state of every workspace in which tripwire was used, instead of this one.
    #[arg(long, conflicts_with_all = ["workspace", "session"])]
    all: bool,
    /// Write one JSON object.
    #[arg(long)]
    json: bool,
    /// Show it on the local page of `tripwire web`.
    #[arg(long, conflicts_with_all = ["json", "all"])]
    web: bool,
}

/// Runs the verb.
pub(crate) fn run(args: &StatusArgs) -> Result<Exit, Problem> {
    if args.all {
        return everywhere::run(Form { json: args.json });
    }
    let workspace = args.which.place.look()?;
    if args.web {
        let session = args.which.find_if_any(workspace.layout())?;
        return web::show(&workspace, session.as_ref(), None);
    }
    let status = Status::of(&args.which, &workspace)?;
    let mut out = Out::lock();
    out.line(&if args.json { status.as_json() } else { status.in_words() })?;
    out.flush()?;
    Ok(status.exit())
}

/// Everything that the screen shows.
struct Status<'a> {
    workspace: &'a Workspace,
    sessions: Vec<SessionId>,
    session: Option<Driver>,
    /// How it ended, if it has.
    ended: Option<Ended>,
    /// Who guards it.
    guard: String,
    /// What a person has to do, each with its command.
    waits: Vec<String>,
    /// What a person has answered by removing a file, and the session has not seen yet.
    answered: Vec<String>,
    /// What is wrong with the guard itself, each with its fix.
    broken: Vec<String>,
    /// What happened to the guard and needs nobody: it is repaired.
    notes: Vec<String>,
    /// The other sessions that live, wait or were heard of lately.
    others: Vec<SessionSummary>,
}

impl<'a> Status<'a> {
    fn of(which: &Which, workspace: &'a Workspace) -> Result<Self, Problem> {
        let layout = workspace.layout();
        let mut status = Self {
            workspace,
            sessions: views::sessions(layout)?,
            session: None,
            ended: None,
            guard: HOOKS_ALONE.to_owned(),
            waits: Vec::new(),
            answered: Vec::new(),
            broken: Vec::new(),
            notes: Vec::new(),
            others: Vec::new(),
        };
        if let Some(session) = which.find_if_any(layout)? {
            let opened = Driver::resume(layout, &session).and_then(|mut driver| driver.refresh().map(|()| driver));
            if let Ok(driver) = &opened
                && ended::is_own_loop(driver)
            {
                status.guard = OWN_LOOP.to_owned();
            }
            status.look_at_supervisor(&session);
            match opened {
                Ok(driver) => {
                    status.ended = ended::look(layout, &driver);
                    status.look_at_journal(&driver);
                    status.session = Some(driver);
                }
                Err(error) => {
                    let problem = Problem::from(error);
                    // A session that was named and is not there is a mistake, not a broken guard.
                    if problem.exit() == Exit::Usage {
                        return Err(problem);
                    }
                    status.broken.push(format!("{session}: {problem}; {}", problem.hint()));
                }
            }
        }
        status.look_at_files();
        status.look_at_session();
        status.look_at_others()?;
        let shown = status.session.as_ref().map(|driver| driver.session().clone());
        let since = clock::now().epoch_ms().saturating_sub(LATELY_MS);
        let others = sessions::of_workspace(workspace, OTHERS_MAX).into_iter();
        let lately = others.filter(|other| Some(&other.id) != shown.as_ref() && other.heard_ms >= since);
        status.others = lately.collect();
        Ok(status)
    }

    /// What stands in the control files now, whether or not a session has seen it yet.
    fn look_at_files(&mut self) {
        let layout = self.workspace.layout();
        for file in ControlFile::ALL {
            if file.path(layout).symlink_metadata().is_err() {
                continue;
            }
            self.waits.push(match file {
                ControlFile::Stop => "STOP is set: nothing goes on and nothing begins; `tripwire resume`".to_owned(),
                ControlFile::Pause => "PAUSE is set: every session is paused; `tripwire resume`".to_owned(),
                ControlFile::BlockerReport => {
                    "BLOCKER_REPORT.md waits: read it, then `tripwire ack blocker`".to_owned()
                }
                ControlFile::Checkpoint => "CHECKPOINT.md waits: read it, then `tripwire ack checkpoint`".to_owned(),
            });
        }
        // As a session that begins would read them: the person's own settings, and the manifest.
        if let Err(error) = policy_file::load_for(layout) {
            self.broken.push(format!("the settings are refused: {error}; {}", error.hint()));
        }
    }

    /// Who supervises the session, or did.
    fn look_at_supervisor(&mut self, session: &SessionId) {
        let seen = match supervised::look(self.workspace.layout(), session) {
            Ok(Some(seen)) => seen,
            Ok(None) => return,
            Err(error) => {
                self.broken.push(format!("the record of the run cannot be read: {error}; start a new run"));
                return;
            }
        };
        let RunRecord { pid, client, shielded, end, .. } = seen.record;
        let reach = if shielded { SHIELDED } else { NOT_SHIELDED };
        self.guard = match (seen.supervisor, end) {
            (Supervisor::Alive, _) => format!("process {pid} supervises {client}; {reach}"),
            (Supervisor::Gone, Some(end)) => {
                let receipt = end.receipt;
                if let Some(why) = &end.broken {
                    self.broken.push(format!("the guard of the last run did not hold: {why}; see `tripwire log`"));
                }
                let (ended, left) = (counted(receipt.ended, "process"), counted(receipt.survivors, "survivor"));
                format!("the supervised run of {client} ended: {}; {ended} ended, {left}", end.how)
            }
            (Supervisor::Gone, None) => {
                self.broken.push(format!(
                    "process {pid}, which supervised {client}, is gone without a receipt; start a new run"
                ));
                format!("none: the supervisor of {client} is gone")
            }
        };
    }

    fn look_at_session(&mut self) {
        let Some(driver) = &self.session else { return };
        let view = driver.view();
        // What holds a session that is over for good waits for no command; what is left is to look at it.
        let over = self.ended.as_ref().is_some_and(|ended| ended.goes_on_with.is_none());
        let cause = view.cause.as_ref().map(|cause| format!("; {}", cause.words())).unwrap_or_default();
        let reason_for = |explained: &str, short: &str| match over {
            true => format!("{short}{cause}; it cannot be resumed: start a new run"),
            false => format!("{explained}{cause}"),
        };
        let layout = self.workspace.layout();
        match view.held {
            Some(reason) if is_answered(layout, file_of_hold(reason)) => {
                self.answered.push(at_next_step(reason.in_short()))
            }
            Some(reason) => self.waits.push(reason_for(reason.explain(), reason.in_short())),
            None => {}
        }
        match view.stopped {
            Some(reason @ StopReason::StoppedByPerson) if !over && is_answered(layout, Some(ControlFile::Stop)) => {
                self.answered.push(at_next_step(reason.in_short()));
            }
            Some(reason) => self.waits.push(reason_for(reason.explain(), reason.in_short())),
            None => {}
        }
        if let Some(Ended { how, goes_on_with: Some(command), .. }) = &self.ended
            && how == ended::INTERRUPTED
        {
            self.waits.push(format!("{how}; `{command}`"));
        }
        self.waits.extend(open_codes(&view).map(|code| {
            format!("a held command (`tripwire approvals` shows it): `tripwire allow {code}` lets it pass once")
        }));
        if let Some(cut) = driver.journal().cut() {
            let (bytes, were) = (counted(cut.bytes, "byte"), agreeing(cut.bytes, "was", "were"));
            self.notes
                .push(format!("{bytes} of an unfinished write {were} cut from the journal's end; this is not damage"));
        }
        if let Some(reason) = driver.manifest_refused()
            && self.broken.is_empty()
        {
            self.waits.push(format!("the manifest was refused at the last step: {reason}"));
        }
    }

    /// What waits in an earlier session that was heard of lately: several agents may work in one workspace.
    fn look_at_others(&mut self) -> Result<(), Problem> {
        let layout = self.workspace.layout();
        let shown = self.session.as_ref().map(|driver| driver.session().clone());
        let since = clock::now().epoch_ms().saturating_sub(LATELY_MS);
        let others = self.sessions.iter().rev().filter(|session| Some(*session) != shown.as_ref());
        for session in others.take(OTHERS_MAX) {
            // What is wrong with an earlier session is for `verify` to say.
            let Ok(mut driver) = Driver::resume(layout, session) else { continue };
            let heard = driver.start().epoch_ms().saturating_add(driver.view().now.get());
            if heard < since || driver.refresh().is_err() {
                continue;
            }
            let view = driver.view();
            let over = ended::look(layout, &driver).is_some_and(|ended| ended.goes_on_with.is_none());
            let held = view.held.filter(|reason| !is_answered(layout, file_of_hold(*reason)));
            let reason = view.stopped.map(|reason| reason.in_short()).or(held.map(|reason| reason.in_short()));
            if let Some(reason) = reason.filter(|_| !over) {
                let cause = view.cause.as_ref().map(|cause| format!("; {}", cause.what)).unwrap_or_default();
                self.waits.push(format!("{session}: {reason}{cause}; `tripwire status --session {session}`"));
            }
            let codes = open_codes(&view).filter(|_| !over);
            self.waits.extend(
                codes.map(|code| format!("{session}: a held command; `tripwire allow {code}` lets it pass once")),
            );
        }
        Ok(())
    }

    /// Whether the journal verifies, where that takes no time to speak of.
    fn look_at_journal(&mut self, driver: &Driver) {
        if driver.journal().records() > RECORDS_VERIFIED_MAX {
            return;
        }
        let verified = || verify::in_a_sentence(self.workspace.layout(), driver.session());
        // A session that is being written may be seen between its journal and its signature: the second look decides.
        let settled = verified().or_else(|_first| {
            std::thread::sleep(SECOND_LOOK_AFTER);
            verified()
        });
        if let Err(problem) = settled {
            self.broken.push(format!("{problem}; `tripwire verify {}`", driver.session()));
        }
    }

    const fn exit(&self) -> Exit {
        match (self.broken.is_empty(), self.waits.is_empty()) {
            (false, _) => Exit::DoesNotHold,
            (true, false) => Exit::Held,
            (true, true) => Exit::Done,
        }
    }

    fn in_words(&self) -> String {
        let mut lines = vec![format!("workspace   {}", self.workspace.root().display())];
        let place = match self.workspace.state() {
            StatePlace::InWorkspace => "",
            StatePlace::InStateHome => " (the workspace is not writable)",
        };
        lines.push(format!("state       {}{place}", self.workspace.layout().folder().display()));
        // First what a person has to act on.
        lines.extend(self.broken.iter().map(|line| format!("BROKEN      {line}")));
        lines.extend(self.waits.iter().map(|line| format!("waits       {line}")));
        lines.extend(self.notes.iter().map(|line| format!("note        {line}")));
        lines.extend(self.answered.iter().map(|line| format!("answered    {line}")));
        match &self.session {
            None => lines.push("session     none".to_owned()),
            Some(driver) => lines.extend(about(driver, self.ended.as_ref())),
        }
        if self.sessions.len() > 1 {
            let shown = self.sessions.iter().rev().skip(1).take(SESSIONS_SHOWN).map(SessionId::as_str);
            let shown = shown.collect::<Vec<_>>().join(" ");
            lines.push(format!("earlier     {}, the last: {shown}", counted(self.sessions.len() - 1, "session")));
        }
        lines.extend(self.others.iter().take(OTHERS_SHOWN).map(|other| {
            let (id, client, state) = (&other.id, &other.client, other.standing.words());
            let spent = money::dollars(other.spent.get());
            format!("also        {id} ({client}): {state}, last activity {} ago, {spent}", other.age())
        }));
        lines.push(format!("guard       {}", self.guard));
        let lines = terminal::fit(&lines, terminal::columns_of_output());
        lines.iter().map(|line| toned(line)).collect::<Vec<_>>().join("\n")
    }

    fn as_json(&self) -> String {
        let session = self.session.as_ref().map(|driver| {
            let recent: Vec<_> = driver.recent().iter().map(|finding| json!(finding)).collect();
            json!({
                "id": driver.session().as_str(), "start": driver.start().to_string(), "view": driver.view(),
                "records": driver.journal().records(), "signed": driver.signed(), "findings": recent,
                "ended": self.ended,
            })
        });
        json!({
            "workspace": self.workspace.root().to_string_lossy(),
            "state": self.workspace.layout().folder().to_string_lossy(),
            "sessions": self.sessions.len(), "session": session, "waits": self.waits, "answered": self.answered, "broken": self.broken,
            "notes": self.notes,
            "guard": self.guard, "others": self.others.iter().map(SessionSummary::as_json).collect::<Vec<_>>(),
        })
        .to_string()
    }
}

/// A line with its label in colour, where a person must look.
fn toned(line: &str) -> String {
    let tone = match line.split(' ').next() {
        Some("waits") => Tone::Warning,
        Some("BROKEN") => Tone::Bad,
        Some(_) | None => return line.to_owned(),
    };
    let label = line.split(' ').next().unwrap_or_default();
    line.replacen(label, &style::paint(label, tone), 1)
}

/// The file by which a person answers a hold, if one does.
const fn file_of_hold(hold: HoldReason) -> Option<ControlFile> {
    match hold {
        HoldReason::NoProgress | HoldReason::UnreadBlocker => Some(ControlFile::BlockerReport),
        HoldReason::IterationCap | HoldReason::UnreadCheckpoint => Some(ControlFile::Checkpoint),
        HoldReason::Paused => Some(ControlFile::Pause),
        HoldReason::Loop
        | HoldReason::SoftSuspend
        | HoldReason::Context
        | HoldReason::GuardFailure
        | HoldReason::Converged
        | HoldReason::Money => None,
    }
}

/// Whether a person has removed the file already: the session takes that as the answer at its next step.
fn is_answered(layout: &Layout, file: Option<ControlFile>) -> bool {
    file.is_some_and(|file| file.path(layout).symlink_metadata().is_err())
}

fn at_next_step(held: &str) -> String {
    format!("{held}: its file is removed, so the session goes on at its next step")
}

/// The lines about one session.
fn about(driver: &Driver, ended: Option<&Ended>) -> Vec<String> {
    let view = driver.view_at(clock::now());
    let ChainView { mode, intensity, health, iterations, steps, verdict, .. } = view.clone();
    let (records, signed) = (driver.journal().records(), driver.signed());
    let guard = match view.guard {
        Mode::Armed => "armed",
        Mode::Observe => "observing only: people's controls, explicit budgets and the destructive-command guard apply",
    };
    let budget = match view.budget_micro_usd {
        Some(budget) => format!(" of {}", money::exactly(budget.get())),
        None => ", no budget set".to_owned(),
    };
    let mut lines = vec![
        format!("session     {} since {}", driver.session(), driver.start()),
        format!(
            "            {guard}; {}, intensity {}, health {}",
            name(&mode),
            name(&intensity),
            ratio(health.millionths())
        ),
        end_line(driver, ended),
        format!("journal     {}, signed up to {signed}", counted(records, "record")),
        format!(
            "spent       {}{budget}; {}, {} left in this minute",
            money::dollars(view.spent.micro_usd.get()),
            counted(view.spent.tokens.get(), "token"),
            view.remaining_budget.get()
        ),
        format!(
            "work        {}{}; context {} %{}; iteration {}, step {}, {} failed in a row",
            name(&verdict),
            crate::print::verdict::skipped(&view),
            view.context_percent.get(),
            if view.context_estimated { " (estimated: no figures)" } else { "" },
            iterations.get(),
            steps.get(),
            view.consecutive_failures.get()
        ),
    ];
    lines.extend(crate::print::verdict::tests_changed(&view).map(|text| format!("tests       {text}")));
    for finding in driver.recent() {
        let level = name(&finding.level);
        let (decision, reason, rule) = (finding.decision.get(), &finding.reason, &finding.rule);
        lines.push(format!("finding     {decision:>6}  {level}: {reason} [{rule}]"));
    }
    lines
}

/// Whether the session has ended, when and how, and whether it can go on.
fn end_line(driver: &Driver, ended: Option<&Ended>) -> String {
    match ended {
        Some(Ended { at, how, verdict, clear_first, goes_on_with }) => {
            let later = match (clear_first, goes_on_with) {
                (Some(first), Some(command)) => format!("`{first}`, then `{command}` goes on with it"),
                (None, Some(command)) => format!("`{command}` goes on with it"),
                (Some(_) | None, None) => "cannot be resumed; start a new run".to_owned(),
            };
            format!("ended       {at} with {}: {how}; {later}", name(verdict))
        }
        None => {
            let heard = driver.start().epoch_ms().saturating_add(driver.view().now.get());
            format!("ended       no; last activity at {}", WallClock::from_epoch_ms(heard))
        }
    }
}

/// The JSON name of one of our enums' values.
fn name(value: &impl serde::Serialize) -> String {
    serde_json::to_value(value).ok().and_then(|value| value.as_str().map(str::to_owned)).unwrap_or_default()
}

fn ratio(millionths: u32) -> String {
    format!("{}.{:02}", millionths / 1_000_000, millionths % 1_000_000 / 10_000)
}

/// What hooks without a supervisor can promise.
const HOOKS_ALONE: &str = "hooks alone: tamper-evident, not tamper-proof";
/// What our own loop can promise: its tools cannot write there, and its commands see it read-only.
const OWN_LOOP: &str = "our own loop: its tools and commands see .geometry/ read-only";
/// What the supervised client's processes see.
const SHIELDED: &str = "its processes see .geometry/ read-only and no key";
/// The same where the system keeps nothing from them.
const NOT_SHIELDED: &str = "its processes can reach .geometry/: tamper-evident, not tamper-proof";

/// How long ago an earlier session may have been heard of to count: as long as a held command can be allowed.
const LATELY_MS: u64 = 24 * 60 * 60 * 1_000;
/// Earlier sessions that are looked at.
const OTHERS_MAX: usize = 32;
/// The longest journal that is verified for the screen; `tripwire verify` has no limit.
const RECORDS_VERIFIED_MAX: u64 = 5_000;
/// Between two looks at a journal that is being written.
const SECOND_LOOK_AFTER: Duration = Duration::from_millis(100);

/// Other sessions that are shown one by one.
const OTHERS_SHOWN: usize = 8;
/// Earlier sessions that fit a line.
const SESSIONS_SHOWN: usize = 2;

/// The codes of held commands that nobody has answered.
fn open_codes(view: &ChainView) -> impl Iterator<Item = &Label> {
    view.waiting.iter().filter(|held| held.answer.is_none()).map(|held| &held.code)
}
