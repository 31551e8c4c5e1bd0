//! The repository as texts: parsed once, then every check is a pure function of it.

use std::collections::{BTreeMap, BTreeSet};

use super::finding::{Finding, Rule};
use super::manifest::Manifest;
use super::reach;
use super::rust::{Role, SourceFile};

/// All files of the repository, with the Rust sources and manifests already parsed.
pub(crate) struct Workspace {
    /// Every text by its path relative to the root.
    pub(crate) files: BTreeMap<String, String>,
    /// The Rust files of the member crates, in path order.
    pub(crate) sources: Vec<SourceFile>,
    /// The root manifest, empty when it is missing or broken (which is then a finding).
    pub(crate) root: Manifest,
    /// One manifest per member crate.
    pub(crate) members: Vec<Manifest>,
    /// Rust files that no target of their crate reaches.
    pub(crate) unreached: BTreeSet<String>,
    /// Files that could not be parsed.
    pub(crate) broken: Vec<Finding>,
}

impl Workspace {
    pub(crate) fn new(files: BTreeMap<String, String>) -> Self {
        let mut broken = Vec::new();
        let root = manifest("Cargo.toml", &files, &mut broken).unwrap_or_else(|| {
            broken.push(Finding::new(
                "Cargo.toml",
                1,
                Rule::Unreadable,
                "the root manifest is missing or broken; run tidy at the root of the workspace",
            ));
            Manifest { path: "Cargo.toml".to_owned(), text: String::new(), table: toml::Table::new() }
        });
        let members: Vec<Manifest> = files
            .keys()
            .filter(|path| is_member_manifest(path))
            .filter_map(|path| manifest(path, &files, &mut broken))
            .collect();
        let mut sources = Vec::new();
        for (path, text) in files.iter().filter(|(path, _)| is_member_source(path)) {
            match SourceFile::parse(path, text) {
                Ok(source) => sources.push(source),
                Err(finding) => broken.push(finding),
            }
        }
        let reached = reach::reach(&sources, &members);
        let mut unreached = BTreeSet::new();
        for source in &mut sources {
            match reached.get(&source.path) {
                Some(role) => source.role = *role,
                None => {
                    unreached.insert(source.path.clone());
                }
            }
        }
        Self { files, sources, root, members, unreached, broken }
    }

    /// The rest of the project is expected from the moment the engine exists: before that a missing document is work
    /// to come, after it a broken promise.
    pub(crate) fn has_engine(&self) -> bool {
        ["crates/core/src/chain.rs", "crates/core/src/chain/mod.rs"].iter().any(|path| self.files.contains_key(*path))
    }

    /// Sources that make up the product, as opposed to tests and benches.
    pub(crate) fn production(&self) -> impl Iterator<Item = &SourceFile> {
        self.sources.iter().filter(|source| source.role == Role::Production)
    }
}

fn manifest(path: &str, files: &BTreeMap<String, String>, broken: &mut Vec<Finding>) -> Option<Manifest> {
    let text = files.get(path)?;
    match text.parse::<toml::Table>() {
        Ok(table) => Some(Manifest { path: path.to_owned(), text: text.clone(), table }),
        Err(error) => {
            broken.push(Finding::new(path, 1, Rule::Unreadable, format!("not valid toml: {}", error.message())));
            None
        }
    }
}

fn is_member_manifest(path: &str) -> bool {
    let parts: Vec<&str> = path.split('/').collect();
    matches!(parts.as_slice(), ["crates", _, "Cargo.toml"] | ["xtask", "Cargo.toml"])
}

fn is_member_source(path: &str) -> bool {
    path.ends_with(".rs") && (path.starts_with("crates/") || path.starts_with("xtask/"))
}

#[cfg(test)]
mod tests {
    use super::super::testing::workspace;

    #[test]
    fn broken_rust_and_broken_toml_are_findings_and_not_silence() {
        let ws = workspace(&[
            ("Cargo.toml", "[workspace]\n"),
            ("crates/a/Cargo.toml", "not toml"),
            ("crates/a/src/lib.rs", "//! x\nfn {"),
        ]);
        let broken: Vec<String> = ws.broken.iter().map(ToString::to_string).collect();
        assert_eq!(broken.len(), 2, "{broken:?}");
        assert!(broken[0].starts_with("crates/a/Cargo.toml:1: unreadable: not valid toml"));
        assert!(broken[1].starts_with("crates/a/src/lib.rs:2: unreadable: not valid rust"));
    }

    #[test]
    fn a_missing_root_manifest_is_a_finding() {
        assert_eq!(workspace(&[]).broken.len(), 1);
    }

    #[test]
    fn only_the_members_own_files_are_sources() {
        let ws = workspace(&[
            ("Cargo.toml", "[workspace]\n"),
            ("crates/a/Cargo.toml", "[package]\nname = \"a\"\n"),
            ("crates/a/src/lib.rs", "//! x\n"),
            ("fuzz/fuzz_targets/a.rs", "not rust at all"),
        ]);
        assert!(ws.broken.is_empty());
        assert_eq!(ws.sources.len(), 1);
        assert_eq!(ws.members.len(), 1);
        assert_eq!(ws.members[0].package_folder(), "crates/a");
        assert_eq!(ws.members[0].line_of("name"), 2);
    }
}
