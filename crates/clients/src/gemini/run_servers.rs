//! The tool servers of Gemini CLI in one run. The person's stand in the settings of the run's own home. A workspace's count
//! more than those, and what the system sets counts most: so the guard before them comes by the system's settings.

use super::settings::{FILE, HOME};
use crate::install::change::read_settings;
use crate::launch::prepare::{LaunchError, LaunchPlace, PreparedClient, write};
use crate::launch::relaxed;
use crate::tool_servers::run_guard::{GuardedEntries, RunGuard, not_wrapped};
use serde_json::{Map, Value, json};
use std::path::{Path, PathBuf};

const SERVERS: &str = "mcpServers";
/// The variables by which the system's settings are elsewhere, and the file that lies beside them.
const SYSTEM: &str = "GEMINI_CLI_SYSTEM_SETTINGS_PATH";
const DEFAULTS: &str = "GEMINI_CLI_SYSTEM_DEFAULTS_PATH";
const SYSTEM_FILE: &str = "/etc/gemini-cli/settings.json";
const DEFAULTS_FILE: &str = "system-defaults.json";
/// The variables and the file by which a person trusts folders.
const TRUSTS: &str = "GEMINI_CLI_TRUST_WORKSPACE";
const RESTRICTED: &str = "GEMINI_RESTRICTED_MODE";
const TRUSTED_FILE: &str = "trustedFolders.json";

/// Puts the guard before the servers of the person's settings, and before those of the workspace.
pub(super) fn guard(
    place: &LaunchPlace<'_>,
    settings: &mut Map<String, Value>,
    prepared: &mut PreparedClient,
) -> Result<(), LaunchError> {
    let Some(guard) = place.servers else { return Ok(()) };
    let own = replace(&guard, settings);
    let mut open = own.open;
    let is_trusted = is_trusted(place, settings);
    let file = place.cwd.join(HOME.folder).join(FILE);
    let shared = object(&file).filter(|_| is_trusted);
    let shared = shared.map(|settings| guard.entries(&servers(&settings))).unwrap_or_default();
    let named = place.variable_text(SYSTEM).filter(|path| !path.is_empty());
    let system_path = PathBuf::from(named.unwrap_or_else(|| SYSTEM_FILE.to_owned()));
    let mut system = object(&system_path).unwrap_or_default();
    let strongest = replace(&guard, &mut system);
    open.extend(shared.open);
    open.extend(strongest.open);
    prepared.notes.extend(not_wrapped(&open, "HTTP; hooks see their calls"));
    if shared.guarded.is_empty() && strongest.guarded.is_empty() {
        return Ok(());
    }
    let mut all = shared.guarded;
    all.extend(servers(&system));
    system.insert(SERVERS.to_owned(), Value::Object(all));
    let path = place.guard_folder.join("gemini-system.json");
    write(&path, &Value::Object(system).to_string())?;
    prepared.set(SYSTEM, path.into_os_string());
    if place.variable(DEFAULTS).is_none_or(|value| value.is_empty()) {
        prepared.set(DEFAULTS, system_path.with_file_name(DEFAULTS_FILE).into_os_string());
    }
    Ok(())
}

/// Puts the guard before the servers of settings.
fn replace(guard: &RunGuard<'_>, settings: &mut Map<String, Value>) -> GuardedEntries {
    let made = guard.entries(&servers(settings));
    if let Some(known) = settings.get_mut(SERVERS).and_then(Value::as_object_mut) {
        known.extend(made.guarded.clone());
    }
    made
}

fn servers(settings: &Map<String, Value>) -> Map<String, Value> {
    settings.get(SERVERS).and_then(Value::as_object).cloned().unwrap_or_default()
}

fn object(path: &Path) -> Option<Map<String, Value>> {
    relaxed::object(&read_settings(path)?).ok()
}

/// Whether the client reads the workspace's settings: it asks a person to trust a folder, unless that is switched off.
fn is_trusted(place: &LaunchPlace<'_>, settings: &Map<String, Value>) -> bool {
    let trust = settings.get("security").and_then(|security| security.get("folderTrust"));
    let asks = trust.and_then(|trust| trust.get("enabled")) != Some(&json!(false));
    let variable = |name: &str| place.variable_text(name).unwrap_or_default();
    match (variable(RESTRICTED).as_str(), variable(TRUSTS).as_str()) {
        ("true", _) | (_, "false") => return false,
        (_, "true") => return true,
        _ if !asks => return true,
        _ => {}
    }
    let folders = place.homes.folder(&HOME).and_then(|home| object(&home.join(TRUSTED_FILE))).unwrap_or_default();
    let rule = |(folder, word): (&String, &Value)| {
        let folder = Path::new(folder);
        let trusted = match word.as_str()? {
            "TRUST_FOLDER" => (folder, true),
            "TRUST_PARENT" => (folder.parent()?, true),
            _ => (folder, false),
        };
        place.cwd.starts_with(trusted.0).then(|| (trusted.0.components().count(), trusted.1))
    };
    folders.iter().filter_map(rule).max().is_some_and(|(_, trusted)| trusted)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::homes::Homes;
    use std::fs;

    struct Made {
        settings: Map<String, Value>,
        system: Value,
        prepared: PreparedClient,
    }

    fn guarded(settings: &Value, workspace: &Value, trusted: &str) -> Made {
        let folder = tempfile::tempdir().unwrap();
        let (home, work) = (folder.path().join("home"), folder.path().join("work"));
        for made in [&home, &work] {
            fs::create_dir_all(made.join(".gemini")).unwrap();
        }
        fs::write(work.join(".gemini/settings.json"), workspace.to_string()).unwrap();
        let trusted = trusted.replace("WORK", &work.display().to_string());
        fs::write(home.join(".gemini/trustedFolders.json"), trusted).unwrap();
        let system = folder.path().join("system.json");
        fs::write(&system, r#"{"ui":{"theme":"s"}}"#).unwrap();
        let env = [(SYSTEM.into(), system.into_os_string())];
        let homes = Homes { home: Some(home), ..Homes::default() };
        let servers = RunGuard { program: Path::new("/g/tripwire"), variable: "SOCKET", socket: Path::new("/g/s") };
        let place = LaunchPlace {
            guard_folder: folder.path(),
            cwd: &work,
            root: &work,
            servers: Some(servers),
            ..LaunchPlace::nowhere(&env, &homes, None)
        };
        let mut settings = settings.as_object().unwrap().clone();
        let mut prepared = PreparedClient::default();
        guard(&place, &mut settings, &mut prepared).unwrap();
        let system = fs::read(folder.path().join("gemini-system.json")).unwrap_or_default();
        Made { settings, system: serde_json::from_slice(&system).unwrap_or_default(), prepared }
    }

    const OFF: &str = r#"{"enabled":false}"#;

    fn own() -> Value {
        json!({"mcpServers": {"mine": {"command": "a", "args": ["b"]}, "web": {"httpUrl": "u"}},
            "security": {"folderTrust": serde_json::from_str::<Value>(OFF).unwrap()}})
    }

    #[test]
    fn mcp_6_the_persons_servers_and_those_of_the_workspace_come_behind_the_guard() {
        let made = guarded(&own(), &json!({"mcpServers": {"team": {"command": "t"}}}), "{}");
        let args = &made.settings["mcpServers"]["mine"]["args"];
        assert_eq!(*args, json!(["mcp", "--name", "mine", "--", "a", "b"]));
        assert_eq!(made.settings["mcpServers"]["web"], json!({"httpUrl": "u"}));
        assert_eq!(made.system["ui"]["theme"], "s", "what the system sets stays");
        assert_eq!(made.system["mcpServers"]["team"]["command"], "/g/tripwire");
        assert_eq!(made.prepared.env.len(), 2);
        assert!(made.prepared.notes[0].contains("`web`"), "{:?}", made.prepared.notes);
        let alone = guarded(&own(), &json!({}), "{}");
        assert_eq!((alone.system, alone.prepared.env), (Value::Null, vec![]), "without servers nothing is set");
    }

    #[test]
    fn mcp_6_servers_of_a_folder_that_nobody_trusts_are_not_started_by_us() {
        let shared = json!({"mcpServers": {"team": {"command": "t"}}});
        for (trusted, expected) in [
            ("{}", false),
            (r#"{"WORK":"TRUST_FOLDER"}"#, true),
            (r#"{"WORK/x":"TRUST_PARENT"}"#, true),
            (r#"{"/":"TRUST_FOLDER","WORK":"DO_NOT_TRUST"}"#, false),
        ] {
            let made = guarded(&json!({}), &shared, trusted);
            assert_eq!(made.system["mcpServers"]["team"].is_object(), expected, "{trusted}");
        }
    }
}
