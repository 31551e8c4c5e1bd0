//! Two promises with numbers: `status` on a journal of a million records, and a storm of 2,000 processes.
//!
//! `cargo bench -p tripwire-cli --bench session`
#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a bench ends at the first surprise and prints figures")]

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use tripwire_core::chain::Chain;
use tripwire_core::chain::event::{Action, AgentEvent};
use tripwire_core::input::{Input, What};
use tripwire_core::label::Label;
use tripwire_core::units::{Count, RunMillis};
use tripwire_journal::storage::Disk;
use tripwire_journal::{Append, Batch, Durability, Entry, Journal, Options, SessionPaths};
use tripwire_session::body;
use tripwire_session::driver::Driver;
use tripwire_workspace::clock;
use tripwire_workspace::geometry::layout::Layout;
use tripwire_workspace::geometry::wall_clock::WallClock;

const RECORDS: u64 = 1_000_000;
const PROCESSES: usize = 2_000;
const AT_ONCE: usize = 16;

fn main() {
    // `cargo test --benches` builds this and runs it with another flag; the figures are only worth something in a bench.
    if !std::env::args().any(|argument| argument == "--bench") {
        return;
    }
    status();
    storm();
}

fn tripwire(folder: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(tripwire_bench::binary());
    command.args(args).current_dir(folder).env("HOME", folder.with_file_name("home")).env_remove("XDG_STATE_HOME");
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    command
}

fn timed(mut command: Command, input: &str) -> (Duration, Option<i32>) {
    let begun = Instant::now();
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).ok();
    let output = child.wait_with_output().unwrap();
    let taken = begun.elapsed();
    assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
    (taken, output.status.code())
}

fn report(what: &str, mut times: Vec<Duration>) {
    times.sort();
    let at = |per_mille: usize| times[(times.len() - 1) * per_mille / 1_000];
    println!("{what}: n {} p50 {:?} p99 {:?} max {:?}", times.len(), at(500), at(990), at(1_000));
}

fn event(n: u64) -> What {
    What::Event(AgentEvent {
        timestamp: RunMillis::new(n * 1_000),
        action: Some(Action { tool: Label::cut("Bash"), args_digest: Label::new(&n.to_string()), ..Action::default() }),
        result_digest: Label::new(&n.to_string()),
        tool_calls: Count::new(1),
        ..AgentEvent::default()
    })
}

/// A real session with a million records, written in groups.
fn long_session(layout: &Layout) {
    let start = WallClock::from_epoch_ms(clock::now().epoch_ms() - 1_000_000_000);
    let driver = Driver::begin(layout, start, |_| Ok(())).unwrap();
    let session = driver.session().clone();
    let mut chain = Chain::new(driver.policy().clone()).unwrap();
    drop(driver);
    let paths = SessionPaths::new(layout.folder(), &session);
    let mut journal = Journal::open(Disk, paths, Options::default()).unwrap();
    let mut inputs = 0;
    while journal.records() < RECORDS {
        let mut entries = Vec::new();
        for _ in 0..512 {
            let input = Input { at: RunMillis::new(inputs * 1_000), what: event(inputs) };
            let step = chain.step(&input);
            let (mut one, mut two) = (String::new(), String::new());
            body::write_input(&input, &mut one).unwrap();
            body::write_decision(session.as_str(), &step.decision, &mut two).unwrap();
            for text in [one, two] {
                entries.push(Entry {
                    body: Cow::Owned(text),
                    durations_ms: BTreeMap::new(),
                    wall_ms: start.epoch_ms() + inputs * 1_000,
                });
            }
            inputs += 1;
        }
        let batch = Batch { entries, durability: Durability::Grouped, after: None };
        assert!(matches!(journal.append(&batch).unwrap(), Append::Ack(_)));
    }
}

fn status() {
    let outer = tempfile::tempdir().unwrap();
    let folder = outer.path().join("work");
    let layout = Layout::at(&folder.join(".geometry"));
    std::fs::create_dir_all(layout.folder()).unwrap();
    let begun = Instant::now();
    long_session(&layout);
    println!("a journal of {RECORDS} records: written in {:?}", begun.elapsed());
    let tick = "{\"at\":0,\"what\":\"tick\"}\n";
    let (rebuilt, _) = timed(tripwire(&folder, &["step", "-"]), tick);
    println!("step without a state file (reads and decides everything again): {rebuilt:?}");
    let times = (0..50).map(|_| timed(tripwire(&folder, &["step", "-"]), tick).0).collect();
    report("step on it", times);
    let times = (0..200).map(|_| timed(tripwire(&folder, &["status"]), "").0).collect();
    report("status on it", times);
    let begun = Instant::now();
    let (_, code) = timed(tripwire(&folder, &["verify"]), "");
    println!("verify of all of it: {:?}, exit {code:?}", begun.elapsed());
    let times = (0..200).map(|_| timed(tripwire(&folder, &["--version"]), "").0).collect();
    report("an empty process", times);
}

fn storm() {
    let outer = tempfile::tempdir().unwrap();
    let folder = outer.path().join("work");
    let geometry = folder.join(".geometry");
    std::fs::create_dir_all(&geometry).unwrap();
    let rates = "gate:\n  max_tool_calls_per_minute: 100000\n  tool_call_warning_threshold: 100000\n";
    std::fs::write(geometry.join("MANIFEST.yaml"), rates).unwrap();
    let (next, times) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let call = |n: usize| {
        format!("{{\"timestamp\":0,\"tool\":\"Bash\",\"args\":{{\"command\":\"storm-{n}\"}},\"output\":\"{n}\"}}\n")
    };
    let alone = (0..100).map(|n| timed(tripwire(&folder, &["step", "-"]), &call(100_000 + n)).0).collect();
    report("step, one at a time", alone);
    let begun = Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                loop {
                    let n = next.fetch_add(1, Ordering::Relaxed);
                    if n >= PROCESSES {
                        return;
                    }
                    let (taken, code) = timed(tripwire(&folder, &["step", "-"]), &call(n));
                    assert!(matches!(code, Some(0 | 75)), "{code:?}");
                    times.lock().unwrap().push(taken);
                }
            });
        }
    });
    println!("storm: {PROCESSES} processes, {AT_ONCE} at once, in {:?}", begun.elapsed());
    report("step in the storm", times.into_inner().unwrap());
    let journals = std::fs::read_dir(geometry.join("journal")).unwrap().count();
    let lines: usize = std::fs::read_dir(geometry.join("journal"))
        .unwrap()
        .flat_map(|session| std::fs::read_dir(session.unwrap().path()).unwrap())
        .map(|file| file.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "jsonl"))
        .map(|path| std::fs::read_to_string(path).unwrap().lines().count())
        .sum();
    assert_eq!((journals, lines), (1, (PROCESSES + 100) * 2 + 1), "none lost");
    let (_, code) = timed(tripwire(&folder, &["verify"]), "");
    assert_eq!(code, Some(0), "the chain is intact");
}
