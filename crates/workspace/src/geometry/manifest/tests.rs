//! Tests of `manifest.rs`.

use super::*;
use tripwire_core::explain::Explain as _;

fn read(text: &str) -> Result<Manifest, ManifestError> {
    Manifest::parse(Path::new("MANIFEST.yaml"), text.as_bytes().to_vec())
}

fn refused(text: &str) -> String {
    let error = read(text).unwrap_err();
    format!("{error} | {}", error.hint())
}

#[test]
fn an_empty_manifest_has_the_seeds_defaults() {
    let manifest = read("# nothing yet\n").unwrap();
    let fresh = read(template::FRESH).unwrap();
    assert_eq!(manifest.live(), fresh.live());
    assert_eq!(manifest.thresholds(), fresh.thresholds());
    assert_eq!(manifest.identity(), fresh.identity());
    assert_eq!(fresh.thresholds().max_iterations, 100);
    assert_eq!(fresh.identity().authorized_roles, ["developer"]);
    assert_eq!(fresh.live().dirty_bits.tests_passing, None);
}

#[test]
fn a_persons_values_are_read_as_typed_values() {
    let manifest = read(
        "safety:\n  iteration_count: 12\n  loop_detected: true\n  last_tool_signatures:\n    - Edit(file=a.py)\n\
         context: {estimated_usage_pct: 77, last_compaction: 2026-02-28T15:30:00Z}\n\
         dirty_bits:\n  tests_run: true\n  tests_passing: false\n",
    )
    .unwrap();
    let live = manifest.live();
    assert_eq!((live.iteration_count, live.estimated_usage_pct), (12, 77));
    assert_eq!(live.loop_detected, Bit::Set);
    assert_eq!(live.last_tool_signatures, ["Edit(file=a.py)"]);
    assert_eq!(live.last_compaction.as_deref(), Some("2026-02-28T15:30:00Z"));
    assert_eq!(live.dirty_bits.tests_passing, Some(Bit::Clear));
}

#[test]
fn our_sections_come_out_as_dotted_scalars_with_their_lines() {
    let text = "profile: strict\ngate:\n  max_tokens_per_minute: 50000\n  cooldown_duration_ms: 60000\n\
                loops: {loop_similarity_threshold: 0.9}\nengines:\n  sensitive_paths: [a/b, 'c d']\n";
    let scalars = read(text).unwrap().scalars();
    let shown: Vec<_> = scalars.iter().map(|s| format!("{}={}@{}", s.path, s.text, s.line)).collect();
    assert_eq!(
        shown,
        [
            "profile=strict@1",
            "gate.max_tokens_per_minute=50000@3",
            "gate.cooldown_duration_ms=60000@4",
            "loops.loop_similarity_threshold=0.9@5",
            "engines.sensitive_paths[0]=a/b@7",
            "engines.sensitive_paths[1]=c d@7",
        ]
    );
}

#[test]
fn settings_hold_thresholds_and_never_counters() {
    let paths: Vec<_> = read(template::FRESH).unwrap().settings().into_iter().map(|scalar| scalar.path).collect();
    assert!(paths.contains(&"safety.max_iterations".to_owned()));
    assert!(paths.contains(&"identity.authorized_roles[0]".to_owned()));
    for path in &paths {
        assert!(!path.starts_with("dirty_bits") && !path.ends_with("_count"), "{path}");
    }
}

#[test]
fn a_setting_that_the_table_does_not_know_is_refused_with_its_line() {
    let said = refused("gate:\n  max_tokens_per_minut: 5\n");
    assert!(said.contains("`MANIFEST.yaml` line 2: unknown key `gate.max_tokens_per_minut`"), "{said}");
    assert!(said.contains("did you mean `gate.max_tokens_per_minute`"), "{said}");
    let said = refused("gate:\n  max_tokens_per_minute: {a: 1}\n");
    assert!(said.contains("must be a single value or a list"), "{said}");
    read("context:\n  default_window: 1000000\ndirty_bits:\n  api_paths: [src/api, src/b]\n").unwrap();
}

#[test]
fn every_setting_of_the_engine_is_accepted_and_comes_out_as_a_setting() {
    for row in tripwire_core::policy::Policy::default().rows() {
        let text = match row.path.split_once('.') {
            Some((section, key)) => format!("{section}:\n  {key}: {}\n", sample(row.path, &row.value)),
            None => format!("{}: {}\n", row.path, sample(row.path, &row.value)),
        };
        let manifest = read(&text).unwrap_or_else(|error| panic!("{text}: {error}"));
        let settings = manifest.settings();
        assert!(settings.iter().any(|scalar| scalar.path.starts_with(row.path)), "{text}");
    }
}

/// A value in the manifest's own type: the seed writes roles as a list and nothing as `null`.
fn sample(path: &str, value: &str) -> String {
    match path {
        "identity.authorized_roles" => format!("[{value}]"),
        "identity.workflow_binding" => "null".to_owned(),
        _ if value.is_empty() => "\"\"".to_owned(),
        _ => value.to_owned(),
    }
}

#[test]
fn an_unknown_key_is_refused_with_line_and_neighbour() {
    let said = refused("safety:\n  # a typing error\n  max_iteration: 5\n");
    assert!(said.contains("line 3: unknown key `safety.max_iteration`"), "{said}");
    assert!(said.contains("did you mean `safety.max_iterations`"), "{said}");
    let said = refused("saftey:\n  max_iterations: 5\n");
    assert!(said.contains("line 1: unknown key `saftey`") && said.contains("`safety`"), "{said}");
}

#[test]
fn a_wrong_type_is_refused_with_line_value_and_wish() {
    for (text, wanted) in [
        ("safety:\n  max_iterations: many\n", "line 2: `safety.max_iterations` is `many`, but must be a whole"),
        ("safety:\n  max_iterations: -1\n", "is `-1`"),
        ("safety:\n  max_iterations: 1.5\n", "is `1.5`"),
        ("safety:\n  max_iterations: 0x10\n", "is `0x10`"),
        ("safety:\n  max_iterations: 1_000\n", "is `1_000`"),
        ("safety:\n  max_iterations: 99999999999999999999\n", "is `99999999999999999999`"),
        ("safety:\n  max_iterations: \"5\"\n", "is `5`"),
        ("safety:\n  max_iterations:\n", "is `null`"),
        ("safety:\n  max_iterations: [1]\n", "is `a list`"),
        ("safety: 5\n", "line 1: `safety` is `5`, but must be a group of keys"),
        ("context:\n  warning_threshold: 101\n", "from 0 to 100"),
        ("dirty_bits:\n  tests_run: yes\n", "is `yes`, but must be `true` or `false`"),
        ("dirty_bits:\n  tests_run: null\n", "is `null`, but must be `true` or `false`"),
        ("identity:\n  authorized_roles: developer\n", "a list of texts"),
        ("identity:\n  authorized_roles: [1]\n", "a list of texts"),
        ("- safety\n", "holds a list"),
        ("hello\n", "holds a text"),
    ] {
        let said = refused(text);
        assert!(said.contains(wanted), "{text:?}: {said}");
    }
}

#[test]
fn unreadable_yaml_is_refused_with_its_line() {
    for (text, wanted) in [
        ("safety: {iteration_count: 1\n", "unclosed bracket"),
        ("safety:\n  iteration_count: 1\n  iteration_count: 2\n", "line 3: the key `iteration_count` appears twice"),
        ("safety:\n  iteration_count: &a 1\n  consecutive_failures: *a\n", "line 2"),
        ("<<: {a: 1}\n", "merge"),
        ("safety: !!python/object:x {}\n", "tag"),
        ("safety:\n---\ncontext:\n", "documents"),
        ("safety:\n  a: \"unclosed\n", "MANIFEST.yaml"),
    ] {
        let said = refused(text);
        assert!(said.contains(wanted), "{text:?}: {said}");
        assert!(said.contains("MANIFEST.yaml"), "{text:?}: {said}");
        assert!(!said.contains('\n'), "{said}");
    }
    let deep = format!("gate: {}1{}", "[".repeat(200), "]".repeat(200));
    assert!(read(&deep).is_err(), "depth is bounded");
}

#[test]
fn bytes_that_are_no_text_and_files_that_are_too_big_are_refused() {
    let error = Manifest::parse(Path::new("m"), b"safety:\n  a\xff: 1\n".to_vec()).unwrap_err();
    assert_eq!(error.to_string(), "`m` line 2: the file is not UTF-8 text");
    let big = vec![b'#'; usize::try_from(MANIFEST_BYTES_MAX).unwrap() + 1];
    let error = Manifest::parse(Path::new("m"), big).unwrap_err();
    assert!(error.to_string().contains("more than 262144 bytes"), "{error}");
}

#[test]
fn a_missing_file_is_an_error_of_its_own() {
    let error = Manifest::load(Path::new("/nonexistent/MANIFEST.yaml")).unwrap_err();
    assert!(error.to_string().contains("cannot read `/nonexistent/MANIFEST.yaml`"), "{error}");
}

#[test]
fn const_5_what_a_manifest_may_not_use_is_said_in_plain_words() {
    for (text, words) in [
        ("safety: &a\n  max_iterations: 5\n", "an anchor (`&name`) is not accepted"),
        ("safety:\n  max_iterations: *a\n", "alias"),
    ] {
        let error = Manifest::parse(Path::new("MANIFEST.yaml"), text.as_bytes().to_vec()).unwrap_err().to_string();
        assert!(error.contains(words) && !error.contains(" { "), "{error}");
    }
}
