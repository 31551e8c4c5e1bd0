//! What a snapshot costs beside `git status` on the same tree: 50,000 files, 3 of them changed before each look.
#![expect(clippy::print_stdout, reason = "a bench prints its figures")]

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};
use tripwire_undo::{Settings, StepMark, UndoStore};

type Outcome<T> = Result<T, Box<dyn Error>>;

/// Files of the tree.
const FILES: usize = 50_000;
/// Files of one folder.
const FOLDER_FILES: usize = 50;
/// Looks that are measured; the median counts.
const ROUNDS: usize = 21;

fn main() -> Outcome<()> {
    let temp = tempfile::tempdir()?;
    let root = temp.path().canonicalize()?.join("work");
    for file in 0..FILES {
        let path = path(&root, file);
        std::fs::create_dir_all(path.parent().unwrap_or(&root))?;
        std::fs::write(path, format!("file {file}\n{}", "some text\n".repeat(file % 40)))?;
    }
    git(&root, &["init", "-q"])?;
    git(&root, &["add", "."])?;
    git(&root, &["-c", "user.name=a", "-c", "user.email=a@example.org", "commit", "-q", "-m", "all"])?;
    let state = temp.path().join("state");
    let open = || {
        UndoStore::of(
            &state,
            &root,
            Settings { exclude: Vec::new(), file_bytes_max: 100 << 20, store_bytes_max: 4 << 30, keep_ms: u64::MAX },
        )
    };
    let begun = Instant::now();
    open().look_now()?;
    println!("cold: the first snapshot of {FILES} files {:>8.1} ms", ms(begun.elapsed()));
    // Past the grain of file times, so that both stat caches are clean.
    std::thread::sleep(Duration::from_millis(1_500));
    git(&root, &["status", "--porcelain"])?;
    open().look_now()?;
    let (mut status, mut hooks, mut run, mut drafts) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for round in 0..ROUNDS {
        change(&root, round)?;
        status.push(timed(|| git(&root, &["status", "--porcelain"]))?);
        hooks.push(timed(|| Ok(open().before(&mark(round), None).map(drop)?))?);
    }
    let long_lived = open().watching();
    long_lived.look_now()?;
    long_lived.look_now()?;
    for round in ROUNDS..ROUNDS * 2 {
        change(&root, round)?;
        status.push(timed(|| git(&root, &["status", "--porcelain"]))?);
        run.push(timed(|| Ok(long_lived.before(&mark(round), None).map(drop)?))?);
    }
    for round in ROUNDS * 2..ROUNDS * 3 {
        change_by_draft(&root, round)?;
        status.push(timed(|| git(&root, &["status", "--porcelain"]))?);
        drafts.push(timed(|| Ok(long_lived.before(&mark(round), None).map(drop)?))?);
    }
    let status = median(status);
    println!("`git status`                         {:>8.1} ms", ms(status));
    for (name, times, promise) in [
        ("hooks alone (a new process each)", hooks, 1.5),
        ("run and agent (one long process)", run, 0.5),
        ("the same, edits renamed to place", drafts, 0.5),
    ] {
        let time = median(times);
        let ratio = time.as_secs_f64() / status.as_secs_f64();
        println!("{name:<36} {:>8.1} ms, {ratio:.2} times `git status` (promised: {promise})", ms(time));
    }
    Ok(())
}

fn path(root: &Path, file: usize) -> PathBuf {
    let folder = file / FOLDER_FILES;
    root.join(format!("d{}/e{folder}/file{file}.txt", folder % 40))
}

/// Changes three files.
fn change(root: &Path, round: usize) -> Outcome<()> {
    for file in 0..3 {
        std::fs::write(path(root, (round * 977 + file * 16_661) % FILES), format!("round {round}\n"))?;
    }
    Ok(())
}

/// Changes three files as editors do: a draft beside each is renamed to its place.
fn change_by_draft(root: &Path, round: usize) -> Outcome<()> {
    for file in 0..3 {
        let place = path(root, (round * 977 + file * 16_661) % FILES);
        let draft = place.with_extension("part");
        std::fs::write(&draft, format!("round {round}\n"))?;
        std::fs::rename(draft, place)?;
    }
    Ok(())
}

fn mark(round: usize) -> StepMark {
    StepMark {
        session: "auto-1".to_owned(),
        step: round as u64,
        call: round.to_string(),
        label: "bench".to_owned(),
        paths: None,
        beside_others: false,
    }
}

fn timed(act: impl FnOnce() -> Outcome<()>) -> Outcome<Duration> {
    let begun = Instant::now();
    act()?;
    Ok(begun.elapsed())
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times.get(times.len() / 2).copied().unwrap_or_default()
}

fn git(root: &Path, arguments: &[&str]) -> Outcome<()> {
    let out = Command::new("git").arg("-C").arg(root).args(arguments).output()?;
    if out.status.success() { Ok(()) } else { Err(String::from_utf8_lossy(&out.stderr).into_owned().into()) }
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1_000.0
}
