//! The observing functions from outside: properties over random texts, and golden values that pin their version.

use proptest::prelude::*;
use tripwire_observe::{Neighbours, OBSERVE_VERSION, RawCall, Volatility, normalise, observe, sketch_of};
use tripwire_testing::sized;

/// Pieces from which volatile shapes arise, also broken ones.
fn pieces() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("\u{1b}[31m".to_owned()),
        Just("\u{1b}]0;t\u{7}".to_owned()),
        Just("\u{1b}".to_owned()),
        "[0-9]{1,20}",
        "[0-9]{1,4}[.:,/-][0-9]{1,4}",
        "[0-9]{4}-[0-9]{2}-[0-9]{2}",
        "[0-9]{2}:[0-9]{2}:[0-9]{2}",
        "[0-9]{8}T[0-9]{6}Z?",
        "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}",
        "[0-9a-f]{6,70}",
        "0x[0-9a-f]{1,16}",
        "/tmp/(tmp|tmp\\.|\\.tmp|x-)?[a-zA-Z0-9_]{1,12}",
        Just("pid ".to_owned()),
        Just("PGID: ".to_owned()),
        Just("Chunk ID: ".to_owned()),
        Just("[1] ".to_owned()),
        Just(" seconds".to_owned()),
        "(ms|s|m|h|µs| ms| s|Z|T)",
        "[ \\t\\r\\n]{1,3}",
        "[a-z_]{1,8}",
        "<(time|dur|id|tmp)>",
        "\\PC{0,4}",
    ];
    prop::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat())
}

#[test]
fn a_time_before_an_id_is_a_time_at_once() {
    let id = "000aaa0a-aa0a-a00a-a0aa-00aaa000000a";
    for time in ["12:30:59", "1700000000", "2026-01-31T12:30:59", "2026-01-31T12_30_59"] {
        let once = normalise(&format!("{time}.{id}"), Volatility::Output);
        assert_eq!(once, "<time>.<id>", "{time}");
        assert_eq!(normalise(&once, Volatility::Output), once);
    }
    assert_eq!(normalise("at 12:30:59.123, 12:30:59", Volatility::Output), "at <time>, <time>");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: sized(400, 4_000), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn normalising_twice_is_normalising_once(text in pieces()) {
        for volatility in [Volatility::Output, Volatility::Arguments] {
            let once = normalise(&text, volatility);
            prop_assert_eq!(normalise(&once, volatility), once);
        }
    }

    /// Letters in both cases without any order may be an id; words are not written so.
    #[test]
    fn a_text_without_digits_and_escapes_keeps_its_words(text in "([A-Z]?[a-z]{0,12}[ ,.;:(){}\\n-]){0,30}") {
        let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        prop_assert_eq!(words(&normalise(&text, Volatility::Output)), words(&text));
    }

    #[test]
    fn nothing_panics_and_the_same_call_has_the_same_facts(
        tool in prop_oneof![Just("Bash".to_owned()), Just("Edit".to_owned()), "\\PC{0,12}"],
        args in prop_oneof![
            "\\PC{0,80}",
            "[a-z '\"$()`;|&<>\\\\\\n#=/.-]{0,60}",
            "\\{\"(command|path|cmd|)\":(\"[^\"\\\\]{0,30}\"|null|\\[\"a\", *\"b\"\\]|\\{\\}|[0-9.e-]{0,5})\\}",
        ],
        output in prop::option::of(pieces()),
        error in prop::option::of(any::<bool>()),
        exit_code in prop::option::of(any::<i32>()),
    ) {
        let raw = RawCall {
            test_command: None,
            tool: &tool, args: &args, output: output.as_deref(), error, exit_code,
            text: output.as_deref(), whole: None, workspace_root: Some("/w"),
            neighbours: Neighbours::Compared,
            idle: &["description"],
            folder: None,
        };
        let facts = observe(&raw);
        prop_assert_eq!(&facts, &observe(&raw));
        prop_assert!(facts.action.signature.is_some() && facts.action.args_digest.is_some());
        prop_assert_eq!(facts.result_digest.is_some(), output.is_some());
    }

    #[test]
    fn equal_texts_are_fully_similar(text in "\\PC{1,60}") {
        let sketch = sketch_of(&text, Volatility::Output);
        if let Some(sketch) = sketch {
            prop_assert_eq!(sketch.similarity(&sketch).millionths(), 1_000_000);
        }
    }
}

/// One call of each kind; what comes out of them is pinned below.
fn golden_calls() -> Vec<RawCall<'static>> {
    let call = |tool, args, output| RawCall { tool, args, output: Some(output), ..RawCall::default() };
    vec![
        call("Bash", r#"{"command":"pytest tests/unit/test_foo.py"}"#, "1 failed, 5 passed in 0.12s\npid 4711\n"),
        call("Edit", r#"{"new":"b","file_path":"/w/src/./a.rs","old":"a"}"#, "The file has been updated."),
        call("Grep", r#"{"":{}}"#, "b.rs:1: x\na.rs:2: y\n"),
        RawCall {
            error: Some(true),
            text: Some("I will look it up."),
            ..call("lookup_order", "order 12", "Error: order 12 not found at 2026-01-31T10:00:00Z")
        },
    ]
}

/// If this fails, the function changed: raise `OBSERVE_VERSION` and pin the new values, so that no journal written by
/// one version is compared with another in silence.
#[test]
fn golden_values_change_only_with_the_version() {
    let mut lines = vec![format!("version {OBSERVE_VERSION}")];
    for raw in golden_calls() {
        let facts = observe(&raw);
        let shown =
            |label: &Option<tripwire_core::label::Label>| label.as_ref().map_or("-".to_owned(), ToString::to_string);
        lines.push(format!(
            "{} args {} result {} error {} raw {}",
            shown(&facts.action.signature),
            shown(&facts.action.args_digest),
            shown(&facts.result_digest),
            shown(&facts.error_digest),
            shown(&facts.output_hash)
        ));
        lines.push(facts.sketch.map_or("-".to_owned(), |sketch| sketch.to_string()));
    }
    let expected = include_str!("golden/observe.txt");
    assert_eq!(lines.join("\n"), expected.trim_end(), "raise OBSERVE_VERSION and pin the new values");
}

/// Real text that is always at hand: two of this crate's own sources, in pieces of four kilobytes.
const SOURCES: [&str; 2] = [include_str!("../src/outcome.rs"), include_str!("../src/work.rs")];

/// The pieces of one text.
fn pieces_of(text: &str) -> Vec<String> {
    let characters: Vec<char> = text.chars().collect();
    characters.chunks_exact(4_000).map(|piece| piece.iter().collect()).collect()
}

/// The text with one word in `every` replaced.
fn changed(text: &str, every: usize) -> String {
    let words = text.split_inclusive(char::is_whitespace).scan(0_usize, |count, word| {
        *count += usize::from(!word.trim().is_empty());
        Some(if !word.trim().is_empty() && *count % every == 0 { format!("changed{count} ") } else { word.to_owned() })
    });
    words.collect()
}

/// The similarities of pairs, sorted, in thousandths.
fn similarities(pairs: &[(String, String)]) -> Vec<u32> {
    let sketch = |text: &str| sketch_of(text, Volatility::Output);
    let similarity = |one: &str, other: &str| Some(sketch(one)?.similarity(&sketch(other)?).millionths() / 1_000);
    let mut all: Vec<u32> = pairs.iter().filter_map(|(one, other)| similarity(one, other)).collect();
    all.sort_unstable();
    all
}

#[test]
fn act_1_similarity_tells_small_changes_from_large_ones_and_from_other_texts() {
    let [one, other] = SOURCES.map(pieces_of);
    let against = |every: usize| -> Vec<(String, String)> {
        one.iter().chain(&other).map(|text| (text.clone(), changed(text, every))).collect()
    };
    let unrelated: Vec<(String, String)> =
        one.iter().flat_map(|left| other.iter().map(move |right| (left.clone(), right.clone()))).collect();
    let (small, large, unrelated) = (similarities(&against(100)), similarities(&against(3)), similarities(&unrelated));
    assert!(small.len() >= 6 && unrelated.len() >= 9, "enough pieces to judge");
    assert!(small[small.len() / 2] > 900, "one word in a hundred: {small:?}");
    assert!(large[large.len() - 1] < 900, "one word in three: {large:?}");
    assert!(unrelated[unrelated.len() / 2] < 150, "another text: {unrelated:?}");
}

#[test]
fn act_1_outputs_that_nobody_compares_have_no_hash_and_no_sketch_and_all_else_is_the_same() {
    for (args, output) in
        [("ls", "a\nb"), ("cargo test", "error: 2026-01-31T10:00:00Z"), ("rg x", "b:1\na:2"), ("ls", "")]
    {
        let raw = RawCall { tool: "Bash", args, output: Some(output), ..RawCall::default() };
        let compared = observe(&raw);
        let unread = observe(&RawCall { neighbours: Neighbours::Unread, ..raw });
        assert!(compared.output_hash.is_some() && unread.output_hash.is_none() && unread.sketch.is_none());
        let (output_hash, sketch) = (compared.output_hash.clone(), compared.sketch);
        assert_eq!(tripwire_observe::Facts { output_hash, sketch, ..unread }, compared, "{args}");
    }
}
