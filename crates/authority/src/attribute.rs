//! The attributes of roles, with the seed's names.

use serde::{Deserialize, Serialize};

/// What a role may do or has to do, with the seed's names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Attribute {
    /// May run tools at all.
    CanExecuteTasks,
    /// May change files in the source folders.
    CanEditSource,
    /// May change no file.
    ReadOnly,
    /// May read private memories.
    CanAccessPrivateMemories,
    /// May write memories.
    CanWriteMemories,
    /// Must stop once its work has converged.
    StopOnConvergence,
}

impl Attribute {
    /// All of them, in the seed's order.
    pub const ALL: [Self; 6] = [
        Self::CanExecuteTasks,
        Self::CanEditSource,
        Self::ReadOnly,
        Self::CanAccessPrivateMemories,
        Self::CanWriteMemories,
        Self::StopOnConvergence,
    ];

    /// The seed's name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::CanExecuteTasks => "can_execute_tasks",
            Self::CanEditSource => "can_edit_source",
            Self::ReadOnly => "read_only",
            Self::CanAccessPrivateMemories => "can_access_private_memories",
            Self::CanWriteMemories => "can_write_memories",
            Self::StopOnConvergence => "stop_on_convergence",
        }
    }

    /// The attribute of a name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|attribute| attribute.name() == name)
    }
}
