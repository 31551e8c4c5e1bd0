//! Traces of other people's agents, from a file.

use super::no_session::{Among, NoSuchSessionError};
use crate::error::Problem;
use crate::exit::Exit;
use crate::print::{self, Form, Out};
use std::borrow::Cow;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use tripwire_core::counted::counted;
use tripwire_core::decision::Level;
use tripwire_core::explain::Explain;
use tripwire_core::policy::Policy;
use tripwire_core::visible::visible;
use tripwire_session::formats::traces::{self, Scanned};

/// Judges the traces of a file; `session` is the beginning of the id of those that are wanted, with everything that fired in them.
pub(super) fn run(file: &Path, session: Option<&str>, policy: &Policy, form: Form) -> Result<Exit, Problem> {
    let reader = unpacked(file)?;
    let mut out = Out::lock();
    let mut summary = ScanSummary::default();
    let mut printed = Ok(());
    let scanned = traces::scan(reader, policy, |trace| {
        if session.is_some_and(|id| !trace.trace_id.starts_with(id)) {
            return;
        }
        summary.add(&trace);
        if printed.is_ok() {
            printed = match session {
                Some(_) if !form.json => print_alarms(&trace, &mut out),
                Some(_) | None => print_one(&trace, form, &mut out),
            };
        }
    });
    printed?;
    out.flush()?;
    scanned.map_err(|error| Problem::in_file(print::name(file), error))?;
    match session.filter(|_| summary.traces == 0) {
        Some(asked) => return Err(NoSuchSessionError { asked: asked.to_owned(), among: Among::Traces }.into()),
        None if !form.json => out.line(&summary.line())?,
        None => {}
    }
    out.flush()?;
    Ok(Exit::Done)
}

fn print_one(trace: &Scanned, form: Form, out: &mut Out) -> Result<(), Problem> {
    if form.json {
        let line = serde_json::to_string(trace).map_err(|error| Problem::Output(error.into()))?;
        return out.line(&line);
    }
    let (Some(kind), Some(rule)) = (trace.kind.filter(|kind| *kind > Level::Note), &trace.rule) else { return Ok(()) };
    let (trace_id, name) = (visible(&trace.trace_id), past(kind));
    let at = trace.strictest_at().unwrap_or_default();
    out.line(&format!("{trace_id}: {name} at event {at} of {} [{rule}]", trace.events))
}

/// Everything that would have fired in a trace, in its own words.
fn print_alarms(trace: &Scanned, out: &mut Out) -> Result<(), Problem> {
    out.line(&format!("{}: {}", visible(&trace.trace_id), counted(trace.events, "event")))?;
    if trace.alarms.is_empty() {
        out.line("  nothing would have fired")?;
    }
    for alarm in &trace.alarms {
        out.line(&format!("  event {}: {} [{}]", alarm.event, past(alarm.level), alarm.rule))?;
        for line in print::wrap(&alarm.reason, REASON_INDENT, REASON_INDENT) {
            out.line(&line)?;
        }
    }
    Ok(())
}

const fn past(level: Level) -> &'static str {
    match level {
        Level::Note => "noted",
        Level::Override => "overridden",
        Level::Hold => "held",
        Level::Stop => "stopped",
    }
}

/// Counts over all traces.
#[derive(Debug, Default)]
struct ScanSummary {
    traces: u64,
    noted: u64,
    overridden: u64,
    held: u64,
    stopped: u64,
    throttled: u64,
}

impl ScanSummary {
    fn add(&mut self, trace: &Scanned) {
        self.traces += 1;
        self.noted += u64::from(trace.levels.note.is_some());
        self.overridden += u64::from(trace.levels.overridden.is_some());
        self.held += u64::from(trace.levels.hold.is_some());
        self.stopped += u64::from(trace.levels.stop.is_some());
        self.throttled += u64::from(trace.throttled_at.is_some());
    }

    fn line(&self) -> String {
        let Self { traces, noted, overridden, held, stopped, throttled } = self;
        let traces = counted(*traces, "trace");
        format!(
            "{traces}: {noted} noted, {overridden} overridden, {held} held, {stopped} stopped, {throttled} throttled"
        )
    }
}

#[derive(Debug, thiserror::Error)]
#[error("`{}` is not packed with zstd: {problem}", file.display())]
struct UnpackError {
    file: PathBuf,
    problem: String,
}

impl Explain for UnpackError {
    fn hint(&self) -> Cow<'_, str> {
        "pack it with `zstd FILE`, or give it a name without `.zst`".into()
    }
}

/// Opens a trace file, unpacking it on the way.
fn unpacked(file: &Path) -> Result<Box<dyn BufRead>, Problem> {
    let reader = print::open(file)?;
    if file.extension().is_none_or(|extension| extension != "zst") {
        return Ok(reader);
    }
    let unpack = ruzstd::decoding::StreamingDecoder::new(reader)
        .map_err(|error| UnpackError { file: file.to_owned(), problem: error.to_string() })?;
    Ok(Box::new(BufReader::with_capacity(1 << 18, unpack)))
}

const REASON_INDENT: &str = "    ";
