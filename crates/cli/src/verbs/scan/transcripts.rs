//! `tripwire scan` without `--traces`: the transcripts of the clients on this machine, and what the policy would have saved.

use crate::error::Problem;
use crate::exit::Exit;
use crate::print::style::{self, Tone};
use crate::print::{self, Form, Out, terminal};
use crate::sessions::short_path;
use crate::verbs::scan::no_session::{Among, NoSuchSessionError};
use crate::verbs::scan::sums::{Sum, amount, dollars};
use crate::workspace;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use tripwire_clients::past::{Judged, PastSession, Skipped};
use tripwire_clients::{Client, transcript_files};
use tripwire_core::counted::counted;
use tripwire_core::decision::Level;
use tripwire_core::label::Fingerprint;
use tripwire_core::policy::Policy;
use tripwire_core::prices::PriceBasis;
use tripwire_core::units::Price;
use tripwire_core::visible::visible;
use tripwire_session::formats::traces::ScannedAlarm;
use tripwire_workspace::geometry::wall_clock::WallClock;

/// Skipped files that are named; the others are counted.
const SKIPPED_NAMED_MAX: usize = 5;

/// Which transcripts are looked at.
#[derive(Debug, Default)]
pub(super) struct Wanted {
    /// Of these clients; of all, if none is named.
    pub(super) clients: Vec<Client>,
    /// At work after this time, in milliseconds since 1970.
    pub(super) since_ms: Option<u64>,
    /// In this folder or below it.
    pub(super) project: Option<PathBuf>,
    /// The one whose id begins so.
    pub(super) session: Option<String>,
}

impl Wanted {
    fn has(&self, past: &PastSession) -> bool {
        let late = |since: u64| past.last_ms().is_some_and(|last| last >= since);
        let within = |project: &PathBuf| past.folder.as_ref().is_some_and(|folder| folder.starts_with(project));
        self.since_ms.is_none_or(late)
            && self.project.as_ref().is_none_or(within)
            && self.session.as_ref().is_none_or(|id| past.session.starts_with(id.as_str()))
    }
}

/// Judges the transcripts that are wanted.
pub(super) fn run(wanted: &Wanted, policy: &Policy, form: Form) -> Result<Exit, Problem> {
    let mut places = transcript_files::places(&workspace::homes());
    if places.is_empty() {
        return Err(Problem::NoHome);
    }
    places.retain(|place| wanted.clients.is_empty() || wanted.clients.contains(&place.client));
    let mut output = ScanOutput { form, wanted, out: Out::lock(), sum: Sum::default(), rows: 0, skipped: Vec::new() };
    let mut seen = SeenBefore::default();
    for place in &places {
        let files = place.files();
        if files.is_cut {
            print::say(&format!("note: `{}` holds more than is looked at", place.folder.display()));
        }
        for file in &files.paths {
            let past = match PastSession::read(place.client, file) {
                Ok(past) if !wanted.has(&past) => continue,
                Ok(past) => past,
                Err(why) => {
                    output.skip(file, &why)?;
                    continue;
                }
            };
            if seen.is_copy(&past) {
                output.sum.copies += 1;
                continue;
            }
            match past.judge(policy) {
                Ok(judged) => output.run(&past, &judged, seen.news(&past))?,
                Err(why) => output.skip(file, &why)?,
            }
        }
    }
    if let Some(asked) = wanted.session.as_ref().filter(|_| output.sum.runs == 0) {
        return Err(NoSuchSessionError { asked: asked.clone(), among: Among::Transcripts }.into());
    }
    // A folder that is gone may have transcripts; one that never was has none.
    if let Some(project) = wanted.project.as_deref().filter(|project| output.sum.runs == 0 && !project.exists()) {
        return Err(Problem::open(project, ErrorKind::NotFound.into()));
    }
    if output.sum.runs == 0 && output.skipped.is_empty() {
        print::say("no transcripts are here; looked in:");
        places.iter().for_each(|place| print::say(&format!("  {:<7} {}", place.client.name(), place.folder.display())));
    }
    output.end()?;
    Ok(Exit::Done)
}

/// What other transcripts held already: clients copy a session when it is resumed or forked, and people copy folders.
#[derive(Debug, Default)]
struct SeenBefore {
    transcripts: BTreeSet<(&'static str, Fingerprint)>,
    answers: BTreeSet<(&'static str, Fingerprint)>,
}

impl SeenBefore {
    /// Whether the same calls with the same results were in another file.
    fn is_copy(&mut self, past: &PastSession) -> bool {
        past.calls() > 0 && !self.transcripts.insert((past.client.name(), past.identity()))
    }

    /// What it cost beyond the answers that another file holds too.
    fn news(&mut self, past: &PastSession) -> Price {
        let mut known = Price::default();
        let mut own = BTreeSet::new();
        for (answer, price) in &past.answers {
            let name = (past.client.name(), *answer);
            // An answer's figures may come in parts: only those of other files are counted already.
            if self.answers.contains(&name) {
                known = known.plus(*price);
            } else {
                own.insert(name);
            }
        }
        self.answers.extend(own);
        past.spent.since(known)
    }
}

/// What is printed, run by run.
struct ScanOutput<'a> {
    form: Form,
    wanted: &'a Wanted,
    out: Out,
    sum: Sum,
    rows: u64,
    skipped: Vec<String>,
}

impl ScanOutput<'_> {
    fn run(&mut self, past: &PastSession, judged: &Judged, news: Price) -> Result<(), Problem> {
        self.sum.add(past, judged, news);
        if self.form.json {
            return self.out.line(&line(past, judged).to_string());
        }
        let scanned = &judged.scanned;
        let strictest = (scanned.kind.filter(|kind| *kind > Level::Note), &scanned.rule);
        let detail = self.wanted.session.is_some();
        let (Some(kind), Some(rule)) = strictest else {
            return if detail { self.detail(past, judged) } else { Ok(()) };
        };
        let at = scanned.strictest_at().unwrap_or_default();
        if self.rows == 0 {
            let head = row(["client", "when", "would be", "at call", "spent", "saved", "rule"]);
            self.out.line(&style::paint(&head, Tone::Head))?;
        }
        self.rows += 1;
        let when = past.call_ms(at).or_else(|| past.last_ms()).map_or_else(|| "-".to_owned(), when);
        let (word, tone) = level_word(kind);
        let spent = if past.basis == PriceBasis::HighestKnown { "~" } else { "" }.to_owned() + &dollars(past.spent);
        let line = row([
            past.client.name(),
            &when,
            word,
            &format!("{} of {}", at + 1, past.calls()),
            &spent,
            &dollars(judged.saved),
            rule,
        ]);
        self.out.line(&line.replacen(word, &style::paint(word, tone), 1))?;
        let columns = terminal::columns_of_output();
        let mut below = |text: &str| {
            let line = format!("        {}", visible(text));
            self.out.line(&columns.map_or_else(|| line.clone(), |columns| terminal::cut(&line, columns)))
        };
        if let Some(call) = &judged.call {
            below(call)?;
        }
        below(&format!("in {}, session {}", place_of(past), past.session))?;
        if detail { self.detail(past, judged) } else { Ok(()) }
    }

    /// Everything that would have fired in one session, call by call.
    fn detail(&mut self, past: &PastSession, judged: &Judged) -> Result<(), Problem> {
        self.out.prose(&format!("file        {}", past.path.display()))?;
        if judged.scanned.alarms.is_empty() {
            self.out.line("nothing would have fired")?;
        }
        let alarms = &judged.scanned.alarms;
        for (at, alarm) in alarms.iter().enumerate() {
            // One cause may reach several levels at one call: the strictest tells it, once.
            let tells = |(other_at, other): (usize, &ScannedAlarm)| {
                let same = other.event == alarm.event && other.reason == alarm.reason;
                same && (other.level > alarm.level || (other.level == alarm.level && other_at < at))
            };
            if alarms.iter().enumerate().any(tells) {
                continue;
            }
            let when = past.call_ms(alarm.event).map_or_else(|| "-".to_owned(), when);
            let (word, tone) = level_word(alarm.level);
            let call = past.call_words(alarm.event).unwrap_or_default();
            let word = style::paint(&format!("{word:<8}"), tone);
            self.out.line(&format!("{when}  {:>5}  {word} {}", alarm.event + 1, visible(&call)))?;
            for line in print::wrap(&format!("{} [{}]", alarm.reason, alarm.rule), DETAIL_INDENT, DETAIL_INDENT) {
                self.out.line(&line)?;
            }
        }
        Ok(())
    }

    fn skip(&mut self, file: &Path, why: &Skipped) -> Result<(), Problem> {
        // Which session it is, and where, is not known: a search for some is not about it.
        if self.wanted.session.is_some() || self.wanted.project.is_some() {
            return Ok(());
        }
        if self.form.json {
            self.out.line(&json!({"file": file.to_string_lossy(), "skipped": why.to_string()}).to_string())?;
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
        if self.rows > 0 && self.wanted.session.is_none() {
            self.out.line("next: `tripwire scan --session ID` shows one of them call by call")?;
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

/// The columns before a reason.
const DETAIL_INDENT: &str = "                         ";

/// Where a session worked; a client that does not say has its transcripts in a folder that tells the most.
fn place_of(past: &PastSession) -> String {
    let beside = || past.path.parent().map(short_path).unwrap_or_default();
    past.folder.as_deref().map_or_else(beside, short_path)
}

const fn level_word(level: Level) -> (&'static str, Tone) {
    match level {
        Level::Note => ("noted", Tone::Good),
        Level::Override => ("warned", Tone::Warning),
        Level::Hold => ("held", Tone::Warning),
        Level::Stop => ("stopped", Tone::Bad),
    }
}

/// A moment to the minute.
fn when(epoch_ms: u64) -> String {
    let stamp = WallClock::from_epoch_ms(epoch_ms).to_string();
    stamp.get(..16).unwrap_or(&stamp).replace('T', " ")
}

/// One transcript as JSON.
fn line(past: &PastSession, judged: &Judged) -> Value {
    let scanned = &judged.scanned;
    let at = scanned.strictest_at().and_then(|at| past.call_ms(at));
    json!({
        "client": past.client.name(), "session": past.session, "file": past.path.to_string_lossy(), "calls": past.calls(),
        "folder": past.folder.as_deref().map(Path::to_string_lossy), "alarm_ms": at, "last_ms": past.last_ms(),
        "broken_lines": past.broken_lines, "kind": scanned.kind, "rule": scanned.rule, "levels": scanned.levels,
        "throttled_at": scanned.throttled_at, "throttles": scanned.throttles, "call": judged.call,
        "spent": amount(past.spent), "saved": amount(judged.saved),
        "since_first_repeat": amount(judged.since_first_repeat),
        "price": match past.basis { PriceBasis::Listed => "known", PriceBasis::HighestKnown => "highest" },
    })
}

fn row([client, when, word, at, spent, saved, rule]: [&str; 7]) -> String {
    format!("{client:<6}  {when:<16}  {word:<8}  {at:>9}  {spent:>8}  {saved:>8}  {rule}")
}
