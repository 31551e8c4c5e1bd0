//! Another engine goes on where one cannot: announced, journaled, never silent.

use crate::bed::Bed;

const NO_ROOM: &str = "begin; echo '{\"type\":\"assistant\",\"isApiErrorMessage\":true,\"message\":{\"content\":[{\"type\":\"text\",\
    \"text\":\"API Error: 529 Overloaded\"}]}}' >> $record; sleep 0.2; exit 1";

#[test]
fn run_4_the_next_engine_goes_on_with_the_briefing() {
    let bed = Bed::new(NO_ROOM);
    let next =
        bed.add_client("next/claude", "begin; for word in \"$@\"; do echo \"$word\" >> words; done; finish; exit 0");
    let ran = bed.run(&["--engine-fallback", &format!("{} -p --model small", next.display())]);
    ran.ended(0);
    assert_eq!(ran.report["switches"][0]["reason"], "API Error: 529 Overloaded");
    assert!(ran.stderr.contains("engine switch"), "it is announced: {}", ran.stderr);
    let log = std::fs::read_to_string(bed.geometry("safety_log.json")).unwrap();
    assert!(log.contains("ENGINE_SWITCH"), "{log}");
    let words = std::fs::read_to_string(bed.place().join("words")).unwrap();
    assert!(words.contains("--model\nsmall\nRead .geometry/MISSION_BRIEFING.md and continue"), "{words}");
    assert!(bed.geometry("MISSION_BRIEFING.md").exists());
    assert_eq!(std::fs::read_dir(bed.geometry("journal")).unwrap().count(), 1, "one session for the whole run");
}

#[test]
fn run_4_a_chain_that_is_used_up_parks() {
    let bed = Bed::new(NO_ROOM);
    let next = bed.add_client("next/claude", NO_ROOM);
    let ran = bed.run(&["--engine-fallback", &next.display().to_string()]);
    ran.ended(75);
    assert_eq!(ran.report["switches"].as_array().unwrap().len(), 1);
}
