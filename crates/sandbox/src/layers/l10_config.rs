//! Layer 10, git configurations: whether one makes git run or read nothing else.
//!
//! Git's own reader takes more than people write: several heads on one line, keys behind a head, values that go on in the next
//! line. This reader knows the plain form alone, one head or one key on a line; whatever else stands there counts as armed.

/// The keys that cannot make git run or read something else, by section; a star allows every key.
const PLAIN: [(&str, &[&str]); 11] = [
    (
        "core",
        &[
            "repositoryformatversion",
            "filemode",
            "bare",
            "logallrefupdates",
            "ignorecase",
            "precomposeunicode",
            "symlinks",
            "autocrlf",
            "eol",
        ],
    ),
    ("branch", &["remote", "merge", "rebase", "description", "pushremote"]),
    ("user", &["name", "email", "useconfigonly"]),
    (
        "remote",
        &[
            "url",
            "pushurl",
            "fetch",
            "push",
            "tagopt",
            "prune",
            "mirror",
            "promisor",
            "partialclonefilter",
            "pushdefault",
        ],
    ),
    ("submodule", &["active", "url", "path", "branch"]),
    ("color", &["*"]),
    ("advice", &["*"]),
    ("init", &["defaultbranch"]),
    ("pull", &["rebase", "ff"]),
    ("push", &["default", "autosetupremote", "followtags"]),
    (
        "extensions",
        &[
            "worktreeconfig",
            "objectformat",
            "partialclone",
            "refstorage",
            "compatobjectformat",
            "relativeworktrees",
            "noop",
        ],
    ),
];

/// Whether every line is understood and every key is one that cannot make git run or read something else.
pub(crate) fn is_plain(text: &str) -> bool {
    let mut section = None;
    text.split('\n').map(str::trim).all(|line| match read(line) {
        Some(Line::Empty) => true,
        Some(Line::Head(name)) => {
            section = Some(name);
            true
        }
        Some(Line::Key { key, value }) => section.as_deref().is_some_and(|section| is_plain_key(section, &key, value)),
        None => false,
    })
}

/// The values of a key, for instance `core` and `hookspath`, in a configuration of a person; lines that are not understood are
/// passed over.
pub(crate) fn values<'t>(text: &'t str, wanted_section: &str, wanted_key: &str) -> Vec<&'t str> {
    let mut section = None;
    let mut found = Vec::new();
    for line in text.split('\n').map(str::trim) {
        match read(line) {
            Some(Line::Head(name)) => section = Some(name),
            Some(Line::Key { key, value }) if section.as_deref() == Some(wanted_section) && key == wanted_key => {
                found.push(value);
            }
            Some(Line::Empty | Line::Key { .. }) | None => {}
        }
    }
    found
}

/// One line in its plain form.
enum Line<'t> {
    Empty,
    /// The section's name in lower case, without the subsection.
    Head(String),
    /// The key in lower case, the value without its quotes.
    Key {
        key: String,
        value: &'t str,
    },
}

fn read(line: &str) -> Option<Line<'_>> {
    if line.is_empty() || line.starts_with(['#', ';']) {
        return Some(Line::Empty);
    }
    // A line that goes on in the next one, or means something else than it shows.
    if line.contains(['\\', '\0', '\r']) {
        return None;
    }
    if let Some(head) = line.strip_prefix('[') {
        return head_name(head.strip_suffix(']')?).map(Line::Head);
    }
    let (key, value) = line.split_once('=').unwrap_or((line, ""));
    let (key, value) = (key.trim(), value.trim());
    let plain = key.starts_with(|first: char| first.is_ascii_alphabetic()) && key.chars().all(is_name);
    let inner = value.strip_prefix('"').and_then(|value| value.strip_suffix('"')).unwrap_or(value);
    (plain && !inner.contains('"')).then(|| Line::Key { key: key.to_ascii_lowercase(), value: inner })
}

/// `name`, `name "subsection"`, or `name.subsection`.
fn head_name(head: &str) -> Option<String> {
    let (name, subsection) = match head.split_once(' ') {
        Some((name, rest)) => (name, rest.trim().strip_prefix('"')?.strip_suffix('"')?),
        None => head.split_once('.').unwrap_or((head, "")),
    };
    let plain = !name.is_empty() && name.chars().all(is_name) && !subsection.contains(['"', '[', ']']);
    plain.then(|| name.to_ascii_lowercase())
}

fn is_name(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || letter == '-'
}

fn is_plain_key(section: &str, key: &str, value: &str) -> bool {
    // `ext::sh …` and its like name a program.
    !value.contains("::")
        && PLAIN.iter().any(|(name, keys)| *name == section && keys.iter().any(|plain| *plain == key || *plain == "*"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const FRESH: &str = "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n\
                         [remote \"origin\"]\n\turl = https://example.org/x.git\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n\
                         [branch \"feature/a.b\"]\n\tremote = origin\n[user]\n\tname = \"a b\"\n# a remark\n[extensions]\n\tnoop\n";

    #[test]
    fn box_1_a_fresh_configuration_is_plain() {
        assert!(is_plain(FRESH));
        assert!(is_plain(""));
        assert!(is_plain(&FRESH.replace('\n', "\r\n")), "lines may end as on other systems");
    }

    #[test]
    fn box_1_keys_that_make_git_run_something_are_not_plain() {
        for line in [
            "[core]\nhooksPath = /x",
            "[core] fsmonitor = ./run",
            "[CORE]\nsshCommand = x",
            "[alias]\nst = !sh",
            "[filter \"x\"]\nclean = sh",
            "[include]\npath = ../evil",
            "[includeIf \"gitdir:x\"]\npath = y",
            "[remote \"o\"]\nuploadpack = sh",
            "[remote \"o\"]\nurl = ext::sh -c x",
            "[remote \"o\"]\nurl = ex\"t\"::sh -c x",
            "[diff \"x\"]\ntextconv = sh",
            "[credential]\nhelper = !sh",
            "[init]\ntemplateDir = ../evil",
            "[submodule \"x\"]\nupdate = !sh",
            "[core]\nbare = \\\nfalse",
            "[core",
            "../evil",
            "name = x",
        ] {
            assert!(!is_plain(line), "{line}");
        }
    }

    #[test]
    fn box_1_a_line_that_is_not_plainly_understood_counts_as_armed() {
        for line in [
            "[user] [core] fsmonitor = ./run",
            "[user][core]\nfsmonitor = ./run",
            "[branch \"a]b\"] [core] fsmonitor = ./run",
            "[branch \"a]b\"]\nremote = o",
            "[user]\nname = \"a\n[core]\nbare = false",
            "[user] name = x",
            "[user]\n[core]fsmonitor=./run",
            "\u{feff}[core]\nbare = false",
            "[user]\nna me = x",
            "[user]\nname = a\rb",
        ] {
            assert!(!is_plain(line), "{line:?}");
        }
    }

    #[test]
    fn values_of_a_key_are_found_wherever_its_section_is() {
        let text =
            "[user]\nname = x\n[core]\n\thooksPath = .githooks\n[alias]\nhookspath = no\n[CORE]\nHOOKSPATH = \"b c\"\n";
        assert_eq!(values(text, "core", "hookspath"), [".githooks", "b c"]);
        assert!(values(text, "include", "path").is_empty());
    }
}
