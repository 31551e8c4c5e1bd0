//! What the ledger's journal holds: figures, names and digests, never what was said.

use super::account::{AccountId, UtcDate};
use super::figures::Doubt;
use crate::label::Label;
use crate::record::chain::Digest;
use crate::units::{Count, MicroUsd, Tokens};
use crate::usage::{AudioInput, FigureSource, Usage};
use serde::{Deserialize, Serialize};

/// The name under which the line of a settled call says how long it took; durations stand outside the record's hash.
pub const CALL_DURATION: &str = "call";

/// One line of the ledger's journal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub enum LedgerRecord {
    /// A call has ended.
    Settled(alloc::boxed::Box<SettledCall>),
    /// A request was refused before it left.
    Refused {
        /// Who asked.
        account: AccountId,
        /// The model that it named.
        model: Label,
        /// The rule or limit that refused it.
        reason: Label,
    },
    /// Something a person should know: a reload, a cut, a fallback.
    Noted {
        /// What kind of thing.
        kind: Label,
        /// In words, without contents.
        text: Label,
    },
}

/// A call that was paid for. The fields stand in the order of the canonical text, which is then written straight through.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SettledCall {
    /// How much of the input was audio, where that has a price of its own.
    #[serde(default, skip_serializing_if = "AudioInput::is_zero")]
    pub audio: AudioInput,
    /// The day it began, which its money belongs to.
    pub day: UtcDate,
    /// Why the provider's figures were not taken as they are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub doubt: Option<Doubt>,
    /// How it ended.
    pub end: CallEnd,
    /// What was booked beyond the reservation (`RESERVE_SHORT`).
    #[serde(default, skip_serializing_if = "MicroUsd::is_zero")]
    pub excess: MicroUsd,
    /// What was booked.
    pub micro_usd: MicroUsd,
    /// The model that answered, or the one that was asked.
    pub model: Label,
    /// What other models used for the reply: they are inside `usage`, and each has its own price.
    #[serde(default, skip_serializing_if = "alloc::vec::Vec::is_empty")]
    pub other_models: alloc::vec::Vec<ModelUsage>,
    /// The accounts it was booked on, the caller's first.
    pub path: alloc::vec::Vec<AccountId>,
    /// Whether the model has no price of its own, so that the highest known one was taken.
    #[serde(default, skip_serializing_if = "is_false")]
    pub price_estimated: bool,
    /// The provider.
    pub provider: Label,
    /// The digest of the request's bytes, which older versions wrote down.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<Digest>,
    /// What was reserved.
    pub reserved: MicroUsd,
    /// Whether the provider told them.
    #[serde(default, skip_serializing_if = "FigureSource::is_told")]
    pub source: FigureSource,
    /// The status of the reply; 0 without one.
    pub status: Count,
    /// The tokens it was charged for.
    pub usage: Usage,
}

/// What one model used.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ModelUsage {
    /// The model.
    pub model: Label,
    /// Its tokens.
    pub usage: Usage,
}

impl SettledCall {
    /// What the call's own model used.
    #[must_use]
    pub fn own_usage(&self) -> Usage {
        own_usage(self.usage, &self.other_models)
    }
}

/// What is left of a call's tokens without those of other models.
#[must_use]
pub fn own_usage(all: Usage, others: &[ModelUsage]) -> Usage {
    others.iter().fold(all, |own, other| own.with(other.usage, Tokens::minus))
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks with a reference")]
const fn is_false(value: &bool) -> bool {
    !*value
}

/// How a call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum CallEnd {
    /// The whole reply came.
    Complete,
    /// The provider refused it.
    Refused,
    /// The reply broke off.
    Broken,
    /// The client went away.
    Cancelled,
    /// A person stopped it.
    Stopped,
    /// The reply repeated itself and was cut.
    Chanted,
}

impl CallEnd {
    /// The word for it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Complete => "complete",
            Self::Refused => "refused",
            Self::Broken => "broken",
            Self::Cancelled => "cancelled",
            Self::Stopped => "stopped",
            Self::Chanted => "chanted",
        }
    }
}
