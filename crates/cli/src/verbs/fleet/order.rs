//! `tripwire fleet stop`, `pause`, `resume`: one signed order, and a receipt from each machine.

use super::args::OrderFlags;
use super::membership::{FleetError, Membership};
use crate::error::Problem;
use crate::exit::Exit;
use crate::print::{self, Out};
use crate::workspace;
use serde_json::json;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};
use tripwire_fleet::log::{Log, LogError, Sequence};
use tripwire_fleet::machine::{self, Liveness, MachineState};
use tripwire_fleet::order::{self, FleetAct, FleetOrder, FleetReceipt, Label, Outcome, Target};
use tripwire_fleet::subject::Name;
use tripwire_workspace::{account, clock};

/// Gives an order and collects the receipts.
pub(super) fn give(act: FleetAct, flags: &OrderFlags) -> Result<Exit, Problem> {
    let target = match &flags.label {
        Some(text) => Target::Label(Label::parse(text)?),
        None => Target::All,
    };
    let log = Membership::load()?.log()?;
    let machines: Vec<MachineState> =
        machine::all(log.as_ref())?.into_iter().filter(|machine| target.is_for(&machine.labels)).collect();
    if flags.dry_run {
        return print_dry(act, &target, &machines, flags);
    }
    let home = workspace::key_home().ok_or(Problem::NoHome)?.for_identity();
    let is_new = home.secret_path().symlink_metadata().is_err();
    let signer = home.signer(&std::env::current_dir().unwrap_or_default())?;
    if is_new {
        let key = signer.verifier();
        print::say(&format!("note: made a signing key; other machines obey it after `tripwire identity trust {key}`"));
    }
    let now_ms = clock::now().epoch_ms();
    let order = FleetOrder {
        act,
        target,
        reason: flags.reason.reason.clone(),
        who: account::current(),
        at_ms: now_ms,
        nonce: tripwire_fleet::nonce().map_err(FleetError::Random)?,
    };
    let text = order.seal(&signer).map_err(|error| FleetError::Random(error.to_string()))?;
    let sequence = order::give(log.as_ref(), &text)?;
    let receipts = collect(log.as_ref(), sequence, &machines, Duration::from_secs(flags.wait))?;
    report(&order, sequence, &machines, &receipts, flags)
}

/// Waits for the receipts of all machines that live; one that was silent before is not waited for.
fn collect(
    log: &dyn Log,
    order: Sequence,
    machines: &[MachineState],
    within: Duration,
) -> Result<BTreeMap<Name, FleetReceipt>, LogError> {
    let deadline = Instant::now() + within;
    let now_ms = clock::now().epoch_ms();
    let mut receipts = BTreeMap::new();
    loop {
        for MachineState { machine, .. } in machines {
            if !receipts.contains_key(machine)
                && let Some(receipt) = order::receipt_of(log, machine, order)?
            {
                receipts.insert(machine.clone(), receipt);
            }
        }
        let is_awaited = |machine: &MachineState| {
            machine.liveness(now_ms) == Liveness::Alive && !receipts.contains_key(&machine.machine)
        };
        if !machines.iter().any(is_awaited) || Instant::now() >= deadline {
            return Ok(receipts);
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}

fn report(
    order: &FleetOrder,
    sequence: Sequence,
    machines: &[MachineState],
    receipts: &BTreeMap<Name, FleetReceipt>,
    flags: &OrderFlags,
) -> Result<Exit, Problem> {
    let silent: Vec<&Name> =
        machines.iter().map(|machine| &machine.machine).filter(|machine| !receipts.contains_key(*machine)).collect();
    let holds = silent.is_empty() && receipts.values().all(|receipt| receipt.outcome == Outcome::Obeyed);
    let mut out = Out::lock();
    if flags.form.json {
        let listed: Vec<&FleetReceipt> = receipts.values().collect();
        out.line(
            &json!({"version": 1, "order": sequence, "act": order.act, "target": order.target, "receipts": listed,
                    "silent": silent, "holds": holds})
            .to_string(),
        )?;
    } else {
        out.prose(&format!("{}: order {sequence} to {}", order.act.name(), order.target))?;
        for receipt in receipts.values() {
            let outcome = match receipt.outcome {
                Outcome::Obeyed => "obeyed",
                Outcome::Failed => "FAILED",
                Outcome::Refused => "REFUSED",
                Outcome::NotMeant => "not meant",
            };
            let FleetReceipt { machine, ended, survivors, .. } = receipt;
            out.prose(&format!("{machine}: {outcome}, {ended} processes ended, {survivors} survived"))?;
            for line in &receipt.lines {
                out.prose(&format!("  {line}"))?;
            }
        }
        for machine in &silent {
            out.prose(&format!("{machine}: NO ANSWER; it pauses itself when it is cut off from the fleet"))?;
        }
        if machines.is_empty() {
            out.prose("no machine is meant")?;
        }
    }
    out.flush()?;
    Ok(if holds { Exit::Done } else { Exit::DoesNotHold })
}

fn print_dry(act: FleetAct, target: &Target, machines: &[MachineState], flags: &OrderFlags) -> Result<Exit, Problem> {
    let names: Vec<&Name> = machines.iter().map(|machine| &machine.machine).collect();
    let mut out = Out::lock();
    if flags.form.json {
        out.line(&json!({"version": 1, "act": act, "target": target, "machines": names, "dry_run": true}).to_string())?;
    } else {
        out.prose(&format!("{} would go to {target}:", act.name()))?;
        for name in names {
            out.line(&format!("  {name}"))?;
        }
    }
    out.flush()?;
    Ok(Exit::Done)
}
