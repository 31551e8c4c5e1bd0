//! `MANIFEST.yaml`: the seed's counters, bits and thresholds as typed values, and our own sections as scalar paths.
//!
//! Reading is strict, because a key that nobody reads is a limit that does not hold: an unknown key, a wrong type or
//! a key that stands twice refuses the whole file with line and fix. A key that is missing has the seed's default.
//! The known keys are the seed's and those of the engine's table of settings.

pub mod error;
pub(crate) mod keys;
pub mod store;
pub mod template;
pub(crate) mod tree;

pub use error::{ManifestError, ManifestProblem};
use keys::{COUNT_MAX, Kind, Role, SEED_KEYS, Section, Table};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use tree::{Node, Value};

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
        let bytes = super::file::read_bounded(file, MANIFEST_BYTES_MAX)
            .map_err(|error| ManifestError::new(file, None, error.into()))?;
        Self::parse(file, bytes)
    }

    /// Reads a manifest from bytes; `file` only names it in errors.
    pub fn parse(file: &Path, bytes: Vec<u8>) -> Result<Self, ManifestError> {
        if u64::try_from(bytes.len()).unwrap_or(u64::MAX) > MANIFEST_BYTES_MAX {
            let too_big = super::file::ReadError::TooBig { path: file.to_owned(), limit: MANIFEST_BYTES_MAX };
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

    /// The text as it stands in the file.
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

    /// Refuses a key of a section that the engine's table does not cover (`engines`, `sandbox`, `notify`).
    ///
    /// All other sections were checked when the file was read; only their owners know the names of these.
    pub fn require_known(&self, known: &[&str]) -> Result<(), ManifestError> {
        let table = Table::new();
        let open = |path: &str| table.section(path.split(['.', '[']).next().unwrap_or(path)) == Section::Open;
        for scalar in self.scalars().iter().filter(|scalar| open(&scalar.path)) {
            let name = scalar.path.split('[').next().unwrap_or(&scalar.path);
            if !known.contains(&name) {
                let nearest = keys::nearest(name, known.iter().copied());
                let problem = ManifestProblem::UnknownKey { key: name.to_owned(), nearest };
                return Err(ManifestError::new(&self.file, Some(scalar.line), problem));
            }
        }
        Ok(())
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
        } else {
            let nearest = keys::nearest(&path, table.paths());
            return Err((entry.line, ManifestProblem::UnknownKey { key: path, nearest }));
        }
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

/// Whether a value may stand under a key of this kind.
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
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Manifest, ManifestError> {
        Manifest::parse(Path::new("MANIFEST.yaml"), text.as_bytes().to_vec())
    }

    fn refused(text: &str) -> String {
        let error = read(text).unwrap_err();
        format!("{error} | {}", error.hint())
    }

    #[test]
    fn an_empty_manifest_has_the_seeds_defaults() {
        let manifest = read("# nothing yet\n").unwrap();
        let fresh = read(template::FRESH).unwrap();
        assert_eq!(manifest.live(), fresh.live());
        assert_eq!(manifest.thresholds(), fresh.thresholds());
        assert_eq!(manifest.identity(), fresh.identity());
        assert_eq!(fresh.thresholds().max_iterations, 100);
        assert_eq!(fresh.identity().authorized_roles, ["developer"]);
        assert_eq!(fresh.live().dirty_bits.tests_passing, None);
    }

    #[test]
    fn a_persons_values_are_read_as_typed_values() {
        let manifest = read(
            "safety:\n  iteration_count: 12\n  loop_detected: true\n  last_tool_signatures:\n    - Edit(file=a.py)\n\
             context: {estimated_usage_pct: 77, last_compaction: 2026-02-28T15:30:00Z}\n\
             dirty_bits:\n  tests_run: true\n  tests_passing: false\n",
        )
        .unwrap();
        let live = manifest.live();
        assert_eq!((live.iteration_count, live.estimated_usage_pct), (12, 77));
        assert_eq!(live.loop_detected, Bit::Set);
        assert_eq!(live.last_tool_signatures, ["Edit(file=a.py)"]);
        assert_eq!(live.last_compaction.as_deref(), Some("2026-02-28T15:30:00Z"));
        assert_eq!(live.dirty_bits.tests_passing, Some(Bit::Clear));
    }

    #[test]
    fn our_sections_come_out_as_dotted_scalars_with_their_lines() {
        let text = "profile: strict\ngate:\n  max_tokens_per_minute: 50000\n  cooldown_duration_ms: 60000\n\
                    loops: {loop_similarity_threshold: 0.9}\nengines:\n  sensitive_paths: [a/b, 'c d']\n";
        let scalars = read(text).unwrap().scalars();
        let shown: Vec<_> = scalars.iter().map(|s| format!("{}={}@{}", s.path, s.text, s.line)).collect();
        assert_eq!(
            shown,
            [
                "profile=strict@1",
                "gate.max_tokens_per_minute=50000@3",
                "gate.cooldown_duration_ms=60000@4",
                "loops.loop_similarity_threshold=0.9@5",
                "engines.sensitive_paths[0]=a/b@7",
                "engines.sensitive_paths[1]=c d@7",
            ]
        );
    }

    #[test]
    fn settings_hold_thresholds_and_never_counters() {
        let paths: Vec<_> = read(template::FRESH).unwrap().settings().into_iter().map(|scalar| scalar.path).collect();
        assert!(paths.contains(&"safety.max_iterations".to_owned()));
        assert!(paths.contains(&"identity.authorized_roles[0]".to_owned()));
        for path in &paths {
            assert!(!path.starts_with("dirty_bits") && !path.ends_with("_count"), "{path}");
        }
    }

    #[test]
    fn a_setting_that_the_table_does_not_know_is_refused_with_its_line() {
        let said = refused("gate:\n  max_tokens_per_minut: 5\n");
        assert!(said.contains("`MANIFEST.yaml` line 2: unknown key `gate.max_tokens_per_minut`"), "{said}");
        assert!(said.contains("did you mean `gate.max_tokens_per_minute`"), "{said}");
        let said = refused("gate:\n  max_tokens_per_minute: {a: 1}\n");
        assert!(said.contains("must be a single value or a list"), "{said}");
        read("context:\n  default_window: 1000000\ndirty_bits:\n  api_paths: [src/api, src/b]\n").unwrap();
    }

    #[test]
    fn every_setting_of_the_engine_is_accepted_and_comes_out_as_a_setting() {
        for row in tripwire_core::policy::Policy::default().rows() {
            let text = match row.path.split_once('.') {
                Some((section, key)) => format!("{section}:\n  {key}: {}\n", sample(row.path, &row.value)),
                None => format!("{}: {}\n", row.path, sample(row.path, &row.value)),
            };
            let manifest = read(&text).unwrap_or_else(|error| panic!("{text}: {error}"));
            let settings = manifest.settings();
            assert!(settings.iter().any(|scalar| scalar.path.starts_with(row.path)), "{text}");
        }
    }

    /// A value in the manifest's own type: the seed writes roles as a list and nothing as `null`.
    fn sample(path: &str, value: &str) -> String {
        match path {
            "identity.authorized_roles" => format!("[{value}]"),
            "identity.workflow_binding" => "null".to_owned(),
            _ if value.is_empty() => "\"\"".to_owned(),
            _ => value.to_owned(),
        }
    }

    #[test]
    fn a_section_with_an_owner_elsewhere_is_checked_by_its_owner() {
        let manifest = read("engines:\n  sensitive_path: [a]\ngate:\n  cooldown_duration_ms: 1\n").unwrap();
        let error = manifest.require_known(&["engines.sensitive_paths"]).unwrap_err();
        assert_eq!(error.to_string(), "`MANIFEST.yaml` line 2: unknown key `engines.sensitive_path`");
        assert!(error.hint().contains("`engines.sensitive_paths`"), "{}", error.hint());
        manifest.require_known(&["engines.sensitive_path"]).unwrap();
    }

    #[test]
    fn an_unknown_key_is_refused_with_line_and_neighbour() {
        let said = refused("safety:\n  # a typing error\n  max_iteration: 5\n");
        assert!(said.contains("line 3: unknown key `safety.max_iteration`"), "{said}");
        assert!(said.contains("did you mean `safety.max_iterations`"), "{said}");
        let said = refused("saftey:\n  max_iterations: 5\n");
        assert!(said.contains("line 1: unknown key `saftey`") && said.contains("`safety`"), "{said}");
    }

    #[test]
    fn a_wrong_type_is_refused_with_line_value_and_wish() {
        for (text, wanted) in [
            ("safety:\n  max_iterations: many\n", "line 2: `safety.max_iterations` is `many`, but must be a whole"),
            ("safety:\n  max_iterations: -1\n", "is `-1`"),
            ("safety:\n  max_iterations: 1.5\n", "is `1.5`"),
            ("safety:\n  max_iterations: 0x10\n", "is `0x10`"),
            ("safety:\n  max_iterations: 1_000\n", "is `1_000`"),
            ("safety:\n  max_iterations: 99999999999999999999\n", "is `99999999999999999999`"),
            ("safety:\n  max_iterations: \"5\"\n", "is `5`"),
            ("safety:\n  max_iterations:\n", "is `null`"),
            ("safety:\n  max_iterations: [1]\n", "is `a list`"),
            ("safety: 5\n", "line 1: `safety` is `5`, but must be a group of keys"),
            ("context:\n  warning_threshold: 101\n", "from 0 to 100"),
            ("dirty_bits:\n  tests_run: yes\n", "is `yes`, but must be `true` or `false`"),
            ("dirty_bits:\n  tests_run: null\n", "is `null`, but must be `true` or `false`"),
            ("identity:\n  authorized_roles: developer\n", "a list of texts"),
            ("identity:\n  authorized_roles: [1]\n", "a list of texts"),
            ("- safety\n", "holds a list"),
            ("hello\n", "holds a text"),
        ] {
            let said = refused(text);
            assert!(said.contains(wanted), "{text:?}: {said}");
        }
    }

    #[test]
    fn unreadable_yaml_is_refused_with_its_line() {
        for (text, wanted) in [
            ("safety: {iteration_count: 1\n", "unclosed bracket"),
            ("safety:\n  iteration_count: 1\n  iteration_count: 2\n", "line 3: the key `iteration_count` stands twice"),
            ("safety:\n  iteration_count: &a 1\n  consecutive_failures: *a\n", "line 2"),
            ("<<: {a: 1}\n", "merge"),
            ("safety: !!python/object:x {}\n", "tag"),
            ("safety:\n---\ncontext:\n", "documents"),
            ("safety:\n  a: \"unclosed\n", "MANIFEST.yaml"),
        ] {
            let said = refused(text);
            assert!(said.contains(wanted), "{text:?}: {said}");
            assert!(said.contains("MANIFEST.yaml"), "{text:?}: {said}");
            assert!(!said.contains('\n'), "{said}");
        }
        let deep = format!("gate: {}1{}", "[".repeat(200), "]".repeat(200));
        assert!(read(&deep).is_err(), "depth is bounded");
    }

    #[test]
    fn bytes_that_are_no_text_and_files_that_are_too_big_are_refused() {
        let error = Manifest::parse(Path::new("m"), b"safety:\n  a\xff: 1\n".to_vec()).unwrap_err();
        assert_eq!(error.to_string(), "`m` line 2: the file is not UTF-8 text");
        let big = vec![b'#'; usize::try_from(MANIFEST_BYTES_MAX).unwrap() + 1];
        let error = Manifest::parse(Path::new("m"), big).unwrap_err();
        assert!(error.to_string().contains("more than 262144 bytes"), "{error}");
    }

    #[test]
    fn a_missing_file_is_an_error_of_its_own() {
        let error = Manifest::load(Path::new("/nonexistent/MANIFEST.yaml")).unwrap_err();
        assert!(error.to_string().contains("cannot read `/nonexistent/MANIFEST.yaml`"), "{error}");
    }
}
