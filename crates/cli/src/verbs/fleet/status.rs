//! `tripwire fleet status` and `audit`.

use super::membership::Membership;
use super::this_machine::{place_of, sessions, workspaces};
use crate::error::Problem;
use crate::exit::Exit;
use crate::print::{Form, Out, money};
use crate::workspace;
use serde_json::json;
use tripwire_fleet::audit::{self, Audited, LocalJournal};
use tripwire_fleet::budget;
use tripwire_fleet::escrow::Pool;
use tripwire_fleet::log::Log;
use tripwire_fleet::machine::{self, Liveness, MachineState};
use tripwire_fleet::subject::{Name, POOLS};
use tripwire_workspace::clock;

/// Runs `tripwire fleet status`.
pub(super) fn status(form: Form) -> Result<Exit, Problem> {
    let membership = Membership::load()?;
    let log = membership.log()?;
    let (machines, budgets) = (machine::all(log.as_ref())?, budgets(log.as_ref())?);
    let now_ms = clock::now().epoch_ms();
    let mut out = Out::lock();
    if form.json {
        out.line(
            &json!({"version": 1, "fleet": membership.address, "machine": membership.machine, "machines": machines,
                    "budgets": budgets.iter().map(|(name, pool)| (name.to_string(), json!(pool))).collect::<serde_json::Map<_, _>>()})
            .to_string(),
        )?;
        out.flush()?;
        return Ok(Exit::Done);
    }
    out.prose(&format!("{} as `{}`", membership.address, membership.machine))?;
    for machine in &machines {
        let MachineState { machine: name, sessions, problems, .. } = machine;
        let heard = now_ms.saturating_sub(machine.at_ms) / 1_000;
        let standing = match machine.liveness(now_ms) {
            Liveness::Alive => "alive",
            Liveness::Silent => "SILENT",
        };
        let records: u64 = sessions.iter().map(|session| session.records).sum();
        out.prose(&format!("{name}: {standing}, heard {heard} s ago, {} sessions, {records} records", sessions.len()))?;
        for problem in problems {
            out.prose(&format!("  {problem}"))?;
        }
    }
    if machines.is_empty() {
        out.prose("no machine has served yet; `tripwire fleet serve` does")?;
    }
    for (name, pool) in &budgets {
        let (limit, settled) = (money::dollars(pool.limit.get()), money::dollars(pool.settled.get()));
        out.prose(&format!("budget {name}: {settled} of {limit} settled, {} blocks out", pool.blocks.len()))?;
    }
    out.flush()?;
    Ok(Exit::Done)
}

fn budgets(log: &dyn Log) -> Result<Vec<(Name, Pool)>, Problem> {
    let mut found = Vec::new();
    for subject in log.subjects(POOLS)? {
        let name = Name::parse(subject.last_word())?;
        if let Some(pool) = budget::look(log, &name)? {
            found.push((name, pool));
        }
    }
    Ok(found)
}

/// Runs `tripwire fleet audit`.
pub(super) fn audit(form: Form) -> Result<Exit, Problem> {
    let membership = Membership::load()?;
    let log = membership.log()?;
    let mut journals = Vec::new();
    for workspace in workspaces() {
        for paths in sessions(&workspace, 0) {
            let trust = workspace::key_home().map(|home| home.trust(&paths)).transpose()?.unwrap_or_default();
            let (machine, place) = (membership.machine.clone(), place_of(workspace.root()));
            journals.push(LocalJournal { machine, place, paths, trust });
        }
    }
    let audited = audit::audit(log.as_ref(), &journals)?;
    let holds = audited.iter().all(|audited| audited.difference.is_none());
    let mut out = Out::lock();
    if form.json {
        out.line(&json!({"version": 1, "holds": holds, "records": audited}).to_string())?;
    } else {
        for audited in &audited {
            out.prose(&in_words(audited))?;
        }
        if audited.is_empty() {
            out.prose("the fleet has no record yet; `tripwire fleet serve` makes them")?;
        }
    }
    out.flush()?;
    Ok(if holds { Exit::Done } else { Exit::DoesNotHold })
}

fn in_words(audited: &Audited) -> String {
    let Audited { subject, records, .. } = audited;
    if let Some(difference) = &audited.difference {
        let at = difference.index.map(|index| format!("line {index}: ")).unwrap_or_default();
        return format!("{subject}: DIFFERS: {at}{}", difference.what);
    }
    let local = audited.local.as_ref().map_or_else(
        || "not on this machine".to_owned(),
        |local| {
            format!(
                "equal to the journal here, {} not copied yet, {} signed checkpoints agree",
                local.behind, local.checkpoints
            )
        },
    );
    let over = audited.taken_over_by.as_ref().map(|machine| format!(", taken over by {machine}")).unwrap_or_default();
    format!("{subject}: {records} records verify, {local}{over}")
}
