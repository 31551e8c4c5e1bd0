//! `tripwire not-a-loop`: a false alarm becomes a scenario that is checked for ever.

use crate::error::Problem;
use crate::exit::Exit;
use crate::history::{Pair, Pairs};
use crate::print::Out;
use crate::workspace::Which;
use clap::Args;
use serde_json::json;
use std::borrow::Cow;
use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::PathBuf;
use tripwire_core::counted::counted;
use tripwire_core::decision::Level;
use tripwire_core::explain::Explain;
use tripwire_core::policy::Policy;
use tripwire_fs::shell_word::shell_word;
use tripwire_session::driver::{Driver, open_existing};
use tripwire_workspace::policy_file;

/// Save a false alarm as a scenario: everything up to the decision, with the expectation that no alarm fires there.
///
/// It prints a `tripwire decide --check` command. That check fails until the alarm is silenced (`tripwire tune`) or a
/// rule is changed; afterwards it guards against regressions.
#[derive(Debug, Args)]
pub(crate) struct NotALoopArgs {
    /// The number `i` of the decision that was wrong.
    decision: u64,
    #[command(flatten)]
    which: Which,
    /// Where to write the scenario; by default into `.geometry/scenarios/`.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Write JSON.
    #[arg(long)]
    json: bool,
}

#[derive(Debug, thiserror::Error)]
#[error("decision {decision} raised no alarm that the agent noticed")]
struct NoAlarmError {
    decision: u64,
    /// The options that name the session.
    options: String,
}

impl Explain for NoAlarmError {
    fn hint(&self) -> Cow<'_, str> {
        format!("find the alarms with `tripwire log --level override{}`", self.options).into()
    }
}

/// Runs the verb.
pub(crate) fn run(args: &NotALoopArgs) -> Result<Exit, Problem> {
    let workspace = args.which.place.look()?;
    let session = args.which.find(workspace.layout())?;
    let driver = Driver::resume(workspace.layout(), &session)?;
    let mut lines = Vec::new();
    let mut wrong = None;
    let journal = open_existing(workspace.layout(), &session)?;
    let mut pairs = Pairs::new(&journal);
    while let Some(pair) = pairs.next_pair()? {
        lines.push(pair.input_text.clone());
        if pair.number == args.decision {
            wrong = Some(pair);
            break;
        }
    }
    let none = || Problem::NoDecision {
        asked: args.decision,
        session: session.to_string(),
        count: driver.view().inputs.get(),
    };
    let wrong = wrong.ok_or_else(none)?;
    let rule = alarm(&wrong).ok_or(NoAlarmError { decision: args.decision, options: args.which.options() })?;
    let file = args.out.clone().unwrap_or_else(|| {
        workspace.layout().folder().join("scenarios").join(format!("not-a-loop-{session}-{}.jsonl", args.decision))
    });
    // What a person tunes is left to the settings, so that changing them is what the check shows.
    let usual = policy_file::load_for(workspace.layout())?.policy;
    let text = scenario(&rule, driver.policy(), &usual, &lines, args.decision);
    write(&file, &text)?;
    let mut out = Out::lock();
    let shown = file.display().to_string();
    out.line(&match args.json {
        true => json!({"file": shown, "rule": rule, "inputs": lines.len()}).to_string(),
        false => {
            let inputs = counted(lines.len(), "input");
            let (place, word) = (shell_word(workspace.root()), shell_word(&file));
            format!(
                "saved {inputs} to `{shown}`; check it with `tripwire decide --check --workspace {place} {word}`: it fails until \
                 the alarm is tuned away, for instance by `tripwire tune {}{}`",
                args.decision,
                args.which.options()
            )
        }
    })?;
    out.flush()?;
    Ok(Exit::Done)
}

/// The rule behind the strictest alarm of a decision, if the agent noticed anything of it.
fn alarm(pair: &Pair) -> Option<String> {
    let findings = &pair.decision.as_ref()?.parts.findings;
    let strictest =
        findings.iter().filter(|finding| finding.level >= Level::Override).max_by_key(|finding| finding.level)?;
    Some(strictest.rule.clone())
}

/// The scenario: what the session froze otherwise than the usual policy, and its inputs.
fn scenario(rule: &str, policy: &Policy, usual: &Policy, inputs: &[String], decision: u64) -> String {
    let profile = Some(policy.profile).filter(|profile| *profile != usual.profile || *usual == Policy::default());
    let usual = usual.rows();
    let changed: serde_json::Map<String, serde_json::Value> = policy
        .rows()
        .into_iter()
        .filter(|row| !is_tuned(row.path))
        .filter(|row| usual.iter().any(|other| other.path == row.path && other.value != row.value))
        .map(|row| (row.path.to_owned(), row.value.into()))
        .collect();
    let mut header = json!({"scenario": {
        "title": format!("decision {decision} was a false alarm of {rule}"),
        "rule": rule, "must": "stayQuiet", "policy": changed,
    }});
    if let Some(profile) = profile {
        header["scenario"]["profile"] = tripwire_core::policy::Choice::name(profile).into();
    }
    let mut text = format!("{header}\n");
    for (number, input) in inputs.iter().enumerate() {
        let last = number + 1 == inputs.len();
        match input.strip_suffix('}').filter(|_| last) {
            Some(open) => text.push_str(&format!("{open},\"expect\":{{\"level\":\"none\"}}}}\n")),
            None => text.push_str(&format!("{input}\n")),
        }
    }
    text
}

/// Settings that a person changes to make an alarm go; all others are what a command asked for when the session began.
fn is_tuned(path: &str) -> bool {
    let section = path.split('.').next().unwrap_or(path);
    matches!(section, "profile" | "loops" | "safety" | "gate" | "activity" | "health" | "context")
}

/// Writes a new file; one that is there already stays.
fn write(file: &std::path::Path, text: &str) -> Result<(), Problem> {
    let wrong = |error| Problem::open(file, error);
    if let Some(folder) = file.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        std::fs::create_dir_all(folder).map_err(wrong)?;
    }
    let mut created = OpenOptions::new().write(true).create_new(true).open(file).map_err(wrong)?;
    created.write_all(text.as_bytes()).and_then(|()| created.sync_all()).map_err(wrong)
}
