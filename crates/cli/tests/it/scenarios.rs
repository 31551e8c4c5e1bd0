//! The corpus of scenarios: each one holds, replays equal, has a twin, and can fail.

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::{Path, PathBuf};
    use std::process::{Command, Output, Stdio};

    /// How many streams there must be at least.
    const SCENARIOS_MIN: usize = 44;
    /// Folders that every family of rules has.
    const FAMILIES: [&str; 10] =
        ["activity", "authority", "budgets", "context", "control", "endings", "health", "loops", "mirror", "records"];

    fn folder() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios")
    }

    /// Every scenario by its name below the folder, without the ending.
    fn names() -> BTreeSet<String> {
        let mut names = BTreeSet::new();
        for family in std::fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().path()) {
            if !family.is_dir() {
                continue;
            }
            for file in std::fs::read_dir(&family).unwrap().map(|entry| entry.unwrap().path()) {
                assert_eq!(file.extension().unwrap(), "jsonl", "{} is no scenario", file.display());
                let family = family.file_name().unwrap().to_str().unwrap();
                names.insert(format!("{family}/{}", file.file_stem().unwrap().to_str().unwrap()));
            }
        }
        names
    }

    fn text(name: &str) -> String {
        std::fs::read_to_string(folder().join(format!("{name}.jsonl"))).unwrap()
    }

    fn lines(name: &str) -> Vec<serde_json::Value> {
        text(name).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    fn tripwire(arguments: &[&str], file: &Path) -> Output {
        Command::new(env!("CARGO_BIN_EXE_tripwire")).args(arguments).arg(file).stdin(Stdio::null()).output().unwrap()
    }

    fn said(output: &Output) -> String {
        format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
    }

    #[test]
    fn loop_1_every_scenario_holds() {
        let names = names();
        assert!(names.len() >= SCENARIOS_MIN, "{} scenarios", names.len());
        let mut wrong = String::new();
        for name in &names {
            let checked = tripwire(&["decide", "--check"], &folder().join(format!("{name}.jsonl")));
            if !checked.status.success() {
                wrong.push_str(&said(&checked));
            }
        }
        assert_eq!(wrong, "");
    }

    #[test]
    fn every_family_is_there_and_every_fire_has_a_quiet_twin() {
        let names = names();
        for family in FAMILIES {
            assert!(names.iter().any(|name| name.starts_with(&format!("{family}/"))), "{family}");
        }
        for name in names.iter().filter(|name| !name.starts_with("readme/")) {
            let (base, must, twin) = match (name.strip_suffix("-fires"), name.strip_suffix("-quiet")) {
                (Some(base), _) => (base, "fire", "quiet"),
                (None, Some(base)) => (base, "stayQuiet", "fires"),
                (None, None) => panic!("{name} is neither a fire nor quiet"),
            };
            assert!(names.contains(&format!("{base}-{twin}")), "{name} has no twin");
            let head = &lines(name)[0]["scenario"];
            assert_eq!(head["must"], must, "{name}");
            let twin = &lines(&format!("{base}-{twin}"))[0]["scenario"];
            let family = |rule: &serde_json::Value| rule.as_str().unwrap().to_owned();
            assert_eq!(family(&head["rule"]), family(&twin["rule"]), "{name} and its twin are about one rule");
        }
    }

    #[test]
    fn no_scenario_asserts_nothing() {
        for name in names() {
            let lines = lines(&name);
            let head = &lines[0]["scenario"];
            assert!(head["title"].as_str().is_some_and(|title| title.ends_with('.')), "{name}: a title is a sentence");
            assert!(head["source"].as_str().is_some_and(|source| !source.is_empty()), "{name}: names its source");
            assert!(matches!(head["profile"].as_str(), Some("strict" | "balanced")), "{name}: names its profile");
            let expectations: Vec<_> = lines.iter().filter_map(|line| line["expect"].as_object()).collect();
            assert!(!expectations.is_empty(), "{name} expects nothing");
            assert!(expectations.iter().all(|expected| !expected.is_empty()), "{name}: an empty expectation");
            let fires = head["must"] == "fire";
            let strict = |expected: &serde_json::Map<String, serde_json::Value>| {
                let listed = |field: &str| {
                    expected.get(field).and_then(|list| list.as_array()).is_some_and(|list| !list.is_empty())
                };
                let other = |field: &str, usual: &str| expected.get(field).is_some_and(|value| value != usual);
                expected.get("allowed") == Some(&false.into())
                    || listed("findings")
                    || listed("effects")
                    || other("mode", "WORKING")
                    || other("health", "1")
            };
            assert!(!fires || expectations.iter().any(|expected| strict(expected)), "{name} shows nothing that fires");
        }
    }

    #[test]
    fn replay_1_every_scenario_replays_equal() {
        for name in names() {
            let replayed = tripwire(&["replay"], &folder().join(format!("{name}.jsonl")));
            assert!(
                replayed.status.success() && said(&replayed).trim_end().ends_with("· equal"),
                "{name}: {}",
                said(&replayed)
            );
        }
    }

    #[test]
    fn every_expectation_can_fail() {
        let folder = tripwire_testing::folder();
        let file = folder.path().join("mutant.jsonl");
        for name in names() {
            let mut lines = lines(&name);
            let Some(expected) = lines.iter_mut().find_map(|line| line["expect"].as_object_mut()) else {
                panic!("{name}")
            };
            for (field, value) in expected.iter_mut() {
                *value = match (field.as_str(), value.take()) {
                    ("allowed", serde_json::Value::Bool(allowed)) => (!allowed).into(),
                    ("findings" | "effects", _) => vec!["NO_SUCH_THING"].into(),
                    ("evidence", _) => vec![9_999].into(),
                    ("remainingBudget" | "retryAfterMs", _) => 1_234_567_u64.into(),
                    (_, _) => "no such value".into(),
                };
            }
            let fields = expected.len();
            let mutant: Vec<String> = lines.iter().map(ToString::to_string).collect();
            std::fs::write(&file, mutant.join("\n")).unwrap();
            let checked = tripwire(&["decide", "--check"], &file);
            assert_eq!(checked.status.code(), Some(9), "{name}: {}", said(&checked));
            let counted =
                if fields == 1 { "1 expectation is".to_owned() } else { format!("{fields} expectations are") };
            assert!(said(&checked).contains(&format!("{counted} not met")), "{name}: {}", said(&checked));
        }
    }
}
