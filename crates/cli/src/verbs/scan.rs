//! `tripwire scan`: what the policy would have done with past runs.

mod secrets;
mod sums;
mod transcripts;

use crate::client_name::ClientName;
use crate::error::Problem;
use crate::exit::Exit;
use crate::moment::moment;
use crate::policy::PolicyArgs;
use crate::print::{self, Form, Out};
use crate::workspace;
use clap::Args;
use secrets::SecretSearch;
use std::borrow::Cow;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use transcripts::Wanted;
use tripwire_core::counted::counted;
use tripwire_core::decision::Level;
use tripwire_core::explain::Explain;
use tripwire_session::formats::traces::{self, Scanned};
use tripwire_workspace::Workspace;
use tripwire_workspace::clock;

/// Judge past runs as if they had been guarded: which level would have fired, at which event, by which rule.
///
/// Reads the transcripts that Claude Code, Codex and Gemini CLI keep on this machine, and says when, where and at which
/// repeated call the policy would have warned, held or stopped, and what that would have saved. Copies of a transcript count
/// once. Without `--policy` your own settings and the manifest of this workspace count, if there are any. Nothing is installed
/// or written.
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
#[derive(Debug, Args)]
pub(crate) struct ScanArgs {
    /// Traces instead, one JSON object per line; packed with zstd if the name ends in `.zst`; `-` reads standard input.
    #[arg(long, value_name = "FILE", conflicts_with = "client")]
    traces: Option<PathBuf>,
    /// Only the transcripts of this client; may be repeated.
    #[arg(long, value_name = "NAME")]
    client: Vec<ClientName>,
    /// Only sessions that were at work after this time: `7d`, `12h`, or `2026-02-28T15:30:00Z`.
    #[arg(long, value_name = "WHEN", conflicts_with = "traces")]
    since: Option<String>,
    /// Only sessions in this folder, or below it.
    #[arg(long, value_name = "DIR", conflicts_with = "traces")]
    project: Option<PathBuf>,
    /// One session, by its id or the beginning of it: everything that would have fired, call by call.
    #[arg(long, value_name = "ID", conflicts_with = "traces")]
    session: Option<String>,
    /// Look for keys and passwords instead, in these transcripts and in the records of every workspace in which tripwire was
    /// used (with `--project`, in the records of that one): prints place and kind, never the value. Ends with 1 if there are
    /// any.
    #[arg(long, conflicts_with_all = ["traces", "since", "session"])]
    secrets: bool,
    #[command(flatten)]
    chosen: PolicyArgs,
    /// Write one JSON object per run.
    #[arg(long)]
    json: bool,
}

/// Runs the verb.
pub(crate) fn run(args: &ScanArgs) -> Result<Exit, Problem> {
    if args.secrets {
        let project = args.project.as_deref().map(|dir| dir.canonicalize().map_err(|error| Problem::open(dir, error)));
        let clients = args.client.iter().map(|client| client.client()).collect();
        return secrets::run(&SecretSearch { clients, project: project.transpose()? }, Form { json: args.json });
    }
    let Some(file) = &args.traces else {
        let workspace = Workspace::locate(Path::new("."), &workspace::places())?;
        let loaded = args.chosen.in_workspace(workspace.layout())?;
        let policy = args.chosen.over(loaded.policy, None)?;
        let since = args.since.as_deref().map(|text| moment(text, clock::now())).transpose()?;
        let project = args.project.as_deref().map(|dir| dir.canonicalize().map_err(|error| Problem::open(dir, error)));
        let wanted = Wanted {
            clients: args.client.iter().map(|client| client.client()).collect(),
            since_ms: since.map(|since| since.epoch_ms()),
            project: project.transpose()?,
            session: args.session.clone(),
        };
        return transcripts::run(&wanted, &policy, Form { json: args.json });
    };
    let policy = args.chosen.policy(None)?;
    let reader = unpacked(file)?;
    let mut out = Out::lock();
    let mut summary = ScanSummary::default();
    let mut printed = Ok(());
    let scanned = traces::scan(reader, &policy, |trace| {
        summary.add(&trace);
        if printed.is_ok() {
            printed = print(args, &trace, &mut out);
        }
    });
    printed?;
    out.flush()?;
    scanned.map_err(|error| Problem::in_file(print::name(file), error))?;
    if !args.json {
        out.line(&summary.line())?;
        out.flush()?;
    }
    Ok(Exit::Done)
}

fn print(args: &ScanArgs, trace: &Scanned, out: &mut Out) -> Result<(), Problem> {
    if args.json {
        let line = serde_json::to_string(trace).map_err(|error| Problem::Output(error.into()))?;
        return out.line(&line);
    }
    let (Some(kind), Some(rule)) = (trace.kind.filter(|kind| *kind > Level::Note), &trace.rule) else { return Ok(()) };
    let (name, at) = match kind {
        Level::Note => ("noted", trace.levels.note),
        Level::Override => ("overridden", trace.levels.overridden),
        Level::Hold => ("held", trace.levels.hold),
        Level::Stop => ("stopped", trace.levels.stop),
    };
    let trace_id = print::harmless(&trace.trace_id);
    out.line(&format!("{trace_id}: {name} at event {} of {} [{rule}]", at.unwrap_or_default(), trace.events))
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
