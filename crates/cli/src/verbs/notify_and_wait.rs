//! The hidden verb that runs a notification's command and ends it in time.

use crate::error::Problem;
use crate::exit::Exit;
use clap::Args;
use std::path::PathBuf;
use tripwire_session::notify;

/// Run a notification's command, bounded; started by tripwire itself.
#[derive(Debug, Args)]
pub(crate) struct NotifyArgs {
    /// The command.
    command: String,
    /// The message.
    message: String,
}

/// Runs the hidden verb.
pub(crate) fn run(args: &NotifyArgs) -> Result<Exit, Problem> {
    notify::run(&args.command, &args.message, notify::TIME_MAX)
        .map(|_ended| Exit::Done)
        .map_err(|error| Problem::open(&PathBuf::from(&args.command), error))
}
