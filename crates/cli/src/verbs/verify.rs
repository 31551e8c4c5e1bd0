//! `tripwire verify`: the whole chain, its checkpoints and its signatures, or the first bad index.

use crate::error::Problem;
use crate::exit::Exit;
use crate::print::{self, Form, Out};
use crate::workspace::{self, Where};
use clap::Args;
use serde_json::json;
use std::path::{Path, PathBuf};
use tripwire_core::counted::{agreeing, counted};
use tripwire_core::explain::Explain as _;
use tripwire_fs::shell_word::shell_word;
use tripwire_journal::bundle::{self, BundleError};
use tripwire_journal::note::Verifier;
use tripwire_journal::storage::Disk;
use tripwire_journal::verify::{Report, Trust, verify};
use tripwire_journal::{JournalError, SessionPaths};
use tripwire_session::driver::log_view::{self, LogDifference};
use tripwire_session::driver::views;
use tripwire_session::ledger::LedgerBook;
use tripwire_workspace::geometry::layout::Layout;
use tripwire_workspace::session::SessionId;

/// Verify a session's journal or an exported bundle: every record, every checkpoint, every signature.
///
/// Exits with 9 and prints the first bad index if anything was changed, removed, reordered or truncated. Without a
/// target it also verifies the gateway's ledger, compares safety_log.json with the journals, and rebuilds it if
/// entries were removed, added or changed.
#[derive(Debug, Args)]
pub(crate) struct VerifyArgs {
    /// A session's id or a bundle's file; by default the newest session.
    target: Option<String>,
    /// Verify every session of the workspace.
    #[arg(long, conflicts_with = "target")]
    all: bool,
    /// The verifier key that the checkpoints must be signed with: its text, or a file that contains it.
    #[arg(long, value_name = "KEY")]
    key: Option<String>,
    #[command(flatten)]
    place: Where,
    #[command(flatten)]
    form: Form,
}

impl VerifyArgs {
    /// Every session of a workspace, with the key of this machine.
    pub(crate) fn of_all(place: &Where) -> Self {
        Self { target: None, all: true, key: None, place: place.clone(), form: Form { json: false } }
    }
}

/// What was verified, and with whose word.
struct Verified {
    report: Report,
    /// Whether a key of ours, or one that was named, vouches for the checkpoints.
    key: KeyFrom,
    /// What is wrong with the file around the journal.
    problem: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum KeyFrom {
    Named,
    ThisMachine,
    Bundle,
    Nowhere,
}

impl Verified {
    const fn holds(&self) -> bool {
        self.report.holds() && self.problem.is_none()
    }
}

/// Runs the verb.
pub(crate) fn run(args: &VerifyArgs) -> Result<Exit, Problem> {
    run_to(args, Out::lock())
}

/// The same for a caller that keeps what is said.
pub(crate) fn run_to(args: &VerifyArgs, mut out: Out) -> Result<Exit, Problem> {
    let named = args.key.as_deref().map(named_key).transpose()?;
    let target = args.target.as_deref();
    let (mut log, mut ledger) = (SafetyLogState::AsJournaled, None);
    let (verified, lost) = match target.map(Path::new).filter(|path| path.is_file()) {
        Some(file) => (vec![of_bundle(file, named.as_ref())?], Vec::new()),
        None => {
            let workspace = args.place.look()?;
            let lost = if target.is_none() { lost(workspace.layout()) } else { Vec::new() };
            if target.is_none() {
                log = look_at_log(workspace.layout())?;
                ledger = ledger_in_a_sentence(workspace.layout());
            }
            let others = !lost.is_empty() || ledger.is_some();
            let no_session = others && views::newest(workspace.layout())?.is_none();
            let left = if no_session { Vec::new() } else { of_sessions(args, workspace.layout(), named.as_ref())? };
            (left, lost)
        }
    };
    for verified in &verified {
        print(args, verified, &mut out)?;
    }
    for (session, note) in &lost {
        let problem = gone(note);
        out.line(&match args.form.json {
            true => json!({ "session": session, "holds": false, "problem": problem }).to_string(),
            false => format!("{session}: LOST: {problem}"),
        })?;
    }
    if let Some(ledger) = &ledger {
        out.prose(&match (args.form.json, ledger) {
            (true, Ok(_)) => json!({ "ledger": { "holds": true, "problem": null } }).to_string(),
            (true, Err(problem)) => json!({ "ledger": { "holds": false, "problem": problem } }).to_string(),
            (false, Ok(words)) => format!("ledger: {words}"),
            (false, Err(problem)) => format!("ledger: DAMAGED: {problem}"),
        })?;
    }
    let log_holds = match &log {
        SafetyLogState::AsJournaled => true,
        SafetyLogState::Behind(problem) | SafetyLogState::Changed(problem) => {
            let holds = matches!(log, SafetyLogState::Behind(_));
            let state = if holds { "was behind" } else { "CHANGED" };
            out.line(&match args.form.json {
                true => json!({ "safety_log": { "holds": holds, "problem": problem } }).to_string(),
                false => format!("safety_log.json: {state}: {problem}"),
            })?;
            holds
        }
    };
    out.flush()?;
    let ledger_holds = ledger.is_none_or(|ledger| ledger.is_ok());
    let holds = log_holds && ledger_holds && lost.is_empty() && verified.iter().all(Verified::holds);
    Ok(if holds { Exit::Done } else { Exit::DoesNotHold })
}

/// Whether the gateway's ledger verifies, in a sentence either way; nothing where the workspace has none.
pub(crate) fn ledger_in_a_sentence(layout: &Layout) -> Option<Result<String, String>> {
    match LedgerBook::verify(layout) {
        Ok(None) => None,
        Ok(Some(records)) => Some(Ok(format!("{} of model calls", verifying(records)))),
        Err(error) => Some(Err(format!("{error}; {}", error.hint()))),
    }
}

/// What the comparison of the safety log with the journals came to.
enum SafetyLogState {
    AsJournaled,
    /// Entries that a killed process had journaled and not logged yet were added.
    Behind(String),
    /// Somebody else wrote it.
    Changed(String),
}

/// Compares the safety log with the journals, and rewrites it where it differs.
fn look_at_log(layout: &Layout) -> Result<SafetyLogState, Problem> {
    let mut difference = log_view::compare(layout)?;
    if !difference.is_none() {
        // A session that is being written may be seen between its journal and the log: the second look decides.
        std::thread::sleep(SECOND_LOOK_AFTER);
        difference = log_view::compare(layout)?;
    }
    if difference.is_none() {
        return Ok(SafetyLogState::AsJournaled);
    }
    let LogDifference { missing, foreign, .. } = difference;
    let (were, is) = (agreeing(missing, "was", "were"), agreeing(foreign, "is", "are"));
    let found = format!(
        "{} that the journals hold {were} missing, {} {is} in no journal",
        counted(missing, "entry"),
        counted(foreign, "entry")
    );
    match log_view::rebuild(layout) {
        Ok(_) if difference.is_behind() => Ok(SafetyLogState::Behind(format!(
            "{} {were} journaled by a process that was killed before it logged {}; completed from the journals",
            counted(missing, "entry"),
            agreeing(missing, "it", "them"),
        ))),
        Ok(entries) => Ok(SafetyLogState::Changed(format!(
            "{found}; rebuilt from the journals with {}",
            counted(entries, "entry")
        ))),
        Err(error) => Ok(SafetyLogState::Changed(format!("{found}; it could not be rebuilt: {error}"))),
    }
}

/// How long a session that is being written is given before the second look.
const SECOND_LOOK_AFTER: std::time::Duration = std::time::Duration::from_millis(300);

/// The sessions that were here, by the word of this person's key, and are not any more.
fn lost(layout: &Layout) -> Vec<(String, PathBuf)> {
    workspace::key_home().map(|home| home.lost(layout.folder())).unwrap_or_default()
}

fn gone(note: &Path) -> String {
    let note = shell_word(note);
    format!("its journal is gone, though this person's key vouched for it; if you removed it yourself: `rm {note}`")
}

/// The first session that is lost, in a sentence.
pub(crate) fn first_lost(layout: &Layout) -> Option<String> {
    let lost = lost(layout);
    let (session, note) = lost.first()?;
    let are = agreeing(lost.len(), "is", "are");
    Some(format!("{} {are} lost; {session}: {}", counted(lost.len(), "session"), gone(note)))
}

fn of_sessions(args: &VerifyArgs, layout: &Layout, named: Option<&Verifier>) -> Result<Vec<Verified>, Problem> {
    let sessions = match (&args.target, args.all) {
        (Some(text), _) => vec![SessionId::parse(text)?],
        (None, true) => views::sessions(layout)?,
        (None, false) => views::newest(layout)?.into_iter().collect(),
    };
    if sessions.is_empty() {
        return Err(Problem::NoSession { folder: layout.folder().to_owned() });
    }
    sessions.iter().map(|session| of_session(layout, session, named)).collect()
}

/// Whether the journal of a session verifies, in a sentence either way.
pub(crate) fn in_a_sentence(layout: &Layout, session: &SessionId) -> Result<String, String> {
    let verified = of_session(layout, session, None).map_err(|problem| problem.to_string())?;
    let Report { records, first_bad_index, .. } = &verified.report;
    match first_bad_index {
        Some(index) => Err(format!("{session} is damaged at record {index}")),
        None => Ok(format!("{session}: {}; {}", verifying(*records), signatures(&verified.report, verified.key))),
    }
}

fn of_session(layout: &Layout, session: &SessionId, named: Option<&Verifier>) -> Result<Verified, Problem> {
    let paths = SessionPaths::new(layout.folder(), session);
    if !paths.dir().is_dir() {
        return Err(JournalError::NoSession(session.to_string()).into());
    }
    let home = workspace::key_home();
    let own = home.as_ref().map(|home| home.verifier()).transpose()?.flatten();
    let key = match (named, &own) {
        (Some(_), _) => KeyFrom::Named,
        (None, Some(_)) => KeyFrom::ThisMachine,
        (None, None) => KeyFrom::Nowhere,
    };
    let witness = home.map(|home| home.witness(&paths));
    let report = verify(&Disk, &paths, &Trust { verifier: named.cloned().or(own), witness })?;
    let problem = named.and_then(|_| not_signed_by(&report, key));
    Ok(Verified { report, key, problem })
}

/// That no checkpoint is signed by the key that was to sign them, where other keys did: nothing then vouches for the records.
fn not_signed_by(report: &Report, key: KeyFrom) -> Option<String> {
    let by_others = report.holds() && report.checkpoints > 0 && report.checkpoints_trusted == 0;
    (by_others && key != KeyFrom::Nowhere).then(|| format!("none of its checkpoints is signed by {}", key_name(key)))
}

fn of_bundle(file: &Path, named: Option<&Verifier>) -> Result<Verified, Problem> {
    let unpacked = bundle::unpack(print::open(file)?)?;
    let own = workspace::key_home().map(|home| home.verifier()).transpose()?.flatten();
    let key = match (named, &unpacked.key) {
        (Some(_), _) => KeyFrom::Named,
        (None, Some(key)) if own.as_ref() == Some(key) => KeyFrom::ThisMachine,
        (None, Some(_)) => KeyFrom::Bundle,
        (None, None) => KeyFrom::Nowhere,
    };
    let trust = Trust { verifier: named.or(unpacked.key.as_ref()).cloned(), witness: None };
    let report = verify(&Disk, &unpacked.paths(), &trust)?;
    let short = report.holds() && report.records < unpacked.records();
    let missing = short.then(|| format!("{} exported", counted(unpacked.records(), "record")));
    // No copy of the last checkpoint lies outside of a bundle, so one of the key itself must be in it.
    let problem = unpacked.problem.clone().or(missing).or_else(|| not_signed_by(&report, key));
    Ok(Verified { report, key, problem })
}

/// How many records verify, in a few words.
fn verifying(records: u64) -> String {
    format!("{} {}", counted(records, "record"), agreeing(records, "verifies", "verify"))
}

/// A verifier key as text, or the file that holds one.
fn named_key(text: &str) -> Result<Verifier, Problem> {
    let read = std::fs::read_to_string(text).unwrap_or_else(|_no_file| text.to_owned());
    let wrong = || BundleError::NoBundle { problem: format!("`{text}` is not a verifier key") };
    Ok(Verifier::parse(&read).ok_or_else(wrong)?)
}

fn print(args: &VerifyArgs, verified: &Verified, out: &mut Out) -> Result<(), Problem> {
    let Verified { report, key, problem } = verified;
    if args.form.json {
        let mut line = json!(report);
        if let Some(fields) = line.as_object_mut() {
            fields.insert("holds".to_owned(), verified.holds().into());
            fields.insert("key".to_owned(), key_name(*key).into());
            fields.insert("problem".to_owned(), json!(problem));
        }
        return out.line(&line.to_string());
    }
    let Report { session, records, last_hash, .. } = report;
    match (report.first_bad_index, problem) {
        (Some(index), _) => {
            let cause = report.cause.as_deref().unwrap_or("it does not verify");
            let count = counted(*records, "record");
            let rest = if index < *records {
                format!("the chain of its {count} is intact by itself")
            } else {
                format!("the {count} before {}", agreeing(*records, "verifies", "verify"))
            };
            out.prose(&format!("{session}: DAMAGED at record {index}: {cause}; {rest}"))?;
        }
        (None, Some(problem)) => out.prose(&format!("{session}: {}, but {problem}", verifying(*records)))?,
        (None, None) => out.prose(&format!("{session}: {}, the last is {last_hash}", verifying(*records)))?,
    }
    if report.torn_bytes > 0 {
        let torn = counted(report.torn_bytes, "byte");
        out.prose(&format!("  {torn} of an unfinished write at the end; the next step cuts them"))?;
    }
    out.prose(&format!("  {}", signatures(report, *key)))?;
    let unknown: Vec<&str> = report.unknown_keys.iter().map(String::as_str).collect();
    if unknown.is_empty() || *key == KeyFrom::Nowhere {
        return Ok(());
    }
    out.prose(&format!(
        "  also signed by {} that {} not known here: {}; the records agree, but only {} counts",
        counted(unknown.len(), "key"),
        agreeing(unknown.len(), "is", "are"),
        unknown.join(", "),
        key_name(*key)
    ))
}

fn signatures(report: &Report, key: KeyFrom) -> String {
    let Report { checkpoints, checkpoints_trusted, covered, .. } = report;
    match (key, checkpoints) {
        (_, 0) => "no checkpoint is signed: a rewritten journal would not be found".to_owned(),
        (KeyFrom::Named | KeyFrom::ThisMachine | KeyFrom::Bundle, _) if *checkpoints_trusted == 0 => {
            format!("no checkpoint is signed by {}", key_name(key))
        }
        (KeyFrom::Nowhere, _) => {
            format!("{checkpoints} checkpoints agree up to record {covered}; no key is known here")
        }
        (KeyFrom::Bundle, _) => format!(
            "{checkpoints_trusted} checkpoints signed up to record {covered}, by the key in the bundle itself; \
             name the one you trust with `--key`"
        ),
        (KeyFrom::Named | KeyFrom::ThisMachine, _) => {
            format!("{checkpoints_trusted} checkpoints signed up to record {covered}, by {}", key_name(key))
        }
    }
}

const fn key_name(key: KeyFrom) -> &'static str {
    match key {
        KeyFrom::Named => "the key that was named",
        KeyFrom::ThisMachine => "the key of this machine",
        KeyFrom::Bundle => "the key in the bundle",
        KeyFrom::Nowhere => "no key",
    }
}
