//! `tripwire fleet status` and `audit`.

use super::args::FleetStatusArgs;
use super::membership::Membership;
use super::metrics;
use super::overview::{Overview, SeenMachine};
use super::places::{place_of, sessions, workspaces};
use crate::error::Problem;
use crate::exit::Exit;
use crate::print::{Form, Out, money};
use crate::workspace;
use serde_json::{Value, json};
use tripwire_core::counted::counted;
use tripwire_core::record::chain::Digest;
use tripwire_fleet::audit::{self, Audited, LocalJournal};
use tripwire_fleet::bucket::{Bucket, RateLimits};
use tripwire_fleet::machine::Liveness;
use tripwire_fleet::policy::{PolicyStanding, Published};
use tripwire_fleet::subject::Name;

/// Runs `tripwire fleet status`.
pub(super) fn status(args: &FleetStatusArgs) -> Result<Exit, Problem> {
    let membership = Membership::load()?;
    let seen = Overview::gather(&membership)?;
    let mut out = Out::lock();
    match (args.metrics, args.form.json) {
        (true, _) => out.line(metrics::exposition(&seen).trim_end())?,
        (false, true) => out.line(&as_json(&membership, &seen).to_string())?,
        (false, false) => in_prose(&membership, &seen, &mut out)?,
    }
    out.flush()?;
    Ok(Exit::Done)
}

/// The fleet of this machine, as `--json` shows it; nothing if it belongs to none.
pub(crate) fn standing() -> Result<Option<Value>, Problem> {
    let Some(membership) = Membership::find()? else { return Ok(None) };
    Ok(Some(as_json(&membership, &Overview::gather(&membership)?)))
}

fn as_json(membership: &Membership, seen: &Overview) -> Value {
    let machine = |machine: &SeenMachine| {
        let mut value = json!(machine.state);
        if let Value::Object(fields) = &mut value {
            fields.insert("presence".to_owned(), json!(machine.state.liveness(seen.now_ms).name()));
            fields.insert("policy".to_owned(), json!(machine.policy));
            fields.insert("held".to_owned(), json!(machine.held));
        }
        value
    };
    let machines: Vec<Value> = seen.machines.iter().map(machine).collect();
    let budgets: serde_json::Map<_, _> =
        seen.budgets.iter().map(|(name, pool)| (name.to_string(), json!(pool))).collect();
    let rate = |(name, rate): &(Name, Bucket)| {
        let RateLimits { capacity, per_minute } = rate.limits;
        (name.to_string(), json!({"per_minute": per_minute, "at_once": capacity, "left": rate.left(seen.now_ms)}))
    };
    let rates: serde_json::Map<_, _> = seen.rates.iter().map(rate).collect();
    let bundles: Vec<Value> = seen.bundles.iter().map(bundle_json).collect();
    json!({"version": 1, "fleet": membership.address, "machine": membership.machine, "machines": machines,
           "budgets": budgets, "rates": rates, "bundles": bundles})
}

/// A bundle without its files.
pub(super) fn bundle_json(published: &Published) -> Value {
    match &published.bundle {
        Ok(bundle) => {
            json!({"target": bundle.target, "digest": bundle.digest, "who": bundle.who, "at_ms": bundle.at_ms,
                             "until_ms": bundle.until_ms})
        }
        Err(fault) => json!({"target": published.target, "refused": fault.to_string()}),
    }
}

fn in_prose(membership: &Membership, seen: &Overview, out: &mut Out) -> Result<(), Problem> {
    out.prose(&format!("{} as `{}`", membership.address, membership.machine))?;
    for machine in &seen.machines {
        let state = &machine.state;
        let heard = seen.now_ms.saturating_sub(state.at_ms) / 1_000;
        let standing = match machine.state.liveness(seen.now_ms) {
            Liveness::Alive => "alive",
            Liveness::Silent => "SILENT",
            Liveness::Left => "left",
        };
        let (name, sessions, records) = (&state.machine, state.sessions.len(), machine.records());
        let policy = policy_words(&machine.policy);
        out.prose(&format!(
            "{name}: {standing}, heard {heard} s ago, {sessions} sessions, {records} records, policy {policy}"
        ))?;
        if let Some(order) = &machine.held {
            out.prose(&format!("  held by `{}` of {}: {}", order.act.name(), order.who, order.reason))?;
        }
        if let PolicyStanding::Drift { runs, .. } = &machine.policy {
            for running in runs {
                let digest = running.digest.map_or_else(|| "a policy that cannot be read".to_owned(), short);
                let more = running.count.saturating_sub(1);
                let more = if more > 0 { format!(" and {more} more") } else { String::new() };
                out.prose(&format!("  runs {digest} in {}{more}", running.at))?;
            }
        }
        if !state.waiting.is_empty() {
            let count = counted(state.waiting.len(), "question");
            out.prose(&format!("  {count} for a person: `tripwire approvals --fleet`"))?;
        }
        for problem in &state.problems {
            out.prose(&format!("  {problem}"))?;
        }
    }
    if seen.machines.is_empty() {
        out.prose("no machine has served yet; `tripwire fleet serve` does")?;
    }
    for (name, pool) in &seen.budgets {
        let (limit, settled) = (money::dollars(pool.limit.get()), money::dollars(pool.settled.get()));
        out.prose(&format!("budget {name}: {settled} of {limit} settled, {} blocks out", pool.blocks.len()))?;
    }
    for (name, rate) in &seen.rates {
        let (limits, left) = (rate.limits, rate.left(seen.now_ms));
        out.prose(&format!("rate {name}: {} calls a minute, {left} left now", limits.per_minute))?;
    }
    for published in &seen.bundles {
        out.prose(&bundle_words(published, seen.now_ms))?;
    }
    Ok(())
}

fn policy_words(standing: &PolicyStanding) -> String {
    match standing {
        PolicyStanding::NoBundle => "no bundle".to_owned(),
        PolicyStanding::Refused { reason } => format!("BUNDLE REFUSED: {reason}"),
        PolicyStanding::InStep { bundle } => format!("in step with {}", short(*bundle)),
        PolicyStanding::Drift { bundle, .. } => format!("DRIFT from {}", short(*bundle)),
        PolicyStanding::Unreported { .. } => "not reported yet".to_owned(),
    }
}

/// A bundle in one line.
pub(super) fn bundle_words(published: &Published, now_ms: u64) -> String {
    match &published.bundle {
        Ok(bundle) => {
            let days = bundle.until_ms.saturating_sub(now_ms) / DAY_MS;
            let (target, who) = (&bundle.target, &bundle.who);
            format!("policy for {target}: {} by {who}, valid for {days} more days", short(bundle.digest))
        }
        Err(fault) => format!("policy for {}: REFUSED: {fault}", published.target),
    }
}

/// A digest as people compare it.
fn short(digest: Digest) -> String {
    format!("sha256:{}", String::from_utf8_lossy(&digest.short()))
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

pub(super) const DAY_MS: u64 = 24 * 60 * 60 * 1_000;
