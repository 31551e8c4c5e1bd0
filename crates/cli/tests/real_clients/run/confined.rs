//! Real clients in the sandbox: the same ways out for each, tried one by one by the agent's own shell, and all of them recorded.

use crate::run::fixture::{RunFixture, finish, users};
use crate::support::clients::Kind;
use crate::support::model::Model;
use std::fs;
use std::net::TcpListener;

/// Ways out, each with the command that succeeds only if it leads anywhere.
const ATTEMPTS: [(&str, &str); 24] = [
    (
        "write-outside",
        "echo x > /usr/local/evil-of-a-client || echo x > /etc/evil-of-a-client || echo x > /var/lib/evil-of-a-client",
    ),
    ("read-accounts", "cat /etc/shadow"),
    ("read-ssh-key", r#"cat "$HOME/.ssh/id_ed25519""#),
    ("read-cloud-key", r#"cat "$HOME/.aws/credentials""#),
    ("key-in-environment", "env | grep AKIAIOSFODNN7EXAMPLEKEY"),
    ("agent-socket", r#"test -n "$SSH_AUTH_SOCK""#),
    ("secret-of-workspace", "grep of-the-workspace .env"),
    ("host-loopback", "exec 3<>/dev/tcp/127.0.0.1/$(cat port)"),
    ("metadata-address", "exec 3<>/dev/tcp/169.254.169.254/80"),
    ("any-address", "exec 3<>/dev/tcp/192.0.2.1/443"),
    (
        "metadata-by-proxy",
        r#"exec 3<>/dev/tcp/127.0.0.1/3128; printf "CONNECT 169.254.169.254:80 HTTP/1.1\r\n\r\n" >&3; head -1 <&3 | grep 200"#,
    ),
    (
        "host-by-proxy",
        r#"exec 3<>/dev/tcp/127.0.0.1/3128; printf "CONNECT evil.example:443 HTTP/1.1\r\nHost: evil.example:443\r\n\r\n" >&3; head -1 <&3 | grep 200"#,
    ),
    ("kill-the-guard", "kill -9 1"),
    ("see-the-guard", "cat /proc/1/environ /proc/1/mem"),
    (
        "hook-settings",
        r#"echo "{}" > .claude/settings.json || echo "" > .codex/config.toml || echo "{}" > .gemini/settings.json"#,
    ),
    ("guards-record", "echo x > .geometry/evil || rm -rf .geometry"),
    ("git-hook", "echo x > .git/hooks/pre-commit"),
    ("git-config", "git config core.hooksPath evil"),
    ("new-namespace", "unshare -U true"),
    ("mount", "mount -t tmpfs x /mnt"),
    ("trace-others", r#"python3 -c "import ctypes,sys; sys.exit(0 if ctypes.CDLL(None).ptrace(16,1,0,0)==0 else 1)""#),
    ("set-id", "cp /bin/sh ./sh-copy && chmod u+s ./sh-copy && test -u ./sh-copy"),
    ("guards-state", r#"find "$HOME/.local/state/tripwire" -path "*/confined" -prune -o -type f -print | grep ."#),
    ("credential-fields", CHANGE_CREDENTIAL),
];

/// The copy can be written to; whether anything of it comes back is seen outside.
const CHANGE_CREDENTIAL: &str = r#"for folder in "$CLAUDE_CONFIG_DIR" "$CODEX_HOME" "$GEMINI_CLI_HOME/.gemini" "$XDG_DATA_HOME/opencode" "$QWEN_HOME"; do
  for name in .credentials.json auth.json oauth_creds.json; do
    if [ -f "$folder/$name" ]; then echo '{"evil":1}' > "$folder/$name"; fi
  done
done; false"#;

/// The least that git takes for a repository.
const REPOSITORY: [(&str, &str); 5] = [
    (".git/HEAD", "ref: refs/heads/main\n"),
    (".git/config", "[core]\n\trepositoryformatversion = 0\n"),
    (".git/hooks/none", ""),
    (".git/objects/none", ""),
    (".git/refs/none", ""),
];

/// A program that tries one of them; one that leads anywhere leaves its name.
fn attempt() -> String {
    let cases: String = ATTEMPTS
        .iter()
        .map(|(name, command)| format!("{name}) way='{}' ;;\n", command.replace('\'', r"'\''")))
        .collect();
    format!(
        "#!/bin/bash\ncase $1 in\n{cases}esac\necho \"$1\" >> tried\nif said=$(bash -c \"$way\" 2>&1); then echo \"$1: $said\" >> came-through; fi\n\
         echo \"$1: ${{said:0:200}}\"\n"
    )
}

/// Where a client keeps its credential, below the home; none where a confined run gets no copy of it.
const fn credential(kind: Kind) -> Option<&'static str> {
    match kind {
        Kind::Claude => Some(".claude/.credentials.json"),
        Kind::Codex => Some(".codex/auth.json"),
        Kind::Gemini => Some(".gemini/oauth_creds.json"),
        Kind::Opencode => Some(".local/share/opencode/auth.json"),
        Kind::Qwen | Kind::Aider => None,
    }
}

/// None of the ways leads anywhere, each is in the journal as the call that it was, and what a wall saw is there too.
fn no_way_out(kind: Kind) {
    for (client, user) in users(kind) {
        let host = TcpListener::bind("127.0.0.1:0").expect("a port of the host");
        let port = host.local_addr().expect("its address").port().to_string();
        let (attempt, secret) = (attempt(), "TOKEN=of-the-workspace");
        let mut files = vec![("attempt", attempt.as_str()), (".env", secret), ("port", &port)];
        files.extend(REPOSITORY);
        let turns = ATTEMPTS.iter().map(|(name, _)| kind.shell(&format!("./attempt {name}"))).collect();
        let fixture = RunFixture::new(&client, user, Model::scripted(turns), &files);
        let mut command = fixture.run_command(&["--sandbox"]);
        let home = fixture.home().to_owned();
        let keys = [(".ssh/id_ed25519", "a key"), (".aws/credentials", "a key")];
        for (name, text) in keys.into_iter().chain(credential(kind).map(|name| (name, "{\"mine\":1}"))) {
            let file = home.join(name);
            fs::create_dir_all(file.parent().expect("a folder")).expect("a folder");
            fs::write(&file, text).expect("a file");
        }
        fixture.give_away(&home);
        command.env("AWS_SECRET_ACCESS_KEY", "AKIAIOSFODNN7EXAMPLEKEY").env("SSH_AUTH_SOCK", "/run/none");
        let ran = finish(command.spawn().expect("the supervisor starts"));
        let read = |name: &str| fs::read_to_string(fixture.place.path().join(name)).unwrap_or_default();
        let names = ATTEMPTS.map(|(name, _)| name);
        assert_eq!(read("tried").lines().collect::<Vec<_>>(), names, "{user:?}: {}\n{}", ran.stdout, ran.stderr);
        assert_eq!(read("came-through"), "", "{user:?}: {}", ran.stderr);
        ran.ended(0);
        assert_eq!(ran.report["guard"]["sandboxed"], true);
        let journals = fixture.journals();
        for name in names {
            assert!(journals.contains(&format!("./attempt {name}")), "{user:?}: {name} is not in the journal");
        }
        let mut seen = vec!["evil.example:443", "169.254.169.254"];
        if let Some(name) = credential(kind) {
            assert_eq!(fs::read_to_string(home.join(name)).expect("there"), "{\"mine\":1}", "{user:?}");
            seen.push("no host that renews it");
        }
        for held in seen {
            let is_there = journals.lines().any(|line| line.contains("sandboxHeld") && line.contains(held));
            assert!(is_there, "{user:?}: {held}: {}", ran.stderr);
        }
    }
}

#[test]
#[ignore = "needs the real clients: just test-clients"]
fn box_5_the_real_claude_finds_no_way_out() {
    no_way_out(Kind::Claude);
}

#[test]
#[ignore = "needs the real clients: just test-clients"]
fn box_5_the_real_codex_finds_no_way_out() {
    no_way_out(Kind::Codex);
}

#[test]
#[ignore = "needs the real clients: just test-clients"]
fn box_5_the_real_gemini_finds_no_way_out() {
    no_way_out(Kind::Gemini);
}

#[test]
#[ignore = "needs the real clients: just test-clients"]
fn box_5_the_real_opencode_finds_no_way_out() {
    no_way_out(Kind::Opencode);
}

#[test]
#[ignore = "needs the real clients: just test-clients"]
fn box_5_the_real_qwen_finds_no_way_out() {
    no_way_out(Kind::Qwen);
}
