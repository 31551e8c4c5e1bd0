//! Texts of settings with our guard and without: each comes back byte for byte.

use super::entry::{ServerKind, ServerSwitch, ToolServer};
use super::guarded::{GuardForm, guarded};
use super::plan::plan_install;
use super::server_form::ServerForm;
use super::texts::{ServersError, guard_all, restored, servers};
use crate::client::Client;
use crate::homes::Homes;
use crate::install::{InstallError, Scope};
use serde_json::{Value, json};
use std::path::Path;

const PROGRAM: &str = "/opt/my tools/tripwire";
const CLAUDE: ServerForm = ServerForm::McpServers { also_in: Some("projects") };

fn words(server: &ToolServer) -> Vec<&str> {
    match &server.kind {
        ServerKind::Program(words) => words.iter().map(String::as_str).collect(),
        ServerKind::Url(_) | ServerKind::Unreadable(_) => Vec::new(),
    }
}

/// Guards a text and checks that every server's own words are behind ours, that a second time changes nothing, and that it
/// comes back.
fn there_and_back(text: &str, form: ServerForm) -> String {
    let made = guard_all(text, form, PROGRAM).unwrap();
    assert_eq!(guard_all(&made, form, PROGRAM).unwrap(), made, "a second time changes nothing");
    assert_eq!(restored(&made, form).unwrap(), text, "{made}");
    let (before, after) = (servers(text, form).unwrap(), servers(&made, form).unwrap());
    assert_eq!(before.len(), after.len(), "{made}");
    for (before, after) in before.iter().zip(&after) {
        assert_eq!((&before.name, &before.within, before.switch), (&after.name, &after.within, after.switch));
        let ServerKind::Program(own) = &before.kind else {
            match (&before.kind, before.obstacle()) {
                (ServerKind::Url(_), None) => {
                    let guard =
                        guarded(&words(after).iter().map(|word| (*word).to_owned()).collect::<Vec<_>>(), &after.name)
                            .unwrap();
                    assert_eq!((guard.form, guard.program.as_str()), (GuardForm::AsInstalled, PROGRAM), "{made}");
                    assert!(text.contains(after.original().unwrap()), "{made}");
                }
                (ServerKind::Program(_) | ServerKind::Url(_) | ServerKind::Unreadable(_), _) => {
                    assert_eq!(before.kind, after.kind, "{made}");
                }
            }
            continue;
        };
        let ServerKind::Program(now) = &after.kind else { panic!("{made}") };
        if guarded(own, &before.name).is_some() {
            assert_eq!(own, now, "a guard that stands there stays");
            continue;
        }
        let guard = guarded(now, &after.name).unwrap();
        assert_eq!(
            (&guard.inner, guard.form, guard.program.as_str()),
            (own, GuardForm::AsInstalled, PROGRAM),
            "{made}"
        );
    }
    made
}

#[test]
fn mcp_6_json_keeps_its_form_whatever_it_is() {
    for text in [
        r#"{"mcpServers":{"files":{"command":"npx","args":["-y","x"]}}}"#,
        r#"{"mcpServers":{"files":{"command":"npx"}}}"#,
        r#"{"mcpServers":{"files":{"args":[],"command":"npx"}}}"#,
        r#"{"mcpServers":{"files":{"command":"npx","args":[ ]}}}"#,
        r#"{"mcpServers":{"files":{"command":"np\u0078","args":[ "a\"b\\" , "ü" ],"env":{"K":"v"},"cwd":"/d"}}}"#,
        "{\n  \"mcpServers\": {\n    \"files\": {\n      \"command\": \"npx\"\n    }\n  }\n}\n",
        "{\r\n\t\"mcpServers\": {\r\n\t\t\"files\": {\r\n\t\t\t\"command\": \"npx\",\r\n\t\t\t\"env\": {}\r\n\t\t}\r\n\t}\r\n}",
        "\u{feff}{\"mcpServers\":{\"files\":{\"command\":\"ü\",\"args\":[\n  \"a\",\n  \"b\"\n]}}}",
        "{ // mine\n \"mcpServers\": { \"files\": { \"command\": \"npx\", /* why */ \"args\": [ // one\n \"a\", ], }, }, }\n",
        r#"{"mcpServers":{}}"#,
        r#"{"a": 1}"#,
        "",
        r#"{"mcpServers":{"":{"command":"x"},"my server":{"command":"x"},"日本":{"command":"x","args":["-"]},"a__b":{"command":"x"}}}"#,
        r#"{"mcpServers":{"web":{"type":"http","url":"https://x/mcp"},"files":{"command":"x"}}}"#,
        r#"{"projects":{"/a":{"mcpServers":{"files":{"command":"x"}}},"/b":{"mcpServers":{"files":{"command":"y"}},"n":1}}}"#,
        r#"{"mcpServers":{"twice":{"command":"x"},"twice":{"command":"y"}}}"#,
        r#"{"mcpServers":{"twice":{"command":"x","command":"y","args":["a"],"args":[]}}}"#,
    ] {
        there_and_back(text, CLAUDE);
    }
}

#[test]
fn mcp_6_what_is_guarded_is_what_the_client_reads() {
    let text =
        r#"{"mcpServers":{"files":{"command":"npx","args":["-y","x"],"env":{"KEY":"${KEY}"},"cwd":"/d"}},"model":"m"}"#;
    let made: Value = serde_json::from_str(&there_and_back(text, CLAUDE)).unwrap();
    let entry = json!({"command": PROGRAM, "args": ["mcp", "--name", "files", "--", "npx", "-y", "x"],
        "env": {"KEY": "${KEY}"}, "cwd": "/d"});
    assert_eq!(made, json!({"mcpServers": {"files": entry}, "model": "m"}));
    let lists = r#"{"mcp":{"files":{"type":"local","command":["bun","x"],"environment":{"A":"b"},"enabled":false}}}"#;
    let made: Value = serde_json::from_str(&there_and_back(lists, ServerForm::CommandLists)).unwrap();
    let command = [PROGRAM, "mcp", "--name", "files", "--", "bun", "x"];
    assert_eq!(made["mcp"]["files"]["command"], json!(command));
    assert_eq!(servers(lists, ServerForm::CommandLists).unwrap()[0].switch, ServerSwitch::Off);
}

#[test]
fn mcp_6_lists_of_commands_keep_their_form() {
    for text in [
        "{\n  // mine\n  \"mcp\": {\n    \"a\": { \"type\": \"local\", \"command\": [\n      \"npx\",\n      \"x\",\n    ] },\n    \"b\": {\"type\":\"remote\",\"url\":\"https://x\"},\n  },\n}\n",
        r#"{"mcp":{"servers":{"a":{"type":"local","command":["x"]}}}}"#,
        r#"{"mcp":{"servers":{"type":"local","command":["x"]},"on":{"enabled":true}}}"#,
        r#"{"mcp":{"none":{"type":"local","command":[]}}}"#,
    ] {
        there_and_back(text, ServerForm::CommandLists);
    }
    let nested = servers(r#"{"mcp":{"servers":{"a":{"command":["x"]}}}}"#, ServerForm::CommandLists).unwrap();
    assert_eq!((nested[0].name.as_str(), words(&nested[0])), ("a", vec!["x"]));
}

#[test]
fn mcp_6_toml_keeps_its_form_whatever_it_is() {
    for text in [
        "model = \"m\" # mine\n\n[mcp_servers.files]\ncommand = \"npx\" # why\nargs = [\"-y\", \"x\"]\nenv = { KEY = \"v\" }\n\n[other]\na = 1\n",
        "[mcp_servers.files]\ncommand = 'npx' # why\n[mcp_servers.files.env]\nA = \"b\"\n",
        "[mcp_servers.files]\r\n  command = \"npx\"\r\n  enabled = false\r\n",
        "[mcp_servers.files]\ncommand = \"npx\"",
        "[mcp_servers.files]\nargs = [\n  'a', # one\n  \"\"\"b\"\"\",\n]\ncommand = \"\"\"\nnpx\"\"\"\n",
        "[mcp_servers.files]\ncommand = \"x\"\nargs = []\n",
        "mcp_servers.files.command = \"npx\"\nmcp_servers.files.env.A = \"b\"\n",
        "[mcp_servers]\nfiles.command = \"npx\"\n\"odd name\" = { command = \"y\", args = [ \"a\" ] }\nshort = { command = 'z' }\n",
        "mcp_servers = { files = { command = \"npx\" } }\n",
        "[mcp_servers.web]\nurl = \"https://x/mcp\"\nbearer_token_env_var = \"T\"\n",
        "[mcp_servers.\"my.server\"]\ncommand = \"a\\u007fb\"\n",
        "",
    ] {
        let made = there_and_back(text, ServerForm::TomlTables);
        made.parse::<toml_edit::DocumentMut>().unwrap();
    }
    let made = there_and_back("[mcp_servers.files]\ncommand = 'npx'\nenv = {}\n", ServerForm::TomlTables);
    let args = "args = [ \"mcp\", \"--name\", \"files\", \"--\", 'npx' ]";
    assert_eq!(made, format!("[mcp_servers.files]\ncommand = \"{PROGRAM}\"\n{args}\nenv = {{}}\n"));
}

#[test]
fn mcp_6_entries_with_an_address_come_back_in_any_form_and_their_headers_are_on_no_command_line() {
    for (text, form) in [
        (
            r#"{"mcpServers":{"web":{"type":"http","url":"https://x/mcp","headers":{"Authorization":"Bearer s3cr3t \"q\""},"timeout":5}}}"#,
            CLAUDE,
        ),
        (
            "{\r\n \"mcpServers\": {\r\n  \"web\": { // mine\r\n   \"httpUrl\": \"https://x\",\r\n   \"trust\": true, },\r\n }\r\n}",
            CLAUDE,
        ),
        (r#"{"projects":{"/p":{"mcpServers":{"ü":{"url":"https://x"},"b":{"serverUrl":"https://y"}}}}}"#, CLAUDE),
        (
            "{ \"mcp\": { \"web\": { \"type\": \"remote\", \"url\": \"https://x\", \"enabled\": false, \"headers\": { \"A\": \"{env:T}\" } } } }",
            ServerForm::CommandLists,
        ),
        (
            "[mcp_servers.web] # mine\nurl = \"https://x/mcp\" # why\nbearer_token_env_var = \"T\"\nenabled = false\n\n[other]\na = 1\n",
            ServerForm::TomlTables,
        ),
        (
            "[mcp_servers.web]\r\n  startup_timeout_sec = 9\r\n  url = 'https://x'\r\n  http_headers = { A = \"b\\\\c\" }\r\n",
            ServerForm::TomlTables,
        ),
        (
            "[mcp_servers]\nweb = { url = \"https://x\", http_headers = { A = 'b' }, enabled = true }\n",
            ServerForm::TomlTables,
        ),
    ] {
        let made = there_and_back(text, form);
        assert_ne!(made, text);
        for server in servers(&made, form).unwrap() {
            let line = words(&server).join(" ");
            assert!(line.ends_with("--entry TRIPWIRE_MCP_ENTRY") && !line.contains("https"), "{line}");
            assert_eq!(server.obstacle(), None);
        }
    }
    let made: Value = serde_json::from_str(&there_and_back(
        r#"{"mcpServers":{"web":{"type":"http","url":"https://x","timeout":5,"disabled":true}}}"#,
        CLAUDE,
    ))
    .unwrap();
    let entry = &made["mcpServers"]["web"];
    assert_eq!((&entry["timeout"], &entry["disabled"], entry.get("url")), (&json!(5), &json!(true), None));
    let made = there_and_back("[mcp_servers.web]\nurl = \"u\"\nbearer_token_env_var = \"T\"\n", ServerForm::TomlTables);
    assert!(made.contains("\nenv_vars = [\"T\"]\n"), "{made}");
}

#[test]
fn mcp_6_an_address_that_cannot_be_guarded_stays_and_says_why() {
    for (text, form, why) in [
        (r#"{"mcpServers":{"a":{"type":"sse","url":"u"}}}"#, CLAUDE, "HTTP+SSE"),
        (r#"{"mcpServers":{"a":{"url":"u","oauth":{"clientId":"c"}}}}"#, CLAUDE, "logs in"),
        (r#"{"mcpServers":{"a":{"url":"u","command":"x"}}}"#, CLAUDE, "a command"),
        (r#"{"mcpServers":{"a":{"url":"u","headers":{"A":1}}}}"#, CLAUDE, "not texts"),
        (
            "[mcp_servers.a]\nurl = \"u\"\n[mcp_servers.a.http_headers]\nA = \"b\"\n",
            ServerForm::TomlTables,
            "several tables",
        ),
        ("mcp_servers.a.url = \"u\"\n", ServerForm::TomlTables, "dots"),
    ] {
        assert_eq!(there_and_back(text, form), text);
        let server = &servers(text, form).unwrap()[0];
        assert!(server.obstacle().is_some_and(|said| said.contains(why)), "{server:?}");
    }
}

#[test]
fn mcp_6_edits_of_the_person_stay_and_only_our_words_go() {
    let text = "{\"mcpServers\": {\"files\": {\"command\": \"npx\", \"args\": [\"-y\", \"x\"]}}}\n";
    let made = guard_all(text, CLAUDE, PROGRAM).unwrap();
    let edited =
        made.replace("\"x\"]", "\"x\", \"/more\"]").replace("{\"mcpServers\"", "{\"model\": \"m\", \"mcpServers\"");
    let expected = "{\"model\": \"m\", \"mcpServers\": {\"files\": {\"command\": \"npx\", \"args\": [\"-y\", \"x\", \"/more\"]}}}\n";
    assert_eq!(restored(&edited, CLAUDE).unwrap(), expected);
    let renamed = made.replace("\"files\": {", "\"data\": {");
    assert_eq!(restored(&renamed, CLAUDE).unwrap(), renamed, "under another name it is the person's own");
}

#[test]
fn mcp_6_a_client_that_writes_its_file_anew_gets_its_own_form_back() {
    for text in [
        json!({"mcpServers": {"a": {"command": "npx", "args": ["-y", "x"], "env": {}}}, "numStartups": 1}),
        json!({"mcpServers": {"a": {"command": "npx", "args": []}}}),
        json!({"projects": {"/p": {"mcpServers": {"a": {"command": "x", "args": ["y"]}}}}}),
        json!({"mcpServers": {"a": {"type": "http", "url": "https://x", "headers": {"A": "b"}}}}),
    ] {
        let own = serde_json::to_string_pretty(&text).unwrap();
        let made = guard_all(&own, CLAUDE, PROGRAM).unwrap();
        let rewritten = serde_json::to_string_pretty(&serde_json::from_str::<Value>(&made).unwrap()).unwrap();
        assert_eq!(restored(&rewritten, CLAUDE).unwrap(), own);
    }
    let bare = guard_all(r#"{"mcpServers":{"a":{"command":"x"}}}"#, CLAUDE, PROGRAM).unwrap();
    let rewritten = serde_json::to_string_pretty(&serde_json::from_str::<Value>(&bare).unwrap()).unwrap();
    let back: Value = serde_json::from_str(&restored(&rewritten, CLAUDE).unwrap()).unwrap();
    assert_eq!(back, json!({"mcpServers": {"a": {"command": "x", "args": []}}}), "which means the same");
    let trailing = r#"{"mcpServers":{"a":{"command":"/t/tripwire","args":["mcp","--name","a","--","x" , ]}}}"#;
    assert_eq!(restored(trailing, CLAUDE).unwrap(), r#"{"mcpServers":{"a":{"command":"x","args":[ ]}}}"#);
}

#[test]
fn mcp_6_a_moved_program_is_called_where_it_is_now_and_a_persons_own_guard_stays() {
    let text = r#"{"mcpServers":{"a":{"command":"x","args":["y"]}}}"#;
    let old = guard_all(text, CLAUDE, "/old/tripwire").unwrap();
    let new = guard_all(&old, CLAUDE, PROGRAM).unwrap();
    assert_eq!(new, guard_all(text, CLAUDE, PROGRAM).unwrap());
    assert_eq!(restored(&new, CLAUDE).unwrap(), text);
    let own = r#"{"mcpServers":{"a":{"command":"tripwire","args":["mcp","--name","mine","--","x"]},"t":{"command":"/b/tripwire","args":["mcp","serve"]}}}"#;
    assert_eq!(there_and_back(own, CLAUDE), own);
}

#[test]
fn mcp_6_what_cannot_be_read_is_told_and_nothing_is_made_of_it() {
    for text in ["{", "[1]", r#"{"mcpServers":[]}"#, r#"{"mcpServers":1}"#, "{\"a\":1} x"] {
        assert!(matches!(guard_all(text, CLAUDE, PROGRAM), Err(ServersError::Json(_))), "{text}");
    }
    for text in ["[mcp_servers", "mcp_servers = 1\n", "a = 1\na = 2\n"] {
        assert!(matches!(guard_all(text, ServerForm::TomlTables, PROGRAM), Err(ServersError::Toml(_))), "{text}");
    }
    let odd = r#"{"mcpServers":{"a":1,"b":{},"c":{"command":1},"d":{"command":"x","args":"y"},"e":{"command":"x","args":[1]}}}"#;
    assert_eq!(there_and_back(odd, CLAUDE), odd);
    let kinds = servers(odd, CLAUDE).unwrap();
    assert!(kinds.iter().all(|server| matches!(server.kind, ServerKind::Unreadable(_))), "{kinds:?}");
}

#[test]
fn mcp_6_a_program_of_another_name_is_told_so_and_no_file_is_blamed() {
    let folder = tempfile::tempdir().unwrap();
    let scope = Scope::Project(folder.path().to_owned());
    let plan = |program: &str| plan_install(&[Client::Claude], &scope, &Homes::default(), Path::new(program));
    assert!(plan("/opt/tw").is_ok_and(|plan| plan.changes.is_empty()), "nothing would be written");
    std::fs::write(folder.path().join(".mcp.json"), r#"{"mcpServers":{"a":{"command":"x"}}}"#).unwrap();
    let refused = plan("/opt/tw").err();
    assert!(matches!(&refused, Some(InstallError::ProgramName { name }) if name == "tw"), "{refused:?}");
    assert!(plan(PROGRAM).is_ok_and(|plan| plan.changes.len() == 1));
}
