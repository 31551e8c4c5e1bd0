//! The shell line by which a client calls our hook. It refuses also when our program is missing, crashes or is killed.

use std::path::Path;
use tripwire_fs::shell_word::shell_quoted;

/// What the line prints when our program cannot even be started; it is looked for in what a client tells its model. The
/// exit code behind it blocks on every client.
pub const GUARD_FAILED: &str = "tripwire: guard failed";

/// The part of the line behind the program, by which our hooks are known again wherever the program is.
pub(crate) fn call(client: &str) -> String {
    format!(" hook {client} || {{ echo '{GUARD_FAILED}' >&2; exit 2; }}")
}

/// The whole line.
#[must_use]
pub fn line(program: &Path, client: &str) -> String {
    format!("{}{}", shell_quoted(&program.to_string_lossy()), call(client))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_for_a_shell() {
        assert_eq!(shell_quoted("/a b/it's"), r"'/a b/it'\''s'");
        assert_eq!(line(Path::new("/t"), "x"), "'/t' hook x || { echo 'tripwire: guard failed' >&2; exit 2; }");
    }
}
