//! How a call ended: from what the client says, else the exit code, else, with care, the beginning of the output.

use super::raw::RawCall;
use super::tools::ToolKind;
use super::verdict;
use super::work::{Mark, Proof, Work};
use alloc::string::String;
use tripwire_core::chain::event::{ErrorClass, Flag, Outcome, Status, TestResult};

/// Bytes at each end of an output in which an error explains itself.
const HEAD_BYTES: usize = 600;
/// Lines at each end of an output in which a client reports the exit code.
const REPORT_LINES: usize = 6;

/// Judges one call.
pub(super) fn of(raw: &RawCall<'_>, kind: ToolKind, work: &Work) -> Outcome {
    // Runners colour the very words that are looked for.
    let plain = super::normal::without_escapes(raw.output.unwrap_or_default());
    let output = plain.as_ref();
    let may_report = kind == ToolKind::Shell && raw.error != Some(false);
    let exit_code = raw.exit_code.or_else(|| may_report.then(|| reported_exit_code(output)).flatten());
    let failed = match (raw.error, exit_code) {
        (Some(true), _) => true,
        (Some(false) | None, Some(0)) | (Some(false), None) => false,
        (Some(false) | None, Some(1)) if work.marks.has(Mark::OneIsAnswer) => false,
        (Some(false) | None, Some(_)) => true,
        (None, None) => looks_failed(output, kind, work),
    };
    if !failed {
        let test = test_result(output, exit_code.map(|code| code == 0).or(raw.error.map(|_| true)), work);
        return Outcome { error_class: None, exit_code, status: Status::Ok, test };
    }
    let class = class(output, exit_code, kind, work);
    let test = match class {
        // What never ran has tested nothing.
        ErrorClass::CouldNotRun | ErrorClass::Refused => None,
        ErrorClass::Timeout | ErrorClass::NonZeroExit | ErrorClass::Tool | ErrorClass::Infrastructure => {
            test_result(output, Some(exit_code == Some(0)), work)
        }
    };
    Outcome { error_class: Some(class), exit_code, status: Status::Error, test }
}

/// What the tests said: the summary lines, and the exit status as far as it is theirs. A failure outweighs all.
fn test_result(output: &str, succeeded: Option<bool>, work: &Work) -> Option<TestResult> {
    let proof = work.proof?;
    match (verdict::of(output), succeeded, proof) {
        (Some(TestResult::Failed), _, _) | (_, Some(false), Proof::Full) => Some(TestResult::Failed),
        (Some(TestResult::Passed), _, Proof::Hidden | Proof::Pass | Proof::Full) => Some(TestResult::Passed),
        (_, Some(true), Proof::Pass | Proof::Full) => (!verdict::is_empty_run(output)).then_some(TestResult::Passed),
        (Some(TestResult::Passed) | None, _, Proof::Outdated | Proof::Filtered)
        | (None, Some(_), Proof::Hidden)
        | (None, Some(false), Proof::Pass)
        | (None, None, Proof::Hidden | Proof::Pass | Proof::Full) => None,
    }
}

/// The exit code in the lines that clients put around an output.
fn reported_exit_code(output: &str) -> Option<i32> {
    const FIRST: [&str; 5] =
        ["Process exited with code ", "Exit code: ", "Exit code ", "Error: Exit code ", "exit code: "];
    const LAST: [&str; 1] = ["Exit Code: "];
    let number =
        |line: &str, marks: &[&str]| marks.iter().find_map(|mark| line.trim().strip_prefix(mark)?.trim().parse().ok());
    let first = output.lines().take(REPORT_LINES).find_map(|line| number(line, &FIRST));
    first.or_else(|| output.lines().rev().take(REPORT_LINES).find_map(|line| number(line, &LAST)))
}

/// The two ends of an output in lower case.
fn ends(output: &str) -> (String, String) {
    let head = tripwire_core::label::cut(output.trim_start(), HEAD_BYTES).to_ascii_lowercase();
    let start = output.len().saturating_sub(HEAD_BYTES);
    let start = (start..=output.len()).find(|at| output.is_char_boundary(*at)).unwrap_or(output.len());
    (head, output.get(start..).unwrap_or_default().to_ascii_lowercase())
}

/// Whether an output starts as only errors do; the text of a file that somebody reads may start with anything.
fn looks_failed(output: &str, kind: ToolKind, work: &Work) -> bool {
    const TOOL: &[&str] =
        &["<tool_use_error>", "error executing tool", "unknown tool", "no such tool", "tool not found"];
    const ANY: &[&str] = &[
        "error:",
        "error[",
        "fatal:",
        "traceback (most recent call last)",
        "exception:",
        "invalid action",
        "bash: ",
        "/bin/sh: ",
        "sh: ",
        "zsh: ",
        "npm err!",
        "npm error",
        "panic:",
        "command timed out",
        "command failed",
        "permission denied",
        "invalid json",
        "failed to ",
        "no such file or directory",
    ];
    const FILE: &[&str] = &["file does not exist", "file not found", "enoent"];
    let head = output.trim_start().as_bytes();
    let is_start =
        |mark: &&str| head.get(..mark.len()).is_some_and(|start| start.eq_ignore_ascii_case(mark.as_bytes()));
    let starts = |marks: &[&str]| marks.iter().any(is_start);
    let shows = work.flags.has(Flag::Read) || work.flags.has(Flag::Search);
    match kind {
        ToolKind::Read | ToolKind::Search => starts(TOOL) || starts(FILE),
        ToolKind::Shell if shows => starts(TOOL),
        ToolKind::Shell | ToolKind::Edit | ToolKind::Plan | ToolKind::Wait | ToolKind::Other => {
            starts(TOOL) || starts(ANY) || starts(FILE)
        }
    }
}

/// Phrases with which clients and hooks refuse a call.
const REFUSALS: &[&str] = &[
    "doesn't want to proceed",
    "does not want to proceed",
    "doesn't want to take this action",
    "tool use was rejected",
    "command requires approval",
    "needs approval. the path is outside",
    "but you haven't granted it",
    "rejected: rm -f style commands",
    "rejected: blocked by policy",
    "rejected by user",
    "rejected by the user",
    "denied by user",
    "denied by the user",
    "user denied",
    "user rejected",
    "declined by user",
    "blocked by hook",
    "hook blocked",
    "hook denied",
    "denied by policy",
    "blocked by policy",
    "requested permissions to",
    "permission to use",
    "haven't granted it yet",
    "pretooluse hook",
    "hook error: [",
    "approval denied",
    "operation was cancelled by the user",
    "rejected by user approval",
];
/// Phrases of a time limit, at the start of an error.
const TIMEOUTS: &[&str] =
    &["timed out", "timeout", "time limit exceeded", "deadline exceeded", "timeouterror", "time-out"];
/// Phrases of what cannot be run.
const NOT_RUN: &[&str] = &[
    "command not found",
    "no such tool",
    "unknown tool",
    "tool not found",
    "is not recognized as an internal",
    "executable file not found",
    "cannot execute binary",
    "exec format error",
    "no tool named",
    "is not a registered tool",
];
/// Phrases of an overloaded provider or a broken network; bare numbers count only next to words that explain them.
const INFRASTRUCTURE: &[&str] = &[
    "too many requests",
    "rate limit",
    "rate limited",
    "rate limits",
    "rate-limit",
    "rate-limited",
    "rate_limit_error",
    "rate_limit_exceeded",
    "ratelimited",
    "ratelimiterror",
    "ratelimitexceeded",
    "ratelimitreached",
    "overloaded_error",
    "is overloaded",
    "are overloaded",
    "server overloaded",
    "currently overloaded",
    "temporarily overloaded",
    "service unavailable",
    "econnreset",
    "etimedout",
    "eai_again",
    "connection reset by peer",
    "temporary failure in name resolution",
    "bad gateway",
    "gateway timeout",
    "http 429",
    "http 503",
    "http 529",
    "status 429",
    "status 503",
    "status 529",
    "status code 429",
    "status code 503",
    "status code 529",
    "error 429",
    "error 503",
    "error 529",
    "error: 429",
    "error: 503",
    "error: 529",
    "resource exhausted",
    "resource_exhausted",
    "quota exceeded",
    "socket hang up",
];

/// Words before a phrase that make it another thing: a full disk is nobody's network.
const NOT_NETWORK: &[&str] = &["disk "];

/// Whether a text in small letters has one of the phrases as words of its own, not as a part of a name or a path.
fn says_network(text: &str) -> bool {
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'/');
    let is_said = |phrase: &str, at: usize| {
        let (before, from) = text.split_at_checked(at).unwrap_or_default();
        let behind = from.as_bytes().get(phrase.len()..).unwrap_or_default();
        let goes_on = match behind {
            // A sentence may end here; a file's name goes on.
            [b'.' | b'-', next, ..] => is_name(*next),
            [next, ..] => is_name(*next),
            [] => false,
        };
        !before.bytes().next_back().is_some_and(is_name)
            && !goes_on
            && !NOT_NETWORK.iter().any(|other| before.ends_with(other))
    };
    INFRASTRUCTURE.iter().any(|phrase| text.match_indices(phrase).any(|(at, _)| is_said(phrase, at)))
}

/// Why a call failed.
fn class(output: &str, exit_code: Option<i32>, kind: ToolKind, work: &Work) -> ErrorClass {
    let (head, tail) = ends(output);
    let has = |text: &str, marks: &[&str]| marks.iter().any(|mark| text.contains(mark));
    let first_line = head.lines().next().unwrap_or_default();
    // Tests and compilers print all sorts of things; only the network's own words count, and not from them.
    let may_be_network = !work.flags.has(Flag::Test) && !work.flags.has(Flag::Build);
    match exit_code {
        None | Some(0) if has(&head, REFUSALS) => ErrorClass::Refused,
        Some(126 | 127) => ErrorClass::CouldNotRun,
        Some(124) if work.marks.has(Mark::Limited) => ErrorClass::Timeout,
        Some(124 | 137 | 143) if has(first_line, TIMEOUTS) => ErrorClass::Timeout,
        Some(code) if code != 0 => {
            let network = may_be_network && (says_network(&head) || says_network(&tail));
            if network { ErrorClass::Infrastructure } else { ErrorClass::NonZeroExit }
        }
        Some(_) | None if has(first_line, TIMEOUTS) => ErrorClass::Timeout,
        Some(_) | None if has(first_line, NOT_RUN) => ErrorClass::CouldNotRun,
        Some(_) | None if may_be_network && says_network(&head) => ErrorClass::Infrastructure,
        Some(_) | None => match kind {
            ToolKind::Shell => ErrorClass::NonZeroExit,
            ToolKind::Edit | ToolKind::Read | ToolKind::Search | ToolKind::Plan | ToolKind::Wait | ToolKind::Other => {
                ErrorClass::Tool
            }
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools;
    use crate::work::of_command;

    fn judge(raw: &RawCall<'_>) -> Outcome {
        of(raw, tools::kind(raw.tool), &of_command(raw.args))
    }

    fn bash<'a>(command: &'a str, output: &'a str) -> RawCall<'a> {
        RawCall { tool: "Bash", args: command, output: Some(output), ..RawCall::default() }
    }

    #[test]
    fn every_class_of_error_is_told_apart() {
        let failed = |tool, output, exit_code| RawCall {
            tool,
            args: "x",
            output: Some(output),
            error: Some(true),
            exit_code,
            ..RawCall::default()
        };
        for (raw, expected) in [
            (failed("Bash", "Command timed out after 2m 0.0s", None), ErrorClass::Timeout),
            (failed("Bash", "Error: timeout\nrest", Some(124)), ErrorClass::Timeout),
            (failed("Bash", "bash: foo: command not found", None), ErrorClass::CouldNotRun),
            (failed("Bash", "", Some(127)), ErrorClass::CouldNotRun),
            (failed("Bash", "./x: Permission denied", Some(126)), ErrorClass::CouldNotRun),
            (failed("Frobnicate", "Error: unknown tool `Frobnicate`", None), ErrorClass::CouldNotRun),
            (failed("Bash", "1 error", Some(2)), ErrorClass::NonZeroExit),
            (failed("Bash", "Exit code 1\nthe operation timed out", None), ErrorClass::NonZeroExit),
            (failed("Bash", "curl: (22) The requested URL returned error: 503", Some(22)), ErrorClass::Infrastructure),
            (failed("WebFetch", "Request failed with status code 429", None), ErrorClass::Infrastructure),
            (failed("model", "529 {\"type\":\"overloaded_error\"}", None), ErrorClass::Infrastructure),
            (failed("Bash", "npm error code ECONNRESET", Some(1)), ErrorClass::Infrastructure),
            (failed("Edit", "The user doesn't want to proceed with this tool use.", None), ErrorClass::Refused),
            (failed("Bash", "blocked by hook: no", None), ErrorClass::Refused),
            (failed("Edit", "String to replace not found in file.", None), ErrorClass::Tool),
            (failed("Read", "File has 503 lines, 429 too many", None), ErrorClass::Tool),
            (failed("Bash", "cat: x: Permission denied", Some(1)), ErrorClass::NonZeroExit),
        ] {
            assert_eq!(judge(&raw).error_class, Some(expected), "{raw:?}");
        }
    }

    #[test]
    fn exit_codes_are_found_where_clients_put_them() {
        for (output, code) in [
            ("Chunk ID: 1\nWall time: 0.1 seconds\nProcess exited with code 3\nOutput:\nx", Some(3)),
            ("Exit code 2\nboom", Some(2)),
            ("Output: x\nError: (none)\nExit Code: 4\nSignal: (none)", Some(4)),
            ("Process exited with code 0\nOutput:\nok", Some(0)),
            ("fine\n\n\n\n\n\n\nExit code 5\n\n\n\n\n\n\n\n", None),
            ("", None),
        ] {
            assert_eq!(judge(&bash("run", output)).exit_code, code, "{output}");
        }
    }

    #[test]
    fn an_unknown_end_is_an_error_only_if_it_starts_like_one() {
        for (tool, args, output) in [
            ("Bash", "make", "error: no rule"),
            ("Bash", "foo", "bash: foo: command not found"),
            ("python", "x", "Traceback (most recent call last):\n"),
            ("click", "x", "Invalid action!"),
            ("Read", "x", "<tool_use_error>no</tool_use_error>"),
        ] {
            let raw = RawCall { tool, args, output: Some(output), ..RawCall::default() };
            assert_eq!(judge(&raw).status, Status::Error, "{output}");
        }
        for (tool, args, output) in [
            ("Bash", "cat error.log", "error: no rule"),
            ("Read", "x", "Error: this is the text of a file"),
            ("Bash", "make", "0 errors"),
            ("Bash", "make", ""),
            ("grep", "x", "error: found in a.rs"),
        ] {
            let raw = RawCall { tool, args, output: Some(output), ..RawCall::default() };
            assert_eq!(judge(&raw).status, Status::Ok, "{output}");
        }
        let told = RawCall { error: Some(false), ..bash("make", "error: no rule") };
        assert_eq!(judge(&told).status, Status::Ok, "the client knows better");
    }

    #[test]
    fn loop_3_only_the_networks_own_words_make_a_network_error() {
        let class = |command, output| judge(&RawCall { exit_code: Some(1), ..bash(command, output) }).error_class;
        let network = Some(ErrorClass::Infrastructure);
        for output in ["Error: 529 overloaded_error", "rate limit exceeded", "the model is overloaded.", "HTTP 503"] {
            assert_eq!(class("ask-model", output), network, "{output}");
        }
        for output in [
            "a.cpp:3: error: call of overloaded 'f(int)' is ambiguous",
            "write failed: Disk quota exceeded",
            "Traceback: File \"app/rate_limit.py\", line 3",
        ] {
            assert_ne!(class("./run", output), network, "{output}");
        }
        assert_ne!(class("make", "error 503 in gen.c"), network, "a compiler says all sorts of things");
    }

    #[test]
    fn a_search_without_a_match_is_no_failure() {
        let call = |command, code| judge(&RawCall { exit_code: Some(code), ..bash(command, "") }).status;
        assert_eq!(call("grep -r foo .", 1), Status::Ok);
        assert_eq!(call("grep -r foo .", 2), Status::Error);
        assert_eq!(call("cargo build", 1), Status::Error);
    }

    #[test]
    fn dirty_1_test_results_come_from_the_exit_code_or_the_summary() {
        let judged = |command, output, exit_code| judge(&RawCall { exit_code, ..bash(command, output) }).test;
        let (passed, failed) = (Some(TestResult::Passed), Some(TestResult::Failed));
        for (command, output, exit_code, expected) in [
            ("cargo test", "", Some(0), passed),
            ("cargo test", "", Some(101), failed),
            ("cargo test", "", None, None),
            ("pytest", "3 failed, 5 passed in 0.1s", None, failed),
            ("pytest", "5 passed in 0.1s", None, passed),
            ("pytest", "5 passed in 0.1s", Some(1), failed),
            ("mvn test | tail", "\u{1b}[1;32mTests run: \u{1b}[0;1m15\u{1b}[m, Failures: 0, Errors: 0", None, passed),
            ("cargo test || true", "", Some(0), None),
            ("cargo test || true", "test result: FAILED. 1 passed; 1 failed", Some(0), failed),
            ("cargo test | tail -3", "", Some(0), None),
            ("cargo test | tail -3", "test result: ok. 3 passed; 0 failed", Some(0), passed),
            ("cargo test | grep ok", "test result: ok. 3 passed; 0 failed", Some(0), None),
            ("cargo test && ls", "", Some(1), None),
            ("cargo test", "running 0 tests\ntest result: ok. 0 passed; 0 failed", Some(0), None),
            ("pytest", "bash: pytest: command not found", Some(127), None),
            ("echo cargo test", "test result: ok. 3 passed; 0 failed", Some(0), None),
            ("cat log", "1 failed, 5 passed in 0.1s", Some(0), None),
        ] {
            assert_eq!(judged(command, output, exit_code), expected, "{command} {output} {exit_code:?}");
        }
        let told = |error| judge(&RawCall { error: Some(error), ..bash("cargo test", "") }).test;
        assert_eq!((told(false), told(true)), (passed, failed));
    }
}
