//! Every setting with every kind of text that a person may write: what is taken and how it is shown, what is refused and
//! with which words.

use crate::expected;
use std::collections::BTreeMap;
use tripwire_core::policy::{Policy, PolicyError, SettingRow};

/// Texts at the edges of every kind of setting.
const TEXTS: [&str; 62] = [
    "",
    " ",
    "0",
    "1",
    "-1",
    "+1",
    "007",
    "1_000",
    "_",
    "1 ",
    "1.5",
    "0.5",
    ".5",
    "0.",
    "0.000001",
    "0.9999999",
    "1.0",
    "1.000001",
    "1e3",
    "1000000000",
    "1000000001",
    "1000000000000",
    "1000000000001",
    "1000000000000000",
    "1000000000000001",
    "9007199254740991",
    "9007199254740992",
    "99999999999999999999",
    "off",
    "null",
    "auto",
    "true",
    "false",
    "on",
    "hold",
    "allow",
    "note",
    "continue",
    "stop",
    "strict",
    "balanced",
    "Strict",
    "0s",
    "90s",
    "60min",
    "61min",
    "24h",
    "25h",
    "1440min",
    "1441min",
    "86400s",
    "86401s",
    " 5 s ",
    "a,b",
    "abcd*,*bcde",
    "abcd*,ab*c",
    "abcd,***",
    "m=1/2",
    "m=0.3/1.25, n = 1/2/3/4/5",
    "m=1/2/3",
    "t max_calls=3",
    "t approve=yes",
];

/// One line for what is taken, and one for each message of a refusal with the number of texts.
fn shown(row: &SettingRow) -> String {
    let long = "x".repeat(2_001);
    let texts = TEXTS.into_iter().chain([&long[..2_000], &long]);
    let name = |text: &str| if text.len() > 100 { format!("({} letters)", text.len()) } else { format!("`{text}`") };
    let mut taken = Vec::new();
    let mut refused: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for text in texts {
        let mut policy = Policy::default();
        match policy.set(row.path, text) {
            Ok(()) => taken.push(taken_text(&policy, row.path, text, &name)),
            Err(error @ PolicyError::Value { .. }) => {
                let words = error.to_string();
                let PolicyError::Value { path, error } = error else { panic!("{words}") };
                assert_eq!(words, format!("setting `{path}`: `{}` is not {}", error.text, error.expected));
                assert!(path.as_str() == row.path && text.contains(&error.text) && error.text.len() <= 80, "{words}");
                refused.entry(error.expected.to_owned()).or_default().push(name(text));
            }
            Err(error) => panic!("{error}"),
        }
    }
    let in_force = row.in_force.as_deref().map_or_else(String::new, |number| format!(" in force {number}"));
    let other = row.another.as_deref().unwrap_or_default();
    let mut lines = format!("{} = `{}`{in_force}, another `{other}`, {}\n", row.path, row.value, row.source);
    let few = taken.len() <= TEXTS.len() / 2;
    let list = if few { taken.join(" ") } else { format!("{} texts", taken.len()) };
    lines += &format!("  takes {list}\n");
    for (expected, texts) in refused {
        let list = if few { format!("{} texts", texts.len()) } else { texts.join(" ") };
        lines += &format!("  not {expected}: {list}\n");
    }
    lines
}

/// A text that was taken, with its other form where it is shown in one, after a way through both formats.
fn taken_text(policy: &Policy, path: &str, text: &str, name: &impl Fn(&str) -> String) -> String {
    let json = serde_json::to_string(policy).unwrap();
    assert_eq!(&serde_json::from_str::<Policy>(&json).unwrap(), policy, "{path} {text}");
    let bytes = postcard::to_allocvec(policy).unwrap();
    assert_eq!(&postcard::from_bytes::<Policy>(&bytes).unwrap(), policy, "{path} {text}");
    let value = policy.rows().into_iter().find(|row| row.path == path).unwrap().value;
    if value == text { name(text) } else { format!("{}→{}", name(text), name(&value)) }
}

#[test]
fn const_6_every_setting_takes_and_refuses_what_it_did() {
    let rows = Policy::default().rows();
    expected::compare("settings.txt", &rows.iter().map(shown).collect::<String>());
}

#[test]
fn const_6_the_frozen_text_of_the_defaults_is_the_same_as_ever() {
    let policy = expected::sorted(serde_json::to_value(Policy::default()).unwrap());
    expected::compare("policy.json", &(serde_json::to_string_pretty(&policy).unwrap() + "\n"));
}
