//! `tripwire undo` and `redo`: a person takes steps of an agent back, or brings them back again.

mod agents;
mod lines;
mod listing;
mod report;

use self::agents::Quiet;
use crate::error::Problem;
use crate::exit::Exit;
use crate::notify;
use crate::person::{self, Reason};
use crate::print::{self, Form};
use crate::snapshots;
use crate::workspace::{self, Which};
use clap::Args;
use std::borrow::Cow;
use std::io::IsTerminal as _;
use std::path::{Component, Path, PathBuf};
use tripwire_core::counted::counted;
use tripwire_core::explain::Explain;
use tripwire_core::input::HumanAct;
use tripwire_core::label::Label;
use tripwire_session::driver::Driver;
use tripwire_undo::{Doer, Plan, Selection, UndoError, UndoStore};
use tripwire_workspace::Workspace;
use tripwire_workspace::account;
use tripwire_workspace::clock;
use tripwire_workspace::session::SessionId;

/// Undo steps of an agent: restore the files as they were before the step.
///
/// Without STEP, undoes the last step of the newest session that changed files; with STEP, that step and every later
/// one. Files that a person has changed since are left alone, and the older version is written beside them. The undo
/// is journaled, makes the test verdict STALE, and can be reverted with `tripwire redo`. A running agent is paused
/// first.
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
#[derive(Debug, Args)]
#[command(group = clap::ArgGroup::new("what").multiple(false))]
pub(crate) struct UndoArgs {
    /// The step, by its number in `tripwire log`; it and all later ones are undone.
    #[arg(value_name = "STEP", group = "what")]
    step: Option<u64>,
    /// Undo every step of the session: restore the folder as it was when the session began.
    #[arg(long, group = "what")]
    all: bool,
    /// Only this file or folder; may be given several times.
    #[arg(long, value_name = "FILE")]
    file: Vec<PathBuf>,
    /// Show the steps that can be undone, and what no snapshot contains.
    #[arg(long, group = "what", conflicts_with_all = ["file", "dry_run"])]
    list: bool,
    /// Take a snapshot now.
    #[arg(long, group = "what", conflicts_with_all = ["file", "dry_run"])]
    snapshot: bool,
    /// Delete snapshots that are too old or exceed the space limit.
    #[arg(long, group = "what", conflicts_with_all = ["file", "dry_run"])]
    gc: bool,
    #[command(flatten)]
    how: HowArgs,
}

/// Reapply what the last `tripwire undo` reverted.
#[derive(Debug, Args)]
pub(crate) struct RedoArgs {
    #[command(flatten)]
    how: HowArgs,
}

#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
#[derive(Debug, Args)]
struct HowArgs {
    /// Only show what would change.
    #[arg(long)]
    dry_run: bool,
    /// Do not ask.
    #[arg(long)]
    yes: bool,
    #[command(flatten)]
    which: Which,
    #[command(flatten)]
    reason: Reason,
    #[command(flatten)]
    form: Form,
}

/// Why nothing was taken back.
#[derive(Debug, thiserror::Error)]
enum UndoVerbError {
    #[error("{count} would change, and there is no terminal to ask on")]
    NotAgreed { count: String },
    #[error("`{}` is not below the workspace `{}`", path.display(), root.display())]
    Outside { path: PathBuf, root: PathBuf },
}

impl Explain for UndoVerbError {
    fn hint(&self) -> Cow<'_, str> {
        match self {
            Self::NotAgreed { .. } => "see what it is with `--dry-run`, then do it with `--yes`".into(),
            Self::Outside { .. } => "snapshots hold the workspace and nothing else".into(),
        }
    }
}

/// Runs `tripwire undo`.
pub(crate) fn run(args: &UndoArgs) -> Result<Exit, Problem> {
    person::only("undo", &args.how.which.place)?;
    let workspace = args.how.which.place.look()?;
    let store = snapshots::store(&workspace)?;
    if args.list {
        return listing::list(&store, args.how.which.named(), args.how.form);
    }
    if args.gc {
        return listing::collect(&store, args.how.form);
    }
    if args.snapshot {
        return listing::take(&store, args.how.form);
    }
    let only = args.file.iter().map(|file| below(file, &workspace)).collect::<Result<Vec<_>, _>>()?;
    let wish = match (args.step, args.all || !only.is_empty()) {
        (Some(step), _) => Wish::Step(step),
        (None, true) => Wish::All,
        (None, false) => Wish::Last,
    };
    TakeBack { verb: "undo", how: &args.how, workspace: &workspace, store: &store, only }.run(wish)
}

/// Runs `tripwire redo`.
pub(crate) fn redo(args: &RedoArgs) -> Result<Exit, Problem> {
    person::only("redo", &args.how.which.place)?;
    let workspace = args.how.which.place.look()?;
    let store = snapshots::store(&workspace)?;
    TakeBack { verb: "redo", how: &args.how, workspace: &workspace, store: &store, only: Vec::new() }.run(Wish::Act)
}

/// What a person asks for.
enum Wish {
    Step(u64),
    All,
    Last,
    Act,
}

/// One act.
struct TakeBack<'a> {
    verb: &'static str,
    how: &'a HowArgs,
    workspace: &'a Workspace,
    store: &'a UndoStore,
    only: Vec<String>,
}

impl TakeBack<'_> {
    fn run(&self, wish: Wish) -> Result<Exit, Problem> {
        let history = self.store.history()?;
        let session = snapshots::session(self.how.which.named(), &history, self.store)?;
        let selection = match wish {
            Wish::Step(number) => Selection::From(snapshots::step(&history, self.workspace, &session, number)?.step),
            Wish::All => Selection::All,
            Wish::Last => Selection::Last,
            Wish::Act => Selection::LastAct,
        };
        let plan = self.store.plan(&session, &selection, &self.only)?;
        if self.how.dry_run {
            report::plan(self.verb, &plan, self.how.form)?;
            return Ok(Exit::Done);
        }
        // An act without an effect would stand before the one that `redo` should bring back.
        if !matches!(selection, Selection::LastAct) && plan.changes.is_empty() && plan.conflicts.is_empty() {
            return Err(UndoError::Nothing { why: "no file that was asked for is other than before" }.into());
        }
        if !self.how.yes && !self.is_agreed(&plan)? {
            return Ok(Exit::Done);
        }
        let quiet = Quiet::make(self.workspace, &self.how.reason)?;
        let by = Doer { who: account::current(), reason: self.how.reason.reason.clone() };
        let done = self.store.take_back(&session, &selection, &self.only, &by)?;
        let mut lines = quiet.lines();
        quiet.end(self.workspace)?;
        lines.push(self.journal(&session, &done.plan));
        report::done(self.verb, &done, &lines, self.how.form)?;
        Ok(if done.failed.is_empty() { Exit::Done } else { Exit::DoesNotHold })
    }

    /// Asks, where a person can answer.
    fn is_agreed(&self, plan: &Plan) -> Result<bool, Problem> {
        let count = counted(plan.changes.len(), "path");
        if self.how.form.json || !std::io::stdin().is_terminal() || !print::is_terminal() {
            return Err(UndoVerbError::NotAgreed { count }.into());
        }
        report::plan(self.verb, plan, self.how.form)?;
        Ok(print::agrees(&format!("{} these {count}? [y/N] ", self.verb)))
    }

    /// Journals the act, where the session's journal is still there: what the tests proved is stale from now on.
    fn journal(&self, session: &str, plan: &Plan) -> String {
        let steps = plan.steps.iter().map(u64::to_string).collect::<Vec<_>>().join(", ");
        let done = format!("{} of step {steps}: {}", self.verb, counted(plan.changes.len(), "path"));
        let act = || -> Result<(), Problem> {
            let id = SessionId::parse(session)?;
            let driver = Driver::resume(self.workspace.layout(), &id)?;
            let mut driver = driver.signed_by(workspace::signing(self.workspace));
            let act = self.how.reason.sign(HumanAct::ChangeFiles(Label::cut(&done)));
            let taken = driver.take_now(act, clock::now)?;
            notify::notify(&driver, &taken);
            Ok(())
        };
        match act() {
            Ok(()) => format!("journaled in {session}; what the tests proved before is STALE"),
            Err(problem) => format!("not journaled: {problem}"),
        }
    }
}

/// A file that was named, as a path below the workspace.
fn below(file: &Path, workspace: &Workspace) -> Result<String, Problem> {
    let root = workspace.root();
    let outside = || UndoVerbError::Outside { path: file.to_owned(), root: root.to_owned() };
    let here = std::env::current_dir().and_then(|here| here.canonicalize()).unwrap_or_else(|_| root.to_owned());
    let base = if here.starts_with(root) { here } else { root.to_owned() };
    let mut plain = PathBuf::new();
    for part in base.join(file).components() {
        match part {
            Component::ParentDir => drop(plain.pop()),
            Component::CurDir => {}
            Component::Prefix(_) | Component::RootDir | Component::Normal(_) => plain.push(part),
        }
    }
    // The file itself may be gone; the way to the workspace may go through links.
    let found = plain.strip_prefix(root).map(Path::to_owned).ok();
    let found = found.filter(|path| !path.as_os_str().is_empty()).ok_or_else(outside)?;
    Ok(found.to_str().ok_or_else(outside)?.to_owned())
}
