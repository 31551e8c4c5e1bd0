//! Reading `/proc`: who is alive, who descends from whom, how much memory a process holds.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;

use crate::sys;

const PIECE_BYTES: usize = 4 * 1024;

/// A process that cannot be confused with a later one of the same pid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Identity {
    pub(crate) pid: i32,
    /// Clock ticks since boot.
    pub(crate) start: u64,
}

/// What one line of `/proc/PID/stat` says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stat {
    pub(crate) id: Identity,
    pub(crate) parent: i32,
    pub(crate) state: u8,
}

impl Stat {
    /// A zombie holds nothing but its number.
    pub(crate) fn is_dead(&self) -> bool {
        matches!(self.state, b'Z' | b'X')
    }
}

/// Parses `/proc/PID/stat`; the name in brackets may hold anything, so the fields are counted from its end.
pub(crate) fn parse_stat(text: &[u8]) -> Option<Stat> {
    let text = String::from_utf8_lossy(text);
    let pid = text.split(' ').next()?.parse().ok()?;
    let (_, rest) = text.rsplit_once(')')?;
    let fields: Vec<&str> = rest.split_whitespace().collect();
    Some(Stat {
        id: Identity { pid, start: fields.get(19)?.parse().ok()? },
        parent: fields.get(1)?.parse().ok()?,
        state: *fields.first()?.as_bytes().first()?,
    })
}

/// A file of the kernel, which states no size: read in large pieces, because each read generates it again.
pub(crate) fn read_kernel_file(path: impl AsRef<Path>) -> io::Result<Vec<u8>> {
    let file = fs::File::open(path)?;
    let mut bytes = Vec::new();
    loop {
        bytes.reserve(PIECE_BYTES);
        if sys::append_some(&file, &mut bytes)? == 0 {
            return Ok(bytes);
        }
    }
}

/// The start time of the process whose folder is given.
pub(crate) fn start_time(dir: &Path) -> Option<u64> {
    parse_stat(&read_kernel_file(dir.join("stat")).ok()?).map(|stat| stat.id.start)
}

/// Whether this very process still runs.
pub(crate) fn is_alive(id: Identity) -> bool {
    let text = read_kernel_file(format!("/proc/{}/stat", id.pid)).ok();
    text.and_then(|text| parse_stat(&text)).is_some_and(|stat| stat.id == id && !stat.is_dead())
}

/// Every process that `/proc` shows.
pub(crate) fn all() -> Vec<Stat> {
    let Ok(entries) = fs::read_dir("/proc") else {
        return Vec::new();
    };
    entries
        .flatten()
        .filter(|entry| entry.file_name().to_str().is_some_and(|name| name.bytes().all(|byte| byte.is_ascii_digit())))
        .filter_map(|entry| parse_stat(&read_kernel_file(entry.path().join("stat")).ok()?))
        .collect()
}

/// The living descendants of a process.
pub(crate) fn descendants(root: i32) -> Vec<Identity> {
    let mut children: BTreeMap<i32, Vec<Stat>> = BTreeMap::new();
    for stat in all() {
        children.entry(stat.parent).or_default().push(stat);
    }
    let (mut found, mut todo) = (Vec::new(), vec![root]);
    while let Some(pid) = todo.pop() {
        for child in children.remove(&pid).unwrap_or_default() {
            todo.push(child.id.pid);
            if !child.is_dead() {
                found.push(child.id);
            }
        }
    }
    found
}

/// Signals processes by number, each checked to be the one that was seen.
pub(crate) fn signal_each(ids: &[Identity], signal: rustix::process::Signal) {
    for id in ids {
        let Some(pid) = rustix::process::Pid::from_raw(id.pid) else {
            continue;
        };
        let Ok(pidfd) = rustix::process::pidfd_open(pid, rustix::process::PidfdFlags::empty()) else {
            continue;
        };
        // The handle was taken first, so a process that is still the same now is the one that gets the signal.
        if is_alive(*id) {
            sys::best_effort(rustix::process::pidfd_send_signal(&pidfd, signal));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_brackets_and_blanks_does_not_shift_the_fields() {
        let line = b"42 (a) R 9 (x) S 7 1 1 0 -1 4 0 0 0 0 0 0 0 0 20 0 1 0 987 0 0";
        let stat = parse_stat(line).expect("parses");
        assert_eq!((stat.id.pid, stat.parent, stat.state, stat.id.start), (42, 7, b'S', 987));
    }

    #[test]
    fn this_process_is_alive_and_a_recycled_pid_is_not() {
        let pid = i32::try_from(std::process::id()).expect("a pid");
        let start = start_time(Path::new("/proc/self")).expect("a start time");
        assert!(is_alive(Identity { pid, start }));
        assert!(!is_alive(Identity { pid, start: start.wrapping_add(1) }));
    }
}
