//! What things are called in the fleet's log: names that are safe as one word of a subject, and the subjects themselves.

use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::fmt;
use tripwire_core::explain::Explain;
use tripwire_core::record::chain::Digest;
use tripwire_journal::SessionId;

/// The name of a machine, a budget, a rate or a holder: one word of a subject.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Name(String);

/// A text that cannot be a name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not a name: it has 1 to {NAME_BYTES_MAX} letters, digits, `-` or `_`")]
pub struct NameError {
    text: String,
}

impl Explain for NameError {
    fn hint(&self) -> Cow<'_, str> {
        "choose a plain word such as `build-7`".into()
    }
}

impl Name {
    /// Reads a name.
    ///
    /// # Errors
    /// When it is empty, too long or has other letters.
    pub fn parse(text: &str) -> Result<Self, NameError> {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
        if (1..=NAME_BYTES_MAX).contains(&text.len()) && text.bytes().all(plain) {
            Ok(Self(text.to_owned()))
        } else {
            Err(NameError { text: text.to_owned() })
        }
    }

    /// The nearest name to a text, such as a host's.
    #[must_use]
    pub fn nearest(text: &str) -> Self {
        let plain = |letter: char| if letter.is_ascii_alphanumeric() || letter == '_' { letter } else { '-' };
        let name: String = text.chars().map(plain).take(NAME_BYTES_MAX).collect();
        Self(if name.is_empty() { "machine".to_owned() } else { name })
    }

    /// As text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Name {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl TryFrom<String> for Name {
    type Error = NameError;

    fn try_from(text: String) -> Result<Self, NameError> {
        Self::parse(&text)
    }
}

impl From<Name> for String {
    fn from(name: Name) -> Self {
        name.0
    }
}

/// Where something stands in the log: words with dots between them, the first of which is `tw`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Subject(String);

/// What is kept of a subject.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kept {
    /// Everything, for ever: records, orders, receipts.
    History,
    /// The last value: budgets, leases, approvals.
    Last,
}

impl Subject {
    /// A session's record as a machine writes it; `place` tells workspaces with equal session ids apart.
    #[must_use]
    pub fn record(machine: &Name, place: &Name, session: &SessionId) -> Self {
        Self(format!("{RECORDS}{machine}.{place}.{session}"))
    }

    /// The orders of people to all machines.
    #[must_use]
    pub fn orders() -> Self {
        Self("tw.order.all".to_owned())
    }

    /// What became of the orders on a machine.
    #[must_use]
    pub fn receipts(machine: &Name) -> Self {
        Self(format!("{RECEIPTS}{machine}"))
    }

    /// A machine's heartbeat.
    #[must_use]
    pub fn machine(machine: &Name) -> Self {
        Self(format!("{MACHINES}{machine}"))
    }

    /// A budget over all machines.
    #[must_use]
    pub fn pool(budget: &Name) -> Self {
        Self(format!("{POOLS}{budget}"))
    }

    /// What a holder may spend of a budget.
    #[must_use]
    pub fn grant(budget: &Name, holder: &Name) -> Self {
        Self(format!("tw.state.grant.{budget}.{holder}"))
    }

    /// A rate over all machines.
    #[must_use]
    pub fn bucket(rate: &Name) -> Self {
        Self(format!("{RATES}{rate}"))
    }

    /// The one decision about a proposal.
    #[must_use]
    pub fn approval(proposal: &Digest) -> Self {
        Self(format!("tw.state.approval.{proposal}"))
    }

    /// The policy bundle for all machines.
    #[must_use]
    pub fn policy_for_all() -> Self {
        Self(format!("{POLICIES}all"))
    }

    /// The policy bundle for the machines with a label.
    #[must_use]
    pub fn policy_for_label(key: &Name, value: &Name) -> Self {
        Self(format!("{LABEL_POLICIES}{key}.{value}"))
    }

    /// The label, if it is the subject of a policy bundle for one.
    #[must_use]
    pub fn as_label_policy(&self) -> Option<(Name, Name)> {
        let (key, value) = self.0.strip_prefix(LABEL_POLICIES)?.split_once('.')?;
        Some((Name::parse(key).ok()?, Name::parse(value).ok()?))
    }

    /// Reads a subject that the log told; one that is not ours is none.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let mut words = text.split('.');
        let ours =
            words.next() == Some("tw") && words.clone().count() >= 2 && words.all(|word| Name::parse(word).is_ok());
        ours.then(|| Self(text.to_owned()))
    }

    /// What is kept of it.
    #[must_use]
    pub fn kept(&self) -> Kept {
        if self.0.starts_with(STATE) { Kept::Last } else { Kept::History }
    }

    /// Machine, place and session, if it is that of a record.
    #[must_use]
    pub fn as_record(&self) -> Option<(Name, Name, SessionId)> {
        let mut words = self.0.strip_prefix(RECORDS)?.split('.');
        let (machine, place, session) = (words.next()?, words.next()?, words.next()?);
        let whole = words.next().is_none();
        let session = SessionId::parse(session).ok().filter(|_| whole)?;
        Some((Name::parse(machine).ok()?, Name::parse(place).ok()?, session))
    }

    /// The last word.
    #[must_use]
    pub fn last_word(&self) -> &str {
        self.0.rsplit('.').next().unwrap_or_default()
    }

    /// As text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// How the subjects of all records begin.
pub const RECORDS: &str = "tw.record.";
/// How the subjects of all receipts begin.
pub const RECEIPTS: &str = "tw.receipt.";
/// How the subjects of all heartbeats begin.
pub const MACHINES: &str = "tw.state.machine.";
/// How the subjects of all budgets begin.
pub const POOLS: &str = "tw.state.pool.";
/// How the subjects of all rates begin.
pub const RATES: &str = "tw.state.bucket.";
/// How the subjects of all policy bundles begin.
pub const POLICIES: &str = "tw.state.policy.";
/// How the subjects begin of which only the last value is kept.
pub const STATE: &str = "tw.state.";

const LABEL_POLICIES: &str = "tw.state.policy.label.";
const NAME_BYTES_MAX: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_one_word_of_a_subject() {
        for good in ["a", "Build-7", "x_1"] {
            assert_eq!(Name::parse(good).unwrap().as_str(), good);
        }
        for bad in ["", "a.b", "a b", "a>", "*", "ü", &"x".repeat(65)] {
            assert!(Name::parse(bad).is_err(), "{bad}");
        }
        assert_eq!(Name::nearest("host.example.org").as_str(), "host-example-org");
        assert_eq!(Name::nearest("").as_str(), "machine");
    }

    #[test]
    fn a_record_subject_reads_back_and_others_do_not() {
        let session = SessionId::parse("auto-2026-02-28-143200-2").unwrap();
        let (machine, place) = (Name::parse("m1").unwrap(), Name::parse("w0").unwrap());
        let subject = Subject::record(&machine, &place, &session);
        assert_eq!(subject.as_record(), Some((machine.clone(), place, session)));
        assert_eq!(Subject::parse(subject.as_str()), Some(subject.clone()));
        assert_eq!((subject.kept(), Subject::machine(&machine).kept()), (Kept::History, Kept::Last));
        assert_eq!(Subject::orders().as_record(), None);
        for foreign in ["", "tw", "tw.record", "orders.new", "tw.record.*", "tw.record.a b.c"] {
            assert_eq!(Subject::parse(foreign).filter(|subject| subject.as_record().is_some()), None, "{foreign}");
        }
        assert_eq!(Subject::parse("orders.new"), None);
    }

    #[test]
    fn the_subject_of_a_policy_bundle_names_its_label() {
        let (key, value) = (Name::parse("team").unwrap(), Name::parse("search").unwrap());
        let subject = Subject::policy_for_label(&key, &value);
        assert_eq!(subject.as_label_policy(), Some((key, value)));
        assert_eq!((Subject::policy_for_all().as_label_policy(), subject.kept()), (None, Kept::Last));
    }
}
