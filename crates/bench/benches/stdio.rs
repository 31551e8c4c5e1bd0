//! A question over `serve --stdio`: `before` and `after` of one call, on a disk and in memory, beside what the disk itself takes.
//!
//! The promise is about a question without its one `fdatasync`: at most 0.2 ms. The anchor is a synced append of the same
//! size to a file beside the journal, in the same rounds, so that a busy machine and a slow disk hurt both alike.
#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a bench ends at the first surprise and prints figures")]

use std::fs::{self, File, OpenOptions};
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

const ROUNDS: usize = 400;
const WARM_UP: usize = 40;
/// About what one question and its decision take in the journal.
const RECORD_BYTES: usize = 2_600;

fn main() {
    if !std::env::args().any(|argument| argument == "--bench") {
        return;
    }
    let disk = tempfile::tempdir().unwrap();
    measure("disk", disk.path());
    if Path::new("/dev/shm").is_dir() {
        let memory = tempfile::tempdir_in("/dev/shm").unwrap();
        measure("memory", memory.path());
    }
}

fn measure(place: &str, folder: &Path) {
    let (work, home) = (folder.join("work"), folder.join("home"));
    fs::create_dir(&work).unwrap();
    fs::create_dir(&home).unwrap();
    let mut child = Command::new(tripwire_bench::binary())
        .args(["serve", "--stdio"])
        .current_dir(&work)
        .env_clear()
        .env("HOME", &home)
        .env("PATH", "/usr/bin:/bin")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut pipe = Pipe { input: child.stdin.take().unwrap(), output: BufReader::new(child.stdout.take().unwrap()) };
    // The minute's limits are not what is measured.
    let settings = r#"{"gate.max_tool_calls_per_minute":"1000000","gate.max_tokens_per_minute":"1000000000"}"#;
    let begun = pipe.ask("initialize", &format!(r#"{{"protocol":1,"settings":{settings}}}"#));
    assert!(begun.contains(r#""protocol":1"#), "{begun}");
    let mut anchor = OpenOptions::new().create(true).append(true).open(folder.join("anchor")).unwrap();
    let (mut before, mut after, mut synced, mut pong) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for round in 0..ROUNDS + WARM_UP {
        let params = format!(r#"{{"tool":"Read","args":{{"path":"src/part{round}.rs"}}}}"#);
        let (asked, answer) = timed(|| pipe.ask("before", &params));
        assert!(answer.contains(r#""allowed":true"#), "{answer}");
        let call = answer.split(r#""call":""#).nth(1).and_then(|rest| rest.split('"').next()).unwrap().to_owned();
        let params = format!(r#"{{"call":"{call}","output":"line {round} of the file\nand another one"}}"#);
        let (told, answer) = timed(|| pipe.ask("after", &params));
        assert!(!answer.contains("error"), "{answer}");
        let (disk, ()) = timed(|| sync_append(&mut anchor));
        let (empty, answer) = timed(|| pipe.ask("nothing", "{}"));
        assert!(answer.contains("-32601"), "{answer}");
        if round >= WARM_UP {
            before.push(asked);
            after.push(told);
            synced.push(disk);
            pong.push(empty);
        }
    }
    drop(pipe);
    child.wait().unwrap();
    let (before, after, synced, pong) = (median(before), median(after), median(synced), median(pong));
    println!(
        "{place}: before {before:?}, after {after:?}; a synced append {synced:?}; an unknown method {pong:?}; \
         a question without its sync {:?} (at most 200µs)",
        before.saturating_sub(synced)
    );
}

struct Pipe {
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Pipe {
    fn ask(&mut self, method: &str, params: &str) -> String {
        let line = format!("{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"{method}\",\"params\":{params}}}\n");
        self.input.write_all(line.as_bytes()).unwrap();
        let mut answer = String::new();
        self.output.read_line(&mut answer).unwrap();
        answer
    }
}

fn sync_append(file: &mut File) {
    file.write_all(&[b'x'; RECORD_BYTES]).unwrap();
    file.sync_data().unwrap();
}

fn timed<T>(work: impl FnOnce() -> T) -> (Duration, T) {
    let begun = Instant::now();
    let given = work();
    (begun.elapsed(), given)
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}
