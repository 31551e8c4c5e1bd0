//! What led to each hold and to the end of a session, in words that stay until it is lifted.
//!
//! The alarm speaks once; every later refusal, `status` and the advisor's override still have to name the thing.

use crate::chain::activity::loops::Alarm;
use crate::decision::Draft;
use crate::effect::{Effect, HoldReason};
use crate::label::{self, Label};
use crate::units::{Count, EventIndex};
use alloc::vec::Vec;
use serde::{Deserialize, Serialize};

/// What led to it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cause {
    /// The decision that tells the rest: `tripwire why N`.
    pub at: EventIndex,
    /// What was repeated, as the agent knows it; empty where nothing was.
    pub object: Label,
    /// How often.
    pub seen: Count,
    /// In one sentence.
    pub what: Label,
}

/// Bytes of a sentence that stay: the journal holds it whole.
const WHAT_BYTES_MAX: usize = 400;

/// The causes of what holds or ended the session.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct Causes {
    /// The newest cause of each hold.
    of_holds: Vec<(HoldReason, Cause)>,
    pub(crate) of_end: Option<Cause>,
}

impl Causes {
    /// What led to a hold.
    pub(crate) fn of_hold(&self, hold: HoldReason) -> Option<&Cause> {
        self.of_holds.iter().find(|(of, _)| *of == hold).map(|(_, cause)| cause)
    }

    /// Notes what led to a hold that has just begun.
    pub(crate) fn note_hold(&mut self, hold: HoldReason, cause: Cause) {
        self.of_holds.retain(|(of, _)| *of != hold);
        self.of_holds.push((hold, cause));
    }

    /// Notes the holds that a decision begins; where none was named, its newest finding is the cause.
    pub(crate) fn note_holds_of(&mut self, draft: &Draft, at: EventIndex) {
        for effect in &draft.effects {
            let (Effect::Hold(hold), Some(finding)) = (effect, draft.findings.last()) else { continue };
            if self.of_hold(*hold).is_none_or(|cause| cause.at != at) {
                self.note_hold(*hold, Cause::plain(at, &finding.reason));
            }
        }
    }
}

impl Cause {
    /// A cause that is no repetition.
    pub(crate) fn plain(at: EventIndex, what: &str) -> Self {
        Self { at, object: Label::default(), seen: Count::ZERO, what: Label::cut(label::cut(what, WHAT_BYTES_MAX)) }
    }

    /// What an alarm says.
    pub(crate) fn of(alarm: &Alarm, at: EventIndex) -> Self {
        Self { object: alarm.object.clone(), seen: alarm.count, ..Self::plain(at, &alarm.reason) }
    }

    /// Whether something was repeated that has a name.
    pub(crate) fn names_a_call(&self) -> bool {
        !self.object.as_str().is_empty()
    }

    /// The sentence with the command that shows the rest.
    #[must_use]
    pub fn words(&self) -> alloc::string::String {
        alloc::format!("{}; details: tripwire why {}", self.what, self.at)
    }
}
