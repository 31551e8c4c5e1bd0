//! Follows `mod` lines from every target of every crate: what only tests reach is test code.
#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "the syntax enums of syn are non-exhaustive, so the compiler demands the arm"
)]

use std::collections::BTreeMap;

use syn::{Expr, Item, Lit, Meta};

use super::manifest::Manifest;
use super::rust::{Role, SourceFile, is_test_only};

/// The role of every file that some target reaches; production wins where both reach it.
pub(crate) fn reach(sources: &[SourceFile], members: &[Manifest]) -> BTreeMap<String, Role> {
    let by_path: BTreeMap<&str, &SourceFile> = sources.iter().map(|source| (source.path.as_str(), source)).collect();
    let mut roles = BTreeMap::new();
    for source in sources {
        let declared = members
            .iter()
            .find(|member| member.package_folder() == source.package_folder())
            .is_some_and(|member| declares(member, source.path_in_package()));
        let Some(role) = target_role(source.path_in_package()) else {
            continue;
        };
        if declared || is_target(source.path_in_package()) {
            visit_file(source, role, &by_path, &mut roles);
        }
    }
    roles
}

fn target_role(path: &str) -> Option<Role> {
    match path.split('/').next() {
        Some("src" | "examples" | "build.rs") => Some(Role::Production),
        Some("tests" | "benches") => Some(Role::Test),
        _ => None,
    }
}

/// The root file of a library or a program.
pub(crate) fn is_root(path: &str) -> bool {
    is_target(path) && target_role(path) == Some(Role::Production)
}

/// The places where cargo looks for targets by itself.
fn is_target(path: &str) -> bool {
    let parts: Vec<&str> = path.split('/').collect();
    matches!(
        parts.as_slice(),
        ["build.rs"]
            | ["src", "lib.rs" | "main.rs"]
            | ["src", "bin", _]
            | ["src", "bin", _, "main.rs"]
            | ["tests" | "benches" | "examples", _]
            | ["tests" | "benches" | "examples", _, "main.rs"]
    )
}

/// Targets with a `path` of their own.
fn declares(member: &Manifest, path: &str) -> bool {
    let has_path = |target: &toml::Value| target.get("path").and_then(toml::Value::as_str) == Some(path);
    ["lib", "bin", "test", "bench", "example"].iter().filter_map(|kind| member.table.get(*kind)).any(|targets| {
        match targets.as_array() {
            Some(list) => list.iter().any(has_path),
            None => has_path(targets),
        }
    })
}

fn visit_file(
    source: &SourceFile,
    role: Role,
    by_path: &BTreeMap<&str, &SourceFile>,
    roles: &mut BTreeMap<String, Role>,
) {
    let known = roles.get(&source.path);
    if known == Some(&Role::Production) || known == Some(&role) {
        return;
    }
    roles.insert(source.path.clone(), role);
    let mut children = Vec::new();
    collect_children(&source.syntax.items, &child_folder(source), role, &mut children);
    for child in children {
        for candidate in &child.candidates {
            if let Some(file) = by_path.get(candidate.as_str()) {
                visit_file(file, child.role, by_path, roles);
            }
        }
    }
}

/// Children of `lib.rs`, `main.rs`, `mod.rs` and of the file of any target stand beside it; of all others in a folder
/// of its name.
pub(crate) fn child_folder(source: &SourceFile) -> String {
    let (folder, name) = source.path.rsplit_once('/').unwrap_or(("", &source.path));
    let beside = name == "mod.rs" || is_target(source.path_in_package());
    if beside { folder.to_owned() } else { format!("{folder}/{}", name.trim_end_matches(".rs")) }
}

struct Child {
    candidates: Vec<String>,
    role: Role,
}

fn collect_children(items: &[Item], folder: &str, role: Role, children: &mut Vec<Child>) {
    for item in items {
        let Item::Mod(module) = item else { continue };
        let role = if is_test_only(&module.attrs) { Role::Test } else { role };
        let name = module.ident.to_string();
        if let Some((_, nested)) = &module.content {
            collect_children(nested, &format!("{folder}/{name}"), role, children);
            continue;
        }
        children.push(Child { candidates: child_files(module, folder), role });
    }
}

/// The files that a `mod` line may mean; one of them exists.
pub(crate) fn child_files(module: &syn::ItemMod, folder: &str) -> Vec<String> {
    let name = &module.ident;
    let mut candidates = vec![format!("{folder}/{name}.rs"), format!("{folder}/{name}/mod.rs")];
    candidates.extend(explicit_path(module).map(|path| resolve(folder, &path)));
    candidates
}

fn explicit_path(module: &syn::ItemMod) -> Option<String> {
    module.attrs.iter().find_map(|attribute| {
        let Meta::NameValue(pair) = &attribute.meta else {
            return None;
        };
        let Expr::Lit(literal) = &pair.value else {
            return None;
        };
        match &literal.lit {
            Lit::Str(path) if pair.path.is_ident("path") => Some(path.value()),
            _ => None,
        }
    })
}

fn resolve(folder: &str, path: &str) -> String {
    let mut parts: Vec<&str> = folder.split('/').collect();
    for part in path.split('/') {
        match part {
            "." | "" => {}
            ".." => {
                parts.pop();
            }
            name => parts.push(name),
        }
    }
    parts.join("/")
}
