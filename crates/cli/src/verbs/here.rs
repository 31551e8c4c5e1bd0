//! `tripwire` alone: how it stands here, and the next command to type.

use crate::error::Problem;
use crate::exit::Exit;
use crate::print::{Out, money, terminal};
use crate::sessions::{self, SessionSummary, Standing};
use crate::workspace::{homes, places, state_home};
use std::path::Path;
use tripwire_clients::Client;
use tripwire_clients::install::{self, Scope, SettingsFile};
use tripwire_core::effect::StopReason;
use tripwire_session::ended;
use tripwire_workspace::Workspace;
use tripwire_workspace::control::ControlFile;
use tripwire_workspace::mode::{self, word};

/// Sessions that are looked at.
const LOOKED_AT_MAX: usize = 20;

/// Says it; the exit code is that of a look, not of what was found.
pub(crate) fn run() -> Result<Exit, Problem> {
    let workspace = Workspace::locate(Path::new("."), &places())?;
    let found = sessions::of_workspace(&workspace, LOOKED_AT_MAX);
    let mut lines = vec![format!("workspace   {}", workspace.root().display())];
    let guarded = hooked(&workspace);
    lines.push(match guarded.is_empty() {
        true => "hooks       none: only what `tripwire run` starts is guarded".to_owned(),
        false => {
            let mode = mode::wanted(workspace.layout(), state_home().as_deref());
            format!("hooks       {}; mode {}", guarded.join(", "), word(mode))
        }
    });
    match found.first() {
        None => lines.push("sessions    none yet".to_owned()),
        Some(_) => lines.extend(shown(&found).map(line)),
    }
    lines.push(format!("next        {}", next(&workspace, &found, &guarded)));
    lines.push("help        `tripwire -h` lists the commands".to_owned());
    let mut out = Out::lock();
    for line in terminal::fit(&lines, terminal::columns_of_output()) {
        out.line(&line)?;
    }
    out.flush()?;
    Ok(Exit::Done)
}

/// The newest session, and every other that is live.
fn shown(found: &[SessionSummary]) -> impl Iterator<Item = &SessionSummary> {
    found.iter().enumerate().filter(|(place, session)| *place == 0 || session.standing.is_live()).map(|(_, one)| one)
}

fn line(session: &SessionSummary) -> String {
    let alarm = match &session.alarm {
        Some(_) => format!("; last alarm {}", session.alarm_words()),
        None => String::new(),
    };
    format!(
        "session     {} ({}): {}, last activity {} ago, {}{alarm}",
        session.id,
        session.client,
        session.standing.words(),
        session.age(),
        money::dollars(session.spent.get())
    )
}

/// The clients whose settings hold our hooks, for the person or for this workspace.
fn hooked(workspace: &Workspace) -> Vec<String> {
    let homes = homes();
    let scopes = [Scope::User, Scope::Project(workspace.root().to_owned())];
    let has = |client: Client| {
        let form = client.adapter().settings;
        scopes.iter().any(|scope| {
            let file = SettingsFile::find(form, scope, &homes).map(|file| file.path);
            let text = file.ok().and_then(|path| std::fs::read_to_string(path).ok()).unwrap_or_default();
            install::holds_our_hooks(&text, form)
        })
    };
    Client::ALL.into_iter().filter(|client| has(*client)).map(|client| client.name().to_owned()).collect()
}

/// The one command that a person would type now, and what for.
fn next(workspace: &Workspace, found: &[SessionSummary], hooked: &[String]) -> String {
    let stands = |file: ControlFile| file.path(workspace.layout()).symlink_metadata().is_ok();
    if stands(ControlFile::Stop) || stands(ControlFile::Pause) {
        return "`tripwire resume`: an order to stop or pause is in force, and every call waits or is refused"
            .to_owned();
    }
    if stands(ControlFile::BlockerReport) || stands(ControlFile::Checkpoint) {
        let alarm = found.first().and_then(|session| session.alarm.as_ref());
        let tune = alarm.map(|alarm| format!("; `tripwire tune {}` if it was a false alarm", alarm.decision));
        return format!("`tripwire ack`, after reading the report in `.geometry/`{}", tune.unwrap_or_default());
    }
    let waits = found
        .iter()
        .find(|session| session.standing != Standing::Idle && sessions::exit(&session.standing) != Exit::Done);
    match waits.or(found.first()).map(|session| (session, &session.standing)) {
        Some((session, Standing::Broken(_))) => format!("`tripwire verify {}`: its journal cannot be read", session.id),
        Some((session, Standing::Held(hold))) => {
            format!("`{} --session {}`, or `tripwire why` for the reason", ended::cleared_by(*hold), session.id)
        }
        Some((session, Standing::Stopped(stop))) if *stop != StopReason::StoppedByPerson => match &session.alarm {
            Some(alarm) => format!(
                "`tripwire why {0}` for the reason; `tripwire tune {0}` if it was a false alarm",
                alarm.decision
            ),
            None => "`tripwire why` for the reason".to_owned(),
        },
        Some((
            _,
            Standing::Running | Standing::Active | Standing::Idle | Standing::Stopped(_) | Standing::Ended(_) | Standing::Unread,
        )) => "`tripwire status` for more, `tripwire log` for everything".to_owned(),
        None if hooked.is_empty() => {
            "`tripwire scan` shows what would have been stopped in your past sessions; `tripwire run claude` guards one run; \
             `tripwire init` guards every session"
                .to_owned()
        }
        None => "work as always: the next session is guarded; then `tripwire status`".to_owned(),
    }
}
