//! `tripwire completions`: what a shell needs to complete the command.

use crate::error::Problem;
use crate::exit::Exit;
use clap::{Args, Command};
use clap_complete::Shell;

/// Print completions for a shell: `tripwire completions bash > /etc/bash_completion.d/tripwire`.
#[derive(Debug, Args)]
pub(crate) struct CompletionsArgs {
    /// The shell.
    shell: Shell,
}

/// Runs the verb.
pub(crate) fn run(args: &CompletionsArgs, mut parser: Command) -> Result<Exit, Problem> {
    let mut text = Vec::new();
    clap_complete::generate(args.shell, &mut parser, "tripwire", &mut text);
    let mut out = crate::print::Out::lock();
    out.line(String::from_utf8_lossy(&text).trim_end())?;
    out.flush()?;
    Ok(Exit::Done)
}
