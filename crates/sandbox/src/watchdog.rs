//! Budgets that no kernel limit covers here, kept by looking: bytes and files written by the whole tree, and its memory where
//! an ordinary user has no cgroup.
//!
//! Free space of the file system is asked often, because that is cheap; only when it shrinks by what is left of the budget,
//! and now and then in any case, are the files themselves counted. A file counts if its status changed since the run began:
//! that time cannot be set by a program.

use std::collections::BTreeSet;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::time::{Duration, Instant};
use tripwire_fs::bounded;

use rustix::fs::{Dir, Mode, OFlags, Stat, fstatfs, openat, statfs};

use crate::layers::l10_known::Since;
use crate::outcome::Budget;
use crate::policy::MemoryCount;
use crate::spec::Budgets;
use crate::unlinked;
use crate::walk::{self, WalkEnd, WalkStep};

const CALM: Duration = Duration::from_millis(10);
const ALERT: Duration = Duration::from_millis(2);
const COUNT_EVERY_MIN: Duration = Duration::from_millis(500);
/// On file systems that do not tell how many files they hold.
const COUNT_EVERY_BLIND: Duration = Duration::from_millis(50);
/// A count may take at most one part in so many of the time.
const COUNT_SHARE: u32 = 10;
/// File times move on in steps of at most this.
pub(crate) const CLOCK_TICK: Duration = Duration::from_millis(10);
const BLOCK_BYTES: u64 = 512;
/// Our own, which holds no file of the command and cannot be looked into.
const FIRST_PROCESS: &[u8] = b"1";
const STATUS_BYTES_MAX: u64 = 16 * 1024;

/// How closely a run is watched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pace {
    /// A command with small budgets.
    Command,
    /// A tree that lives for hours with large ones: its files are counted when the file system has grown by what is left, and
    /// otherwise rarely.
    Tree,
}

impl Pace {
    fn calm(self) -> Duration {
        match self {
            Self::Command => CALM,
            Self::Tree => Duration::from_millis(100),
        }
    }

    fn count_every_min(self) -> Duration {
        match self {
            Self::Command => COUNT_EVERY_MIN,
            Self::Tree => Duration::from_secs(30),
        }
    }
}

/// The looks at one run.
#[derive(Debug)]
pub(crate) struct Watch {
    pace: Pace,
    sight: WatchScope,
    counted: Counted,
    pause: Duration,
    looked: Instant,
}

/// What is watched.
#[derive(Debug)]
pub(crate) struct WatchScope {
    pub(crate) scratch: OwnedFd,
    pub(crate) proc: OwnedFd,
    /// Folders that the tree may write to.
    pub(crate) roots: Vec<PathBuf>,
    pub(crate) since: Since,
    pub(crate) budgets: Budgets,
    pub(crate) memory: MemoryCount,
}

/// Bytes and files.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Usage {
    bytes: u64,
    files: u64,
}

impl Usage {
    fn plus(self, other: Self) -> Self {
        Self { bytes: self.bytes.saturating_add(other.bytes), files: self.files.saturating_add(other.files) }
    }

    fn at_least(self, other: Self) -> Self {
        Self { bytes: self.bytes.max(other.bytes), files: self.files.max(other.files) }
    }

    fn grown_since(self, earlier: Self) -> Self {
        Self { bytes: self.bytes.saturating_sub(earlier.bytes), files: self.files.saturating_sub(earlier.files) }
    }
}

impl Watch {
    /// Starts from what the file systems hold now.
    pub(crate) fn new(sight: WatchScope) -> Self {
        let counted = Counted {
            usage: Usage::default(),
            used_then: sight.used(),
            at: Instant::now(),
            took: Duration::ZERO,
            blind: false,
        };
        Self { pace: Pace::Command, sight, counted, pause: CALM, looked: Instant::now() }
    }

    /// The same at another pace.
    pub(crate) fn at(mut self, pace: Pace) -> Self {
        self.pace = pace;
        self.pause = pace.calm();
        self
    }

    /// How long to wait until the next look.
    pub(crate) fn pause(&self) -> Duration {
        self.pause
    }

    /// A look, unless the last one was just now.
    pub(crate) fn look_if_due(&mut self) -> Option<Budget> {
        if self.looked.elapsed() < self.pause {
            return None;
        }
        self.looked = Instant::now();
        self.look()
    }

    /// One look; the budget that is spent, if one is.
    pub(crate) fn look(&mut self) -> Option<Budget> {
        let sight = &self.sight;
        if sight.memory == MemoryCount::Sampling && sight.memory_spent() {
            return Some(Budget::Memory);
        }
        let scratch = sight.scratch_usage();
        let grown = sight.used().grown_since(self.counted.used_then);
        let guess = self.counted.usage.plus(grown).plus(scratch);
        let suspicious = sight.over(guess).is_some() && self.counted.at.elapsed() > self.counted.took * 2;
        if suspicious || self.counted.is_old(self.pace) {
            let mut fresh = sight.count();
            if fresh.blind {
                // What was hidden from the count is taken to be the command's: the file system's growth counts in full.
                fresh.usage = fresh.usage.at_least(self.counted.usage.plus(grown));
            }
            self.counted = fresh;
            if let Some(budget) = sight.over(self.counted.usage.plus(scratch)) {
                return Some(budget);
            }
        }
        let (bytes, files) = (sight.budgets.disk.0 / 2, sight.budgets.inodes / 2);
        self.pause = if guess.bytes > bytes || guess.files > files { ALERT } else { self.pace.calm() };
        None
    }
}

impl WatchScope {
    fn over(&self, usage: Usage) -> Option<Budget> {
        if usage.bytes > self.budgets.disk.0 {
            Some(Budget::Disk)
        } else if usage.files > self.budgets.inodes {
            Some(Budget::Inodes)
        } else {
            None
        }
    }

    /// What is in use on the file systems of the roots, by whomever.
    fn used(&self) -> Usage {
        let mut seen = BTreeSet::new();
        let mut sum = Usage::default();
        for root in &self.roots {
            let Ok(stat) = rustix::fs::stat(root) else {
                continue;
            };
            let Ok(fs) = statfs(root) else { continue };
            if seen.insert(stat.st_dev) {
                let block = u64::try_from(fs.f_bsize).unwrap_or_else(|_| page_bytes());
                let bytes = fs.f_blocks.saturating_sub(fs.f_bfree).saturating_mul(block);
                sum = sum.plus(Usage { bytes, files: fs.f_files.saturating_sub(fs.f_ffree) });
            }
        }
        sum
    }

    /// The private file system knows exactly what it holds.
    fn scratch_usage(&self) -> Usage {
        fstatfs(&self.scratch).map_or_else(
            |_| Usage::default(),
            |fs| {
                let block = u64::try_from(fs.f_bsize).unwrap_or_else(|_| page_bytes());
                let bytes = fs.f_blocks.saturating_sub(fs.f_bfree).saturating_mul(block);
                Usage { bytes, files: fs.f_files.saturating_sub(fs.f_ffree) }
            },
        )
    }

    /// Counts the files that were written since the run began, and those that were unlinked but are still held open.
    fn count(&self) -> Counted {
        let at = Instant::now();
        let used_then = self.used();
        let mut seen = BTreeSet::new();
        let mut usage = Usage::default();
        let mut blind = false;
        for root in &self.roots {
            let walked = walk::walk(root, &mut |entry| {
                match entry.stat() {
                    Ok(stat) if self.since.covers(&stat) && seen.insert((stat.st_dev, stat.st_ino)) => {
                        usage = usage.plus(Usage { bytes: bytes_of(&stat), files: 1 });
                    }
                    Err(rustix::io::Errno::ACCESS) => blind = true,
                    Ok(_) | Err(_) => {}
                }
                WalkStep::Enter
            });
            if let Ok(walked) = walked {
                // Whatever was not seen is taken to be large.
                blind |= walked.ended != WalkEnd::Whole;
                blind |= !walked.closed.is_empty();
            }
        }
        let scratch = rustix::fs::fstat(&self.scratch).map_or(0, |stat| stat.st_dev);
        self.each_process(|pid, dir| {
            if pid == FIRST_PROCESS {
                return true;
            }
            let sight = unlinked::of_process(dir, scratch, &mut |stat| {
                if seen.insert((stat.st_dev, stat.st_ino)) {
                    usage = usage.plus(Usage { bytes: bytes_of(stat), files: 1 });
                }
            });
            blind |= sight == unlinked::Sight::Blind;
            true
        });
        Counted { usage, used_then, at, took: at.elapsed(), blind }
    }

    /// Calls `visit` with each process folder of the sandbox until it says stop.
    fn each_process(&self, mut visit: impl FnMut(&[u8], &OwnedFd) -> bool) {
        let Ok(entries) = Dir::read_from(&self.proc) else {
            return;
        };
        for entry in entries.flatten() {
            if !entry.file_name().to_bytes().iter().all(u8::is_ascii_digit) {
                continue;
            }
            let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
            let Ok(dir) = openat(&self.proc, entry.file_name(), flags, Mode::empty()) else {
                continue;
            };
            if !visit(entry.file_name().to_bytes(), &dir) {
                return;
            }
        }
    }

    /// Memory of all processes, first by a cheap upper bound, then exactly.
    fn memory_spent(&self) -> bool {
        let mut sum = 0_u64;
        self.each_process(|_pid, dir| {
            sum = sum.saturating_add(resident(dir));
            true
        });
        if sum <= self.budgets.memory.0 {
            return false;
        }
        let mut exact = 0_u64;
        self.each_process(|_pid, dir| {
            exact = exact.saturating_add(proportional(dir).unwrap_or_else(|| resident(dir)));
            exact <= self.budgets.memory.0
        });
        exact > self.budgets.memory.0
    }
}

#[derive(Debug)]
struct Counted {
    usage: Usage,
    /// What the file systems said just before the count.
    used_then: Usage,
    at: Instant,
    took: Duration,
    /// Some folder was closed to us, so the count is a lower bound.
    blind: bool,
}

impl Counted {
    fn is_old(&self, pace: Pace) -> bool {
        let blind = self.used_then.files == 0 && pace == Pace::Command;
        let every = if blind { COUNT_EVERY_BLIND } else { pace.count_every_min() };
        self.at.elapsed() > every.max(self.took * COUNT_SHARE)
    }
}

fn bytes_of(stat: &Stat) -> u64 {
    u64::try_from(stat.st_blocks).unwrap_or(0).saturating_mul(BLOCK_BYTES)
}

fn read(dir: &OwnedFd, name: &str) -> Option<String> {
    let fd = openat(dir, name, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()).ok()?;
    String::from_utf8(bounded::read_beginning(std::fs::File::from(fd), STATUS_BYTES_MAX).ok()?).ok()
}

/// The kernel counts a process's memory in pages, whose size is the machine's.
fn page_bytes() -> u64 {
    rustix::param::page_size() as u64
}

fn resident(dir: &OwnedFd) -> u64 {
    let pages = read(dir, "statm").and_then(|text| text.split(' ').nth(1)?.parse::<u64>().ok());
    pages.unwrap_or(0).saturating_mul(page_bytes())
}

/// Private memory and the process's share of shared memory; `None` if the process made itself unreadable.
fn proportional(dir: &OwnedFd) -> Option<u64> {
    let text = read(dir, "smaps_rollup")?;
    let kib = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name))?;
        line.trim().trim_end_matches("kB").trim().parse::<u64>().ok()
    };
    Some((kib("Pss_Anon:")? + kib("Pss_Shmem:")?) * 1024)
}

/// The moment that files of this run are newer than, on the clock that file times come from.
pub(crate) fn now() -> Since {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::RealtimeCoarse);
    Since { seconds: time.tv_sec, nanos: time.tv_nsec }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::Scratch;
    use std::fs;

    fn watch(root: PathBuf, budgets: Budgets, memory: MemoryCount) -> WatchScope {
        let scratch = root.join("scratch");
        fs::create_dir_all(&scratch).expect("a folder");
        // A folder without process folders: nobody holds anything open.
        let proc = fs::File::open("/proc/self/net").expect("a folder").into();
        let scratch = fs::File::open("/proc").expect("a file system without files").into();
        WatchScope { scratch, proc, roots: vec![root], since: now(), budgets, memory }
    }

    #[test]
    fn box_4_too_many_files_spend_the_budget_and_few_do_not() {
        let dir = Scratch::new();
        let budgets = Budgets { inodes: 50, ..Budgets::default() };
        let watch = watch(dir.clone(), budgets, MemoryCount::Kernel);
        assert_eq!(watch.over(watch.count().usage), None);
        for index in 0..60 {
            fs::write(dir.join(format!("f{index}")), "").expect("a file");
        }
        assert_eq!(watch.over(watch.count().usage), Some(Budget::Inodes));
    }

    #[test]
    fn box_4_bytes_count_only_if_written_since_the_start() {
        let dir = Scratch::new();
        fs::write(dir.join("old"), vec![1_u8; 300_000]).expect("a file");
        std::thread::sleep(Duration::from_millis(20));
        let budgets = Budgets { disk: crate::spec::Bytes(200_000), ..Budgets::default() };
        let watch = watch(dir.clone(), budgets, MemoryCount::Kernel);
        assert_eq!(watch.over(watch.count().usage), None);
        fs::write(dir.join("new"), vec![1_u8; 300_000]).expect("a file");
        assert_eq!(watch.over(watch.count().usage), Some(Budget::Disk));
    }

    #[test]
    fn pages_have_the_size_that_the_kernel_tells() {
        let text = fs::read_to_string("/proc/self/smaps").expect("our memory");
        let line = text.lines().find_map(|line| line.strip_prefix("KernelPageSize:")).expect("a size");
        let kib: u64 = line.trim().trim_end_matches("kB").trim().parse().expect("a number");
        assert_eq!(page_bytes(), kib * 1024);
    }

    #[test]
    fn box_4_a_look_stays_quiet_until_a_budget_is_spent() {
        let dir = Scratch::new();
        let budgets = Budgets { disk: crate::spec::Bytes(1_000_000), ..Budgets::default() };
        let mut looks = Watch::new(watch(dir.clone(), budgets, MemoryCount::Kernel));
        assert_eq!(looks.look(), None);
        fs::write(dir.join("big"), vec![1_u8; 3_000_000]).expect("a file");
        std::thread::sleep(COUNT_EVERY_MIN + CALM);
        assert_eq!(looks.look(), Some(Budget::Disk));
    }
}
