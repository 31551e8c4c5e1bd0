//! What a judgement says: the rule, the reason, and what would be hit.

use crate::effect::Effect;
use crate::line::field::Origin;
use serde::Serialize;
use tripwire_core::input::FloorWeight;

/// The rules of the floor. Each names one way to lose what nobody gets back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum GuardRule {
    /// Deleting the root or a folder of the system.
    DeleteSystem,
    /// Deleting a home.
    DeleteHome,
    /// Deleting a repository's `.git`.
    DeleteGit,
    /// Deleting the workspace itself.
    DeleteWorkspace,
    /// Deleting outside the workspace.
    DeleteOutside,
    /// Deleting work inside the workspace that no commit holds.
    DeleteWork,
    /// Deleting something that cannot be known before it runs.
    DeleteUnknown,
    /// Rewriting or deleting a protected branch on a remote.
    ForcePush,
    /// Throwing away uncommitted changes.
    DiscardChanges,
    /// Throwing away untracked files through git.
    GitClean,
    /// Throwing away commits or stashes that nothing else holds.
    GitHistory,
    /// Writing to disks, partitions, file systems.
    Disk,
    /// Deleting tables, databases, keys.
    Database,
    /// Running code that came from the network or cannot be read.
    PipeToShell,
    /// Overwriting what nobody gets back.
    Overwrite,
    /// Changing owners or modes of a whole system or home.
    Permissions,
    /// Deleting things of a service: clusters, buckets, repositories, packages.
    Service,
    /// Ending the machine, its users, its processes or its firewall.
    System,
    /// Processes that multiply without end.
    ForkBomb,
    /// A line too long, too deep or too large to be judged.
    TooComplex,
    /// Publishing what nobody can take back.
    Publish,
}

impl GuardRule {
    /// How much what it finds weighs.
    #[must_use]
    pub const fn weight(self) -> FloorWeight {
        match self {
            Self::Publish => FloorWeight::Publishes,
            Self::DeleteSystem
            | Self::DeleteHome
            | Self::DeleteGit
            | Self::DeleteWorkspace
            | Self::DeleteOutside
            | Self::DeleteWork
            | Self::DeleteUnknown
            | Self::ForcePush
            | Self::DiscardChanges
            | Self::GitClean
            | Self::GitHistory
            | Self::Disk
            | Self::Database
            | Self::PipeToShell
            | Self::Overwrite
            | Self::Permissions
            | Self::Service
            | Self::System
            | Self::ForkBomb
            | Self::TooComplex => FloorWeight::Destroys,
        }
    }

    /// Whether it holds what is known to destroy something, and not what cannot be known before it runs.
    pub(crate) const fn is_certain(self) -> bool {
        !matches!(self, Self::DeleteUnknown | Self::TooComplex)
    }

    /// The name as verdicts and refusals write it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::DeleteSystem => "delete-system",
            Self::DeleteHome => "delete-home",
            Self::DeleteGit => "delete-git",
            Self::DeleteWorkspace => "delete-workspace",
            Self::DeleteOutside => "delete-outside",
            Self::DeleteWork => "delete-work",
            Self::DeleteUnknown => "delete-unknown",
            Self::ForcePush => "force-push",
            Self::DiscardChanges => "discard-changes",
            Self::GitClean => "git-clean",
            Self::GitHistory => "git-history",
            Self::Disk => "disk",
            Self::Database => "database",
            Self::PipeToShell => "pipe-to-shell",
            Self::Overwrite => "overwrite",
            Self::Permissions => "permissions",
            Self::Service => "service",
            Self::System => "system",
            Self::ForkBomb => "fork-bomb",
            Self::TooComplex => "too-complex",
            Self::Publish => "publish",
        }
    }
}

/// Why a command is held.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Hold {
    /// The rule that holds it.
    pub(crate) rule: GuardRule,
    /// Why, in words for a person.
    pub(crate) reason: String,
    /// What would be hit.
    pub(crate) effect: Effect,
}

impl Hold {
    /// A hold that hits nothing that could be counted.
    pub(crate) fn plain(rule: GuardRule, reason: &str) -> Self {
        Self { rule, reason: reason.to_owned(), effect: Effect::default() }
    }

    /// A hold of code that cannot be read before it runs.
    pub(crate) fn of_foreign_code(origin: &Origin) -> Self {
        let reason = match origin {
            Origin::Downloaded => "code from the network would be run without anybody reading it",
            Origin::Decoded | Origin::Output | Origin::Variable(_) => {
                "code would be run that was encoded or transformed, so that nobody can read it before"
            }
        };
        Self::plain(GuardRule::PipeToShell, reason)
    }

    /// A hold with its card.
    pub(crate) fn with(rule: GuardRule, reason: String, effect: Effect) -> Self {
        Self { rule, reason, effect }
    }
}

/// One command of the line with what was found about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Segment {
    /// The text as written.
    pub(crate) command: String,
    /// Why it is held, if it is.
    pub(crate) hold: Option<Hold>,
}
