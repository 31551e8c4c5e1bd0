//! `tripwire check`: everything that a repository promises about its guard, in one command for continuous integration.
//!
//! It runs the verbs that exist: `policy check`, `decide --check`, `verify`. Nothing is checked a second way here.

mod report;

use self::report::{CheckReport, CheckedItem, ReportForm};
use crate::error::Problem;
use crate::exit::Exit;
use crate::print::{self, Out};
use crate::verbs::{decide, policy, verify};
use crate::workspace::Where;
use clap::Args;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;
use tripwire_fs::file::{self, FileMode};
use tripwire_session::driver::views;
use tripwire_workspace::geometry::layout::Layout;

/// The folder of a workspace whose scenarios are checked where none is named.
const SCENARIOS: &str = "scenarios";
/// The most scenarios that one run checks.
const SCENARIOS_MAX: usize = 10_000;

/// Check a repository's guard: its policy files, its scenarios, the journals of its sessions.
///
/// The same as `policy check`, `decide --check` over every scenario, and `verify --all`. Ends with 0, with 2 if something
/// cannot be read, with 9 if something does not hold.
#[derive(Debug, Args)]
pub(crate) struct CheckArgs {
    /// Scenarios: files, or folders with `*.jsonl` files; by default the folder `scenarios` of the workspace.
    scenarios: Vec<PathBuf>,
    /// Write a report: JSON (`*.json`), JUnit (`*.xml`) or a summary in Markdown (`*.md`); may be given several times.
    #[arg(long, value_name = "FILE", value_parser = ReportForm::of_file)]
    report: Vec<(PathBuf, ReportForm)>,
    #[command(flatten)]
    place: Where,
}

/// Runs the verb.
pub(crate) fn run(args: &CheckArgs) -> Result<Exit, Problem> {
    let workspace = args.place.look()?;
    let scenarios = scenarios(args, workspace.root())?;
    let mut report = CheckReport::default();
    let policy = || policy::check_workspace(&args.place);
    report.items.push(checked("policy", "policy files", policy));
    for file in scenarios {
        let name = file.strip_prefix(workspace.root()).unwrap_or(&file).display().to_string();
        let decide = || decide::run(&decide::DecideArgs::checking(file.clone(), workspace.root().to_owned()));
        report.items.push(checked("scenario", &name, decide));
    }
    if has_sessions(workspace.layout())? {
        let verify = || verify::run(&verify::VerifyArgs::of_all(&args.place));
        report.items.push(checked("verify", "journals", verify));
    }
    for (file, form) in &args.report {
        file::replace_with_mode(file, form.text(&report).as_bytes(), FileMode::Masked(0o644))?;
    }
    let mut out = Out::lock();
    out.line(&report.line())?;
    out.flush()?;
    Ok(report.exit())
}

/// Runs one check; what it has to say it says itself.
fn checked(kind: &'static str, name: &str, check: impl FnOnce() -> Result<Exit, Problem>) -> CheckedItem {
    let begun = Instant::now();
    let (exit, problem) = match check() {
        Ok(exit) => {
            (exit, (exit != Exit::Done).then(|| "does not hold; its own words are on standard output".to_owned()))
        }
        Err(problem) => {
            let text = format!("{problem}; {}", problem.hint());
            (print::problem(&problem), Some(text))
        }
    };
    CheckedItem { kind, name: name.to_owned(), exit, problem, took: begun.elapsed() }
}

/// Whether there is anything to verify, be it that it was lost.
fn has_sessions(layout: &Layout) -> Result<bool, Problem> {
    Ok(verify::first_lost(layout).is_some() || !views::sessions(layout)?.is_empty())
}

/// The scenarios that are meant, in the order of their names.
fn scenarios(args: &CheckArgs, root: &Path) -> Result<Vec<PathBuf>, Problem> {
    let default = root.join(SCENARIOS);
    let named = match args.scenarios.as_slice() {
        [] if default.is_dir() => vec![default],
        named => named.to_vec(),
    };
    let mut files = Vec::new();
    for path in named {
        if path.is_dir() {
            below(&path, &mut files)?;
        } else {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

fn below(folder: &Path, files: &mut Vec<PathBuf>) -> Result<(), Problem> {
    for entry in fs::read_dir(folder).map_err(|error| Problem::open(folder, error))? {
        let entry = entry.map_err(|error| Problem::open(folder, error))?;
        let kind = entry.file_type().map_err(|error| Problem::open(folder, error))?;
        let path = entry.path();
        if kind.is_dir() {
            below(&path, files)?;
        } else if path.extension().is_some_and(|ending| ending == "jsonl") && files.len() < SCENARIOS_MAX {
            files.push(path);
        }
    }
    Ok(())
}
