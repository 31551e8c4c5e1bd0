//! Another engine goes on where one cannot: announced, journaled, never silent.

use crate::run::fixture::{RunFixture, output};

const NO_ROOM: &str = "begin; echo '{\"type\":\"assistant\",\"isApiErrorMessage\":true,\"message\":{\"content\":[{\"type\":\"text\",\
    \"text\":\"API Error: 529 Overloaded\"}]}}' >> $record; sleep 0.2; exit 1";

#[test]
fn run_4_the_next_engine_goes_on_with_the_briefing() {
    let fixture = RunFixture::new(NO_ROOM);
    let next = fixture
        .add_client("next/claude", "begin; for word in \"$@\"; do echo \"$word\" >> words; done; finish; exit 0");
    let ran = fixture.run(&["--engine-fallback", &format!("{} -p --model small", next.display())]);
    ran.ended(0);
    assert_eq!(ran.report["switches"][0]["reason"], "API Error: 529 Overloaded");
    assert!(ran.stderr.contains("engine switch"), "it is announced: {}", ran.stderr);
    let log = std::fs::read_to_string(fixture.geometry("safety_log.json")).unwrap();
    assert_eq!(log.matches("ENGINE_SWITCH").count(), 1, "{log}");
    let session = ran.report["session"].as_str().unwrap();
    let journal = std::fs::read_to_string(fixture.geometry(&format!("journal/{session}/00000001.jsonl"))).unwrap();
    assert_eq!(journal.matches("\"engineSwitched\"").count(), 1, "the journal has a record of its own for it");
    for words in [&["verify"][..], &["replay", session]] {
        assert_eq!(output(fixture.verb(words)).0, Some(0), "{words:?}");
    }
    let words = std::fs::read_to_string(fixture.place().join("words")).unwrap();
    assert!(words.contains("--model\nsmall\nRead .geometry/MISSION_BRIEFING.md and continue"), "{words}");
    assert!(fixture.geometry("MISSION_BRIEFING.md").exists());
    assert_eq!(std::fs::read_dir(fixture.geometry("journal")).unwrap().count(), 1, "one session for the whole run");
}

#[test]
fn run_4_a_chain_that_is_used_up_parks() {
    let fixture = RunFixture::new(NO_ROOM);
    let next = fixture.add_client("next/claude", NO_ROOM);
    let ran = fixture.run(&["--engine-fallback", &next.display().to_string()]);
    ran.ended(75);
    assert_eq!(ran.report["switches"].as_array().unwrap().len(), 1);
}

/// An answer of the model in the client's record, with so many tokens in the context and so many written.
const ANSWER: &str = "answer() { printf '{\"type\":\"assistant\",\"message\":{\"id\":\"m%s\",\"type\":\"message\",\
    \"role\":\"assistant\",\"model\":\"claude-opus-4-5\",\"content\":[],\"usage\":{\"input_tokens\":%s,\
    \"cache_creation_input_tokens\":0,\"cache_read_input_tokens\":0,\"output_tokens\":%s}}}\\n' $1 $2 $3 >> $record; }\n";

/// Rates are not what these tests are about: a full context alone would be throttled for a minute.
fn without_rates(script: &str) -> RunFixture {
    let fixture = RunFixture::new(script);
    std::fs::create_dir_all(fixture.geometry("")).unwrap();
    std::fs::write(fixture.geometry("MANIFEST.yaml"), "gate:\n  max_tokens_per_minute: 10000000\n").unwrap();
    fixture
}

#[test]
fn ctx_3_a_full_context_goes_on_in_a_fresh_worker_with_the_briefing() {
    let script = format!(
        "{ANSWER}case \"$*\" in *MISSION_BRIEFING*) record=$HOME/second.jsonl; begin; cp .geometry/MISSION_BRIEFING.md copy
           tool 'echo fresh'; finish; exit 0 ;; esac
         begin; tool 'echo one'; answer 1 165000 10; tool 'echo two'; tool 'echo three'; sleep 60"
    );
    let fixture = without_rates(&script);
    let ran = fixture.run(&[]);
    ran.ended(0);
    assert_eq!(ran.report["restarts"], 1, "{}", ran.stderr);
    assert!(
        std::fs::read_to_string(fixture.place().join("copy")).unwrap().contains("echo one"),
        "the worker knows what was done"
    );
    let log = std::fs::read_to_string(fixture.geometry("safety_log.json")).unwrap();
    assert!(log.contains("COMPACTION_GATE") && log.contains("restarted_session"), "{log}");
}

#[test]
fn ctx_2_a_context_with_room_is_left_alone() {
    let script = format!("{ANSWER}begin; tool 'echo one'; answer 1 120000 10; tool 'echo two'; finish; exit 0");
    let ran = without_rates(&script).run(&[]);
    ran.ended(0);
    assert_eq!(ran.report["restarts"], 0);
    assert_eq!(ran.report["clients"].as_array().unwrap().len(), 1);
}

#[test]
fn gate_8_a_budget_that_is_used_up_ends_the_run_and_one_that_is_not_does_not() {
    let script = format!(
        "{ANSWER}begin; tool 'echo one'; answer 1 1000 20000; tool 'echo two' || true; tool 'echo three' || true; finish; exit 0"
    );
    let fixture = RunFixture::new(&script);
    let poor = fixture.run(&["--budget", "0.10usd"]);
    poor.ended(6);
    assert!(poor.report["spent"]["micro_usd"].as_u64().unwrap() >= 100_000, "{}", poor.stderr);
    let rich = RunFixture::new(&script).run(&["--budget", "50usd"]);
    rich.ended(0);
    assert!(rich.report["spent"]["micro_usd"].as_u64().unwrap() > 0, "money is counted: {}", rich.stderr);
}
