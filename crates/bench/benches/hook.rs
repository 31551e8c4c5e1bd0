//! The hook on the path of every tool call, against an empty process that reads the same input: CPU time and wall time.
//!
//! All programs run in turn, one after the other, so that a busy machine hurts them alike. The promise is about CPU time:
//! at most three times that of an empty static Rust process in the same run. A Python and a Node hook that do nothing but
//! read their input are measured for comparison, where these are installed.
//!
//! `just bench-hook` builds everything statically, as `just static` does; a plain `cargo bench` measures a dynamic binary,
//! which starts slower.
#![expect(clippy::expect_used, clippy::print_stdout, reason = "a benchmark that cannot run must say so and stop")]

use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// How often each program is started.
const ROUNDS: usize = 300;
/// Rounds before anything is measured: caches fill and the session begins.
const WARM_UP: usize = 20;
/// The promise: CPU time in multiples of an empty process.
const RATIO_MAX: f64 = 3.0;

struct Subject {
    name: &'static str,
    program: PathBuf,
    words: Vec<String>,
    input: fn(&Path, usize) -> String,
    cpu: Vec<Duration>,
    wall: Vec<Duration>,
}

impl Subject {
    fn new(name: &'static str, program: impl Into<PathBuf>, words: &[&str], input: fn(&Path, usize) -> String) -> Self {
        let words = words.iter().map(|word| (*word).to_owned()).collect();
        Self { name, program: program.into(), words, input, cpu: Vec::new(), wall: Vec::new() }
    }

    fn run(&mut self, place: &Path, round: usize) {
        let input = (self.input)(place, round);
        let started = Instant::now();
        let mut child = Command::new(&self.program)
            .args(&self.words)
            .current_dir(place)
            .env_clear()
            .env("PATH", "/usr/local/bin:/usr/bin:/bin")
            .env("HOME", place.with_file_name("home"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program starts");
        child.stdin.take().expect("its input").write_all(input.as_bytes()).expect("it reads");
        let cpu = cpu_at_the_end(&child);
        let wall = started.elapsed();
        let output = child.wait_with_output().expect("it ends");
        // Nothing is refused; that a session of so many calls fills a model's window is said once.
        let said = String::from_utf8_lossy(&output.stdout);
        let is_quiet = said.is_empty() || said.contains("WARNING: Context at");
        assert!(output.status.success() && is_quiet, "{}: {output:?}", self.name);
        if round >= WARM_UP {
            self.cpu.push(cpu);
            self.wall.push(wall);
        }
    }
}

/// The CPU time of a process that has ended and was not yet waited for, to the nanosecond: that of its main thread, which
/// is all of it for everything here but Node.
fn cpu_at_the_end(child: &Child) -> Duration {
    let pid = Pid::from_child(child);
    waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT).expect("it ends");
    let text = fs::read_to_string(format!("/proc/{}/schedstat", child.id())).expect("the scheduler's figures");
    Duration::from_nanos(text.split(' ').next().and_then(|ran| ran.parse().ok()).expect("a number"))
}

/// What a call gave.
const RESULT: &str =
    r#","tool_response":{"stdout":"one line of output\nand another one","stderr":""},"duration_ms":12"#;

fn pre(place: &Path, round: usize) -> String {
    call(place, "PreToolUse", &format!("grep -n part{round} src/lib.rs"), round, "")
}

fn post(place: &Path, round: usize) -> String {
    call(place, "PostToolUse", &format!("grep -n part{round} src/lib.rs"), round, RESULT)
}

/// After tests the tree is hashed, which nothing else on the path of a call does: it is shown and not promised.
fn tested(place: &Path, round: usize) -> String {
    call(place, "PostToolUse", &format!("cargo test -p part{round}"), round, RESULT)
}

/// A call as Claude Code sends it, a different one each time.
fn call(place: &Path, event: &str, command: &str, round: usize, more: &str) -> String {
    let place = place.display();
    format!(
        r#"{{"session_id":"e602ff05-4981-4837-a99d-5a311f1f3787","transcript_path":"{place}/transcript.jsonl","cwd":"{place}","prompt_id":"3a16f517-fb3f-4f07-b02d-55718351be61","permission_mode":"bypassPermissions","hook_event_name":"{event}","tool_name":"Bash","tool_input":{{"command":"{command}","description":"look at one part of it"}},"tool_use_id":"toolu_{round}"{more}}}"#
    )
}

fn main() {
    let folder = tempfile::tempdir().expect("a folder");
    let place = &folder.path().join("work");
    fs::create_dir_all(place.join(".geometry")).expect("a folder");
    fs::create_dir(folder.path().join("home")).expect("a folder");
    // Sixty calls a minute is the policy's limit, and this makes thousands.
    let manifest = "gate:\n  max_tool_calls_per_minute: 1000000\n  tool_call_warning_threshold: 999999\n";
    fs::write(place.join(".geometry/MANIFEST.yaml"), manifest).expect("a manifest");
    fs::write(place.join("transcript.jsonl"), "").expect("a transcript");
    let tripwire = tripwire_bench::binary();
    let (empty, tripwire) = (installed(&empty(place), folder.path()), installed(&tripwire, folder.path()));
    let mut subjects = vec![
        Subject::new("empty static Rust process", empty, &[], pre),
        Subject::new("tripwire hook claude, before a tool", tripwire.clone(), &["hook", "claude"], pre),
        Subject::new("tripwire hook claude, after a tool", tripwire.clone(), &["hook", "claude"], post),
        Subject::new("the same after a test run", tripwire, &["hook", "claude"], tested),
    ];
    for (name, program, words) in [
        ("Python hook that only reads", "/usr/bin/python3", ["-c", "import json,sys; json.load(sys.stdin)"]),
        ("Node hook that only reads", "node", ["-e", "JSON.parse(require('fs').readFileSync(0))"]),
    ] {
        if Command::new(program).arg("--version").output().is_ok() {
            subjects.push(Subject::new(name, program, &words, pre));
        }
    }
    for round in 0..WARM_UP + ROUNDS {
        for subject in &mut subjects {
            subject.run(place, round);
        }
    }
    report(&mut subjects);
}

/// A program as an installation leaves it: copied. A linker writes its output in small pieces all over the file, the page
/// cache keeps them as such, and every page fault of a file that was just linked costs more than one of its copy.
fn installed(program: &Path, folder: &Path) -> PathBuf {
    let copy = folder.join(program.file_name().expect("a name"));
    fs::copy(program, &copy).expect("a copy");
    copy
}

/// An empty program that reads its input, compiled here: what any hook costs at least.
fn empty(place: &Path) -> PathBuf {
    let (source, program) = (place.join("empty.rs"), place.join("empty"));
    let text = "fn main(){let mut b=Vec::new();std::io::Read::read_to_end(&mut std::io::stdin(),&mut b).ok();}";
    fs::write(&source, text).expect("a source");
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    // Built as `just static` builds ours, which is the cheapest form there is.
    let built = Command::new(rustc)
        .args(["-O", "-C", "panic=abort", "-C", "target-feature=+crt-static", "-C", "relocation-model=static"])
        .args(["-C", "strip=symbols", "-o"])
        .arg(&program)
        .arg(&source)
        .status();
    assert!(built.is_ok_and(|status| status.success()), "the empty program is built");
    program
}

fn report(subjects: &mut [Subject]) {
    println!(
        "{ROUNDS} rounds
"
    );
    println!("| program | CPU median | of empty | wall p50 | wall p99 | added wall p99 |");
    println!("| --- | --- | --- | --- | --- | --- |");
    let base = median(&mut subjects[0].cpu).as_secs_f64();
    let base_wall = median(&mut subjects[0].wall);
    let mut worst: f64 = 0.0;
    for subject in subjects {
        let cpu = median(&mut subject.cpu).as_secs_f64();
        subject.wall.sort_unstable();
        let wall = |share: usize| ms(subject.wall[(subject.wall.len() * share / 100).min(subject.wall.len() - 1)]);
        let ratio = cpu / base;
        let last = subject.wall[(subject.wall.len() * 99 / 100).min(subject.wall.len() - 1)];
        let added = ms(last.saturating_sub(base_wall));
        println!("| {} | {:.3} ms | {ratio:.2} | {} | {} | {added} |", subject.name, cpu * 1e3, wall(50), wall(99));
        if subject.name.starts_with("tripwire") {
            worst = worst.max(ratio);
        }
    }
    let verdict = if worst <= RATIO_MAX { "holds" } else { "DOES NOT HOLD" };
    println!("\nat most {RATIO_MAX} times an empty process: {verdict} ({worst:.2})");
}

fn median(times: &mut [Duration]) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

fn ms(time: Duration) -> String {
    format!("{:.2} ms", time.as_secs_f64() * 1e3)
}
