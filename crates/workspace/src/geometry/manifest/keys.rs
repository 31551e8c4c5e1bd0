//! The keys that a manifest may hold: the seed's with their types, the engine's settings, and sections owned elsewhere.

use tripwire_core::policy::Policy;

/// What may be under a key of the seed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A whole number from 0 to [`COUNT_MAX`].
    Count,
    /// A whole number from 0 to 100.
    Percent,
    /// `true` or `false`.
    Flag,
    /// `true`, `false` or `null`.
    FlagOrNull,
    /// A text or `null`.
    TextOrNull,
    /// A list of texts.
    Texts,
}

impl Kind {
    /// The words for a message.
    pub(crate) const fn expected(self) -> &'static str {
        match self {
            Self::Count => "a whole number from 0 to 1000000000",
            Self::Percent => "a whole number from 0 to 100",
            Self::Flag => "`true` or `false`",
            Self::FlagOrNull => "`true`, `false` or `null`",
            Self::TextOrNull => "a text or `null`",
            Self::Texts => "a list of texts such as `[\"developer\"]`",
        }
    }
}

/// What an edit of a key means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// A person may edit it while a session runs; it never enters the frozen hash.
    Live,
    /// Frozen at session start; a later edit is drift.
    Frozen,
}

/// One key of the seed.
pub(crate) struct Key {
    pub(crate) path: &'static str,
    pub(crate) kind: Kind,
    pub(crate) role: Role,
}

/// Shortens the table below.
const fn key(path: &'static str, kind: Kind, role: Role) -> Key {
    Key { path, kind, role }
}

/// Every key of the seed's configuration reference.
pub(crate) const SEED_KEYS: &[Key] = &[
    key("safety.iteration_count", Kind::Count, Role::Live),
    key("safety.max_iterations", Kind::Count, Role::Frozen),
    key("safety.consecutive_failures", Kind::Count, Role::Live),
    key("safety.max_consecutive_failures", Kind::Count, Role::Frozen),
    key("safety.last_tool_signatures", Kind::Texts, Role::Live),
    key("safety.signature_history_depth", Kind::Count, Role::Frozen),
    key("safety.soft_loop_threshold", Kind::Count, Role::Frozen),
    key("safety.hard_loop_threshold", Kind::Count, Role::Frozen),
    key("safety.loop_detected", Kind::Flag, Role::Live),
    key("context.estimated_usage_pct", Kind::Percent, Role::Live),
    key("context.warning_threshold", Kind::Percent, Role::Frozen),
    key("context.mandatory_threshold", Kind::Percent, Role::Frozen),
    key("context.hard_block_threshold", Kind::Percent, Role::Frozen),
    key("context.last_compaction", Kind::TextOrNull, Role::Live),
    key("dirty_bits.code_modified", Kind::Flag, Role::Live),
    key("dirty_bits.tests_run", Kind::Flag, Role::Live),
    key("dirty_bits.tests_passing", Kind::FlagOrNull, Role::Live),
    key("dirty_bits.docs_updated", Kind::Flag, Role::Live),
    key("identity.agent_checksum", Kind::TextOrNull, Role::Frozen),
    key("identity.workflow_binding", Kind::TextOrNull, Role::Frozen),
    key("identity.authorized_roles", Kind::Texts, Role::Frozen),
];

/// Sections that other parts of the system own; what may be inside is known to them.
const OPEN_SECTIONS: &[&str] = &["engines", "sandbox", "notify", "fleet"];

/// The section of tools, which holds limits of single ones beside its settings.
pub(super) const TOOLS: &str = "tools";
/// The section of the roles; its keys are names of a person's choice.
pub(crate) const ROLES: &str = "roles";

/// Every path that may be in a manifest, the seed's and the engine's.
pub(crate) struct Table {
    paths: Vec<&'static str>,
}

/// What a name at the top of a manifest is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Section {
    /// A group of keys that this table knows.
    Keys,
    /// A setting without a group (`profile`).
    Value,
    /// A group that another part owns.
    Open,
    /// The roles, each a list of its attributes.
    Roles,
    /// Nothing that is known.
    Unknown,
}

impl Table {
    /// The table, from the one definition that the engine has of its settings.
    pub(crate) fn new() -> Self {
        let settings = Policy::default().rows();
        let seeds = SEED_KEYS.iter().map(|key| key.path);
        Self { paths: seeds.chain(settings.iter().map(|row| row.path)).collect() }
    }

    /// Whether a path is known.
    pub(crate) fn has(&self, path: &str) -> bool {
        self.paths.contains(&path)
    }

    /// All known paths.
    pub(crate) fn paths(&self) -> impl Iterator<Item = &'static str> {
        self.paths.iter().copied()
    }

    /// All known names at the top.
    pub(crate) fn sections(&self) -> impl Iterator<Item = &'static str> {
        self.paths().filter_map(|path| path.split('.').next()).chain(OPEN_SECTIONS.iter().copied()).chain([ROLES])
    }

    /// What a name at the top is.
    pub(crate) fn section(&self, name: &str) -> Section {
        if self.has(name) {
            Section::Value
        } else if self.paths().any(|path| path.split_once('.').is_some_and(|(section, _)| section == name)) {
            Section::Keys
        } else if OPEN_SECTIONS.contains(&name) {
            Section::Open
        } else if name == ROLES {
            Section::Roles
        } else {
            Section::Unknown
        }
    }
}

/// The largest count that a manifest may hold.
pub(crate) const COUNT_MAX: u64 = 1_000_000_000;

/// The known name that looks most like a misspelt one, if any looks alike at all.
pub(crate) fn nearest<'a>(wrong: &str, known: impl Iterator<Item = &'a str>) -> Option<String> {
    let closest = known.map(|name| (strsim::osa_distance(wrong, name), name)).min()?;
    (closest.0 <= wrong.chars().count() / 3).then(|| closest.1.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_misspelt_key_finds_its_neighbour_and_a_strange_one_finds_none() {
        let known = || SEED_KEYS.iter().map(|key| key.path);
        assert_eq!(nearest("safety.max_iteration", known()).as_deref(), Some("safety.max_iterations"));
        assert_eq!(nearest("safety.max_itertaions", known()).as_deref(), Some("safety.max_iterations"));
        assert_eq!(nearest("weather", known()), None);
        assert_eq!(nearest("monye", ["mode", "money"].into_iter()).as_deref(), Some("money"));
    }
}
