//! `tripwire init --mcp`: the guard before the tool servers of the clients' settings, and out again.

use super::{Person, TRIPWIRE, text};
use serde_json::{Value, json};
use std::fs;
use std::path::PathBuf;

const CLAUDE: &str = r#"{
  "numStartups": 3,
  "mcpServers": {
    "files": {"command": "npx", "args": ["-y", "server-filesystem", "/data"], "env": {"KEY": "${KEY}"}},
    "web": {"type": "http", "url": "https://example.org/mcp", "headers": {"Authorization": "Bearer sk-s3cret-1"}},
    "old": {"type": "sse", "url": "https://example.org/sse"}
  },
  "projects": {"/elsewhere": {"mcpServers": {"bare one": {"command": "uvx"}}}}
}
"#;
const CODEX: &str = "model = \"m\" # mine\n\n[mcp_servers.files]\ncommand = 'npx' # why\nargs = [\"-y\", \"x\"]\ncwd = \"/data\"\nenabled = false\n\n[mcp_servers.\"my.db\"]\ncommand = \"db\"\n";
const GEMINI: &str =
    "{\n  // mine\n  \"mcpServers\": { \"files\": { \"command\": \"node\", \"args\": [\"s.js\",], }, },\n}\n";
const OPENCODE: &str = "{\n  // mine\n  \"mcp\": {\n    \"files\": { \"type\": \"local\", \"command\": [\"bun\", \"x\"], \"environment\": {\"A\": \"b\"}, \"enabled\": false },\n  },\n}\n";

/// Every file with its text.
fn settings(person: &Person) -> [(PathBuf, &'static str); 4] {
    let files = [
        (person.home(".claude.json"), CLAUDE),
        (person.home(".codex/config.toml"), CODEX),
        (person.home(".gemini/settings.json"), GEMINI),
        (person.home(".config/opencode/opencode.jsonc"), OPENCODE),
    ];
    for (path, text) in &files {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    files
}

#[test]
fn mcp_6_servers_of_four_clients_are_wrapped_shown_and_restored_byte_for_byte() {
    let person = Person::new();
    let files = settings(&person);
    let shown = person.done(&["init", "--mcp", "--print"]);
    assert!(shown.contains("+") && shown.contains("\"--name\", \"files\", \"--\""), "{shown}");
    assert!(
        shown.contains("claude `old` in") && shown.contains("not wrapped: the older HTTP+SSE transport"),
        "{shown}"
    );
    assert!(shown.contains("claude `web` in") && !shown.contains("s3cret"), "a header is not shown: {shown}");
    for (path, own) in &files {
        assert_eq!(text(path).as_deref(), Some(*own), "only shown");
    }
    assert_eq!(person.run(&["init", "--mcp"]).status.code(), Some(5), "nobody was asked");
    let said = person.done(&["init", "--mcp", "--yes"]);
    assert_eq!(said.matches("wrote ").count(), 4, "{said}");
    assert!(said.contains("not wrapped: the older HTTP+SSE") && said.contains("`tripwire doctor`"), "{said}");
    let claude: Value = serde_json::from_str(&text(&files[0].0).unwrap()).unwrap();
    let files_server = &claude["mcpServers"]["files"];
    let words = ["mcp", "--name", "files", "--", "npx", "-y", "server-filesystem", "/data"];
    assert_eq!((&files_server["command"], &files_server["args"]), (&json!(TRIPWIRE), &json!(words)));
    assert_eq!(files_server["env"], json!({"KEY": "${KEY}"}));
    let web = &claude["mcpServers"]["web"];
    assert_eq!(web["args"], json!(["mcp", "--name", "web", "--entry", "TRIPWIRE_MCP_ENTRY"]));
    assert!(web["env"]["TRIPWIRE_MCP_ENTRY"].as_str().unwrap().contains("Bearer sk-s3cret-1"), "{web}");
    let bare = &claude["projects"]["/elsewhere"]["mcpServers"]["bare one"]["args"];
    assert!(bare[2].as_str().unwrap().starts_with("bare-one-") && bare[4] == "uvx", "{bare}");
    let codex = text(&files[1].0).unwrap();
    assert!(codex.starts_with("model = \"m\" # mine\n") && codex.contains("'npx', \"-y\", \"x\"]"), "{codex}");
    assert!(codex.contains(" # why\n") && codex.contains("enabled = false\n"), "{codex}");
    assert!(text(&files[2].0).unwrap().starts_with("{\n  // mine\n"));
    let made: Vec<_> = files.iter().map(|(path, _)| text(path).unwrap()).collect();
    let again = person.done(&["init", "--mcp", "--yes"]);
    assert!(again.contains("nothing to do") && again.contains("wrapped already"), "{again}");
    assert_eq!(files.iter().map(|(path, _)| text(path).unwrap()).collect::<Vec<_>>(), made);
    let said = person.done(&["init", "--mcp", "--remove", "--yes"]);
    assert_eq!(said.matches("wrote ").count(), 4, "{said}");
    for (path, own) in &files {
        assert_eq!(text(path).as_deref(), Some(*own));
    }
    assert!(person.done(&["init", "--mcp", "--remove", "--yes"]).contains("nothing to remove"));
}

#[test]
fn mcp_6_what_the_person_changed_meanwhile_stays() {
    let person = Person::new();
    settings(&person);
    person.done(&["init", "--mcp", "--yes", "--client", "claude"]);
    let path = person.home(".claude.json");
    // Claude Code rewrites its file whenever it runs.
    let mut written: Value = serde_json::from_str(&text(&path).unwrap()).unwrap();
    written["numStartups"] = json!(4);
    written["mcpServers"]["mine"] = json!({"command": "tripwire", "args": ["mcp", "--", "mine"]});
    fs::write(&path, serde_json::to_string_pretty(&written).unwrap()).unwrap();
    let said = person.done(&["init", "--mcp", "--remove", "--print"]);
    assert!(said.contains("`mine` in") && said.contains("wrapped by hand, stays"), "{said}");
    person.done(&["init", "--mcp", "--remove", "--yes"]);
    let mut expected: Value = serde_json::from_str(CLAUDE).unwrap();
    expected["numStartups"] = json!(4);
    expected["mcpServers"]["mine"] = json!({"command": "tripwire", "args": ["mcp", "--", "mine"]});
    expected["projects"]["/elsewhere"]["mcpServers"]["bare one"]["args"] = json!([]);
    assert_eq!(serde_json::from_str::<Value>(&text(&path).unwrap()).unwrap(), expected);
}

#[test]
fn mcp_6_hooks_and_servers_in_one_file_go_together_in_either_order() {
    for order in [["--yes", "--mcp"], ["--mcp", "--yes"]] {
        let person = Person::new().with_client("gemini");
        let gemini = settings(&person)[2].0.clone();
        for flag in order {
            person.done(&["init", "--client", "gemini", "--yes", if flag == "--mcp" { "--mcp" } else { "--user" }]);
        }
        let both = text(&gemini).unwrap();
        assert!(both.contains("BeforeTool") && both.contains("\"--name\""), "{both}");
        person.done(&["init", "--remove", "--yes"]);
        assert_eq!(text(&gemini).as_deref(), Some(GEMINI), "{order:?}");
        let left = fs::read_dir(gemini.parent().unwrap()).unwrap().count();
        assert_eq!(left, 1, "nothing is left beside it");
    }
    let person = Person::new();
    let files = settings(&person);
    person.done(&["init", "--mcp", "--yes"]);
    person.done(&["init", "--remove", "--yes"]);
    for (path, own) in &files {
        assert_eq!(text(path).as_deref(), Some(*own), "without any hooks too");
    }
}

#[test]
fn mcp_6_a_projects_servers_are_wrapped_in_its_own_files_alone() {
    let person = Person::new();
    let files = settings(&person);
    let shared = "{\"mcpServers\": {\"team\": {\"command\": \"t\"}}}\n";
    fs::write(person.work().join(".mcp.json"), shared).unwrap();
    fs::write(person.work().join("opencode.json"), "{\"mcp\":{\"o\":{\"type\":\"local\",\"command\":[\"o\"]}}}")
        .unwrap();
    let told: Value = serde_json::from_str(&person.done(&["init", "--mcp", "--project", "--yes", "--json"])).unwrap();
    assert_eq!(told["servers"].as_array().unwrap().len(), 2, "{told}");
    assert_eq!((&told["servers"][0]["name"], &told["servers"][0]["state"]), (&json!("team"), &json!("wrapped")));
    assert!(text(&person.work().join(".mcp.json")).unwrap().contains("\"mcp\", \"--name\", \"team\""));
    assert_eq!(text(&files[0].0).as_deref(), Some(CLAUDE));
    person.done(&["init", "--remove", "--project", "--yes", "--client", "claude"]);
    assert_eq!(text(&person.work().join(".mcp.json")).as_deref(), Some(shared));
    assert!(text(&person.work().join("opencode.json")).unwrap().contains("tripwire"), "another client's stay");
}

#[test]
fn mcp_6_broken_files_and_links_are_refused_and_nothing_is_written() {
    let person = Person::new();
    let files = settings(&person);
    for (number, broken, words) in [
        (0, "{\n  \"mcpServers\": {},\n}\n", "line 2: Claude Code does not read servers"),
        (0, "{\"mcpServers\": []}", "`mcpServers` is not an object"),
        (1, "[mcp_servers\n", "config.toml"),
        (1, "mcp_servers = 1\n", "`mcp_servers` is not a table"),
        (2, "{ oops", "line 1"),
        (3, "[1]", "the whole file"),
    ] {
        let (path, own) = &files[number];
        fs::write(path, broken).unwrap();
        let output = person.run(&["init", "--mcp", "--yes"]);
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{told}");
        assert!(told.contains(words) && told.contains("nothing was changed"), "{told}");
        let others = files.iter().filter(|(other, _)| other != path);
        assert!(others.into_iter().all(|(other, own)| text(other).as_deref() == Some(*own)), "{broken}");
        fs::write(path, own).unwrap();
    }
    person.done(&["init", "--mcp", "--yes"]);
    fs::write(&files[0].0, "{\"command\": \"tripwire\"").unwrap();
    let output = person.run(&["init", "--mcp", "--remove", "--yes"]);
    let told = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.code(), Some(1), "{told}");
    assert!(told.contains("NOT DONE") && text(&files[1].0).as_deref() == Some(CODEX), "{told}");
    std::os::unix::fs::symlink(person.home(".gemini/settings.json"), person.work().join(".mcp.json")).unwrap();
    assert_eq!(person.run(&["init", "--mcp", "--project", "--yes"]).status.code(), Some(2), "a link of a repository");
}

#[test]
fn mcp_6_flags_that_do_not_fit_are_refused() {
    let person = Person::new();
    assert!(person.done(&["init", "--mcp", "--yes"]).contains("the settings name no tool servers"));
    for words in [&["init", "--mcp", "--statusline"][..], &["init", "--mcp", "--remove", "--purge"]] {
        assert_eq!(person.run(words).status.code(), Some(2), "{words:?}");
    }
    let hookless = person.run(&["init", "--client", "opencode", "--yes"]);
    assert_eq!(hookless.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&hookless.stderr).contains("--mcp --client opencode"), "{hookless:?}");
}

#[test]
fn mcp_6_doctor_lists_every_server_with_its_state() {
    let person = Person::new();
    settings(&person);
    person.done(&["init", "--mcp", "--yes", "--client", "gemini"]);
    let doctor = String::from_utf8(person.run(&["doctor"]).stdout).unwrap();
    let line = |id: &str| doctor.lines().find(|line| line.starts_with(id)).unwrap_or_else(|| panic!("{id}: {doctor}"));
    let claude = line("mcp.claude.files ");
    assert!(claude.contains(" off ") && claude.contains("`npx -y server-filesystem /data`"), "{claude}");
    assert!(
        claude.ends_with(": not wrapped") && line("mcp.claude.old ").ends_with("the older HTTP+SSE transport"),
        "{doctor}"
    );
    assert!(doctor.contains("-> tripwire init --mcp --client claude"), "{doctor}");
    let web = line("mcp.claude.web ");
    assert!(web.contains("`https://example.org/mcp`") && web.ends_with(": not wrapped"), "{web}");
    assert!(!doctor.contains("bare"), "another project's: {doctor}");
    assert!(line("mcp.codex.files ").contains("switched off"), "{doctor}");
    let gemini = line("mcp.gemini.files ");
    assert!(
        gemini.contains(" ok ") && gemini.contains("`node s.js`") && gemini.contains("wrapped; no tools pinned yet")
    );
    let path = person.home(".gemini/settings.json");
    fs::write(&path, text(&path).unwrap().replace(TRIPWIRE, "/gone/tripwire")).unwrap();
    let doctor = String::from_utf8(person.run(&["doctor"]).stdout).unwrap();
    assert!(doctor.contains("`/gone/tripwire` is not there, so the server cannot start"), "{doctor}");
    assert!(
        person.done(&["init", "--mcp", "--yes"]).contains("wrote       gemini"),
        "the program is called where it is"
    );
}
