//! The thresholds of `balanced` chosen without one source of traces and measured on it: `cargo xtask loso FILE`.
//!
//! Numbers that were chosen while looking at a set say little about another. For each source in turn, every threshold is chosen
//! on all other sources by one fixed procedure and then measured on the source that was left out; the table sums these
//! measurements. It speaks for the thresholds only: which rules there are was chosen with all sources in sight.
//!
//! The procedure: each threshold by itself, the others as they are, takes the value with the least cost on the other sources;
//! on a tie the default stays. A false halt costs 20, a false override 3, a stuck run that is halted or overridden earns 1 each.

use serde::Deserialize;
use std::collections::BTreeMap;
use std::fmt::{self, Write as _};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use tripwire_core::chain::Chain;
use tripwire_core::decision::Level;
use tripwire_core::input::{Input, What};
use tripwire_core::policy::Policy;
use tripwire_session::formats::traces;

/// The thresholds that are chosen, each with the values that are tried beside its default.
const TRIED: [(&str, &[&str]); 15] = [
    ("loops.loop_repeat_threshold", &["2", "4"]),
    ("loops.repeat_hold_threshold", &["4", "6"]),
    ("loops.cycle_override_turns", &["2", "4"]),
    ("loops.cycle_hold_turns", &["4", "5"]),
    ("loops.error_override_threshold", &["3", "5"]),
    ("loops.error_hold_threshold", &["4", "6"]),
    ("loops.error_stop_threshold", &["7", "9"]),
    ("loops.failing_override_threshold", &["4", "6"]),
    ("loops.edit_failures_threshold", &["4", "6"]),
    ("loops.reword_similarity", &["0.3", "0.5"]),
    ("loops.reword_threshold", &["1", "3"]),
    ("loops.echo_threshold", &["1", "3"]),
    ("loops.ignored_hold_threshold", &["2", "3"]),
    ("loops.spawn_threshold", &["2", "4"]),
    ("loops.restart_threshold", &["4", "6"]),
];

/// What a false halt and a false override cost, in stuck runs that are found.
const FALSE_HALT: i64 = 20;
const FALSE_OVERRIDE: i64 = 3;

/// Why there is no table.
#[derive(Debug)]
pub enum LosoError {
    /// The file cannot be read.
    Unreadable(PathBuf, io::Error),
    /// A line is no labelled trace, or a threshold has no such value.
    Bad(String),
}

impl fmt::Display for LosoError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreadable(path, cause) => write!(f, "cannot read `{}`: {cause}", path.display()),
            Self::Bad(problem) => {
                write!(f, "{problem}; the format: docs/reference/traces.md, with `source` and `label`")
            }
        }
    }
}

impl std::error::Error for LosoError {}

/// One trace with what is known of it.
struct LabelledTrace {
    source: String,
    stuck: Option<bool>,
    inputs: Vec<Input>,
}

#[derive(Deserialize)]
struct TraceHead {
    source: String,
    label: TraceLabel,
}

#[derive(Deserialize)]
struct TraceLabel {
    stuck: Option<bool>,
}

/// What was counted over some traces.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Tally {
    stuck: u32,
    halted: u32,
    overridden: u32,
    healthy: u32,
    false_halts: u32,
    false_overrides: u32,
}

impl Tally {
    fn cost(self) -> i64 {
        let found = i64::from(self.halted) + i64::from(self.overridden);
        FALSE_HALT * i64::from(self.false_halts) + FALSE_OVERRIDE * i64::from(self.false_overrides) - found
    }

    fn plus(self, other: Self) -> Self {
        Self {
            stuck: self.stuck + other.stuck,
            halted: self.halted + other.halted,
            overridden: self.overridden + other.overridden,
            healthy: self.healthy + other.healthy,
            false_halts: self.false_halts + other.false_halts,
            false_overrides: self.false_overrides + other.false_overrides,
        }
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { stuck, halted, overridden, healthy, false_halts, false_overrides } = self;
        write!(f, "{halted} of {stuck} | {false_halts} of {healthy} | ")?;
        write!(f, "{overridden} of {stuck} | {false_overrides} of {healthy} |")
    }
}

/// The counts of every source under one set of thresholds.
type BySource = BTreeMap<String, Tally>;

/// The table, as Markdown.
///
/// # Errors
/// When the file cannot be read or is no file of labelled traces.
pub fn table(file: &Path) -> Result<String, LosoError> {
    let traces = read(file)?;
    let defaults = policy(&[])?;
    let base = measure(&traces, &defaults)?;
    // Each value of each threshold once over everything: what is left out only changes the sums.
    let mut tried: Vec<(&str, &str, BySource)> = Vec::new();
    for (path, values) in TRIED {
        for value in values {
            tried.push((path, value, measure(&traces, &policy(&[(path, value)])?)?));
        }
    }
    let mut out = String::from(
        "| left out | chosen without it | halted | false | overridden | false |\n| --- | --- | --- | --- | --- | --- |\n",
    );
    let mut total = Tally::default();
    for source in base.keys() {
        let chosen = choose(&base, &tried, source);
        let words: Vec<String> = chosen.iter().map(|(path, value)| format!("`{path}: {value}`")).collect();
        let words = if words.is_empty() { "the defaults".to_owned() } else { words.join(", ") };
        let measured = if chosen.is_empty() {
            base.get(source).copied().unwrap_or_default()
        } else {
            let only: Vec<&LabelledTrace> = traces.iter().filter(|trace| trace.source == *source).collect();
            measure_some(only, &policy(&chosen)?)?.get(source).copied().unwrap_or_default()
        };
        total = total.plus(measured);
        line(&mut out, &format!("| {source} | {words} | {measured}"));
    }
    line(&mut out, &format!("| **all, each left out once** | | {total}"));
    let with_defaults = base.values().fold(Tally::default(), |all, one| all.plus(*one));
    line(&mut out, &format!("| all, with the defaults | | {with_defaults}"));
    Ok(out)
}

fn line(out: &mut String, text: &str) {
    // Writing into a String cannot fail.
    let _written = writeln!(out, "{text}");
}

/// For each threshold the value that costs least on all sources but one.
fn choose<'a>(base: &BySource, tried: &[(&'a str, &'a str, BySource)], without: &str) -> Vec<(&'a str, &'a str)> {
    let cost = |counts: &BySource| {
        let kept = counts.iter().filter(|(source, _)| *source != without);
        kept.fold(Tally::default(), |all, (_, one)| all.plus(*one)).cost()
    };
    let usual = cost(base);
    let mut chosen: BTreeMap<&str, (i64, &str)> = BTreeMap::new();
    for (path, value, counts) in tried {
        let price = cost(counts);
        let best = chosen.get(path).map_or(usual, |(best, _)| *best);
        if price < best {
            chosen.insert(path, (price, value));
        }
    }
    chosen.into_iter().map(|(path, (_, value))| (path, value)).collect()
}

/// The default policy with some thresholds moved, and without the wall clock, which in a past run counts nights.
fn policy(moved: &[(&str, &str)]) -> Result<Policy, LosoError> {
    let mut policy = Policy::default();
    for (path, value) in moved.iter().chain(&[("limits.max_runtime_hours", "off")]) {
        policy.set(path, value).map_err(|error| LosoError::Bad(error.to_string()))?;
    }
    Ok(policy)
}

fn measure(traces: &[LabelledTrace], policy: &Policy) -> Result<BySource, LosoError> {
    measure_some(traces.iter().collect(), policy)
}

fn measure_some(traces: Vec<&LabelledTrace>, policy: &Policy) -> Result<BySource, LosoError> {
    let mut counts = BySource::new();
    for trace in traces {
        let Some(stuck) = trace.stuck else { continue };
        let (halted, overridden) = judge(trace, policy)?;
        let (halted, overridden) = (u32::from(halted), u32::from(overridden));
        let tally = counts.entry(trace.source.clone()).or_default();
        *tally = tally.plus(if stuck {
            Tally { stuck: 1, halted, overridden, ..Tally::default() }
        } else {
            Tally { healthy: 1, false_halts: halted, false_overrides: overridden, ..Tally::default() }
        });
    }
    Ok(counts)
}

/// Whether a trace would have been halted, and overridden; a wait for room in the minute is neither.
fn judge(trace: &LabelledTrace, policy: &Policy) -> Result<(bool, bool), LosoError> {
    let mut chain = Chain::new(policy.clone()).map_err(|error| LosoError::Bad(error.to_string()))?;
    let (mut halted, mut overridden) = (false, false);
    for input in &trace.inputs {
        let decision = chain.step(input).decision;
        if !matches!(input.what, What::Event(_)) {
            continue;
        }
        halted |= !decision.safety.allowed && !decision.safety.rule.is_throttle();
        overridden |= decision.findings.iter().any(|finding| finding.level == Level::Override);
    }
    Ok((halted, overridden))
}

fn read(file: &Path) -> Result<Vec<LabelledTrace>, LosoError> {
    let unreadable = |cause| LosoError::Unreadable(file.to_owned(), cause);
    let mut text = Vec::new();
    let mut packed = BufReader::new(File::open(file).map_err(unreadable)?);
    if file.extension().is_some_and(|extension| extension == "zst") {
        let mut unpacked =
            ruzstd::decoding::StreamingDecoder::new(packed).map_err(|error| LosoError::Bad(error.to_string()))?;
        unpacked.read_to_end(&mut text).map_err(unreadable)?;
    } else {
        packed.read_to_end(&mut text).map_err(unreadable)?;
    }
    let all = traces::inputs(text.as_slice()).map_err(|error| LosoError::Bad(error.to_string()))?;
    let lines = text.lines().map_while(Result::ok).filter(|line| !line.trim().is_empty());
    let mut labelled = Vec::new();
    for (line, inputs) in lines.zip(all) {
        let head: TraceHead = serde_json::from_str(&line).map_err(|error| LosoError::Bad(error.to_string()))?;
        labelled.push(LabelledTrace { source: head.source, stuck: head.label.stuck, inputs });
    }
    Ok(labelled)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tally(halted: u32, overridden: u32, false_halts: u32, false_overrides: u32) -> Tally {
        Tally { stuck: 9, halted, overridden, healthy: 9, false_halts, false_overrides }
    }

    fn of(a: Tally, b: Tally) -> BySource {
        [("a".to_owned(), a), ("b".to_owned(), b)].into()
    }

    #[test]
    fn loop_2_a_threshold_is_chosen_without_the_source_that_is_left_out() {
        let base = of(tally(2, 2, 0, 0), tally(2, 2, 0, 0));
        // More is found in `a`, at the price of a false halt in `b`.
        let tried = [("x", "2", of(tally(5, 5, 0, 0), tally(2, 2, 1, 0)))];
        assert_eq!(choose(&base, &tried, "b"), [("x", "2")]);
        assert!(choose(&base, &tried, "a").is_empty());
    }

    #[test]
    fn loop_2_on_a_tie_the_default_stays_and_every_tried_threshold_exists() {
        let base = of(tally(2, 2, 0, 0), tally(2, 2, 0, 0));
        assert!(choose(&base, &[("x", "2", base.clone())], "a").is_empty());
        for (path, values) in TRIED {
            for value in values {
                assert!(policy(&[(path, value)]).is_ok(), "{path}: {value}");
            }
        }
    }

    #[test]
    fn loop_2_the_table_of_a_small_file_counts_what_fired() {
        let calls: Vec<String> =
            (0..5).map(|_| r#"{"tool":"Bash","args":{"command":"ls"},"output":"a"}"#.to_owned()).collect();
        let trace = |id: &str, stuck: bool, events: &[String]| {
            format!(
                r#"{{"trace_id":"{id}","source":"{id}","label":{{"stuck":{stuck}}},"events":[{}]}}"#,
                events.join(",")
            )
        };
        let folder = tripwire_testing::TestDir::new();
        let file = folder.path().join("traces.jsonl");
        std::fs::write(&file, format!("{}\n{}\n", trace("x", true, &calls), trace("y", false, &calls[..1]))).unwrap();
        let table = table(&file).unwrap();
        assert!(table.contains("| x | the defaults | 1 of 1 | 0 of 0 | 1 of 1 | 0 of 0 |"), "{table}");
        assert!(table.contains("| all, with the defaults | | 1 of 1 | 0 of 1 | 1 of 1 | 0 of 1 |"), "{table}");
    }
}
