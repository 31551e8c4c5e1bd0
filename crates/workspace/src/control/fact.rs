//! What a person can do with the control files, and what a look at them reports.

use super::order::Note;
use crate::geometry::layout::Layout;
use crate::geometry::manifest::Bit;
use crate::geometry::reports::Report;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use tripwire_core::input::ReportCause;

/// A file whose presence alone says something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ControlFile {
    /// `STOP`: a person's order to stop, which also blocks new sessions.
    Stop,
    /// `PAUSE`: a person's order to pause; removing it resumes.
    Pause,
    /// `BLOCKER_REPORT.md`: ours; removing it clears the block.
    BlockerReport,
    /// `CHECKPOINT.md`: ours; removing it acknowledges.
    Checkpoint,
}

impl ControlFile {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Stop, Self::Pause, Self::BlockerReport, Self::Checkpoint];

    /// Where it lives.
    #[must_use]
    pub fn path(self, layout: &Layout) -> PathBuf {
        match self {
            Self::Stop => layout.stop(),
            Self::Pause => layout.pause(),
            Self::BlockerReport => layout.blocker_report(),
            Self::Checkpoint => layout.checkpoint(),
        }
    }
}

impl ControlFile {
    /// The report that the file is, if it is one.
    #[must_use]
    pub const fn report(self) -> Option<Report> {
        match self {
            Self::BlockerReport => Some(Report::Blocker),
            Self::Checkpoint => Some(Report::Checkpoint),
            Self::Stop | Self::Pause => None,
        }
    }
}

/// Something that a person did since the last look.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "fact", rename_all = "snake_case")]
pub enum ControlFact {
    /// A control file is there that was not.
    Appeared {
        /// Which.
        file: ControlFile,
        /// What its author wrote into it; empty for a file that was only touched.
        note: Note,
    },
    /// A report of another session, or of a person, was there when this session looked for the first time.
    Stood {
        /// Which.
        file: ControlFile,
        /// What it is about.
        about: ReportCause,
    },
    /// A control file is gone, or the part of it that this session wrote.
    Removed {
        /// Which.
        file: ControlFile,
    },
    /// A counter was edited: honoured, as a manual override.
    CounterEdited {
        /// Which.
        counter: Counter,
        /// The value that was last seen.
        from: u64,
        /// The value now.
        to: u64,
    },
    /// A bit was edited: honoured, as a manual override.
    BitEdited {
        /// Which.
        bit: ManifestBit,
        /// The value that was last seen; nothing for `null`.
        from: Option<Bit>,
        /// The value now.
        to: Option<Bit>,
    },
    /// The list of tool signatures was edited.
    SignaturesEdited {
        /// How many there are now.
        count: u64,
    },
    /// The time of the last compaction was edited.
    LastCompactionEdited {
        /// The value now.
        to: Option<String>,
    },
    /// A threshold or another frozen setting was edited: not applied, `POLICY_DRIFT`.
    SettingDrift {
        /// The dotted path.
        path: String,
        /// The value that was last seen; nothing for a key that was not there.
        from: Option<String>,
        /// The value now; nothing for a key that is gone.
        to: Option<String>,
    },
    /// A file that the agent's client obeys is not what it was when the session began.
    ObeyedFileChanged {
        /// Its path below the workspace.
        path: String,
        /// What it holds now, in short.
        to: String,
    },
    /// The manifest is missing or cannot be accepted: the guard holds until a person fixes it.
    ManifestRefused {
        /// Why, in one line.
        reason: String,
        /// What to do about it.
        hint: String,
    },
    /// The manifest can be accepted again.
    ManifestAccepted,
}

/// The counters of the manifest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Counter {
    /// `safety.iteration_count`.
    IterationCount,
    /// `safety.consecutive_failures`.
    ConsecutiveFailures,
    /// `context.estimated_usage_pct`.
    EstimatedUsagePct,
}

/// The bits of the manifest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ManifestBit {
    /// `safety.loop_detected`.
    LoopDetected,
    /// `dirty_bits.code_modified`.
    CodeModified,
    /// `dirty_bits.tests_run`.
    TestsRun,
    /// `dirty_bits.tests_passing`.
    TestsPassing,
    /// `dirty_bits.docs_updated`.
    DocsUpdated,
}
