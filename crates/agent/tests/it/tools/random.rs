//! Random calls: no words of a model break a tool, and what is refused has changed nothing.

use crate::tools::fixture::fixture;
use proptest::prelude::*;
use serde_json::json;
use std::sync::LazyLock;
use tripwire_agent::tools::{Registry, decode};
use tripwire_core::run::record::Call;
use tripwire_testing::sized;

/// Arguments that are nearly right, which reach further than plain noise.
fn nearly_json() -> impl Strategy<Value = String> {
    let field = prop_oneof!["path|old|new|all|patch|command|offset|text|pattern|pointer|summary", "[a-z]{0,6}"];
    let value = prop_oneof![
        Just("null".to_owned()),
        any::<i64>().prop_map(|number| number.to_string()),
        "\\PC{0,12}".prop_map(|text| json!(text).to_string()),
        Just("[[]]".to_owned()),
        Just("1e400".to_owned()),
    ];
    let fields = prop::collection::vec((field, value), 0..4);
    let object = fields.prop_map(|fields| {
        let inner: Vec<String> = fields.iter().map(|(name, value)| format!("{}:{value}", json!(name))).collect();
        format!("{{{}}}", inner.join(","))
    });
    prop_oneof![
        object.clone(),
        "\\PC{0,40}",
        (object, 0..40_usize).prop_map(|(text, at)| text.chars().take(at).collect())
    ]
}

/// Lines that are nearly a patch of the file `f`.
fn nearly_patch() -> impl Strategy<Value = String> {
    let head = prop_oneof![
        Just("--- a/f\n+++ b/f\n".to_owned()),
        Just("--- /dev/null\n+++ b/g\n".to_owned()),
        Just("--- a/f\n+++ /dev/null\n".to_owned()),
        Just("--- a/.git/x\n+++ b/.git/x\n".to_owned()),
    ];
    let hunk = (0..5_u8, 0..4_u8, 0..4_u8).prop_map(|(at, old, new)| format!("@@ -{at},{old} +{at},{new} @@\n"));
    let line = prop_oneof!["[ +-][ab]?", Just(String::new()), Just("\\ No newline".to_owned())];
    let body = prop::collection::vec(line, 0..6).prop_map(|lines| lines.join("\n") + "\n");
    (head, prop::collection::vec((hunk, body), 0..3)).prop_map(|(head, hunks)| {
        let hunks: String = hunks.into_iter().map(|(hunk, body)| hunk + &body).collect();
        head + &hunks
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: sized(200, 2_000), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn tool_2_no_words_break_the_decoder_and_no_fault_is_long(
        tool in prop_oneof!["edit|finish|list|read_file|recall|remember|search|shell|write", "\\PC{0,30}"],
        arguments in nearly_json(),
    ) {
        // Made once: a registry is eighteen schemas.
        static REGISTRY: LazyLock<Registry> = LazyLock::new(|| Registry::new().unwrap());
        let call = Call { id: "".into(), tool: tool.into(), arguments: arguments.into() };
        if let Err(fault) = decode(&call, REGISTRY.entries()) {
            prop_assert!(fault.for_model().len() < 3_000, "{}", fault.for_model());
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn an_edit_replaces_exactly_its_text_or_changes_nothing(
        file in "[ab\n]{0,12}", old in "[ab\n]{1,3}", new in "[abc\n]{0,3}", all in any::<bool>(),
    ) {
        prop_assume!(old != new);
        let mut fixture = fixture(&[("f", &file)]);
        let ran = fixture.run("edit", &json!({"path": "f", "old": old, "new": new, "all": all}));
        let count = file.matches(old.as_str()).count();
        let fits = count == 1 || (count > 1 && all);
        prop_assert_eq!(ran.is_error, !fits);
        let expected = if fits { file.replace(old.as_str(), &new) } else { file };
        prop_assert_eq!(fixture.text("f"), expected);
    }

    #[test]
    fn a_patch_that_is_refused_has_changed_nothing(file in "[ab\n]{0,8}", patch in nearly_patch()) {
        let mut fixture = fixture(&[("f", &file)]);
        let call = Call { id: "".into(), tool: "edit".into(), arguments: json!({"patch": patch}).to_string().into() };
        let readable = decode(&call, fixture.registry.entries()).is_ok();
        if readable && !fixture.run("edit", &json!({"patch": patch})).is_error {
            return Ok(());
        }
        prop_assert_eq!(fixture.text("f"), file);
        prop_assert!(!fixture.root().join("g").exists() && !fixture.root().join(".git").exists());
    }
}
