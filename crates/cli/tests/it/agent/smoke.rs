//! Transcripts of our own loop are deterministic, and its tools are confined.

use crate::agent::fixture::{AgentFixture, call, finish, shell, untested};
use serde_json::{Value, json};

/// A session with a bit of everything: reads, an edit, a failing command, a claim too early.
fn story() -> Vec<Value> {
    vec![
        call("write", json!({"path": "src/sum.sh", "content": "echo $(($1 + $2))\n"})),
        call("read_file", json!({"path": "src/sum.sh"})),
        shell("sh src/sum.sh 1 2; echo to stderr >&2; exit 3"),
        finish(),
        shell("sh test.sh"),
        finish(),
    ]
}

fn played() -> AgentFixture {
    let fixture = AgentFixture::new();
    fixture.file("test.sh", "[ \"$(sh src/sum.sh 2 3)\" = 5 ]\n");
    fixture.agent(&story(), &["--verify", "sh test.sh"]).ended(0);
    fixture
}

#[test]
fn run_1_smoke_1_transcript_determinism() {
    let (one, two) = (played(), played());
    assert_eq!(one.transcript_text(), two.transcript_text());
    let transcript = one.transcript();
    assert_eq!(transcript[0]["kind"], "head");
    assert!(transcript[0]["promptSha256"].is_string() && transcript[0]["registrySha256"].is_string());
    assert!(transcript.last().unwrap()["kind"] == "end");
    let text = one.transcript_text();
    let session = one.sessions().pop().unwrap();
    let status = one.run(&["status"]).stdout;
    assert!(status.contains("with VERIFIED: done and VERIFIED") && status.contains("cannot be resumed"), "{status}");
    let resumed = one.run(&["resume"]);
    resumed.ended(0);
    assert!(resumed.stdout.contains("cannot be resumed (done and VERIFIED"), "{}", resumed.stdout);
    assert!(!text.contains(&session) && !text.contains(one.work().to_str().unwrap()), "{text}");
}

#[test]
fn run_1_many_runs_of_one_cassette_give_one_transcript() {
    let runs = std::env::var("TRIPWIRE_TEST_RUNS")
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(tripwire_testing::sized(4, 12));
    let answers = [
        call("write", json!({"path": "a.txt", "content": "one\ntwo\n"})),
        call("read_file", json!({"path": "a.txt"})),
        call("search", json!({"pattern": "two"})),
        call("list", json!({})),
        call("nonsense", json!({})),
        call("remember", json!({"text": "a note"})),
        shell("ls; echo to stderr >&2; exit 3"),
        finish(),
        finish(),
        finish(),
    ];
    let played = || {
        let fixture = AgentFixture::new();
        let run = fixture.agent(&answers, &[]);
        assert!(run.code == 0 || run.code == 4, "{}", run.stdout);
        fixture.transcript_text()
    };
    let first = played();
    for run in 1..runs {
        assert_eq!(played(), first, "run {run}");
    }
}

#[test]
fn run_1_another_tool_output_gives_another_transcript() {
    let one = played();
    let two = AgentFixture::new();
    two.file("test.sh", "echo extra; [ \"$(sh src/sum.sh 2 3)\" = 5 ]\n");
    two.agent(&story(), &["--verify", "sh test.sh"]).ended(0);
    assert_ne!(one.transcript_text(), two.transcript_text());
}

#[test]
fn box_4_the_budgets_of_the_policy_are_those_of_the_shell() {
    for (manifest, written) in [("", 3_000_000), ("sandbox:\n  disk_mib: 1\n", 1_048_576)] {
        let fixture = AgentFixture::new();
        std::fs::create_dir(fixture.geometry()).unwrap();
        std::fs::write(fixture.geometry().join("MANIFEST.yaml"), manifest).unwrap();
        fixture.agent(&untested(vec![shell("head -c 3000000 /dev/zero > big")]), &[]).ended(4);
        assert_eq!(
            std::fs::metadata(fixture.work().join("big")).unwrap().len(),
            written,
            "{}",
            fixture.transcript_text()
        );
    }
}

#[test]
fn ctrl_3_no_tool_of_the_loop_writes_to_the_guards_files() {
    let fixture = AgentFixture::new();
    let answers = [
        call("write", json!({"path": ".geometry/PAUSE", "content": "x"})),
        shell("touch .geometry/STOP"),
        shell("rm -rf .geometry/journal"),
        finish(),
    ];
    fixture.agent(&answers, &[]).ended(0);
    assert!(!fixture.transcript_text().contains(fixture.work().to_str().unwrap()), "{}", fixture.transcript_text());
    assert!(!fixture.geometry().join("PAUSE").exists() && !fixture.geometry().join("STOP").exists());
    assert_eq!(fixture.run(&["verify"]).code, 0);
}
