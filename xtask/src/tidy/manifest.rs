//! One parsed `Cargo.toml`.

/// A parsed `Cargo.toml`.
pub(crate) struct Manifest {
    /// Where it stands, relative to the root.
    pub(crate) path: String,
    /// Its text, for line numbers.
    pub(crate) text: String,
    /// Its content.
    pub(crate) table: toml::Table,
}

impl Manifest {
    /// The folder of the crate, which is how tidy names crates.
    pub(crate) fn package_folder(&self) -> &str {
        self.path.strip_suffix("/Cargo.toml").unwrap_or_default()
    }

    /// The line that declares `key`, so that a finding can be clicked.
    pub(crate) fn line_of(&self, key: &str) -> usize {
        self.text
            .lines()
            .position(|line| line.strip_prefix(key).is_some_and(|rest| rest.trim_start().starts_with(['=', '.'])))
            .map_or(1, |index| index + 1)
    }
}

/// One line of a dependency table of a member.
pub(crate) struct Dependency {
    /// The name on the left of the line.
    pub(crate) name: String,
    /// What is on its right.
    pub(crate) value: toml::Value,
}

impl Dependency {
    /// The crate's own name, also when the line renames it.
    pub(crate) fn real_name(&self, root: &Manifest) -> String {
        self.setting("package", root).and_then(toml::Value::as_str).unwrap_or(&self.name).to_owned()
    }

    pub(crate) fn setting<'a>(&'a self, key: &str, root: &'a Manifest) -> Option<&'a toml::Value> {
        self.value.get(key).or_else(|| {
            let table = root.table.get("workspace")?.get("dependencies")?;
            table.get(&self.name)?.get(key)
        })
    }

    /// Features of the member's line and of the root table together, as cargo unites them.
    pub(crate) fn features(&self, root: &Manifest) -> Vec<String> {
        let of_root = dependency_table(root)
            .into_iter()
            .find(|(name, _)| *name == self.name)
            .and_then(|(_, entry)| entry.get("features").cloned());
        [self.value.get("features").cloned(), of_root]
            .into_iter()
            .flatten()
            .filter_map(|features| features.as_array().cloned())
            .flatten()
            .filter_map(|feature| feature.as_str().map(str::to_owned))
            .collect()
    }
}

/// The one dependency table of the root manifest.
pub(crate) fn dependency_table(root: &Manifest) -> Vec<(String, toml::Value)> {
    root.table
        .get("workspace")
        .and_then(|workspace| workspace.get("dependencies")?.as_table())
        .map(entries)
        .unwrap_or_default()
}

/// The dependencies of a member in these sections, those for single platforms included.
pub(crate) fn dependencies(member: &Manifest, sections: &[&str]) -> Vec<Dependency> {
    let mut tables = vec![&member.table];
    if let Some(targets) = member.table.get("target").and_then(toml::Value::as_table) {
        tables.extend(targets.values().filter_map(toml::Value::as_table));
    }
    tables
        .into_iter()
        .flat_map(|table| sections.iter().filter_map(|section| table.get(*section)))
        .filter_map(toml::Value::as_table)
        .flat_map(entries)
        .map(|(name, value)| Dependency { name, value })
        .collect()
}

fn entries(table: &toml::Table) -> Vec<(String, toml::Value)> {
    table.iter().map(|(name, value)| (name.clone(), value.clone())).collect()
}
