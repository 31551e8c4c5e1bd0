//! `tripwire policy`: what is in force, where it came from, and whether a file is good.

use crate::session::fixture::{Place, calls};
use crate::verbs::support::run;
use serde_json::Value;

#[test]
fn const_6_show_names_every_setting_its_value_and_its_source() {
    let ran = run(&["policy", "show"], b"");
    let text = ran.done();
    assert!(text.contains("gate.max_tokens_per_minute           auto (600000)  default (master spec §4.1"), "{text}");
    let strict = run(&["policy", "show", "--profile", "strict"], b"");
    assert!(strict.done().contains("gate.max_tokens_per_minute           auto (50000)   default"), "{}", strict.out);
    assert!(text.lines().last().unwrap().starts_with("policy hash sha256:"));
    let json: Value = serde_json::from_str(run(&["policy", "show", "--json"], b"").done()).unwrap();
    assert_eq!(json["settings"]["safety.hard_loop_threshold"]["value"], "5");
    assert!(text.contains(json["policyHash"].as_str().unwrap()), "both forms show the same hash");
}

#[test]
fn const_6_a_file_changes_the_hash_and_is_named_by_its_line() {
    let folder = tripwire_testing::folder();
    let file = folder.path().join("policy.yaml");
    std::fs::write(&file, "profile: strict\nsafety:\n  max_iterations: 7\n").unwrap();
    let file = file.to_str().unwrap();
    let shown = run(&["policy", "show", "--policy", file], b"");
    let line = format!("safety.max_iterations                7              line 3 of `{file}`");
    assert!(shown.done().contains(&line), "{}", shown.out);
    assert_ne!(shown.out.lines().last(), run(&["policy", "show"], b"").out.lines().last());
    let good = run(&["policy", "check", file], b"");
    assert!(good.done().contains("good, 2 settings, hash sha256:"), "{}", good.out);
    let json: Value = serde_json::from_str(run(&["policy", "check", "--json", file], b"").done()).unwrap();
    assert_eq!((json["ok"].as_bool(), json["set"].as_u64()), (Some(true), Some(2)));
}

#[test]
fn const_6_limits_of_tools_are_named_by_their_line_and_none_are_a_default() {
    let folder = tripwire_testing::folder();
    let file = folder.path().join("policy.yaml");
    std::fs::write(&file, "tools:\n  max_output_kib: 64\n  \"demo/big\": { max_output: 4KB }\n").unwrap();
    let origin = |words: &[&str]| {
        let shown = run(words, b"");
        shown.done().lines().find(|line| line.starts_with("tools.limits ")).unwrap().to_owned()
    };
    let from = origin(&["policy", "show", "--policy", file.to_str().unwrap()]);
    assert!(from.contains("line 3 of"), "{from}");
    let from = origin(&["policy", "show"]);
    assert!(from.contains("default"), "{from}");
}

#[test]
fn const_5_a_policy_that_cannot_be_read_is_refused_and_never_replaced_by_a_default() {
    let folder = tripwire_testing::folder();
    let file = folder.path().join("policy.yaml");
    let name = file.to_str().unwrap();
    for (text, words) in [
        ("gate:\n  max_tokens_per_minut: 5\n", &["line 2", "max_tokens_per_minut"][..]),
        ("gate:\n  max_tokens_per_minute: many\n", &["line 2", "many"]),
        ("gate:\n  max_tokens_per_minute: -1\n", &["line 2", "-1"]),
        ("profile: lax\n", &["lax"]),
        ("safety:\n  soft_loop_threshold: 9\n  hard_loop_threshold: 5\n", &["soft_loop_threshold"]),
        ("gate: [unclosed\n", &["policy.yaml"]),
        ("gate:\n  cooldown_duration_ms: 1\n  cooldown_duration_ms: 2\n", &["cooldown_duration_ms"]),
    ] {
        std::fs::write(&file, text).unwrap();
        for arguments in
            [vec!["policy", "check", name], vec!["policy", "show", "--policy", name], vec!["decide", "--policy", name]]
        {
            let ran = run(&arguments, b"");
            assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{text}: {ran:?}");
            ran.complained(words);
        }
    }
    run(&["policy", "check", "no/such/policy.yaml"], b"").refused(&["no/such/policy.yaml"]);
    run(&["policy", "check", "docs"], b"").refused(&["docs"]);
    std::fs::write(&file, b"gate:\n  \xff: 1\n").unwrap();
    run(&["policy", "check", name], b"").refused(&["policy.yaml"]);
    let without = run(&["policy"], b"");
    assert_eq!((without.code, without.out.as_str()), (2, ""));
}

#[test]
fn secret_1_a_manifest_whose_setting_holds_a_secret_is_not_good() {
    let place = Place::new();
    let key = format!("ghp_{}", "aB3dE6gH9j".repeat(4).split_at(36).0);
    place.manifest(&format!("notify:\n  command: \"curl -H token:{key}\"\n"));
    for args in [&["policy", "check"][..], &["check"]] {
        let said = place.run(args).ended(2).complains("`notify.command` holds a secret");
        assert!(!said.err.contains(&key) && !said.out.contains(&key), "{}", said.err);
    }
    place.run(&["doctor"]).says("`notify.command` holds a secret");
    assert!(!place.path().join("state/tripwire/keys").exists(), "checking makes no key");
    place.manifest("notify:\n  command: \"curl -H token:$TOKEN\"\n");
    place.run(&["policy", "check"]).ended(0).says("good");
}

#[test]
fn const_6_a_misspelt_section_names_its_neighbour_and_the_settings_can_still_be_listed() {
    let place = Place::new();
    place.manifest("monye: 1\n");
    place.run(&["policy", "check"]).ended(2).complains("did you mean `money`?");
    for (args, words) in [(&["policy", "show"][..], "safety.max_iterations"), (&["explain", "GATE-3"], "GATE-3: ")] {
        let said = place.run(args).ended(0).says(words);
        assert!(
            said.err.contains("unknown key `monye`") && said.err.contains("these are the defaults"),
            "{}",
            said.err
        );
    }
    let json = place.run(&["policy", "show", "--json"]).ended(0).json();
    assert!(json["problem"].as_str().unwrap().contains("monye"), "{json}");
    place.step(&calls(1)).ended(2).complains("monye");
}
