//! `tripwire log`: what happened in a session, filtered, and followed while it happens.

use crate::error::Problem;
use crate::exit::Exit;
use crate::history::{Pair, Pairs};
use crate::moment::moment;
use crate::print::{Form, Out};
use crate::snapshots;
use crate::verbs::web;
use crate::workspace::Which;
use clap::{Args, ValueEnum};
use serde_json::json;
use serde_json::value::RawValue;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};
use tripwire_console::filter::Filter;
use tripwire_console::summary;
use tripwire_core::input::What;
use tripwire_session::driver::{open_existing, words};
use tripwire_workspace::Workspace;
use tripwire_workspace::clock;

/// Show a session's journal: each input with its decision.
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
#[derive(Debug, Args)]
pub(crate) struct LogArgs {
    /// What to show, as on the page of `tripwire web`: `agent:claude tool:Bash verdict:held after:02:00`.
    ///
    /// Keys: `agent`, `tool`, `verdict` (`allowed`, `held`, `refused`), `rule`, `level`, `type`, `status` (`ok`,
    /// `error`), `after`, `before`, `i` (a number or `10..20`). All terms must match; `-` before a term negates it
    /// (put `--` before the filter then); other words are searched for in the text.
    #[arg(value_name = "FILTER")]
    filter: Vec<String>,
    /// Keep showing new records as they are journaled.
    #[arg(short, long)]
    follow: bool,
    /// Stop following after this many seconds.
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
    /// Show it on the local page of `tripwire web`.
    #[arg(long, conflicts_with_all = ["json", "follow"])]
    web: bool,
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

impl LogArgs {
    /// The filter: its text, and every flag as one more term of it.
    fn filter(&self) -> Result<Filter, Problem> {
        let now = clock::now();
        let mut filter = Filter::parse(&self.filter.join(" "), now)?;
        if let Some(since) = &self.since {
            // The flag has its own message, which names its own forms.
            moment(since, now)?;
        }
        let level = self.level.map(|level| format!("{level:?}").to_lowercase());
        let flags = [("after", &self.since), ("rule", &self.rule), ("level", &level), ("type", &self.kind)];
        for (key, value) in flags {
            if let Some(value) = value {
                filter = filter.and(key, value, now)?;
            }
        }
        Ok(filter)
    }
}

/// Runs the verb.
pub(crate) fn run(args: &LogArgs) -> Result<Exit, Problem> {
    let filter = args.filter()?;
    let workspace = args.which.place.look()?;
    let session = args.which.find(workspace.layout())?;
    if args.web {
        return web::show(&workspace, Some(&session), None);
    }
    let mut journal = open_existing(workspace.layout(), &session)?;
    let client = summary::client_of(workspace.layout(), &session).unwrap_or_default();
    let mut out = Out::lock();
    let begun = Instant::now();
    let mut at = (journal.beginning(), 0);
    let steps = UndoSteps::of(&workspace, session.as_str());
    loop {
        let mut pairs = Pairs::after(&journal, at.0, at.1);
        while let Some(pair) = pairs.next_pair()? {
            if filter.passes(&pair, &client) {
                match args.form.json {
                    true => out.line(&as_json(&pair)?)?,
                    false => in_words(&pair).iter().chain(&steps.words(&pair)).try_for_each(|line| out.prose(line))?,
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

/// Which steps changed files, and can be taken back.
struct UndoSteps(BTreeMap<u64, &'static str>);

impl UndoSteps {
    fn of(workspace: &Workspace, session: &str) -> Self {
        let history = snapshots::store(workspace).and_then(|store| Ok(store.history()?)).unwrap_or_default();
        let steps = history.steps().iter().filter(|step| step.session == session && step.changed_files());
        let words = |undone| if undone { "undone; `tripwire redo` reapplies it" } else { "changed files" };
        Self(steps.map(|step| (step.step, words(step.undone))).collect())
    }

    fn words(&self, pair: &Pair) -> Option<String> {
        let snapshot = if let What::Event(event) = &pair.input.what { event.snapshot.as_ref() } else { None };
        let none = snapshot.and_then(|snapshot| snapshot.as_str().strip_prefix("none: "));
        match (self.0.get(&pair.number), none) {
            (Some(words), _) => Some(format!("{:>28}{words} (step {})", "", pair.number)),
            (None, Some(why)) => Some(format!("{:>28}no snapshot after it: {why}", "")),
            (None, None) => None,
        }
    }
}

fn in_words(pair: &Pair) -> Vec<String> {
    let mut line = format!("{} {:>6}  {}", pair.wall, pair.number, words::in_short(&pair.input.what));
    let Some(decided) = &pair.decision else {
        line.push_str("  (a crash came before its decision)");
        return vec![line];
    };
    let mut lines = vec![line];
    let safety = &decided.parts.safety;
    if !safety.allowed {
        lines.push(format!("{:>28}refused: {} [{}]", "", safety.reason, safety.rule));
    }
    for finding in &decided.parts.findings {
        let level = format!("{:?}", finding.level).to_lowercase();
        lines.push(format!("{:>28}{level} {}: {} [{}]", "", finding.kind, finding.reason, finding.rule));
    }
    lines
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
