//! The report of a run: in words for a person, as one object for a machine, as an exit code for a script.

use crate::exit::Exit;
use crate::moment;
use crate::print;
use crate::print::decision::name;
use crate::print::money;
use serde_json::{Value, json};
use tripwire_core::counted::counted;
use tripwire_core::effect::StopReason;
use tripwire_supervisor::{Ending, GatewayReport, GatewayState, Isolation, RunReport, Verified};

/// The exit code of a run (SPEC §12).
pub(crate) fn exit_of(report: &RunReport) -> Exit {
    match &report.ending {
        Ending::Done(verdict) if verdict.is_proved() => Exit::Done,
        Ending::Done(_) => Exit::Unverified,
        Ending::Stopped(reason) => Exit::of_stop(*reason),
        Ending::Held(reason) => Exit::of_hold(*reason),
        Ending::GuardBroken(_) => Exit::DoesNotHold,
        Ending::Parked(_) => Exit::Parked,
        Ending::StepCap | Ending::ClientCap(_) => Exit::Clock,
        Ending::ClientBudget(_) => Exit::Budget,
        Ending::ClientFailed(_) => Exit::HardStop,
        Ending::NothingAsked => Exit::Done,
    }
}

/// Whether the client was ended, so that it could not leave the terminal as it found it.
pub(crate) const fn ended_by_guard(ending: &Ending) -> bool {
    match ending {
        Ending::Stopped(_) | Ending::Held(_) | Ending::GuardBroken(_) | Ending::StepCap | Ending::ClientFailed(_) => {
            true
        }
        Ending::Done(_) | Ending::Parked(_) | Ending::ClientCap(_) | Ending::ClientBudget(_) | Ending::NothingAsked => {
            false
        }
    }
}

/// The report in words.
pub(crate) fn lines(report: &RunReport, exit: Exit) -> Vec<String> {
    let view = &report.view;
    let budget = view.budget_micro_usd.map_or(String::new(), |budget| format!(" of {}", money::exactly(budget.get())));
    let receipt = &report.receipt;
    let mut lines = vec![
        format!("tripwire: {}", how(report)),
        format!("  exit      {}", exit.code()),
        format!("  session   {} ({})", report.session, report.clients.join(", then ")),
        format!(
            "  work      {} in {}; verdict {}{}{}",
            counted(view.steps.get(), "step"),
            moment::span(report.took.as_secs()),
            verdict(report),
            print::verdict::skipped(view),
            verified(report)
        ),
        format!(
            "  cost      {}{budget}, {}",
            money::dollars(view.spent.micro_usd.get()),
            counted(view.spent.tokens.get(), "token")
        ),
        format!(
            "  receipt   {} ended, {}, {} ms",
            counted(receipt.ended, "process"),
            counted(receipt.survivors, "survivor"),
            receipt.took_ms
        ),
        format!("  guard     {}", guard(report)),
        format!("  gateway   {}", gateway(report)),
    ];
    if let Some(proof) = &report.proof {
        lines.push(format!("  proof     {}", proof.words()));
    }
    lines.extend(print::verdict::tests_changed(view).map(|text| format!("  tests     {text}")));
    for switch in &report.switches {
        lines.push(format!("  switch    {} goes on for {}: {}", switch.to, switch.from, switch.reason));
    }
    if report.restarts > 0 {
        lines.push(format!("  restarts  {} with .geometry/MISSION_BRIEFING.md", report.restarts));
    }
    for finding in &report.findings {
        let (decision, level) = (finding.decision.get(), name(&finding.level));
        lines.push(format!("  alarm     {decision:>6}  {level}: {} [{}]", finding.reason, finding.rule));
    }
    let why = report.findings.last().map(|finding| format!("`tripwire why {}`, ", finding.decision.get()));
    let stopped = report.ending == Ending::Stopped(StopReason::StoppedByPerson);
    let order = if stopped { "; `tripwire resume` before a new run, if STOP is still set" } else { "" };
    let why = why.unwrap_or_default();
    if let Some(command) = &report.client_resume {
        lines.push(format!("  resume    `{command}` goes on with the client's conversation"));
    }
    lines.push(format!("  next      {why}`tripwire log`, `tripwire replay {}`{order}", report.session));
    lines
}

/// The report as one object.
pub(crate) fn json(report: &RunReport, exit: Exit, notes: &[String]) -> Value {
    json!({
        "version": 1,
        "exit": exit.code(),
        "ending": report.ending,
        "how": how(report),
        "session": report.session,
        "clients": report.clients,
        "client_resume": report.client_resume,
        "verdict": verdict(report),
        "verify": report.verified.map(verify_word),
        "proof": report.proof,
        "tests_changed": report.view.tests_changed,
        "waived_by": report.view.waived_by,
        "spent": {"micro_usd": report.view.spent.micro_usd, "tokens": report.view.spent.tokens},
        "budget_micro_usd": report.view.budget_micro_usd,
        "steps": report.view.steps,
        "findings": report.findings,
        "notes": notes,
        "receipt": report.receipt,
        "took_ms": u64::try_from(report.took.as_millis()).unwrap_or(u64::MAX),
        "restarts": report.restarts,
        "switches": report.switches,
        "guard": {
            "containment": report.containment,
            "shielded": report.isolation != Isolation::None,
            "sandboxed": report.isolation == Isolation::Sandboxed,
        },
        "gateway": report.gateway.as_ref().map_or_else(|| json!({"state": "off", "bounded": false}), gateway_json),
    })
}

/// How it ended, and for a loop what was repeated.
fn how(report: &RunReport) -> String {
    match (&report.ending, &report.view.cause) {
        (Ending::Stopped(_), Some(cause)) => format!("stopped: {}", cause.what),
        (Ending::Held(_), Some(cause)) => format!("{}: {}", report.ending.words(), cause.what),
        _ => report.ending.words(),
    }
}

/// The verdict on the work, whether or not the agent was let go.
fn verdict(report: &RunReport) -> String {
    match &report.ending {
        Ending::Done(verdict) => name(verdict),
        Ending::Stopped(_)
        | Ending::Held(_)
        | Ending::GuardBroken(_)
        | Ending::Parked(_)
        | Ending::StepCap
        | Ending::ClientCap(_)
        | Ending::ClientBudget(_)
        | Ending::ClientFailed(_)
        | Ending::NothingAsked => name(&report.view.verdict),
    }
}

fn verified(report: &RunReport) -> String {
    report.verified.map_or(String::new(), |verified| format!(" (the test command: {})", verify_word(verified)))
}

fn verify_word(verified: Verified) -> String {
    match verified {
        Verified::Passed => "passed".to_owned(),
        Verified::Failed(code) => format!("failed with {code}"),
        Verified::Cut => "was cut".to_owned(),
    }
}

fn guard(report: &RunReport) -> &'static str {
    match report.isolation {
        Isolation::Sandboxed => {
            "in the sandbox: no key of yours, no file outside of the workspace, no host that was not named"
        }
        Isolation::Shielded => "isolated: the agent could not change tripwire's files or read its signing key",
        Isolation::None => "not isolated: the agent could reach .geometry/; changes there are found, not prevented",
    }
}

/// What the gateway saw of the run's model calls.
fn gateway(report: &RunReport) -> String {
    let Some(gateway) = &report.gateway else {
        return "off (`--no-gateway`): model calls were neither counted nor bounded on their way".to_owned();
    };
    let totals = &gateway.totals;
    let sum = format!("{} for {}", counted(totals.calls, "model call"), money::exactly(totals.micro_usd.get()));
    let credential = match gateway.is_brokered() {
        None => "",
        Some(true) => "; credential brokered",
        Some(false) => "; credential not brokered",
    };
    let unpriced = match totals.unpriced {
        0 => String::new(),
        some => format!("; {} without a price passed: the run was not bounded", counted(some, "request")),
    };
    match gateway.state {
        GatewayState::On => format!("{sum}{credential}{unpriced}"),
        GatewayState::Around => format!("not every call was seen: {}; {sum}{credential}", gateway.around.join("; ")),
        GatewayState::Bypassed => format!("the client asked its model past it; {sum}{credential}"),
    }
}

fn gateway_json(gateway: &GatewayReport) -> Value {
    let state = match gateway.state {
        GatewayState::On => "on",
        GatewayState::Around => "around",
        GatewayState::Bypassed => "bypassed",
    };
    let credential = gateway.is_brokered().map(|is| if is { "brokered" } else { "credential not brokered" });
    json!({
        "state": state,
        "calls": gateway.totals.calls,
        "micro_usd": gateway.totals.micro_usd,
        "unpriced": gateway.totals.unpriced,
        "bounded": gateway.is_bounded(),
        "credential": credential,
        "around": gateway.around,
    })
}
