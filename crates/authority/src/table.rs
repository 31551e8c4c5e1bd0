//! The compiled permissions: what the policies answer for every role, as a table that a lookup reads in no time.
//!
//! The table stands in the session's first record, so it is frozen with the session and needs no Cedar to be read. A
//! resource is found by its own name or by the nearest name above it: `src/a.rs` by `src`, `api.example.com` by
//! `example.com`, `mcp__github__push` by `mcp__github`.

use super::expression::CommandRule;
use super::kind::Kind;
use super::role::Attributes;
use serde::ser::SerializeStruct as _;
use serde::{Deserialize, Serialize, Serializer};
use std::collections::BTreeMap;
use tripwire_core::input::{Grant, Permission};
use tripwire_core::record::chain::Digest;

/// Everything that the roles of a session may do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Permissions {
    /// The SHA-256 of the policy file that was compiled.
    pub(super) policy: Digest,
    pub(super) roles: BTreeMap<String, RoleRow>,
    /// Policies that speak of command lines.
    #[serde(default)]
    pub(super) rules: Vec<CommandRule>,
}

/// One role: its attributes, what its agents may do, and what agents that a policy names may do instead.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RoleRow {
    pub(super) attributes: Attributes,
    pub(super) agents: BTreeMap<String, Answers>,
    pub(super) others: Answers,
}

/// The answers for one agent of one role.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Answers {
    pub(super) can_execute_tasks: Cells,
    pub(super) can_edit_source: Cells,
    pub(super) write: Cells,
    pub(super) can_access_private_memories: Cells,
    pub(super) can_write_memories: Cells,
    pub(super) continue_after_convergence: Cells,
    pub(super) reach: Cells,
    #[serde(default = "Cells::granted")]
    pub(super) read: Cells,
}

impl Answers {
    /// The answers about a permission; controlling the guard is a person's, and no policy grants it.
    fn of(&self, permission: Permission) -> Option<&Cells> {
        Some(match permission {
            Permission::CanExecuteTasks => &self.can_execute_tasks,
            Permission::CanEditSource => &self.can_edit_source,
            Permission::Write => &self.write,
            Permission::CanAccessPrivateMemories => &self.can_access_private_memories,
            Permission::CanWriteMemories => &self.can_write_memories,
            Permission::ContinueAfterConvergence => &self.continue_after_convergence,
            Permission::Reach => &self.reach,
            Permission::Read => &self.read,
            Permission::ControlTheGuard => return None,
        })
    }
}

/// The answers for all resources: those that a policy names, and all others.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Cells {
    pub(super) elsewhere: Grant,
    #[serde(default)]
    pub(super) named: BTreeMap<String, Cell>,
}

impl Cells {
    /// What a session says that was frozen before the permission was there.
    const fn granted() -> Self {
        Self { elsewhere: Grant::Granted, named: BTreeMap::new() }
    }
}

impl Serialize for Cells {
    /// JSON leaves out what no policy names: most cells name nothing. A state file has a place for every field.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let is_short = serializer.is_human_readable() && self.named.is_empty();
        let mut fields = serializer.serialize_struct("Cells", if is_short { 1 } else { 2 })?;
        fields.serialize_field("elsewhere", &self.elsewhere)?;
        if !is_short {
            fields.serialize_field("named", &self.named)?;
        }
        fields.end()
    }
}

/// The answers for one named resource and for what is below it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Cell {
    pub(super) itself: Grant,
    pub(super) below: Grant,
}

/// Who asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Who<'a> {
    /// The role.
    pub role: &'a str,
    /// The agent's own name, where it has one that a policy may name.
    pub agent: Option<&'a str>,
}

impl<'a> Who<'a> {
    /// Any agent of a role.
    #[must_use]
    pub const fn role(role: &'a str) -> Self {
        Self { role, agent: None }
    }
}

impl Permissions {
    /// The SHA-256 of the policy file that was compiled.
    #[must_use]
    pub const fn policy_digest(&self) -> Digest {
        self.policy
    }

    /// The roles that there are.
    pub fn roles(&self) -> impl Iterator<Item = &str> {
        self.roles.keys().map(String::as_str)
    }

    /// The attributes of a role, if there is one of that name.
    #[must_use]
    pub fn attributes(&self, role: &str) -> Option<&Attributes> {
        self.roles.get(role).map(|row| &row.attributes)
    }

    /// Whether the role may do this to the resource. A role that is not defined may do nothing.
    #[must_use]
    pub fn grant(&self, who: Who<'_>, permission: Permission, resource: &str) -> Grant {
        let Some(row) = self.roles.get(who.role) else { return Grant::Denied };
        let answers = who.agent.and_then(|agent| row.agents.get(agent)).unwrap_or(&row.others);
        let Some(cells) = answers.of(permission) else { return Grant::Denied };
        if cells.named.is_empty() {
            return cells.elsewhere;
        }
        let name = Kind::of(permission).normal(resource);
        if let Some(cell) = cells.named.get(name.as_str()) {
            return cell.itself;
        }
        let nearest = Kind::of(permission).above(&name).find_map(|above| cells.named.get(above));
        nearest.map_or(cells.elsewhere, |cell| cell.below)
    }
}
