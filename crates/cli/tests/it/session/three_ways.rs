//! Every verb that `--help` lists, three ways through the binary: it does its work, it refuses what it must, and broken input
//! is named with a hint. A verb without a row here fails the test.

use crate::session::fixture::{Place, Said, call, calls};
use crate::watch::terminal::PtyScreen;
use std::collections::BTreeSet;
use std::fs;
use tripwire_testing::write_program;

/// What is run, and the exit codes that are right.
type Way = (&'static [&'static str], &'static [i32]);

/// One verb: its work, its refusal, its broken input.
struct Verb(&'static str, Way, Way, Way);

/// The place has a session that was stopped for a loop (`make`, decisions 2 to 5, a blocker report), a program `claude` that
/// only prints, and the files `broken.yaml`, `broken.json` and `session.bundle`, which hold nothing useful.
const VERBS: &[Verb] = &[
    Verb(
        "scan",
        (&["scan"], &[0]),
        (&["scan", "--session", "nobody"], &[2]),
        (&["scan", "--traces", "broken.json"], &[2]),
    ),
    Verb(
        "run",
        (&["run", "--workspace", "fresh", "../bin/claude", "--version"], &[0]),
        (&["run", "vim", "notes.txt"], &[2]),
        (&["run", "--budget", "lots", "bin/claude"], &[2]),
    ),
    Verb(
        "init",
        (&["init", "--client", "claude", "--print"], &[0]),
        (&["init", "--client", "claude"], &[5]),
        (&["init", "--client", "emacs"], &[2]),
    ),
    Verb(
        "init",
        (&["init", "--mcp", "--print"], &[0]),
        (&["init", "--mcp", "--remove", "--purge"], &[2]),
        (&["init", "--mcp", "--client", "emacs"], &[2]),
    ),
    Verb(
        "doctor",
        (&["doctor", "--json"], &[0, 1]),
        (&["doctor", "--workspace", "/no/such"], &[2]),
        (&["doctor", "--nonsense"], &[2]),
    ),
    Verb(
        "agent",
        (&["agent", "--help"], &[0]),
        (&["agent", "--resume", "auto-2020-01-01-000000"], &[2]),
        (&["agent", "--objective", "x", "--engine", "nonsense"], &[2]),
    ),
    Verb(
        "gateway",
        (&["gateway", "usage"], &[0]),
        (&["gateway", "--listen", "0.0.0.0:0"], &[11]),
        (&["gateway", "--listen", "127.0.0.1:0", "--config", "broken.yaml"], &[2]),
    ),
    Verb(
        "fleet",
        (&["fleet", "join", "file:shared"], &[0]),
        (&["fleet", "status"], &[2]),
        (&["fleet", "join", "nonsense"], &[2]),
    ),
    Verb(
        "fleet",
        (&["fleet", "policy", "publish", "--help"], &[0]),
        (&["fleet", "policy", "fetch", "--yes"], &[2]),
        (&["fleet", "policy", "publish", "--label", "nonsense"], &[2]),
    ),
    Verb(
        "fleet",
        (&["fleet", "policy", "show", "--help"], &[0]),
        (&["fleet", "policy", "show"], &[2]),
        (&["fleet", "status", "--metrics", "--json"], &[2]),
    ),
    Verb(
        "cost",
        (&["cost", "--prices"], &[0]),
        (&["cost", "--explain", "9"], &[2]),
        (&["cost", "--explain", "x"], &[2]),
    ),
    Verb(
        "stop",
        (&["stop"], &[0]),
        (&["stop", "--session", "auto-2020-01-01-000000"], &[2, 9]),
        (&["stop", "--session", "x"], &[2, 9]),
    ),
    Verb(
        "stop",
        (&["stop", "--all"], &[0]),
        (&["stop", "--label", "team=search"], &[2]),
        (&["stop", "--all", "--session", "x"], &[2]),
    ),
    Verb(
        "pause",
        (&["pause"], &[0]),
        (&["pause", "--session", "auto-2020-01-01-000000"], &[2, 9]),
        (&["pause", "--session", "x"], &[2, 9]),
    ),
    Verb(
        "resume",
        (&["resume", "--restart"], &[0, 5]),
        (&["resume"], &[5]),
        (&["resume", "--raise-budget", "lots"], &[2]),
    ),
    Verb(
        "ack",
        (&["ack"], &[0, 5]),
        (&["ack", "--session", "auto-2020-01-01-000000"], &[2]),
        (&["ack", "nothing"], &[2]),
    ),
    Verb(
        "approvals",
        (&["approvals", "--json"], &[0]),
        (&["approvals", "approve", "K7Q2-9F"], &[2, 11]),
        (&["approvals", "deny"], &[2]),
    ),
    Verb("undo", (&["undo", "--list"], &[0]), (&["undo", "--yes"], &[2]), (&["undo", "x"], &[2])),
    Verb("redo", (&["redo", "--help"], &[0]), (&["redo", "--yes"], &[2]), (&["redo", "--nonsense"], &[2])),
    Verb("diff", (&["diff", "--help"], &[0]), (&["diff", "1..2"], &[2]), (&["diff", "x"], &[2])),
    Verb(
        "set",
        (&["set", "limits.max_steps=50"], &[0]),
        (&["set", "gate.max_tokens_per_minute=9"], &[2]),
        (&["set", "limits.max_steps=much"], &[2]),
    ),
    Verb("allow", (&["allow", "--help"], &[0]), (&["allow", "K7Q2-9F"], &[2, 5, 11]), (&["allow"], &[2])),
    Verb(
        "arm",
        (&["arm", "--project"], &[0]),
        (&["arm", "--project", "--workspace", "/no/such"], &[2]),
        (&["arm", "--never"], &[2]),
    ),
    Verb(
        "disarm",
        (&["disarm", "--project"], &[0]),
        (&["disarm", "--project", "--workspace", "/no/such"], &[2]),
        (&["disarm", "--never"], &[2]),
    ),
    Verb(
        "status",
        (&["status", "--workspace", "fresh"], &[0]),
        (&["status"], &[5]),
        (&["status", "--session", "x"], &[2]),
    ),
    Verb("check", (&["check"], &[0]), (&["check", "/no/such"], &[2]), (&["check", "--report", "report.txt"], &[2])),
    Verb(
        "mcp",
        (&["mcp", "--", "true"], &[0]),
        (&["mcp", "trust", "nobody"], &[2]),
        (&["mcp", "--session", "../x", "--", "true"], &[2]),
    ),
    Verb(
        "mcp",
        (&["mcp", "--stdio", "--url", "http://127.0.0.1:9/mcp"], &[0]),
        (&["mcp", "--url", "http://127.0.0.1:9/mcp", "--listen", "0.0.0.0:0"], &[11]),
        (&["mcp", "--url", "ftp://127.0.0.1/mcp"], &[2]),
    ),
    Verb(
        "mcp",
        (&["mcp", "serve"], &[0]),
        (&["mcp", "--entry", "NO_SUCH_VARIABLE"], &[2]),
        (&["mcp", "--stdio", "--url", "http://127.0.0.1:9/mcp", "--listen", "127.0.0.1:0"], &[2]),
    ),
    Verb("serve", (&["serve", "--stdio"], &[0]), (&["serve"], &[2]), (&["serve", "--stdio", "--budget", "much"], &[2])),
    Verb("ls", (&["ls"], &[0]), (&["ls", "nobody"], &[2]), (&["ls", "--nonsense"], &[2])),
    Verb("watch", (&["watch", "--workspace", "."], &[0]), (&["watch"], &[2]), (&["watch", "--session", "../x"], &[2])),
    Verb(
        "web",
        (&["web", "--timeout", "1"], &[0]),
        (&["web", "--listen", "0.0.0.0:0"], &[11]),
        (&["web", "--listen", "nowhere"], &[2]),
    ),
    Verb(
        "report",
        (&["report", "--json"], &[0]),
        (&["report", "auto-2020-01-01-000000"], &[2]),
        (&["report", "../x"], &[2]),
    ),
    Verb("log", (&["log"], &[0]), (&["log", "--rule", "NO-RULE"], &[2]), (&["log", "--since", "yesterday"], &[2])),
    Verb("why", (&["why", "5"], &[0]), (&["why", "99"], &[2]), (&["why", "five"], &[2])),
    Verb(
        "verify",
        (&["verify"], &[0]),
        (&["verify", "auto-2020-01-01-000000"], &[2, 9]),
        (&["verify", "broken.json"], &[2, 9]),
    ),
    Verb(
        "export",
        (&["export", "out.tripwire"], &[0]),
        (&["export", "broken.json"], &[2]),
        (&["export", "--session", "x", "a"], &[2]),
    ),
    Verb(
        "replay",
        (&["replay"], &[0]),
        (&["replay", "auto-2020-01-01-000000"], &[2, 9]),
        (&["replay", "broken.json"], &[2, 9]),
    ),
    Verb(
        "explain",
        (&["explain", "LOOP-1.exact"], &[0]),
        (&["explain", "NO-RULE"], &[2]),
        (&["explain", "--policy", "broken.yaml"], &[2]),
    ),
    Verb(
        "tune",
        (&["tune", "5", "--ignore"], &[0]),
        (&["tune", "0"], &[2]),
        (&["tune", "5", "--raise", "no.such"], &[2]),
    ),
    Verb(
        "policy",
        (&["policy", "show"], &[0]),
        (&["policy", "check", "/no/such"], &[2]),
        (&["policy", "check", "broken.yaml"], &[2]),
    ),
    Verb("not-a-loop", (&["not-a-loop", "5"], &[0]), (&["not-a-loop", "0"], &[2]), (&["not-a-loop", "five"], &[2])),
    Verb("judge", (&["judge", "ls -l"], &[0]), (&["judge", "rm -rf ~"], &[11]), (&["judge"], &[2])),
    Verb(
        "review",
        (&["review", "--help"], &[0]),
        (&["review", "show", "nobody"], &[2, 5]),
        (&["review", "nonsense"], &[2]),
    ),
    Verb(
        "identity",
        (&["identity", "show"], &[0]),
        (&["identity", "verify"], &[0, 2, 5, 9, 11]),
        (&["identity", "nonsense"], &[2]),
    ),
    Verb(
        "memory",
        (&["memory", "put", "broken.json"], &[0]),
        (&["memory", "get", "nobody"], &[2, 5, 9, 11]),
        (&["memory", "nonsense"], &[2]),
    ),
    Verb(
        "step",
        (&["step", "--new", "good.jsonl"], &[0]),
        (&["step", "good.jsonl"], &[7]),
        (&["step", "broken.json"], &[2]),
    ),
    Verb(
        "decide",
        (&["decide", "good.jsonl"], &[0]),
        (&["decide", "--policy", "broken.yaml", "good.jsonl"], &[2]),
        (&["decide", "broken.json"], &[2]),
    ),
    Verb("hook", (&["hook", "--help"], &[0]), (&["hook", "claude"], &[2]), (&["hook", "emacs"], &[2])),
    Verb("statusline", (&["statusline"], &[0]), (&["statusline", "now"], &[2]), (&["statusline", "--nonsense"], &[2])),
    Verb(
        "sandbox",
        (&["sandbox", "--help"], &[0]),
        (&["sandbox", "apply", "--workspace", ".", "--digest", "00"], &[2, 5, 9, 11]),
        (&["sandbox", "exec", "--memory", "lots", "true"], &[2]),
    ),
    Verb(
        "completions",
        (&["completions", "bash"], &[0]),
        (&["completions"], &[2]),
        (&["completions", "cmd.exe"], &[2]),
    ),
];

fn prepared() -> Place {
    let place = Place::new();
    place.step(&format!("{}{}", calls(2), call("make", "error").repeat(4))).ended(7);
    for folder in ["fresh", "bin"] {
        fs::create_dir_all(place.work().join(folder)).unwrap();
    }
    place.run(&["ack", "blocker"]);
    fs::create_dir_all(place.work().join("fresh/.geometry")).unwrap();
    write_program(&place.work().join("bin/claude"), "#!/bin/sh\necho 1.0\n").unwrap();
    fs::write(place.work().join("broken.yaml"), "safety: [unclosed\n").unwrap();
    fs::write(place.work().join("broken.json"), "{\"timestamp\": \n").unwrap();
    fs::write(place.work().join("good.jsonl"), calls(1)).unwrap();
    place
}

#[test]
fn every_verb_of_the_help_works_refuses_and_names_broken_input() {
    let help = Place::new().run(&["--help"]).ended(0).out;
    let listed: BTreeSet<&str> = help
        .lines()
        .skip_while(|line| *line != "Start:")
        .take_while(|line| *line != "Options:")
        .filter(|line| line.starts_with("  "))
        .filter_map(|line| line.split_whitespace().next())
        .collect();
    let tested: BTreeSet<&str> = VERBS.iter().map(|verb| verb.0).collect();
    assert_eq!(listed, tested, "a verb without its three ways");
    let mut wrong = Vec::new();
    let original = prepared();
    for Verb(verb, work, refusal, broken) in VERBS {
        for (way, (args, codes)) in [("work", work), ("refusal", refusal), ("broken input", broken)] {
            let place = original.copy();
            if (*verb, way) == ("watch", "work") {
                // It works on a terminal only, until a person leaves it.
                let mut screen = PtyScreen::start(place.command(args), 80, 24);
                screen.wait_for("make");
                screen.press("q");
                assert_eq!(screen.end().code(), Some(0));
                continue;
            }
            let said: Said = place.run(args);
            let help = said.err.contains("hint: ") || said.err.contains("Usage: ") || said.err.contains("tripwire:");
            let explained = said.code == 0 || !said.out.is_empty() || help || said.err.contains("try '--help'");
            if !codes.contains(&said.code) || !explained || said.err.contains("panicked") {
                wrong.push(format!("{verb}, {way}: {args:?} ended with {}:\n{}{}", said.code, said.out, said.err));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n---\n"));
}
