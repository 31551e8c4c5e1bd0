//! What the guard of a tool server adds to a call, against the same server without it, on a memory disk and on a disk.
//!
//! The promise is about the median: at most 0.3 ms on a memory disk; on a disk at most one `fdatasync` of the same run and
//! 0.3 ms more. Both servers answer in turn, so that a busy machine hurts them alike.
#![expect(clippy::expect_used, clippy::print_stdout, reason = "a benchmark that cannot run must say so and stop")]

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

/// Calls that are measured.
const ROUNDS: usize = 1_000;
/// Calls before anything is measured.
const WARM_UP: usize = 50;
/// What may be added beside a sync.
const ADDED_MAX: Duration = Duration::from_micros(300);

/// A server that answers every line that has an id at once.
const SERVER: &str = r#"
use std::io::{BufRead, Write};
fn main() {
    let mut out = std::io::stdout().lock();
    for line in std::io::stdin().lock().lines().map_while(Result::ok) {
        let Some((_, rest)) = line.split_once("\"id\":") else { continue };
        let id: String = rest.chars().take_while(char::is_ascii_digit).collect();
        writeln!(out, "{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{{\"content\":[{{\"type\":\"text\",\"text\":\"line {id}\"}}]}}}}").ok();
        out.flush().ok();
    }
}
"#;

struct Peer {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    took: Vec<Duration>,
}

impl Peer {
    fn start(mut command: Command) -> Self {
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("a start");
        let input = child.stdin.take().expect("its input");
        let output = BufReader::new(child.stdout.take().expect("its output"));
        Self { child, input, output, took: Vec::new() }
    }

    /// A call as an agent makes it, a different one each time.
    fn call(&mut self, round: usize) {
        let line = format!(
            "{{\"jsonrpc\":\"2.0\",\"id\":{round},\"method\":\"tools/call\",\"params\":{{\"name\":\"read_file\",\"arguments\":{{\"path\":\"src/part{round}.rs\"}}}}}}\n"
        );
        let started = Instant::now();
        self.input.write_all(line.as_bytes()).expect("it reads");
        let mut answer = String::new();
        self.output.read_line(&mut answer).expect("it answers");
        let took = started.elapsed();
        assert!(answer.contains("\"line "), "{answer}");
        if round >= WARM_UP {
            self.took.push(took);
        }
    }

    fn median(mut self) -> Duration {
        drop(self.input);
        self.child.wait().expect("it ends");
        median(&mut self.took)
    }
}

fn median(took: &mut [Duration]) -> Duration {
    took.sort_unstable();
    took.get(took.len() / 2).copied().unwrap_or_default()
}

/// The median of one `fdatasync` behind an append of the size of a record.
fn sync(place: &Path) -> Duration {
    let mut file = File::create(place.join("sync")).expect("a file");
    let mut took = Vec::new();
    for _ in 0..ROUNDS / 2 {
        file.write_all(&[b'x'; 1_500]).expect("a write");
        let started = Instant::now();
        file.sync_data().expect("a sync");
        took.push(started.elapsed());
    }
    median(&mut took)
}

fn server(folder: &Path) -> PathBuf {
    let (source, program) = (folder.join("server.rs"), folder.join("server"));
    fs::write(&source, SERVER).expect("a source");
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let built = Command::new(rustc).args(["-O", "-o"]).arg(&program).arg(&source).status().expect("a compiler");
    assert!(built.success(), "the server is built");
    program
}

fn measure(name: &str, folder: &Path) {
    let place = folder.join("work");
    fs::create_dir_all(place.join(".geometry")).expect("a folder");
    fs::create_dir_all(folder.join("home")).expect("a folder");
    let manifest = "gate:\n  max_tool_calls_per_minute: 1000000\n  tool_call_warning_threshold: 999999\n";
    fs::write(place.join(".geometry/MANIFEST.yaml"), manifest).expect("a manifest");
    let server = server(folder);
    let mut guarded = Command::new(tripwire_bench::binary());
    guarded.args(["mcp", "--name", "bench", "--"]).arg(&server);
    guarded.current_dir(&place).env_clear().env("HOME", folder.join("home")).env("PATH", "/usr/bin:/bin");
    let (mut plain, mut guarded) = (Peer::start(Command::new(&server)), Peer::start(guarded));
    for round in 0..WARM_UP + ROUNDS {
        plain.call(round);
        guarded.call(round);
    }
    let (plain, guarded, sync) = (plain.median(), guarded.median(), sync(&place));
    let added = guarded.saturating_sub(plain);
    let may = if name == "memory disk" { ADDED_MAX } else { ADDED_MAX + sync };
    let verdict = if added <= may { "kept" } else { "NOT KEPT" };
    println!(
        "{name}: plain {plain:?}, guarded {guarded:?}, added {added:?} (at most {may:?}; fdatasync {sync:?}): {verdict}"
    );
}

fn main() {
    let memory = Path::new("/dev/shm");
    if memory.is_dir() {
        let folder = tempfile::tempdir_in(memory).expect("a folder");
        measure("memory disk", folder.path());
    } else {
        println!("SKIPPED: there is no /dev/shm here");
    }
    let folder = tempfile::tempdir().expect("a folder");
    measure("disk", folder.path());
}
