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

/// Endings of files that programs leave behind and no test reads.
const LEFTOVERS: [&str; 9] = ["log", "pid", "tmp", "temp", "swp", "swo", "bak", "orig", "rej"];

/// Folders of what can be made again, and of tests.
const CACHE_FOLDERS: [&str; 4] = [".cache", ".npm", ".idea", ".vscode"];

/// Folders of tests.
const TEST_FOLDERS: [&str; 7] = ["test", "tests", "__tests__", "spec", "specs", "testing", "e2e"];

/// Whether a file below the workspace is more than text for people and what programs leave behind: then a test could
/// check it. The path names a file that was seen, so nothing in it is a pattern.
#[must_use]
pub fn is_code(path: &str) -> bool {
    let lower = path.to_ascii_lowercase();
    let (folders, name) = lower.rsplit_once('/').unwrap_or(("", lower.as_str()));
    let cached = folders.split('/').any(|folder| CACHE_FOLDERS.contains(&folder));
    !cached && !is_leftover(name) && !is_plain_text(path)
}

/// Whether a file below the workspace holds tests, by its name or its folder.
#[must_use]
pub fn is_test_file(path: &str) -> bool {
    let lower = path.to_ascii_lowercase();
    let (folders, name) = lower.rsplit_once('/').unwrap_or(("", lower.as_str()));
    let stem = name.split('.').next().unwrap_or(name);
    let named = ["test", "tests", "conftest", "spec"].contains(&stem)
        || stem.starts_with("test_")
        || stem.starts_with("test-")
        || ["_test", "-test", "_tests", "_spec", "-spec"].iter().any(|end| stem.ends_with(end))
        || [".test.", ".spec."].iter().any(|part| name.contains(part))
        // `FooTest.java`, `FooTests.cs`: there the case of the letters tells it from `latest.java`.
        || path.rsplit('/').next().and_then(|name| name.split('.').next()).is_some_and(ends_as_test_class);
    named || folders.split('/').any(|folder| TEST_FOLDERS.contains(&folder))
}

fn ends_as_test_class(stem: &str) -> bool {
    ["Test", "Tests", "Spec", "IT"].iter().any(|end| stem.strip_suffix(end).is_some_and(|start| !start.is_empty()))
}

fn is_leftover(name: &str) -> bool {
    name == "nohup.out" || name.rsplit_once('.').is_some_and(|(_, ending)| LEFTOVERS.contains(&ending))
}

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
            (TEXTS.contains(&ending) || is_leftover(name))
                && !READ_BY_PROGRAMS.iter().any(|known| stem.starts_with(known))
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
    fn dirty_1_logs_and_leftovers_are_no_code_and_programs_are() {
        for path in ["done.log", "run/server.pid", "~/.cache/empty", "nohup.out", "a.py.bak", "README.md", "app/x.log"]
        {
            assert!(!is_code(path), "{path}");
        }
        for path in ["a.py", "log", "pid.c", "counter", "src/prompt.md", "log.sh", "a.log.py", "Makefile", "cache/a.c"]
        {
            assert!(is_code(path), "{path}");
        }
    }

    #[test]
    fn dirty_1_test_files_are_known_by_their_names_and_folders() {
        for path in [
            "test.sh",
            "test_calc.py",
            "tests/expected.txt",
            "crates/a/tests/it/main.rs",
            "pkg/calc_test.go",
            "src/app.test.ts",
            "src/__tests__/a.js",
            "spec/model_spec.rb",
            "conftest.py",
            "src/test/java/FooTest.java",
            "FooTests.cs",
        ] {
            assert!(is_test_file(path), "{path}");
        }
        for path in
            ["code.sh", "src/latest.py", "contest.py", "attestation.rs", "src/Latest.java", "testimonials.html", "t.sh"]
        {
            assert!(!is_test_file(path), "{path}");
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
