//! The tool servers of Codex in one run: overrides that put the guard before each. What else their tables say stays.

use super::app_server::toml_text;
use super::route::{CodexSettings, behind_overrides};
use super::settings::HOME;
use crate::install::change::read_settings;
use crate::launch::prepare::{LaunchPlace, PreparedClient};
use crate::tool_servers::run_guard::{RunGuard, not_wrapped};
use std::collections::BTreeMap;
use std::ffi::OsString;
use toml_edit::{DocumentMut, Item, TableLike};

const MEMBER: &str = "mcp_servers";

/// What is known of a server; a later layer counts.
#[derive(Debug, Default, Clone)]
struct PartialServer {
    command: Option<String>,
    args: Option<Vec<String>>,
    url: Option<String>,
}

/// Adds the overrides to the command line, behind those of the person.
pub(super) fn guard(place: &LaunchPlace<'_>, arguments: usize, prepared: &mut PreparedClient) {
    let Some(guard) = place.servers else { return };
    let words: Vec<String> = prepared.command.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let own = words.get(arguments..).unwrap_or_default();
    let servers = known(place, &CodexSettings::read(place, own));
    let (mut plain, mut odd, mut open) = (Vec::new(), Vec::new(), Vec::new());
    for (name, server) in servers {
        match (server.url, server.command) {
            (None, Some(command)) => {
                let own: Vec<String> = std::iter::once(command).chain(server.args.unwrap_or_default()).collect();
                let words = guard.words(&name, &own);
                // The client cuts the name of an override at each dot, quoted or not.
                if name.chars().all(|letter| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_')) {
                    plain.extend(overrides(&guard, &name, &words));
                } else {
                    odd.push(table(&guard, &name, &words));
                }
            }
            (Some(_), _) | (None, None) => open.push(name),
        }
    }
    prepared.notes.extend(not_wrapped(&open, "HTTP; hooks see their calls, and `tripwire init --mcp` wraps them"));
    let at = arguments + behind_overrides(own);
    let given = plain.into_iter().flat_map(|word| [OsString::from("-c"), OsString::from(word)]);
    prepared.command.splice(at..at, given);
    if !odd.is_empty() {
        // The whole table comes first: overrides behind it only add to it.
        let whole = format!("{MEMBER}={{{}}}", odd.join(","));
        prepared.command.splice(arguments..arguments, [OsString::from("-c"), OsString::from(whole)]);
    }
}

/// The overrides of a server whose name can stand in one.
fn overrides(guard: &RunGuard<'_>, name: &str, words: &[String]) -> Vec<String> {
    let (command, args) = split(words);
    vec![
        format!("{MEMBER}.{name}.command={command}"),
        format!("{MEMBER}.{name}.args={args}"),
        format!("{MEMBER}.{name}.env.{}={}", guard.variable, toml_text(&guard.socket())),
    ]
}

/// The same inside of a table.
fn table(guard: &RunGuard<'_>, name: &str, words: &[String]) -> String {
    let (command, args) = split(words);
    let env = format!("{{{}={}}}", guard.variable, toml_text(&guard.socket()));
    format!("{}={{command={command},args={args},env={env}}}", toml_text(name))
}

fn split(words: &[String]) -> (String, String) {
    let mut texts = words.iter().map(|word| toml_text(word));
    let command = texts.next().unwrap_or_default();
    (command, format!("[{}]", texts.collect::<Vec<_>>().join(",")))
}

/// The servers of the person's configuration, of the project's where the person trusts it, and of the command line.
fn known(place: &LaunchPlace<'_>, settings: &CodexSettings) -> BTreeMap<String, PartialServer> {
    let mut servers = BTreeMap::new();
    add(&mut servers, settings.file.get(MEMBER));
    let above: Vec<_> = place.cwd.ancestors().take_while(|folder| folder.starts_with(place.root)).collect();
    for folder in above.iter().rev().filter(|_| is_trusted(place, &settings.file)) {
        let text = read_settings(&folder.join(HOME.folder).join("config.toml"));
        let project = text.and_then(|text| text.parse::<DocumentMut>().ok()).unwrap_or_default();
        add(&mut servers, project.get(MEMBER));
    }
    for (path, value) in &settings.overrides {
        match path.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
            [MEMBER] => add(&mut servers, Some(value)),
            [MEMBER, name] => note(servers.entry((*name).to_owned()).or_default(), value.as_table_like()),
            [MEMBER, name, member] => set(servers.entry((*name).to_owned()).or_default(), member, value),
            _ => {}
        }
    }
    servers
}

/// The client reads a project's configuration only in a folder that the person trusts.
fn is_trusted(place: &LaunchPlace<'_>, own: &DocumentMut) -> bool {
    let level = |folder: &std::path::Path| {
        let project = own.get("projects")?.get(folder.to_str()?)?;
        project.get("trust_level")?.as_str().map(|level| level == "trusted")
    };
    [place.cwd, place.root].into_iter().any(|folder| level(folder) == Some(true))
}

fn add(servers: &mut BTreeMap<String, PartialServer>, list: Option<&Item>) {
    let Some(list) = list.and_then(Item::as_table_like) else { return };
    for (name, entry) in list.iter() {
        note(servers.entry(name.to_owned()).or_default(), entry.as_table_like());
    }
}

fn note(server: &mut PartialServer, table: Option<&dyn TableLike>) {
    for (member, value) in table.into_iter().flat_map(|table| table.iter()) {
        set(server, member, value);
    }
}

fn set(server: &mut PartialServer, member: &str, value: &Item) {
    let texts = || value.as_array()?.iter().map(|word| word.as_str().map(str::to_owned)).collect();
    match member {
        "command" => server.command = value.as_str().map(str::to_owned),
        "args" => server.args = texts(),
        "url" => server.url = value.as_str().map(str::to_owned),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::homes::Homes;
    use std::fs;
    use std::path::Path;

    fn line(config: &str, project: &str, words: &[&str]) -> (String, Vec<String>) {
        let folder = tempfile::tempdir().unwrap();
        let (home, work) = (folder.path().join("home"), folder.path().join("work"));
        fs::create_dir_all(home.join(".codex")).unwrap();
        fs::create_dir_all(work.join(".codex")).unwrap();
        fs::write(home.join(".codex/config.toml"), config.replace("WORK", &work.display().to_string())).unwrap();
        fs::write(work.join(".codex/config.toml"), project).unwrap();
        let homes = Homes { home: Some(home), ..Homes::default() };
        let servers = RunGuard { program: Path::new("/g/tripwire"), variable: "SOCKET", socket: Path::new("/g/s") };
        let place =
            LaunchPlace { cwd: &work, root: &work, servers: Some(servers), ..LaunchPlace::nowhere(&[], &homes, None) };
        let command = words.iter().map(OsString::from).collect();
        let mut prepared = PreparedClient { command, ..PreparedClient::default() };
        guard(&place, 1, &mut prepared);
        let words: Vec<_> = prepared.command.iter().map(|word| word.to_string_lossy().into_owned()).collect();
        (words.join(" "), prepared.notes)
    }

    const FILES: &str = "[mcp_servers.files]\ncommand = \"npx\"\nargs = [\"-y\", \"x\"]\nenv = { KEY = \"secret\" }\n";

    #[test]
    fn mcp_6_overrides_put_the_guard_before_a_server_and_leave_the_rest_of_it() {
        let (line, notes) = line(FILES, "", &["codex", "exec", "x"]);
        let args = r#"args=["mcp","--name","files","--","npx","-y","x"]"#;
        let expected = format!(
            "codex -c mcp_servers.files.command=\"/g/tripwire\" -c mcp_servers.files.{args} -c mcp_servers.files.env.SOCKET=\"/g/s\" exec x"
        );
        assert_eq!((line, notes), (expected, Vec::new()), "a secret of its own is on no command line");
    }

    #[test]
    fn mcp_6_servers_by_override_and_of_a_trusted_project_are_guarded_too() {
        let trust = "[projects.\"WORK\"]\ntrust_level = \"trusted\"\n";
        let project = "[mcp_servers.team]\ncommand = \"t\"\n";
        assert!(line(trust, project, &["codex", "exec", "x"]).0.contains("mcp_servers.team.command=\"/g/tripwire\""));
        assert_eq!(line("", project, &["codex", "exec", "x"]).0, "codex exec x", "it would not be started either");
        let words = ["codex", "-c", "mcp_servers.mine={command=\"m\",args=[\"1\"]}", "exec", "-c", "model=\"z\"", "x"];
        let (with, _) = line(FILES, "", &words);
        assert!(with.contains("args=[\"mcp\",\"--name\",\"mine\",\"--\",\"m\",\"1\"]"), "{with}");
        assert!(with.find("model=").unwrap() < with.find("mcp_servers.mine.command=").unwrap() && with.ends_with(" x"));
        let (with, _) = line(FILES, "", &["codex", "-c", "mcp_servers.files.command=\"other\"", "exec", "x"]);
        assert!(with.contains("\"--\",\"other\",\"-y\",\"x\"]"), "{with}");
    }

    #[test]
    fn mcp_6_odd_names_come_as_a_table_and_addresses_are_told() {
        let config = "[mcp_servers.\"my.server\"]\ncommand = \"a\"\n[mcp_servers.web]\nurl = \"https://x\"\n";
        let (line, notes) = line(config, "", &["codex", "exec", "x"]);
        assert!(
            line.starts_with("codex -c mcp_servers={\"my.server\"={command=\"/g/tripwire\",args=[\"mcp\""),
            "{line}"
        );
        assert!(line.contains("env={SOCKET=\"/g/s\"}}} exec x"), "{line}");
        assert!(notes.len() == 1 && notes[0].contains("`web`"), "{notes:?}");
    }
}
