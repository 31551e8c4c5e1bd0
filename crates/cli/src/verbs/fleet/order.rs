//! One signed order to the machines of a fleet, and a receipt from each.

use super::args::WideOrder;
use super::membership::{FleetError, Membership};
use super::questions::OpenQuestions;
use super::this_machine::{ThisMachine, Until};
use crate::error::Problem;
use crate::exit::Exit;
use crate::print::{self, Out};
use crate::workspace;
use serde_json::json;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};
use tripwire_fleet::log::{Log, LogError, Sequence};
use tripwire_fleet::machine::{self, Liveness, MachineState, Part};
use tripwire_fleet::member::Member;
use tripwire_fleet::order::{self, FleetOrder, FleetReceipt, Outcome, Target};
use tripwire_fleet::subject::Name;
use tripwire_journal::note::Signer;
use tripwire_workspace::{account, clock};

/// Gives an order and collects the receipts.
pub(super) fn give(
    wide: &WideOrder<'_>,
    target: Target,
    membership: &Membership,
    log: &dyn Log,
) -> Result<Exit, Problem> {
    let all = machine::all(log)?;
    let machines: Vec<MachineState> = all.into_iter().filter(|machine| target.is_for(&machine.labels)).collect();
    if wide.scope.way.dry_run {
        return print_dry(wide, &target, &machines);
    }
    let signer = signer()?;
    let order = FleetOrder {
        act: wide.act,
        target,
        reason: wide.reason.to_owned(),
        who: account::current(),
        at_ms: clock::now().epoch_ms(),
        nonce: tripwire_fleet::nonce().map_err(FleetError::Random)?,
    };
    let text = order.seal(&signer).map_err(|error| FleetError::Random(error.to_string()))?;
    let sequence = order::give(log, &text)?;
    let mut receipts = collect(log, sequence, &machines, Duration::from_secs(wide.scope.way.wait))?;
    if order.target.is_for(&membership.labels) && !receipts.contains_key(&membership.machine) {
        // Nobody speaks for this machine: this command does what the service would.
        receipts.extend(obey_here(log, membership, sequence)?);
    }
    Answers { order: &order, sequence, machines: &machines, receipts: &receipts }.report(wide)
}

/// The person's key, which is made if there is none.
pub(super) fn signer() -> Result<Signer, Problem> {
    let home = workspace::key_home().ok_or(Problem::NoHome)?.for_identity();
    let is_new = home.secret_path().symlink_metadata().is_err();
    let signer = home.signer(&std::env::current_dir().unwrap_or_default())?;
    if is_new {
        let key = signer.verifier();
        print::say(&format!("note: made a signing key; other machines obey it after `tripwire identity trust {key}`"));
    }
    Ok(signer)
}

fn obey_here(
    log: &dyn Log,
    membership: &Membership,
    sequence: Sequence,
) -> Result<Option<(Name, FleetReceipt)>, Problem> {
    let host = ThisMachine {
        joined_ms: membership.joined_ms,
        own: None,
        until: Until::Time(None),
        copier: None,
        talk: Box::new(print::say),
        questions: OpenQuestions::default(),
    };
    Member::new(log, &host, membership.as_member(Part::Standby, membership.dead_man())?).catch_up()?;
    let receipt = order::receipt_of(log, &membership.machine, sequence)?;
    Ok(receipt.map(|receipt| (membership.machine.clone(), receipt)))
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

const fn name_of(machine: &MachineState) -> &Name {
    &machine.machine
}

/// What the machines answered.
struct Answers<'a> {
    order: &'a FleetOrder,
    sequence: Sequence,
    machines: &'a [MachineState],
    receipts: &'a BTreeMap<Name, FleetReceipt>,
}

impl Answers<'_> {
    /// Machines without a receipt: those that were to give one, and those that left in order.
    fn without_receipt(&self) -> (Vec<&Name>, Vec<&Name>) {
        let meant = self.machines.iter().filter(|machine| !self.receipts.contains_key(&machine.machine));
        let (left, silent): (Vec<_>, Vec<_>) = meant.partition(|machine| machine.left_ms.is_some());
        (silent.into_iter().map(name_of).collect(), left.into_iter().map(name_of).collect())
    }

    fn report(&self, wide: &WideOrder<'_>) -> Result<Exit, Problem> {
        let Self { order, sequence, receipts, .. } = self;
        let (silent, left) = self.without_receipt();
        let holds = silent.is_empty() && receipts.values().all(|receipt| receipt.outcome == Outcome::Obeyed);
        let mut out = Out::lock();
        if wide.form.json {
            let listed: Vec<&FleetReceipt> = receipts.values().collect();
            out.line(
                &json!({"version": 1, "order": sequence, "act": order.act, "target": order.target, "receipts": listed,
                        "silent": silent, "left": left, "holds": holds})
                .to_string(),
            )?;
        } else {
            out.prose(&format!("{}: order {sequence} to {}", order.act.name(), order.target))?;
            for receipt in receipts.values() {
                print_receipt(&mut out, receipt)?;
            }
            for machine in &silent {
                out.prose(&format!("{machine}: NO ANSWER; it pauses itself when it is cut off from the fleet"))?;
            }
            for machine in &left {
                out.prose(&format!("{machine}: left the fleet before; it obeys when it comes back"))?;
            }
            if receipts.is_empty() && self.machines.is_empty() {
                out.prose("no machine is meant")?;
            }
        }
        out.flush()?;
        Ok(if holds { Exit::Done } else { Exit::DoesNotHold })
    }
}

fn print_receipt(out: &mut Out, receipt: &FleetReceipt) -> Result<(), Problem> {
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
    Ok(())
}

fn print_dry(wide: &WideOrder<'_>, target: &Target, machines: &[MachineState]) -> Result<Exit, Problem> {
    let names: Vec<&Name> = machines.iter().map(|machine| &machine.machine).collect();
    let act = wide.act;
    let mut out = Out::lock();
    if wide.form.json {
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
