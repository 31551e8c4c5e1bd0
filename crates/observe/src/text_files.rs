//! Which files are plain text that no test could check: changing them leaves nothing to verify (DIRTY-1).
//!
//! What is not known to be text counts as code, and so does text that programs read: lists of dependencies, what lies
//! among sources, the data of tests.

/// Endings of files that people read and programs do not.
const TEXTS: [&str; 12] =
    ["txt", "text", "md", "markdown", "rst", "adoc", "asciidoc", "org", "tex", "rtf", "pdf", "docx"];

/// Names without an ending of files that every project has for its readers.
const READMES: [&str; 18] = [
    "readme",
    "changelog",
    "changes",
    "history",
    "news",
    "license",
    "licence",
    "copying",
    "notice",
    "authors",
    "contributors",
    "contributing",
    "maintainers",
    "codeowners",
    "todo",
    "notes",
    "thanks",
    "roadmap",
];

/// Beginnings of text files that programs read all the same.
const READ_BY_PROGRAMS: [&str; 7] =
    ["requirements", "constraints", "cmakelists", "robots", "runtime", "conanfile", "meson_options"];

/// Folders whose text is part of the program or of its tests.
const FOLDERS_OF_CODE: [&str; 24] = [
    "src",
    "lib",
    "app",
    "include",
    "test",
    "tests",
    "spec",
    "specs",
    "__tests__",
    "__snapshots__",
    "snapshots",
    "testdata",
    "test_data",
    "test-data",
    "fixtures",
    "fixture",
    "golden",
    "goldens",
    "data",
    "templates",
    "prompts",
    "assets",
    "resources",
    "requirements",
];

/// Whether a path, relative to the workspace, names plain text and nothing that a program reads.
#[must_use]
pub fn is_plain_text(path: &str) -> bool {
    let lower = path.trim().to_ascii_lowercase();
    // A pattern or a variable may stand for anything.
    if lower.is_empty() || lower.contains(['*', '?', '$', '`', '{', '[', '~', '\n']) {
        return false;
    }
    let (folders, name) = lower.rsplit_once('/').unwrap_or(("", lower.as_str()));
    if folders.split('/').any(|folder| FOLDERS_OF_CODE.contains(&folder)) {
        return false;
    }
    match name.rsplit_once('.') {
        Some((stem, ending)) => {
            TEXTS.contains(&ending) && !READ_BY_PROGRAMS.iter().any(|known| stem.starts_with(known))
        }
        None => READMES.contains(&name),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dirty_1_what_people_read_is_plain_text() {
        for path in [
            "part_00.txt",
            "notes/part_001.txt",
            "README.md",
            "README",
            "LICENSE",
            "docs/guide/setup.rst",
            "CHANGELOG.adoc",
            "reports/2026.pdf",
        ] {
            assert!(is_plain_text(path), "{path}");
        }
    }

    #[test]
    fn dirty_1_what_programs_read_or_nobody_knows_is_code() {
        for path in [
            "calc.py",
            "Makefile",
            "data.json",
            "requirements.txt",
            "requirements-dev.txt",
            "requirements/base.txt",
            "CMakeLists.txt",
            "sub/CMakeLists.txt",
            "src/prompt.md",
            "tests/expected.txt",
            "crates/a/testdata/x.txt",
            "docs/conf.py",
            "index.html",
            "page.mdx",
            "*.txt",
            "$OUT.txt",
            "a.txt.py",
            "",
            ".",
        ] {
            assert!(!is_plain_text(path), "{path}");
        }
    }
}
