//! What is out of reach, and what looks like it and is not.

use super::*;
use tripwire_host::workspace::Places;

struct Bed {
    folder: tempfile::TempDir,
    reach: Reach,
}

fn bed() -> Bed {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap().join("work");
    std::fs::create_dir_all(root.join(".geometry")).unwrap();
    std::fs::create_dir_all(root.join("src")).unwrap();
    let workspace = Workspace::open(&root, &Places { xdg_state_home: None, home: None }).unwrap();
    let homes = Homes { home: Some(folder.path().canonicalize().unwrap().join("home")), ..Homes::default() };
    Bed { reach: Reach::new(&workspace, &homes), folder }
}

impl Bed {
    fn root(&self) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join("work")
    }

    fn touches(&self, name: &str, input: &Value) -> bool {
        let tool = Tool { name: name.to_owned(), input: input.to_string(), call_id: None };
        touches(&self.reach, &tool, &self.root()).is_some()
    }

    fn shell(&self, command: &str) -> bool {
        self.touches("Bash", &serde_json::json!({"command": command, "description": "x"}))
    }
}

#[test]
fn ctrl_3_no_editing_tool_writes_the_guards_files() {
    use serde_json::json;
    let bed = bed();
    let home = bed.reach.home.clone().unwrap();
    let paths = [
        ".geometry/MANIFEST.yaml".to_owned(),
        "src/.geometry/MANIFEST.yaml".to_owned(),
        "src/../.geometry/STOP".to_owned(),
        bed.root().join(".geometry/journal/x").display().to_string(),
        ".claude/settings.local.json".to_owned(),
        ".codex/config.toml".to_owned(),
        ".gemini/settings.json".to_owned(),
        home.join(".claude/settings.json").display().to_string(),
        home.join(".codex/config.toml").display().to_string(),
        home.join(".local/state/tripwire/key").display().to_string(),
        "~/.gemini/settings.json".to_owned(),
    ];
    for path in &paths {
        for tool in ["Write", "Edit", "MultiEdit", "write_file", "replace", "mcp__fs__write_file", "a_tool_of_tomorrow"]
        {
            assert!(bed.touches(tool, &json!({"file_path": path, "content": "x"})), "{tool} {path}");
        }
        assert!(bed.touches("NotebookEdit", &json!({"notebook_path": path, "new_source": "x"})), "{path}");
        let patch = format!("*** Begin Patch\n*** Update File: {path}\n@@\n-a\n+b\n*** End Patch");
        assert!(bed.touches("apply_patch", &json!({"command": patch})), "{path}");
        let line = format!("apply_patch <<'EOF'\n{patch}\nEOF");
        assert!(bed.touches("exec_command", &json!({"cmd": line})), "{path}");
        assert!(!bed.touches("Read", &json!({"file_path": path})), "reading {path}");
    }
}

#[test]
fn ctrl_3_a_link_does_not_lead_around() {
    let bed = bed();
    std::os::unix::fs::symlink(bed.root().join(".geometry"), bed.root().join("innocent")).unwrap();
    assert!(bed.touches("Write", &serde_json::json!({"file_path": "innocent/STOP"})));
}

#[test]
fn ctrl_3_ordinary_files_are_within_reach() {
    use serde_json::json;
    let bed = bed();
    for path in ["src/main.rs", ".claude/commands/x.md", "geometry/a", ".github/settings.json", "docs/.geometry.md"] {
        assert!(!bed.touches("Write", &json!({"file_path": path, "content": ".geometry/STOP"})), "{path}");
    }
    assert!(!bed.touches("Agent", &json!({"prompt": ".geometry/STOP", "description": "x"})));
    assert!(!bed.touches("TodoWrite", &json!({"todos": [{"content": "remove .geometry/STOP"}]})));
}

#[test]
fn ctrl_3_no_command_line_writes_the_guards_files() {
    let bed = bed();
    for command in [
        "rm -f .geometry/STOP",
        "mkdir -p src/.geometry && cd src",
        "rm .geo''metry/PAUSE",
        "cd .geometry && rm STOP",
        "cd src; echo x > ../.geometry/MANIFEST.yaml",
        "X=.geometry; rm -rf $X/journal",
        "rm -rf \"${PWD}/.geometry\"",
        "rm -rf .geom*",
        "rm .g?ometry/STOP",
        "echo safe >> .geometry/policy.cedar",
        "true && sed -i s/a/b/ .geometry/MANIFEST.yaml",
        "bash -c 'rm .geometry/STOP'",
        "bash -lc \"cd .geometry; mv STOP x\"",
        "sudo env A=b rm .geometry/STOP",
        "ls .geometry | xargs rm",
        "find .geometry -name STOP -delete",
        "python3 -c \"open('.geometry/MANIFEST.yaml','w')\"",
        "python3 - <<EOF\nimport os\nos.remove('.geometry/STOP')\nEOF",
        "bash <<EOF\nrm .geometry/STOP\nEOF",
        "echo $(rm .geometry/STOP)",
        "cp evil.json .claude/settings.json",
        "cat > ~/.claude/settings.json <<EOF\n{}\nEOF",
        "mv .codex old",
        "tee .gemini/settings.json < x",
        "timeout 5 dd if=/dev/zero of=.geometry/MANIFEST.yaml",
        "if true; then rm .geometry/STOP; fi",
        "chmod 000 .geometry",
    ] {
        assert!(bed.shell(command), "{command}");
    }
    assert!(bed.touches("exec_command", &serde_json::json!({"cmd": "rm .geometry/STOP"})));
    assert!(bed.touches("shell", &serde_json::json!({"command": ["bash", "-lc", "rm .geometry/STOP"]})));
}

#[test]
fn ctrl_3_reading_and_look_alikes_pass() {
    let bed = bed();
    for command in [
        "cat .geometry/MISSION_BRIEFING.md",
        "sed -n 1,20p .geometry/todo.md",
        "ls -la .geometry | head -5",
        "grep -n STOP .geometry/safety_log.json > /tmp/out",
        "find .geometry -name '*.md'",
        "test -e .geometry/STOP && echo stopped",
        "echo .geometry >> .gitignore",
        "jq . .geometry/safety_log.json",
        "git commit -m 'explain .geometry/STOP in the guide'",
        "cat <<EOF > notes.md\nremove .geometry/STOP by hand\nEOF",
        "cargo test --workspace",
        "mkdir -p .claude/commands",
        "rm -rf target",
        "cd src && rm -f STOP",
        "rm geometry/STOP",
        "for f in *.rs; do wc -l \"$f\"; done",
    ] {
        assert!(!bed.shell(command), "{command}");
    }
}

#[test]
fn ctrl_3_an_agent_may_look_with_tripwire_and_not_command_it() {
    let bed = bed();
    for verb in ["resume", "ack", "allow --once X", "disarm", "stop", "pause", "step", "hook claude", "init --remove"] {
        assert!(bed.shell(&format!("tripwire {verb}")), "{verb}");
        assert!(bed.shell(&format!("cd /tmp && nohup /usr/local/bin/tripwire {verb} &")), "{verb}");
    }
    for verb in ["status --json", "why", "log", "--version", "explain LOOP-1", ""] {
        assert!(!bed.shell(&format!("tripwire {verb}")), "{verb}");
    }
}

proptest::proptest! {
    #[test]
    fn no_command_line_makes_the_reader_panic(text in "\\PC{0,200}", tail in "[\"'`$(){}<>|&;\\\\\n ]{0,60}") {
        let bed = bed();
        bed.shell(&format!("{text}{tail}"));
        bed.shell(&format!("{tail}{text}"));
    }
}
