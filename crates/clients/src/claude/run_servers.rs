//! The tool servers of Claude Code in one run: a file of servers by flag, in which the guard stands before each. A server of the
//! same name in a file of the person's or the project's gives way to it.

use super::servers::{PROJECT_FILE, PROJECTS, own_file};
use super::settings::{FILES, HOME};
use crate::install::change::read_settings;
use crate::install::file::{self, Scope};
use crate::launch::prepare::{LaunchError, LaunchPlace, OwnWords, PreparedClient, write};
use crate::launch::relaxed;
use crate::tool_servers::run_guard::not_wrapped;
use serde_json::{Map, Value, json};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

const FLAG: &str = "--mcp-config";
/// With it only the servers behind the flag are read.
const STRICT: &str = "--strict-mcp-config";
/// With these nobody is asked whether a project's servers may be started.
const UNASKED: [&str; 4] = ["-p", "--print", "--dangerously-skip-permissions", "bypassPermissions"];
const SERVERS: &str = "mcpServers";
/// Where an organisation sets the servers alone: the client refuses servers by flag then.
const MANAGED: &str = "/etc/claude-code/managed-mcp.json";

/// Adds the servers of this run to the command line.
pub(super) fn guard(
    place: &LaunchPlace<'_>,
    arguments: usize,
    prepared: &mut PreparedClient,
) -> Result<(), LaunchError> {
    let Some(guard) = place.servers else { return Ok(()) };
    if Path::new(MANAGED).exists() {
        prepared
            .notes
            .push(format!("tool servers without a guard of their own: those of `{MANAGED}`; hooks see their calls"));
        return Ok(());
    }
    let words = OwnWords::of(&prepared.command, arguments);
    let given = take_given(place, arguments, &mut prepared.command)?;
    let named = if words.own.iter().any(|word| word == STRICT) { Map::new() } else { in_files(place, &words.own)? };
    let mut made = guard.entries(&named);
    prepared.notes.extend(not_wrapped(&made.open, "they cannot be wrapped; hooks see their calls"));
    let by_flag = guard.entries(&given);
    prepared.notes.extend(not_wrapped(&by_flag.open, "they cannot be wrapped; hooks see their calls"));
    // What stood behind the flag is read nowhere else.
    made.guarded.extend(given);
    made.guarded.extend(by_flag.guarded);
    if made.guarded.is_empty() {
        return Ok(());
    }
    let path = place.guard_folder.join("claude-servers.json");
    write(&path, &json!({ SERVERS: made.guarded }).to_string())?;
    // The flag takes every word that follows, unless its value stands in the same word.
    let mut flag = OsString::from(format!("{FLAG}="));
    flag.push(path);
    prepared.command.insert(arguments, flag);
    Ok(())
}

/// Takes the person's own flag out of the command line, with all its values.
fn take_given(
    place: &LaunchPlace<'_>,
    arguments: usize,
    command: &mut Vec<OsString>,
) -> Result<Map<String, Value>, LaunchError> {
    let mut found = Map::new();
    let mut index = arguments;
    while let Some(word) = command.get(index).filter(|word| *word != "--") {
        let text = word.to_string_lossy().into_owned();
        if text == FLAG {
            command.remove(index);
            while let Some(value) = command.get(index).filter(|word| !word.to_string_lossy().starts_with('-')).cloned()
            {
                command.remove(index);
                found.extend(read_given(place, value)?);
            }
        } else if let Some(value) = text.strip_prefix(&format!("{FLAG}=")) {
            command.remove(index);
            found.extend(read_given(place, value.into())?);
        } else {
            index += 1;
        }
    }
    Ok(found)
}

/// The flag takes files and the JSON itself.
fn read_given(place: &LaunchPlace<'_>, value: OsString) -> Result<Map<String, Value>, LaunchError> {
    let text = value.into_string().map_err(|word| LaunchError::NotText { word })?;
    let (path, text) = if text.trim_start().starts_with('{') {
        (PathBuf::from(FLAG), text)
    } else {
        let path = place.cwd.join(&text);
        let read = std::fs::read_to_string(&path);
        (path.clone(), read.map_err(|error| LaunchError::File { action: "read", path, error })?)
    };
    let problem = |problem| LaunchError::Settings { client: "Claude Code", path: path.clone(), problem };
    Ok(servers(&Value::Object(relaxed::object(&text).map_err(problem)?)))
}

/// The servers that its files name, the strongest file last.
fn in_files(place: &LaunchPlace<'_>, own: &[String]) -> Result<Map<String, Value>, LaunchError> {
    let person = match own_file(place.homes) {
        Some(path) => read(path)?,
        None => Value::Null,
    };
    let projects = [place.root, place.cwd].map(|folder| person[PROJECTS][folder.to_string_lossy().as_ref()].clone());
    let mut found = servers(&person);
    let above: Vec<_> = place.cwd.ancestors().take_while(|folder| folder.starts_with(place.root)).collect();
    for folder in above.into_iter().rev() {
        let shared = servers(&read(folder.join(PROJECT_FILE))?);
        found.extend(shared.into_iter().filter(|(name, _)| is_approved(place, name, &projects, own)));
    }
    for project in &projects {
        found.extend(servers(project));
    }
    let is_off = |name: &String| projects.iter().any(|project| lists(project, "disabledMcpServers", name));
    found.retain(|name, _| !is_off(name));
    Ok(found)
}

/// Whether a project's server is started without a question. One that is not yet approved is the client's to ask about.
fn is_approved(place: &LaunchPlace<'_>, name: &str, projects: &[Value], own: &[String]) -> bool {
    let home = place.homes.folder(&HOME);
    let folders = [place.cwd, place.root].map(|folder| folder.join(HOME.folder)).into_iter().chain(home);
    let files = folders.flat_map(|folder| FILES.map(|file| folder.join(file)));
    let settings = files.filter_map(|file| relaxed::object(&read_settings(&file)?).ok()).map(Value::Object);
    let all: Vec<Value> = settings.chain(projects.iter().cloned()).collect();
    let listed = |member: &str| all.iter().any(|settings| lists(settings, member, name));
    let enabled = listed("enabledMcpjsonServers") || all.iter().any(|all| all["enableAllProjectMcpServers"] == true);
    let unasked = own.iter().any(|word| UNASKED.contains(&word.as_str()));
    !listed("disabledMcpjsonServers") && (enabled || unasked)
}

fn lists(settings: &Value, member: &str, name: &str) -> bool {
    settings[member].as_array().is_some_and(|list| list.iter().any(|one| one == name))
}

fn servers(settings: &Value) -> Map<String, Value> {
    settings[SERVERS].as_object().cloned().unwrap_or_default()
}

/// A file of the client's. One that it cannot read either names no server; one that we cannot read may.
fn read(path: PathBuf) -> Result<Value, LaunchError> {
    let problem = |problem: String| LaunchError::Settings { client: "Claude Code", path: path.clone(), problem };
    let text = file::read(&path, &Scope::User).map_err(|error| problem(error.to_string()))?;
    Ok(text.and_then(|text| relaxed::object(&text).ok()).map_or(Value::Null, Value::Object))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::homes::Homes;
    use crate::tool_servers::run_guard::RunGuard;
    use std::fs;

    /// The servers of a run in a folder with these files, the words of its command line, and what is said.
    fn guarded(files: &[(&str, Value)], line: &[&str]) -> (Value, Vec<String>, Vec<String>) {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path().canonicalize().unwrap();
        let (home, work, run) = (base.join("home"), base.join("work"), base.join("run"));
        for made in [&home.join(".claude"), &work.join(".claude"), &run] {
            fs::create_dir_all(made).unwrap();
        }
        for (name, value) in files {
            fs::write(base.join(name), value.to_string().replace("WORK", &work.display().to_string())).unwrap();
        }
        let homes = Homes { home: Some(home), ..Homes::default() };
        let servers =
            RunGuard { program: Path::new("/g/tripwire"), variable: "SOCKET", socket: Path::new("/g/socket") };
        let place = LaunchPlace {
            guard_folder: &run,
            cwd: &work,
            root: &work,
            servers: Some(servers),
            ..LaunchPlace::nowhere(&[], &homes, None)
        };
        let command = line.iter().map(OsString::from).collect();
        let mut prepared = PreparedClient { command, ..PreparedClient::default() };
        guard(&place, 1, &mut prepared).unwrap();
        let text = fs::read(run.join("claude-servers.json")).unwrap_or_default();
        let words = prepared.command.iter().map(|word| word.to_string_lossy().into_owned()).collect();
        (serde_json::from_slice(&text).unwrap_or_default(), words, prepared.notes)
    }

    fn names(made: &Value) -> Vec<&str> {
        let servers = made[SERVERS].as_object();
        let mut names: Vec<&str> =
            servers.map(|servers| servers.keys().map(String::as_str).collect()).unwrap_or_default();
        names.sort_unstable();
        names
    }

    fn own() -> Value {
        json!({"mcpServers": {"mine": {"command": "a"}, "both": {"command": "person"}, "web": {"type": "http", "url": "u"}},
            "projects": {"WORK": {"mcpServers": {"both": {"command": "local", "args": ["x"]}},
                "disabledMcpServers": ["off"]}, "/other": {"mcpServers": {"not": {"command": "n"}}}}})
    }

    #[test]
    fn mcp_6_the_servers_of_all_files_come_behind_the_guard_and_the_strongest_counts() {
        let shared =
            json!({"mcpServers": {"both": {"command": "shared"}, "team": {"command": "t"}, "off": {"command": "o"}}});
        let files = [("home/.claude.json", own()), ("work/.mcp.json", shared)];
        let (made, words, notes) = guarded(&files, &["claude", "-p", "x"]);
        assert_eq!(names(&made), ["both", "mine", "team", "web"]);
        assert_eq!(made[SERVERS]["both"]["args"], json!(["mcp", "--name", "both", "--", "local", "x"]));
        assert_eq!(made[SERVERS]["mine"]["env"], json!({"SOCKET": "/g/socket"}));
        assert!(words[1].starts_with("--mcp-config=/") && words[2..] == ["-p", "x"], "{words:?}");
        assert_eq!(made[SERVERS]["web"]["args"], json!(["mcp", "--name", "web", "--entry", "TRIPWIRE_MCP_ENTRY"]));
        assert!(notes.is_empty(), "{notes:?}");
        let old = json!({"mcpServers": {"old": {"type": "sse", "url": "u"}}});
        let (made, _, notes) = guarded(&[("home/.claude.json", old)], &["claude", "-p", "x"]);
        assert!(names(&made).is_empty() && notes.len() == 1 && notes[0].contains("`old`"), "{notes:?}");
    }

    #[test]
    fn mcp_6_a_projects_server_that_nobody_approved_is_left_to_the_client() {
        let shared = json!({"mcpServers": {"team": {"command": "t"}, "no": {"command": "n"}}});
        let with = |settings: Value, line: &[&str]| {
            let files = [("work/.mcp.json", shared.clone()), ("work/.claude/settings.json", settings)];
            names(&guarded(&files, line).0).into_iter().map(str::to_owned).collect::<Vec<_>>()
        };
        assert!(with(json!({}), &["claude"]).is_empty());
        assert_eq!(with(json!({"enabledMcpjsonServers": ["team"]}), &["claude"]), ["team"]);
        let all = json!({"enableAllProjectMcpServers": true, "disabledMcpjsonServers": ["no"]});
        assert_eq!(with(all.clone(), &["claude"]), ["team"]);
        assert_eq!(with(all, &["claude", "-p", "x"]), ["team"]);
        assert_eq!(with(json!({}), &["claude", "-p", "x"]), ["no", "team"]);
    }

    #[test]
    fn mcp_6_servers_by_flag_are_guarded_too_and_alone_where_the_person_wants_that() {
        let given = r#"{"mcpServers":{"given":{"command":"g"},"far":{"type":"sse","url":"u"}}}"#;
        let files =
            [("home/.claude.json", own()), ("work/more.json", json!({"mcpServers": {"more": {"command": "m"}}}))];
        let line = ["claude", "--mcp-config", given, "more.json", "--strict-mcp-config", "-p", "x"];
        let (made, words, _) = guarded(&files, &line);
        assert_eq!(names(&made), ["far", "given", "more"]);
        assert_eq!(made[SERVERS]["far"], json!({"type": "sse", "url": "u"}), "it stands nowhere else");
        assert_eq!(words[2..], ["--strict-mcp-config", "-p", "x"]);
        let (made, words, _) = guarded(&[], &["claude", "-p", "x", &format!("--mcp-config={given}")]);
        assert_eq!((names(&made), &words[2..]), (vec!["far", "given"], &["-p".to_owned(), "x".to_owned()][..]));
    }

    #[test]
    fn mcp_6_without_servers_nothing_is_added() {
        let (made, words, notes) = guarded(&[("home/.claude.json", json!({"numStartups": 1}))], &["claude", "-p", "x"]);
        assert_eq!((made, words, notes), (Value::Null, vec!["claude".to_owned(), "-p".into(), "x".into()], vec![]));
    }
}
