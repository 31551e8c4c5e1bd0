//! Test scripts of a project, known by their names: `./test.sh`, `sh run_tests.sh`, `bash scripts/run-all-tests.sh`.
//!
//! The rule is narrow on purpose: every word of the name must belong to testing. `test_deploy.sh` may deploy, and a run
//! that is wrongly taken for a test would prove work that nobody checked.

use super::arguments::is_shell;

/// Words that say what a script does.
const TEST: &[&str] = &["test", "tests", "runtest", "runtests", "testsuite"];
/// Words that may stand beside them.
const BESIDE: &[&str] =
    &["run", "all", "unit", "integration", "e2e", "smoke", "functional", "regression", "ci", "suite"];
/// Endings of scripts that a shell runs.
const ENDINGS: &[&str] = &["sh", "bash", "zsh"];

/// Whether a program is a test script by its name; one without an ending only by its path, because `test` alone is the
/// shell's own.
pub(super) fn is_test_script(word: &str) -> bool {
    let (folder, name) = word.rsplit_once('/').map_or((None, word), |(folder, name)| (Some(folder), name));
    match name.rsplit_once('.') {
        Some((stem, ending)) => ENDINGS.contains(&ending) && is_test_name(stem),
        None => folder.is_some() && is_test_name(name),
    }
}

/// The test script that a shell is told to run, with what follows it: `sh -e run_tests.sh unit`.
pub(super) fn run_by_shell<'a>(words: &'a [&'a str]) -> Option<&'a [&'a str]> {
    let (shell, rest) = words.split_first()?;
    if !is_shell(shell) {
        return None;
    }
    let options = rest.iter().take_while(|word| word.starts_with('-')).count();
    let (options, script) = (rest.get(..options)?, rest.get(options..)?);
    // `-n` reads the script without running it; behind `-c` stands a line, and behind `-s` nothing of the project.
    let is_run = options.iter().all(|word| word.starts_with("--") || !word.contains(['n', 'c', 's', 'o']));
    let first = script.first()?;
    (is_run && (is_test_script(first) || is_test_name(first))).then_some(script)
}

fn is_test_name(stem: &str) -> bool {
    let mut words = stem.split(['-', '_', '.']);
    stem.split(['-', '_', '.']).any(|word| TEST.contains(&word))
        && words.all(|word| TEST.contains(&word) || BESIDE.contains(&word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dirty_1_a_script_is_a_test_run_when_its_whole_name_says_so() {
        for word in [
            "./test.sh",
            "test.sh",
            "run_tests.sh",
            "scripts/run-all-tests.sh",
            "./test",
            "script/test",
            "bin/run_tests",
            "unit_tests.bash",
            "ci/e2e-test.sh",
        ] {
            assert!(is_test_script(word), "{word}");
        }
    }

    #[test]
    fn dirty_1_a_script_of_another_name_is_none() {
        for word in [
            "test",
            "tests",
            "deploy.sh",
            "./deploy",
            "test_deploy.sh",
            "latest.sh",
            "./contest.sh",
            "test.py",
            "all.sh",
            "run.sh",
            "tests/helper.sh",
            "test.sh.bak",
            "",
        ] {
            assert!(!is_test_script(word), "{word}");
        }
    }
}
