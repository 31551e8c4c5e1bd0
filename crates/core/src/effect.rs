//! The only door out: what should happen because of a decision. The shell carries effects out and decides nothing.

use crate::chain::gate::dirty_bits::Verification;
use crate::input::Report;
use crate::label::Label;
use crate::text::{Instruction, Notice, Reason};
use crate::units::{Count, RunMillis};
use serde::Serialize;

/// One thing that the shell has to do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Effect {
    /// Keep everything as it is and let nothing through until the hold is cleared.
    Hold(HoldReason),
    /// End the session.
    Stop(StopReason),
    /// End the process tree and print a receipt.
    Kill,
    /// Put a typed constraint into the agent's next result.
    Inject(LoopOverride),
    /// Send the agent back with a fixed prompt (the dirty-bit gate's).
    Prompt(Instruction),
    /// Write the briefing and restart the worker with it.
    Compact,
    /// Warn the agent that its context fills up.
    WarnContext,
    /// Ask the advisor; go on only with its answer.
    AskAdvisor(Deadlock),
    /// Use the next engine of the fallback chain.
    SwitchEngine(SwitchReason),
    /// Write a report that waits for a person.
    WriteReport(Report),
    /// Tell a person.
    Notify(Notice),
    /// End the iteration with this status.
    EndIteration(IterationEnd),
    /// Step the engine again at this time, even if nothing else happens.
    WakeAt(RunMillis),
}

/// Why the session is held.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum HoldReason {
    /// A loop: go on only with the advisor's new approach.
    Loop,
    /// No progress: `BLOCKER_REPORT.md` waits for a person.
    NoProgress,
    /// The iteration cap: `CHECKPOINT.md` waits for a person.
    IterationCap,
    /// Health below the soft threshold.
    SoftSuspend,
    /// The money budget is used up.
    Money,
    /// The context is full beyond the hard block.
    Context,
    /// A premise of the guard broke.
    GuardFailure,
    /// The work has converged and the role must stop then.
    Converged,
    /// A person paused it.
    Paused,
    /// `BLOCKER_REPORT.md` of an earlier session waits for a person.
    UnreadBlocker,
    /// `CHECKPOINT.md` of an earlier session waits for a person.
    UnreadCheckpoint,
}

impl HoldReason {
    /// What a person types to go on, first, because clients cut long lines; then why it waits.
    #[must_use]
    pub const fn explain(self) -> &'static str {
        match self {
            Self::Loop => "to go on, a person runs: tripwire resume; held for a loop",
            Self::NoProgress => {
                "to go on, a person runs: tripwire ack; held for no progress, see .geometry/BLOCKER_REPORT.md"
            }
            Self::IterationCap => {
                "to go on, a person runs: tripwire ack; held at the iteration cap, see .geometry/CHECKPOINT.md"
            }
            Self::SoftSuspend => "to go on, a person runs: tripwire resume; paused: health is low",
            Self::Money => {
                "to go on, a person runs: tripwire resume --raise-budget 1usd; paused: the money budget is used up"
            }
            Self::Context => "run /compact or start the client anew; the context is fuller than the limit",
            Self::GuardFailure => {
                "to go on, a person fixes the cause and runs: tripwire resume; the guard itself is broken"
            }
            Self::Converged => {
                "to go on, a person runs: tripwire resume; the work has converged and this role stops then"
            }
            Self::Paused => "to go on, a person runs: tripwire resume; paused by a person",
            Self::UnreadBlocker => {
                "to go on, a person runs: tripwire ack blocker; .geometry/BLOCKER_REPORT.md of an earlier session is unread"
            }
            Self::UnreadCheckpoint => {
                "to go on, a person runs: tripwire ack checkpoint; .geometry/CHECKPOINT.md of an earlier session is unread"
            }
        }
    }

    /// The first half alone: what goes on behind it names the cause itself.
    #[must_use]
    pub fn way_on(self) -> &'static str {
        self.explain().split_once("; ").map_or_else(|| self.explain(), |(way, _)| way)
    }

    /// The same without what clears it: for a session that has ended meanwhile and that nothing clears any more.
    #[must_use]
    pub const fn in_short(self) -> &'static str {
        match self {
            Self::Loop => "held for a loop",
            Self::NoProgress => "held for no progress",
            Self::IterationCap => "held at the iteration cap",
            Self::SoftSuspend => "paused: health is low",
            Self::Money => "the money budget is used up",
            Self::Context => "the context is fuller than the limit",
            Self::GuardFailure => "the guard itself is broken",
            Self::Converged => "the work has converged and this role stops then",
            Self::Paused => "paused by a person",
            Self::UnreadBlocker => "BLOCKER_REPORT.md of an earlier session is unread",
            Self::UnreadCheckpoint => "CHECKPOINT.md of an earlier session is unread",
        }
    }
}

/// Why the session ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, serde::Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum StopReason {
    /// A person said stop.
    StoppedByPerson,
    /// The same action again after the override.
    SystemError,
    /// Ten identical signatures.
    InfiniteLoop,
    /// Health below the hard threshold.
    HardStop,
    /// Uncontrolled acceleration.
    Runaway,
    /// The session's wall clock ran out.
    WallClock,
    /// Too many calls were refused.
    Refusals,
}

impl StopReason {
    /// What a person types to go on, first, because clients cut long lines; then why it ended.
    #[must_use]
    pub const fn explain(self) -> &'static str {
        match self {
            Self::StoppedByPerson => "stopped by a person; to lift it: tripwire resume",
            Self::SystemError => {
                "stopped; to go on, a person runs: tripwire resume --restart; a call was repeated after a warning"
            }
            Self::InfiniteLoop => {
                "stopped; to go on, a person runs: tripwire resume --restart; a loop, see .geometry/BLOCKER_REPORT.md"
            }
            Self::HardStop => "stopped; to go on, a person runs: tripwire resume --restart; health is too low",
            Self::Runaway => "stopped; to go on, a person runs: tripwire resume --restart; steps came ever faster",
            Self::WallClock => "stopped: the session's time is used up; begin a new session",
            Self::Refusals => {
                "stopped; to go on, a person runs: tripwire resume --restart; call after call was refused"
            }
        }
    }

    /// The half that a cause can follow.
    #[must_use]
    pub const fn way_on(self) -> &'static str {
        match self {
            Self::SystemError | Self::InfiniteLoop | Self::HardStop | Self::Runaway | Self::Refusals => {
                "stopped; to go on, a person runs: tripwire resume --restart"
            }
            Self::StoppedByPerson | Self::WallClock => self.explain(),
        }
    }

    /// The same without what takes it back: for a session that nothing takes up again.
    #[must_use]
    pub const fn in_short(self) -> &'static str {
        match self {
            Self::StoppedByPerson => "stopped by a person",
            Self::SystemError => "stopped: a call was repeated after a warning",
            Self::InfiniteLoop => "stopped for a loop; see .geometry/BLOCKER_REPORT.md",
            Self::HardStop => "stopped: health is too low",
            Self::Runaway => "stopped: steps came ever faster",
            Self::WallClock => "stopped: the session's time is used up",
            Self::Refusals => "stopped: call after call was refused",
        }
    }
}

/// The kind of deadlock that the advisor is asked about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, serde::Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Deadlock {
    /// The same thing again and again.
    HardLoop,
    /// Iterations that fail in a row.
    NoProgress,
}

/// Why another engine is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum SwitchReason {
    /// Verification failed more often than allowed in this session.
    VerificationFailed,
    /// The context is exhausted.
    ContextExhausted,
}

/// How an iteration ended (TERM-1).
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct IterationEnd {
    /// One of the five statuses.
    pub exit_status: ExitStatus,
    /// Why, unless it completed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interrupt_reason: Option<Reason>,
    /// What is proved about the work, where it was asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verdict: Option<Verification>,
}

/// The five ways in which an iteration may end, in the order in which they are checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ExitStatus {
    /// Ended by a person or a hold.
    Interrupted,
    /// The wall clock ran out.
    Timeout,
    /// The step cap was reached.
    MaxSteps,
    /// An error that also ends the session.
    SystemError,
    /// The work was done and the gate let it go.
    Completed,
}

/// The typed constraint that tells an agent to do something else (LOOP-4). No free text, no prompt rewriting.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LoopOverride {
    /// The advisor's words, quoted and capped; absent without one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub advice: Option<Label>,
    /// What must not be repeated: the call with its arguments, or the error that varied arguments led to.
    pub do_not_repeat: Label,
    /// What came back each time; absent where that is not known.
    #[serde(skip_serializing_if = "Sameness::is_unknown")]
    pub result: Sameness,
    /// How often it was seen.
    pub seen: Count,
    /// What happened to the workspace meanwhile; absent where that was not measured.
    #[serde(skip_serializing_if = "Sameness::is_unknown")]
    pub workspace: Sameness,
}

/// Whether something moved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Sameness {
    /// The same each time.
    Identical,
    /// Different.
    Changed,
    /// Not known.
    #[default]
    Unknown,
}

impl Sameness {
    /// Whether nothing is known.
    #[must_use]
    pub fn is_unknown(&self) -> bool {
        *self == Self::Unknown
    }

    /// What a comparison showed.
    pub(crate) fn from_equal(equal: impl Into<bool>) -> Self {
        if equal.into() { Self::Identical } else { Self::Changed }
    }

    /// Two measures of one span: a change that either saw is one, and one that measured is enough.
    pub(crate) const fn or_changed(self, other: Self) -> Self {
        match (self, other) {
            (Self::Changed, _) | (_, Self::Changed) => Self::Changed,
            (Self::Identical, _) | (_, Self::Identical) => Self::Identical,
            (Self::Unknown, Self::Unknown) => Self::Unknown,
        }
    }

    /// Several spans: one change is a change, and only if all are known to be the same they are.
    pub(crate) fn of_all(spans: impl Iterator<Item = Self>) -> Self {
        let mut all = None;
        for span in spans {
            all = Some(match (all.unwrap_or(span), span) {
                (Self::Changed, _) | (_, Self::Changed) => Self::Changed,
                (Self::Unknown, _) | (_, Self::Unknown) => Self::Unknown,
                (Self::Identical, Self::Identical) => Self::Identical,
            });
        }
        all.unwrap_or_default()
    }
}
