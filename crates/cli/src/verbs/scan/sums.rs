//! The sums of a scan: how many sessions would have been stopped, and what that would have saved.

use crate::print::money;
use serde_json::{Value, json};
use tripwire_clients::past::{Judged, PastSession};
use tripwire_core::counted::{agreeing, counted};
use tripwire_core::decision::Level;
use tripwire_core::prices::PriceBasis;
use tripwire_core::units::Price;

/// Sums over all transcripts.
#[derive(Debug, Default)]
pub(super) struct Sum {
    pub(super) runs: u64,
    /// Copies of transcripts that were counted already.
    pub(super) copies: u64,
    levels: LevelCounts,
    strictest: LevelCounts,
    /// Sessions in which a call would have waited for room in the minute, and such calls.
    throttled: u64,
    throttles: u64,
    /// Runs with a model that is not in the price table.
    unknown_models: u64,
    spent: Price,
    saved: Price,
    since_first_repeat: Price,
}

/// Sessions by level.
#[derive(Debug, Default, Clone, Copy)]
struct LevelCounts {
    noted: u64,
    warned: u64,
    held: u64,
    stopped: u64,
}

impl Sum {
    /// Adds a session; `news` is what it cost beyond what other files held.
    pub(super) fn add(&mut self, past: &PastSession, judged: &Judged, news: Price) {
        let levels = &judged.scanned.levels;
        self.runs += 1;
        self.levels.noted += u64::from(levels.note.is_some());
        self.levels.warned += u64::from(levels.overridden.is_some());
        self.levels.held += u64::from(levels.hold.is_some());
        self.levels.stopped += u64::from(levels.stop.is_some());
        match judged.scanned.kind {
            Some(Level::Note) => self.strictest.noted += 1,
            Some(Level::Override) => self.strictest.warned += 1,
            Some(Level::Hold) => self.strictest.held += 1,
            Some(Level::Stop) => self.strictest.stopped += 1,
            None => {}
        }
        self.throttled += u64::from(judged.scanned.throttled_at.is_some());
        self.throttles += judged.scanned.throttles;
        self.unknown_models += u64::from(past.basis == PriceBasis::HighestKnown);
        self.spent = self.spent.plus(news);
        self.saved = self.saved.plus(judged.saved);
        self.since_first_repeat = self.since_first_repeat.plus(judged.since_first_repeat);
    }

    /// Each session once, by the strictest that would have happened to it.
    pub(super) fn lines(&self) -> Vec<String> {
        let LevelCounts { noted, warned, held, stopped } = self.strictest;
        let clean = self.runs - noted - warned - held - stopped;
        let mut lines = vec![format!(
            "{}: {stopped} would have been stopped, {held} held, {warned} warned, {noted} only noted, {clean} clean",
            counted(self.runs, "session")
        )];
        if self.throttled > 0 {
            let (sessions, calls) = (counted(self.throttled, "session"), counted(self.throttles, "call"));
            lines.push(format!(
                "{sessions} would have been slowed down: {calls} waiting for room in the minute [GATE-2]"
            ));
        }
        if self.copies > 0 {
            let (copies, are) = (counted(self.copies, "transcript"), agreeing(self.copies, "is", "are"));
            lines.push(format!("{copies} {are} a copy of another and not counted again"));
        }
        if self.runs == 0 {
            return lines;
        }
        lines.push(format!("spent: {}", spending(self.spent)));
        lines.push(format!("tripwire would have prevented: {}", spending(self.saved)));
        lines.push(format!("spent since the first repeat of each alarm: {}", spending(self.since_first_repeat)));
        if self.unknown_models > 0 {
            lines.push(format!(
                "~ {} with an unknown model, priced at the highest known rate (estimate)",
                counted(self.unknown_models, "session"),
            ));
        }
        lines
    }

    /// The same for programs.
    pub(super) fn json(&self, skipped: usize) -> Value {
        let LevelCounts { noted, warned, held, stopped } = self.levels;
        json!({
            "transcripts": self.runs, "skipped": skipped, "copies": self.copies, "noted": noted, "overridden": warned,
            "held": held, "stopped": stopped, "throttled": self.throttled, "throttles": self.throttles, "spent": amount(self.spent), "saved": amount(self.saved),
            "since_first_repeat": amount(self.since_first_repeat), "unknown_models": self.unknown_models,
        })
    }
}

/// An amount for programs.
pub(super) fn amount(price: Price) -> Value {
    json!({"tokens": price.tokens.get(), "micro_usd": price.micro_usd.get()})
}

/// Money as people write it, to the cent, rounded up: an estimate that is too low does not help.
pub(super) fn dollars(price: Price) -> String {
    money::dollars(price.micro_usd.get())
}

fn spending(price: Price) -> String {
    format!("{} in {}", dollars(price), counted(price.tokens.get(), "token"))
}
