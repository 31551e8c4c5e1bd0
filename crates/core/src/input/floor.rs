//! What the judge of commands found, as a request carries it.

use crate::label::Label;
use crate::record::chain::Digest;
use crate::rules::Rule;
use crate::units::{Count, EventIndex};
use serde::{Deserialize, Serialize};

/// A command that would destroy what cannot be restored: found outside, held here (FLOOR-1).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct FloorFact {
    /// The short code under which a person may allow it once.
    pub code: Label,
    /// The command, its folder and its workspace: an allowance is good for exactly this.
    pub digest: Digest,
    /// What it would destroy, in words for a person.
    pub reason: Label,
    /// The rule about destructive commands that it breaks.
    pub rule: Label,
    /// How much it weighs.
    #[serde(default, skip_serializing_if = "FloorWeight::is_default")]
    pub weight: FloorWeight,
}

/// How much weighs what the judge of commands found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum FloorWeight {
    /// It destroys what cannot be restored: held at once, in every mode (FLOOR-1).
    #[default]
    Destroys,
    /// It loses so many files that git does not know: few are everyday work, and they are counted over the session (FLOOR-1).
    Loses(Count),
    /// It publishes what cannot be taken back: held while decisions bind (FLOOR-2).
    Publishes,
    /// A policy wants a person asked: held while decisions bind (PERM-1).
    Asks,
    /// It runs what stands in text from outside, or sends a secret away after such text was read, at this event: held while
    /// decisions bind (FLOOR-3).
    FromOutside(EventIndex),
    /// It holds a placeholder instead of a secret: held while decisions bind (SECRET-1).
    Placeholder,
}

impl FloorWeight {
    /// Whether it is the usual one, which is not written down.
    #[must_use]
    pub fn is_default(&self) -> bool {
        *self == Self::Destroys
    }

    /// The rule that holds it.
    #[must_use]
    pub const fn rule(self) -> Rule {
        match self {
            Self::Destroys | Self::Loses(_) => Rule::Floor,
            Self::Publishes => Rule::Publish,
            Self::FromOutside(_) => Rule::Outside,
            Self::Asks => Rule::Permission,
            Self::Placeholder => Rule::Secret,
        }
    }
}
