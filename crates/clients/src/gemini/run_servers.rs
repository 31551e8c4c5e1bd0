//! The tool servers of Gemini CLI in one run: the person's come behind the guard in the settings of the run's own home. Those of a
//! workspace count more than these, and only settings that root owns count more than those: they are told to the person.

use super::settings::{FILE, HOME};
use crate::install::change::read_settings;
use crate::launch::prepare::{LaunchPlace, PreparedClient};
use crate::launch::relaxed;
use crate::tool_servers::run_guard::not_wrapped;
use serde_json::{Map, Value};

const SERVERS: &str = "mcpServers";

/// Puts the guard before the servers of the person's settings, and tells which others there are.
pub(super) fn guard(place: &LaunchPlace<'_>, settings: &mut Map<String, Value>, prepared: &mut PreparedClient) {
    let Some(guard) = place.servers else { return };
    let own = guard.entries(&servers(settings));
    if let Some(known) = settings.get_mut(SERVERS).and_then(Value::as_object_mut) {
        known.extend(own.guarded);
    }
    prepared.notes.extend(not_wrapped(&own.open, "they cannot be wrapped; hooks see their calls"));
    let file = place.cwd.join(HOME.folder).join(FILE);
    let shared = read_settings(&file).and_then(|text| relaxed::object(&text).ok()).unwrap_or_default();
    let shared = servers(&shared);
    // A guard that stands there finds the run by itself.
    let open: Vec<String> = shared.keys().filter(|name| !guard.stands_before(name, &shared[*name])).cloned().collect();
    let why = "of the workspace; hooks see their calls, and `tripwire init --mcp --project` wraps them";
    prepared.notes.extend(not_wrapped(&open, why));
}

fn servers(settings: &Map<String, Value>) -> Map<String, Value> {
    settings.get(SERVERS).and_then(Value::as_object).cloned().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::homes::Homes;
    use crate::tool_servers::run_guard::RunGuard;
    use serde_json::json;
    use std::fs;
    use std::path::Path;

    #[test]
    fn mcp_6_the_persons_servers_come_behind_the_guard_and_a_workspaces_are_told() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join(".gemini")).unwrap();
        let wrapped = json!({"command": "/opt/tripwire", "args": ["mcp", "--name", "done", "--", "x"]});
        let shared = json!({"mcpServers": {"team": {"command": "t"}, "done": wrapped}});
        fs::write(folder.path().join(".gemini/settings.json"), shared.to_string()).unwrap();
        let homes = Homes::default();
        let servers = RunGuard { program: Path::new("/g/tripwire"), variable: "SOCKET", socket: Path::new("/g/s") };
        let nowhere = LaunchPlace::nowhere(&[], &homes, None);
        let place = LaunchPlace { cwd: folder.path(), servers: Some(servers), ..nowhere };
        let own = json!({"mcpServers": {"mine": {"command": "a", "args": ["b"]}, "web": {"httpUrl": "u"}, "old": {"url": "u", "oauth": {}}}});
        let (mut settings, mut prepared) = (own.as_object().unwrap().clone(), PreparedClient::default());
        guard(&place, &mut settings, &mut prepared);
        let args = &settings["mcpServers"]["mine"]["args"];
        assert_eq!(*args, json!(["mcp", "--name", "mine", "--", "a", "b"]));
        assert_eq!(settings["mcpServers"]["web"]["args"][3], "--entry");
        assert_eq!(settings["mcpServers"]["old"], json!({"url": "u", "oauth": {}}));
        let [http, workspace] = prepared.notes.as_slice() else { panic!("{:?}", prepared.notes) };
        assert!(http.contains("`old`") && !http.contains("`web`"), "{http}");
        assert!(workspace.contains("`team`") && !workspace.contains("`done`"), "{workspace}");
        let (mut settings, mut prepared) = (Map::new(), PreparedClient::default());
        guard(&LaunchPlace { cwd: Path::new("/nowhere"), ..place }, &mut settings, &mut prepared);
        assert_eq!((settings, prepared.notes), (Map::new(), Vec::new()), "without servers nothing is said");
    }
}
