//! One input on its way through the chain, with what each stage adds to it.

use super::activity::ActivityReading;
use crate::decision::{Draft, Evidence, Finding, FindingKind, Level};
use crate::enforcement::EnforcementError;
use crate::input::{Place, What};
use crate::rules::Rule;
use crate::text::SignatureText;
use crate::units::{Count, Price};
use alloc::borrow::ToOwned;

/// One input on its way through the chain.
pub(crate) struct Turn<'a> {
    pub(crate) place: Place,
    pub(crate) draft: Draft,
    pub(crate) reading: ActivityReading,
    /// A refusal that is not a veto, with the rule that refused.
    pub(crate) refusal: Option<(Rule, EnforcementError)>,
    pub(crate) source: Source,
    pub(crate) what: &'a What,
}

/// What kind of input it is, as far as the gate cares.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Source {
    /// The agent did something.
    Event,
    /// The agent asks to do something.
    Request,
    /// Anything else.
    Other,
}

impl Turn<'_> {
    pub(crate) fn is_event(&self) -> bool {
        self.source == Source::Event
    }

    /// Adds a plain note about this input.
    pub(crate) fn note(&mut self, kind: FindingKind, rule: Rule, reason: &str) {
        self.draft.find(Finding {
            count: Count::ZERO,
            details: None,
            evidence: Evidence::one(self.place.index),
            kind,
            level: Level::Note,
            price: Price::default(),
            reason: reason.to_owned().into(),
            rule,
            signature: SignatureText::default(),
        });
    }
}
