//! What was noticed: the newest one by one, and all of them grouped by their cause.

use super::lanes::Moment;
use serde::Serialize;
use std::collections::{BTreeMap, VecDeque};
use tripwire_core::decision::{Decision, Level};

/// Findings that are kept one by one.
const SHOWN_MAX: usize = 1_000;
/// Causes that are counted apart.
const CAUSES_MAX: usize = 256;

/// The findings of a session.
#[derive(Debug, Default)]
pub struct Findings {
    newest: VecDeque<ShownFinding>,
    causes: BTreeMap<(String, String), AlarmCause>,
}

/// One finding.
#[derive(Debug, Clone, Serialize)]
pub struct ShownFinding {
    /// The decision.
    pub i: u64,
    /// Milliseconds since the start.
    pub at: u64,
    /// How far up the ladder.
    pub level: Level,
    /// Its name in the safety log.
    pub kind: String,
    /// The rule.
    pub rule: &'static str,
    /// In one sentence.
    pub reason: String,
    /// What it cost since the first repeat, in micro-dollars.
    pub micro_usd: u64,
}

/// All findings of one cause.
#[derive(Debug, Clone, Serialize)]
pub struct AlarmCause {
    /// The rule.
    pub rule: &'static str,
    /// The name in the safety log.
    pub kind: String,
    /// What it was about, where that is known.
    pub about: String,
    /// How often.
    pub count: u64,
    /// The first decision.
    pub first: u64,
    /// The last decision.
    pub last: u64,
    /// The strictest level.
    pub level: Level,
    /// The last one in one sentence.
    pub reason: String,
    /// The most that one of them cost, in micro-dollars.
    pub micro_usd: u64,
}

impl Findings {
    pub(super) fn add(&mut self, moment: Moment, decision: &Decision) {
        for finding in &decision.findings {
            let kind = serde_json::to_value(finding.kind).ok().and_then(|name| name.as_str().map(str::to_owned));
            let kind = kind.unwrap_or_default();
            let shown = ShownFinding {
                i: moment.i,
                at: moment.at,
                level: finding.level,
                kind: kind.clone(),
                rule: finding.rule.id(),
                reason: finding.reason.to_string(),
                micro_usd: finding.price.micro_usd.get(),
            };
            self.count(&shown, finding.signature.as_ref());
            self.newest.push_back(shown);
            if self.newest.len() > SHOWN_MAX {
                self.newest.pop_front();
            }
        }
    }

    fn count(&mut self, shown: &ShownFinding, about: &str) {
        let full = self.causes.len() >= CAUSES_MAX;
        let known = self.causes.contains_key(&(shown.rule.to_owned(), about.to_owned()));
        let about = if full && !known { "other" } else { about };
        let cause = self.causes.entry((shown.rule.to_owned(), about.to_owned())).or_insert_with(|| AlarmCause {
            rule: shown.rule,
            kind: shown.kind.clone(),
            about: about.to_owned(),
            count: 0,
            first: shown.i,
            last: shown.i,
            level: shown.level,
            reason: String::new(),
            micro_usd: 0,
        });
        cause.count += 1;
        cause.last = shown.i;
        cause.level = cause.level.max(shown.level);
        cause.reason.clone_from(&shown.reason);
        cause.kind.clone_from(&shown.kind);
        cause.micro_usd = cause.micro_usd.max(shown.micro_usd);
    }

    /// The newest, newest first.
    pub fn newest(&self) -> impl Iterator<Item = &ShownFinding> {
        self.newest.iter().rev()
    }

    /// The causes, the strictest and most frequent first.
    #[must_use]
    pub fn causes(&self) -> Vec<&AlarmCause> {
        let mut causes: Vec<_> = self.causes.values().collect();
        causes.sort_by_key(|cause| std::cmp::Reverse((cause.level, cause.count)));
        causes
    }
}
