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
    /// What a person reads, and what clears it.
    #[must_use]
    pub const fn explain(self) -> &'static str {
        match self {
            Self::Loop => "held for a loop: waiting for the advisor's new approach, or `tripwire resume`",
            Self::NoProgress => "held for no progress: read and remove .geometry/BLOCKER_REPORT.md, or `tripwire ack`",
            Self::IterationCap => {
                "held at the iteration cap: read and remove .geometry/CHECKPOINT.md, or `tripwire ack`"
            }
            Self::SoftSuspend => "soft suspend: health is below the threshold; `tripwire resume` goes on",
            Self::Money => "the money budget is used up: raise it or `tripwire stop`",
            Self::Context => "the context is beyond the hard block: run /compact or restart the session",
            Self::GuardFailure => "the guard itself is broken: see the fix, then `tripwire resume`",
            Self::Converged => "the work has converged and this session stops then: `tripwire resume` goes on",
            Self::Paused => "paused by a person: `tripwire resume` goes on",
            Self::UnreadBlocker => {
                "`tripwire ack blocker` first: .geometry/BLOCKER_REPORT.md of an earlier session is unread, and nothing \
                 new begins"
            }
            Self::UnreadCheckpoint => {
                "`tripwire ack checkpoint` first: .geometry/CHECKPOINT.md of an earlier session is unread, and nothing \
                 new begins"
            }
        }
    }
}

impl HoldReason {
    /// The same without what clears it: for a session that has ended meanwhile and that nothing clears any more.
    #[must_use]
    pub const fn in_short(self) -> &'static str {
        match self {
            Self::Loop => "held for a loop",
            Self::NoProgress => "held for no progress",
            Self::IterationCap => "held at the iteration cap",
            Self::SoftSuspend => "soft suspend: health is below the threshold",
            Self::Money => "the money budget is used up",
            Self::Context => "the context is beyond the hard block",
            Self::GuardFailure => "the guard itself is broken",
            Self::Converged => "the work has converged and this role stops on convergence",
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
}

impl StopReason {
    /// What a person reads.
    #[must_use]
    pub const fn explain(self) -> &'static str {
        match self {
            Self::StoppedByPerson => "stopped by a person; `tripwire resume` takes it back",
            Self::SystemError => "stopped with SYSTEM_ERROR: the action was repeated after the override",
            Self::InfiniteLoop => "stopped for an infinite loop; see .geometry/BLOCKER_REPORT.md",
            Self::HardStop => "hard stop: health fell below the threshold; a person must restart",
            Self::Runaway => "stopped for a runaway",
            Self::WallClock => "stopped by the session's wall clock",
        }
    }
}

impl StopReason {
    /// The same without what takes it back: for a session that nothing takes up again.
    #[must_use]
    pub const fn in_short(self) -> &'static str {
        match self {
            Self::StoppedByPerson => "stopped by a person",
            Self::SystemError => "stopped with SYSTEM_ERROR: the action was repeated after the override",
            Self::InfiniteLoop => "stopped for an infinite loop; see .geometry/BLOCKER_REPORT.md",
            Self::HardStop => "hard stop: health fell below the threshold",
            Self::Runaway => "stopped for a runaway",
            Self::WallClock => "stopped by the session's wall clock",
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
    /// The signature that must not be repeated.
    pub do_not_repeat: Label,
    /// What came back each time.
    pub result: Sameness,
    /// How often it was seen.
    pub seen: Count,
    /// What happened to the workspace meanwhile.
    pub workspace: Sameness,
}

/// Whether something moved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Sameness {
    /// The same each time.
    Identical,
    /// Different.
    Changed,
    /// Not known.
    Unknown,
}
