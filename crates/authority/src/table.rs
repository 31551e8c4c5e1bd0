//! The compiled permissions: what the policies answer for every role, as a table that a lookup reads in no time.
//!
//! The table stands in the session's first record, so it is frozen with the session and needs no Cedar to be read. A
//! resource is found by its own name or by the nearest name above it: `src/a.rs` by `src`, `api.example.com` by
//! `example.com`, `mcp__github__push` by `mcp__github`.

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

/// What kind of thing a permission is about, and how names of that kind lie below each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// A tool; `mcp__github` is above `mcp__github__push`.
    Tool,
    /// A path relative to the workspace; `.` is above all of them.
    Path,
    /// `public` or `private`.
    Memory,
    /// A host; `example.com` is above `api.example.com`.
    Host,
    /// The workspace as a whole.
    Workspace,
}

impl Kind {
    /// The kind that a permission is about.
    pub(super) const fn of(permission: Permission) -> Self {
        match permission {
            Permission::CanExecuteTasks => Self::Tool,
            Permission::CanEditSource | Permission::Write => Self::Path,
            Permission::CanAccessPrivateMemories | Permission::CanWriteMemories => Self::Memory,
            Permission::ContinueAfterConvergence | Permission::ControlTheGuard => Self::Workspace,
            Permission::Reach => Self::Host,
        }
    }

    /// The one spelling of a name, so that `./src/` and `src` are the same.
    pub(super) fn normal(self, name: &str) -> String {
        match self {
            Self::Tool | Self::Memory | Self::Workspace => name.to_owned(),
            Self::Host => name.trim_end_matches('.').to_ascii_lowercase(),
            Self::Path => normal_path(name),
        }
    }

    /// The names above one, nearest first.
    pub(super) fn above(self, name: &str) -> Box<dyn Iterator<Item = &str> + '_> {
        match self {
            Self::Memory | Self::Workspace => Box::new(std::iter::empty()),
            Self::Tool => Box::new(cut_from_the_end(name, "__")),
            Self::Host => {
                Box::new(std::iter::successors(Some(name), |name| name.split_once('.').map(|(_, up)| up)).skip(1))
            }
            Self::Path if name == "." || name == "/" => Box::new(std::iter::empty()),
            Self::Path if name.starts_with('/') => {
                Box::new(cut_from_the_end(name, "/").filter(|up| !up.is_empty()).chain(["/"]))
            }
            // A path that leads out of the workspace is below nothing in it.
            Self::Path if name == ".." || name.starts_with("../") => Box::new(std::iter::empty()),
            Self::Path => Box::new(cut_from_the_end(name, "/").chain(["."])),
        }
    }
}

fn cut_from_the_end<'a>(name: &'a str, separator: &'static str) -> impl Iterator<Item = &'a str> {
    std::iter::successors(Some(name), move |name| name.rsplit_once(separator).map(|(up, _)| up)).skip(1)
}

/// A path without `.`, doubled slashes and `..` where that is known; nothing at all is the workspace itself.
fn normal_path(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/').filter(|part| !part.is_empty() && *part != ".") {
        match (part, parts.last()) {
            ("..", Some(last)) if *last != ".." => drop(parts.pop()),
            ("..", None) if path.starts_with('/') => {}
            (_, _) => parts.push(part),
        }
    }
    let joined = parts.join("/");
    match (path.starts_with('/'), joined.is_empty()) {
        (true, _) => format!("/{joined}"),
        (false, true) => ".".to_owned(),
        (false, false) => joined,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_one_spelling_and_the_nearest_above_comes_first() {
        let above = |kind: Kind, name: &str| kind.above(name).map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(above(Kind::Path, "a/b/c"), ["a/b", "a", "."]);
        assert_eq!(above(Kind::Path, "/etc/x"), ["/etc", "/"]);
        assert_eq!(above(Kind::Path, "."), Vec::<String>::new());
        assert_eq!(above(Kind::Path, "../x"), Vec::<String>::new(), "outside is not below the workspace");
        assert_eq!(above(Kind::Host, "api.example.com"), ["example.com", "com"]);
        assert_eq!(above(Kind::Tool, "mcp__github__push"), ["mcp__github", "mcp"]);
        for (given, normal) in [
            ("./a//b/", "a/b"),
            ("", "."),
            ("a/../b", "b"),
            ("a/../../b", "../b"),
            ("/..//x", "/x"),
            ("../..", "../.."),
        ] {
            assert_eq!(Kind::Path.normal(given), normal, "{given}");
        }
        assert_eq!(Kind::Host.normal("API.Example.com."), "api.example.com");
    }
}
