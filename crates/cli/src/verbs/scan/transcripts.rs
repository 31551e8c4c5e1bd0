//! `tripwire scan` without `--traces`: the transcripts of the clients on this machine, and what the policy would have saved.

use crate::error::Problem;
use crate::exit::Exit;
use crate::print::{self, Form, Out};
use crate::workspace;
use serde_json::{Value, json};
use std::path::Path;
use tripwire_clients::past::{Judged, PastSession, Skipped};
use tripwire_clients::{Client, transcript_files};
use tripwire_core::counted::{agreeing, counted};
use tripwire_core::decision::Level;
use tripwire_core::policy::Policy;
use tripwire_core::prices::PriceBasis;
use tripwire_core::units::Price;

/// Skipped files that are named; the others are counted.
const SKIPPED_NAMED_MAX: usize = 5;

/// Judges the transcripts of these clients; of all, if none is named.
pub(crate) fn run(clients: &[Client], policy: &Policy, form: Form) -> Result<Exit, Problem> {
    let mut places = transcript_files::places(&workspace::homes());
    if places.is_empty() {
        return Err(Problem::NoHome);
    }
    places.retain(|place| clients.is_empty() || clients.contains(&place.client));
    let mut output = ScanOutput { form, out: Out::lock(), sum: Sum::default(), skipped: Vec::new() };
    for place in &places {
        let files = place.files();
        if files.is_cut {
            print::say(&format!("note: `{}` holds more than is looked at", place.folder.display()));
        }
        for file in &files.paths {
            let judged = PastSession::read(place.client, file).and_then(|past| Ok((past.judge(policy)?, past)));
            match judged {
                Ok((judged, past)) => output.run(&past, &judged)?,
                Err(why) => output.skip(file, &why)?,
            }
        }
    }
    if output.sum.runs == 0 && output.skipped.is_empty() {
        print::say("no transcripts are here; looked in:");
        places.iter().for_each(|place| print::say(&format!("  {:<7} {}", place.client.name(), place.folder.display())));
    }
    output.end()?;
    Ok(Exit::Done)
}

/// What is printed, run by run.
struct ScanOutput {
    form: Form,
    out: Out,
    sum: Sum,
    skipped: Vec<String>,
}

/// Sums over all transcripts.
#[derive(Debug, Default)]
struct Sum {
    runs: u64,
    noted: u64,
    overridden: u64,
    held: u64,
    stopped: u64,
    rows: u64,
    /// Runs with a model that is not in the price table.
    unknown_models: u64,
    spent: Price,
    saved: Price,
    since_first_repeat: Price,
}

impl ScanOutput {
    fn run(&mut self, past: &PastSession, judged: &Judged) -> Result<(), Problem> {
        self.sum.add(past, judged);
        if self.form.json {
            return self.out.line(&line(past, judged).to_string());
        }
        let scanned = &judged.scanned;
        let (Some(kind), Some(rule)) = (scanned.kind.filter(|kind| *kind > Level::Note), &scanned.rule) else {
            return Ok(());
        };
        let (word, at) = match kind {
            Level::Note => ("noted", scanned.levels.note),
            Level::Override => ("told", scanned.levels.overridden),
            Level::Hold => ("held", scanned.levels.hold),
            Level::Stop => ("stopped", scanned.levels.stop),
        };
        if self.sum.rows == 0 {
            self.out.line(&row(["client", "would be", "at call", "of", "spent", "saved", "rule", "session"]))?;
        }
        self.sum.rows += 1;
        self.out.line(&row([
            past.client.name(),
            word,
            &(at.unwrap_or_default() + 1).to_string(),
            &past.calls().to_string(),
            &dollars(past.spent),
            &dollars(judged.saved),
            rule,
            &print::harmless(&past.session),
        ]))?;
        match &judged.call {
            Some(call) => self.out.line(&format!("        {}", print::harmless(call))),
            None => Ok(()),
        }
    }

    fn skip(&mut self, file: &Path, why: &Skipped) -> Result<(), Problem> {
        if self.form.json {
            self.out.line(&json!({"file": file, "skipped": why.to_string()}).to_string())?;
        }
        self.skipped.push(format!("`{}`: {why}", file.display()));
        Ok(())
    }

    fn end(mut self) -> Result<(), Problem> {
        if self.form.json {
            self.out.line(&json!({ "summary": self.sum.json(self.skipped.len()) }).to_string())?;
            return self.out.flush();
        }
        for line in self.sum.lines() {
            self.out.line(&line)?;
        }
        self.out.flush()?;
        for skipped in self.skipped.iter().take(SKIPPED_NAMED_MAX) {
            print::say(&format!("skipped {skipped}"));
        }
        if self.skipped.len() > SKIPPED_NAMED_MAX {
            print::say(&format!("skipped {} in all; `--json` names each", counted(self.skipped.len(), "file")));
        }
        Ok(())
    }
}

impl Sum {
    fn add(&mut self, past: &PastSession, judged: &Judged) {
        let levels = &judged.scanned.levels;
        self.runs += 1;
        self.noted += u64::from(levels.note.is_some());
        self.overridden += u64::from(levels.overridden.is_some());
        self.held += u64::from(levels.hold.is_some());
        self.stopped += u64::from(levels.stop.is_some());
        self.unknown_models += u64::from(past.basis == PriceBasis::HighestKnown);
        self.spent = self.spent.plus(past.spent);
        self.saved = self.saved.plus(judged.saved);
        self.since_first_repeat = self.since_first_repeat.plus(judged.since_first_repeat);
    }

    fn lines(&self) -> Vec<String> {
        let Self { runs, noted, overridden, held, stopped, .. } = self;
        let mut lines = vec![format!(
            "{}: {noted} noted, {overridden} overridden, {held} held, {stopped} stopped",
            counted(*runs, "transcript")
        )];
        if *runs == 0 {
            return lines;
        }
        lines.push(format!("spent: {}", spending(self.spent)));
        lines.push(format!(
            "would have been saved: {}, behind a hold or stop until a person spoke",
            spending(self.saved)
        ));
        lines.push(format!("spent since the first repeat of each alarm: {}", spending(self.since_first_repeat)));
        if self.unknown_models > 0 {
            lines.push(format!(
                "{} {} a model that is not in the price table: it is charged at the highest known price",
                counted(self.unknown_models, "transcript"),
                agreeing(self.unknown_models, "names", "name")
            ));
        }
        lines
    }

    fn json(&self, skipped: usize) -> Value {
        json!({
            "transcripts": self.runs, "skipped": skipped, "noted": self.noted, "overridden": self.overridden,
            "held": self.held, "stopped": self.stopped, "spent": amount(self.spent), "saved": amount(self.saved),
            "since_first_repeat": amount(self.since_first_repeat), "unknown_models": self.unknown_models,
        })
    }
}

/// One transcript as JSON.
fn line(past: &PastSession, judged: &Judged) -> Value {
    let scanned = &judged.scanned;
    json!({
        "client": past.client.name(), "session": past.session, "file": past.path, "calls": past.calls(),
        "broken_lines": past.broken_lines, "kind": scanned.kind, "rule": scanned.rule, "levels": scanned.levels, "call": judged.call,
        "spent": amount(past.spent), "saved": amount(judged.saved),
        "since_first_repeat": amount(judged.since_first_repeat),
        "price": match past.basis { PriceBasis::Listed => "known", PriceBasis::HighestKnown => "highest" },
    })
}

fn amount(price: Price) -> Value {
    json!({"tokens": price.tokens.get(), "micro_usd": price.micro_usd.get()})
}

/// Money as people write it, to the cent, rounded up: an estimate that is too low does not help.
fn dollars(price: Price) -> String {
    let cents = price.micro_usd.get().div_ceil(10_000);
    format!("${}.{:02}", cents / 100, cents % 100)
}

fn spending(price: Price) -> String {
    format!("{} in {}", dollars(price), counted(price.tokens.get(), "token"))
}

fn row([client, word, at, of, spent, saved, rule, session]: [&str; 8]) -> String {
    format!("{client:<7} {word:<8} {at:>7} {of:>6} {spent:>9} {saved:>9}  {rule:<24} {session}")
}
