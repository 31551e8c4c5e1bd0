//! Each dependency is a decision: declared once, from the public registry, and justified in writing.

use super::finding::{Finding, Rule};
use super::manifest::{Dependency, Manifest, dependencies, dependency_table};
use super::workspace::Workspace;

/// Where the reasons stand, one heading per crate.
const REASONS: &str = "docs/reference/dependencies.md";

/// The only source a lock file may name; a mirror or a git commit would tie the build to someone's machine.
const PUBLIC_REGISTRY: &str = "registry+https://github.com/rust-lang/crates.io-index";

pub(crate) fn check(ws: &Workspace, findings: &mut Vec<Finding>) {
    check_one_table(ws, findings);
    check_versions(ws, findings);
    check_reasons(ws, findings);
    check_lock(ws, findings);
    check_other_locks(ws, findings);
}

fn check_one_table(ws: &Workspace, findings: &mut Vec<Finding>) {
    let sections = ["dependencies", "dev-dependencies", "build-dependencies"];
    for member in &ws.members {
        for dependency in dependencies(member, &sections) {
            let inherited = dependency.value.get("workspace").and_then(toml::Value::as_bool);
            if inherited != Some(true) && !is_own_for_tests(ws, member, &dependency.name) {
                findings.push(Finding::new(
                    &member.path,
                    member.line_of(&dependency.name),
                    Rule::DependencyTable,
                    format!(
                        "`{}` is declared here; declare it in the root table and write `workspace = true`",
                        dependency.name
                    ),
                ));
            }
        }
    }
}

/// Whether it is one of our crates for tests alone, by its path: a released crate must not need one that is released after it.
fn is_own_for_tests(ws: &Workspace, member: &Manifest, name: &str) -> bool {
    let is_ours = dependency_table(&ws.root).iter().any(|(ours, entry)| ours == name && entry.get("path").is_some());
    let by_path = |dependency: &Dependency| {
        dependency.name == name && dependency.value.as_table().is_some_and(|keys| keys.keys().eq(["path"]))
    };
    is_ours && dependencies(member, &["dev-dependencies"]).iter().any(by_path)
}

/// A version of `*` leaves the decision to the day of the build, and a git commit can vanish.
fn check_versions(ws: &Workspace, findings: &mut Vec<Finding>) {
    for (name, entry) in dependency_table(&ws.root) {
        let version = entry.as_str().or_else(|| entry.get("version")?.as_str()).unwrap_or_default();
        let is_decided = !version.is_empty() && !version.contains('*') && entry.get("git").is_none();
        if entry.get("path").is_none() && !is_decided {
            findings.push(Finding::new(
                &ws.root.path,
                ws.root.line_of(&name),
                Rule::DependencyTable,
                format!("`{name}` needs a version of the public registry, without `*`"),
            ));
        }
    }
}

fn check_reasons(ws: &Workspace, findings: &mut Vec<Finding>) {
    let justified = ws.files.get(REASONS).map(|text| justified_names(text)).unwrap_or_default();
    for (name, entry) in dependency_table(&ws.root) {
        let is_ours = entry.get("path").is_some();
        if !is_ours && !justified.contains(&name) {
            findings.push(Finding::new(
                &ws.root.path,
                ws.root.line_of(&name),
                Rule::DependencyReason,
                format!("`{name}` has no heading with a reason under it in {REASONS}"),
            ));
        }
    }
}

/// Names in headings that have at least one line of text below them; one heading may name several crates.
fn justified_names(text: &str) -> Vec<String> {
    let mut names = Vec::new();
    let mut waiting: Vec<String> = Vec::new();
    for line in text.lines() {
        if let Some(heading) = line.strip_prefix('#') {
            waiting = heading
                .trim_start_matches('#')
                .split([',', ' ', '`'])
                .filter(|word| !word.is_empty())
                .map(str::to_owned)
                .collect();
        } else if !line.trim().is_empty() {
            names.append(&mut waiting);
        }
    }
    names
}

fn check_lock(ws: &Workspace, findings: &mut Vec<Finding>) {
    let Some(lock) = ws.files.get("Cargo.lock") else {
        return;
    };
    for (index, line) in lock.lines().enumerate() {
        let Some(source) = line.strip_prefix("source = ") else {
            continue;
        };
        if source.trim_matches('"') != PUBLIC_REGISTRY {
            findings.push(Finding::new(
                "Cargo.lock",
                index + 1,
                Rule::DependencyTable,
                format!("{source} is not the public registry; no build may depend on it"),
            ));
        }
    }
}

/// Folders beside the workspace have lock files of their own, which nothing but their own builds reads: they must know the
/// dependencies that our crates have now.
fn check_other_locks(ws: &Workspace, findings: &mut Vec<Finding>) {
    let locks = ws.files.iter().filter(|(path, _)| path.ends_with("/Cargo.lock"));
    for (path, text) in locks {
        let Ok(lock) = text.parse::<toml::Table>() else {
            findings.push(Finding::new(path, 1, Rule::Unreadable, "not valid toml"));
            continue;
        };
        let packages = lock.get("package").and_then(toml::Value::as_array);
        let packages: Vec<&toml::Value> = packages.into_iter().flatten().collect();
        for member in &ws.members {
            let Some(locked) = packages.iter().find(|package| is_of(member, package)) else { continue };
            for name in unlocked(ws, member, locked) {
                let folder = path.trim_end_matches("/Cargo.lock");
                let text = format!(
                    "`{}` depends on `{name}`, which is not locked here; run `cargo metadata` in {folder}",
                    member.package_folder()
                );
                findings.push(Finding::new(path, 1, Rule::DependencyTable, text));
            }
        }
    }
}

/// Whether an entry of a lock file is this crate.
fn is_of(member: &Manifest, package: &toml::Value) -> bool {
    let name = member.table.get("package").and_then(|table| table.get("name"));
    name.is_some() && package.get("name") == name
}

/// Dependencies of a crate that its entry in a lock file lacks; one that is optional may be left out.
fn unlocked(ws: &Workspace, member: &Manifest, locked: &toml::Value) -> Vec<String> {
    let listed = locked.get("dependencies").and_then(toml::Value::as_array).into_iter().flatten();
    // A name is followed by its version where there are several.
    let listed: Vec<&str> = listed.filter_map(|name| name.as_str()?.split(' ').next()).collect();
    let is_optional = |one: &Dependency| one.value.get("optional").and_then(toml::Value::as_bool) == Some(true);
    let needed = dependencies(member, &["dependencies", "build-dependencies"]).into_iter();
    let names = needed.filter(|one| !is_optional(one)).map(|one| one.real_name(&ws.root));
    names.filter(|name| !listed.contains(&name.as_str())).collect()
}

#[cfg(test)]
mod tests {
    use super::super::testing::{printed, workspace};
    use super::*;

    const ROOT: &str = "[workspace.dependencies]\nours = { path = \"crates/ours\" }\nserde = \"1\"\n";

    fn with(path: &str, text: &str) -> Vec<String> {
        let reasons = (REASONS, "# Reasons\n\n## `serde`\n\nIt turns bytes into types.\n");
        let files = if path == REASONS {
            vec![("Cargo.toml", ROOT), (path, text)]
        } else {
            vec![("Cargo.toml", ROOT), reasons, (path, text)]
        };
        printed(&workspace(&files), check)
    }

    #[test]
    fn a_dependency_without_a_reason_is_found() {
        for text in ["", "# serde\n", "## serde\n\n## other\n\nWhy.\n", "serde is fine\n"] {
            let found = with(REASONS, text);
            assert_eq!(found.len(), 1, "{text:?}");
            assert!(found[0].starts_with("Cargo.toml:3: dependency-reason: `serde`"), "{found:?}");
        }
    }

    #[test]
    fn a_heading_with_a_reason_is_enough_and_may_name_several() {
        for text in ["## serde\nWhy.\n", "### `serde`, `serde_json`\n\nWhy.\n"] {
            assert!(with(REASONS, text).is_empty(), "{text:?}");
        }
    }

    #[test]
    fn a_version_in_a_member_is_found_in_every_section() {
        for section in ["dependencies", "dev-dependencies", "target.'cfg(unix)'.dependencies"] {
            let found = with("crates/a/Cargo.toml", &format!("[{section}]\nserde = \"1\"\n"));
            assert_eq!(found.len(), 1, "{section}");
            assert!(found[0].contains(":2: dependency-table:"), "{found:?}");
        }
        let inherited = "[dependencies]\nserde = { workspace = true, features = [\"std\"] }\n";
        assert!(with("crates/a/Cargo.toml", inherited).is_empty());
        assert!(with("crates/a/Cargo.toml", "[dependencies]\nserde.workspace = true\n").is_empty());
    }

    #[test]
    fn an_own_crate_may_stand_by_its_path_for_tests_alone() {
        let line = "ours = { path = \"../ours\" }\n";
        assert!(with("crates/a/Cargo.toml", &format!("[dev-dependencies]\n{line}")).is_empty());
        assert_eq!(with("crates/a/Cargo.toml", &format!("[dependencies]\n{line}")).len(), 1);
        assert_eq!(with("crates/a/Cargo.toml", "[dev-dependencies]\nserde = { path = \"../serde\" }\n").len(), 1);
    }

    #[test]
    fn a_dependency_without_a_decided_version_is_found() {
        for (entry, expected) in [
            ("\"*\"", 1),
            ("{ version = \"1.*\" }", 1),
            ("{ git = \"https://host.invalid/x\", version = \"1\" }", 1),
            ("{ features = [\"std\"] }", 1),
            ("{ path = \"crates/x\" }", 0),
            ("{ version = \"1.2\", features = [\"std\"] }", 0),
        ] {
            let root = format!("[workspace.dependencies]\nx = {entry}\n");
            let ws = workspace(&[("Cargo.toml", &root), (REASONS, "## x\n\nWhy.\n")]);
            assert_eq!(printed(&ws, check).len(), expected, "{entry}");
        }
    }

    #[test]
    fn a_lock_file_beside_the_workspace_knows_what_our_crates_need() {
        let member = "[package]\nname = \"a\"\n[dependencies]\nserde.workspace = true\n\
            other = { workspace = true, optional = true }\n";
        let lock = |listed: &str| format!("[[package]]\nname = \"a\"\ndependencies = [{listed}]\n");
        let found = |lock: &str| {
            let root = ("Cargo.toml", "[workspace.dependencies]\nserde = \"1\"\nother = \"1\"\n");
            let reasons = (REASONS, "## serde, other\n\nWhy.\n");
            let files = [root, reasons, ("crates/a/Cargo.toml", member), ("fuzz/Cargo.lock", lock)];
            printed(&workspace(&files), check)
        };
        for known in ["\"serde\"", "\"serde 1.0.2\", \"other\""] {
            assert!(found(&lock(known)).is_empty(), "{known}");
        }
        assert!(found("[[package]]\nname = \"b\"\n").is_empty(), "it does not use the crate");
        let old = found(&lock(""));
        assert_eq!(old.len(), 1, "{old:?}");
        assert!(old[0].starts_with("fuzz/Cargo.lock:1: dependency-table: `crates/a` depends on `serde`"), "{old:?}");
        assert_eq!(found("not toml").len(), 1);
    }

    #[test]
    fn a_lock_file_may_name_only_the_public_registry() {
        let public = format!("[[package]]\nname = \"x\"\nsource = \"{PUBLIC_REGISTRY}\"\n");
        assert!(with("Cargo.lock", &public).is_empty());
        let mirror = "[[package]]\nname = \"x\"\nsource = \"registry+https://mirror.invalid/index\"\n";
        let found = with("Cargo.lock", mirror);
        assert_eq!(found.len(), 1);
        assert!(found[0].starts_with("Cargo.lock:3: dependency-table:"), "{found:?}");
    }
}
