//! What reaches the model's context: the recitation, the briefing of a fresh one, and paths.

use super::fixture::{AgentFixture, finish, of_kind, shell};
use serde_json::{Value, json};

fn ask(said: &str, tool: &str, arguments: Value) -> Value {
    let call = json!({"tool": tool, "arguments": arguments});
    json!({"text": said, "calls": [call], "usage": {"input": 100, "output": 10}})
}

/// What was said to the model and what came back from its calls.
fn shown(fixture: &AgentFixture) -> Vec<String> {
    let transcript = fixture.transcript();
    let lines = of_kind(&transcript, "user").into_iter().chain(of_kind(&transcript, "result"));
    lines.map(|line| line["text"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn run_3_the_recited_next_step_is_never_one_that_is_done() {
    let fixture = AgentFixture::new();
    fixture.file("alpha.txt", "a\n").file("beta.txt", "needle\n");
    let steps = [
        ("First I list.", "list", json!({})),
        ("Now I read alpha.", "read_file", json!({"path": "alpha.txt"})),
        ("Now I search for needle.", "search", json!({"pattern": "needle"})),
        ("Now I read beta.", "read_file", json!({"path": "beta.txt"})),
    ];
    let mut answers: Vec<Value> = steps.iter().map(|(said, tool, given)| ask(said, tool, given.clone())).collect();
    answers.push(finish());
    fixture.agent(&answers, &[]).ended(0);
    let recited: Vec<String> = shown(&fixture).into_iter().filter(|text| text.contains("Next step:")).collect();
    let (done, next) = recited.first().unwrap().split_once("Next step:").unwrap();
    assert!(done.contains("Last completed step: search pattern=needle: ok"), "{done}");
    assert!(steps.iter().all(|(said, ..)| !next.contains(said)), "{next}");
    let todo = fixture.read(".geometry/todo.md");
    assert!(!todo.contains("Now I"), "{todo}");
}

#[test]
fn ctx_3_the_briefing_holds_the_last_steps_word_for_word_and_forbids_only_what_was_refused_for_itself() {
    let fixture = AgentFixture::new();
    fixture.file("src/parser.py", "def parse():\n    return 1\n");
    fixture.file("t.sh", "echo 'FAIL: got seven, wanted two'; exit 1\n");
    let mut full = ask("Who calls it?", "search", json!({"pattern": "parse_everything"}));
    full["usage"] = json!({"input": 1000, "cacheRead": 171_000, "output": 10});
    let edit = json!({"path": "src/parser.py", "old": "return 1", "new": "return 2"});
    fixture.agent(
        &[
            ask("I look at the parser.", "read_file", json!({"path": "src/parser.py"})),
            ask("The constant is wrong; the log says it must be 2.", "edit", edit),
            ask("Away with it.", "shell", json!({"command": "rm -rf .git"})),
            ask("I run the tests.", "shell", json!({"command": "sh t.sh tests/unit/test_parser.py"})),
            full,
            finish(),
            finish(),
            finish(),
        ],
        &["--verify", "sh t.sh"],
    );
    let text = fixture.read(".geometry/MISSION_BRIEFING.md");
    for fact in [
        "said: The constant is wrong; the log says it must be 2.",
        "return 2",
        "sh t.sh tests/unit/test_parser.py",
        "got seven, wanted two",
        "exit code: 1",
    ] {
        assert!(text.contains(fact), "{fact}: {text}");
    }
    let forbidden = text.split("## Do Not Try Again").nth(1).unwrap().split("\n## ").next().unwrap();
    assert!(!forbidden.contains("parse_everything"), "refused only for the full context: {forbidden}");
    assert!(!text.contains(fixture.work().to_str().unwrap()), "{text}");
}

#[test]
fn tool_1_the_workspaces_own_path_reaches_the_context_nowhere() {
    let fixture = AgentFixture::new();
    fixture.file("a.txt", "x\n");
    let root = fixture.work().to_str().unwrap().to_owned();
    let glued = shell("echo gcc -I$PWD/include -L$PWD/lib @$PWD/a.txt");
    let plain = ask("I read.", "shell", json!({"command": format!("cat {root}/a.txt")}));
    fixture.agent(&[glued, ask("I list.", "list", json!({})), plain, finish()], &[]).ended(0);
    let shown = shown(&fixture);
    assert!(shown.iter().any(|text| text.contains("-Iinclude -Llib @a.txt")), "{shown:?}");
    assert!(shown.iter().any(|text| text.contains("Last completed step: cat a.txt: exit 0")), "{shown:?}");
    assert!(!shown.iter().any(|text| text.contains(&root)), "{shown:?}");
    assert!(!fixture.read(".geometry/todo.md").contains(&root));
}
