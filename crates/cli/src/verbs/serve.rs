//! `tripwire serve --stdio`: the guard for a program in any language, which asks before each call.

use crate::error::Problem;
use crate::exit::Exit;
use crate::limits;
use crate::print;
use crate::workspace::Acting;
use clap::Args;
use std::io;
use std::path::PathBuf;
use tripwire_embed::stdio::{self, Ending, Served};
use tripwire_embed::{EmbedError, GuardedSession, SessionOptions};

/// Guard a program that asks before each call: JSON-RPC 2.0 on standard input and output, one message per line.
///
/// The methods are `initialize`, `before`, `after`, `usage`, `child`, `status` and `close`; `tripwire help stdio`
/// describes them and docs/reference/stdio.schema.json is their schema. Flags here are the defaults of `initialize`.
/// When the pipe closes, open calls are recorded as having no result. The exit code is the session's state; 4 if
/// calls had no result, 2 if the pipe closed inside a message.
#[derive(Debug, Args)]
pub(crate) struct StdioArgs {
    /// Use standard input and output; required, and the only transport.
    #[arg(long, required = true)]
    stdio: bool,
    /// The workspace; by default the one that contains the current folder.
    #[arg(long, value_name = "DIR")]
    workspace: Option<PathBuf>,
    /// Continue this session; by default a new one begins.
    #[arg(long, value_name = "ID")]
    session: Option<String>,
    /// The money budget, such as `5usd`.
    #[arg(long, value_name = "AMOUNT", value_parser = budget_text)]
    budget: Option<String>,
    /// The profile: `strict` or `balanced`.
    #[arg(long, value_name = "NAME")]
    profile: Option<String>,
    #[command(flatten)]
    acting: Acting,
}

/// Runs the verb.
pub(crate) fn run(args: &StdioArgs) -> Result<Exit, Problem> {
    let defaults = SessionOptions {
        workspace: args.workspace.clone(),
        session: args.session.clone(),
        budget: args.budget.clone(),
        profile: args.profile.clone(),
        role: args.acting.named(),
        ..SessionOptions::default()
    };
    let served = stdio::serve(io::stdin().lock(), io::stdout().lock(), &defaults, begin)?;
    say_ending(&served);
    Ok(exit(&served))
}

/// A session whose messages to people go the ways of the policy.
fn begin(options: &SessionOptions) -> Result<GuardedSession, EmbedError> {
    let mut session = GuardedSession::begin(options)?;
    for note in session.notes() {
        print::say(&format!("note: {note}"));
    }
    Ok(session.telling(Box::new(crate::notify::notify)))
}

fn say_ending(served: &Served) {
    match served.ending {
        Ending::Closed | Ending::PipeEnded => {}
        Ending::TornMessage => print::say("error: the pipe ended in the middle of a message"),
        Ending::ReaderGone => print::say("error: the reader of the answers has closed the pipe"),
    }
    if served.open_calls > 0 {
        print::say(&format!("note: {} open calls were recorded as having no result", served.open_calls));
    }
}

fn exit(served: &Served) -> Exit {
    let stands = served.session.as_ref().map_or(Exit::Done, |session| Exit::of_session(&session.driver().view()));
    match (served.ending, stands) {
        (Ending::TornMessage, Exit::Done) => Exit::Usage,
        (Ending::Closed | Ending::PipeEnded | Ending::ReaderGone, Exit::Done) if served.open_calls > 0 => {
            Exit::Unverified
        }
        (Ending::Closed | Ending::PipeEnded | Ending::TornMessage | Ending::ReaderGone, stands) => stands,
    }
}

/// A budget that can be read, as it was written.
fn budget_text(text: &str) -> Result<String, String> {
    limits::budget(text).map(|_| text.to_owned())
}
