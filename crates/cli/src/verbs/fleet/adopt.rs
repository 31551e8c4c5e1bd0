//! `tripwire fleet adopt`: go on here with a session of a machine that is gone.

use super::args::{AdoptArgs, print};
use super::membership::{FleetError, Membership};
use super::places::place_of;
use crate::error::Problem;
use crate::exit::Exit;
use serde_json::json;
use tripwire_fleet::fence::{RecordStanding, RecordState, Takeover};
use tripwire_fleet::log::Log;
use tripwire_fleet::machine::{self, Liveness};
use tripwire_fleet::record;
use tripwire_fleet::subject::{Name, NameError, RECORDS, Subject};
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
    let is_alive =
        machine::one(log.as_ref(), &from)?.is_some_and(|machine| machine.liveness(now_ms) == Liveness::Alive);
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
    let wanted = args.from.as_deref().map(Origin::parse).transpose()?;
    let mut found = Vec::new();
    for subject in log.subjects(RECORDS)? {
        let Some((machine, place, of)) = subject.as_record() else { continue };
        let is_wanted = wanted.as_ref().is_none_or(|wanted| wanted.fits(&machine, &place));
        if of != *session || machine == *own || !is_wanted {
            continue;
        }
        let last = log.last(&subject)?.and_then(|entry| RecordState::from_last(&entry).ok());
        let is_free = last.is_none_or(|state| match state.standing {
            RecordStanding::Open => true,
            // An attempt of ours that broke off.
            RecordStanding::TakenOver(takeover) => takeover.to == *own,
        });
        if is_free {
            found.push((subject, machine, place));
        }
    }
    match found.len() {
        0 => Err(FleetError::NoRecord { session: session.to_string() }.into()),
        1 => {
            let (subject, machine, _) = found.swap_remove(0);
            Ok((subject, machine))
        }
        _several => {
            let origins: Vec<String> = found.iter().map(|(_, machine, place)| format!("{machine}/{place}")).collect();
            let (session, origins) = (session.to_string(), origins.join(", "));
            Err(FleetError::SeveralRecords { session, origins }.into())
        }
    }
}

/// Whose session is meant: a machine's, or that of one of its workspaces.
struct Origin {
    machine: Name,
    place: Option<Name>,
}

impl Origin {
    /// Reads `MACHINE` or `MACHINE/WORKSPACE`.
    fn parse(text: &str) -> Result<Self, NameError> {
        let (machine, place) = text.split_once('/').map_or((text, None), |(machine, place)| (machine, Some(place)));
        Ok(Self { machine: Name::parse(machine)?, place: place.map(Name::parse).transpose()? })
    }

    fn fits(&self, machine: &Name, place: &Name) -> bool {
        self.machine == *machine && self.place.as_ref().is_none_or(|wanted| wanted == place)
    }
}
