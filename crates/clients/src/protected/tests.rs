//! What is out of reach, and what looks like it and is not.

use super::*;
use crate::homes::Homes;
use std::path::PathBuf;
use tripwire_core::policy::Policy;
use tripwire_workspace::Places;
use tripwire_workspace::Workspace;

struct Fixture {
    folder: tempfile::TempDir,
    protected: ProtectedPaths,
}

fn fixture() -> Fixture {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap().join("work");
    std::fs::create_dir_all(root.join(".geometry")).unwrap();
    std::fs::write(root.join(".geometry/MANIFEST.yaml"), "# the defaults\n").unwrap();
    std::fs::create_dir_all(root.join("src")).unwrap();
    let workspace = Workspace::open(&root, &Places::default()).unwrap();
    let homes = Homes { home: Some(folder.path().canonicalize().unwrap().join("home")), ..Homes::default() };
    Fixture { protected: ProtectedPaths::new(&workspace, &homes), folder }
}

impl Fixture {
    fn root(&self) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join("work")
    }

    fn touches(&self, name: &str, input: &Value) -> bool {
        let tool = ToolCall { name: name.to_owned(), input: input.to_string(), call_id: None };
        let facts = Facts {
            home: self.protected.list().home.clone(),
            ..Facts::here(self.root(), self.root(), &Policy::default())
        };
        touches(&self.protected, &tool, input, &facts).is_some()
    }

    fn shell(&self, command: &str) -> bool {
        self.touches("Bash", &serde_json::json!({"command": command, "description": "x"}))
    }
}

#[test]
fn ctrl_3_no_editing_tool_writes_the_guards_files() {
    use serde_json::json;
    let fixture = fixture();
    let home = fixture.protected.list().home.clone().unwrap();
    let paths = [
        ".geometry/MANIFEST.yaml".to_owned(),
        "src/.geometry/MANIFEST.yaml".to_owned(),
        "src/../.geometry/STOP".to_owned(),
        fixture.root().join(".geometry/journal/x").display().to_string(),
        ".claude/settings.local.json".to_owned(),
        ".codex/config.toml".to_owned(),
        ".gemini/settings.json".to_owned(),
        home.join(".claude/settings.json").display().to_string(),
        home.join(".codex/config.toml").display().to_string(),
        home.join(".local/state/tripwire/key").display().to_string(),
        home.join(".config/tripwire/settings.yaml").display().to_string(),
        "~/.gemini/settings.json".to_owned(),
        ".mcp.json".to_owned(),
        ".opencode/opencode.jsonc".to_owned(),
        "~/.claude.json".to_owned(),
        home.join(".config/opencode/opencode.json").display().to_string(),
    ];
    for path in &paths {
        for tool in ["Write", "Edit", "MultiEdit", "write_file", "replace", "mcp__fs__write_file", "a_tool_of_tomorrow"]
        {
            assert!(fixture.touches(tool, &json!({"file_path": path, "content": "x"})), "{tool} {path}");
        }
        assert!(fixture.touches("NotebookEdit", &json!({"notebook_path": path, "new_source": "x"})), "{path}");
        let patch = format!("*** Begin Patch\n*** Update File: {path}\n@@\n-a\n+b\n*** End Patch");
        assert!(fixture.touches("apply_patch", &json!({"command": patch})), "{path}");
        let line = format!("apply_patch <<'EOF'\n{patch}\nEOF");
        assert!(fixture.touches("exec_command", &json!({"cmd": line})), "{path}");
        assert!(!fixture.touches("Read", &json!({"file_path": path})), "reading {path}");
    }
}

#[test]
fn ctrl_3_a_link_does_not_lead_around() {
    let fixture = fixture();
    std::os::unix::fs::symlink(fixture.root().join(".geometry"), fixture.root().join("innocent")).unwrap();
    assert!(fixture.touches("Write", &serde_json::json!({"file_path": "innocent/STOP"})));
}

#[test]
fn ctrl_3_a_link_to_a_file_that_is_not_there_yet_would_make_it() {
    let fixture = fixture();
    let root = fixture.root();
    std::fs::create_dir_all(root.join(".claude/commands")).unwrap();
    for (target, link) in [
        (".claude/settings.local.json", "to-settings"),
        ("src/new.rs", "to-source"),
        (".claude/commands", "to-commands"),
        ("src", "to-folder"),
    ] {
        std::os::unix::fs::symlink(target, root.join(link)).unwrap();
    }
    for (path, expected) in [
        ("to-settings", true),
        ("to-commands/../settings.json", true),
        ("to-source", false),
        ("to-commands/new.md", false),
        ("to-folder/../settings.json", false),
    ] {
        assert_eq!(fixture.touches("Write", &serde_json::json!({"file_path": path})), expected, "{path}");
        assert_eq!(fixture.shell(&format!("echo '{{}}' > {path}")), expected, "{path} by a shell");
    }
}

#[test]
fn ctrl_3_settings_that_are_links_are_protected_where_they_lie() {
    let fixture = fixture();
    let home = fixture.folder.path().canonicalize().unwrap().join("home");
    for folder in ["dotfiles/claude/commands", ".codex", ".gemini"] {
        std::fs::create_dir_all(home.join(folder)).unwrap();
    }
    for (target, link) in [
        ("dotfiles/claude", ".claude"),
        ("../dotfiles/codex.toml", ".codex/config.toml"),
        ("../dotfiles/gemini.json", ".gemini/settings.json"),
        ("/dev/null", "dotfiles/claude/settings.local.json"),
    ] {
        std::os::unix::fs::symlink(target, home.join(link)).unwrap();
    }
    let root = fixture.root();
    for folder in [".git", "hooks"] {
        std::fs::create_dir_all(root.join(folder)).unwrap();
    }
    std::os::unix::fs::symlink("../hooks", root.join(".git/hooks")).unwrap();
    assert!(fixture.shell("echo x > .git/hooks/pre-push") && !fixture.shell("echo x > hooks/pre-push"));
    let device = serde_json::json!({"file_path": "/dev/null"});
    assert!(
        !fixture.touches("Write", &device) && !fixture.shell("ls | tee /dev/null"),
        "a device is nobody's settings"
    );
    for (path, expected) in [
        ("dotfiles/claude/settings.json", true),
        ("dotfiles/codex.toml", true),
        ("dotfiles/gemini.json", true),
        ("dotfiles/claude/commands/x.md", false),
        ("dotfiles/settings.json", false),
        ("dotfiles/other.toml", false),
    ] {
        let path = home.join(path).display().to_string();
        assert_eq!(fixture.touches("Write", &serde_json::json!({"file_path": path})), expected, "{path}");
        assert_eq!(fixture.shell(&format!("echo x > {path}")), expected, "{path} by a shell");
    }
}

#[test]
fn ctrl_3_ordinary_files_are_within_reach() {
    use serde_json::json;
    let fixture = fixture();
    for path in [
        "src/main.rs",
        ".claude/commands/x.md",
        "geometry/a",
        ".github/settings.json",
        "docs/.geometry.md",
        "config.json",
        "mcp.json",
        "docs/opencode.json",
        "opencode.json",
        ".opencode/agent/x.md",
    ] {
        assert!(!fixture.touches("Write", &json!({"file_path": path, "content": ".geometry/STOP"})), "{path}");
    }
    assert!(!fixture.touches("Agent", &json!({"prompt": ".geometry/STOP", "description": "x"})));
    assert!(!fixture.touches("TodoWrite", &json!({"todos": [{"content": "remove .geometry/STOP"}]})));
}

#[test]
fn ctrl_3_no_spelling_of_a_path_leads_around() {
    use serde_json::json;
    let fixture = fixture();
    let long = format!("{}.geometry/MANIFEST.yaml", "src/../".repeat(1_000));
    for path in ["src/a\n/../../.geometry/MANIFEST.yaml", "src/a*** /../../.geometry/MANIFEST.yaml", &long] {
        assert!(fixture.touches("Write", &json!({"file_path": path, "content": "x"})), "{path:?}");
    }
    let edit = |command: &str| json!({"command": command, "path": ".geometry/MANIFEST.yaml", "file_text": "x"});
    assert!(fixture.touches("str_replace_based_edit_tool", &edit("create")));
    assert!(!fixture.touches("str_replace_based_edit_tool", &edit("view")));
    let uri = format!("file://{}", fixture.root().join(".geometry/mode").display());
    assert!(fixture.touches("mcp__editor__save", &json!({"uri": uri})));
    assert!(fixture.touches("mcp__fs__move_file", &json!({"source": ".claude", "destination": "x"})));
    assert!(fixture.touches("mcp__fs__delete_path", &json!({"path": "."})));
    assert!(!fixture.touches("mcp__fs__move_file", &json!({"source": "src", "destination": "lib"})));
    assert!(!fixture.touches("mcp__fs__list_dir", &json!({"path": ".claude"})));
    let text = "a\n/x/.geometry/STOP is how a run is stopped\n";
    assert!(
        !fixture
            .touches("str_replace_based_edit_tool", &json!({"command": "create", "path": "a.md", "file_text": text}))
    );
}

#[test]
fn ctrl_3_no_command_line_writes_the_guards_files() {
    let fixture = fixture();
    for command in [
        "rm -f .geometry/STOP",
        "echo '{}' > .mcp.json",
        "cp mine.json .opencode/opencode.json",
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
        "cp -l .claude/settings.json z",
        "cp -as .claude/settings.json z",
        "cp --link .mcp.json z",
        "cp -al .claude x",
        "mount -o ro,bind .claude x",
        "mount --bind .geometry x",
        "cat > ~/.claude/settings.json <<EOF\n{}\nEOF",
        "mv .codex old",
        "tee .gemini/settings.json < x",
        "timeout 5 dd if=/dev/zero of=.geometry/MANIFEST.yaml",
        "if true; then rm .geometry/STOP; fi",
        "chmod 000 .geometry",
        "echo observe >& .geometry/mode",
        "echo observe &> .geometry/mode",
        "cd .g* && rm STOP",
        "find . -name STOP -delete",
        "find . -name STOP | xargs rm",
        "find . -name STOP -exec rm {} \\;",
        "rm .geo$(echo m)etry/STOP",
        "rm .geo$(unknown)etry/STOP",
        "rm \"$SOMEWHERE/STOP\"",
        "rm -rf $SOMEWHERE/.claude/settings.json",
        "rm $'.geometry'/STOP",
        "rm $'.geo\\x6detry/STOP'",
        "uniq a .geometry/mode",
        "sort a -uo .geometry/mode",
        "sort --outp=.geometry/mode a",
        "xxd -r a .geometry/mode",
        "sed -n w.geometry/mode a",
        "sed -ni.bak p .geometry/mode",
        "curl -so.geometry/mode localhost",
        "awk '{print > \".geometry/mode\"}' a",
        "git checkout -- .geometry/MANIFEST.yaml",
        "git diff --output=.geometry/mode",
        "cp -t .geometry a",
        "for f in .geometry/*; do rm \"$f\"; done",
        "rm_it() { rm \"$1\"; }; rm_it .geometry/STOP",
        "echo 'rm .geometry/STOP' | sh",
        "rm -rf .cl*",
    ] {
        assert!(fixture.shell(command), "{command}");
    }
    assert!(fixture.touches("exec_command", &serde_json::json!({"cmd": "rm STOP", "workdir": ".geometry"})));
    assert!(fixture.touches("local_shell", &serde_json::json!({"action": {"command": ["rm", ".geometry/STOP"]}})));
    assert!(fixture.touches("exec_command", &serde_json::json!({"cmd": "rm .geometry/STOP"})));
    assert!(fixture.touches("shell", &serde_json::json!({"command": ["bash", "-lc", "rm .geometry/STOP"]})));
}

#[test]
fn ctrl_3_reading_and_look_alikes_pass() {
    let fixture = fixture();
    for command in [
        "cat .geometry/MISSION_BRIEFING.md",
        "jq .mcpServers .mcp.json ~/.claude.json",
        "cp opencode.json /tmp/copy.json",
        "cp -a .claude/settings.json /tmp/copy.json",
        "cp -al src lib",
        "mount --bind src x",
        "mount -o loop disk.img x && ls .claude",
        "mount | grep .geometry",
        "echo '{}' > config.json",
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
        "cat .geometry/status.json | python3 -m json.tool",
        "awk '{print $1}' .geometry/status.json",
        "git status",
        "git status .geometry && git diff -- .geometry",
        "rm \"$FILE\"",
        "rm -rf \"$BUILD/out\" ./\"$NAME\" $TMP/*.json",
        "cp a.json \"$OUT/settings.json\"",
        "cp .geometry/status.json /tmp/status.json",
        "grep -r STOP .",
        "ls .geometry",
        "rm -rf * ./*",
        "find . -name '*.pyc' -delete",
        "find . -type d -name __pycache__ -exec rm -rf {} +",
        "find . -type d -empty -delete",
        "find . -name STOP -exec cat {} +",
        "cargo build 2>&1 | tail -5",
        "make >& build.log",
        "sort -u a > b; uniq b",
        "sed -i s/a/b/ src/main.rs",
        "$SERVICE stop; systemctl resume x",
        "git commit -m 'tripwire resume lets it go on'",
    ] {
        assert!(!fixture.shell(command), "{command}");
    }
}

#[test]
fn ctrl_3_an_agent_may_look_with_tripwire_and_not_command_it() {
    let fixture = fixture();
    for verb in ["resume", "ack", "allow --once X", "disarm", "stop", "pause", "step", "hook claude", "init --remove"] {
        assert!(fixture.shell(&format!("tripwire {verb}")), "{verb}");
        assert!(fixture.shell(&format!("cd /tmp && nohup /usr/local/bin/tripwire {verb} &")), "{verb}");
    }
    for line in [
        "T=tripwire; $T allow --once 7KQ2-M9",
        "$T allow --once 7KQ2-M9",
        "$T approvals approve 7KQ2-M9",
        "tripwire approvals deny 7KQ2-M9",
        "$T fleet policy publish",
        "$T fleet policy fetch --yes",
        "tripwire fleet policy fetch --yes",
        "T=tripwire; $T web --json",
        "sudo -u root tripwire resume",
        "env -u X tripwire resume",
        "echo 'tripwire resume' | sh",
        "cp /opt/tripwire ./tw && ./tw resume",
        "ln -s /opt/tripwire tw; ./tw ack",
        "python3 -c 'import os; os.system(\"tripwire resume\")'",
        "tripwire review decide x",
        "$TW review decide x",
        "$(which tripwire) disarm",
    ] {
        assert!(fixture.shell(line), "{line}");
    }
    for verb in ["status --json", "why", "log", "--version", "explain LOOP-1", ""] {
        assert!(!fixture.shell(&format!("tripwire {verb}")), "{verb}");
    }
    for line in ["$T fleet policy show", "$T fleet status --metrics"] {
        assert!(!fixture.shell(line), "{line}");
    }
}

proptest::proptest! {
    #[test]
    fn no_command_line_makes_the_reader_panic(text in "\\PC{0,200}", tail in "[\"'`$(){}<>|&;\\\\\n ]{0,60}") {
        let fixture = fixture();
        fixture.shell(&format!("{text}{tail}"));
        fixture.shell(&format!("{tail}{text}"));
    }
}

#[test]
fn ctrl_3_the_guards_processes_its_program_and_gits_hooks_are_out_of_reach() {
    let fixture = fixture();
    let own = std::env::current_exe().unwrap().display().to_string();
    for line in [
        "pkill -9 tripwire",
        "pkill -f trip.*wire",
        "killall tripwire",
        "kill -9 $(pgrep tripwire)",
        "pidof tripwire | xargs kill",
        "ps aux | grep tripwire | awk '{print $2}' | xargs kill -9",
        &format!("kill {}", std::process::id()),
        "systemctl --user stop tripwire",
        "git config core.hooksPath /dev/null",
        "git config --global core.hookspath .husky",
        "git config --unset core.hooksPath",
        "git -c core.hooksPath=/dev/null commit -m x",
        "git --config-env=core.hooksPath=V commit -m x",
        "GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=core.hooksPath GIT_CONFIG_VALUE_0=/dev/null git commit -m x",
        "export GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=core.hooksPath GIT_CONFIG_VALUE_0=x; git commit -m x",
        "GIT_CONFIG_PARAMETERS=\"'core.hooksPath=/dev/null'\" git commit -m x",
        "GIT_CONFIG_PARAMETERS=\"'user.name=a' 'core.hooksPath=/dev/null'\" git commit -m x",
        "echo x > .git/hooks/pre-commit",
        "cp hook .git/hooks/pre-push",
        "rm .git/hooks/pre-commit",
        "chmod -x .git/hooks/pre-commit",
        &format!("cp /bin/true {own}"),
        &format!("rm {own}"),
        &format!("echo > {own}"),
        &format!("ln -sf /bin/true {own}"),
    ] {
        assert!(fixture.shell(line), "{line}");
    }
    for line in [
        "pgrep tripwire",
        "ps aux | grep tripwire",
        "pkill node",
        "pkill -f 'npm run dev'",
        "killall -q wire",
        "kill 4194304",
        "kill $PID",
        "pgrep node | xargs kill",
        "systemctl status tripwire",
        "git config core.hooksPath",
        "git config --get core.hooksPath",
        "git --config-env=user.name=V commit -m x",
        "GIT_CONFIG_PARAMETERS=\"'user.name=a' 'user.email=b'\" git commit -m x",
        "GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=user.name GIT_CONFIG_VALUE_0=core.hooksPath git commit -m x",
        "git config core.editor vim",
        "git commit -m 'set core.hooksPath'",
        "ls .git/hooks",
        "cat .git/hooks/pre-commit.sample",
        "cp .git/hooks/pre-commit.sample notes",
        "echo x > hooks/pre-commit",
        &format!("{own} status"),
        &format!("ls -l {own}"),
        &format!("cp {own} copy"),
    ] {
        assert!(!fixture.shell(line), "{line}");
    }
}
