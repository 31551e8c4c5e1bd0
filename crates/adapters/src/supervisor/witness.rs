//! The second witness: what the client's own records say, held against what its hooks announced.

use super::guard::Pulse;
use super::records::{Entry, Outcome, Record};
use crate::hooks::Client;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// How long a call may stand in the client's record before its hook must have announced it.
pub(crate) const ANNOUNCED_WITHIN: Duration = Duration::from_secs(20);

/// What was seen of the client's records.
#[derive(Debug)]
pub(crate) struct Witness {
    client: Client,
    records: Vec<Record>,
    /// Calls without an announcement and without a result, and when they were first seen.
    open: BTreeMap<String, Duration>,
    /// Calls that ran, for a client whose hooks name none.
    ran: BTreeSet<String>,
    /// The provider's last refusal.
    refusal: Option<String>,
}

impl Witness {
    /// A witness that has seen nothing.
    pub(crate) const fn new(client: Client) -> Self {
        Self { client, records: Vec::new(), open: BTreeMap::new(), ran: BTreeSet::new(), refusal: None }
    }

    /// The provider's last refusal, if nothing came after it.
    pub(crate) fn refusal(&self) -> Option<&str> {
        self.refusal.as_deref()
    }

    /// Reads what is new at this time (of a clock that stands still while the client is frozen), and says what it proves
    /// against the guard.
    pub(crate) fn look(&mut self, pulse: &Pulse, now: Duration) -> Option<String> {
        for path in &pulse.records {
            if !self.records.iter().any(|record| record.path() == path) {
                self.records.push(Record::follow(self.client, path));
            }
        }
        // A record that cannot be read proves nothing; the hooks are the first witness.
        let news: Vec<Entry> = self.records.iter_mut().flat_map(|record| record.news().unwrap_or_default()).collect();
        let proof = news.into_iter().find_map(|entry| self.take(entry, pulse, now));
        self.open.retain(|call, _| !pulse.has_announced(call));
        proof.or_else(|| {
            let late = self.open.iter().find(|(_, since)| now.saturating_sub(**since) > ANNOUNCED_WITHIN);
            late.map(|(call, _)| format!("no hook announced the call `{call}` within {} s", ANNOUNCED_WITHIN.as_secs()))
        })
    }

    fn take(&mut self, entry: Entry, pulse: &Pulse, now: Duration) -> Option<String> {
        match entry {
            Entry::Asked { call } => {
                self.refusal = None;
                if !pulse.has_announced(&call) {
                    self.open.entry(call).or_insert(now);
                }
                None
            }
            Entry::Answered { call, outcome } => {
                self.open.remove(&call);
                match outcome {
                    Outcome::GuardFailed => Some(format!("the hook of the call `{call}` could not be run")),
                    Outcome::Ran if self.passed_by(&call, pulse) => {
                        Some(format!("the call `{call}` ran and no hook announced it"))
                    }
                    Outcome::Ran | Outcome::Failed => None,
                }
            }
            Entry::ProviderError { text } => {
                self.refusal = Some(text);
                None
            }
        }
    }

    /// Whether a call ran past the guard. Where hooks name no call, more calls must not run than were announced.
    fn passed_by(&mut self, call: &str, pulse: &Pulse) -> bool {
        match self.client {
            Client::Claude | Client::Codex => !pulse.has_announced(call),
            Client::Gemini => {
                self.ran.insert(call.to_owned());
                u64::try_from(self.ran.len()).unwrap_or(u64::MAX) > pulse.asked
            }
        }
    }
}
