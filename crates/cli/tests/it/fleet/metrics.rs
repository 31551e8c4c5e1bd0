//! `tripwire fleet status --metrics`, read by a parser that takes nothing but the format.

use super::{Serving, join, machine, until};
use crate::session::fixture::{Place, calls};
use std::collections::{BTreeMap, BTreeSet};
use tripwire_testing::TestDir;

/// The samples by series, as `name{label="value"}`.
type Samples = BTreeMap<String, f64>;

/// Reads Prometheus' text format 0.0.4 strictly: help and type once and before the samples, all samples of a name together, every name
/// and label of the right letters, every series once, every line ended.
fn parse(text: &str) -> Result<Samples, String> {
    let mut samples = Samples::new();
    let (mut helped, mut typed, mut closed) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
    let mut current = String::new();
    let body = text.strip_suffix('\n').ok_or("the last line does not end")?;
    for line in body.split('\n') {
        let wrong = |why: &str| Err(format!("{why}: {line}"));
        if let Some(rest) = line.strip_prefix("# ") {
            let (kind, rest) = rest.split_once(' ').ok_or_else(|| format!("no words: {line}"))?;
            let (name, words) = rest.split_once(' ').ok_or_else(|| format!("no words: {line}"))?;
            if !is_name(name) || words.is_empty() {
                return wrong("not a name");
            }
            let is_first = match (kind, words) {
                ("HELP", _) => helped.insert(name.to_owned()),
                ("TYPE", "gauge" | "counter") => helped.contains(name) && typed.insert(name.to_owned()),
                _other => false,
            };
            if !is_first || closed.contains(name) {
                return wrong("twice, late or unknown");
            }
            continue;
        }
        let (series, value) = line.rsplit_once(' ').ok_or_else(|| format!("no value: {line}"))?;
        let (name, labels) = series.split_once('{').ok_or_else(|| format!("no labels: {line}"))?;
        if !is_name(name) || !typed.contains(name) {
            return wrong("not a name that has a type");
        }
        if current != name && !closed.insert(name.to_owned()) {
            return wrong("the samples of a name stand together");
        }
        current = name.to_owned();
        labels.strip_suffix('}').and_then(read_labels).ok_or_else(|| format!("labels: {line}"))?;
        let number = value.parse::<f64>().ok().filter(|number| number.is_finite());
        let number = number.ok_or_else(|| format!("not a number: {line}"))?;
        if samples.insert(series.to_owned(), number).is_some() {
            return wrong("a series twice");
        }
    }
    match typed.iter().find(|name| !closed.contains(*name)) {
        Some(name) => Err(format!("{name} has no sample")),
        None => Ok(samples),
    }
}

fn is_name(text: &str) -> bool {
    let letter = |byte: u8| byte.is_ascii_alphabetic() || byte == b'_' || byte == b':';
    text.bytes().next().is_some_and(letter) && text.bytes().all(|byte| letter(byte) || byte.is_ascii_digit())
}

/// `key="value",…`, where a value escapes backslash, quote and line feed and nothing else.
fn read_labels(text: &str) -> Option<()> {
    let (mut rest, mut keys) = (text, BTreeSet::new());
    loop {
        let (key, value) = rest.split_once("=\"")?;
        if !is_name(key) || key.contains(':') || !keys.insert(key) {
            return None;
        }
        let mut letters = value.char_indices();
        let end = loop {
            match letters.next()? {
                (at, '"') => break at,
                (_, '\\') => drop(letters.next().filter(|(_, next)| matches!(next, '\\' | '"' | 'n'))?),
                (_, '\n') => return None,
                _letter => {}
            }
        };
        match value[end + 1..].strip_prefix(',') {
            Some(more) => rest = more,
            None => return value[end + 1..].is_empty().then_some(()),
        }
    }
}

#[test]
fn fleet_7_the_figures_of_a_fleet_are_what_its_status_says() {
    let (shared, place) = (TestDir::new(), Place::new());
    join(&place, shared.path(), &["--machine", "a", "--dead-man", "3"]);
    let samples = |place: &Place| parse(&place.run(&["fleet", "status", "--metrics"]).ended(0).out).unwrap();
    assert_eq!(samples(&place)["tripwire_fleet_machines{state=\"alive\"}"], 0.0);
    place.run(&["fleet", "status", "--metrics", "--json"]).ended(2);
    place.run(&["fleet", "budget", "team-search", "--limit", "2.5usd"]).ended(0);
    place.step(&calls(2)).ended(0);
    place.run(&["fleet", "policy", "publish", "--days", "2"]).ended(0);
    let serving = Serving::start(&place);
    until(&place, |status| machine(status, "a").is_some_and(|it| it["sessions"][0]["records"].as_u64() > Some(3)));
    let status = until(&place, |status| machine(status, "a").is_some_and(|it| it["policy"]["standing"] == "in_step"));
    let found = samples(&place);
    let of_machine = |name: &str| found[&format!("tripwire_fleet_{name}{{machine=\"a\"}}")];
    assert_eq!((of_machine("machine_up"), of_machine("sessions"), of_machine("problems")), (1.0, 1.0, 0.0));
    let records = machine(&status, "a").unwrap()["sessions"][0]["records"].as_f64().unwrap();
    assert!(of_machine("records") >= records && of_machine("policy_drift") == 0.0, "{found:?}");
    for (series, value) in [
        ("machines{state=\"alive\"}", 1.0),
        ("machines{state=\"silent\"}", 0.0),
        ("machines_held{order=\"stop\"}", 0.0),
        ("policy_machines{standing=\"in_step\"}", 1.0),
        ("policy_bundles{state=\"good\"}", 1.0),
        ("budget_limit_dollars{budget=\"team-search\"}", 2.5),
        ("budget_settled_dollars{budget=\"team-search\"}", 0.0),
    ] {
        assert_eq!(found[&format!("tripwire_fleet_{series}")], value, "{series}");
    }
    place.run(&["pause", "--all", "--reason", "a \"quoted\" reason"]).ended(0);
    place.run(&["fleet", "status"]).ended(0).says(": a \"quoted\" reason").says("held by `pause` of");
    assert_eq!(samples(&place)["tripwire_fleet_machines_held{order=\"pause\"}"], 1.0);
    place.run(&["resume", "--all"]).ended(0);
    assert_eq!(samples(&place)["tripwire_fleet_machines_held{order=\"pause\"}"], 0.0);
    drop(serving);
    until(&place, |status| machine(status, "a").is_some_and(|it| it["presence"] == "silent"));
    let found = samples(&place);
    assert_eq!(found["tripwire_fleet_machines{state=\"silent\"}"], 1.0);
    assert_eq!(found["tripwire_fleet_machine_up{machine=\"a\"}"], 0.0);
}

#[test]
fn the_parser_of_the_figures_takes_nothing_but_the_format() {
    let good = "# HELP a_b What it is.\n# TYPE a_b gauge\na_b{x=\"1\",y=\"\\\"\\\\\\n\"} 1.5\na_b{x=\"2\"} 2\n";
    assert_eq!(parse(good).unwrap().len(), 2);
    for bad in [
        good.trim_end(),
        "a_b{x=\"1\"} 1\n",
        "# TYPE a_b gauge\na_b{x=\"1\"} 1\n",
        "# HELP a_b x\n# TYPE a_b gauge\n",
        "# HELP a_b x\n# TYPE a_b speed\na_b{x=\"1\"} 1\n",
        "# HELP a-b x\n# TYPE a-b gauge\na-b{x=\"1\"} 1\n",
        "# HELP a_b x\n# TYPE a_b gauge\na_b{x=\"1\"} 1\na_b{x=\"1\"} 2\n",
        "# HELP a_b x\n# TYPE a_b gauge\na_b{x=\"1\"} much\n",
        "# HELP a_b x\n# TYPE a_b gauge\na_b{x=1} 1\n",
        "# HELP a_b x\n# TYPE a_b gauge\na_b{x=\"\\t\"} 1\n",
        "# HELP a x\n# TYPE a gauge\na{x=\"1\"} 1\n# HELP b x\n# TYPE b gauge\nb{x=\"1\"} 1\na{x=\"2\"} 1\n",
    ] {
        assert!(parse(bad).is_err(), "{bad}");
    }
}
