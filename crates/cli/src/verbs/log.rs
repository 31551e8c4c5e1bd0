//! `tripwire log`: what happened in a session, filtered, and followed while it happens.

use crate::error::Problem;
use crate::exit::Exit;
use crate::history::{Pair, Pairs};
use crate::moment::moment;
use crate::print::{Form, Out};
use crate::snapshots;
use crate::workspace::Which;
use clap::{Args, ValueEnum};
use serde_json::json;
use serde_json::value::RawValue;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};
use tripwire_core::decision::Level;
use tripwire_core::input::What;
use tripwire_core::rules::{Rule, entries, nearest};
use tripwire_session::driver::{open_existing, words};
use tripwire_workspace::Workspace;
use tripwire_workspace::clock;
use tripwire_workspace::geometry::wall_clock::WallClock;

/// Show what a session's journal holds: each input with its decision.
#[derive(Debug, Args)]
pub(crate) struct LogArgs {
    /// Go on showing what is journaled from now on.
    #[arg(short, long)]
    follow: bool,
    /// End a following after so many seconds.
    #[arg(long, value_name = "SECONDS", requires = "follow")]
    timeout: Option<u64>,
    /// Only what this rule decided or noticed; a family such as `LOOP-1` matches all its rules.
    #[arg(long, value_name = "RULE")]
    rule: Option<String>,
    /// Only what reached this level of the ladder.
    #[arg(long, value_name = "LEVEL")]
    level: Option<LevelName>,
    /// Only this type: a name of the safety log (`HARD_LOOP`), `refused`, or a kind of input (`event`, `human`, …).
    #[arg(long = "type", value_name = "TYPE")]
    kind: Option<String>,
    /// Only from this time on: `15m`, `2h`, `3d`, or `2026-02-28T15:30:00Z`.
    #[arg(long, value_name = "WHEN")]
    since: Option<String>,
    #[command(flatten)]
    which: Which,
    #[command(flatten)]
    form: Form,
}

/// The ladder by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum LevelName {
    Note,
    Override,
    Hold,
    Stop,
}

impl From<LevelName> for Level {
    fn from(name: LevelName) -> Self {
        match name {
            LevelName::Note => Self::Note,
            LevelName::Override => Self::Override,
            LevelName::Hold => Self::Hold,
            LevelName::Stop => Self::Stop,
        }
    }
}

/// Runs the verb.
pub(crate) fn run(args: &LogArgs) -> Result<Exit, Problem> {
    let since = args.since.as_deref().map(|text| moment(text, clock::now())).transpose()?;
    if let Some(wanted) = args.rule.as_deref().filter(|wanted| !is_known(wanted)) {
        return Err(Problem::NoRule { name: wanted.to_owned(), nearest: nearest(wanted).map(|entry| entry.id) });
    }
    let workspace = args.which.place.look()?;
    let session = args.which.find(workspace.layout())?;
    let mut journal = open_existing(workspace.layout(), &session)?;
    let mut out = Out::lock();
    let begun = Instant::now();
    let mut at = (journal.beginning(), 0);
    let steps = UndoSteps::of(&workspace, session.as_str());
    loop {
        let mut pairs = Pairs::after(&journal, at.0, at.1);
        while let Some(pair) = pairs.next_pair()? {
            if is_wanted(args, since, &pair) {
                match args.form.json {
                    true => out.line(&as_json(&pair)?)?,
                    false => out.prose(&format!("{}{}", in_words(&pair), steps.words(&pair)))?,
                }
            }
        }
        at = (pairs.place, pairs.number());
        out.flush()?;
        let over = args.timeout.is_some_and(|seconds| begun.elapsed() >= Duration::from_secs(seconds));
        if !args.follow || over {
            return Ok(Exit::Done);
        }
        std::thread::sleep(LOOK_EVERY);
        // Looking takes the session's lock for a moment and tells how far the journal reaches now.
        drop(journal.turn()?);
    }
}

/// Whether a pair passes every filter.
fn is_wanted(args: &LogArgs, since: Option<WallClock>, pair: &Pair) -> bool {
    let parts = pair.decision.as_ref().map(|decided| &decided.parts);
    let by_time = since.is_none_or(|since| pair.wall >= since);
    let by_rule = args.rule.as_deref().is_none_or(|wanted| {
        parts.is_some_and(|parts| {
            is_of(&parts.safety.rule, wanted) || parts.findings.iter().any(|finding| is_of(&finding.rule, wanted))
        })
    });
    let by_level = args.level.is_none_or(|wanted| {
        parts.is_some_and(|parts| parts.findings.iter().any(|finding| finding.level >= Level::from(wanted)))
    });
    let by_kind = args.kind.as_deref().is_none_or(|wanted| {
        let same = |name: &str| name.eq_ignore_ascii_case(wanted);
        kind_of_input(&pair.input_text).is_some_and(|kind| same(&kind))
            || parts.is_some_and(|parts| {
                parts.findings.iter().any(|finding| same(&finding.kind))
                    || parts.safety.veto_reason.as_deref().is_some_and(same)
                    || (!parts.safety.allowed && same("refused"))
            })
    });
    by_time && by_rule && by_level && by_kind
}

/// Whether a name is that of a rule or of a family: one that decides, or one that is only explained.
fn is_known(wanted: &str) -> bool {
    let mut names = entries().map(|entry| entry.id).chain(Rule::ALL.iter().map(|rule| rule.id()));
    names.any(|name| is_of(name, wanted))
}

/// Whether a rule is the one that was named, or of the family that was named.
fn is_of(rule: &str, wanted: &str) -> bool {
    rule.get(..wanted.len()).is_some_and(|start| start.eq_ignore_ascii_case(wanted))
        && matches!(rule.as_bytes().get(wanted.len()), None | Some(b'.' | b'-'))
}

/// The kind of an input as the journal names it.
fn kind_of_input(text: &str) -> Option<String> {
    let input: serde_json::Value = serde_json::from_str(text).ok()?;
    match input.get("what")? {
        serde_json::Value::String(name) => Some(name.clone()),
        serde_json::Value::Object(fields) => fields.keys().next().cloned(),
        serde_json::Value::Null
        | serde_json::Value::Bool(_)
        | serde_json::Value::Number(_)
        | serde_json::Value::Array(_) => None,
    }
}

/// Which steps changed files, and can be taken back.
struct UndoSteps(BTreeMap<u64, &'static str>);

impl UndoSteps {
    fn of(workspace: &Workspace, session: &str) -> Self {
        let history = snapshots::store(workspace).and_then(|store| Ok(store.history()?)).unwrap_or_default();
        let steps = history.steps().iter().filter(|step| step.session == session && step.changed_files());
        let words = |undone| if undone { "taken back; `tripwire redo` brings it back" } else { "changed files" };
        Self(steps.map(|step| (step.step, words(step.undone))).collect())
    }

    fn words(&self, pair: &Pair) -> String {
        let snapshot = if let What::Event(event) = &pair.input.what { event.snapshot.as_ref() } else { None };
        let none = snapshot.and_then(|snapshot| snapshot.as_str().strip_prefix("none: "));
        match (self.0.get(&pair.number), none) {
            (Some(words), _) => format!("\n{:>28}{words} (step {})", "", pair.number),
            (None, Some(why)) => format!("\n{:>28}no snapshot after it: {why}", ""),
            (None, None) => String::new(),
        }
    }
}

fn in_words(pair: &Pair) -> String {
    let mut line = format!("{} {:>6}  {}", pair.wall, pair.number, words::in_short(&pair.input.what));
    let Some(decided) = &pair.decision else {
        line.push_str("  (a crash came before its decision)");
        return line;
    };
    let safety = &decided.parts.safety;
    if !safety.allowed {
        line.push_str(&format!("\n{:>28}refused: {} [{}]", "", safety.reason, safety.rule));
    }
    for finding in &decided.parts.findings {
        let level = format!("{:?}", finding.level).to_lowercase();
        line.push_str(&format!("\n{:>28}{level} {}: {} [{}]", "", finding.kind, finding.reason, finding.rule));
    }
    line
}

fn as_json(pair: &Pair) -> Result<String, Problem> {
    let raw = |text: &str| RawValue::from_string(text.to_owned()).map_err(|error| Problem::Output(error.into()));
    let decision = pair.decision.as_ref().map(|decided| raw(&decided.text)).transpose()?;
    let line = json!({
        "i": pair.number, "record": pair.record, "wall": pair.wall.to_string(),
        "input": raw(&pair.input_text)?, "decision": decision,
    });
    Ok(line.to_string())
}

/// How often a followed journal is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(200);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_family_matches_its_rules_and_no_other() {
        assert!(is_of("LOOP-1.exact", "LOOP-1") && is_of("LOOP-1.exact", "loop-1.exact") && is_of("LOOP-1", "LOOP"));
        assert!(!is_of("LOOP-12", "LOOP-1") && !is_of("GATE-1", "LOOP-1") && !is_of("LOOP", "LOOP-1"));
    }
}
