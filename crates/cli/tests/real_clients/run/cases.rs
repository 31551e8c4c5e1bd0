//! The cases that every client has to pass under the supervisor, and what each of them shows.

use crate::run::fixture::{RunEnd, RunFixture, finish, last_text, some_users, users};
use crate::support::clients::Kind;
use crate::support::model::{Model, Turn, Usage};
use serde_json::json;
use std::fs;
use std::time::Duration;
use tripwire_core::prices;
use tripwire_core::units::Tokens;
use tripwire_testing::write_program;

fn shell(command: impl Into<String>) -> Turn {
    Turn::Shell(command.into())
}

fn say(text: &str) -> Turn {
    Turn::Say(text.to_owned())
}

/// The same call twelve times: told at the third or fourth, stopped by the sixth model call, nobody left.
pub(crate) fn identical_loop(kind: Kind) {
    for (client, user) in users(kind) {
        let fixture = RunFixture::new(&client, user, Model::repeating("echo tick", 12), &[]);
        let ran = fixture.run(&[]);
        ran.ended(7);
        assert_eq!(ran.report["clients"][0], client.name());
        let asked = fixture.model.asked();
        assert!(asked.len() <= 6, "{user:?}: {} requests where 13 were scripted", asked.len());
        let told = asked.iter().position(|body| body.contains("LOOP_OVERRIDE"));
        assert!(told.is_some_and(|request| request == 3 || request == 4), "{user:?}: told in request {told:?}");
        assert!(fixture.geometry("BLOCKER_REPORT.md").contains("Blocker Report"), "{user:?}");
        assert!(ran.stderr.contains("times in a row"), "{user:?}: {}", ran.stderr);
    }
}

/// Forty different files: nothing is held, and the result is the one of a run without us.
pub(crate) fn distinct_work(kind: Kind) {
    for (client, user) in some_users(kind) {
        let script = || {
            let part = |n| Turn::Write(format!("part_{n:02}.txt"), format!("part {n} of 40, {}", n * n));
            Model::scripted((0..40).map(part).collect())
        };
        let (guarded, alone) =
            (RunFixture::new(&client, user, script(), &[]), RunFixture::new(&client, user, script(), &[]));
        let ran = guarded.run(&[]);
        let output = alone.run_alone();
        ran.ended(0);
        assert!(!ran.held(), "{}", ran.stderr);
        assert_eq!(guarded.tree().len(), 40, "{}", ran.stderr);
        let (asked, asked_alone) = (guarded.model.asked().len(), alone.model.asked().len());
        assert_eq!((asked, asked_alone), (41, 41), "the model is asked exactly as often: {}", ran.stderr);
        assert_eq!(guarded.tree(), alone.tree(), "the workspace is the same");
        let text = last_text(&String::from_utf8_lossy(&output.stdout));
        assert_eq!(last_text(&ran.stdout), text, "the final text is the same");
        assert!(!text.is_empty());
    }
}

/// A poll whose output moves on is no loop.
pub(crate) fn polling(kind: Kind) {
    for (client, user) in some_users(kind) {
        let poll = "#!/bin/sh\nn=$(cat n)\necho $((n + 1)) > n\necho \"$n of 12 done\"\n";
        let fixture = RunFixture::new(&client, user, Model::repeating("./poll", 12), &[("n", "0\n"), ("poll", poll)]);
        let ran = fixture.run(&[]);
        ran.ended(0);
        assert!(!ran.held(), "{user:?}: {}", ran.stderr);
        assert_eq!(fixture.model.asked().len(), 13, "{user:?}");
    }
}

/// An agent that says it is done without having run the tests is sent back twice, and then let go unverified.
pub(crate) fn claims_without_tests(kind: Kind) {
    for (client, user) in some_users(kind) {
        let turns =
            vec![Turn::Write("calc.py".to_owned(), "x = 1".to_owned()), say("Tests pass."), say("Yes."), say("Yes.")];
        let fixture = RunFixture::new(&client, user, Model::scripted(turns), &[]);
        let ran = fixture.run(&[]);
        ran.ended(4);
        assert_eq!(ran.report["verdict"], "UNVERIFIED");
        let asked = fixture.model.asked();
        assert_eq!(asked.len(), 4, "{user:?}: sent back twice: {}", ran.stderr);
        assert!(asked[2].contains("haven't run tests"), "{user:?}: the agent is told why");
    }
}

/// Tests that pass after the last change are the end, at once.
pub(crate) fn tests_pass(kind: Kind) {
    for (client, user) in users(kind) {
        let turns = vec![Turn::Write("calc.py".to_owned(), "x = 2".to_owned()), shell("./gradlew test"), say("Done.")];
        // A test command that is known by its name and needs nothing installed.
        let files =
            [("gradlew", "#!/bin/sh\ngrep -q 'x = 2' calc.py && echo running && echo '=== 1 passed in 0.12s ==='\n")];
        let fixture = RunFixture::new(&client, user, Model::scripted(turns), &files);
        let ran = fixture.run(&[]);
        ran.ended(0);
        assert_eq!(ran.report["verdict"], "VERIFIED", "{user:?}: {}", ran.stderr);
        assert_eq!(fixture.model.asked().len(), 3, "{user:?}: accepted at the first attempt");
    }
}

/// `touch .geometry/STOP`: no model call after the current one.
pub(crate) fn stop_in_the_middle(kind: Kind) {
    for (client, user) in users(kind) {
        let turns = (0..60).map(|n| shell(format!("sleep 0.2; echo step {n}"))).collect();
        let fixture = RunFixture::new(&client, user, Model::scripted(turns), &[]);
        let child = fixture.start(&[]);
        fixture.wait_for_requests(3);
        let before = fixture.model.asked().len();
        fs::write(fixture.place.path().join(".geometry/STOP"), "").expect("the order");
        let ran = finish(child);
        ran.ended(10);
        let after = fixture.model.asked().len();
        assert!(after <= before + 1, "{user:?}: {before} requests before the order, {after} in all");
    }
}

/// How long the supervisor of a paused run waits for a sign of life of its client.
const WATCH_SECONDS: u64 = 2;

/// A pause freezes everything, and a resume goes on as if nothing had been.
pub(crate) fn pause_and_resume(kind: Kind) {
    for (client, user) in some_users(kind) {
        let turns: Vec<Turn> = (0..8).map(|n| shell(format!("./step {n}"))).collect();
        let step = "#!/bin/sh\nsleep 0.1\necho $1 >> steps\n";
        let fixture = RunFixture::new(&client, user, Model::scripted(turns), &[("step", step)]);
        let child = fixture.start_watched(&[], WATCH_SECONDS);
        fixture.wait_for_requests(3);
        assert!(fixture.verb(&["pause"]).status().expect("the verb").success());
        std::thread::sleep(Duration::from_millis(800));
        let asked = fixture.model.asked().len();
        // Longer than the supervisor waits for a sign of life of a client that runs.
        std::thread::sleep(Duration::from_secs(WATCH_SECONDS) + Duration::from_millis(200));
        assert_eq!(fixture.model.asked().len(), asked, "nothing is asked while the run is paused");
        assert!(fixture.verb(&["resume"]).status().expect("the verb").success());
        let ran = finish(child);
        ran.ended(0);
        assert_eq!(fixture.model.asked().len(), 9, "{}", ran.stderr);
        let steps = fs::read_to_string(fixture.place.path().join("steps")).expect("the steps");
        assert_eq!(steps, "0\n1\n2\n3\n4\n5\n6\n7\n", "each step was made once");
    }
}

/// How long a pause is whose end a client has to live to see.
const LONG_PAUSE: Duration = Duration::from_secs(90);

/// A pause of the workspace from outside while the client waits for its model: no request reaches it, and the work goes on.
pub(crate) fn long_pause(kind: Kind) {
    for (client, user) in some_users(kind).into_iter().take(1) {
        let turns = (0..6).map(|n| kind.shell(&format!("sleep 0.3; echo {n} >> steps"))).collect();
        let fixture = RunFixture::new(&client, user, Model::scripted(turns), &[]);
        let child = fixture.start(&[]);
        fixture.wait_for_requests(2);
        fs::write(fixture.place.path().join(".geometry/PAUSE"), "").expect("the order");
        std::thread::sleep(Duration::from_secs(2));
        let asked = fixture.model.asked().len();
        std::thread::sleep(LONG_PAUSE);
        assert_eq!(fixture.model.asked().len(), asked, "{user:?}: nothing is asked while the run is paused");
        assert!(fixture.verb(&["resume"]).status().expect("the verb").success());
        let ran = finish(child);
        let steps = fs::read_to_string(fixture.place.path().join("steps")).expect("the steps");
        assert_eq!(steps, "0\n1\n2\n3\n4\n5\n", "each step was made once: {}", ran.stderr);
        assert!(fixture.model.asked().len() >= 7, "{}", ran.stderr);
    }
}

/// The guard's files and the hook settings are out of the agent's reach, and an attempt is logged.
pub(crate) fn out_of_reach(kind: Kind) {
    for (client, user) in users(kind) {
        let turns = vec![
            Turn::Write(".geometry/MANIFEST.yaml".to_owned(), "profile: strict".to_owned()),
            shell("echo '{}' > .claude/settings.json; echo '{}' > .gemini/settings.json"),
            shell("rm -rf .geometry"),
            shell("touch went-on"),
        ];
        let fixture = RunFixture::new(&client, user, Model::scripted(turns), &[]);
        let ran = fixture.run(&[]);
        ran.ended(0);
        let manifest = fixture.geometry("MANIFEST.yaml");
        assert!(!manifest.lines().any(|line| line.trim() == "profile: strict"), "{user:?}: {manifest}");
        assert!(fixture.geometry("safety_log.json").contains("PERMISSION_DENIED"), "{user:?}: it is logged");
        assert!(fixture.place.path().join("went-on").exists(), "{user:?}: everything else may be done: {}", ran.stderr);
        assert!(!fixture.place.path().join(".claude").exists() && !fixture.place.path().join(".gemini").exists());
    }
}

/// Calls that would cost more than the budget: the run ends at it, and what was booked is what the model charged.
pub(crate) fn budget(kind: Kind) {
    for (client, user) in some_users(kind) {
        let dear = Usage { fresh: 15_000, read: 0, write: 0, output: 10_000 };
        let turns = (0..40).map(|n| kind.shell(&format!("echo step {n}"))).collect();
        let fixture = RunFixture::new(&client, user, Model::costing(turns, dear), &[]);
        // Codex offers its model a web search, whose results may fill the window: each call reserves that much.
        let (text, limit) = match kind {
            Kind::Codex => ("4usd", 4_000_000),
            Kind::Opencode | Kind::Qwen => ("0.60usd", 600_000),
            Kind::Claude | Kind::Gemini | Kind::Aider => ("1.60usd", 1_600_000),
        };
        let ran = fixture.run(&["--budget", text]);
        ran.ended(6);
        assert!((1..=40).contains(&fixture.model.asked().len()), "{} requests", fixture.model.asked().len());
        let spent = booked_as_charged(&fixture, &ran);
        assert!(spent <= limit, "{spent}: {}", ran.stderr);
        assert!(spent >= limit / 10, "{spent}: the budget was of use: {}", ran.stderr);
    }
}

/// Sub-agents side by side, asked for in one answer: each call is booked once and exactly.
pub(crate) fn sub_agents(kind: Kind, flags: &[&str], call: &dyn Fn(usize) -> Turn) {
    for (client, user) in some_users(kind) {
        let usage = Usage { fresh: 1_234, read: 500, write: 0, output: 77 };
        let turns = vec![Turn::Many((0..5).map(call).collect())];
        let fixture = RunFixture::new(&client, user, Model::costing(turns, usage), &[]);
        let ran = fixture.run(&[&["--budget", "200usd"], flags].concat());
        ran.ended(0);
        assert!(fixture.model.asked().len() >= 7, "{} requests: {}", fixture.model.asked().len(), ran.stderr);
        booked_as_charged(&fixture, &ran);
    }
}

/// Claude's call that starts a sub-agent.
pub(crate) fn claudes_sub_agent(n: usize) -> Turn {
    let input =
        json!({"description": "look", "prompt": format!("Look at part {n}."), "subagent_type": "general-purpose"});
    Turn::Call("Agent".to_owned(), input.to_string())
}

/// Gemini's.
pub(crate) fn geminis_sub_agent(n: usize) -> Turn {
    let input = json!({"agent_name": "codebase_investigator", "prompt": format!("Look at part {n}.")});
    Turn::Call("invoke_agent".to_owned(), input.to_string())
}

/// What the run spent, which is what the model's own ledger says to the micro-dollar, and what `cost` shows.
pub(crate) fn booked_as_charged(fixture: &RunFixture, ran: &RunEnd) -> u64 {
    let ledger = fixture.model.ledger();
    let price = |(model, usage): &(String, Usage)| {
        let tokens = tripwire_core::usage::Usage {
            fresh_input: Tokens::new(usage.fresh),
            cache_read: Tokens::new(usage.read),
            cache_write: Tokens::new(usage.write),
            output: Tokens::new(usage.output),
            ..tripwire_core::usage::Usage::default()
        };
        let cost = prices::cost(model, &tokens);
        assert_eq!(cost.basis, prices::PriceBasis::Listed, "`{model}` has no price of its own");
        cost.micro_usd.get()
    };
    let charged: u64 = ledger.iter().map(price).sum();
    let spent = ran.report["spent"]["micro_usd"].as_u64().expect("a figure");
    let gateway = &ran.report["gateway"];
    assert_eq!(spent, charged, "{} calls: {gateway}", ledger.len());
    assert_eq!((&gateway["calls"], &gateway["credential"]), (&ledger.len().into(), &"brokered".into()), "{gateway}");
    let session = ran.report["session"].as_str().expect("a session");
    let lines = fixture.verb(&["cost", session, "--json"]).output().expect("the verb");
    let lines: serde_json::Value = serde_json::from_slice(&lines.stdout).expect("its JSON");
    assert_eq!(lines["micro_usd"], spent, "{lines}");
    spent
}

/// The same call twelve times by a client without hooks: it is ended by the sixth turn.
pub(crate) fn identical_loop_without_hooks(kind: Kind) {
    for (client, user) in some_users(kind) {
        let fixture = RunFixture::new(&client, user, Model::scripted(vec![kind.shell("echo tick"); 12]), &[]);
        let ran = fixture.run(&[]);
        assert_eq!(ran.report["clients"][0], client.name());
        assert!(fixture.model.asked().len() <= 6, "{} requests where 13 were scripted", fixture.model.asked().len());
        // Qwen Code ends itself at the fifth equal call. It gets so far when its terminal loses the output of one: then that result
        // differs, and we had sent a warning only.
        if ran.stderr.contains("Loop detection halted") {
            ran.ended(3);
            assert!(ran.stderr.contains("with the same result"), "{}", ran.stderr);
        } else {
            ran.ended(7);
            assert!(ran.stderr.contains("times in a row"), "{}", ran.stderr);
        }
        booked_as_charged(&fixture, &ran);
    }
}

/// Twenty different files by a client without hooks: nothing is held.
pub(crate) fn distinct_work_without_hooks(kind: Kind) {
    for (client, user) in some_users(kind) {
        let part = |n| kind.shell(&format!("echo part {n} of 20, {} > part_{n:02}.txt", n * n));
        let fixture = RunFixture::new(&client, user, Model::scripted((0..20).map(part).collect()), &[]);
        let ran = fixture.run(&[]);
        ran.ended(0);
        assert!(!ran.held(), "{}", ran.stderr);
        assert_eq!(fixture.tree().len(), 20, "{}", ran.stderr);
        assert_eq!(fixture.model.asked().len(), 21, "the model is asked as often as it was scripted");
        booked_as_charged(&fixture, &ran);
    }
}

/// A client that has no tools at all: its calls are booked, and it ends well.
pub(crate) fn booked_without_tools(kind: Kind) {
    for (client, user) in some_users(kind) {
        let fixture = RunFixture::new(&client, user, Model::scripted(vec![say("Nothing to do.")]), &[]);
        let ran = fixture.run(&["--budget", "5usd"]);
        ran.ended(0);
        booked_as_charged(&fixture, &ran);
        assert!(!fixture.model.ledger().is_empty(), "{}", ran.stderr);
    }
}

/// What is put in the place of our program, and what it does to a hook.
const REPLACEMENTS: [(&str, &str); 3] =
    [("missing", ""), ("crashes", "#!/bin/sh\nkill -SEGV $$\n"), ("sleeps", "#!/bin/sh\nexec sleep 600\n")];

/// A hook that cannot be run any more: the call does not run, the run ends with 9, and `status` says so.
pub(crate) fn broken_hook(kind: Kind) {
    for (client, user) in some_users(kind) {
        for (name, replacement) in REPLACEMENTS {
            let fixture = RunFixture::new(&client, user, Model::scripted(touching(40)), &[]);
            let child = fixture.start(&[]);
            fixture.wait_for_requests(3);
            let program = fixture.guards_program();
            fs::remove_file(&program).expect("our program in the run's folder");
            if !replacement.is_empty() {
                write_program(&program, replacement).expect("a program that is not ours");
            }
            let ran = finish(child);
            does_not_hold(&fixture, &ran, name);
            assert!(calls(&fixture) <= 6, "{name}: {} calls ran: {}", calls(&fixture), ran.stderr);
        }
    }
}

/// A journal whose lock somebody else holds: the call does not run, and the run ends with 9.
pub(crate) fn locked_journal(kind: Kind) {
    for (client, user) in some_users(kind) {
        let fixture = RunFixture::new(&client, user, Model::scripted(touching(40)), &[]);
        let child = fixture.start(&[]);
        fixture.wait_for_requests(3);
        let journal = fs::read_dir(fixture.place.path().join(".geometry/journal")).expect("the journal");
        let session = journal.filter_map(Result::ok).next().expect("a session").path();
        let head = fs::File::options().read(true).write(true).open(session.join("HEAD")).expect("its head");
        head.lock().expect("the lock");
        let before = calls(&fixture);
        let ran = finish(child);
        // A call that was decided before the lock was taken may have run.
        assert!(calls(&fixture) <= before + 1, "{user:?}: {before}, then {} calls: {}", calls(&fixture), ran.stderr);
        head.unlock().expect("the lock");
        does_not_hold(&fixture, &ran, "locked");
    }
}

/// A disk without room: the call does not run, and the run ends with 9.
pub(crate) fn full_disk(kind: Kind) {
    for (client, user) in users(kind).into_iter().take(1) {
        let fixture = RunFixture::new(&client, user, Model::scripted(touching(60)), &[]);
        let Some(_disk) = fixture.small_disk("192k") else { return };
        let ran = fixture.run(&[]);
        assert!(calls(&fixture) >= 1, "some calls fit the journal: {}", ran.stderr);
        assert!(calls(&fixture) < 60, "the disk was never full: {}", ran.stderr);
        does_not_hold(&fixture, &ran, "full");
        let journal = fs::read_dir(fixture.place.path().join(".geometry/journal")).expect("the journal");
        let session = journal.filter_map(Result::ok).next().expect("a session").path();
        let text = fs::read_to_string(session.join("00000001.jsonl")).expect("its records");
        let asked = text.matches("\"request\":").count();
        assert!(asked >= calls(&fixture), "no call ran that is not in the journal: {asked} of {}", calls(&fixture));
    }
}

fn touching(count: usize) -> Vec<Turn> {
    (0..count).map(|n| shell(format!("sleep 0.2; touch ran-{n}"))).collect()
}

/// How many of these calls ran.
fn calls(fixture: &RunFixture) -> usize {
    fixture.tree().keys().filter(|path| path.starts_with("ran-")).count()
}

fn does_not_hold(fixture: &RunFixture, ran: &RunEnd, name: &str) {
    ran.ended(9);
    let status = fixture.verb(&["status"]).output().expect("the verb");
    assert_eq!(status.status.code(), Some(9), "{name}: {}", ran.stderr);
    let told = String::from_utf8_lossy(&status.stdout).into_owned();
    assert!(told.contains("BROKEN"), "{name}: {told}");
}

/// A call that the client itself turns down is seen by no hook, and is no proof against the guard.
pub(crate) fn unknown_tool(kind: Kind) {
    for (client, user) in some_users(kind) {
        let turns = vec![Turn::Call("no_such_tool".to_owned(), "{}".to_owned()), shell("touch went-on")];
        let fixture = RunFixture::new(&client, user, Model::scripted(turns), &[]);
        let ran = fixture.run(&[]);
        ran.ended(0);
        assert!(fixture.place.path().join("went-on").exists(), "{}", ran.stderr);
    }
}

/// What is typed into a running program reaches no hook: a call that asks for a terminal does not run, others do.
pub(crate) fn no_terminals() {
    for (client, user) in some_users(Kind::Codex) {
        let typed = Turn::Call("exec_command".to_owned(), r#"{"cmd":"touch opened; bash","tty":true}"#.to_owned());
        let fixture = RunFixture::new(&client, user, Model::scripted(vec![typed, shell("touch went-on")]), &[]);
        let ran = fixture.run(&[]);
        assert!(!fixture.place.path().join("opened").exists(), "{}", ran.stderr);
        assert!(fixture.place.path().join("went-on").exists(), "{}", ran.stderr);
        ran.ended(0);
    }
}
