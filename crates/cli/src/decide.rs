//! `tripwire decide`: events in, decisions out.

use crate::exit::Exit;
use crate::output::{self, Out};
use crate::policy::Chosen;
use crate::problem::Problem;
use clap::Args;
use std::fs::File;
use std::io::BufWriter;
use std::path::PathBuf;
use tripwire_core::chain::Chain;
use tripwire_core::decision::{Decision, DecisionRecord, Finding};
use tripwire_core::effect::Effect;
use tripwire_core::record::canonical;
use tripwire_core::record::parity::Parity;
use tripwire_host::body::{self, SessionBody};
use tripwire_host::recording::Recorder;
use tripwire_host::replay::event_text;
use tripwire_host::scenario::effect_name;
use tripwire_host::stream::{Inputs, Item};

/// Decide on a stream of events: one JSON object per line in, one decision per line out.
///
/// A line is an event with the fields `timestamp`, `tokenCount`, `toolCalls`, `latencyMs`, `outputLength`, …; or a raw
/// call with `timestamp`, `tool`, `args`, `output`, `error`, `exitCode`, from which the rest is computed; or a full
/// input `{"at":…,"what":…}`. On a terminal the decisions are told in words, in a pipe they are JSON.
#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line, and none decides anything")]
pub(crate) struct DecideArgs {
    /// The events; `-` reads standard input.
    #[arg(default_value = "-")]
    file: PathBuf,
    #[command(flatten)]
    chosen: Chosen,
    /// Write JSON also on a terminal.
    #[arg(long, conflicts_with = "text")]
    json: bool,
    /// Tell the decisions in words also in a pipe.
    #[arg(long)]
    text: bool,
    /// Report bad lines and pass over them instead of ending at the first.
    #[arg(long)]
    lenient: bool,
    /// Write inputs and decisions to this file, for `tripwire replay`.
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
    /// The session's id in the records.
    #[arg(long, value_name = "ID", default_value = "decide")]
    run_id: String,
    /// Compare with what the lines themselves `expect` (a scenario) and end with 9 if anything differs.
    #[arg(long)]
    check: bool,
}

/// How decisions are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    Json,
    Words,
    /// Only what differs from a scenario's expectations.
    Nothing,
}

/// Runs the verb.
pub(crate) fn run(args: &DecideArgs) -> Result<Exit, Problem> {
    let name = output::name(&args.file);
    let wrong = |error| Problem::Stream { file: name.clone(), error };
    let mut inputs = Inputs::new(output::open(&args.file)?);
    let header = match inputs.header() {
        Err(error) if args.lenient && !error.is_final() => {
            output::say(&format!("skipped: {name}: {error}"));
            None
        }
        other => other.map_err(wrong)?,
    };
    let policy = args.chosen.policy(header.as_ref())?;
    let mut session = Session::new(args, Chain::new(policy)?)?;
    loop {
        match inputs.next_input() {
            Ok(Some(item)) => session.take(&item)?,
            Ok(None) => break,
            Err(error) if args.lenient && !error.is_final() => {
                session.out.flush()?;
                output::say(&format!("skipped: {name}: {error}"));
            }
            Err(error) => {
                session.out.flush()?;
                return Err(wrong(error));
            }
        }
    }
    session.finish()
}

/// A run of the engine over a stream.
struct Session<'a> {
    args: &'a DecideArgs,
    chain: Chain,
    out: Out,
    form: Form,
    recorder: Option<Recorder<BufWriter<File>>>,
    parity: Parity,
    text: String,
    mismatches: u64,
    refused: u64,
}

impl<'a> Session<'a> {
    fn new(args: &'a DecideArgs, chain: Chain) -> Result<Self, Problem> {
        let form = match (args.check, args.json, args.text) {
            (_, true, _) => Form::Json,
            (_, false, true) => Form::Words,
            (true, false, false) => Form::Nothing,
            (false, false, false) if output::is_terminal() => Form::Words,
            (false, false, false) => Form::Json,
        };
        let recorder = match &args.record {
            None => None,
            Some(file) => {
                let created = File::create(file).map_err(|error| Problem::open(file, error))?;
                let mut recorder = Recorder::new(BufWriter::new(created));
                let head = SessionBody::new(&args.run_id, chain.policy())?.text()?;
                recorder.add(&head).map_err(|error| Problem::Record { file: file.clone(), error })?;
                Some(recorder)
            }
        };
        let (parity, text) = (Parity::new(), String::new());
        Ok(Self { args, chain, out: Out::lock(), form, recorder, parity, text, mismatches: 0, refused: 0 })
    }

    fn take(&mut self, item: &Item) -> Result<(), Problem> {
        let step = self.chain.step(&item.input);
        let decision = &step.decision;
        self.refused += u64::from(!decision.safety.allowed);
        self.keep(item, decision)?;
        match self.form {
            Form::Json => {
                self.text.clear();
                canonical::write(&DecisionRecord::new(&self.args.run_id, decision), &mut self.text)?;
                self.out.line(&self.text)?;
            }
            Form::Words => {
                for line in in_words(decision) {
                    self.out.line(&line)?;
                }
            }
            Form::Nothing => {}
        }
        if let Some(expect) = item.expect.as_ref().filter(|_| self.args.check) {
            for mismatch in expect.check(decision) {
                self.mismatches += 1;
                let line = item.line;
                self.out.line(&format!("{}:{line}: decision {}: {mismatch}", self.args.file.display(), decision.i))?;
            }
        }
        Ok(())
    }

    /// Records and hashes, where that is asked for.
    fn keep(&mut self, item: &Item, decision: &Decision) -> Result<(), Problem> {
        let file = self.args.record.clone().unwrap_or_default();
        if let Some(recorder) = &mut self.recorder {
            let wrong = |error| Problem::Record { file: file.clone(), error };
            self.text.clear();
            body::write_input(&item.input, &mut self.text)?;
            recorder.add(&self.text).map_err(wrong)?;
            self.text.clear();
            body::write_decision(&self.args.run_id, decision, &mut self.text)?;
            recorder.add(&self.text).map_err(wrong)?;
        }
        if self.form == Form::Words {
            self.parity.push_event(&event_text(&item.input)?);
            self.text.clear();
            decision.parity_text(&mut self.text)?;
            self.parity.push_decision(&self.text);
        }
        Ok(())
    }

    fn finish(mut self) -> Result<Exit, Problem> {
        if self.form == Form::Words {
            let digests = self.parity.finish();
            let (events, decisions) = (digests.events, digests.decisions);
            self.out.line(&format!("{} events, {} refused", events.count, self.refused))?;
            let line = crate::replay::parity_line(&events, &decisions);
            self.out.line(&line)?;
        }
        self.out.flush()?;
        if let (Some(recorder), Some(file)) = (self.recorder, &self.args.record) {
            recorder.finish().map_err(|error| Problem::Record { file: file.clone(), error })?;
        }
        Ok(if self.mismatches > 0 { Exit::DoesNotHold } else { Exit::Done })
    }
}

/// A decision for a person: one line, and one more for each finding and effect.
pub(crate) fn in_words(decision: &Decision) -> Vec<String> {
    let safety = &decision.safety;
    let answer = match (safety.allowed, safety.veto_reason) {
        (true, _) => "allowed".to_owned(),
        (false, Some(veto)) => {
            serde_json::to_value(veto).ok().and_then(|name| name.as_str().map(str::to_owned)).unwrap_or_default()
        }
        (false, None) => "refused".to_owned(),
    };
    let mode = serde_json::to_value(decision.activity.mode).ok().and_then(|name| name.as_str().map(str::to_owned));
    let head = format!("{:>5}  {:<8} {:<22} ", decision.i, mode.unwrap_or_default(), answer);
    let mut lines = vec![if safety.allowed {
        head.trim_end().to_owned()
    } else {
        format!("{head}{} [{}]", safety.reason, safety.rule.id())
    }];
    lines.extend(decision.findings.iter().map(finding_in_words));
    lines.extend(decision.effects.iter().map(effect_in_words));
    lines
}

fn finding_in_words(finding: &Finding) -> String {
    let level = match finding.level {
        tripwire_core::decision::Level::Note => "note",
        tripwire_core::decision::Level::Override => "override",
        tripwire_core::decision::Level::Hold => "hold",
        tripwire_core::decision::Level::Stop => "stop",
    };
    let mut line = format!("         {level}: {}", finding.reason);
    if !finding.signature.is_empty() {
        line.push_str(&format!(", {}", finding.signature));
    }
    if !finding.price.is_nothing() {
        line.push_str(&format!(", {} tokens since the first repeat", finding.price.tokens));
    }
    line.push_str(&format!(" [{}]", finding.rule.id()));
    line
}

fn effect_in_words(effect: &Effect) -> String {
    let told = match effect {
        Effect::Inject(told) => {
            format!("LOOP_OVERRIDE do_not_repeat={} seen={} to the agent", told.do_not_repeat, told.seen)
        }
        Effect::Prompt(text) => format!("to the agent: {text}"),
        Effect::Notify(text) => format!("to a person: {text}"),
        Effect::Hold(reason) => format!("hold: {}", reason.explain()),
        Effect::Stop(reason) => format!("stop: {}", reason.explain()),
        Effect::Kill
        | Effect::Compact
        | Effect::WarnContext
        | Effect::AskAdvisor(_)
        | Effect::SwitchEngine(_)
        | Effect::WriteReport(_)
        | Effect::EndIteration(_)
        | Effect::WakeAt(_) => effect_name(effect),
    };
    format!("         -> {told}")
}
