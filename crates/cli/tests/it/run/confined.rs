//! `tripwire run --sandbox`: what a client's whole tree cannot do, what it can, and what of it is written down.

use super::fixture::{RunEnd, RunFixture};
use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

/// Each attempt is tried in a shell of its own; one that comes through leaves its name.
const TRY: &str = r#"
try() { if sh -c "$2" >/dev/null 2>&1; then echo "$1" >> came-through; fi; echo "$1" >> tried; }
"#;

fn text(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_default()
}

/// All that the journals of a workspace say.
fn journals(fixture: &RunFixture) -> String {
    let mut found = String::new();
    let mut folders = vec![fixture.place().join(".geometry")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            if entry.path().is_dir() {
                folders.push(entry.path());
            } else if entry.path().extension().is_some_and(|ending| ending == "jsonl") {
                found.push_str(&text(&entry.path()));
            }
        }
    }
    found
}

fn client(attempts: &str) -> RunFixture {
    RunFixture::new(&format!("{TRY}\nbegin\n{attempts}\nfinish"))
}

/// A person's home with keys, and a repository.
fn furnish(fixture: &RunFixture) {
    let home = fixture.home();
    for folder in [".ssh", ".aws", ".claude"] {
        fs::create_dir_all(home.join(folder)).unwrap();
    }
    for (name, content) in [
        (".ssh/id_ed25519", "a private key"),
        (".aws/credentials", "aws_secret_access_key = x"),
        (".netrc", "machine x password y"),
        (".bashrc", "# mine"),
        (".claude/settings.json", r#"{"theme":"mine"}"#),
        (".claude/.credentials.json", r#"{"claudeAiOauth":{"accessToken":"a1","expiresAt":1},"mine":1}"#),
    ] {
        fs::write(home.join(name), content).unwrap();
    }
    fs::set_permissions(home.join(".claude/.credentials.json"), fs::Permissions::from_mode(0o600)).unwrap();
    fs::write(fixture.place().join(".env"), "TOKEN=of-the-workspace").unwrap();
    assert!(Command::new("git").args(["init", "-q"]).current_dir(fixture.place()).status().unwrap().success());
}

fn sandboxed(fixture: &RunFixture, flags: &[&str]) -> RunEnd {
    let mut command = fixture.command(&[&["--sandbox"], flags].concat());
    command.env("AWS_SECRET_ACCESS_KEY", "AKIAIOSFODNN7EXAMPLEKEY").env("SSH_AUTH_SOCK", "/tmp/none");
    super::fixture::finish(command.spawn().unwrap())
}

#[test]
fn box_5_twenty_ways_out_of_the_sandbox_around_a_client_lead_nowhere() {
    let host = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = host.local_addr().unwrap().port();
    let outside = tripwire_testing::folder();
    fs::write(outside.path().join("secret"), "a secret").unwrap();
    let out = outside.path().display();
    let fixture = client(&format!(
        r#"
try write-outside 'echo x > {out}/evil'
try read-outside 'cat {out}/secret'
try read-ssh-key 'cat "$HOME/.ssh/id_ed25519"'
try read-cloud-key 'cat "$HOME/.aws/credentials" || cat "$HOME/.netrc"'
try key-in-environment 'env | grep AKIAIOSFODNN7EXAMPLEKEY'
try agent-socket 'test -n "$SSH_AUTH_SOCK"'
try secret-of-workspace 'grep of-the-workspace .env'
try host-loopback 'bash -c "exec 3<>/dev/tcp/127.0.0.1/{port}"'
try metadata-address 'bash -c "exec 3<>/dev/tcp/169.254.169.254/80"'
try metadata-by-proxy 'bash -c "exec 3<>/dev/tcp/127.0.0.1/3128; printf \"CONNECT 169.254.169.254:80 HTTP/1.1\r\nHost: x\r\n\r\n\" >&3; head -1 <&3 | grep 200"'
try host-by-proxy 'bash -c "exec 3<>/dev/tcp/127.0.0.1/3128; printf \"CONNECT evil.example:443 HTTP/1.1\r\nHost: evil.example:443\r\n\r\n\" >&3; head -1 <&3 | grep 200"'
try kill-the-guard 'kill -9 1'
try see-the-guard 'cat /proc/1/environ /proc/1/mem'
try workspace-settings 'echo "{{}}" > .claude/settings.json'
try guards-record 'echo x > .geometry/evil || rm -r .geometry'
try guards-program "echo x > '$guard/tripwire' || rm '$guard/tripwire' || mv '$guard' '$guard-away'"
try guards-socket "rm '$guard/socket'"
try git-hook 'echo x > .git/hooks/pre-commit'
try git-config 'git config core.hooksPath evil'
try new-namespace 'unshare -U true'
try set-id 'cp /bin/sh ./sh && chmod u+s ./sh && test -u ./sh'
try own-state 'find "$HOME/.local/state/tripwire" -name "*.key" | grep .'
echo evil >> "$HOME/.bashrc"
echo '{{"hooks":"evil"}}' > "$CLAUDE_CONFIG_DIR/settings.json"
echo '{{"claudeAiOauth":{{"accessToken":"evil","expiresAt":9}},"evil":1}}' > "$CLAUDE_CONFIG_DIR/.credentials.json"
git init -q nested
printf '#!/bin/sh\n' > nested/.git/hooks/pre-commit
chmod +x nested/.git/hooks/pre-commit
"#
    ));
    furnish(&fixture);
    let end = sandboxed(&fixture, &[]);
    end.ended(0);
    assert_eq!(text(&fixture.place().join("tried")).lines().count(), 22, "{}", end.stderr);
    assert_eq!(text(&fixture.place().join("came-through")), "", "{}", end.stderr);
    assert_eq!(end.report["guard"]["sandboxed"], true);
    assert!(!outside.path().join("evil").exists());
    assert_eq!(fixture.home_text(".bashrc"), "# mine");
    assert_eq!(fixture.home_text(".claude/settings.json"), r#"{"theme":"mine"}"#);
    assert!(fixture.home_text(".claude/.credentials.json").contains(r#""accessToken":"a1""#), "the person's stays");
    let hook = fs::metadata(fixture.place().join("nested/.git/hooks/pre-commit")).unwrap();
    assert_eq!(hook.permissions().mode() & 0o111, 0, "the planted hook is disarmed");
    let journals = journals(&fixture);
    for held in ["evil.example:443", "169.254.169.254", "no host that renews it", "nested/.git/hooks/pre-commit"] {
        assert!(journals.lines().any(|line| line.contains("sandboxHeld") && line.contains(held)), "{held}");
    }
}

#[test]
fn box_5_honest_work_in_the_sandbox_around_a_client_is_not_kept_from_anything() {
    let fixture = client(
        r#"
git init -q . && git config user.email a@b && git config user.name a
echo x > work.txt && git add work.txt && git commit -qm one && echo committed >> done-work
tool "echo x" && echo hooked >> done-work
python3 -m http.server 8765 --bind 127.0.0.1 >/dev/null 2>&1 &
for n in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
  bash -c 'exec 3<>/dev/tcp/127.0.0.1/8765; printf "GET /work.txt HTTP/1.0\r\n\r\n" >&3; grep -q x <&3' && break; sleep 0.3
done && echo served >> done-work
python3 -c 'import pty; pty.openpty()' && echo terminal >> done-work
python3 -c 'import multiprocessing as m; m.Lock()' && echo lock >> done-work
mkdir -p "$CLAUDE_CONFIG_DIR/projects/p" && echo session > "$CLAUDE_CONFIG_DIR/projects/p/s.jsonl"
test -n "$HOME" && echo x > "$HOME/scratch" && echo x > /tmp/scratch && echo home >> done-work
"#,
    );
    let end = sandboxed(&fixture, &["--verify", "test -f work.txt"]);
    end.ended(0);
    let done = text(&fixture.place().join("done-work"));
    assert_eq!(done, "committed\nhooked\nserved\nterminal\nlock\nhome\n", "{}", end.stderr);
    assert!(!journals(&fixture).contains("sandboxHeld"), "nothing was held");
    assert_eq!(end.report["verify"], "passed");
    let names = fs::read_dir(fixture.place()).unwrap().flatten().map(|entry| entry.file_name());
    let left: Vec<_> =
        names.filter(|name| [".codex", ".claude", "CLAUDE.md"].iter().any(|made| name == *made)).collect();
    assert!(left.is_empty(), "placeholders are gone: {left:?}");
    let kept = Command::new("find").arg(fixture.home()).args(["-name", "s.jsonl"]).output().unwrap();
    assert!(String::from_utf8_lossy(&kept.stdout).contains("confined"), "the history stays in the private copy");
}

#[test]
fn box_5_a_read_only_client_writes_nothing_and_a_limit_needs_the_sandbox() {
    let fixture = client("touch evil 2>/dev/null; mkdir evil-folder 2>/dev/null");
    let mut command = fixture.command(&["--sandbox=read-only"]);
    super::fixture::finish(command.spawn().unwrap()).ended(0);
    assert!(!fixture.place().join("evil").exists() && !fixture.place().join("evil-folder").exists());
    for (flags, told) in [(&[][..], true), (&["--no-sandbox"], false), (&["--sandbox=off"], false)] {
        let notes = fixture.run(flags).report["notes"].to_string();
        assert_eq!(
            notes.contains("not confined") && notes.contains("`--sandbox` confines it"),
            told,
            "{flags:?}: {notes}"
        );
    }
    let refused = fixture.run(&["--memory", "1G"]);
    assert_eq!(refused.code, Some(2), "{}", refused.stderr);
    assert!(refused.stderr.contains("add `--sandbox`"), "{}", refused.stderr);
    let wrong = fixture.run(&["--sandbox", "--allow-host", "10.0.0.1"]);
    assert_eq!(wrong.code, Some(2), "{}", wrong.stderr);
    let off = fixture.run(&["--sandbox", "--no-gateway"]);
    assert_eq!(off.code, Some(9), "{}", off.stderr);
    assert!(off.stderr.contains("cannot ask its model"), "{}", off.stderr);
}
