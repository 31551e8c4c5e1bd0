//! `tripwire stop --all`, `pause --all`, `resume --all`, and the same with `--label`: one order for every workspace of this machine, or, where
//! it belongs to a fleet, for all its machines.

use super::args::WideOrder;
use super::membership::{FleetError, Membership};
use super::order;
use super::places::workspaces;
use super::this_machine::{InWorkspace, in_every_workspace};
use crate::error::Problem;
use crate::exit::Exit;
use crate::print::{self, Form, Out};
use serde_json::{Value, json};
use tripwire_core::counted::counted;
use tripwire_fleet::order::{FleetAct, Target};
use tripwire_workspace::account;

/// Gives an order to more than one workspace.
pub(crate) fn order_everywhere(wide: &WideOrder<'_>) -> Result<Exit, Problem> {
    let target = Target::of_label(wide.scope.targets.label.as_deref())?;
    match (Membership::find()?, &target) {
        (None, Target::Label(_)) => Err(FleetError::NotJoined.into()),
        (None, Target::All) if wide.scope.way.dry_run => print_dry(wide),
        (None, Target::All) => on_this_machine(wide).report(wide.form),
        (Some(membership), _) => {
            let log = membership.log();
            let given = log.and_then(|log| order::give(wide, target.clone(), &membership, log.as_ref()));
            given.or_else(|problem| without_fleet(wide, &target, &membership, problem))
        }
    }
}

/// The fleet did not take the order: what can be held is held, and the person is told about the rest.
fn without_fleet(
    wide: &WideOrder<'_>,
    target: &Target,
    membership: &Membership,
    problem: Problem,
) -> Result<Exit, Problem> {
    let holds_something = match wide.act {
        FleetAct::Stop | FleetAct::Pause => target.is_for(&membership.labels) && !wide.scope.way.dry_run,
        FleetAct::Resume => false,
    };
    if !holds_something {
        return Err(problem);
    }
    print::say_problem(&problem);
    print::say("the order did not reach the fleet's log: this machine obeys it, and others only if they received it");
    on_this_machine(wide).report(wide.form)?;
    Ok(Exit::DoesNotHold)
}

/// What became of an order on this machine.
struct OnThisMachine {
    act: FleetAct,
    workspaces: Vec<InWorkspace>,
}

fn on_this_machine(wide: &WideOrder<'_>) -> OnThisMachine {
    let workspaces = in_every_workspace(wide.act, &account::current(), wide.reason);
    OnThisMachine { act: wide.act, workspaces }
}

impl OnThisMachine {
    fn report(&self, form: Form) -> Result<Exit, Problem> {
        let holds = self.workspaces.iter().all(holds);
        let (mut ended, mut survivors) = (0, 0);
        for done in self.workspaces.iter().filter_map(|here| here.done.as_ref().ok()) {
            ended += done.ended;
            survivors += done.survivors;
        }
        let mut out = Out::lock();
        if form.json {
            let listed: Vec<Value> = self.workspaces.iter().map(as_json).collect();
            out.line(
                &json!({"version": 1, "act": self.act, "workspaces": listed, "ended": ended, "survivors": survivors,
                        "holds": holds})
                .to_string(),
            )?;
        } else {
            for InWorkspace { root, done } in &self.workspaces {
                let root = root.display();
                match done {
                    Ok(done) => {
                        let failed = done.failures.iter().map(|failure| (failure, "NOT: "));
                        for (line, mark) in done.lines.iter().map(|line| (line, "")).chain(failed) {
                            out.prose(&format!("{root}: {mark}{line}"))?;
                        }
                    }
                    Err(problem) => out.prose(&format!("{root}: FAILED: {problem}"))?,
                }
            }
            let count = counted(self.workspaces.len(), "workspace");
            let (ended, survivors) = (counted(ended, "process"), counted(survivors, "survivor"));
            out.prose(&format!("{} in {count} of this machine: {ended} ended, {survivors}", self.act.name()))?;
        }
        out.flush()?;
        Ok(if holds { Exit::Done } else { Exit::DoesNotHold })
    }
}

fn holds(here: &InWorkspace) -> bool {
    here.done.as_ref().is_ok_and(|done| done.failures.is_empty())
}

fn as_json(here: &InWorkspace) -> Value {
    let root = here.root.display().to_string();
    match &here.done {
        Ok(done) => json!({"workspace": root, "done": done.lines, "failures": done.failures, "ended": done.ended,
                           "survivors": done.survivors, "holds": holds(here)}),
        Err(problem) => json!({"workspace": root, "error": problem, "holds": false}),
    }
}

fn print_dry(wide: &WideOrder<'_>) -> Result<Exit, Problem> {
    let roots: Vec<String> = workspaces().iter().map(|workspace| workspace.root().display().to_string()).collect();
    let mut out = Out::lock();
    if wide.form.json {
        out.line(&json!({"version": 1, "act": wide.act, "workspaces": roots, "dry_run": true}).to_string())?;
    } else {
        out.prose(&format!("{} would go to every workspace of this machine:", wide.act.name()))?;
        for root in roots {
            out.prose(&format!("  {root}"))?;
        }
    }
    out.flush()?;
    Ok(Exit::Done)
}
