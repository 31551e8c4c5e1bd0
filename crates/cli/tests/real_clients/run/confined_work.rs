//! Real clients in the sandbox: what they do every day still works there, as root and as an ordinary user.

use crate::run::cases;
use crate::run::fixture::{RunFixture, users};
use crate::support::clients::Kind;
use crate::support::model::{Model, Turn};
use serde_json::json;
use std::fs;

/// A known test command that needs nothing installed.
const TESTS: &str = "#!/bin/sh\ngrep -q 'x = 2' calc.py && echo running && echo '=== 1 passed in 0.12s ==='\n";
/// A development server that outlives the call that starts it.
const SERVE: &str = "#!/bin/sh\nsetsid nohup python3 -m http.server 8765 --bind 127.0.0.1 </dev/null >server.log 2>&1 &\necho started\n";
/// Asks it, from another call.
const ASK: &str = r#"#!/bin/bash
for n in $(seq 50); do
  if exec 3<>/dev/tcp/127.0.0.1/8765; then printf 'GET /part_03.txt HTTP/1.0\r\n\r\n' >&3; grep part <&3 | tee served && exit 0; fi 2>/dev/null
  sleep 0.2
done
exit 1
"#;
/// What the agent says in its first session and is to be reminded of in the second.
const SAID: &str = "The word of the first session is heliotrope.";
/// Files that differ.
const FILES: usize = 8;

/// What the command line of a client says to go on with its last session.
fn resumed(kind: Kind) -> &'static [&'static str] {
    match kind {
        Kind::Claude | Kind::Opencode | Kind::Qwen => &["--continue"],
        Kind::Codex => &["resume", "--last"],
        Kind::Gemini => &["--resume", "latest"],
        Kind::Aider => &[],
    }
}

/// A new file; where the client's own tool wants a whole path, by its shell.
fn write(kind: Kind, name: &str, text: &str) -> Turn {
    match kind {
        Kind::Qwen | Kind::Opencode => kind.shell(&format!("echo '{text}' > {name}")),
        Kind::Claude | Kind::Codex | Kind::Gemini | Kind::Aider => Turn::Write(name.to_owned(), text.to_owned()),
    }
}

/// Different files, a server in the background that later calls reach, tests that pass, and a session that is taken up again.
fn works(kind: Kind) {
    for (client, user) in users(kind) {
        let part = |n: usize| write(kind, &format!("part_{n:02}.txt"), &format!("part {n} of {FILES}, {}", n * n));
        let mut turns: Vec<Turn> = (0..FILES).map(part).collect();
        turns.extend([kind.shell("./serve"), kind.shell("./ask"), write(kind, "calc.py", "x = 2")]);
        turns.extend([kind.shell("./gradlew test"), Turn::Say(SAID.to_owned())]);
        let first = turns.len();
        turns.push(Turn::Say("I remember.".to_owned()));
        let files = [("serve", SERVE), ("ask", ASK), ("gradlew", TESTS)];
        let fixture = RunFixture::new(&client, user, Model::scripted(turns), &files);
        let ran = fixture.run(&["--sandbox"]);
        ran.ended(0);
        assert!(!ran.held(), "{user:?}: {}", ran.stderr);
        assert_eq!(ran.report["guard"]["sandboxed"], true, "{user:?}: {}", ran.stderr);
        assert_eq!(ran.report["verdict"], "VERIFIED", "{user:?}: {}", ran.stderr);
        assert_eq!(fixture.model.asked().len(), first, "{user:?}: the model is asked as often as it was scripted");
        let read = |name: &str| fs::read_to_string(fixture.place.path().join(name)).unwrap_or_default();
        assert!((0..FILES).all(|n| read(&format!("part_{n:02}.txt")).contains(&format!("part {n}"))), "{user:?}");
        assert!(read("served").contains("part 3"), "{user:?}: the server was reached: {}", read("server.log"));
        // Clients ask hosts of their own for news, which is refused and does them no harm.
        let journals = fixture.journals();
        let mut held =
            journals.lines().filter(|line| line.contains("sandboxHeld") && !line.contains("\"wall\":\"network\""));
        assert_eq!(held.next(), None, "{user:?}: {}", ran.stderr);
        let again = fixture.run_resumed(&["--sandbox"], resumed(kind));
        again.ended(0);
        let asked = fixture.model.asked();
        let last = asked.last().expect("it was asked");
        assert!(
            asked.len() > first && last.contains("heliotrope"),
            "{user:?}: {} requests: {}",
            asked.len(),
            again.stderr
        );
    }
}

#[test]
#[ignore = "needs the real clients: just test-clients"]
fn box_5_the_real_claude_works_in_the_sandbox() {
    works(Kind::Claude);
}

#[test]
#[ignore = "needs the real clients: just test-clients"]
fn box_5_the_real_codex_works_in_the_sandbox() {
    works(Kind::Codex);
}

#[test]
#[ignore = "needs the real clients: just test-clients"]
fn box_5_the_real_gemini_works_in_the_sandbox() {
    works(Kind::Gemini);
}

#[test]
#[ignore = "needs the real clients: just test-clients"]
fn box_5_the_real_opencode_works_in_the_sandbox() {
    works(Kind::Opencode);
}

#[test]
#[ignore = "needs the real clients: just test-clients"]
fn box_5_the_real_qwen_works_in_the_sandbox() {
    works(Kind::Qwen);
}

#[test]
#[ignore = "needs the real clients: just test-clients"]
fn box_5_the_real_claudes_sub_agents_work_in_the_sandbox() {
    cases::sub_agents(Kind::Claude, &["--sandbox"], &cases::claudes_sub_agent);
}

#[test]
#[ignore = "needs the real clients: just test-clients"]
fn box_5_the_real_geminis_sub_agents_work_in_the_sandbox() {
    cases::sub_agents(Kind::Gemini, &["--sandbox"], &cases::geminis_sub_agent);
}

#[test]
#[ignore = "needs the real clients: just test-clients"]
fn box_5_the_real_opencodes_sub_agents_work_in_the_sandbox() {
    cases::sub_agents(Kind::Opencode, &["--sandbox"], &|n| {
        let input = json!({"description": "look", "prompt": format!("Look at part {n}."), "subagent_type": "general"});
        Turn::Call("task".to_owned(), input.to_string())
    });
}
