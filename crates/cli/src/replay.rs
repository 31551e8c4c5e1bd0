//! `tripwire replay`: the same events, the same decisions, or the first index that differs.

use crate::exit::Exit;
use crate::output::{self, Out};
use crate::policy::Chosen;
use crate::problem::Problem;
use clap::Args;
use std::io::{BufRead, Cursor, Read};
use std::path::PathBuf;
use tripwire_core::record::parity::CountedDigest;
use tripwire_host::policy_file;
use tripwire_host::recording::is_recording;
use tripwire_host::replay::{self, Change, Replayed, TwoRuns};
use tripwire_host::stream::Inputs;

/// Decide again and compare: `equal`, or the first index that differs (exit 9).
///
/// A recording (from `decide --record`) is compared with the decisions in it. A plain stream of events holds none:
/// it is decided live, and again with the state written down and taken up after every event. With `--policy` the
/// decisions that would change under another policy are listed.
#[derive(Debug, Args)]
pub(crate) struct ReplayArgs {
    /// A recording, or a stream of events; `-` reads standard input.
    file: PathBuf,
    /// List the decisions that this policy would change.
    #[arg(long, value_name = "FILE")]
    policy: Option<PathBuf>,
    /// The profile for a plain stream of events.
    #[arg(long, value_name = "NAME")]
    profile: Option<crate::policy::ProfileName>,
    /// Write JSON.
    #[arg(long)]
    json: bool,
}

/// Runs the verb.
pub(crate) fn run(args: &ReplayArgs) -> Result<Exit, Problem> {
    let mut reader = output::open(&args.file)?;
    let mut first = Vec::new();
    reader.by_ref().take(1 << 20).read_until(b'\n', &mut first).map_err(|error| Problem::open(&args.file, error))?;
    let recorded = is_recording(first.strip_suffix(b"\n").unwrap_or(&first));
    let whole = Cursor::new(first).chain(reader);
    let wrong = |error| Problem::Replay { file: output::name(&args.file), error };
    let mut out = Out::lock();
    if let Some(file) = &args.policy {
        let other = policy_file::load(file)?.policy;
        if !recorded {
            let usage = std::io::Error::other("`--policy` compares with a recording, and this is a stream of events");
            return Err(Problem::open(&args.file, usage));
        }
        let mut changes = Vec::new();
        let inputs = replay::under(whole, &other, |change| changes.push(in_words(change))).map_err(wrong)?;
        for change in &changes {
            out.line(change)?;
        }
        out.line(&format!("{inputs} inputs, {} decisions would change", changes.len()))?;
        out.flush()?;
        return Ok(Exit::Done);
    }
    let replayed = if recorded { replay::recording(whole).map_err(wrong)? } else { plain(args, whole)? };
    print(args, &replayed, &mut out)?;
    out.flush()?;
    Ok(if is_equal(&replayed) { Exit::Done } else { Exit::DoesNotHold })
}

fn plain(args: &ReplayArgs, reader: impl BufRead) -> Result<Replayed, Problem> {
    let name = output::name(&args.file);
    let mut inputs = Inputs::new(reader);
    let bad = |error| Problem::Stream { file: name.clone(), error };
    let header = inputs.header().map_err(bad)?;
    let policy = Chosen::of_profile(args.profile).policy(header.as_ref())?;
    let wrong = |error| Problem::Replay { file: name.clone(), error };
    let mut runs = TwoRuns::new(&policy).map_err(wrong)?;
    while let Some(item) = inputs.next_input().map_err(bad)? {
        runs.input(&item.input).map_err(wrong)?;
    }
    Ok(runs.finish())
}

fn is_equal(replayed: &Replayed) -> bool {
    replayed.recorded == replayed.recomputed && replayed.first_difference.is_none()
}

fn print(args: &ReplayArgs, replayed: &Replayed, out: &mut Out) -> Result<(), Problem> {
    let difference = replayed.first_difference.as_ref();
    if args.json {
        let line = serde_json::json!({
            "events": replayed.recomputed.events.count,
            "eventsSha256": replayed.recomputed.events.sha256.to_string(),
            "decisions": replayed.recomputed.decisions.count,
            "decisionsSha256": replayed.recomputed.decisions.sha256.to_string(),
            "equal": is_equal(replayed),
            "firstDifference": difference.map(|difference| difference.index),
        });
        return out.line(&line.to_string());
    }
    let line = parity_line(&replayed.recomputed.events, &replayed.recomputed.decisions);
    match difference {
        None if is_equal(replayed) => out.line(&format!("{line} · equal")),
        None => out.line(&format!("{line} · the recorded text of an event or decision is not canonical")),
        Some(difference) => {
            out.line(&format!("{line} · differs first at decision {}", difference.index))?;
            out.line(&format!("recorded:   {}", difference.recorded))?;
            out.line(&format!("recomputed: {}", difference.recomputed))
        }
    }
}

/// Both parity hashes in one line.
pub(crate) fn parity_line(events: &CountedDigest, decisions: &CountedDigest) -> String {
    format!(
        "events {} sha256 {} · decisions {} sha256 {}",
        events.count, events.sha256, decisions.count, decisions.sha256
    )
}

fn in_words(change: &Change) -> String {
    let tell = |decision: &tripwire_core::decision::Decision| {
        let safety = &decision.safety;
        format!("{} [{}]", if safety.allowed { "allowed" } else { safety.reason.as_ref() }, safety.rule.id())
    };
    format!("decision {}: {} -> {}", change.before.i, tell(&change.before), tell(&change.after))
}
