//! What waits for a person on a machine: it is told to the fleet, and verdicts from there are handed to the sessions that asked.

use crate::approval::{self, Question};
use crate::host::Host;
use crate::log::Log;
use crate::subject::Name;
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use tripwire_core::record::chain::Digest;
use tripwire_journal::note::Verifier;

/// The questions of a machine, as of the last look.
#[derive(Debug, Default)]
pub(crate) struct Questions {
    open: Mutex<Vec<Question>>,
    handed: Mutex<BTreeMap<Digest, Handed>>,
}

/// What became of a verdict that was handed to its session.
#[derive(Debug, PartialEq, Eq)]
enum Handed {
    /// It is journaled. A budget that was denied still waits, and is not denied again.
    Taken,
    /// Not, in words that were told.
    NotTaken(String),
}

/// Whether something else waits than at the last look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Waiting {
    Changed,
    Same,
}

impl Questions {
    /// What a heartbeat tells.
    pub(crate) fn open(&self) -> Vec<Question> {
        let open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.iter().take(TOLD_MAX).cloned().collect()
    }

    /// Hands the verdicts of people to the sessions that asked, and notes what still waits.
    pub(crate) fn look(&self, log: &dyn Log, host: &dyn Host, machine: &Name) -> Waiting {
        let mut open = host.waiting(machine);
        if !open.is_empty() {
            let trusted = host.trusted();
            open.retain(|question| !self.is_settled(log, host, question, &trusted));
        }
        let mut known = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let changed = if *known == open { Waiting::Same } else { Waiting::Changed };
        *known = open;
        changed
    }

    fn is_settled(&self, log: &dyn Log, host: &dyn Host, question: &Question, trusted: &[Verifier]) -> bool {
        let proposal = question.proposal();
        let mut handed = self.handed.lock().unwrap_or_else(PoisonError::into_inner);
        if handed.get(&proposal) == Some(&Handed::Taken) {
            return true;
        }
        // What the fleet does not tell now it tells at the next look.
        let Ok(Some(verdict)) = approval::decided(log, &proposal, trusted) else { return false };
        if verdict.is_expired(host.now_ms()) {
            return false;
        }
        let (now, words) = match host.answer(question, &verdict) {
            Ok(words) => (Handed::Taken, words),
            Err(problem) => {
                let words = format!("the answer of {} is not taken: {problem}", verdict.who);
                (Handed::NotTaken(problem), words)
            }
        };
        if handed.get(&proposal) != Some(&now) {
            host.say(&format!("fleet: {words}"));
        }
        let is_taken = now == Handed::Taken;
        handed.insert(proposal, now);
        is_taken
    }
}

/// Questions that a heartbeat names.
const TOLD_MAX: usize = 100;
