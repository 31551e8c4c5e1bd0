//! What was found so far: the commands of the line, each with why it is held.

use crate::hold::{GuardRule, Hold, Segment};

/// Most holds that are found before the rest of a line is no longer looked at.
const HOLDS_MAX: usize = 16;

/// The commands of a line as they are found.
#[derive(Default)]
pub(super) struct Report {
    segments: Vec<Segment>,
    /// The text of the command that is being judged.
    pub(super) source: String,
    holds: usize,
}

impl Report {
    /// Notes that the command at hand is held.
    pub(super) fn hold(&mut self, hold: Hold) {
        self.holds += 1;
        if self.holds <= HOLDS_MAX {
            self.segments.push(Segment { command: self.source.clone(), hold: Some(hold) });
        }
    }

    /// Holds a line that is too complex to be judged; the rest of it is no longer looked at.
    pub(super) fn give_up(&mut self, reason: &str) {
        self.hold(Hold::plain(GuardRule::TooComplex, reason));
        self.holds = HOLDS_MAX;
    }

    /// Whether the rest of the line is no longer looked at.
    pub(super) const fn is_full(&self) -> bool {
        self.holds >= HOLDS_MAX
    }

    /// How many commands were found.
    pub(super) const fn count(&self) -> usize {
        self.segments.len()
    }

    /// Notes that the command at hand passed.
    pub(super) fn pass(&mut self) {
        self.segments.push(Segment { command: self.source.clone(), hold: None });
    }

    /// The commands.
    pub(super) fn into_segments(self) -> Vec<Segment> {
        self.segments
    }
}
