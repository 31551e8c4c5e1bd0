//! Which events cost health, so that a hold for low health can name them (GATE-4).

use crate::chain::event::ErrorClass;
use crate::chain::turn::Turn;
use crate::decision::ActivityMode;
use crate::input::{HumanAct, What};
use crate::ring::Ring;
use crate::units::{EventIndex, Ratio};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use serde::{Deserialize, Serialize};

/// Incidents that are named; older ones have been made good by time, or the session is over.
const NAMED: usize = 6;

/// The newest events that cost health.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct Incidents {
    newest: Ring<Incident, NAMED>,
    /// Health before the input at hand.
    before: Ratio,
}

/// One event that cost health.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct Incident {
    at: EventIndex,
    cost: Ratio,
    kind: IncidentKind,
}

/// What happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
enum IncidentKind {
    Loop,
    Runaway,
    TimeOut,
    CouldNotRun,
    FailedCalls,
    Flip,
}

impl Incidents {
    /// An input is about to be taken in.
    pub(super) const fn begin(&mut self, level: Ratio) {
        self.before = level;
    }

    /// Notes what the input cost, if anything. A person who lets the session go on vouches for what was before.
    pub(super) fn note(&mut self, level: Ratio, turn: &Turn<'_>) {
        if let What::Human(act) = turn.what
            && matches!(act.unsigned().0, HumanAct::Resume | HumanAct::Restart)
        {
            self.newest = Ring::default();
        }
        let cost = self.before.minus(level);
        if cost > Ratio::ZERO {
            self.newest.push(Incident { at: turn.place.index, cost, kind: kind(turn) });
        }
        self.before = level;
    }

    /// `#4 a call timed out (0.05), #9 a loop (0.15)`; empty if nothing is known.
    pub(crate) fn words(&self) -> String {
        let mut words = String::new();
        let mut all: Vec<&Incident> = self.newest.newest_first().collect();
        all.reverse();
        for incident in all {
            if !words.is_empty() {
                words.push_str(", ");
            }
            words.push_str(&format!("#{} {} (-{})", incident.at, incident.kind.words(), incident.cost));
        }
        words
    }
}

impl IncidentKind {
    const fn words(self) -> &'static str {
        match self {
            Self::Loop => "a loop",
            Self::Runaway => "a runaway",
            Self::TimeOut => "a call timed out",
            Self::CouldNotRun => "a call could not run",
            Self::FailedCalls => "failed calls in a row",
            Self::Flip => "the activity went back and forth",
        }
    }
}

/// The gravest thing that the input showed.
fn kind(turn: &Turn<'_>) -> IncidentKind {
    let class =
        if let What::Event(event) = turn.what { event.outcome.and_then(|outcome| outcome.error_class) } else { None };
    let of_mode = turn.reading.entered.and_then(|mode| match mode {
        ActivityMode::Looping => Some(IncidentKind::Loop),
        ActivityMode::Runaway => Some(IncidentKind::Runaway),
        ActivityMode::Idle | ActivityMode::Working => None,
    });
    let of_class = class.and_then(|class| match class {
        ErrorClass::Timeout => Some(IncidentKind::TimeOut),
        ErrorClass::CouldNotRun => Some(IncidentKind::CouldNotRun),
        ErrorClass::NonZeroExit | ErrorClass::Tool | ErrorClass::Infrastructure | ErrorClass::Refused => None,
    });
    let of_result = matches!(turn.what, What::Result(_)).then_some(IncidentKind::CouldNotRun);
    let of_flip = turn.reading.flipped.is_present().then_some(IncidentKind::Flip);
    of_mode.or(of_class).or(of_result).or(of_flip).unwrap_or(IncidentKind::FailedCalls)
}
