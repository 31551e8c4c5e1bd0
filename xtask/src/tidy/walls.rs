//! The walls between the crates, read from their manifests: who may depend on whom, and who never sees the network.
//!
//! Dev-dependencies are exempt: a test may use what the product may not. Only the two crates that exist for development
//! alone are closed to everyone's product code.

use super::finding::{Finding, Rule};
use super::manifest::{Dependency, Manifest, dependencies};
use super::workspace::Workspace;

/// One row of the table of walls.
struct Wall {
    folder: &'static str,
    ours: Ours,
    foreign: Foreign,
}

/// Which of our crates a crate may use, by the short name of its folder.
#[derive(Clone, Copy)]
enum Ours {
    Only(&'static [&'static str]),
    /// Every crate of the product: the command puts them together.
    Product,
}

/// Which crates of others a crate may use.
#[derive(Clone, Copy)]
enum Foreign {
    /// A closed list of crates without `std`: the crate is pure because they are.
    Pure(&'static [&'static str]),
    /// A closed list: the crate is small because its list is.
    Only(&'static [&'static str]),
    /// What the one table holds, except what speaks to the network.
    NoNetwork,
    /// What the one table holds, except an asynchronous runtime.
    Network,
    /// What the one table holds.
    Asynchronous,
}

/// From the bottom to the top; a crate uses only what is above it in this list.
const WALLS: [Wall; 27] = [
    wall("crates/core", &[], Foreign::Pure(&["postcard", "serde", "serde_json", "sha2", "thiserror"])),
    wall("crates/shell", &[], Foreign::Pure(&["thiserror"])),
    wall("crates/secrets", &["core"], Foreign::Pure(&["base64", "hmac", "serde_json", "sha2", "thiserror"])),
    wall("crates/observe", &["core", "secrets", "shell"], Foreign::Pure(&["serde", "serde_json", "sha2"])),
    wall("crates/fs", &["core"], Foreign::Only(&["rustix", "thiserror"])),
    wall("crates/sandbox", &["core", "fs"], Foreign::Only(&["libc", "rustix", "sha2", "thiserror"])),
    wall("crates/journal", &["core", "fs"], Foreign::NoNetwork),
    wall("crates/workspace", &["core", "fs", "journal", "sandbox"], Foreign::NoNetwork),
    wall("crates/undo", &["core", "fs", "workspace"], Foreign::NoNetwork),
    wall("crates/judge", &["core", "fs", "observe", "secrets", "shell", "workspace"], Foreign::NoNetwork),
    wall("crates/authority", &["core", "fs", "journal", "judge", "observe", "shell", "workspace"], Foreign::NoNetwork),
    wall(
        "crates/session",
        &["authority", "core", "fs", "journal", "judge", "observe", "sandbox", "secrets", "shell", "workspace"],
        Foreign::NoNetwork,
    ),
    wall(
        "crates/clients",
        &["authority", "core", "fs", "judge", "observe", "sandbox", "secrets", "session", "shell", "undo", "workspace"],
        Foreign::Network,
    ),
    wall(
        "crates/embed",
        &["authority", "clients", "core", "journal", "judge", "observe", "secrets", "session", "workspace"],
        Foreign::NoNetwork,
    ),
    wall(
        "crates/gateway",
        &["core", "fs", "observe", "secrets", "session", "shell", "workspace"],
        Foreign::Asynchronous,
    ),
    wall(
        "crates/supervisor",
        &[
            "authority",
            "clients",
            "core",
            "fs",
            "gateway",
            "judge",
            "observe",
            "sandbox",
            "secrets",
            "session",
            "shell",
            "undo",
            "workspace",
        ],
        Foreign::Network,
    ),
    wall(
        "crates/mcp",
        &["clients", "core", "fs", "gateway", "sandbox", "session", "supervisor", "undo", "workspace"],
        Foreign::NoNetwork,
    ),
    wall(
        "crates/console",
        &["core", "fs", "gateway", "journal", "secrets", "session", "undo", "workspace"],
        Foreign::Asynchronous,
    ),
    wall("crates/egress", &["core", "fs"], Foreign::Network),
    wall(
        "crates/notify",
        &["authority", "core", "fs", "journal", "observe", "sandbox", "secrets", "session", "shell", "workspace"],
        Foreign::Network,
    ),
    wall(
        "crates/agent",
        &["authority", "core", "fs", "judge", "observe", "secrets", "session", "shell", "undo", "workspace"],
        Foreign::Network,
    ),
    wall("crates/fleet", &["core", "fs", "journal", "workspace"], Foreign::Asynchronous),
    wall("crates/telemetry", &["core", "journal", "secrets", "workspace"], Foreign::Network),
    Wall { folder: "crates/cli", ours: Ours::Product, foreign: Foreign::NoNetwork },
    wall("crates/bench", &[], Foreign::NoNetwork),
    wall("crates/testing", &["secrets"], Foreign::NoNetwork),
    wall("xtask", &["cli", "core", "journal", "secrets", "session", "testing"], Foreign::NoNetwork),
];

/// Crates that no product code may use, the command's included.
const FOR_DEVELOPMENT: [&str; 2] = ["bench", "testing"];

/// Crates whose purpose is the network.
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

/// Asynchronous runtimes: only the gateway, the console and the fleet have one, so that a hook stays a short program.
const ASYNC_CRATES: [&str; 5] = ["async-std", "embassy-executor", "futures-executor", "smol", "tokio"];

/// Crates that draw on a terminal: only the console's view does, so that no other verb pays for them.
const TERMINAL_CRATES: [&str; 2] = ["crossterm", "ratatui"];

const OUR_PREFIX: &str = "tripwire-";

const fn wall(folder: &'static str, ours: &'static [&'static str], foreign: Foreign) -> Wall {
    Wall { folder, ours: Ours::Only(ours), foreign }
}

pub(crate) fn check(ws: &Workspace, findings: &mut Vec<Finding>) {
    for member in &ws.members {
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

fn refusal(wall: &Wall, dependency: &Dependency, root: &Manifest) -> Option<String> {
    let folder = wall.folder;
    let name = dependency.real_name(root);
    if let Some(short) = name.strip_prefix(OUR_PREFIX) {
        return refusal_of_ours(wall, short);
    }
    if ASYNC_CRATES.contains(&name.as_str()) && !matches!(wall.foreign, Foreign::Asynchronous) {
        return Some(format!("{folder} may not use the asynchronous runtime `{name}`"));
    }
    if TERMINAL_CRATES.contains(&name.as_str()) && folder != "crates/console" {
        return Some(format!("{folder} may not draw on a terminal with `{name}`: the console does"));
    }
    match wall.foreign {
        Foreign::Pure(allowed) | Foreign::Only(allowed) if !allowed.contains(&name.as_str()) => {
            Some(format!("{folder} may not depend on `{name}`: {}", listed(allowed)))
        }
        Foreign::Pure(_) => std_refusal(folder, &name, dependency, root),
        Foreign::Only(_) | Foreign::Network | Foreign::Asynchronous => None,
        Foreign::NoNetwork => network_refusal(folder, &name, dependency, root),
    }
}

fn refusal_of_ours(wall: &Wall, short: &str) -> Option<String> {
    let folder = wall.folder;
    // The chores are for development themselves.
    if FOR_DEVELOPMENT.contains(&short) && folder != "xtask" {
        return Some(format!("{folder} may use `{OUR_PREFIX}{short}` in tests only; make it a dev-dependency"));
    }
    match wall.ours {
        Ours::Product => None,
        Ours::Only(allowed) if allowed.contains(&short) => None,
        Ours::Only(allowed) => Some(format!("{folder} may not depend on `{OUR_PREFIX}{short}`: {}", listed(allowed))),
    }
}

fn listed(allowed: &[&str]) -> String {
    if allowed.is_empty() { "it stands alone".to_owned() } else { format!("it may use {}", allowed.join(", ")) }
}

/// A dependency of a pure crate that links `std` would make `no_std` a decoration.
fn std_refusal(folder: &str, name: &str, dependency: &Dependency, root: &Manifest) -> Option<String> {
    let off = dependency.setting("default-features", root).and_then(toml::Value::as_bool) == Some(false);
    if !off {
        return Some(format!("{folder} needs `{name}` with `default-features = false` in the root table"));
    }
    dependency
        .features(root)
        .iter()
        .any(|feature| feature == "std")
        .then(|| format!("{folder} may not turn on `std` of `{name}`"))
}

fn network_refusal(folder: &str, name: &str, dependency: &Dependency, root: &Manifest) -> Option<String> {
    if NETWORK_CRATES.contains(&name) {
        return Some(format!("{folder} may not use the network crate `{name}`"));
    }
    let features = dependency.features(root);
    NETWORK_FEATURES
        .iter()
        .find(|(krate, feature)| *krate == name && features.iter().any(|on| on == feature))
        .map(|(_, feature)| format!("{folder} may not use the network feature `{feature}` of `{name}`"))
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
rustix = "1"
web = { version = "1", package = "reqwest" }
tokio = { version = "1", features = ["rt"] }
ratatui = "0.30"
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

    fn ours(name: &str) -> String {
        format!("tripwire-{name} = {{ workspace = true }}")
    }

    #[test]
    fn the_pure_crates_have_a_closed_list_without_std() {
        accepted("crates/core", "serde = { workspace = true }");
        for folder in ["crates/core", "crates/observe"] {
            refused(folder, "libc = { workspace = true }");
            refused(folder, "tripwire-agent = { workspace = true }");
            refused(folder, "sha2 = { workspace = true }");
            refused(folder, "serde = { workspace = true, features = [\"std\"] }");
        }
        refused("crates/core", &ours("observe"));
        refused("crates/shell", &ours("core"));
        accepted("crates/observe", &ours("shell"));
    }

    #[test]
    fn the_sandbox_knows_the_kernel_the_disk_and_the_core() {
        accepted("crates/sandbox", "libc = { workspace = true }");
        accepted("crates/sandbox", &ours("core"));
        accepted("crates/sandbox", &ours("fs"));
        refused("crates/sandbox", "serde = { workspace = true }");
        refused("crates/sandbox", &ours("workspace"));
    }

    #[test]
    fn only_the_console_draws_on_a_terminal() {
        accepted("crates/console", "ratatui = { workspace = true }");
        refused("crates/cli", "ratatui = { workspace = true }");
        refused("crates/supervisor", "ratatui = { workspace = true }");
    }

    #[test]
    fn arrows_go_down() {
        for (folder, above) in [
            ("crates/fs", "workspace"),
            ("crates/journal", "workspace"),
            ("crates/judge", "journal"),
            ("crates/judge", "session"),
            ("crates/agent", "clients"),
            ("crates/agent", "supervisor"),
            ("crates/clients", "agent"),
            ("crates/clients", "supervisor"),
            ("crates/session", "clients"),
            ("crates/egress", "session"),
        ] {
            refused(folder, &ours(above));
        }
        let position = |short: &str| WALLS.iter().position(|wall| wall.folder == format!("crates/{short}"));
        for (row, wall) in WALLS.iter().enumerate() {
            if let Ours::Only(allowed) = wall.ours {
                assert!(
                    allowed.iter().all(|short| position(short).is_some_and(|below| below < row)),
                    "{}",
                    wall.folder
                );
            }
        }
    }

    #[test]
    fn the_command_uses_every_product_crate_and_nothing_made_for_tests() {
        accepted("crates/cli", &ours("agent"));
        refused("crates/cli", &ours("testing"));
        refused("crates/journal", &ours("testing"));
        assert!(member("crates/journal", &format!("[dev-dependencies]\n{}", ours("testing"))).is_empty());
    }

    #[test]
    fn the_network_stays_where_it_belongs_even_under_another_name() {
        refused("crates/session", "web = { workspace = true }");
        refused("crates/session", "rustix = { workspace = true, features = [\"net\"] }");
        accepted("crates/supervisor", "rustix = { workspace = true, features = [\"net\"] }");
        accepted("crates/agent", "web = { workspace = true }");
        refused("crates/agent", "tokio = { workspace = true }");
        accepted("crates/gateway", "tokio = { workspace = true }");
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
    fn a_crate_without_a_row_is_found() {
        assert_eq!(member("crates/new", "").len(), 1);
    }
}
