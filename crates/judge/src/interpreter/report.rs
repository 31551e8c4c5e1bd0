//! What was found so far: the commands of the line, each with why it is held.

use crate::hold::{GuardRule, Hold, Segment};
use crate::line::call::Call;
use crate::line::state::State;
use crate::reading::{CommandReading, Extent};

/// Most holds that are found before the rest of a line is no longer looked at.
const HOLDS_MAX: usize = 16;
/// Commands of one line that are kept; a line with more is read in part.
const COMMANDS_MAX: usize = 8_192;

/// The commands of a line as they are found.
#[derive(Default)]
pub(super) struct Report {
    segments: Vec<Segment>,
    /// The text of the command that is being judged.
    pub(super) source: String,
    holds: usize,
    /// The scripts that the command at hand stands in.
    scripts: Vec<String>,
    commands: Vec<CommandReading>,
    extent: Extent,
}

/// What a walk through a line found.
pub(crate) struct Walked {
    /// The commands as they are written, each with why it is held.
    pub(crate) segments: Vec<Segment>,
    /// The commands as they would be run.
    pub(crate) commands: Vec<CommandReading>,
    /// Whether the line was walked to its end.
    pub(crate) extent: Extent,
}

/// How much was held at some point of the walk.
pub(super) struct Mark {
    segments: usize,
    holds: usize,
    extent: Extent,
}

impl Report {
    /// Notes a call as it would be made.
    pub(super) fn read(&mut self, call: &Call, state: &State) {
        self.add(CommandReading::of(call, state));
    }

    /// Notes commands that were read.
    pub(super) fn add(&mut self, commands: impl IntoIterator<Item = CommandReading>) {
        self.commands.extend(commands);
        if self.commands.len() > COMMANDS_MAX {
            self.commands.truncate(COMMANDS_MAX);
            self.extent = Extent::Cut;
        }
    }

    /// What is held so far.
    pub(super) const fn mark(&self) -> Mark {
        Mark { segments: self.segments.len(), holds: self.holds, extent: self.extent }
    }

    /// Forgets what was held since.
    pub(super) fn forget_holds_since(&mut self, mark: &Mark) {
        self.segments.truncate(mark.segments);
        self.holds = mark.holds;
    }

    /// From here on the commands stand in a script, and only what is certain is held.
    pub(super) fn enter_script(&mut self, script: &str) -> Mark {
        self.scripts.push(script.to_owned());
        self.mark()
    }

    /// Leaves a script. One that is too complex ends here and not the line.
    pub(super) fn leave_script(&mut self, mark: &Mark) {
        self.scripts.pop();
        let held = self.segments.iter().skip(mark.segments).filter(|segment| segment.hold.is_some()).count();
        self.holds = mark.holds + held;
        self.extent = if self.is_full() { Extent::Cut } else { mark.extent };
    }

    /// Notes that the command at hand is held.
    pub(super) fn hold(&mut self, mut hold: Hold) {
        if let Some(script) = self.scripts.last() {
            if !hold.rule.is_certain() {
                return;
            }
            hold.reason = format!("{} (in `{script}`, which this session wrote)", hold.reason);
        }
        self.holds += 1;
        if hold.rule == GuardRule::TooComplex || self.holds >= HOLDS_MAX {
            self.extent = Extent::Cut;
        }
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

    /// Everything that was found.
    pub(super) fn into_walked(self) -> Walked {
        Walked { segments: self.segments, commands: self.commands, extent: self.extent }
    }
}
