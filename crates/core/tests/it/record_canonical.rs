//! Canonical JSON against hand-written vectors of RFC 8785 and against a slow, independent oracle.
#![expect(clippy::disallowed_types, reason = "a double printer is the oracle for ratios")]

use std::collections::BTreeMap;

use proptest::prelude::*;
use serde::Serialize;
use serde_json::{Value, json};
use tripwire_core::record::canonical::{CanonicalError, DEPTH_LIMIT, to_string, write};
use tripwire_testing::sized;

#[derive(Serialize)]
#[serde(rename = "$tripwire::Ratio")]
struct Ratio(i64);

#[derive(Serialize)]
struct Unsorted {
    zebra: u8,
    #[serde(rename = "€")]
    euro: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    absent: Option<u8>,
    null: Option<u8>,
    nested: Inner,
    apple: Vec<Inner>,
}

#[derive(Serialize, Clone, Copy)]
struct Inner {
    b: i8,
    a: Kind,
}

#[derive(Serialize, Clone, Copy)]
enum Kind {
    Unit,
    New(u8),
    Pair(u8, char),
    Named { y: u8, x: u8 },
}

fn text<T: Serialize>(value: &T) -> String {
    to_string(value).unwrap_or_else(|error| format!("error: {error}"))
}

/// The example of RFC 8785 section 3.2.3: keys whose order differs between UTF-8 and UTF-16.
#[test]
fn log_1_keys_are_sorted_by_utf16_code_units() {
    let value = json!({
        "\u{20ac}": "Euro Sign",
        "\r": "Carriage Return",
        "\u{fb33}": "Hebrew Letter Dalet With Dagesh",
        "1": "One",
        "\u{1f600}": "Emoji: Grinning Face",
        "\u{80}": "Control",
        "\u{f6}": "Latin Small Letter O With Diaeresis",
    });
    assert_eq!(
        text(&value),
        "{\"\\r\":\"Carriage Return\",\"1\":\"One\",\"\u{80}\":\"Control\",\
         \"\u{f6}\":\"Latin Small Letter O With Diaeresis\",\"\u{20ac}\":\"Euro Sign\",\
         \"\u{1f600}\":\"Emoji: Grinning Face\",\"\u{fb33}\":\"Hebrew Letter Dalet With Dagesh\"}"
    );
}

#[test]
fn log_1_strings_escape_only_what_the_rfc_escapes() {
    let every_control: String = (0_u8..0x20).map(char::from).collect();
    assert_eq!(
        text(&every_control),
        "\"\\u0000\\u0001\\u0002\\u0003\\u0004\\u0005\\u0006\\u0007\\b\\t\\n\\u000b\\f\\r\\u000e\\u000f\
         \\u0010\\u0011\\u0012\\u0013\\u0014\\u0015\\u0016\\u0017\\u0018\\u0019\\u001a\\u001b\\u001c\
         \\u001d\\u001e\\u001f\""
    );
    assert_eq!(text(&"\u{20ac}$\u{f}\nA'B\"\\\"/"), "\"\u{20ac}$\\u000f\\nA'B\\\"\\\\\\\"/\"");
    assert_eq!(text(&"\u{7f}\u{2028}\u{1f600}"), "\"\u{7f}\u{2028}\u{1f600}\"");
    assert_eq!(text(&""), "\"\"");
}

#[test]
fn log_1_fields_declared_out_of_order_are_sorted_at_every_level() {
    let inner = Inner { b: -128, a: Kind::Unit };
    let value = Unsorted {
        zebra: 1,
        euro: "x",
        absent: None,
        null: None,
        nested: Inner { b: 2, a: Kind::Named { y: 1, x: 2 } },
        apple: vec![inner, Inner { a: Kind::New(3), ..inner }, Inner { a: Kind::Pair(4, '"'), ..inner }],
    };
    assert_eq!(
        text(&value),
        "{\"apple\":[{\"a\":\"Unit\",\"b\":-128},{\"a\":{\"New\":3},\"b\":-128},\
         {\"a\":{\"Pair\":[4,\"\\\"\"]},\"b\":-128}],\
         \"nested\":{\"a\":{\"Named\":{\"x\":2,\"y\":1}},\"b\":2},\"null\":null,\"zebra\":1,\"\u{20ac}\":\"x\"}"
    );
}

#[test]
fn integers_are_exact_below_2_to_the_53_and_refused_from_there() {
    let limit = 1_i64 << 53;
    assert_eq!(text(&(limit - 1)), "9007199254740991");
    assert_eq!(text(&(1 - limit)), "-9007199254740991");
    assert_eq!(text(&(0_u64, -1_i128, 10_u128, 255_u8)), "[0,-1,10,255]");
    for beyond in [i128::from(limit), -i128::from(limit), i128::MAX] {
        assert_eq!(to_string(&beyond), Err(CanonicalError::IntegerOutOfRange(beyond.to_string())));
    }
    assert!(to_string(&i64::MIN).is_err());
    assert!(to_string(&u64::MAX).is_err());
    assert!(to_string(&u128::MAX).is_err());
}

#[test]
fn floats_are_refused_wherever_they_sit() {
    assert_eq!(to_string(&1.0_f64), Err(CanonicalError::Float));
    assert_eq!(to_string(&json!({"a": [1, 0.5]})), Err(CanonicalError::Float));
}

/// What an ES6 number printer gives for these values, written down by hand.
#[test]
fn ratios_are_printed_as_the_rfc_prints_decimals() {
    for (millionths, expected) in [
        (900_000, "0.9"),
        (1_000_000, "1"),
        (0, "0"),
        (1, "0.000001"),
        (10, "0.00001"),
        (123_456, "0.123456"),
        (1_500_000, "1.5"),
        (10_050_000, "10.05"),
        (-250_000, "-0.25"),
        (999_999_999_999_999, "999999999.999999"),
    ] {
        assert_eq!(text(&Ratio(millionths)), expected);
    }
    assert!(to_string(&Ratio(1_000_000_000_000_000)).is_err());
}

#[test]
fn a_ratio_around_anything_but_an_integer_is_refused() {
    #[derive(Serialize)]
    #[serde(rename = "$tripwire::Ratio")]
    struct Wrong<T>(T);
    assert_eq!(to_string(&Wrong("1")), Err(CanonicalError::RatioNotInteger));
    assert_eq!(to_string(&Wrong([1])), Err(CanonicalError::RatioNotInteger));
    assert_eq!(to_string(&Wrong(Some(1))), Err(CanonicalError::RatioNotInteger));
    assert_eq!(text(&Wrong(5_u8)), "0.000005");
}

#[test]
fn duplicate_keys_are_refused_in_and_out_of_order() {
    struct Pairs(&'static [&'static str]);
    impl Serialize for Pairs {
        fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            serializer.collect_map(self.0.iter().map(|key| (key, 1)))
        }
    }
    let duplicate = Err(CanonicalError::DuplicateKey("a".into()));
    assert_eq!(to_string(&Pairs(&["a", "a"])), duplicate);
    assert_eq!(to_string(&Pairs(&["a", "b", "a"])), duplicate);
    assert_eq!(text(&Pairs(&["b", "a", ""])), "{\"\":1,\"a\":1,\"b\":1}");
}

#[test]
fn map_keys_are_texts_integers_or_unit_variants() {
    let numbers: BTreeMap<i32, u8> = [(2, 0), (10, 1), (-1, 2)].into();
    assert_eq!(text(&numbers), "{\"-1\":2,\"10\":1,\"2\":0}");
    let lists: BTreeMap<Vec<u8>, u8> = [(vec![1], 0)].into();
    assert_eq!(to_string(&lists), Err(CanonicalError::KeyNotText));
}

#[test]
fn flattened_fields_are_sorted_among_the_others() {
    #[derive(Serialize)]
    struct Outer {
        m: u8,
        #[serde(flatten)]
        inner: BTreeMap<&'static str, u8>,
    }
    let value = Outer { m: 1, inner: [("a", 2), ("z", 3)].into() };
    assert_eq!(text(&value), "{\"a\":2,\"m\":1,\"z\":3}");
}

#[test]
fn nesting_is_bounded() {
    let mut value = json!(1);
    for _ in 0..DEPTH_LIMIT {
        value = json!([value]);
    }
    assert!(to_string(&value).is_ok());
    assert_eq!(to_string(&json!([value])), Err(CanonicalError::TooDeep));
}

#[test]
fn an_extension_of_another_format_is_refused() {
    #[derive(Serialize)]
    #[serde(rename = "$serde_json::private::RawValue")]
    struct Raw {
        text: u8,
    }
    assert!(matches!(to_string(&Raw { text: 1 }), Err(CanonicalError::Extension(_))));
}

#[test]
fn an_error_leaves_the_buffer_as_it_was() {
    let mut out = String::from("kept");
    assert!(write(&json!({"a": [1, 2, 0.5]}), &mut out).is_err());
    assert_eq!(out, "kept");
    assert!(write(&json!([1]), &mut out).is_ok());
    assert_eq!(out, "kept[1]");
}

/// The oracle: builds the text from sorted vectors of UTF-16 units, sharing no code with the crate.
fn oracle(value: &Value) -> String {
    match value {
        Value::Null => "null".into(),
        Value::Bool(flag) => flag.to_string(),
        Value::Number(number) => number.to_string(),
        Value::String(string) => oracle_string(string),
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(oracle).collect();
            format!("[{}]", items.join(","))
        }
        Value::Object(members) => {
            let mut members: Vec<(Vec<u16>, String)> = members
                .iter()
                .map(|(key, value)| {
                    let text = format!("{}:{}", oracle_string(key), oracle(value));
                    (key.encode_utf16().collect(), text)
                })
                .collect();
            members.sort();
            let members: Vec<String> = members.into_iter().map(|(_, text)| text).collect();
            format!("{{{}}}", members.join(","))
        }
    }
}

fn oracle_string(string: &str) -> String {
    let escaped: String = string
        .chars()
        .map(|character| match character {
            '"' | '\\' => format!("\\{character}"),
            '\u{8}' => "\\b".into(),
            '\u{9}' => "\\t".into(),
            '\u{a}' => "\\n".into(),
            '\u{c}' => "\\f".into(),
            '\u{d}' => "\\r".into(),
            control if control < ' ' => format!("\\u{:04x}", u32::from(control)),
            other => other.to_string(),
        })
        .collect();
    format!("\"{escaped}\"")
}

/// Serialises an object's members in an order of the test's choosing, which `Value` itself cannot do.
struct Shuffled<'value>(&'value Value, u64);

impl Serialize for Shuffled<'_> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Value::Object(members) => {
                let mut members: Vec<_> = members.iter().collect();
                members.sort_by_key(|(key, _)| {
                    key.bytes().fold(self.1, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
                });
                serializer.collect_map(members.into_iter().map(|(key, value)| (key, Shuffled(value, self.1))))
            }
            Value::Array(items) => serializer.collect_seq(items.iter().map(|item| Shuffled(item, self.1))),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => self.0.serialize(serializer),
        }
    }
}

fn any_text() -> impl Strategy<Value = String> {
    // Few letters, so that keys share prefixes; and both sides of the surrogates, where the two orders differ.
    prop::collection::vec(
        prop_oneof![
            Just('a'),
            Just('b'),
            Just('"'),
            Just('\\'),
            Just('\u{1f}'),
            Just('\u{e9}'),
            Just('\u{d7ff}'),
            Just('\u{e000}'),
            Just('\u{ffff}'),
            Just('\u{10000}'),
            Just('\u{10ffff}'),
            any::<char>(),
        ],
        0..6,
    )
    .prop_map(|characters| characters.into_iter().collect())
}

fn any_value() -> impl Strategy<Value = Value> {
    let limit = (1_i64 << 53) - 1;
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-limit..=limit).prop_map(Value::from),
        (-1000_i64..1000).prop_map(Value::from),
        any_text().prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 64, 8, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..8).prop_map(Value::from),
            prop::collection::btree_map(any_text(), inner, 0..8)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: sized(300, 2_000), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_value_in_any_member_order_gives_the_oracles_text(value in any_value(), seed in any::<u64>()) {
        let expected = oracle(&value);
        prop_assert_eq!(&text(&value), &expected);
        prop_assert_eq!(&text(&Shuffled(&value, seed)), &expected);
    }

    #[test]
    fn canonical_text_is_valid_json_for_the_same_value_and_a_fixed_point(value in any_value()) {
        let once = text(&value);
        let back: Value = serde_json::from_str(&once).unwrap_or_default();
        prop_assert_eq!(&back, &value);
        prop_assert_eq!(text(&back), once);
    }

    #[test]
    fn ratios_read_back_as_the_number_they_are(millionths in -999_999_999_999_999_i64..=999_999_999_999_999) {
        let printed = text(&Ratio(millionths));
        // The printed decimal must be what a double printer gives for the double it names.
        let double: f64 = printed.parse().unwrap_or(f64::NAN);
        prop_assert_eq!(format!("{double}"), printed);
    }
}

/// Keys that serde asks for in its own ways.
#[derive(Serialize, PartialEq, Eq, PartialOrd, Ord)]
enum KeyKind {
    Unit,
    New(u8),
}

#[derive(Serialize, PartialEq, Eq, PartialOrd, Ord)]
struct KeyWrapper<T>(T);

/// A key that is written as it is shown.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct ShownKey(u8);

impl Serialize for ShownKey {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&format_args!("line {}", self.0))
    }
}

#[test]
fn keys_are_texts_integers_and_unit_variants_and_nothing_else() {
    fn keyed<K: Serialize + Ord>(key: K) -> Result<String, CanonicalError> {
        to_string(&BTreeMap::from([(key, 0)]))
    }
    assert_eq!(keyed(-8_i8).unwrap(), r#"{"-8":0}"#);
    assert_eq!(keyed(-16_i16).unwrap(), r#"{"-16":0}"#);
    assert_eq!(keyed(-32_i32).unwrap(), r#"{"-32":0}"#);
    assert_eq!(keyed(-64_i64).unwrap(), r#"{"-64":0}"#);
    assert_eq!(keyed(8_u8).unwrap(), r#"{"8":0}"#);
    assert_eq!(keyed(16_u16).unwrap(), r#"{"16":0}"#);
    assert_eq!(keyed(32_u32).unwrap(), r#"{"32":0}"#);
    assert_eq!(keyed(64_u64).unwrap(), r#"{"64":0}"#);
    assert_eq!(keyed('"').unwrap(), r#"{"\"":0}"#);
    assert_eq!(keyed(KeyKind::Unit).unwrap(), r#"{"Unit":0}"#);
    assert_eq!(keyed(KeyWrapper("w")).unwrap(), r#"{"w":0}"#);
    assert_eq!(keyed(ShownKey(7)).unwrap(), r#"{"line 7":0}"#);
    assert_eq!(keyed(KeyKind::New(1)), Err(CanonicalError::KeyNotText));
    assert_eq!(keyed(Some(1)), Err(CanonicalError::KeyNotText));
    assert_eq!(keyed(true), Err(CanonicalError::KeyNotText));
    assert_eq!(keyed(()), Err(CanonicalError::KeyNotText));
    assert_eq!(keyed(1_u64 << 53), Err(CanonicalError::IntegerOutOfRange("9007199254740992".into())));
}

#[derive(Serialize)]
#[serde(rename = "$tripwire::Ratio")]
struct RatioOf<T>(T);

#[test]
fn a_ratio_wraps_an_integer_of_any_width_and_nothing_else() {
    assert_eq!(text(&(RatioOf(-100_i8), RatioOf(-100_i16), RatioOf(-100_i32))), "[-0.0001,-0.0001,-0.0001]");
    assert_eq!(text(&(RatioOf(100_u8), RatioOf(100_u16), RatioOf(100_u32))), "[0.0001,0.0001,0.0001]");
    assert_eq!(text(&(RatioOf(100_u64), RatioOf(KeyWrapper(100_u64)))), "[0.0001,0.0001]");
    assert_eq!(to_string(&RatioOf("x")), Err(CanonicalError::RatioNotInteger));
    assert_eq!(to_string(&RatioOf(Some(1))), Err(CanonicalError::RatioNotInteger));
    assert_eq!(to_string(&RatioOf(KeyKind::New(1))), Err(CanonicalError::RatioNotInteger));
    assert_eq!(
        to_string(&RatioOf(1_000_000_000_000_000_u64)),
        Err(CanonicalError::RatioOutOfRange("1000000000000000".into()))
    );
    assert_eq!(text(&RatioOf(999_999_999_999_999_u64)), "999999999.999999");
}

struct Bytes;

impl Serialize for Bytes {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(&[1, 255])
    }
}

#[derive(Serialize)]
struct Nothing;

#[test]
fn rare_kinds_of_values_have_their_form_too() {
    assert_eq!(text(&(-7_i16, Bytes, Nothing)), "[-7,[1,255],null]");
    assert_eq!(to_string(&0.5_f32), Err(CanonicalError::Float));
}
