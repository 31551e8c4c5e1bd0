//! The shape of an entry of the catalogue.

/// One rule, explained so that a person who meets its name in a decision knows what to do with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RuleEntry {
    /// Its name, as decisions, findings and tests carry it.
    pub id: &'static str,
    /// In a few words.
    pub title: &'static str,
    /// What it does, in plain sentences.
    pub what: &'static str,
    /// From which point on it acts, in words.
    pub threshold: &'static str,
    /// The policy settings behind that point, as dotted paths; `Policy::rows` gives their values in force.
    pub settings: &'static [&'static str],
    /// The document that asks for it.
    pub source: &'static str,
    /// A case in which it fires.
    pub fires: &'static str,
    /// A case, close to it, in which it does not.
    pub quiet: &'static str,
}
