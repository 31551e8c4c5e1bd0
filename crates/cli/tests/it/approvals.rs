//! Held calls that wait for a person's answer: `tripwire approvals`, at every door.

use crate::agent::fixture::{AgentFixture, finish as finish_agent, shell as agent_shell};
use crate::hooks::fixture::{HookFixture, fixture, shell};
use crate::run::fixture::{RunFixture, finish, wait_until};
use crate::session::fixture::{Place, Said, skip};
use serde_json::{Value, json};
use std::fs;
use std::io::Write as _;
use std::process::{Child, Command, Output};
use tripwire_testing::write_program;

/// A workspace with work that git does not know, in which a held call waits so long.
pub(crate) fn waiting_for(wait: &str) -> HookFixture {
    let fixture = fixture("claude");
    fs::write(fixture.geometry("MANIFEST.yaml"), format!("approvals:\n  wait: {wait}\n")).unwrap();
    fs::create_dir(fixture.root().join("data")).unwrap();
    for name in ["a", "b", "c"] {
        fs::write(fixture.root().join("data").join(name), "work\n").unwrap();
    }
    fixture
}

/// Starts a hook for a shell call and does not wait for its answer.
pub(crate) fn ask(fixture: &HookFixture, command: &str) -> Child {
    asked_by(fixture, fixture.command(&["hook", "claude"]), command)
}

/// The same where the client waits longer for its hook than by default.
fn ask_patiently(fixture: &HookFixture, command: &str) -> Child {
    let mut hook = fixture.command(&["hook", "claude"]);
    hook.env("TRIPWIRE_HOOK_SECONDS", "90");
    asked_by(fixture, hook, command)
}

fn asked_by(fixture: &HookFixture, mut hook: Command, command: &str) -> Child {
    let mut child = hook.spawn().unwrap();
    let input = fixture.input("PreToolUse", &shell(command)).to_string();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    child
}

pub(crate) fn answer_of(child: Child) -> String {
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

pub(crate) fn output(mut command: Command) -> (Option<i32>, String) {
    let Output { status, stdout, stderr } = command.output().unwrap();
    (status.code(), String::from_utf8_lossy(&stdout).into_owned() + &String::from_utf8_lossy(&stderr))
}

/// What waits, as JSON.
fn open(list: impl Fn() -> Command) -> Vec<Value> {
    let (_, text) = output(list());
    text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

fn code_of(list: impl Fn() -> Command) -> String {
    let mut found = Vec::new();
    wait_until("a held call", || {
        found = open(&list);
        !found.is_empty()
    });
    found[0]["id"].as_str().unwrap().to_owned()
}

#[test]
fn floor_1_an_approved_call_that_waited_at_a_hook_passes_and_the_queue_is_empty_again() {
    let fixture = waiting_for("60s");
    let list = || fixture.command(&["approvals", "--json"]);
    assert_eq!(output(fixture.command(&["approvals"])), (Some(0), "nothing waits for an answer\n".to_owned()));
    let asked = ask(&fixture, "rm -rf data");
    let code = code_of(list);
    let (exit, shown) = output(fixture.command(&["approvals"]));
    assert_eq!(exit, Some(5), "{shown}");
    assert!(shown.contains(&format!("tripwire approvals approve {code}")) && shown.contains("data"), "{shown}");
    let (exit, said) = output(fixture.command(&["approvals", "approve", &code, "--reason", "old data"]));
    assert!(exit == Some(0) && said.contains("approved"), "{said}");
    assert_eq!(answer_of(asked), "", "the same call goes on");
    assert_eq!(output(fixture.command(&["approvals"])).0, Some(0));
    let (_, log) = output(fixture.command(&["log"]));
    assert!(log.contains("old data"), "who and why are journaled: {log}");
    assert_eq!(output(fixture.command(&["verify"])).0, Some(0));
    assert_eq!(output(fixture.command(&["replay"])).0, Some(0));
}

#[test]
fn floor_1_a_denied_call_is_refused_with_the_persons_reason_and_a_second_answer_is_told_so() {
    let fixture = waiting_for("60s");
    let asked = ask(&fixture, "rm -rf data");
    let code = code_of(|| fixture.command(&["approvals", "list", "--json"]));
    let (exit, said) = output(fixture.command(&["approvals", "deny", &code, "--reason", "we need it"]));
    assert!(exit == Some(0) && said.contains("denied"), "{said}");
    let refused = answer_of(asked);
    assert!(refused.contains("\"deny\"") && refused.contains("we need it"), "{refused}");
    let (exit, said) = output(fixture.command(&["approvals", "approve", &code]));
    assert!(exit == Some(2) && said.contains("nothing waits"), "{said}");
}

#[test]
fn floor_1_the_first_answer_counts_and_the_second_is_refused() {
    let fixture = waiting_for("0");
    assert!(answer_of(ask(&fixture, "rm -rf data")).contains("\"deny\""), "it does not wait");
    let code = code_of(|| fixture.command(&["approvals", "--json"]));
    assert_eq!(output(fixture.command(&["approvals", "approve", &code])).0, Some(0));
    for second in ["deny", "approve"] {
        let (exit, said) = output(fixture.command(&["approvals", second, &code]));
        assert!(exit == Some(11) && said.contains("answered before: approved by"), "{exit:?} {said}");
    }
    assert_eq!(answer_of(ask(&fixture, "rm -rf data")), "", "what was approved passes when it is asked for again");
}

#[test]
fn floor_1_without_an_answer_the_time_is_a_no_and_the_agent_is_told() {
    let fixture = waiting_for("1s");
    let refused = answer_of(ask(&fixture, "rm -rf data"));
    assert!(refused.contains("\"deny\"") && refused.contains("nobody answered within 1 s"), "{refused}");
    let fixture = waiting_for("auto");
    let refused = answer_of(ask(&fixture, "rm -rf data"));
    assert!(refused.contains("\"deny\"") && !refused.contains("nobody answered"), "nobody can see it: {refused}");
}

#[test]
fn floor_1_an_approval_is_void_if_the_script_or_the_target_changed_meanwhile() {
    let fixture = waiting_for("60s");
    let policies = format!(
        "{}\n@ask(\"production is changed\") forbid (principal, action == Action::\"can_execute_tasks\", resource)\n\
         when {{ context.arguments.contains(\"deploy.sh\") }};\n",
        tripwire_authority::DEFAULT_POLICIES
    );
    fs::write(fixture.geometry("policy.cedar"), policies).unwrap();
    let script = fixture.root().join("deploy.sh");
    write_program(&script, "echo deploy\n").unwrap();
    let asked = ask(&fixture, "sh deploy.sh");
    let list = || fixture.command(&["approvals", "--json"]);
    let code = code_of(list);
    write_program(&script, "echo deploy something else\n").unwrap();
    assert_eq!(output(fixture.command(&["approvals", "approve", &code])).0, Some(0));
    let refused = answer_of(asked);
    assert!(refused.contains("\"deny\"") && !refused.contains(&code), "another script is another command: {refused}");
    let asked = ask(&fixture, "rm -rf data");
    let of_data = |value: &Value| value["what"].as_str().unwrap().contains("data: 3");
    let mut code = String::new();
    wait_until("the next call", || {
        let found = open(list).into_iter().find(of_data);
        code = found.map(|value| value["id"].as_str().unwrap().to_owned()).unwrap_or_default();
        !code.is_empty()
    });
    fs::write(fixture.root().join("data/saved-by-a-person"), "new\n").unwrap();
    assert_eq!(output(fixture.command(&["approvals", "approve", &code])).0, Some(0));
    assert!(answer_of(asked).contains("\"deny\""), "another target is another command");
}

#[test]
fn floor_1_a_stop_ends_the_wait() {
    let fixture = waiting_for("60s");
    let asked = ask(&fixture, "rm -rf data");
    code_of(|| fixture.command(&["approvals", "--json"]));
    assert_eq!(output(fixture.command(&["stop"])).0, Some(0));
    let refused = answer_of(asked);
    assert!(refused.contains("stop"), "{refused}");
}

#[test]
fn floor_1_a_pause_and_resume_leave_the_wait_for_an_answer_as_long_as_it_was() {
    let fixture = waiting_for("60s");
    let asked = ask_patiently(&fixture, "rm -rf data");
    let code = code_of(|| fixture.command(&["approvals", "--json"]));
    // The file alone, so that nobody but the hook takes it in, in one step with its next question.
    let heard = |act: &str| wait_until(act, || output(fixture.command(&["log"])).1.contains(act));
    fs::write(fixture.geometry("PAUSE"), "").unwrap();
    heard("a person: \"pause\"");
    fs::remove_file(fixture.geometry("PAUSE")).unwrap();
    heard("a person: \"resume\"");
    assert_eq!(open(|| fixture.command(&["approvals", "--json"])).len(), 1, "it still waits");
    assert_eq!(output(fixture.command(&["approvals", "approve", &code])).0, Some(0));
    assert_eq!(answer_of(asked), "", "the same call goes on");
}

#[test]
fn floor_1_a_pause_does_not_make_the_wait_for_an_answer_longer() {
    let fixture = waiting_for("3s");
    let asked = ask_patiently(&fixture, "rm -rf data");
    code_of(|| fixture.command(&["approvals", "--json"]));
    assert_eq!(output(fixture.command(&["pause"])).0, Some(0));
    assert_eq!(output(fixture.command(&["resume"])).0, Some(0));
    let refused = answer_of(asked);
    assert!(refused.contains("\"deny\"") && refused.contains("nobody answered within 3 s"), "{refused}");
}

#[test]
fn ctrl_3_below_a_client_nothing_is_approved_and_bad_answers_change_nothing() {
    let fixture = waiting_for("0");
    answer_of(ask(&fixture, "rm -rf data"));
    let code = code_of(|| fixture.command(&["approvals", "--json"]));
    for verb in ["approve", "deny"] {
        let mut below = fixture.command(&["approvals", verb, &code]);
        below.env("CLAUDECODE", "1");
        let (exit, said) = output(below);
        assert!(exit == Some(11) && said.contains("for a person"), "{exit:?} {said}");
    }
    let (exit, said) = output(fixture.command(&["approvals", "approve", "ZZZZ-ZZ"]));
    assert!(exit == Some(2) && said.contains(&format!("waiting: {code}")), "{said}");
    let (exit, said) = output(fixture.command(&["approvals", "approve", "budget-nonsense", "--raise", "1usd"]));
    assert!(exit == Some(2) && said.contains("nothing waits"), "{said}");
    assert_eq!(output(fixture.command(&["approvals", "approve"])).0, Some(2), "no id");
    assert_eq!(open(|| fixture.command(&["approvals", "--json"])).len(), 1);
}

#[test]
fn floor_1_a_call_under_run_waits_at_the_supervisor_and_goes_on_when_approved() {
    let fixture = RunFixture::new("begin\ntool 'rm -rf data' && touch went-on\nfinish");
    fs::create_dir_all(fixture.geometry("")).unwrap();
    fs::write(fixture.geometry("MANIFEST.yaml"), "approvals:\n  wait: 60s\n").unwrap();
    fs::create_dir(fixture.place().join("data")).unwrap();
    for name in ["a", "b", "c"] {
        fs::write(fixture.place().join("data").join(name), "work\n").unwrap();
    }
    let child = fixture.command(&[]).spawn().unwrap();
    let code = code_of(|| fixture.verb(&["approvals", "--json"]));
    assert!(fixture.place().join("data").exists() && !fixture.place().join("went-on").exists());
    let (exit, said) = output(fixture.verb(&["approvals", "approve", &code]));
    assert_eq!(exit, Some(0), "{said}");
    let ran = finish(child);
    assert!(fixture.place().join("went-on").exists() && !fixture.place().join("data").exists(), "{}", ran.stderr);
    assert!(ran.stderr.contains(&format!("tripwire approvals approve {code}")), "a person was told: {}", ran.stderr);
}

#[test]
fn floor_1_a_call_of_the_own_loop_waits_and_is_run_or_refused_as_the_person_says() {
    for (verb, is_gone) in [("approve", true), ("deny", false)] {
        let fixture = AgentFixture::new();
        for name in ["a", "b", "c"] {
            fixture.file(&format!("data/{name}"), "work\n");
        }
        fixture.file(".geometry/MANIFEST.yaml", "approvals:\n  wait: 60s\n");
        let running = fixture.start(&[agent_shell("rm -rf data"), finish_agent()], &[]);
        let code = code_of(|| fixture.command(&["approvals", "--json"]));
        let (exit, said) = output(fixture.command(&["approvals", verb, &code, "--reason", "so it is"]));
        assert_eq!(exit, Some(0), "{said}");
        let ran = running.end();
        assert_eq!(fixture.work().join("data").exists(), !is_gone, "{}{}", ran.stdout, ran.stderr);
        let told = fixture.transcript_text().contains("denied by a person");
        assert_eq!(told, !is_gone, "{}", fixture.transcript_text());
        assert_eq!(fixture.run(&["replay"]).code, 0);
    }
}

#[test]
fn gate_8_a_spent_budget_is_in_the_queue_and_is_raised_by_the_amount_that_is_named() {
    let place = Place::new();
    place.manifest("money:\n  budget_micro_usd: 1000\n");
    let line = json!({"timestamp": 0, "tool": "Read", "args": {"path": "a"}, "output": "x", "costMicroUsd": 5_000});
    place.step(&format!("{line}\n")).ended(6);
    let id = format!("budget-{}", place.session());
    let waiting = place.run(&["approvals", "--json"]).ended(5).json();
    assert_eq!((waiting["id"].as_str(), waiting["kind"].as_str()), (Some(id.as_str()), Some("budget")));
    assert_eq!(place.run(&["approvals", "--all", "--json"]).ended(5).json()["id"], waiting["id"]);
    place.run(&["approvals", "approve", &id]).ended(2).complains("--raise 5usd");
    place.run(&["approvals", "deny", &id]).ended(0).says("denied");
    place.run(&["approvals"]).ended(5);
    place
        .run(&["approvals", "approve", &id, "--raise", "1usd", "--reason", "it is worth it"])
        .ended(0)
        .says("approved");
    place.run(&["approvals"]).ended(0);
    place.run(&["approvals", "approve", &id, "--raise", "1usd"]).ended(2).complains("nothing waits");
    let log = place.run(&["log", "--json"]).ended(0).out;
    assert!(log.contains("raiseBudget") && log.contains("it is worth it"), "{log}");
}

#[test]
fn review_1_a_proposed_change_is_in_the_queue_and_its_answer_is_the_review() {
    for (verb, is_applied) in [("approve", true), ("deny", false)] {
        let place = Place::new();
        place.manifest("review:\n  required: true\n");
        fs::write(place.work().join("kept"), "old\n").unwrap();
        let work = place.work().display().to_string();
        let staged =
            place.run(&["sandbox", "exec", "--stage", "--workspace", &work, "--", "sh", "-c", "echo new > kept"]);
        if staged.code != 0 {
            return skip(&format!("the sandbox does not run here, so nothing can be staged: {}", staged.err));
        }
        place.run(&["approvals"]).ended(0);
        place.run(&["review", "propose"]).ended(0);
        let waiting = place.run(&["approvals", "--json"]).ended(5).json();
        assert_eq!(waiting["kind"], "review");
        let id = waiting["id"].as_str().unwrap().to_owned();
        place.run(&["approvals", verb, &id]).ended(0);
        place.run(&["approvals"]).ended(0);
        place.run(&["approvals", "approve", &id]).ended(11).complains("answered before");
        place.run(&["review", "apply"]).ended(if is_applied { 0 } else { 11 });
        let text = fs::read_to_string(place.work().join("kept")).unwrap();
        assert_eq!(text, if is_applied { "new\n" } else { "old\n" });
    }
}

#[test]
fn ctrl_3_a_client_under_run_cannot_approve_its_own_call() {
    // It knows the code, sheds its environment and its session, and tries while its call is held.
    let script = format!(
        "begin\n\
         (while [ ! -s code ]; do sleep 0.1; done\n\
         setsid env -i HOME=$HOME PATH=$PATH {0} approvals approve $(cat code) > own.log 2>&1; echo $? > own.part\n\
         mv own.part own.code) &\n\
         tool 'rm -rf data' && touch went-on\nwait\nfinish",
        crate::hooks::fixture::TRIPWIRE
    );
    let fixture = RunFixture::new(&script);
    fs::create_dir_all(fixture.geometry("")).unwrap();
    fs::write(fixture.geometry("MANIFEST.yaml"), "approvals:\n  wait: 60s\n").unwrap();
    fs::create_dir(fixture.place().join("data")).unwrap();
    for name in ["a", "b", "c"] {
        fs::write(fixture.place().join("data").join(name), "work\n").unwrap();
    }
    let child = fixture.command(&[]).spawn().unwrap();
    let code = code_of(|| fixture.verb(&["approvals", "--json"]));
    fs::write(fixture.place().join("code"), &code).unwrap();
    wait_until("its own answer", || fixture.place().join("own.code").exists());
    let said = fs::read_to_string(fixture.place().join("own.log")).unwrap();
    assert_ne!(fs::read_to_string(fixture.place().join("own.code")).unwrap().trim(), "0", "{said}");
    assert_eq!(code_of(|| fixture.verb(&["approvals", "--json"])), code, "it still waits for a person");
    assert_eq!(output(fixture.verb(&["approvals", "deny", &code])).0, Some(0));
    let ran = finish(child);
    assert!(fixture.place().join("data").exists() && !fixture.place().join("went-on").exists(), "{}", ran.stderr);
}

#[test]
fn floor_1_the_command_that_waits_is_shown_wherever_it_is_answered() {
    for (verb, words) in [
        (&["approvals", "approve"][..], "approved `CODE`: "),
        (&["approvals", "deny"][..], "denied `CODE`: "),
        (&["allow"][..], "the command with the code `CODE` may pass once within 24 hours: "),
    ] {
        let fixture = waiting_for("0");
        fs::write(fixture.root().join(".env"), "TOKEN=hunter2-hunter2-hunter2\n").unwrap();
        let asked = ask(&fixture, "rm -rf data # hunter2-hunter2-hunter2").wait_with_output().unwrap();
        let notes = String::from_utf8(asked.stderr).unwrap();
        assert!(notes.contains("note: the held command: `rm -rf data") && !notes.contains("hunter2"), "{notes}");
        let list = || fixture.command(&["approvals", "--json"]);
        let code = code_of(list);
        let command = open(list)[0]["command"].as_str().unwrap().to_owned();
        assert!(command.contains("rm -rf data") && !command.contains("hunter2"), "{command}");
        let (_, shown) = output(fixture.command(&["approvals"]));
        assert!(shown.contains(&format!("  `{command}`\n")), "{shown}");
        let (_, said) = output(fixture.command(&[verb, &[code.as_str()]].concat()));
        assert!(said.contains(&format!("{}`{command}`: ", words.replace("CODE", &code))), "{said}");
    }
}

#[test]
fn floor_1_what_is_no_command_shows_none() {
    let place = Place::new();
    place.manifest("money:\n  budget_micro_usd: 1000\n");
    let line = json!({"timestamp": 0, "tool": "Read", "args": {"path": "a"}, "output": "x", "costMicroUsd": 5_000});
    place.step(&format!("{line}\n")).ended(6);
    let waiting = place.run(&["approvals", "--json"]).ended(5).json();
    assert_eq!((&waiting["kind"], &waiting["command"]), (&json!("budget"), &Value::Null), "{waiting}");
    let shown = place.run(&["approvals"]).ended(5).out;
    assert_eq!(shown.lines().count(), 3, "what it is, why it waits, how it is answered: {shown}");
}

#[test]
fn floor_1_an_answer_that_came_too_late_is_told_as_one() {
    let fixture = waiting_for("0");
    answer_of(ask(&fixture, "rm -rf data"));
    let code = code_of(|| fixture.command(&["approvals", "--json"]));
    assert_eq!(output(fixture.command(&["approvals", "deny", &code])).0, Some(0));
    assert_eq!(output(fixture.command(&["approvals", "approve", &code])).0, Some(11));
    let (_, report) = output(fixture.command(&["report", "--json"]));
    let report: Value = serde_json::from_str(report.lines().next().unwrap()).unwrap();
    let people = report["sessions"][0]["people"].as_array().unwrap();
    let told: Vec<&str> = people.iter().map(|entry| entry["what"].as_str().unwrap()).collect();
    let [first, second] = told.as_slice() else { panic!("{told:?}") };
    assert!(first.starts_with(&format!("`{code}`: a person denied")), "{first}");
    assert!(second.contains("was answered before; the first answer counts"), "{second}");
    assert!(!told.iter().any(|text| text.contains('{')), "no raw records: {told:?}");
}

#[test]
fn floor_1_an_entry_of_another_workspace_is_answered_by_the_printed_command() {
    let fixture = waiting_for("0");
    answer_of(ask(&fixture, "rm -rf data"));
    let elsewhere = tripwire_testing::folder();
    let root = fixture.root().canonicalize().unwrap();
    let option = format!(" --workspace {}", root.display());
    let shown = |args: &[&str], folder: &std::path::Path| {
        let mut command = fixture.command(args);
        command.current_dir(folder);
        output(command)
    };
    let named = ["approvals", "--workspace", root.to_str().unwrap()];
    for args in [&["approvals", "--all"][..], &named] {
        let (exit, said) = shown(args, elsewhere.path());
        assert!(exit == Some(5) && said.matches(&option).count() == 2, "{args:?}: {said}");
    }
    let (_, said) = shown(&["approvals", "--all"], &root);
    assert!(!said.contains("--workspace"), "it is this one: {said}");
    let (_, said) = shown(&["approvals", "--all"], elsewhere.path());
    let printed = said.split("tripwire approvals ").nth(1).unwrap().split("   |").next().unwrap();
    let words: Vec<&str> = std::iter::once("approvals").chain(printed.split(' ')).collect();
    let (exit, said) = shown(&words, elsewhere.path());
    assert!(exit == Some(0) && said.contains("approved"), "{said}");
}

#[test]
fn floor_1_without_a_home_nobody_says_that_nothing_waits() {
    let place = Place::new();
    for args in [&["approvals", "--all"][..], &["scan", "--secrets"]] {
        let mut command = place.command(args);
        for name in ["HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME"] {
            command.env_remove(name);
        }
        Said::of(command.output().unwrap()).ended(2).complains("`HOME` is not set");
    }
}
