//! `tripwire fleet adopt`: go on here with a session of a machine that is gone.

use super::args::{AdoptArgs, print};
use super::membership::{FleetError, Membership};
use super::this_machine::place_of;
use crate::error::Problem;
use crate::exit::Exit;
use serde_json::json;
use tripwire_fleet::fence::{RecordStanding, RecordState, Takeover};
use tripwire_fleet::log::Log;
use tripwire_fleet::machine::{self, Liveness};
use tripwire_fleet::record;
use tripwire_fleet::subject::{Name, RECORDS, Subject};
use tripwire_journal::{SessionId, SessionPaths};
use tripwire_session::driver::Driver;
use tripwire_workspace::geometry::manifest::template;
use tripwire_workspace::{account, clock};

/// Runs the verb.
pub(super) fn run(args: &AdoptArgs) -> Result<Exit, Problem> {
    let session = SessionId::parse(&args.session)?;
    let membership = Membership::load()?;
    let log = membership.log()?;
    let (subject, from) = find(log.as_ref(), args, &session, &membership.machine)?;
    let now_ms = clock::now().epoch_ms();
    let is_alive = machine::one(log.as_ref(), &from)?
        .is_some_and(|machine| machine.left_ms.is_none() && machine.liveness(now_ms) == Liveness::Alive);
    if is_alive && !args.even_if_alive {
        return Err(FleetError::Alive { machine: from }.into());
    }
    let workspace = args.place.open()?;
    let paths = SessionPaths::new(workspace.layout().folder(), &session);
    if paths.dir().symlink_metadata().is_ok() {
        return Err(FleetError::AlreadyHere { session: session.to_string() }.into());
    }
    let takeover = Takeover { to: membership.machine.clone(), by: account::current(), at_ms: now_ms };
    let whole = record::adopt(log.as_ref(), &subject, &takeover, &place_of(workspace.root()))?;
    template::write_if_missing(&workspace.layout().manifest())?;
    let restored = tripwire_journal::restore(&paths, whole.lines.iter().map(String::as_str))?;
    // What cannot be driven is told now and not when somebody wants to go on.
    Driver::resume(workspace.layout(), &session)?.refresh()?;
    let next = format!("tripwire agent --resume {session}");
    print(&match args.form.json {
        true => {
            json!({"version": 1, "session": session, "from": from, "records": restored.index, "next": next}).to_string()
        }
        false => format!(
            "{session} of `{from}` is here with {} records; `{from}` can append nothing more to it\nnext: `{next}`, if our own loop ran it",
            restored.index
        ),
    })
}

/// The record that is meant.
fn find(log: &dyn Log, args: &AdoptArgs, session: &SessionId, own: &Name) -> Result<(Subject, Name), Problem> {
    let wanted = args.from.as_deref().map(Name::parse).transpose()?;
    let mut found = Vec::new();
    for subject in log.subjects(RECORDS)? {
        let Some((machine, _, of)) = subject.as_record() else { continue };
        if of != *session || machine == *own || wanted.as_ref().is_some_and(|wanted| *wanted != machine) {
            continue;
        }
        let last = log.last(&subject)?.and_then(|entry| RecordState::from_last(&entry).ok());
        let is_free = last.is_none_or(|state| match state.standing {
            RecordStanding::Open => true,
            // An attempt of ours that broke off.
            RecordStanding::TakenOver(takeover) => takeover.to == *own,
        });
        if is_free {
            found.push((subject, machine));
        }
    }
    match found.len() {
        0 => Err(FleetError::NoRecord { session: session.to_string() }.into()),
        1 => Ok(found.swap_remove(0)),
        _several => {
            let machines: Vec<String> = found.iter().map(|(_, machine)| machine.to_string()).collect();
            let (session, machines) = (session.to_string(), machines.join(", "));
            Err(FleetError::SeveralRecords { session, machines }.into())
        }
    }
}
