//! The limits that the compiler and clippy hold: here only that nobody takes them out of the lint tables.
//!
//! Length of a function, number of parameters, flags as parameters, catch-all arms, docs of public items, unsafe code and
//! panics are denied by lint. A crate without the table, or a table without the lint, would lose them in silence.

use super::finding::{Finding, Rule};
use super::manifest::Manifest;
use super::workspace::Workspace;

/// Lints that must be denied or forbidden in the table of the workspace, with their group.
const REQUIRED: [(&str, &str); 17] = [
    ("rust", "unsafe_code"),
    ("rust", "missing_docs"),
    ("rust", "unreachable_pub"),
    ("clippy", "unwrap_used"),
    ("clippy", "expect_used"),
    ("clippy", "panic"),
    ("clippy", "todo"),
    ("clippy", "wildcard_enum_match_arm"),
    ("clippy", "match_wildcard_for_single_variants"),
    ("clippy", "too_many_lines"),
    ("clippy", "too_many_arguments"),
    ("clippy", "fn_params_excessive_bools"),
    ("clippy", "struct_excessive_bools"),
    ("clippy", "allow_attributes"),
    ("clippy", "allow_attributes_without_reason"),
    ("clippy", "disallowed_methods"),
    ("clippy", "disallowed_types"),
];

/// What turns those lints into our limits; every `clippy.toml` carries them, because the nearest one hides the others.
const THRESHOLDS: [(&str, i64); 4] = [
    ("too-many-lines-threshold", 70),
    ("too-many-arguments-threshold", 5),
    ("max-fn-params-bools", 0),
    ("max-struct-bools", 1),
];

/// The crate that alone has a lint table of its own, because it alone may use unsafe code.
const OWN_TABLE: &str = "crates/sandbox";

/// What that crate's table has in place of the ban on unsafe code.
const INSTEAD_OF_THE_BAN: [(&str, &str); 2] =
    [("rust", "unsafe_op_in_unsafe_fn"), ("clippy", "undocumented_unsafe_blocks")];

pub(crate) fn check(ws: &Workspace, findings: &mut Vec<Finding>) {
    let shared = ws.root.table.get("workspace").and_then(|workspace| workspace.get("lints"));
    for (group, lint) in REQUIRED {
        require(&ws.root, shared, group, lint, findings);
    }
    for member in &ws.members {
        check_member(member, shared, findings);
    }
    for (path, text) in ws.files.iter().filter(|(path, _)| is_clippy_file(path)) {
        check_thresholds(path, text, findings);
    }
}

fn check_member(member: &Manifest, shared: Option<&toml::Value>, findings: &mut Vec<Finding>) {
    let lints = member.table.get("lints");
    if lints.and_then(|lints| lints.get("workspace")?.as_bool()) == Some(true) {
        return;
    }
    if lints.is_none() || member.package_folder() != OWN_TABLE {
        findings.push(Finding::new(
            &member.path,
            1,
            Rule::LintTable,
            "`[lints] workspace = true` is missing, so no lint of the workspace holds here",
        ));
        return;
    }
    for (group, lint) in denied(shared).into_iter().filter(|(_, lint)| lint != "unsafe_code") {
        require(member, lints, &group, &lint, findings);
    }
    for (group, lint) in INSTEAD_OF_THE_BAN {
        require(member, lints, group, lint, findings);
    }
}

fn require(manifest: &Manifest, table: Option<&toml::Value>, group: &str, lint: &str, findings: &mut Vec<Finding>) {
    let is_denied = denied(table).iter().any(|(in_group, name)| in_group == group && name == lint);
    if !is_denied {
        findings.push(Finding::new(
            &manifest.path,
            1,
            Rule::LintTable,
            format!("the lint table does not deny `{lint}` ({group}), which holds one of our limits"),
        ));
    }
}

/// Group and name of every lint of a table that fails the build.
fn denied(table: Option<&toml::Value>) -> Vec<(String, String)> {
    let groups = table.and_then(toml::Value::as_table).into_iter().flatten();
    groups
        .filter_map(|(group, lints)| Some((group, lints.as_table()?)))
        .flat_map(|(group, lints)| lints.iter().map(move |(name, level)| (group.clone(), name.clone(), level)))
        .filter(|(_, _, level)| {
            let level = level.as_str().or_else(|| level.get("level")?.as_str());
            matches!(level, Some("deny" | "forbid"))
        })
        .map(|(group, name, _)| (group, name))
        .collect()
}

fn is_clippy_file(path: &str) -> bool {
    let of_a_member = path.starts_with("crates/") || path.starts_with("xtask/");
    let name = path.rsplit('/').next().unwrap_or(path);
    matches!(name, "clippy.toml" | ".clippy.toml") && (of_a_member || name == path)
}

fn check_thresholds(path: &str, text: &str, findings: &mut Vec<Finding>) {
    let table = text.parse::<toml::Table>().unwrap_or_default();
    for (key, limit) in THRESHOLDS {
        if table.get(key).and_then(toml::Value::as_integer) != Some(limit) {
            findings.push(Finding::new(path, 1, Rule::LintTable, format!("`{key}` must be {limit} here")));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{printed, workspace};
    use super::*;

    fn table(prefix: &str, lints: &[(&str, &str)]) -> String {
        let of = |group: &str| {
            let lines: Vec<String> =
                lints.iter().filter(|(of, _)| *of == group).map(|(_, lint)| format!("{lint} = \"deny\"\n")).collect();
            format!("[{prefix}.{group}]\n{}", lines.concat())
        };
        format!("{}{}", of("rust"), of("clippy"))
    }

    fn root() -> String {
        table("workspace.lints", &REQUIRED)
    }

    fn member(path: &str, text: &str) -> Vec<String> {
        printed(&workspace(&[("Cargo.toml", &root()), (path, text)]), check)
    }

    #[test]
    fn a_lint_that_holds_a_limit_may_not_leave_the_table() {
        assert!(printed(&workspace(&[("Cargo.toml", &root())]), check).is_empty());
        let weaker = root().replace("too_many_lines = \"deny\"", "too_many_lines = \"warn\"");
        let found = printed(&workspace(&[("Cargo.toml", &weaker)]), check);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].contains("lint-table: the lint table does not deny `too_many_lines`"), "{found:?}");
    }

    #[test]
    fn every_crate_takes_the_shared_table() {
        assert!(member("crates/a/Cargo.toml", "[lints]\nworkspace = true\n").is_empty());
        assert_eq!(member("crates/a/Cargo.toml", "[package]\n").len(), 1);
        assert_eq!(member("crates/a/Cargo.toml", &table("lints", &REQUIRED)).len(), 1);
    }

    #[test]
    fn the_sandbox_has_its_own_table_with_the_same_lints() {
        let all = [&REQUIRED[1..], &INSTEAD_OF_THE_BAN].concat();
        assert_eq!(member("crates/sandbox/Cargo.toml", &table("lints", &all)), Vec::<String>::new());
        assert_eq!(member("crates/sandbox/Cargo.toml", &table("lints", &all[1..])).len(), 1);
        assert_eq!(member("crates/sandbox/Cargo.toml", &table("lints", &REQUIRED[1..])).len(), 2);
        assert_eq!(member("crates/sandbox/Cargo.toml", "[package]\n").len(), 1);
    }

    #[test]
    fn a_clippy_file_cannot_loosen_a_limit() {
        let good: String = THRESHOLDS.iter().map(|(key, limit)| format!("{key} = {limit}\n")).collect();
        assert!(member("crates/a/clippy.toml", &good).is_empty());
        assert_eq!(member("crates/a/clippy.toml", &good.replace("70", "700")).len(), 1);
        assert_eq!(member("clippy.toml", "").len(), THRESHOLDS.len());
    }
}
