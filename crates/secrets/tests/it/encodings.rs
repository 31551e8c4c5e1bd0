//! The same secrets in another spelling.

use crate::redactor;
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use tripwire_secrets::KnownSecret;

fn percent(text: &str) -> String {
    text.bytes()
        .map(|byte| if byte.is_ascii_alphanumeric() { char::from(byte).to_string() } else { format!("%{byte:02X}") })
        .collect()
}

#[test]
fn secret_1_a_key_is_found_in_base64_and_behind_percent_signs() {
    let redactor = redactor();
    let key = format!("sk-ant-api03-{}", "A1b2C3d4".repeat(6));
    for text in [
        STANDARD.encode(&key),
        STANDARD.encode(format!("x{key}")),
        URL_SAFE_NO_PAD.encode(format!("token={key}&a=b")),
        percent(&key),
        format!("echo {} | base64 -d", STANDARD.encode(format!("export KEY={key}\n"))),
    ] {
        let redacted = redactor.redact(&text);
        assert!(redacted.contains("secret:"), "{text}\n{redacted}");
    }
    let harmless = STANDARD.encode("a long text about nothing that anybody would want to hide, with 123 in it");
    assert_eq!(redactor.redact(&harmless), harmless);
}

#[test]
fn secret_1_a_known_value_is_found_in_every_spelling() {
    let value = "corr\u{e8}ct/h0rse+b\"attery";
    let mut redactor = redactor();
    redactor.know(&KnownSecret { name: "DB_PASSWORD".into(), value: value.into() });
    let hex: String = value.bytes().map(|byte| format!("{byte:02x}")).collect();
    for text in [
        value.to_owned(),
        format!("before{value}after"),
        STANDARD.encode(value),
        STANDARD.encode(format!("a{value}bc")),
        STANDARD.encode(format!("ab{value}c")),
        URL_SAFE_NO_PAD.encode(format!("user:{value}")),
        percent(value),
        hex,
        value.replace('"', "\\\""),
        value.replace('"', "\\\"").replace('/', "\\/"),
    ] {
        let redacted = redactor.redact(&text);
        assert!(redacted.contains("secret:known:"), "{text}\n{redacted}");
    }
    assert_eq!(redactor.redact("correct horse"), "correct horse");
}
