//! What the files of `.geometry/` cost on this machine: a quiet look at the controls, the manifest, the safety log, and
//! the hash of a workspace.
#![expect(clippy::print_stdout, reason = "a bench prints its figures")]

use std::error::Error;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use tripwire_workspace::clock;
use tripwire_workspace::control::{Seen, look};
use tripwire_workspace::geometry::layout::Layout;
use tripwire_workspace::geometry::manifest::{Manifest, store, template};
use tripwire_workspace::geometry::safety_log::{ActionTaken, EventType, LogEntry, SafetyLog};
use tripwire_workspace::geometry::yaml_edit::{Edit, NewValue};
use tripwire_workspace::hash::workspace_hash;
use tripwire_workspace::session::SessionId;

type Outcome = Result<(), Box<dyn Error>>;

fn main() -> Outcome {
    controls()?;
    manifest()?;
    safety_log()?;
    workspace()
}

/// A look that finds nothing: every hook pays it.
fn controls() -> Outcome {
    let temp = tempfile::tempdir()?;
    let layout = Layout::at(temp.path());
    template::write_if_missing(&layout.manifest())?;
    std::thread::sleep(SETTLED);
    let session = SessionId::first(clock::now());
    let seen = look(&layout, &session, &Seen::default(), clock::now())?.seen.into_owned();
    each("a quiet look at the controls", 10_000, |_| Ok(look(&layout, &session, &seen, clock::now()).map(|_look| ())?))
}

fn manifest() -> Outcome {
    let temp = tempfile::tempdir()?;
    let file = Layout::at(temp.path()).manifest();
    template::write_if_missing(&file)?;
    each("reading the manifest", 1_000, |_| Ok(Manifest::load(&file).map(|_manifest| ())?))?;
    let mut read = Manifest::load(&file)?;
    each("updating the manifest, with its syncs", 200, |count| {
        read = store::update(&read, &[Edit::new("safety.iteration_count", NewValue::Number(count))])?;
        Ok(())
    })
}

/// An append must cost the same in a short and in a long log.
fn safety_log() -> Outcome {
    let temp = tempfile::tempdir()?;
    let log = SafetyLog::at(&temp.path().join("safety_log.json"));
    let entry = |count: u64| {
        LogEntry::new(clock::now(), EventType::SoftLoop, ActionTaken::ContinuedMonitoring).with("count", count)
    };
    for entries in [0_u64, 100_000] {
        log.rebuild((0..entries).map(entry))?;
        each(&format!("append to a safety log of {entries} entries"), 2_000, |count| Ok(log.append(&entry(count))?))?;
    }
    Ok(())
}

/// A repository of many files, a few of them changed.
fn workspace() -> Outcome {
    let temp = tempfile::tempdir()?;
    git(temp.path(), &["init", "-q"])?;
    for n in 0..FILES {
        std::fs::write(temp.path().join(format!("f{n}")), n.to_string())?;
    }
    git(temp.path(), &["add", "."])?;
    git(temp.path(), &["-c", "user.name=bench", "-c", "user.email=bench@localhost", "commit", "-q", "-m", "many"])?;
    for n in 0..CHANGED {
        std::fs::write(temp.path().join(format!("f{n}")), "changed")?;
    }
    let what = format!("hash of a workspace of {FILES} files, {CHANGED} changed");
    each(&what, 10, |_| Ok(workspace_hash(temp.path()).map(|_hash| ())?))
}

fn git(folder: &Path, arguments: &[&str]) -> Outcome {
    let done = Command::new("git").arg("-C").arg(folder).args(arguments).status()?;
    if done.success() { Ok(()) } else { Err(format!("`git {}` failed", arguments.join(" ")).into()) }
}

fn each(what: &str, rounds: u32, mut act: impl FnMut(u64) -> Outcome) -> Outcome {
    let start = Instant::now();
    for round in 0..rounds {
        act(u64::from(round))?;
    }
    println!("{what}: {:?}", start.elapsed() / rounds);
    Ok(())
}

const FILES: u32 = 5_000;
const CHANGED: u32 = 20;
/// A file younger than this is read again at every look, because its time stamp may be too coarse to tell.
const SETTLED: Duration = Duration::from_millis(120);
