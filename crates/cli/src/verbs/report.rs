//! `tripwire report`: the morning page of sessions, in one file.

use crate::console;
use crate::error::Problem;
use crate::exit::Exit;
use crate::print::{self, Out};
use crate::workspace::Where;
use clap::Args;
use std::path::PathBuf;
use tripwire_console::report;
use tripwire_fs::file;
use tripwire_session::driver::views;
use tripwire_workspace::session::SessionId;

/// Write a report on sessions: what they did, what it cost, what was claimed and what is proved.
///
/// Markdown on standard output, or with `--html` one self-contained file that makes no network requests. The
/// workspace's secrets are redacted in every format. Exits with 9 if a record does not verify.
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
#[derive(Debug, Args)]
pub(crate) struct ReportArgs {
    /// The sessions; by default the newest one.
    #[arg(value_name = "SESSION")]
    sessions: Vec<String>,
    /// Write a page to this file.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["markdown", "json"])]
    html: Option<PathBuf>,
    /// Write Markdown, which is the default.
    #[arg(long, conflicts_with = "json")]
    markdown: bool,
    /// Write one JSON object.
    #[arg(long)]
    json: bool,
    /// For sharing: omit commands, paths, reasons and names; keep figures, rules and tools.
    #[arg(long)]
    redact: bool,
    #[command(flatten)]
    place: Where,
}

/// Runs the verb.
pub(crate) fn run(args: &ReportArgs) -> Result<Exit, Problem> {
    let workspace = args.place.look()?;
    let layout = workspace.layout();
    let sessions = match args.sessions.is_empty() {
        true => views::newest(layout)?.into_iter().collect(),
        false => args.sessions.iter().map(|name| SessionId::parse(name)).collect::<Result<Vec<_>, _>>()?,
    };
    if sessions.is_empty() {
        return Err(Problem::NoSession { folder: layout.folder().to_owned() });
    }
    let page = report::gather(&console::host(Vec::new()), &workspace, &sessions)?;
    let holds = page.sessions.iter().all(|session| session.verifies);
    let page = if args.redact { page.for_sharing() } else { page };
    match &args.html {
        Some(path) => {
            let written = file::replace(path, page.html().as_bytes());
            written.map_err(|error| Problem::open(path, error.into_cause()))?;
            print::say(&format!("written to {}", print::name(path)));
        }
        None => {
            let mut out = Out::lock();
            let text = if args.json { serde_json::json!(page).to_string() } else { page.markdown() };
            out.line(text.trim_end())?;
            out.flush()?;
        }
    }
    Ok(if holds { Exit::Done } else { Exit::DoesNotHold })
}
