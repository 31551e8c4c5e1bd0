//! What the guard of a tool server adds to a call, against the same server without it, on a memory disk and on a disk.
//!
//! The promise is about the median: at most 0.3 ms on a memory disk; on a disk at most one `fdatasync` of the same run and
//! 0.3 ms more. Both servers answer in turn, so that a busy machine hurts them alike. Then the processor's time of the guard with
//! the official server-everything, where that is installed: at most 1.5 times that of a line copier in Python with the same server.
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
/// Calls of one run in which the processor's time is measured, and such runs of each kind.
const CPU_CALLS: usize = 3_000;
const CPU_RUNS: usize = 3;
/// The most that the guard with its server may take of the processor, in parts of a thousand of the copier with the same one.
const CPU_PER_MILLE_MAX: u64 = 1_500;
/// What stands between a client and a server and does nothing but pass lines on.
const COPIER: &str = r"
import subprocess, sys, threading
server = subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
def copy(lines, out):
    for line in iter(lines.readline, b''):
        out.write(line)
        out.flush()
    out.close()
back = threading.Thread(target=copy, args=(server.stdout, sys.stdout.buffer))
back.start()
copy(sys.stdin.buffer, server.stdin)
back.join()
server.wait()
";

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

    /// Says a message and reads on to its answer; the server may say other things before it.
    fn ask(&mut self, id: usize, method: &str, params: &str) -> String {
        let line = format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"{method}\",\"params\":{params}}}\n");
        self.input.write_all(line.as_bytes()).expect("it reads");
        loop {
            let mut answer = String::new();
            let read = self.output.read_line(&mut answer).expect("it answers");
            assert!(read > 0, "it ended before its answer to `{method}`");
            let is_answer = answer.contains("\"result\"") || answer.contains("\"error\"");
            let has_id = [",", "}"].iter().any(|end| answer.contains(&format!("\"id\":{id}{end}")));
            if is_answer && has_id {
                return answer;
            }
        }
    }
}

/// The processor's time of all processes that were waited for, in clock ticks: fields 16 and 17 of `proc_pid_stat`(5).
fn ticks_of_the_ended() -> u64 {
    let stat = fs::read_to_string("/proc/self/stat").expect("a process file system");
    let fields = stat.rsplit_once(')').map(|(_, rest)| rest.split_whitespace()).expect("fields");
    fields.skip(13).take(2).filter_map(|field| field.parse::<u64>().ok()).sum()
}

/// The ticks of one run: the session of an agent that calls one tool again and again.
fn ticks(command: Command) -> u64 {
    let before = ticks_of_the_ended();
    let mut peer = Peer::start(command);
    let about = r#"{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}"#;
    peer.ask(0, "initialize", about);
    peer.input.write_all(b"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n").expect("it reads");
    peer.ask(1, "tools/list", "{}");
    for id in 2..CPU_CALLS + 2 {
        let answer = peer.ask(id, "tools/call", &format!(r#"{{"name":"echo","arguments":{{"message":"call {id}"}}}}"#));
        assert!(answer.contains(&format!("Echo: call {id}")), "{answer}");
    }
    drop(peer.input);
    peer.child.wait().expect("it ends");
    ticks_of_the_ended() - before
}

/// The processor's time of the guard and of the copier, each with the official server.
fn cpu() {
    let clients = std::env::var_os("TRIPWIRE_CLIENTS").map(PathBuf::from);
    let clients = clients.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".cache/tripwire-clients")));
    let script =
        clients.map(|folder| folder.join("mcp/node_modules/@modelcontextprotocol/server-everything/dist/index.js"));
    let Some(script) = script.filter(|script| script.is_file()) else {
        println!("SKIPPED: server-everything is not installed; `.ci/run` does, and TRIPWIRE_CLIENTS names the folder");
        return;
    };
    let path = std::env::var_os("PATH").unwrap_or_default();
    let in_folder = |folder: &Path, program: &Path, words: &[&str]| {
        let mut command = Command::new(program);
        command.args(words).arg("node").arg(&script).arg("stdio").env_clear().env("PATH", &path);
        command.current_dir(work(folder)).env("HOME", folder.join("home"));
        command
    };
    // The interpreter itself: what stands in the path may be a script that looks for it.
    let python = Command::new("python3").args(["-c", "import sys; print(sys.executable)"]).output().expect("python3");
    let python = PathBuf::from(String::from_utf8_lossy(&python.stdout).trim());
    let (mut copied, mut guarded) = (Vec::new(), Vec::new());
    for _ in 0..CPU_RUNS {
        let folder = tempfile::tempdir().expect("a folder");
        copied.push(ticks(in_folder(folder.path(), &python, &["-c", COPIER])));
        let words = ["mcp", "--name", "everything", "--"];
        guarded.push(ticks(in_folder(folder.path(), &tripwire_bench::binary(), &words)));
    }
    copied.sort_unstable();
    guarded.sort_unstable();
    let (copied, guarded) = (copied[CPU_RUNS / 2], guarded[CPU_RUNS / 2]);
    let per_mille = guarded * 1_000 / copied.max(1);
    let verdict = if per_mille <= CPU_PER_MILLE_MAX { "kept" } else { "NOT KEPT" };
    println!(
        "processor, {CPU_CALLS} calls of server-everything, median of {CPU_RUNS}: copier {copied} ticks, guard {guarded} ticks, \
         {per_mille} per mille (at most {CPU_PER_MILLE_MAX}): {verdict}"
    );
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

/// A workspace in which the minute's limits are not what is measured, with a home beside it.
fn work(folder: &Path) -> PathBuf {
    let place = folder.join("work");
    fs::create_dir_all(place.join(".geometry")).expect("a folder");
    fs::create_dir_all(folder.join("home")).expect("a folder");
    let manifest = "gate:\n  max_tool_calls_per_minute: 1000000\n  tool_call_warning_threshold: 999999\n";
    fs::write(place.join(".geometry/MANIFEST.yaml"), manifest).expect("a manifest");
    place
}

fn measure(name: &str, folder: &Path) {
    let place = work(folder);
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
    if !std::env::args().any(|argument| argument == "--bench") {
        return;
    }
    let memory = Path::new("/dev/shm");
    if memory.is_dir() {
        let folder = tempfile::tempdir_in(memory).expect("a folder");
        measure("memory disk", folder.path());
    } else {
        println!("SKIPPED: there is no /dev/shm here");
    }
    let folder = tempfile::tempdir().expect("a folder");
    measure("disk", folder.path());
    cpu();
}
