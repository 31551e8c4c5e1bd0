//! The second witness: what the client's own records say, held against what its hooks announced.

use super::guard::{Pulse, TestRun};
use super::records::{Entry, Outcome, Record};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;
use tripwire_clients::hooks::Client;

/// How long a call may stand in the client's record before its hook must have announced it.
pub(crate) const ANNOUNCED_WITHIN: Duration = Duration::from_secs(20);

/// What was seen of the client's records.
#[derive(Debug)]
pub(crate) struct Witness {
    client: Client,
    records: Vec<Record>,
    /// Calls without an announcement and without a result, and when they were first seen.
    open: BTreeMap<String, Duration>,
    /// Calls that ran, as the client wrote them down.
    ran: BTreeSet<String>,
    /// Calls that only look after a command that runs already.
    polls: BTreeSet<String>,
    /// The provider's last refusal.
    refusal: Option<String>,
}

impl Witness {
    /// A witness that has seen nothing.
    pub(crate) const fn new(client: Client) -> Self {
        Self {
            client,
            records: Vec::new(),
            open: BTreeMap::new(),
            ran: BTreeSet::new(),
            polls: BTreeSet::new(),
            refusal: None,
        }
    }

    /// The provider's last refusal, if nothing came after it.
    pub(crate) fn refusal(&self) -> Option<&str> {
        self.refusal.as_deref()
    }

    /// What the client's own record says about a test run that its hook told of. A client whose hooks name no calls, and
    /// one that wrote down nothing at all, says nothing.
    pub(crate) fn shows(&self, run: &TestRun) -> Shown {
        match (self.client, &run.call) {
            (Client::Claude | Client::Codex, Some(call)) if self.ran.contains(call) => Shown::Yes,
            (Client::Claude | Client::Codex, Some(_)) if !self.ran.is_empty() => Shown::No,
            (Client::Claude | Client::Codex | Client::Gemini, Some(_) | None) => Shown::Unknown,
        }
    }

    /// Reads what is new at this time (of a clock that stands still while the client is frozen), and says what it proves
    /// against the guard.
    pub(crate) fn look(&mut self, pulse: &Pulse, now: Duration) -> Option<String> {
        for (path, length) in &pulse.records {
            if !self.records.iter().any(|record| record.path() == path) {
                self.records.push(Record::follow(self.client, path, *length));
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
            Entry::Polled { call } => {
                self.refusal = None;
                self.polls.insert(call);
                None
            }
            Entry::Answered { call, .. } if self.polls.remove(&call) => None,
            Entry::Answered { call, outcome } => {
                self.open.remove(&call);
                if outcome == Outcome::Ran {
                    self.ran.insert(call.clone());
                }
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
    fn passed_by(&self, call: &str, pulse: &Pulse) -> bool {
        match self.client {
            Client::Claude | Client::Codex => !pulse.has_announced(call),
            Client::Gemini => u64::try_from(self.ran.len()).unwrap_or(u64::MAX) > pulse.asked,
        }
    }
}

/// Whether the client's own record shows what its hook told of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shown {
    /// It does.
    Yes,
    /// It shows other calls, and not this one.
    No,
    /// It does not say.
    Unknown,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dirty_1_a_test_run_that_the_clients_record_does_not_show_is_known() {
        let run = |call: &str| TestRun { action: "Bash(pytest)".to_owned(), call: Some(call.to_owned()) };
        let pulse = Pulse::announcing(&["a", "forged"]);
        for client in [Client::Claude, Client::Codex] {
            let mut witness = Witness::new(client);
            assert_eq!(witness.shows(&run("a")), Shown::Unknown, "it wrote down nothing");
            witness.take(answered("a", Outcome::Ran), &pulse, Duration::ZERO);
            assert_eq!((witness.shows(&run("a")), witness.shows(&run("forged"))), (Shown::Yes, Shown::No));
        }
    }

    fn asked(call: &str) -> Entry {
        Entry::Asked { call: call.to_owned() }
    }

    fn answered(call: &str, outcome: Outcome) -> Entry {
        Entry::Answered { call: call.to_owned(), outcome }
    }

    fn proofs(client: Client, pulse: &Pulse, entries: Vec<Entry>) -> usize {
        let mut witness = Witness::new(client);
        entries.into_iter().filter_map(|entry| witness.take(entry, pulse, Duration::ZERO)).count()
    }

    #[test]
    fn const_5_a_call_that_ran_unannounced_is_proof_and_an_announced_or_refused_one_is_not() {
        let pulse = Pulse::announcing(&["a"]);
        for client in [Client::Claude, Client::Codex] {
            let good = vec![asked("a"), answered("a", Outcome::Ran), asked("b"), answered("b", Outcome::Failed)];
            assert_eq!(proofs(client, &pulse, good), 0);
            assert_eq!(proofs(client, &pulse, vec![answered("b", Outcome::Ran)]), 1);
            assert_eq!(proofs(client, &pulse, vec![answered("b", Outcome::GuardFailed)]), 1);
        }
        let twice = vec![answered("x", Outcome::Ran), answered("x", Outcome::Ran)];
        assert_eq!(proofs(Client::Gemini, &pulse, twice), 0, "a line that is written again is one call");
        let two = vec![answered("x", Outcome::Ran), answered("y", Outcome::Ran)];
        assert_eq!(proofs(Client::Gemini, &pulse, two), 1, "one was announced");
    }

    #[test]
    fn const_5_a_call_whose_hook_does_not_come_is_proof_after_a_while() {
        let pulse = Pulse::announcing(&["a"]);
        let mut witness = Witness::new(Client::Claude);
        assert_eq!(witness.take(asked("a"), &pulse, Duration::ZERO), None);
        assert_eq!(witness.look(&pulse, ANNOUNCED_WITHIN * 2), None, "it was announced");
        assert_eq!(witness.take(asked("late"), &pulse, Duration::ZERO), None);
        assert_eq!(witness.look(&pulse, ANNOUNCED_WITHIN), None);
        assert!(witness.look(&pulse, ANNOUNCED_WITHIN * 2).is_some());
        assert_eq!(witness.look(&Pulse::announcing(&["late"]), ANNOUNCED_WITHIN * 2), None, "it came after all");
    }

    #[test]
    fn run_4_a_refusal_of_the_provider_counts_until_the_work_goes_on() {
        let pulse = Pulse::announcing(&["a"]);
        let mut witness = Witness::new(Client::Claude);
        assert_eq!(witness.take(Entry::ProviderError { text: "529".to_owned() }, &pulse, Duration::ZERO), None);
        assert_eq!(witness.refusal(), Some("529"));
        assert_eq!(witness.take(asked("a"), &pulse, Duration::ZERO), None);
        assert_eq!(witness.refusal(), None);
    }
}
