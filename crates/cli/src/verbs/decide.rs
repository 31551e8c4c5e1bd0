//! `tripwire decide`: events in, decisions out.

use crate::error::Problem;
use crate::exit::Exit;
use crate::policy::PolicyArgs;
use crate::print::decision::{self, DecisionSummary};
use crate::print::{self, Out};
use crate::workspace::places;
use clap::Args;
use std::borrow::Cow;
use std::fs::File;
use std::io::BufWriter;
use std::path::PathBuf;
use tripwire_core::chain::Chain;
use tripwire_core::counted::{agreeing, counted};
use tripwire_core::decision::{Decision, DecisionRecord};
use tripwire_core::explain::{ExitClass, Explain};
use tripwire_core::record::canonical;
use tripwire_core::record::parity::Parity;
use tripwire_session::body::event_text;
use tripwire_session::body::{self, EndBody, SessionBody};
use tripwire_session::formats::recording::Recorder;
use tripwire_session::formats::scenario::Header;
use tripwire_session::formats::stream::{Inputs, Item, StreamError};
use tripwire_workspace::Workspace;
use tripwire_workspace::policy_file;

/// Decide on a stream of events: one JSON object per line in, one decision per line out.
///
/// A line is an event with the fields `timestamp`, `tokenCount`, `toolCalls`, `latencyMs`, `outputLength`, …; or a
/// raw call with `timestamp`, `tool`, `args`, `output`, `error`, `exitCode`, from which the rest is computed; or a
/// full input `{"at":…,"what":…}`. On a terminal the decisions are printed as text, in a pipe as JSON.
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a flag; the parser keeps those apart that exclude each other"
)]
#[derive(Debug, Args)]
pub(crate) struct DecideArgs {
    /// The events; `-` reads standard input.
    #[arg(default_value = "-")]
    file: PathBuf,
    #[command(flatten)]
    chosen: PolicyArgs,
    /// Use the policy of this workspace: your own settings and its manifest.
    #[arg(long, value_name = "DIR", conflicts_with = "policy")]
    workspace: Option<PathBuf>,
    /// Write JSON even on a terminal.
    #[arg(long, conflicts_with = "text")]
    json: bool,
    /// Print text even in a pipe.
    #[arg(long)]
    text: bool,
    /// Report and skip bad lines instead of stopping at the first.
    #[arg(long)]
    lenient: bool,
    /// Write inputs and decisions to this file, for `tripwire replay`.
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
    /// The session's id in the records.
    #[arg(long, value_name = "ID", default_value = "decide")]
    run_id: String,
    /// Compare with what the lines `expect` (a scenario) and exit with 9 if anything differs.
    #[arg(long)]
    check: bool,
}

impl DecideArgs {
    /// Compares a scenario with what its lines expect, under the policy of a workspace.
    pub(crate) const fn checking(file: PathBuf, workspace: PathBuf) -> Self {
        Self {
            file,
            chosen: PolicyArgs::of_profile(None),
            workspace: Some(workspace),
            json: false,
            text: false,
            lenient: false,
            record: None,
            run_id: String::new(),
            check: true,
        }
    }
}

/// How decisions are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum DecisionsAs {
    Json,
    Words,
    /// Only what differs from a scenario's expectations.
    Nothing,
}

/// Runs the verb.
pub(crate) fn run(args: &DecideArgs) -> Result<Exit, Problem> {
    run_to(args, Out::lock())
}

/// The same for a caller that keeps what is said.
pub(crate) fn run_to(args: &DecideArgs, out: Out) -> Result<Exit, Problem> {
    let name = print::name(&args.file);
    let wrong = |error| Problem::in_file(name.clone(), BadLineError(error));
    let mut inputs = Inputs::new(print::open(&args.file)?);
    let header = match inputs.header() {
        Err(error) if args.lenient && !error.is_final() => {
            print::say(&format!("skipped: {name}: {error}"));
            None
        }
        other => other.map_err(wrong)?,
    };
    let base = match &args.workspace {
        Some(folder) => policy_file::load_for(Workspace::locate(folder, &places())?.layout())?.policy,
        None => args.chosen.loaded()?.policy,
    };
    let policy = args.chosen.over(base, header.as_deref().map(|header| (header, name.as_str())))?;
    let mut session = Session::new(args, Chain::new(policy)?, out)?;
    session.begin(header.as_deref())?;
    loop {
        match inputs.next_input() {
            Ok(Some(item)) => session.take(&item)?,
            Ok(None) => break,
            Err(error) if args.lenient && !error.is_final() => {
                session.out.flush()?;
                print::say(&format!("skipped: {name}: {error}"));
            }
            Err(error) => {
                session.out.flush()?;
                return Err(wrong(error));
            }
        }
    }
    session.finish()
}

/// A bad line, with the advice that only this verb can give: `--lenient` passes over it.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct BadLineError(StreamError);

impl Explain for BadLineError {
    fn hint(&self) -> Cow<'_, str> {
        let hint = self.0.hint();
        if self.0.is_final() { hint } else { format!("{hint}; `--lenient` passes over bad lines").into() }
    }

    fn exit_class(&self) -> ExitClass {
        self.0.exit_class()
    }
}

/// A run of the engine over a stream.
struct Session<'a> {
    args: &'a DecideArgs,
    chain: Chain,
    out: Out,
    form: DecisionsAs,
    recorder: Option<Recorder<BufWriter<File>>>,
    parity: Parity,
    text: String,
    recorded: u64,
    checked: u64,
    mismatches: u64,
    summary: DecisionSummary,
}

impl<'a> Session<'a> {
    fn new(args: &'a DecideArgs, chain: Chain, out: Out) -> Result<Self, Problem> {
        let form = match (args.check, args.json, args.text) {
            (_, true, _) => DecisionsAs::Json,
            (_, false, true) => DecisionsAs::Words,
            (true, false, false) => DecisionsAs::Nothing,
            (false, false, false) if print::is_terminal() => DecisionsAs::Words,
            (false, false, false) => DecisionsAs::Json,
        };
        let recorder = match &args.record {
            None => None,
            Some(file) => {
                // A recording is evidence, and `--record` may name the input itself by mistake: nothing is overwritten.
                if file.is_file() {
                    return Err(Problem::Exists { file: file.clone() });
                }
                let created = File::create(file).map_err(|error| Problem::open(file, error))?;
                let mut recorder = Recorder::new(BufWriter::new(created));
                let head = SessionBody::new(&args.run_id, chain.policy())?.text()?;
                recorder.add(&head).map_err(|error| Problem::in_file(print::name(file), error))?;
                Some(recorder)
            }
        };
        let (parity, text) = (Parity::new(), String::new());
        Ok(Self {
            args,
            chain,
            out,
            form,
            recorder,
            parity,
            text,
            recorded: 0,
            checked: 0,
            mismatches: 0,
            summary: DecisionSummary::default(),
        })
    }

    /// Says what is to be seen.
    fn begin(&mut self, header: Option<&Header>) -> Result<(), Problem> {
        if self.form == DecisionsAs::Words {
            if let Some(header) = header {
                for line in print::wrap(&header.title, "", "") {
                    self.out.line(&line)?;
                }
                self.out.line("")?;
            }
            self.out.line(decision::HEAD)?;
        }
        Ok(())
    }

    fn take(&mut self, item: &Item) -> Result<(), Problem> {
        let step = self.chain.step(&item.input);
        let decision = &step.decision;
        self.keep(item, decision)?;
        match self.form {
            DecisionsAs::Json => {
                self.text.clear();
                canonical::write(&DecisionRecord::new(&self.args.run_id, decision), &mut self.text)?;
                self.out.line(&self.text)?;
            }
            DecisionsAs::Words => {
                self.summary.add(decision);
                for line in decision::decision(&item.input, decision) {
                    self.out.line(&line)?;
                }
            }
            DecisionsAs::Nothing => {}
        }
        if let Some(expect) = item.expect.as_ref().filter(|_| self.args.check) {
            self.checked += 1;
            for mismatch in expect.check(decision) {
                self.mismatches += 1;
                let line = item.line;
                self.tell(&format!("{}:{line}: decision {}: {mismatch}", self.args.file.display(), decision.i))?;
            }
        }
        Ok(())
    }

    /// Tells a result of the check: beside JSON it is talk, else it is what was asked for.
    fn tell(&mut self, text: &str) -> Result<(), Problem> {
        match self.form {
            DecisionsAs::Json => {
                print::say(text);
                Ok(())
            }
            DecisionsAs::Words | DecisionsAs::Nothing => self.out.line(text),
        }
    }

    /// Records and hashes, where that is asked for.
    fn keep(&mut self, item: &Item, decision: &Decision) -> Result<(), Problem> {
        let file = self.args.record.clone().unwrap_or_default();
        if let Some(recorder) = &mut self.recorder {
            let wrong = |error| Problem::in_file(print::name(&file), error);
            self.text.clear();
            body::write_input(&item.input, &mut self.text)?;
            recorder.add(&self.text).map_err(wrong)?;
            self.text.clear();
            body::write_decision(&self.args.run_id, decision, &mut self.text)?;
            recorder.add(&self.text).map_err(wrong)?;
            self.recorded += 1;
        }
        if self.form == DecisionsAs::Words {
            self.parity.push_event(&event_text(&item.input)?);
            self.text.clear();
            decision.parity_text(&mut self.text)?;
            self.parity.push_decision(&self.text);
        }
        Ok(())
    }

    fn finish(mut self) -> Result<Exit, Problem> {
        if self.form == DecisionsAs::Words {
            let digests = std::mem::take(&mut self.parity).finish();
            let (events, decisions) = (digests.events, digests.decisions);
            self.out.line(&self.summary.line())?;
            let line = crate::parity::parity_line(&events, &decisions);
            self.out.line(&line)?;
        }
        if self.args.check {
            let (name, checked, mismatches) = (print::name(&self.args.file), self.checked, self.mismatches);
            self.tell(&match (checked, mismatches) {
                (0, _) => format!("{name}: no line expects anything"),
                (_, 0) => {
                    let are = agreeing(checked, "is", "are");
                    format!("{name}: {} {are} as expected", counted(checked, "decision"))
                }
                (_, _) => {
                    let are = agreeing(mismatches, "is", "are");
                    format!("{name}: {} {are} not met", counted(mismatches, "expectation"))
                }
            })?;
        }
        self.out.flush()?;
        if let (Some(mut recorder), Some(file)) = (self.recorder, &self.args.record) {
            let end = EndBody { inputs: self.recorded }.text()?;
            let done = recorder.add(&end).and_then(|()| recorder.finish());
            done.map_err(|error| Problem::in_file(print::name(file), error))?;
        }
        // A check that compares nothing proves nothing.
        let unproved = self.args.check && self.checked == 0;
        Ok(if self.mismatches > 0 || unproved { Exit::DoesNotHold } else { Exit::Done })
    }
}
