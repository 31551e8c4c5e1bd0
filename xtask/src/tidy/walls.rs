//! The walls between the crates, read from their manifests: who may depend on whom, and who never sees the network.
//!
//! Dev-dependencies are exempt: a test may use what the product may not.

use super::finding::{Finding, Rule};
use super::workspace::{Manifest, Workspace};

/// One row of the table of walls.
struct Wall {
    folder: &'static str,
    ours: &'static [&'static str],
    foreign: Foreign,
}

/// Which crates of others a crate may use.
#[derive(Clone, Copy)]
enum Foreign {
    /// A closed list: the crate is small because its list is.
    Only(&'static [&'static str]),
    /// Whatever the one table holds, except what speaks to the network.
    NoNetwork,
    /// Whatever the one table holds.
    Any,
}

const WALLS: [Wall; 7] = [
    Wall {
        folder: "crates/core",
        ours: &[],
        foreign: Foreign::Only(&["postcard", "serde", "serde_json", "sha2", "thiserror"]),
    },
    Wall {
        folder: "crates/sandbox",
        ours: &[],
        foreign: Foreign::Only(&["rustix", "libc", "landlock", "seccompiler", "sha2", "thiserror"]),
    },
    Wall { folder: "crates/host", ours: &["tripwire-core", "tripwire-sandbox"], foreign: Foreign::NoNetwork },
    Wall { folder: "crates/agent", ours: &["tripwire-core", "tripwire-host"], foreign: Foreign::Any },
    Wall { folder: "crates/adapters", ours: &["tripwire-core", "tripwire-host"], foreign: Foreign::Any },
    Wall {
        folder: "crates/cli",
        ours: &["tripwire-core", "tripwire-sandbox", "tripwire-host", "tripwire-agent", "tripwire-adapters"],
        foreign: Foreign::NoNetwork,
    },
    Wall { folder: "xtask", ours: &["tripwire-cli"], foreign: Foreign::Any },
];

/// Crates whose purpose is the network; only agent and adapters may have them.
const NETWORK_CRATES: [&str; 16] = [
    "async-nats",
    "attohttpc",
    "axum",
    "curl",
    "hyper",
    "hyper-util",
    "isahc",
    "native-tls",
    "reqwest",
    "rustls",
    "tokio-rustls",
    "tokio-tungstenite",
    "tonic",
    "tower-http",
    "tungstenite",
    "ureq",
];

/// Features that turn an innocent crate into one of the above.
const NETWORK_FEATURES: [(&str, &str); 3] = [("tokio", "net"), ("tokio", "full"), ("rustix", "net")];

/// The crate that alone has a lint table of its own, because it alone may use unsafe code.
const OWN_LINTS: &str = "crates/sandbox";

const OUR_PREFIX: &str = "tripwire-";

pub(crate) fn check(ws: &Workspace, findings: &mut Vec<Finding>) {
    for member in &ws.members {
        check_lints(member, findings);
        let Some(wall) = WALLS.iter().find(|wall| wall.folder == member.package_folder()) else {
            findings.push(Finding::new(
                &member.path,
                1,
                Rule::CrateWall,
                "this crate has no row in the table of walls; add one to xtask/src/tidy/walls.rs",
            ));
            continue;
        };
        for dependency in dependencies(member, &["dependencies", "build-dependencies"]) {
            if let Some(reason) = refusal(wall, &dependency, &ws.root) {
                let line = member.line_of(&dependency.name);
                findings.push(Finding::new(&member.path, line, Rule::CrateWall, reason));
            }
        }
    }
}

fn check_lints(member: &Manifest, findings: &mut Vec<Finding>) {
    let lints = member.table.get("lints");
    let shared = lints.and_then(|lints| lints.get("workspace")?.as_bool()) == Some(true);
    let own = lints.is_some() && member.package_folder() == OWN_LINTS;
    if !shared && !own {
        findings.push(Finding::new(
            &member.path,
            1,
            Rule::CrateWall,
            "`[lints] workspace = true` is missing, so no lint of the workspace holds here",
        ));
    }
}

fn refusal(wall: &Wall, dependency: &Dependency, root: &Manifest) -> Option<String> {
    let Wall { folder, ours, foreign } = wall;
    let name = dependency.real_name(root);
    if name.starts_with(OUR_PREFIX) {
        return (!ours.contains(&name.as_str()))
            .then(|| format!("{folder} may not depend on `{name}`: {}", listed(ours)));
    }
    match foreign {
        Foreign::Only(allowed) if !allowed.contains(&name.as_str()) => {
            Some(format!("{folder} may not depend on `{name}`: {}", listed(allowed)))
        }
        Foreign::Only(_) if *folder == "crates/core" => std_refusal(&name, dependency, root),
        Foreign::Only(_) | Foreign::Any => None,
        Foreign::NoNetwork => network_refusal(folder, &name, dependency, root),
    }
}

fn listed(allowed: &[&str]) -> String {
    if allowed.is_empty() { "it stands alone".to_owned() } else { format!("it may use {}", allowed.join(", ")) }
}

/// A dependency of the core that links `std` would make `no_std` a decoration.
fn std_refusal(name: &str, dependency: &Dependency, root: &Manifest) -> Option<String> {
    let off = dependency.setting("default-features", root).and_then(toml::Value::as_bool) == Some(false);
    if !off {
        return Some(format!("the core needs `{name}` with `default-features = false` in the root table"));
    }
    dependency
        .features(root)
        .iter()
        .any(|feature| feature == "std")
        .then(|| format!("the core may not turn on `std` of `{name}`"))
}

fn network_refusal(folder: &str, name: &str, dependency: &Dependency, root: &Manifest) -> Option<String> {
    if NETWORK_CRATES.contains(&name) {
        return Some(format!("{folder} may not use the network crate `{name}`; only agent and adapters may"));
    }
    let features = dependency.features(root);
    NETWORK_FEATURES
        .iter()
        .find(|(krate, feature)| *krate == name && features.iter().any(|on| on == feature))
        .map(|(_, feature)| format!("{folder} may not use the network feature `{feature}` of `{name}`"))
}

/// One line of a dependency table of a member.
pub(crate) struct Dependency {
    /// The name on the left of the line.
    pub(crate) name: String,
    /// What stands on its right.
    pub(crate) value: toml::Value,
}

impl Dependency {
    /// A renamed dependency hides behind its new name no longer than this.
    fn real_name(&self, root: &Manifest) -> String {
        self.setting("package", root).and_then(toml::Value::as_str).unwrap_or(&self.name).to_owned()
    }

    fn setting<'a>(&'a self, key: &str, root: &'a Manifest) -> Option<&'a toml::Value> {
        self.value.get(key).or_else(|| {
            let table = root.table.get("workspace")?.get("dependencies")?;
            table.get(&self.name)?.get(key)
        })
    }

    /// Features of the member's line and of the root table together, as cargo unites them.
    fn features(&self, root: &Manifest) -> Vec<String> {
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

#[cfg(test)]
mod tests {
    use super::super::testing::{printed, workspace};
    use super::*;

    const ROOT: &str = r#"
[workspace.dependencies]
tripwire-core = { path = "crates/core" }
tripwire-agent = { path = "crates/agent" }
serde = { version = "1", default-features = false, features = ["alloc"] }
sha2 = "0.10"
libc = "0.2"
web = { version = "1", package = "reqwest" }
tokio = { version = "1", features = ["rt"] }
"#;

    fn member(folder: &str, tables: &str) -> Vec<String> {
        let manifest = format!("[package]\nname = \"x\"\n[lints]\nworkspace = true\n{tables}\n");
        let path = format!("{folder}/Cargo.toml");
        let ws = workspace(&[("Cargo.toml", ROOT), (&path, &manifest)]);
        assert!(ws.broken.is_empty(), "{:?}", ws.broken);
        printed(&ws, check)
    }

    fn refused(folder: &str, line: &str) {
        let found = member(folder, &format!("[dependencies]\n{line}"));
        assert_eq!(found.len(), 1, "{folder}: {line}: {found:?}");
        assert!(found[0].contains("/Cargo.toml:6: crate-wall:"), "{found:?}");
    }

    fn accepted(folder: &str, line: &str) {
        let found = member(folder, &format!("[dependencies]\n{line}"));
        assert!(found.is_empty(), "{folder}: {line}: {found:?}");
    }

    #[test]
    fn the_core_has_a_closed_list_without_std() {
        accepted("crates/core", "serde = { workspace = true }");
        refused("crates/core", "libc = { workspace = true }");
        refused("crates/core", "tripwire-agent = { workspace = true }");
        refused("crates/core", "sha2 = { workspace = true }");
        refused("crates/core", "serde = { workspace = true, features = [\"std\"] }");
    }

    #[test]
    fn the_sandbox_knows_the_kernel_and_nothing_else() {
        accepted("crates/sandbox", "libc = { workspace = true }");
        refused("crates/sandbox", "serde = { workspace = true }");
        refused("crates/sandbox", "tripwire-core = { workspace = true }");
    }

    #[test]
    fn agent_and_adapters_do_not_know_each_other_or_the_sandbox() {
        accepted("crates/agent", "tripwire-core = { workspace = true }");
        refused("crates/agent", "tripwire-adapters = { workspace = true }");
        refused("crates/agent", "tripwire-sandbox = { workspace = true }");
        accepted("crates/adapters", "tripwire-host.workspace = true");
        refused("crates/adapters", "tripwire-agent.workspace = true");
    }

    #[test]
    fn the_network_stays_out_of_host_even_under_another_name() {
        refused("crates/host", "web = { workspace = true }");
        refused("crates/host", "tokio = { workspace = true, features = [\"net\"] }");
        accepted("crates/host", "tokio = { workspace = true }");
        accepted("crates/agent", "web = { workspace = true }");
    }

    #[test]
    fn build_and_platform_dependencies_count_and_dev_dependencies_do_not() {
        let line = "libc = { workspace = true }";
        for table in ["build-dependencies", "target.'cfg(unix)'.dependencies"] {
            assert_eq!(member("crates/core", &format!("[{table}]\n{line}")).len(), 1);
        }
        assert!(member("crates/core", &format!("[dev-dependencies]\n{line}")).is_empty());
    }

    #[test]
    fn a_crate_without_a_row_or_without_the_lints_is_found() {
        assert_eq!(member("crates/new", "").len(), 1);
        let bare = |path: &str, text: &str| printed(&workspace(&[("Cargo.toml", ROOT), (path, text)]), check).len();
        assert_eq!(bare("crates/host/Cargo.toml", "[package]\n"), 1);
        assert_eq!(bare("crates/host/Cargo.toml", "[lints.rust]\n"), 1);
        assert_eq!(bare("crates/sandbox/Cargo.toml", "[lints.rust]\n"), 0);
        assert_eq!(bare("crates/sandbox/Cargo.toml", "[package]\n"), 1);
    }
}
