//! Expected texts in `expected/`: what a test shows is compared with the file, line by line.
//!
//! `TRIPWIRE_BLESS=1 cargo test -p tripwire-core --test it` rewrites the files; read the difference before you commit it.

use serde_json::Value;
use std::path::{Path, PathBuf};

/// Where the files are.
pub(crate) fn path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/expected").join(name)
}

/// With the members of its objects in order, which another crate's choice for `serde_json` would leave as they came.
pub(crate) fn sorted(mut value: Value) -> Value {
    value.sort_all_objects();
    value
}

/// Fails with the first line that differs from the file.
pub(crate) fn compare(name: &str, shown: &str) {
    let file = path(name);
    if std::env::var_os("TRIPWIRE_BLESS").is_some() {
        return std::fs::write(file, shown).unwrap();
    }
    let expected = std::fs::read_to_string(&file).unwrap();
    if let Some(difference) = difference(&expected, shown) {
        panic!("{name}:{difference}\nTRIPWIRE_BLESS=1 writes it as it is now");
    }
}

/// The number of the first line that differs, and both texts.
fn difference(expected: &str, shown: &str) -> Option<String> {
    let (mut was, mut is) = (expected.lines(), shown.lines());
    (1..).find_map(|number| match (was.next(), is.next()) {
        (None, None) => Some(None),
        (left, right) if left == right => None,
        (left, right) => Some(Some(format!(
            "{number}\n  expected {}\n  shown    {}",
            left.unwrap_or("(end)"),
            right.unwrap_or("(end)")
        ))),
    })?
}

#[test]
fn the_first_line_that_differs_is_shown() {
    assert_eq!(difference("a\nb\n", "a\nb\n"), None);
    assert_eq!(difference("a\nb\n", "a\nc\nd\n").unwrap(), "2\n  expected b\n  shown    c");
    assert_eq!(difference("a\n", "a\nb\n").unwrap(), "2\n  expected (end)\n  shown    b");
}
