//! Words in the commands that messages advise and clients run.

use std::path::Path;

/// A path as a person can paste it into a shell: in quotes, where it needs them.
#[must_use]
pub fn shell_word(path: &Path) -> String {
    let text = path.to_string_lossy();
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "/._-+:@%,=".contains(letter);
    if !text.is_empty() && text.chars().all(is_plain) { text.into_owned() } else { shell_quoted(&text) }
}

/// A word as a shell reads it back, always in quotes.
#[must_use]
pub fn shell_quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_quoted_only_where_a_shell_would_take_it_apart() {
        assert_eq!(shell_word(Path::new("/a/b-1.jsonl")), "/a/b-1.jsonl");
        assert_eq!(shell_word(Path::new("/a b/it's")), r"'/a b/it'\''s'");
        assert_eq!(shell_word(Path::new("")), "''");
    }
}
