//! `MANIFEST.yaml`: the seed's counters, bits and thresholds as typed values, and our own sections as scalar paths.
//!
//! Reading is strict, because a key that is not read is a limit that does not hold: an unknown key, a wrong type or
//! a key that is there twice refuses the whole file with line and fix. A key that is missing has the seed's default.
//! The known keys are the seed's and those of the engine's table of settings.

pub mod error;
pub(crate) mod keys;
pub mod policy_part;
pub mod store;
pub mod template;
pub(crate) mod tree;

pub use error::{ManifestError, ManifestProblem};
use keys::{COUNT_MAX, Kind, Role, SEED_KEYS, Section, Table};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use tree::{Node, Value};
use tripwire_core::policy::ToolLimits;

/// A manifest that was read and found right.
#[derive(Debug, Clone)]
pub struct Manifest {
    file: PathBuf,
    text: String,
    root: Node,
    live: Live,
    thresholds: Thresholds,
    identity: Identity,
}

/// The largest manifest that is read.
pub const MANIFEST_BYTES_MAX: u64 = 256 * 1024;

impl Manifest {
    /// Reads a manifest from its file.
    pub fn load(file: &Path) -> Result<Self, ManifestError> {
        let bytes = tripwire_fs::file::read_bounded(file, MANIFEST_BYTES_MAX)
            .map_err(|error| ManifestError::new(file, None, error.into()))?;
        Self::parse(file, bytes)
    }

    /// Reads a manifest from bytes; `file` only names it in errors.
    pub fn parse(file: &Path, bytes: Vec<u8>) -> Result<Self, ManifestError> {
        if u64::try_from(bytes.len()).unwrap_or(u64::MAX) > MANIFEST_BYTES_MAX {
            let too_big = tripwire_fs::file::ReadError::TooBig { path: file.to_owned(), limit: MANIFEST_BYTES_MAX };
            return Err(ManifestError::new(file, None, too_big.into()));
        }
        let text = String::from_utf8(bytes).map_err(|error| {
            let good = error.as_bytes().get(..error.utf8_error().valid_up_to()).unwrap_or_default();
            let line = good.iter().filter(|byte| **byte == b'\n').count() + 1;
            ManifestError::new(file, u64::try_from(line).ok(), ManifestProblem::NotUtf8)
        })?;
        let root = tree::parse(&text).map_err(|(line, problem)| ManifestError::new(file, line, problem))?;
        check(&root).map_err(|(line, problem)| ManifestError::new(file, Some(line), problem))?;
        let view = View(&root);
        let (live, thresholds, identity) = (view.live(), view.thresholds(), view.identity());
        Ok(Self { file: file.to_owned(), text, root, live, thresholds, identity })
    }

    /// The file that it was read from.
    #[must_use]
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// The roles as they are written, in the file's order; an empty list is a role without attributes.
    #[must_use]
    pub fn roles(&self) -> Vec<WrittenRole> {
        let section = self.root.entries().iter().find(|entry| entry.key == keys::ROLES);
        let entries = section.map(|section| section.node.entries()).unwrap_or_default();
        let attributes = |node: &Node| match &node.value {
            Value::List(items) => items.iter().filter_map(Node::scalar).collect(),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Text(_) | Value::Map(_) => Vec::new(),
        };
        let role = |entry: &tree::Entry| WrittenRole {
            name: entry.key.clone(),
            attributes: attributes(&entry.node),
            line: entry.line,
        };
        entries.iter().map(role).collect()
    }

    /// The text of the file.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Counters and bits that a person may edit while a session runs.
    #[must_use]
    pub const fn live(&self) -> &Live {
        &self.live
    }

    /// Counters and bits, where a key that is missing keeps the value that it had.
    ///
    /// Deleting a line is not setting it to zero, and an editor that truncates a file before it writes must not look
    /// like a person who cleared every counter.
    #[must_use]
    pub fn live_over(&self, before: &Live) -> Live {
        let view = View(&self.root);
        let missing = |path: &str| self.root.at(path).is_none();
        let mut live = view.live();
        let keep = [
            ("safety.iteration_count", &mut live.iteration_count, before.iteration_count),
            ("safety.consecutive_failures", &mut live.consecutive_failures, before.consecutive_failures),
            ("context.estimated_usage_pct", &mut live.estimated_usage_pct, before.estimated_usage_pct),
        ];
        for (_, value, old) in keep.into_iter().filter(|(path, ..)| missing(path)) {
            *value = old;
        }
        let bits = &mut live.dirty_bits;
        let keep = [
            ("safety.loop_detected", &mut live.loop_detected, before.loop_detected),
            ("dirty_bits.code_modified", &mut bits.code_modified, before.dirty_bits.code_modified),
            ("dirty_bits.tests_run", &mut bits.tests_run, before.dirty_bits.tests_run),
            ("dirty_bits.docs_updated", &mut bits.docs_updated, before.dirty_bits.docs_updated),
        ];
        for (_, value, old) in keep.into_iter().filter(|(path, ..)| missing(path)) {
            *value = old;
        }
        if missing("dirty_bits.tests_passing") {
            bits.tests_passing = before.dirty_bits.tests_passing;
        }
        if missing("safety.last_tool_signatures") {
            live.last_tool_signatures.clone_from(&before.last_tool_signatures);
        }
        if missing("context.last_compaction") {
            live.last_compaction.clone_from(&before.last_compaction);
        }
        live
    }

    /// Whether the file says nothing at all.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.root.entries().is_empty()
    }

    /// The seed's thresholds, frozen at session start.
    #[must_use]
    pub const fn thresholds(&self) -> &Thresholds {
        &self.thresholds
    }

    /// The identity section, frozen at session start.
    #[must_use]
    pub const fn identity(&self) -> &Identity {
        &self.identity
    }

    /// Every scalar of the file with its dotted path (`gate.cooldown_duration_ms`, list items as `key[0]`).
    #[must_use]
    pub fn scalars(&self) -> Vec<Scalar> {
        let mut found = Vec::new();
        collect(&self.root, "", &mut found);
        found
    }

    /// The scalars that are frozen at session start: thresholds, identity and our own sections, never a counter.
    #[must_use]
    pub fn settings(&self) -> Vec<Scalar> {
        let live = |path: &str| {
            let name = path.split('[').next().unwrap_or(path);
            SEED_KEYS.iter().any(|key| key.path == name && key.role == Role::Live)
        };
        self.scalars().into_iter().filter(|scalar| !live(&scalar.path)).collect()
    }
}

/// One value of the file, as text: what it means is decided by the table that knows its path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Scalar {
    /// The dotted path.
    pub path: String,
    /// The value; `null` for nothing.
    pub text: String,
    /// The line, from 1.
    pub line: u64,
}

/// A role as it is written, before anybody knows whether its attributes exist.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WrittenRole {
    /// Its name.
    pub name: String,
    /// The names of its attributes.
    pub attributes: Vec<String>,
    /// The line, from 1.
    pub line: u64,
}

/// A bit, named instead of `bool` so that no call site shows a bare `true`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(from = "bool", into = "bool")]
pub enum Bit {
    /// `false`.
    #[default]
    Clear,
    /// `true`.
    Set,
}

impl From<bool> for Bit {
    fn from(set: bool) -> Self {
        if set { Self::Set } else { Self::Clear }
    }
}

impl From<Bit> for bool {
    fn from(bit: Bit) -> Self {
        match bit {
            Bit::Clear => false,
            Bit::Set => true,
        }
    }
}

/// What a person may edit while a session runs.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Live {
    /// Iterations begun in this session.
    pub iteration_count: u64,
    /// Iterations in a row that moved nothing.
    pub consecutive_failures: u64,
    /// Whether a loop was found and not yet cleared.
    pub loop_detected: Bit,
    /// The newest tool signatures.
    pub last_tool_signatures: Vec<String>,
    /// The estimated use of the context window, in percent.
    pub estimated_usage_pct: u64,
    /// When the context was last compacted.
    pub last_compaction: Option<String>,
    /// What was observed about code, tests and documents.
    pub dirty_bits: DirtyBits,
}

/// The seed's dirty bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct DirtyBits {
    /// Code was changed.
    pub code_modified: Bit,
    /// Tests ran after the last change.
    pub tests_run: Bit,
    /// Whether they passed, once they ran.
    pub tests_passing: Option<Bit>,
    /// Documents follow the code.
    pub docs_updated: Bit,
}

/// The seed's thresholds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Thresholds {
    /// Iterations of a session.
    pub max_iterations: u64,
    /// Failures in a row.
    pub max_consecutive_failures: u64,
    /// How many signatures are compared.
    pub signature_history_depth: u64,
    /// Repeats that are noted.
    pub soft_loop: u64,
    /// Repeats that hold.
    pub hard_loop: u64,
    /// Context use that warns, in percent.
    pub context_warning_pct: u64,
    /// Context use that compacts, in percent.
    pub context_mandatory_pct: u64,
    /// Context use that blocks, in percent.
    pub context_hard_block_pct: u64,
}

/// The seed's identity section.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// `sha256:` over the frozen configuration.
    pub agent_checksum: Option<String>,
    /// The caller's correlation id.
    pub workflow_binding: Option<String>,
    /// Roles that may act.
    pub authorized_roles: Vec<String>,
}

/// What is wrong, and in which line.
type Wrong = (u64, ManifestProblem);

/// Checks sections, keys and types of the whole document.
fn check(root: &Node) -> Result<(), Wrong> {
    if !matches!(root.value, Value::Map(_) | Value::Null) {
        return Err((root.line, ManifestProblem::NotSections { found: root.kind() }));
    }
    let table = Table::new();
    for entry in root.entries() {
        match table.section(&entry.key) {
            Section::Keys => check_section(&table, &entry.key, &entry.node)?,
            Section::Value => check_setting(&entry.key, &entry.node)?,
            Section::Open => {}
            Section::Roles => check_roles(&entry.node)?,
            Section::Unknown => {
                let nearest = keys::nearest(&entry.key, table.sections());
                return Err((entry.line, ManifestProblem::UnknownKey { key: entry.key.clone(), nearest }));
            }
        }
    }
    Ok(())
}

/// Checks one section; an empty one is as good as none.
fn check_section(table: &Table, name: &str, section: &Node) -> Result<(), Wrong> {
    if !matches!(section.value, Value::Map(_) | Value::Null) {
        return Err(wrong_type(name, section, "a group of keys"));
    }
    for entry in section.entries() {
        let path = format!("{name}.{}", entry.key);
        if let Some(key) = SEED_KEYS.iter().find(|key| key.path == path) {
            if !fits(key.kind, &entry.node) {
                return Err(wrong_type(&path, &entry.node, key.kind.expected()));
            }
        } else if table.has(&path) {
            check_setting(&path, &entry.node)?;
        } else if name == keys::TOOLS && matches!(entry.node.value, Value::Map(_)) {
            check_tool_limits(&path, &entry.node)?;
        } else {
            let nearest = keys::nearest(&path, table.paths());
            return Err((entry.line, ManifestProblem::UnknownKey { key: path, nearest }));
        }
    }
    Ok(())
}

/// Checks the limits of one tool; whether a value is one is the engine's business.
fn check_tool_limits(path: &str, limits: &Node) -> Result<(), Wrong> {
    for entry in limits.entries() {
        let path = format!("{path}.{}", entry.key);
        if !ToolLimits::KEYS.contains(&entry.key.as_str()) {
            return Err((entry.line, ManifestProblem::UnknownKey { key: path, nearest: None }));
        }
        check_setting(&path, &entry.node)?;
    }
    Ok(())
}

/// Checks the shape of the roles; which attributes there are is known to their owner.
fn check_roles(section: &Node) -> Result<(), Wrong> {
    if !matches!(section.value, Value::Map(_) | Value::Null) {
        return Err(wrong_type(keys::ROLES, section, "a group of keys"));
    }
    for entry in section.entries() {
        if !fits(Kind::Texts, &entry.node) {
            let path = format!("{}.{}", keys::ROLES, entry.key);
            return Err(wrong_type(&path, &entry.node, "a list of attributes, `[]` for none"));
        }
    }
    Ok(())
}

/// Checks the shape of a setting; its range is the engine's business, when the policy is made.
fn check_setting(path: &str, node: &Node) -> Result<(), Wrong> {
    let single = match &node.value {
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Text(_) => true,
        Value::List(items) => items.iter().all(|item| item.scalar().is_some()),
        Value::Map(_) => false,
    };
    if single { Ok(()) } else { Err(wrong_type(path, node, "a single value or a list of values")) }
}

/// A value of the wrong kind, in words.
fn wrong_type(path: &str, node: &Node, expected: &'static str) -> Wrong {
    let found = node.scalar().unwrap_or_else(|| node.kind().to_owned());
    (node.line, ManifestProblem::WrongType { key: path.to_owned(), found, expected })
}

/// Whether a value may be under a key of this kind.
fn fits(kind: Kind, node: &Node) -> bool {
    match kind {
        Kind::Count => whole(node).is_some_and(|number| number <= COUNT_MAX),
        Kind::Percent => whole(node).is_some_and(|number| number <= 100),
        Kind::Flag => matches!(node.value, Value::Bool(_)),
        Kind::FlagOrNull => matches!(node.value, Value::Bool(_) | Value::Null),
        Kind::TextOrNull => matches!(node.value, Value::Text(_) | Value::Null),
        Kind::Texts => match &node.value {
            Value::List(items) => items.iter().all(|item| matches!(item.value, Value::Text(_))),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Text(_) | Value::Map(_) => false,
        },
    }
}

/// A whole number in plain digits: no sign, no other base, no fraction.
fn whole(node: &Node) -> Option<u64> {
    match &node.value {
        Value::Number(text) if text.bytes().all(|byte| byte.is_ascii_digit()) => text.parse().ok(),
        Value::Number(_) | Value::Null | Value::Bool(_) | Value::Text(_) | Value::List(_) | Value::Map(_) => None,
    }
}

/// Lists the scalars below a node.
fn collect(node: &Node, path: &str, found: &mut Vec<Scalar>) {
    match &node.value {
        Value::Map(entries) => {
            for entry in entries {
                let below = if path.is_empty() { entry.key.clone() } else { format!("{path}.{}", entry.key) };
                collect(&entry.node, &below, found);
            }
        }
        Value::List(items) => {
            for (index, item) in items.iter().enumerate() {
                collect(item, &format!("{path}[{index}]"), found);
            }
        }
        Value::Null if path.is_empty() => {}
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Text(_) => {
            let text = node.scalar().unwrap_or_default();
            found.push(Scalar { path: path.to_owned(), text, line: node.line });
        }
    }
}

/// Typed reading of a document that was checked before; a missing key has the seed's default.
struct View<'a>(&'a Node);

impl View<'_> {
    fn live(&self) -> Live {
        Live {
            iteration_count: self.number("safety.iteration_count", 0),
            consecutive_failures: self.number("safety.consecutive_failures", 0),
            loop_detected: self.bit("safety.loop_detected").unwrap_or_default(),
            last_tool_signatures: self.texts("safety.last_tool_signatures").unwrap_or_default(),
            estimated_usage_pct: self.number("context.estimated_usage_pct", 0),
            last_compaction: self.text("context.last_compaction"),
            dirty_bits: DirtyBits {
                code_modified: self.bit("dirty_bits.code_modified").unwrap_or_default(),
                tests_run: self.bit("dirty_bits.tests_run").unwrap_or_default(),
                tests_passing: self.bit("dirty_bits.tests_passing"),
                docs_updated: self.bit("dirty_bits.docs_updated").unwrap_or_default(),
            },
        }
    }

    fn thresholds(&self) -> Thresholds {
        Thresholds {
            max_iterations: self.number("safety.max_iterations", 100),
            max_consecutive_failures: self.number("safety.max_consecutive_failures", 3),
            signature_history_depth: self.number("safety.signature_history_depth", 10),
            soft_loop: self.number("safety.soft_loop_threshold", 3),
            hard_loop: self.number("safety.hard_loop_threshold", 5),
            context_warning_pct: self.number("context.warning_threshold", 75),
            context_mandatory_pct: self.number("context.mandatory_threshold", 80),
            context_hard_block_pct: self.number("context.hard_block_threshold", 85),
        }
    }

    fn identity(&self) -> Identity {
        Identity {
            agent_checksum: self.text("identity.agent_checksum"),
            workflow_binding: self.text("identity.workflow_binding"),
            authorized_roles: self.texts("identity.authorized_roles").unwrap_or_else(|| vec!["developer".to_owned()]),
        }
    }

    fn number(&self, path: &str, default: u64) -> u64 {
        self.0.at(path).and_then(whole).unwrap_or(default)
    }

    fn bit(&self, path: &str) -> Option<Bit> {
        match self.0.at(path)?.value {
            Value::Bool(flag) => Some(flag.into()),
            Value::Null | Value::Number(_) | Value::Text(_) | Value::List(_) | Value::Map(_) => None,
        }
    }

    fn text(&self, path: &str) -> Option<String> {
        match &self.0.at(path)?.value {
            Value::Text(text) => Some(text.clone()),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::List(_) | Value::Map(_) => None,
        }
    }

    fn texts(&self, path: &str) -> Option<Vec<String>> {
        match &self.0.at(path)?.value {
            Value::List(items) => Some(items.iter().filter_map(Node::scalar).collect()),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Text(_) | Value::Map(_) => None,
        }
    }
}

#[cfg(test)]
mod tests;
