//! `BLOCKER_REPORT.md` and `CHECKPOINT.md`: what a person who was not there has to know, each for its own session.

use super::dir::SessionDir;
use super::objective;
use super::recent::{Attempt, Memo, Progress};
use tripwire_core::counted::counted;
use tripwire_core::decision::{Decision, Finding};
use tripwire_core::effect::{Effect, HoldReason, StopReason};
use tripwire_core::input::{Report, ReportCause};
use tripwire_fs::file::FileError;
use tripwire_workspace::control::{ControlFile, Seen};
use tripwire_workspace::geometry::reports::{BlockerReport, Checkpoint, Report as File};
use tripwire_workspace::geometry::safety_log::LogEntry;
use tripwire_workspace::geometry::wall_clock::WallClock;

/// Who leaves reports for people.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Reporting {
    /// The session itself, and a report that stood before holds it.
    #[default]
    Own,
    /// The loop that sent it: that one answers for what stands, and reports when it ends.
    ByTheLoop,
}

/// What the session has done, for a report.
#[derive(Debug)]
pub(super) struct WorkDone<'a> {
    /// Who reports.
    pub(super) reporting: Reporting,
    /// What was asked for, where that is known.
    pub(super) objective: Option<String>,
    /// The work.
    pub(super) progress: &'a Progress,
    /// The iterations that have begun.
    pub(super) iterations: u32,
    /// How many may.
    pub(super) iterations_max: u32,
    /// What the safety log is to hold of it.
    pub(super) entries: &'a [LogEntry],
}

/// Why a run ends blocked.
#[derive(Debug, Clone, Copy)]
pub(super) struct Blocked<'a> {
    /// In words.
    pub(super) reason: &'a str,
    /// What it is about.
    pub(super) about: ReportCause,
}

/// A report and its moment.
pub(super) struct DueReport<'a> {
    pub(super) report: Report,
    pub(super) decision: &'a Decision,
    pub(super) now: WallClock,
}

/// Writes the report that a decision asks for.
pub(super) fn write(
    dir: SessionDir<'_>,
    due: &DueReport<'_>,
    work: &WorkDone<'_>,
    seen: &mut Seen,
) -> Result<(), FileError> {
    if work.reporting == Reporting::ByTheLoop {
        return Ok(());
    }
    let (file, control, text) = match due.report {
        Report::Blocker => (File::Blocker, ControlFile::BlockerReport, blocker(dir, due, work).text()),
        Report::Checkpoint => (File::Checkpoint, ControlFile::Checkpoint, checkpoint(dir, work, due.now).text()),
    };
    file.write_for(dir.layout, dir.session.as_str(), cause(&due.decision.effects), &text)?;
    seen.wrote_report(control);
    Ok(())
}

/// What a decision's report is about: a loop that it ends or holds, else the work.
fn cause(effects: &[Effect]) -> ReportCause {
    let stopped = effects.iter().find_map(|effect| if let Effect::Stop(stop) = effect { Some(*stop) } else { None });
    let held = effects.iter().find_map(|effect| if let Effect::Hold(hold) = effect { Some(*hold) } else { None });
    cause_of(stopped, held)
}

/// What a session that is held or over is blocked by.
pub(super) fn cause_of(stopped: Option<StopReason>, held: Option<HoldReason>) -> ReportCause {
    let of_loop = match stopped {
        Some(stop) => matches!(stop, StopReason::SystemError | StopReason::InfiniteLoop | StopReason::Refusals),
        None => held == Some(HoldReason::Loop),
    };
    if of_loop { ReportCause::Loop } else { ReportCause::Work }
}

fn checkpoint(dir: SessionDir<'_>, work: &WorkDone<'_>, now: WallClock) -> Checkpoint {
    let WorkDone { objective, progress, iterations, iterations_max, .. } = work;
    Checkpoint {
        at: now,
        iterations: u64::from(*iterations),
        max_iterations: u64::from(*iterations_max),
        phase: format!("paused at the cap, session {}", dir.session),
        task: objective.clone().unwrap_or_else(|| "not known to tripwire".to_owned()),
        last_action: progress.last_action.clone().unwrap_or_else(|| "none".to_owned()),
        files_modified: progress.files_modified(),
        tests_run: progress.tests_run,
        tests_passing: progress.tests_passed,
    }
}

/// Writes the blocker report of a run that ends with a hold, from the strictest of its newest alarms; without any, `reason` is
/// what it says.
pub(super) fn write_blocker(
    dir: SessionDir<'_>,
    memo: &Memo,
    Blocked { reason, about }: Blocked<'_>,
    seen: &mut Seen,
    now: WallClock,
) -> Result<(), FileError> {
    let alarm = memo.findings.iter().max_by_key(|finding| (finding.level, finding.decision));
    let text = BlockerReport {
        at: now,
        session: dir.session.as_str().to_owned(),
        objective: objective::known(dir.layout, dir.session),
        rule: alarm.map_or_else(|| "BLOCKED".to_owned(), |finding| finding.rule.clone()),
        reason: alarm.map_or_else(|| reason.to_owned(), |finding| finding.reason.clone()),
        signature: None,
        evidence: alarm.map(|finding| finding.decision.get()).into_iter().collect(),
        price: None,
        last_output: None,
        tried: tried(&memo.progress),
    }
    .text();
    File::Blocker.write_for(dir.layout, dir.session.as_str(), about, &text)?;
    seen.wrote_report(ControlFile::BlockerReport);
    Ok(())
}

fn blocker(dir: SessionDir<'_>, due: &DueReport<'_>, work: &WorkDone<'_>) -> BlockerReport {
    let strictest: Option<&Finding> = due.decision.findings.iter().max_by_key(|finding| finding.level);
    let safety = &due.decision.safety;
    let price = strictest.map(|finding| finding.price).filter(|price| !price.is_nothing());
    BlockerReport {
        at: due.now,
        session: dir.session.as_str().to_owned(),
        objective: work.objective.clone(),
        rule: strictest.map_or_else(|| safety.rule.id().to_owned(), |finding| name(&finding.kind)),
        reason: strictest.map_or_else(|| safety.reason.to_string(), |finding| finding.reason.to_string()),
        signature: strictest.map(|finding| finding.signature.to_string()).filter(|signature| !signature.is_empty()),
        evidence: strictest
            .map(|finding| finding.evidence.indices().iter().map(|index| index.get()).collect())
            .unwrap_or_default(),
        price: price.map(|price| format!("{} tokens, {} micro-dollars", price.tokens, price.micro_usd)),
        last_output: None,
        tried: tried(work.progress),
    }
}

/// What was tried last, oldest first, with how often and how it ended.
fn tried(progress: &Progress) -> Vec<String> {
    let words = |attempt: &Attempt| {
        let times = counted(attempt.times, "time");
        match attempt.failed {
            0 => format!("{}: {times}", attempt.what),
            failed if failed == attempt.times => format!("{}: {times}, failed each time", attempt.what),
            failed => format!("{}: {times}, failed {}", attempt.what, counted(failed, "time")),
        }
    };
    progress.attempts.iter().map(words).collect()
}

/// The JSON name of one of our enums' values.
fn name(value: &impl serde::Serialize) -> String {
    serde_json::to_value(value).ok().and_then(|value| value.as_str().map(str::to_owned)).unwrap_or_default()
}
