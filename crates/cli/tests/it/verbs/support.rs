//! Running the binary and looking at what it said.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// An event with nothing but the master specification's fields.
pub(crate) const EVENT: &str = r#"{"timestamp":5,"tokenCount":2,"toolCalls":1,"latencyMs":4,"outputLength":5}"#;

/// What one run said and how it ended.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct VerbEnd {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl VerbEnd {
    /// A refusal: exit code 2, nothing on stdout, `error:` and `hint:` on stderr, and these words in it.
    pub(crate) fn refused(&self, words: &[&str]) {
        assert_eq!(self.code, 2, "{self:?}");
        assert_eq!(self.out, "", "a refused input must leave nothing half-decided");
        self.complained(words);
    }

    /// An error with a hint and these words, whatever was printed before it.
    pub(crate) fn complained(&self, words: &[&str]) {
        assert!(self.err.starts_with("error: ") && self.err.contains("\nhint: "), "{self:?}");
        assert!(!self.err.contains("struct ") && !self.err.contains("panicked"), "{self:?}");
        for word in words {
            assert!(self.err.contains(word), "`{word}` is not in: {}", self.err);
        }
    }

    /// A success with nothing on stderr.
    pub(crate) fn done(&self) -> &str {
        assert_eq!((self.code, self.err.as_str()), (0, ""), "{}", self.out);
        &self.out
    }
}

/// Starts the binary with everything piped.
pub(crate) fn start(arguments: &[&str]) -> Child {
    Command::new(env!("CARGO_BIN_EXE_tripwire"))
        .args(arguments)
        .current_dir(root())
        .env("XDG_CONFIG_HOME", "/nonexistent/config")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Runs the binary on this input.
pub(crate) fn run(arguments: &[&str], input: &[u8]) -> VerbEnd {
    let mut child = start(arguments);
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_vec();
    // A program that ends early closes the pipe: that is its right, and the writer's error is no failure.
    let writer = std::thread::spawn(move || drop(stdin.write_all(&input)));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    VerbEnd {
        code: output.status.code().unwrap_or(-1),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

/// Decides on this input.
pub(crate) fn decide(input: &[u8]) -> VerbEnd {
    run(&["decide"], input)
}

/// The repository.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// A scenario by name, relative to the repository.
pub(crate) fn scenario(name: &str) -> String {
    format!("scenarios/{name}.jsonl")
}

/// The largest resident size that a running process has reached, in kilobytes.
pub(crate) fn peak_kb(child: &Child) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}
