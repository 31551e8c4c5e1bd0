//! `tripwire export`: a session in one file, for another machine, or as the seed's frozen replay.

use crate::error::Problem;
use crate::exit::Exit;
use crate::print::{self, Form, Out};
use crate::workspace::{self, Which};
use clap::Args;
use serde_json::json;
use std::fs::File;
use std::io::BufWriter;
use std::path::PathBuf;
use tripwire_core::counted::counted;
use tripwire_fs::shell_word::shell_word;
use tripwire_journal::bundle::{self, BundleError};
use tripwire_session::driver::{freeze, is_redacted, open_existing};
use tripwire_workspace::geometry::replay_file;

/// Write a session into one file that `tripwire verify FILE` and `tripwire replay FILE` read on any machine.
#[derive(Debug, Args)]
pub(crate) struct ExportArgs {
    /// The bundle; a file that exists is not overwritten.
    #[arg(required_unless_present = "replay")]
    file: Option<PathBuf>,
    /// Write `.geometry/replays/SESSION.json` instead, as when a session ends.
    #[arg(long, conflicts_with = "file")]
    replay: bool,
    #[command(flatten)]
    which: Which,
    #[command(flatten)]
    form: Form,
}

/// Runs the verb.
pub(crate) fn run(args: &ExportArgs) -> Result<Exit, Problem> {
    let workspace = args.which.place.look()?;
    let layout = workspace.layout();
    let session = args.which.find(layout)?;
    let mut journal = open_existing(layout, &session)?;
    let is_redacted = is_redacted(&journal)?;
    if !is_redacted {
        print::say(&format!(
            "note: session {session} was recorded before secrets were redacted; look for them with `tripwire scan --secrets` \
             before the file leaves this machine"
        ));
    }
    let mut out = Out::lock();
    let Some(file) = &args.file else {
        freeze::write(&journal, layout, &session, None)?;
        let path = replay_file::path(layout, &session);
        out.line(&match args.form.json {
            true => json!({"session": session.as_str(), "replay": path.to_string_lossy(), "records": journal.records(), "redacted": is_redacted}).to_string(),
            false => format!("{session}: {} frozen in `{}`", counted(journal.records(), "record"), path.display()),
        })?;
        out.flush()?;
        return Ok(Exit::Done);
    };
    let key = workspace::key_home().map(|home| home.verifier()).transpose()?.flatten();
    let created = File::create_new(file).map_err(|error| Problem::open(file, error))?;
    let mut writer = BufWriter::new(created);
    let written = bundle::write(&mut journal, key.as_ref(), &mut writer)
        .and_then(|exported| writer.get_ref().sync_all().map(|()| exported).map_err(BundleError::Io));
    let exported = match written {
        Ok(exported) => exported,
        Err(error) => {
            // Half a bundle would only be found broken later; it is not left behind.
            drop(std::fs::remove_file(file));
            return Err(error.into());
        }
    };
    let bundle::Exported { records, checkpoints, blobs } = exported;
    out.line(&match args.form.json {
        true => json!({
            "session": session.as_str(), "file": file.to_string_lossy(), "records": records, "checkpoints": checkpoints, "blobs": blobs,
            "redacted": is_redacted,
        })
        .to_string(),
        false => format!(
            "{session}: {}, {} and {} in `{}`; check it with `tripwire verify {}`",
            counted(records, "record"),
            counted(checkpoints, "checkpoint"),
            counted(blobs, "blob"),
            file.display(),
            shell_word(file)
        ),
    })?;
    out.flush()?;
    Ok(Exit::Done)
}
