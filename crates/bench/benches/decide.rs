//! How many events a second `tripwire decide` takes in on one core, JSON in and out included.
//!
//! The binary itself is timed, from the first byte in to the last byte out, on a stream that repeats nothing: loops
//! would make it look slower, an empty stream faster. `cargo bench --package tripwire-cli --bench decide`

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

type Outcome = Result<(), Box<dyn std::error::Error>>;

/// Runs of each measurement; the fastest counts, because a loaded machine only ever adds time.
const RUNS: usize = 5;

fn main() -> Outcome {
    let folder = tempfile::tempdir()?;
    let mut out = std::io::stdout().lock();
    for (name, events, line) in [
        ("events of at most 400 B, facts given", 300_000, facts as fn(u64) -> String),
        ("raw calls with 4 KB of output", 20_000, raw_call),
    ] {
        let file = folder.path().join("events.jsonl");
        let text: String = (0..events).map(line).collect();
        let bytes = u64::try_from(text.len())? / events;
        std::fs::write(&file, text)?;
        let mut fastest = u64::MAX;
        for _ in 0..RUNS {
            fastest = fastest.min(microseconds(&file)?);
        }
        let rate = events * 1_000_000 / fastest.max(1);
        writeln!(out, "decide, {name} ({bytes} B a line): {rate} events/s, {} ns an event", fastest * 1_000 / events)?;
    }
    Ok(())
}

fn microseconds(file: &Path) -> Result<u64, Box<dyn std::error::Error>> {
    let start = Instant::now();
    let status = Command::new(tripwire_bench::binary())
        .args(["decide", "--json"])
        .arg(file)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .status()?;
    let taken = u64::try_from(start.elapsed().as_micros())?;
    if status.success() { Ok(taken) } else { Err(format!("decide ended with {status}").into()) }
}

/// An event as an adapter writes it: action, outcome, digests, token classes.
fn facts(n: u64) -> String {
    let line = format!(
        "{{\"timestamp\":{},\"tokenCount\":640,\"toolCalls\":1,\"latencyMs\":830,\"outputLength\":1200,\
         \"outputHash\":\"{n:016x}\",\"action\":{{\"tool\":\"Bash\",\"argsDigest\":\"a{n:015x}\",\
         \"signature\":\"Bash(cmd=cargo test {n})\"}},\"outcome\":{{\"status\":\"ok\",\"exitCode\":0}},\
         \"resultDigest\":\"r{n:015x}\",\"inputTokens\":90,\"outputTokens\":110,\"turnId\":\"t{n}\"}}\n",
        n * 4_000
    );
    debug_assert!(line.len() <= 400);
    line
}

/// A raw call whose facts are computed on the way.
fn raw_call(n: u64) -> String {
    let mut output = String::new();
    let mut word = n;
    while output.len() < 4_096 {
        word = word.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        output.push_str(WORDS[usize::try_from(word >> 59).unwrap_or(0)]);
        output.push(if word & 0xF00 == 0 { '\n' } else { ' ' });
    }
    let value = serde_json::json!({
        "timestamp": n * 4_000, "tool": "Bash", "args": {"command": format!("cargo test part_{n}")},
        "output": output, "exitCode": 0, "tokenCount": 640,
    });
    format!("{value}\n")
}

/// What outputs are made of.
const WORDS: [&str; 32] = [
    "running",
    "test",
    "parser",
    "ok",
    "compiling",
    "finished",
    "warning",
    "unused",
    "variable",
    "error",
    "expected",
    "found",
    "src/lib.rs",
    "line",
    "column",
    "note",
    "help",
    "consider",
    "the",
    "value",
    "borrowed",
    "here",
    "moved",
    "function",
    "module",
    "crate",
    "passed",
    "failed",
    "ignored",
    "measured",
    "filtered",
    "result",
];
