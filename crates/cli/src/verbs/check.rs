//! `tripwire check`: everything that a repository promises about its guard, in one command for continuous integration.
//!
//! It runs the verbs that exist: `policy check`, `decide --check`, `verify`. Nothing is checked a second way here.

mod report;

use self::report::{CheckReport, CheckedItem, ReportForm};
use crate::error::Problem;
use crate::exit::Exit;
use crate::print::{self, Form, KeptLines, Out};
use crate::verbs::{decide, policy, verify};
use crate::workspace::Where;
use clap::Args;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;
use tripwire_core::counted::counted;
use tripwire_fs::file::{self, FileMode};
use tripwire_session::driver::views;
use tripwire_workspace::geometry::layout::Layout;

/// The folder of a workspace whose scenarios are checked where none is named.
const SCENARIOS: &str = "scenarios";
/// The most scenarios that one run checks.
const SCENARIOS_MAX: usize = 10_000;
/// Lines of a check that does not hold which a report repeats.
const LINES_REPORTED: usize = 20;

/// Check a repository's policy files, its scenarios and the journals of its sessions.
///
/// Runs `policy check`, `decide --check` over every scenario, and `verify --all`. Exits with 0 if all checks pass, 2
/// if something cannot be read, 9 if a check fails.
#[derive(Debug, Args)]
pub(crate) struct CheckArgs {
    /// Scenarios: files, or folders with `*.jsonl` files; by default the folder `scenarios` of the workspace.
    scenarios: Vec<PathBuf>,
    /// Write a report: JSON (`*.json`), JUnit (`*.xml`) or a summary in Markdown (`*.md`); may be given several times.
    #[arg(long, value_name = "FILE", value_parser = ReportForm::of_file)]
    report: Vec<(PathBuf, ReportForm)>,
    #[command(flatten)]
    place: Where,
    #[command(flatten)]
    form: Form,
}

/// Runs the verb.
pub(crate) fn run(args: &CheckArgs) -> Result<Exit, Problem> {
    let workspace = args.place.look()?;
    let scenarios = scenarios(args, workspace.root())?;
    let mut report = CheckReport::default();
    let policy = |out: Out| policy::check_workspace(&args.place, out);
    report.items.push(checked("policy", "policy files", args.form, policy));
    for file in scenarios {
        let name = file.strip_prefix(workspace.root()).unwrap_or(&file).display().to_string();
        let scenario = decide::DecideArgs::checking(file.clone(), workspace.root().to_owned());
        report.items.push(checked("scenario", &name, args.form, |out| decide::run_to(&scenario, out)));
    }
    if has_journals(workspace.layout())? {
        let all = verify::VerifyArgs::of_all(&args.place);
        report.items.push(checked("verify", "journals", args.form, |out| verify::run_to(&all, out)));
    }
    for (file, form) in &args.report {
        let written = file::replace_with_mode(file, form.text(&report).as_bytes(), FileMode::Masked(0o644));
        written.map_err(|error| Problem::open(file, error.into_cause()))?;
    }
    let mut out = Out::lock();
    out.line(&if args.form.json { report.json().to_string() } else { report.line() })?;
    out.flush()?;
    Ok(report.exit())
}

/// Runs one check. What it has to say it says itself, unless a program reads; the report has it too where it does not hold.
fn checked(
    kind: &'static str,
    name: &str,
    form: Form,
    check: impl FnOnce(Out) -> Result<Exit, Problem>,
) -> CheckedItem {
    let (begun, lines) = (Instant::now(), KeptLines::default());
    let out = if form.json { Out::silent(&lines) } else { Out::keeping(&lines) };
    let (exit, problem) = match check(out) {
        Ok(Exit::Done) => (Exit::Done, None),
        Ok(exit) => (exit, Some(in_short(&lines.all()))),
        Err(problem) => {
            let text = format!("{problem}; {}", problem.hint());
            (print::problem(&problem), Some(text))
        }
    };
    CheckedItem { kind, name: name.to_owned(), exit, problem, took: begun.elapsed() }
}

/// The first lines of what a check said.
fn in_short(lines: &[String]) -> String {
    let mut text = lines.iter().take(LINES_REPORTED).map(|line| line.trim()).collect::<Vec<_>>().join("; ");
    if lines.len() > LINES_REPORTED {
        text.push_str(&format!("; and {} more", counted(lines.len() - LINES_REPORTED, "line")));
    }
    text
}

/// Whether there is anything to verify, be it that it was lost, or the gateway's ledger alone.
fn has_journals(layout: &Layout) -> Result<bool, Problem> {
    let others = verify::first_lost(layout).is_some() || verify::ledger_in_a_sentence(layout).is_some();
    Ok(others || !views::sessions(layout)?.is_empty())
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
