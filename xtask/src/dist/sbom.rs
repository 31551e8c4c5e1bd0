//! What is inside of the binary, as a CycloneDX list made from cargo's own resolution.

use super::build::{BuildFacts, said};
use super::files::{DistError, read_text};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// The list of everything that is linked into the binary, or runs while it is built; tests and their tools are not in it.
pub(super) fn cyclonedx(root: &Path, facts: &BuildFacts) -> Result<String, DistError> {
    let mut command = std::process::Command::new("cargo");
    command.current_dir(root).args(["metadata", "--format-version", "1", "--locked"]);
    command.args(["--filter-platform", &facts.target, "--features", "tripwire-cli/telemetry,tripwire-cli/fleet"]);
    let text = said(&mut command, "run it inside the repository")?;
    let metadata: Value = serde_json::from_str(&text).map_err(|error| DistError::Tool {
        command: "cargo metadata".to_owned(),
        problem: error.to_string(),
        hint: "use the toolchain that `rust-toolchain.toml` names",
    })?;
    let list = list(&metadata, &checksums(&read_text(&root.join("Cargo.lock"))?), facts);
    Ok(format!("{list:#}\n"))
}

/// The registry's checksums by name and version.
fn checksums(lock: &str) -> BTreeMap<(String, String), String> {
    let table: toml::Table = lock.parse().unwrap_or_default();
    let packages = table.get("package").and_then(toml::Value::as_array).into_iter().flatten();
    packages
        .filter_map(|package| {
            let text = |name: &str| package.get(name)?.as_str().map(str::to_owned);
            Some(((text("name")?, text("version")?), text("checksum")?))
        })
        .collect()
}

fn list(metadata: &Value, checksums: &BTreeMap<(String, String), String>, facts: &BuildFacts) -> Value {
    let packages: BTreeMap<&str, &Value> =
        array(&metadata["packages"]).filter_map(|package| Some((package["id"].as_str()?, package))).collect();
    let edges = edges(metadata);
    let root = packages.iter().find(|(_, package)| package["name"] == "tripwire-cli").map(|(id, _)| *id);
    let inside = reached(root, &edges);
    let reference = |id: &str| packages.get(id).map_or_else(String::new, |package| purl(package));
    let mut components: Vec<Value> = inside
        .iter()
        .filter(|id| Some(**id) != root)
        .filter_map(|id| packages.get(id))
        .map(|package| component(package, checksums))
        .collect();
    components.sort_by_key(|component| component["bom-ref"].to_string());
    let mut dependencies: Vec<Value> = inside
        .iter()
        .map(|id| {
            let mut on: Vec<String> = edges.get(id).into_iter().flatten().map(|id| reference(id)).collect();
            on.sort();
            json!({"ref": reference(id), "dependsOn": on})
        })
        .collect();
    dependencies.sort_by_key(|dependency| dependency["ref"].to_string());
    let time = tripwire_journal::wall_clock::WallClock::from_epoch_ms(facts.epoch.saturating_mul(1_000));
    json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {
            "timestamp": time.to_string(),
            "component": {
                "type": "application",
                "bom-ref": root.map(reference).unwrap_or_default(),
                "name": "tripwire",
                "version": facts.version,
                "licenses": [{"expression": "MIT OR Apache-2.0"}],
                "properties": [
                    {"name": "tripwire:commit", "value": facts.commit},
                    {"name": "tripwire:target", "value": facts.target},
                    {"name": "tripwire:rustc", "value": facts.rustc},
                ],
            },
        },
        "components": components,
        "dependencies": dependencies,
    })
}

/// Who uses whom, without what only tests use.
fn edges(metadata: &Value) -> BTreeMap<&str, BTreeSet<&str>> {
    let nodes = array(&metadata["resolve"]["nodes"]);
    nodes
        .filter_map(|node| {
            let used = array(&node["deps"]).filter(|used| array(&used["dep_kinds"]).any(|kind| kind["kind"] != "dev"));
            Some((node["id"].as_str()?, used.filter_map(|used| used["pkg"].as_str()).collect()))
        })
        .collect()
}

fn reached<'a>(root: Option<&'a str>, edges: &BTreeMap<&'a str, BTreeSet<&'a str>>) -> BTreeSet<&'a str> {
    let mut inside = BTreeSet::new();
    let mut next: Vec<&str> = root.into_iter().collect();
    while let Some(id) = next.pop() {
        if inside.insert(id) {
            next.extend(edges.get(id).into_iter().flatten());
        }
    }
    inside
}

fn component(package: &Value, checksums: &BTreeMap<(String, String), String>) -> Value {
    let text = |name: &str| package[name].as_str().unwrap_or_default().to_owned();
    let mut component = json!({
        "type": "library",
        "bom-ref": purl(package),
        "name": text("name"),
        "version": text("version"),
        "purl": purl(package),
    });
    if let Some(licence) = package["license"].as_str() {
        // An older spelling of "or" is no expression.
        component["licenses"] = json!([{"expression": licence.replace('/', " OR ")}]);
    }
    if let Some(sum) = checksums.get(&(text("name"), text("version"))) {
        component["hashes"] = json!([{"alg": "SHA-256", "content": sum}]);
    }
    component
}

fn purl(package: &Value) -> String {
    let text = |name: &str| package[name].as_str().unwrap_or_default();
    format!("pkg:cargo/{}@{}", text("name"), text("version"))
}

fn array(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_holds_what_is_linked_and_not_what_only_tests_use() {
        let package = |name: &str| json!({"id": name, "name": name, "version": "1.0.0", "license": "MIT/Apache-2.0"});
        let used = |name: &str, kind: Value| json!({"pkg": name, "dep_kinds": [{"kind": kind}]});
        let metadata = json!({
            "packages": [package("tripwire-cli"), package("serde"), package("syn"), package("proptest")],
            "resolve": {"nodes": [
                {"id": "tripwire-cli", "deps": [used("serde", Value::Null), used("proptest", json!("dev"))]},
                {"id": "serde", "deps": [used("syn", json!("build"))]},
                {"id": "syn", "deps": []},
                {"id": "proptest", "deps": []},
            ]},
        });
        let facts = BuildFacts {
            version: "0.1.0".to_owned(),
            commit: "c".to_owned(),
            target: "t".to_owned(),
            rustc: "r".to_owned(),
            epoch: 0,
        };
        let sums = checksums("[[package]]\nname = \"serde\"\nversion = \"1.0.0\"\nchecksum = \"ab\"\n");
        let list = list(&metadata, &sums, &facts);
        let names: Vec<&str> = array(&list["components"]).filter_map(|component| component["name"].as_str()).collect();
        assert_eq!(names, ["serde", "syn"]);
        assert_eq!(list["components"][0]["hashes"][0]["content"], "ab");
        assert_eq!(list["components"][0]["licenses"][0]["expression"], "MIT OR Apache-2.0");
        assert_eq!(list["metadata"]["component"]["bom-ref"], "pkg:cargo/tripwire-cli@1.0.0");
    }
}
