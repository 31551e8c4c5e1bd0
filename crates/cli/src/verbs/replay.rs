//! `tripwire replay`: the same events, the same decisions, or the first index that differs.

use crate::error::Problem;
use crate::exit::Exit;
use crate::parity::{self, parity_line};
use crate::policy::PolicyArgs;
use crate::print::decision;
use crate::print::{self, Out};
use clap::Args;
use std::borrow::Cow;
use std::io::{BufRead, Cursor, Read};
use std::path::{Path, PathBuf};
use tripwire_core::counted::counted;
use tripwire_core::decision::Decision;
use tripwire_core::explain::Explain;
use tripwire_core::input::Input;
use tripwire_core::limits::RULES_VERSION;
use tripwire_core::policy::Policy;
use tripwire_fs::bounded;
use tripwire_journal::bundle;
use tripwire_journal::storage::Disk;
use tripwire_journal::{Journal, Options};
use tripwire_session::driver::{open_existing, views};
use tripwire_session::formats::recording::is_recording;
use tripwire_session::formats::stream::Inputs;
use tripwire_session::replay::{self, DecisionChange, ReplayError, Replayed, TwoPolicies, TwoRuns};
use tripwire_session::transcript::Compared;
use tripwire_workspace::geometry::replay_file::{self, Replay};
use tripwire_workspace::policy_file;
use tripwire_workspace::session::SessionId;

/// Replay a session and compare its decisions: `equal`, or the first index that differs (exit 9).
///
/// A session, a bundle (from `export`) or a recording (from `decide --record`) is compared with the decisions
/// recorded in it. A plain stream of events contains none: it is decided twice, once directly and once with the state
/// saved and restored after every event. For a session of `tripwire agent` the loop runs again, without model and
/// tools, and the transcript is compared byte for byte. With `--policy` the decisions that would change under another
/// policy are listed.
#[derive(Debug, Args)]
pub(crate) struct ReplayArgs {
    /// A session's id, or a file: a bundle, a frozen replay (`.geometry/replays/`), a recording or a stream of events; `-`
    /// reads standard input. By default the newest session.
    #[arg(value_name = "SESSION|FILE")]
    file: Option<PathBuf>,
    #[command(flatten)]
    place: crate::workspace::Where,
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

/// What is decided again.
enum Target<'a> {
    Session(SessionId),
    File(&'a Path),
}

impl ReplayArgs {
    /// A file that exists is a file; anything else that reads as a session's id is one. Nothing named is the newest session.
    fn target(&self) -> Result<Target<'_>, Problem> {
        let Some(file) = &self.file else {
            let place = self.place.look()?;
            let newest = views::newest(place.layout())?;
            let none = || Problem::NoSession { folder: place.layout().folder().to_owned() };
            return Ok(Target::Session(newest.ok_or_else(none)?));
        };
        let session = file.to_str().filter(|_| !file.exists()).and_then(|text| SessionId::parse(text).ok());
        Ok(session.map_or(Target::File(file), Target::Session))
    }

    /// What it is called in a message.
    fn name(&self) -> String {
        self.file.as_deref().map_or_else(|| "the newest session".to_owned(), print::name)
    }
}

/// A stream without events proves nothing.
#[derive(Debug, thiserror::Error)]
#[error("{file}: holds no event")]
struct NoEventError {
    file: String,
}

impl Explain for NoEventError {
    fn hint(&self) -> Cow<'_, str> {
        "record one with `tripwire decide --record FILE`".into()
    }
}

/// What is read of the first line, to tell a bundle from a recording from a stream.
const FIRST_LINE_BYTES_MAX: u64 = 1 << 20;

/// Runs the verb.
pub(crate) fn run(args: &ReplayArgs) -> Result<Exit, Problem> {
    let other = args.policy.as_deref().map(policy_file::load).transpose()?.map(|loaded| loaded.policy);
    let file = match args.target()? {
        Target::Session(session) => {
            let place = args.place.look()?;
            let journal = open_existing(place.layout(), &session)?;
            let compared = parity::compare(&journal, place.layout(), &session)?;
            return of_journal(args, &journal, other.as_ref(), compared.as_ref());
        }
        Target::File(file) => file,
    };
    if let Some(frozen) = frozen(file)? {
        return parity(args, &replay::frozen(&frozen).map_err(|error| wrong(args, error))?, None);
    }
    let mut reader = print::open(file)?;
    let first = bounded::read_line(&mut reader, FIRST_LINE_BYTES_MAX).map_err(|error| Problem::input(file, error))?;
    let (is_bundle, recorded) = (bundle::is_bundle(&first), is_recording(first.strip_suffix(b"\n").unwrap_or(&first)));
    let whole = Cursor::new(first).chain(reader);
    if is_bundle {
        let unpacked = bundle::unpack(whole)?;
        if let Some(problem) = &unpacked.problem {
            print::say(&format!("warning: {}: {problem}; see `tripwire verify`", args.name()));
        }
        let journal = Journal::open_existing(Disk, unpacked.paths(), Options::default())?;
        let exit = of_journal(args, &journal, other.as_ref(), None)?;
        return Ok(if unpacked.problem.is_some() { Exit::DoesNotHold } else { exit });
    }
    match (other, recorded) {
        (Some(other), true) => {
            changes(args, |tell| replay::under(whole, &other, tell).map_err(|error| wrong(args, error)))
        }
        (Some(other), false) => {
            let (mut inputs, policy) = stream(args, whole)?;
            let mut runs = TwoPolicies::new(policy, other).map_err(|error| wrong(args, error))?;
            changes(args, |tell| {
                each(args, &mut inputs, |input| {
                    runs.input(input).iter().for_each(&mut *tell);
                    Ok(())
                })
            })
        }
        (None, true) => parity(args, &replay::recording(whole).map_err(|error| wrong(args, error))?, None),
        (None, false) => parity(args, &twice(args, whole)?, None),
    }
}

/// A frozen replay, if the file is one: alone among the files it is one JSON object over many lines.
fn frozen(file: &Path) -> Result<Option<Replay>, Problem> {
    if !file.is_file() {
        return Ok(None);
    }
    let mut reader = print::open(file)?;
    let first = bounded::read_line(&mut reader, FIRST_LINE_BYTES_MAX).map_err(|error| Problem::input(file, error))?;
    if !first.starts_with(b"{\"session_id\":") {
        return Ok(None);
    }
    Ok(Some(replay_file::read(file)?))
}

fn of_journal(
    args: &ReplayArgs,
    journal: &Journal<Disk>,
    other: Option<&Policy>,
    transcript: Option<&Compared>,
) -> Result<Exit, Problem> {
    let wrong = |error| Problem::in_file(print::name(Path::new(journal.paths().session().as_str())), error);
    match other {
        Some(other) => changes(args, |tell| replay::session_under(journal, other, tell).map_err(wrong)),
        None => parity(args, &replay::session(journal).map_err(wrong)?, transcript),
    }
}

/// Prints the decisions that another policy would change, as they are found.
fn changes(
    args: &ReplayArgs,
    compare: impl FnOnce(&mut dyn FnMut(&DecisionChange)) -> Result<u64, Problem>,
) -> Result<Exit, Problem> {
    let mut changes = Changes { json: args.json, out: Out::lock(), count: 0, printed: Ok(()) };
    let inputs = compare(&mut |change| changes.tell(change))?;
    changes.finish(inputs)
}

fn parity(args: &ReplayArgs, replayed: &Replayed, transcript: Option<&Compared>) -> Result<Exit, Problem> {
    if replayed.recomputed.events.count == 0 {
        return Err(NoEventError { file: args.name() }.into());
    }
    let mut out = Out::lock();
    print(args, replayed, transcript, &mut out)?;
    out.flush()?;
    Ok(if replayed.is_equal() && transcript.is_none_or(parity::holds) { Exit::Done } else { Exit::DoesNotHold })
}

fn wrong(args: &ReplayArgs, error: ReplayError) -> Problem {
    Problem::in_file(args.name(), error)
}

/// A plain stream with the policy that it asks for.
fn stream<R: BufRead>(args: &ReplayArgs, reader: R) -> Result<(Inputs<R>, Policy), Problem> {
    let file = args.name();
    let mut inputs = Inputs::new(reader);
    let header = inputs.header().map_err(|error| Problem::in_file(file.clone(), error))?;
    let policy =
        PolicyArgs::of_profile(args.profile).policy(header.as_deref().map(|header| (header, file.as_str())))?;
    Ok((inputs, policy))
}

/// Goes through a plain stream and counts its inputs.
fn each<R: BufRead>(
    args: &ReplayArgs,
    inputs: &mut Inputs<R>,
    mut take: impl FnMut(&Input) -> Result<(), ReplayError>,
) -> Result<u64, Problem> {
    let mut count = 0;
    let bad = |error| Problem::in_file(args.name(), error);
    while let Some(item) = inputs.next_input().map_err(bad)? {
        take(&item.input).map_err(|error| wrong(args, error))?;
        count += 1;
    }
    Ok(count)
}

fn twice(args: &ReplayArgs, reader: impl BufRead) -> Result<Replayed, Problem> {
    let (mut inputs, policy) = stream(args, reader)?;
    let mut runs = TwoRuns::new(&policy).map_err(|error| wrong(args, error))?;
    each(args, &mut inputs, |input| runs.input(input))?;
    Ok(runs.finish())
}

/// The decisions that another policy would change, told as they are found.
struct Changes {
    json: bool,
    out: Out,
    count: u64,
    printed: Result<(), Problem>,
}

impl Changes {
    fn tell(&mut self, change: &DecisionChange) {
        self.count += 1;
        if self.printed.is_ok() {
            self.printed = self.out.line(&if self.json { as_json(change) } else { in_words(change) });
        }
    }

    fn finish(mut self, inputs: u64) -> Result<Exit, Problem> {
        self.printed?;
        let changed = self.count;
        self.out.line(&match self.json {
            true => serde_json::json!({"inputs": inputs, "changed": changed}).to_string(),
            false => format!("{}, {} would change", counted(inputs, "input"), counted(changed, "decision")),
        })?;
        self.out.flush()?;
        Ok(Exit::Done)
    }
}

fn print(args: &ReplayArgs, replayed: &Replayed, transcript: Option<&Compared>, out: &mut Out) -> Result<(), Problem> {
    let difference = replayed.first_difference.as_ref();
    if args.json {
        let line = serde_json::json!({
            "events": replayed.recomputed.events.count,
            "eventsSha256": replayed.recomputed.events.sha256.to_string(),
            "decisions": replayed.recomputed.decisions.count,
            "decisionsSha256": replayed.recomputed.decisions.sha256.to_string(),
            "equal": replayed.is_equal(),
            "rules": replayed.rules,
            "firstDifference": difference.map(|difference| difference.index),
            "transcript": transcript.map(parity::as_json),
        });
        return out.line(&line.to_string());
    }
    let line = parity_line(&replayed.recomputed.events, &replayed.recomputed.decisions);
    if let Some(transcript) = transcript {
        out.line(&parity::in_words(transcript))?;
    }
    match difference {
        None if replayed.is_equal() => out.line(&format!("{line} · equal")),
        None => out.line(&format!("{line} · the recorded text of an event or decision is not canonical")),
        Some(difference) => {
            out.line(&format!("{line} · differs first at decision {}", difference.index))?;
            out.line(&format!("recorded:   {}", difference.recorded))?;
            out.line(&format!("recomputed: {}", difference.recomputed))?;
            if replayed.has_older_rules() {
                out.line(&format!(
                    "The session began under rules of version {}, this tripwire decides by version {RULES_VERSION}: a difference alone \
                     does not mean that the record was changed. `tripwire verify` checks the record; the tripwire that wrote it \
                     replays it.",
                    replayed.rules
                ))?;
            }
            Ok(())
        }
    }
}

fn in_words(change: &DecisionChange) -> String {
    let tell = |decision: &Decision| {
        let safety = &decision.safety;
        let answer = if safety.allowed { "allowed" } else { safety.reason.as_ref() };
        let level = decision.level().map(|level| format!(", {}", decision::name(&level))).unwrap_or_default();
        format!("{answer}{level} [{}]", safety.rule.id())
    };
    format!("decision {}: {} -> {}", change.before.i, tell(&change.before), tell(&change.after))
}

fn as_json(change: &DecisionChange) -> String {
    let tell = |decision: &Decision| {
        serde_json::json!({
            "allowed": decision.safety.allowed, "vetoReason": decision.safety.veto_reason,
            "intent": decision.intent.intent, "level": decision.level(),
            "reason": decision.safety.reason, "rule": decision.safety.rule,
        })
    };
    serde_json::json!({"i": change.before.i, "before": tell(&change.before), "after": tell(&change.after)}).to_string()
}
