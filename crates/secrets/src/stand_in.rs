//! Words that people write in the place of a secret.

/// Whether a value only stands for one: a variable, a template, words that say so.
pub(crate) fn is_stand_in(value: &str) -> bool {
    let lower = value.to_ascii_lowercase();
    let marks =
        value.starts_with(['$', '<', '{', '%', '\u{2039}', '[']) || value.contains("${") || value.contains("{{");
    marks || STAND_INS.iter().any(|word| lower.contains(word))
}

const STAND_INS: [&str; 24] = [
    "your",
    "example",
    "changeme",
    "change-me",
    "change_me",
    "placeholder",
    "xxxx",
    "****",
    "....",
    "dummy",
    "redacted",
    "process.env",
    "os.environ",
    "getenv",
    "env.",
    "env[",
    "insert",
    "replace",
    "todo",
    "made-up",
    "makeup",
    "fake",
    "sample",
    "foobar",
];
