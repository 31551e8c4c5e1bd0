//! The figures of a fleet in Prometheus' text exposition format, version 0.0.4.

use super::overview::{Overview, SeenMachine};
use std::fmt::Write as _;
use tripwire_core::units::MicroUsd;
use tripwire_fleet::escrow::Pool;
use tripwire_fleet::machine::Liveness;
use tripwire_fleet::order::{FleetAct, Target};
use tripwire_fleet::policy::PolicyStanding;
use tripwire_fleet::subject::Name;

/// One family of samples: all of a name stand together, behind their help and type.
struct Family<'a> {
    name: &'a str,
    help: &'a str,
    samples: Vec<(Vec<(&'a str, String)>, String)>,
}

impl<'a> Family<'a> {
    const fn new(name: &'a str, help: &'a str) -> Self {
        Self { name, help, samples: Vec::new() }
    }

    /// Adds a sample with one label for each of these.
    fn each<T>(
        mut self,
        label: &'a str,
        things: impl IntoIterator<Item = T>,
        sample: impl Fn(&T) -> (String, String),
    ) -> Self {
        let labelled = things.into_iter().map(|thing| {
            let (name, value) = sample(&thing);
            (vec![(label, name)], value)
        });
        self.samples.extend(labelled);
        self
    }

    fn write(&self, text: &mut String) {
        let Self { name, help, samples } = self;
        if samples.is_empty() {
            return;
        }
        // A text that cannot be written to a string does not exist.
        writeln!(text, "# HELP {name} {help}\n# TYPE {name} gauge").unwrap_or_default();
        for (labels, value) in samples {
            let labels: Vec<String> =
                labels.iter().map(|(key, value)| format!("{key}=\"{}\"", escaped(value))).collect();
            writeln!(text, "{name}{{{}}} {value}", labels.join(",")).unwrap_or_default();
        }
    }
}

fn escaped(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

/// Everything that can be watched, as one text.
pub(super) fn exposition(seen: &Overview) -> String {
    let mut text = String::new();
    let families = machines(seen).into_iter().chain(held_and_policy(seen)).chain(budgets(seen)).chain(rates(seen));
    families.for_each(|family| family.write(&mut text));
    text
}

fn machines(seen: &Overview) -> Vec<Family<'static>> {
    let (machines, now_ms) = (&seen.machines, seen.now_ms);
    let name = |machine: &SeenMachine| machine.state.machine.to_string();
    vec![
        Family::new("tripwire_fleet_machines", "Machines by whether they send heartbeats.").each(
            "state",
            Liveness::ALL,
            |state| {
                let count = machines.iter().filter(|machine| machine.state.liveness(now_ms) == *state).count();
                (state.name().to_owned(), count.to_string())
            },
        ),
        Family::new("tripwire_fleet_machine_up", "Whether a machine is alive.").each("machine", machines, |machine| {
            let up = u8::from(machine.state.liveness(now_ms) == Liveness::Alive);
            (name(machine), up.to_string())
        }),
        Family::new(
            "tripwire_fleet_machine_heard_timestamp_seconds",
            "When a machine last sent a heartbeat, by its own clock.",
        )
        .each("machine", machines, |machine| (name(machine), seconds(machine.state.at_ms))),
        Family::new("tripwire_fleet_sessions", "Sessions of a machine that are copied to the fleet, up to 500.").each(
            "machine",
            machines,
            |machine| (name(machine), machine.state.sessions.len().to_string()),
        ),
        Family::new("tripwire_fleet_records", "Journal lines of these sessions that are in the fleet.").each(
            "machine",
            machines,
            |machine| (name(machine), machine.records().to_string()),
        ),
        Family::new("tripwire_fleet_questions", "What waits for a person on a machine, up to 100.").each(
            "machine",
            machines,
            |machine| (name(machine), machine.state.waiting.len().to_string()),
        ),
        Family::new("tripwire_fleet_problems", "Sessions of a machine that cannot be copied.").each(
            "machine",
            machines,
            |machine| (name(machine), machine.state.problems.len().to_string()),
        ),
    ]
}

fn held_and_policy(seen: &Overview) -> Vec<Family<'static>> {
    let machines = &seen.machines;
    let held = |act: &FleetAct| {
        let count = machines.iter().filter(|machine| machine.held.as_ref().is_some_and(|order| order.act == *act));
        (act.name().to_owned(), count.count().to_string())
    };
    let standing = |name: &&str| {
        let count = machines.iter().filter(|machine| machine.policy.name() == *name).count();
        ((*name).to_owned(), count.to_string())
    };
    let drift = |machine: &&SeenMachine| {
        let drifts = match machine.policy {
            PolicyStanding::Drift { .. } | PolicyStanding::Refused { .. } => 1,
            PolicyStanding::NoBundle | PolicyStanding::InStep { .. } | PolicyStanding::Unreported { .. } => 0,
        };
        (machine.state.machine.to_string(), drifts.to_string())
    };
    let good = seen.bundles.iter().filter_map(|published| published.bundle.as_ref().ok());
    let refused = seen.bundles.iter().filter(|published| published.bundle.is_err()).count();
    vec![
        Family::new("tripwire_fleet_machines_held", "Machines whose agents an order of a person holds.").each(
            "order",
            [FleetAct::Stop, FleetAct::Pause],
            held,
        ),
        Family::new("tripwire_fleet_policy_machines", "Machines by whether they run the policy published for them.")
            .each("standing", PolicyStanding::NAMES, standing),
        Family::new(
            "tripwire_fleet_policy_drift",
            "Whether a machine runs another policy than the published one, or that one is refused.",
        )
        .each("machine", machines, drift),
        Family::new("tripwire_fleet_policy_bundles", "Published policy bundles by whether they are valid.").each(
            "state",
            [("good", seen.bundles.len() - refused), ("refused", refused)],
            |(state, count)| ((*state).to_owned(), count.to_string()),
        ),
        Family::new("tripwire_fleet_policy_bundle_expires_timestamp_seconds", "Until when a policy bundle holds.")
            .each("target", good, |bundle| (target(&bundle.target), seconds(bundle.until_ms))),
    ]
}

fn budgets(seen: &Overview) -> Vec<Family<'static>> {
    let of = |part: fn(&Pool) -> u64| {
        move |(name, pool): &&(Name, Pool)| (name.to_string(), dollars(MicroUsd::new(part(pool))))
    };
    let budgets = &seen.budgets;
    vec![
        Family::new("tripwire_fleet_budget_limit_dollars", "The most that may ever be spent of a budget.").each(
            "budget",
            budgets,
            of(|pool| pool.limit.get()),
        ),
        Family::new("tripwire_fleet_budget_settled_dollars", "What blocks that came back had spent.").each(
            "budget",
            budgets,
            of(|pool| pool.settled.get()),
        ),
        Family::new("tripwire_fleet_budget_granted_dollars", "What machines have taken and not settled yet.").each(
            "budget",
            budgets,
            of(|pool| pool.blocks.values().map(|block| block.granted.get()).sum()),
        ),
    ]
}

fn rates(seen: &Overview) -> Vec<Family<'static>> {
    vec![
        Family::new("tripwire_fleet_rate_calls_per_minute", "Model calls that all machines may make in a minute.")
            .each("rate", &seen.rates, |(name, rate)| (name.to_string(), rate.limits.per_minute.to_string())),
        Family::new("tripwire_fleet_rate_calls_left", "Model calls that a rate has left now.").each(
            "rate",
            &seen.rates,
            |(name, rate)| (name.to_string(), rate.left(seen.now_ms).to_string()),
        ),
    ]
}

fn target(target: &Target) -> String {
    match target {
        Target::All => "all".to_owned(),
        Target::Label(label) => label.to_string(),
    }
}

fn seconds(ms: u64) -> String {
    format!("{}.{:03}", ms / 1_000, ms % 1_000)
}

fn dollars(amount: MicroUsd) -> String {
    format!("{}.{:06}", amount.get() / 1_000_000, amount.get() % 1_000_000)
}
