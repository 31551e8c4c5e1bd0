//! A decision about a proposal that counts for the whole fleet: the first one that is written, signed by a person. A session
//! reads it, checks the signature and journals it before it acts.

use crate::log::{Log, LogError, Sequence};
use crate::settle::{self, Settled};
use crate::subject::Subject;
use serde::{Deserialize, Serialize};
use tripwire_core::record::chain::Digest;
use tripwire_journal::note::{self, Signer, Verifier};

/// What a person decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// It may be done.
    Approve,
    /// It may not.
    Deny,
}

/// A decision about one proposal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verdict {
    /// What it is about, to the byte.
    pub proposal: Digest,
    /// The decision.
    pub answer: Answer,
    /// The person's account.
    pub who: String,
    /// Why.
    pub reason: String,
    /// When, in milliseconds since 1970.
    pub at_ms: u64,
    /// Makes it different from every other verdict.
    pub nonce: String,
}

/// A verdict under its signature.
#[derive(Serialize, Deserialize)]
struct SealedVerdict {
    note: String,
}

/// What became of a decision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decided {
    /// It counts.
    Now,
    /// An earlier one counts; nothing if no trusted key signed that.
    Before(Option<Verdict>),
}

/// Decides about a proposal, unless somebody has.
///
/// # Errors
/// When the fleet does not answer.
pub fn decide(log: &dyn Log, verdict: &Verdict, signer: &Signer, trusted: &[Verifier]) -> Result<Decided, LogError> {
    let subject = Subject::approval(&verdict.proposal);
    let failed = |error: serde_json::Error| LogError::damaged(&subject, error.to_string());
    let text = format!("{DOMAIN}\n{}\n", serde_json::to_string(verdict).map_err(failed)?);
    let text = serde_json::to_string(&SealedVerdict { note: signer.seal(&text) }).map_err(failed)?;
    match settle::append(log, &subject, Sequence(0), &text, settle::PATIENCE)? {
        Settled::Written(_) => Ok(Decided::Now),
        Settled::Fenced(entry) => Ok(Decided::Before(open(&entry.text, &verdict.proposal, trusted))),
    }
}

/// The decision about a proposal, if there is one that a trusted key signed.
///
/// # Errors
/// When the fleet cannot be read.
pub fn decided(log: &dyn Log, proposal: &Digest, trusted: &[Verifier]) -> Result<Option<Verdict>, LogError> {
    Ok(log.last(&Subject::approval(proposal))?.and_then(|entry| open(&entry.text, proposal, trusted)))
}

fn open(text: &str, proposal: &Digest, trusted: &[Verifier]) -> Option<Verdict> {
    let sealed: SealedVerdict = serde_json::from_str(text).ok()?;
    let body = note::opened(&sealed.note, trusted)?.strip_prefix(DOMAIN)?;
    // A verdict that was signed for another proposal says nothing about this one.
    serde_json::from_str(body.trim()).ok().filter(|verdict: &Verdict| verdict.proposal == *proposal)
}

const DOMAIN: &str = "tripwire/fleet/approval/v1";
