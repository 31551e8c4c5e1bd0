//! Hooks that were started and do not come to the socket: a program that sleeps in the place of ours.
//!
//! A client starts its hook through a shell whose command line names this run's own folder, so its processes can be
//! counted from outside. More of them than are being served, for too long, means that a hook does not answer.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;
use tripwire_clients::hook_command::GUARD_FAILED;

/// How often the processes are counted.
const COUNT_EVERY: Duration = Duration::from_secs(2);

/// The watch over hooks on their way.
#[derive(Debug)]
pub(crate) struct LateHooks {
    /// How long a hook may take from its start to its question.
    question_within: Duration,
    counted: Duration,
    /// Each hook's process, and when it was first seen.
    seen: BTreeMap<u32, Duration>,
}

impl LateHooks {
    /// Nothing was seen yet.
    pub(crate) const fn new(question_within: Duration) -> Self {
        Self { question_within, counted: Duration::ZERO, seen: BTreeMap::new() }
    }

    /// Counts again if it is time (of a clock that stands still while the client is frozen), and says whether a hook is
    /// late: whether more of them have been there for long than are being served.
    pub(crate) fn look(&mut self, now: Duration, served: usize, started: impl FnOnce() -> Vec<u32>) -> bool {
        if now.saturating_sub(self.counted) < COUNT_EVERY {
            return false;
        }
        self.counted = now;
        let started = started();
        self.seen.retain(|process, _| started.contains(process));
        for process in started {
            self.seen.entry(process).or_insert(now);
        }
        self.seen.values().filter(|since| now.saturating_sub(**since) > self.question_within).count() > served
    }
}

/// The hook shells of a run: processes whose command line names the run's folder and our closing words.
pub(crate) fn started(folder: &Path) -> Vec<u32> {
    let folder = folder.as_os_str().as_encoded_bytes();
    let holds = |line: &[u8], part: &[u8]| line.windows(part.len()).any(|window| window == part);
    let hook = |line: &[u8]| is_shell(line) && holds(line, folder) && holds(line, GUARD_FAILED.as_bytes());
    let listed = std::fs::read_dir("/proc").into_iter().flatten().filter_map(Result::ok);
    listed
        .filter_map(|entry| Some((entry.file_name().to_str()?.parse().ok()?, entry.path())))
        .filter(|(_, path)| std::fs::read(path.join("cmdline")).is_ok_and(|line| hook(&line)))
        .map(|(process, _)| process)
        .collect()
}

/// Whether a command line is a shell's with its command: the client's own arguments may hold the same words.
fn is_shell(line: &[u8]) -> bool {
    let mut words = line.split(|byte| *byte == 0);
    let program = words.next().unwrap_or_default();
    let name = program.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
    name.ends_with(b"sh") && words.next().is_some_and(|flag| flag.starts_with(b"-") && flag.ends_with(b"c"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn const_5_a_hook_that_does_not_come_is_late_and_one_that_is_served_or_new_is_not() {
        let second = Duration::from_secs;
        let mut watch = LateHooks::new(second(20));
        for now in 2..=22 {
            assert!(!watch.look(second(now), 0, || vec![7]), "{now}");
        }
        assert!(watch.look(second(24), 0, || vec![7]));
        let (mut served, mut busy) = (LateHooks::new(second(20)), LateHooks::new(second(20)));
        for now in 1..200 {
            assert!(!served.look(second(now), 1, || vec![7]), "it waits here: {now}");
            let newest = u32::try_from(now).unwrap() / 10;
            assert!(!busy.look(second(now), 0, || vec![newest]), "one after the other is on its way: {now}");
        }
    }

    #[test]
    fn only_a_shell_with_its_command_counts() {
        assert!(is_shell(b"/bin/sh\0-c\0'/tmp/x/guard/tripwire' hook\0"));
        assert!(is_shell(b"bash\0-lc\0x\0"));
        assert!(!is_shell(b"/usr/bin/codex\0-c\0hooks.PreToolUse=[]\0"));
        assert!(!is_shell(b""));
    }
}
