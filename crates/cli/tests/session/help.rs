//! `tripwire --help` lists what is tested, and nothing else.

use crate::support::Place;

#[test]
fn every_verb_on_a_workspace_is_listed_and_the_inner_one_is_not() {
    let place = Place::new();
    let help = place.run(&["--help"]).ended(0).out;
    for verb in [
        "status",
        "stop",
        "pause",
        "resume",
        "ack",
        "log",
        "why",
        "not-a-loop",
        "verify",
        "export",
        "memory",
        "step",
        "replay",
    ] {
        assert!(help.lines().any(|line| line.trim_start().starts_with(&format!("{verb} "))), "{verb}:\n{help}");
        let inner: &[&str] = if verb == "memory" { &["memory", "put", "--help"] } else { &[verb, "--help"] };
        place.run(inner).ended(0).says("--json");
        assert_eq!(place.run(&[verb, "--nonsense"]).code, 2, "{verb}");
    }
    assert!(!help.contains("notify"), "{help}");
}
