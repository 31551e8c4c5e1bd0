//! What a test run said, read from the summary lines that well-known runners print.
//!
//! Conservative: a line counts only in the exact form of its runner, a failure outweighs every pass, and a run of no
//! tests at all has passed nothing.

use tripwire_core::chain::event::TestResult;

/// What the summary lines of an output say.
pub(super) fn of(output: &str) -> Option<TestResult> {
    let mut passed = false;
    // unittest says how many tests ran before it says `OK`; without that the word is anybody's.
    let mut ran_some = false;
    for line in output.lines().take(LINES_MAX).map(str::trim) {
        if let Some(rest) = line.strip_prefix("Ran ").filter(|rest| rest.contains(" test")) {
            ran_some = !rest.starts_with("0 ");
        }
        match of_line(line) {
            Some(TestResult::Failed) => return Some(TestResult::Failed),
            Some(TestResult::Passed) => passed = passed || ran_some || !is_unittest_ok(line),
            None => {}
        }
    }
    passed.then_some(TestResult::Passed)
}

/// Whether the output says that no test was run, so that an exit code of zero proves nothing.
pub(super) fn is_empty_run(output: &str) -> bool {
    const NOTHING: [&str; 12] = [
        "no tests ran",
        "NO TESTS RAN",
        "No tests ran",
        "No tests found",
        "No test files found",
        "No tests were found",
        "No tests executed",
        "No tests to run",
        "no tests to run",
        "No test is available in",
        "Tests are skipped",
        "All tests have been excluded",
    ];
    let nothing = |line: &str| {
        let line = line.trim();
        NOTHING.iter().any(|mark| line.contains(mark))
            || is_all_skipped(line)
            || line.contains("] 0 tests run: ")
            || line.ends_with("[no test files]")
            || line.ends_with("[no tests to run]")
            || line.starts_with("Ran 0 tests")
            || line.starts_with("test result: ok. 0 passed; 0 failed")
            || line.starts_with("collected 0 items")
    };
    output.lines().take(LINES_MAX).any(nothing) && of(output).is_none()
}

/// Lines that are looked at.
const LINES_MAX: usize = 200_000;

fn of_line(line: &str) -> Option<TestResult> {
    // Most lines are none of these: one look at the first letters is enough for them.
    cargo(line).or_else(|| go(line)).or_else(|| python(line)).or_else(|| javascript(line)).or_else(|| others(line))
}

const fn judged(failed: u64, passed: u64) -> Option<TestResult> {
    match (failed, passed) {
        (0, 0) => None,
        (0, _) => Some(TestResult::Passed),
        (_, _) => Some(TestResult::Failed),
    }
}

fn cargo(line: &str) -> Option<TestResult> {
    if let Some(rest) = line.strip_prefix("test result: ") {
        if rest.starts_with("FAILED") {
            return Some(TestResult::Failed);
        }
        return judged(0, before(rest, " passed")?).filter(|_| rest.starts_with("ok. "));
    }
    if line.starts_with("error: could not compile")
        || line.starts_with("error: test failed")
        || line == "error: test run failed"
    {
        return Some(TestResult::Failed);
    }
    // nextest: `Summary [ 0.1s] 5 tests run: 4 passed, 1 failed, 0 skipped`.
    let run = line.strip_prefix("Summary [")?.split_once("run: ")?.1;
    judged(before(run, " failed").unwrap_or(0), before(run, " passed").unwrap_or(0))
}

fn go(line: &str) -> Option<TestResult> {
    if line == "FAIL" || line.starts_with("FAIL\t") || line.starts_with("--- FAIL:") {
        return Some(TestResult::Failed);
    }
    let package = line.strip_prefix("ok  \t")?;
    (!package.ends_with("[no tests to run]")).then_some(TestResult::Passed)
}

fn python(line: &str) -> Option<TestResult> {
    if line.starts_with("FAILED (") && line.ends_with(')') {
        return Some(TestResult::Failed);
    }
    if is_unittest_ok(line) {
        return Some(TestResult::Passed);
    }
    // pytest: `=== 1 failed, 5 passed in 0.12s ===`, with -q without the frame.
    let counts = line.trim_matches('=').trim();
    let (counts, _) =
        counts.rsplit_once(" in ").filter(|(_, time)| time.starts_with(|c: char| c.is_ascii_digit() || c == '<'))?;
    let (mut failed, mut passed) = (0_u64, 0_u64);
    for part in counts.split(", ") {
        let (number, what) = part.split_once(' ')?;
        let number: u64 = number.parse().ok()?;
        match what {
            "failed" | "error" | "errors" => failed = failed.saturating_add(number),
            "passed" | "xpassed" => passed = passed.saturating_add(number),
            "skipped" | "xfailed" | "deselected" | "warning" | "warnings" | "rerun" | "subtests passed" => {}
            _ => return None,
        }
    }
    judged(failed, passed)
}

/// Whether a line is the last word of unittest.
fn is_unittest_ok(line: &str) -> bool {
    line == "OK" || line.starts_with("OK (skipped=")
}

/// Whether pytest says that it ran none of what it found: `=== 3 skipped, 2 deselected in 0.1s ===`.
fn is_all_skipped(line: &str) -> bool {
    let counts = line.trim_matches('=').trim();
    let is_left_out = |part: &str| part.ends_with(" skipped") || part.ends_with(" deselected");
    counts.rsplit_once(" in ").is_some_and(|(counts, _)| {
        counts.starts_with(|c: char| c.is_ascii_digit()) && counts.split(", ").all(is_left_out)
    })
}

fn javascript(line: &str) -> Option<TestResult> {
    if line.starts_with("npm ERR! Test failed")
        || line.starts_with("npm ERR! code ELIFECYCLE")
        || line.starts_with("npm error Test failed")
    {
        return Some(TestResult::Failed);
    }
    // jest: `Tests:       1 failed, 2 passed, 3 total`; vitest: `Tests  1 failed | 3 passed (4)`.
    if let Some(rest) = line.strip_prefix("Tests:").or_else(|| line.strip_prefix("Tests  "))
        && (rest.ends_with(" total") || rest.ends_with(')'))
    {
        return judged(before(rest, " failed").unwrap_or(0), before(rest, " passed").unwrap_or(0));
    }
    if line.starts_with("Test Suites:") && line.contains(" failed") && line.ends_with(" total") {
        return judged(before(line, " failed")?, 0);
    }
    // node: `# pass 5` and `# fail 0`, on a terminal with another sign.
    if let Some(rest) = line.strip_prefix("# ").or_else(|| line.strip_prefix("ℹ ")) {
        let (what, number) = rest.split_once(' ')?;
        let number: u64 = number.parse().ok()?;
        return match what {
            "pass" => judged(0, number),
            "fail" => judged(number, 0),
            _ => None,
        };
    }
    // mocha: `5 passing (20ms)` and `2 failing`.
    let (number, what) = line.split_once(' ')?;
    let number: u64 = number.parse().ok()?;
    match what {
        "failing" => judged(number, 0),
        _ => what.strip_prefix("passing (").and_then(|_| judged(0, number)),
    }
}

fn others(line: &str) -> Option<TestResult> {
    // phpunit, Maven, Gradle, .NET.
    if line == "FAILURES!"
        || line == "ERRORS!"
        || line.ends_with("BUILD FAILURE")
        || line.starts_with("BUILD FAILED")
        || line.starts_with("Failed!  - Failed:")
    {
        return Some(TestResult::Failed);
    }
    if line.starts_with("OK (") && line.contains(" test") || line.starts_with("Passed!  - Failed:") {
        return Some(TestResult::Passed);
    }
    // Maven: `[ERROR] Tests run: 5, Failures: 1, Errors: 0, Skipped: 0`.
    if let Some((_, run)) = line.split_once("Tests run: ") {
        let bad = after(run, "Failures: ")?.saturating_add(after(run, "Errors: ")?);
        return judged(bad, leading(run)?);
    }
    // rspec: `10 examples, 0 failures`.
    if let Some((examples, rest)) = line.split_once(" examples, ").or_else(|| line.split_once(" example, ")) {
        return judged(before(rest, " failure")?, examples.parse().ok()?);
    }
    // minitest: `5 runs, 9 assertions, 0 failures, 0 errors, 0 skips`; ExUnit: `5 tests, 0 failures`.
    if let Some((run, rest)) = line.split_once(" runs, ").or_else(|| line.split_once(" tests, ")) {
        let bad = before(rest, " failure")?.saturating_add(before(rest, " error").unwrap_or(0));
        let left_out = before(rest, " excluded").or_else(|| before(rest, " skip")).unwrap_or(0);
        return judged(bad, run.parse::<u64>().ok()?.saturating_sub(left_out));
    }
    // ctest: `100% tests passed, 0 tests failed out of 5`.
    let (share, rest) = line.split_once("% tests passed, ")?;
    judged(before(rest, " tests failed")?, share.parse().ok()?)
}

/// The number that ends right before a mark.
fn before(text: &str, mark: &str) -> Option<u64> {
    let (head, _) = text.split_once(mark)?;
    let digits = head.bytes().rev().take_while(u8::is_ascii_digit).count();
    head.get(head.len().saturating_sub(digits)..)?.parse().ok()
}

/// The number that starts right after a mark.
fn after(text: &str, mark: &str) -> Option<u64> {
    leading(text.split_once(mark)?.1)
}

fn leading(text: &str) -> Option<u64> {
    text.get(..text.bytes().take_while(u8::is_ascii_digit).count())?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_are_read_from_every_known_runner() {
        for output in [
            "=== 3 failed, 5 passed in 0.12s ===",
            "1 failed, 2 passed, 1 warning in 1.00s",
            "===== 2 errors in 0.10s =====",
            "test result: ok. 4 passed; 0 failed\ntest result: FAILED. 1 passed; 1 failed",
            "error: could not compile `x` (lib test) due to 1 previous error",
            "Summary [   0.1s] 5 tests run: 4 passed, 1 failed, 0 skipped",
            "ok  \tpkg/a\t0.1s\nFAIL\tpkg/b\t0.2s",
            "--- FAIL: TestX (0.00s)",
            "Tests:       1 failed, 2 passed, 3 total",
            " Tests  1 failed | 3 passed (4)",
            "npm ERR! Test failed.  See above for more details.",
            "  5 passing (20ms)\n  2 failing",
            "FAILED (failures=1)",
            "10 examples, 1 failure",
            "FAILURES!\nTests: 5, Assertions: 10, Failures: 1.",
            "[ERROR] Tests run: 5, Failures: 1, Errors: 0, Skipped: 0",
            "80% tests passed, 1 tests failed out of 5",
            "Failed!  - Failed:     1, Passed:     4",
            "BUILD FAILED in 3s",
            "# tests 5\n# pass 4\n# fail 1",
            "5 runs, 9 assertions, 1 failures, 0 errors, 0 skips",
            "5 tests, 1 failure",
        ] {
            assert_eq!(of(output), Some(TestResult::Failed), "{output}");
        }
    }

    #[test]
    fn passes_are_read_from_every_known_runner() {
        for output in [
            "=== 5 passed in 0.12s ===",
            "5 passed, 1 skipped in 2.00s",
            "test result: ok. 4 passed; 0 failed; 0 ignored",
            "Summary [   0.1s] 5 tests run: 5 passed, 0 skipped",
            "ok  \tpkg/a\t0.1s",
            "Tests:       3 passed, 3 total",
            "Tests  3 passed (3)",
            "  5 passing (20ms)",
            "Ran 3 tests in 0.001s\n\nOK",
            "10 examples, 0 failures",
            "OK (5 tests, 10 assertions)",
            "[INFO] Tests run: 5, Failures: 0, Errors: 0, Skipped: 0",
            "100% tests passed, 0 tests failed out of 5",
            "Passed!  - Failed:     0, Passed:     5",
            "ℹ tests 5\nℹ pass 5\nℹ fail 0",
            "5 runs, 9 assertions, 0 failures, 0 errors, 0 skips",
            "5 tests, 0 failures",
        ] {
            assert_eq!(of(output), Some(TestResult::Passed), "{output}");
        }
    }

    #[test]
    fn anything_else_says_nothing() {
        for output in [
            "",
            "all tests passed, I promise",
            "5 passed the exam in town",
            "3 failed attempts",
            "test result: maybe",
            "test result: ok. 0 passed; 0 failed",
            "?   \tpkg/a\t[no test files]",
            "ok  \tpkg/a\t0.1s [no tests to run]",
            "FAILED to be funny",
            "the word FAIL in a line",
            "0 passing (1ms)",
            "0 examples, 0 failures",
            "Tests: none",
            "OK",
            "Ran 0 tests in 0.000s\n\nOK",
            "3 skipped in 0.01s",
            "5 tests, 0 failures, 5 excluded",
        ] {
            assert_eq!(of(output), None, "{output}");
        }
    }

    #[test]
    fn a_run_without_tests_is_known() {
        assert!(is_empty_run("running 0 tests\n\ntest result: ok. 0 passed; 0 failed; 0 ignored"));
        assert!(is_empty_run("?   \tpkg/a\t[no test files]"));
        assert!(!is_empty_run("test result: ok. 0 passed; 0 failed\ntest result: ok. 2 passed; 0 failed"));
        assert!(is_empty_run("Ran 0 tests in 0.000s\n\nOK"));
        assert!(is_empty_run("=== 3 skipped, 1 deselected in 0.01s ==="));
        assert!(is_empty_run("No test files found, exiting with code 0"));
        assert!(!is_empty_run("=== 3 passed, 1 skipped in 0.01s ==="));
        assert!(!is_empty_run("done"));
    }
}
