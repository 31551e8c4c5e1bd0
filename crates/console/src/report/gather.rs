//! Gathers the morning page from the journals: one walk each, verified, and without the workspace's secrets.

use super::data::{Alarm, Entry, FileChange, ModelUse, MorningPage, RefusedCall, SessionPage, ToolUse};
use crate::analysis::curve::CurvePoint;
use crate::analysis::totals::Told;
use crate::analysis::{Analysis, Replay};
use crate::host::Host;
use crate::summary::{self, SessionSummary};
use crate::undo_points;
use std::borrow::Cow;
use tripwire_core::explain::{ExitClass, Explain};
use tripwire_journal::storage::Disk;
use tripwire_journal::verify::{Report, verify};
use tripwire_journal::{Journal, JournalError, SessionPaths};
use tripwire_session::driver::DriverError;
use tripwire_session::foreign;
use tripwire_workspace::Workspace;
use tripwire_workspace::clock;
use tripwire_workspace::geometry::wall_clock::WallClock;
use tripwire_workspace::session::SessionId;

/// Records that are read at once.
const PAGE: usize = 512;
/// Points of the curve in the page.
const POINTS_MAX: usize = 600;

/// Steps that the page shows as points to go back to, the newest.
const UNDO_POINTS_MAX: usize = 400;

/// Why there is no morning page.
#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    /// There is no such session, or its files cannot be read.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// What is a secret of the workspace cannot be known, so nothing is shown.
    #[error("nothing is reported: {0}")]
    Secrets(String),
}

impl Explain for ReportError {
    fn hint(&self) -> Cow<'_, str> {
        match self {
            Self::Journal(error) => error.hint(),
            Self::Secrets(_) => "make the workspace's settings and `.env` files readable".into(),
        }
    }

    fn exit_class(&self) -> ExitClass {
        match self {
            Self::Journal(error) => error.exit_class(),
            Self::Secrets(_) => ExitClass::DoesNotHold,
        }
    }
}

/// The morning page of these sessions. A journal that is damaged is told up to the damage.
///
/// # Errors
/// When a session is not there, or the workspace's secrets cannot be known.
pub fn gather(host: &Host, workspace: &Workspace, sessions: &[SessionId]) -> Result<MorningPage, ReportError> {
    let redactor = (host.redactor)(workspace).map_err(ReportError::Secrets)?;
    let clients = foreign::clients(workspace.layout());
    let mut page = MorningPage { version: 1, made: clock::now().to_string(), sessions: Vec::new() };
    for id in sessions {
        let paths = SessionPaths::new(workspace.layout().folder(), id);
        let (journal, damage) = Journal::look(Disk, paths.clone())?;
        let mut analysis = Analysis::default();
        let walked = walk(&journal, &mut analysis);
        let verified = verify(&Disk, &paths, &(host.trust)(&paths))?;
        let summary = summary::of_session(workspace, id.clone(), &clients);
        let mut told = session_page(&summary, &analysis);
        told.verifies = verified.holds() && damage.is_none() && walked.is_ok();
        told.verification = verification(&verified, walked.err().as_ref());
        told.undo_points = undo_points::of_session(host, workspace, id.as_str(), UNDO_POINTS_MAX);
        page.sessions.push(told);
    }
    let text = serde_json::to_string(&page).unwrap_or_default();
    let redacted = redactor.redact_json(&text);
    serde_json::from_str(&redacted).map_err(|error| ReportError::Secrets(error.to_string()))
}

fn walk(journal: &Journal<Disk>, analysis: &mut Analysis) -> Result<(), DriverError> {
    let mut place = journal.beginning();
    loop {
        let page = journal.read(place, PAGE)?;
        if page.records.is_empty() {
            return Ok(());
        }
        page.records.iter().try_for_each(|record| analysis.take(record))?;
        place = page.next;
    }
}

fn verification(report: &Report, problem: Option<&DriverError>) -> String {
    match (report.first_bad_index, problem) {
        (Some(at), _) => format!("DAMAGED at record {at}: {}", report.cause.as_deref().unwrap_or("it does not verify")),
        (None, Some(problem)) => format!("cannot be read on: {problem}"),
        (None, None) => format!(
            "{} records verify, {} signed checkpoints up to record {}",
            report.records, report.checkpoints_trusted, report.covered
        ),
    }
}

fn session_page(summary: &SessionSummary, analysis: &Analysis) -> SessionPage {
    let stamp = |at: u64| WallClock::from_epoch_ms(analysis.start_ms().saturating_add(at)).to_string();
    let entries =
        |told: &[Told]| told.iter().map(|one| Entry { i: one.i, at: stamp(one.at), what: one.what.clone() }).collect();
    let totals = &analysis.totals;
    let view = analysis.chain().map(tripwire_core::chain::Chain::view);
    let policy = analysis.chain().map(tripwire_core::chain::Chain::policy);
    let claims = totals.claims.iter().map(|claim| {
        let answer = if claim.accepted { "accepted" } else { "sent back" };
        Entry { i: claim.i, at: stamp(claim.at), what: format!("{answer}: {}", claim.answer) }
    });
    SessionPage {
        session: summary.id.to_string(),
        workspace: summary.root.display().to_string(),
        client: summary.client.clone(),
        state: summary.standing.words(),
        began: stamp(0),
        heard: WallClock::from_epoch_ms(analysis.last_ms()).to_string(),
        took_ms: analysis.lanes.last(),
        spent_micro_usd: view.as_ref().map_or(0, |view| view.spent.micro_usd.get()),
        budget_micro_usd: view.as_ref().and_then(|view| view.budget_micro_usd).map(tripwire_core::units::MicroUsd::get),
        tokens: view.as_ref().map_or(0, |view| view.spent.tokens.get()),
        health: view.as_ref().map_or(0, |view| view.health.millionths()),
        calls: totals.calls,
        failed: totals.failed,
        refused: totals.refused,
        verdict: view.as_ref().map_or_else(|| "UNKNOWN".to_owned(), |view| name(&view.verdict)),
        claims: claims.collect(),
        replay: match analysis.replay() {
            Replay::Equal => format!("{} decisions, decided again, are equal", analysis.inputs()),
            Replay::Differs { i } => format!("DIFFERS at decision {i}"),
            Replay::NotCompared { why } => format!("not compared: {why}"),
        },
        alarms: alarms(analysis),
        refusals: refusals(analysis, &stamp),
        files: files(analysis),
        tools: tools(analysis),
        models: models(analysis),
        switches: entries(&totals.switches),
        people: entries(&totals.people),
        curve: curve(analysis),
        thresholds: policy.map(|policy| {
            (policy.health.soft_suspend_threshold.millionths(), policy.health.hard_stop_threshold.millionths())
        }),
        ..SessionPage::default()
    }
}

fn alarms(analysis: &Analysis) -> Vec<Alarm> {
    let causes = analysis.findings.causes();
    let told = causes.into_iter().map(|cause| Alarm {
        rule: cause.rule.to_owned(),
        level: name(&cause.level),
        count: cause.count,
        first: cause.first,
        last: cause.last,
        reason: cause.reason.clone(),
        micro_usd: cause.micro_usd,
    });
    told.collect()
}

fn refusals(analysis: &Analysis, stamp: &dyn Fn(u64) -> String) -> Vec<RefusedCall> {
    let told = analysis.totals.refusals.iter().map(|one| RefusedCall {
        i: one.i,
        at: stamp(one.at),
        call: one.call.clone(),
        rule: one.rule.to_owned(),
        reason: one.reason.clone(),
    });
    told.collect()
}

fn files(analysis: &Analysis) -> Vec<FileChange> {
    let files = analysis.totals.files.iter();
    files.map(|(path, file)| FileChange { path: path.clone(), times: file.times, i: file.i, test: file.test }).collect()
}

fn tools(analysis: &Analysis) -> Vec<ToolUse> {
    let tools = analysis.totals.tools.iter();
    let mut tools: Vec<ToolUse> =
        tools.map(|(tool, total)| ToolUse { tool: tool.clone(), calls: total.calls, failed: total.failed }).collect();
    tools.sort_by_key(|tool| std::cmp::Reverse(tool.calls));
    tools
}

fn models(analysis: &Analysis) -> Vec<ModelUse> {
    let models = analysis.totals.models.iter();
    models
        .map(|(model, total)| ModelUse { model: model.clone(), calls: total.calls, micro_usd: total.micro_usd })
        .collect()
}

fn curve(analysis: &Analysis) -> Vec<CurvePoint> {
    let points = analysis.curve.points();
    let stride = points.len().div_ceil(POINTS_MAX).max(1);
    let last = points.len().saturating_sub(1);
    let kept = points.iter().enumerate().filter(|(at, _)| at % stride == 0 || *at == last);
    kept.map(|(_, point)| *point).collect()
}

/// The JSON name of one of our enums' values.
fn name(value: &impl serde::Serialize) -> String {
    serde_json::to_value(value).ok().and_then(|value| value.as_str().map(str::to_owned)).unwrap_or_default()
}
