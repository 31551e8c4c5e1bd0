//! The questions of all machines as one queue. Each machine tells in its heartbeat what waits there for a person; a decision is
//! the first verdict that is written about a question, signed by a person. The machine checks the signature, and the session that
//! asks journals the answer before anything follows from it.

use crate::log::{Log, LogError, Sequence};
use crate::settle::{self, Settled};
use crate::subject::{Name, Subject};
use serde::{Deserialize, Serialize};
use tripwire_core::chain::gate::floor::ApprovalVerdict;
use tripwire_core::record::chain::Digest;
use tripwire_core::units::MicroUsd;
use tripwire_journal::note::{self, Signer, Verifier};

/// Something that waits for a person on a machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Question {
    /// The machine.
    pub machine: Name,
    /// The workspace's name in the fleet.
    pub place: Name,
    /// The workspace's path.
    pub workspace: String,
    /// The session that asks, where one does.
    pub session: Option<String>,
    /// By what a person names it.
    pub id: String,
    /// `command`, `review` or `budget`.
    pub kind: String,
    /// What would be done, in words.
    pub what: String,
    /// The rule that holds it.
    pub rule: String,
    /// Since when it waits, in milliseconds since 1970, where that is known.
    pub since_ms: Option<u64>,
    /// Exactly what is asked, as the session knows it.
    pub digest: Digest,
}

impl Question {
    /// What a verdict is bound to: this question of this session on this machine, and no other that looks like it.
    #[must_use]
    pub fn proposal(&self) -> Digest {
        let Self { machine, place, session, id, kind, since_ms, digest, workspace: _, what: _, rule: _ } = self;
        let (session, since) = (session.as_deref().unwrap_or_default(), since_ms.unwrap_or_default());
        let text = format!("{QUESTION}\n{machine}\n{place}\n{session}\n{kind}\n{id}\n{since}\n{digest}\n");
        Digest::of(text.as_bytes())
    }
}

/// A decision about one proposal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verdict {
    /// What it is about, to the byte.
    pub proposal: Digest,
    /// The decision.
    pub answer: ApprovalVerdict,
    /// The person's account.
    pub who: String,
    /// Why.
    pub reason: String,
    /// By how much a budget is raised.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raise: Option<MicroUsd>,
    /// When, in milliseconds since 1970.
    pub at_ms: u64,
    /// Makes it different from every other verdict.
    pub nonce: String,
}

impl Verdict {
    /// Whether it was given too long ago to act on. A clock that runs ahead makes no verdict older.
    #[must_use]
    pub const fn is_expired(&self, now_ms: u64) -> bool {
        now_ms.saturating_sub(self.at_ms) > VALID_MS
    }
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
const QUESTION: &str = "tripwire/fleet/question/v1";
/// For how long a verdict counts: as long as a held command that was allowed may pass.
const VALID_MS: u64 = 24 * 60 * 60 * 1_000;
