//! Files that a process holds open, mapped or runs although they have no name any more: they fill the disk unseen.
//!
//! The kernel lets only root follow `map_files`. An ordinary user reads the list of maps instead, which tells that such a file is
//! there but not how large it is; then the count is blind, and the growth of the file system counts in full.

use std::collections::BTreeSet;
use std::os::fd::OwnedFd;
use tripwire_fs::bounded;

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, Stat, makedev, openat, statat};
use rustix::io::Errno;

/// A longer list of maps is not read to its end and makes the count blind.
const MAPS_BYTES_MAX: u64 = 8 * 1024 * 1024;
const DELETED: &str = " (deleted)";
/// Memory that only looks like a file, and programs of the system that were replaced while they run.
const NO_FILES_OF_OURS: [&str; 12] = [
    "/dev/zero",
    "/SYSV",
    "/memfd:",
    "/anon_hugepage",
    "/[",
    "/usr/",
    "/bin/",
    "/sbin/",
    "/lib",
    "/nix/",
    "/dev/shm/",
    "/opt/",
];

/// Whether everything was seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sight {
    Clear,
    /// Something is there whose size cannot be told.
    Blind,
}

/// Calls `found` for each such file; `scratch` is the private file system, which counts for itself.
pub(crate) fn of_process(dir: &OwnedFd, scratch: u64, found: &mut dyn FnMut(&Stat)) -> Sight {
    let mut counted = BTreeSet::new();
    let mut tell = |stat: &Stat| {
        if stat.st_nlink == 0 && FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile {
            counted.insert((stat.st_dev, stat.st_ino));
            found(stat);
        }
    };
    let open = links(dir, "fd", &mut tell);
    if let Ok(stat) = statat(dir, "exe", AtFlags::empty()) {
        tell(&stat);
    }
    let mapped = match links(dir, "map_files", &mut tell) {
        Sight::Clear => Sight::Clear,
        Sight::Blind => maps(dir).map_or(Sight::Blind, |text| in_maps(&text, scratch, &counted)),
    };
    if open == Sight::Clear { mapped } else { Sight::Blind }
}

/// Looks behind every link of a folder of the process.
fn links(dir: &OwnedFd, place: &str, tell: &mut dyn FnMut(&Stat)) -> Sight {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let refused = |errno| matches!(errno, Errno::PERM | Errno::ACCESS);
    let entries = match openat(dir, place, flags, Mode::empty()).and_then(|fds| Ok((Dir::read_from(&fds)?, fds))) {
        Ok(entries) => entries,
        // A process that is gone holds nothing.
        Err(errno) => return if refused(errno) { Sight::Blind } else { Sight::Clear },
    };
    let (entries, fds) = entries;
    let mut sight = Sight::Clear;
    for entry in entries.flatten() {
        match statat(&fds, entry.file_name(), AtFlags::empty()) {
            Ok(stat) => tell(&stat),
            Err(errno) if refused(errno) && !matches!(entry.file_name().to_bytes(), b"." | b"..") => {
                sight = Sight::Blind;
            }
            Err(_) => {}
        }
    }
    sight
}

fn maps(dir: &OwnedFd) -> Option<String> {
    let fd = openat(dir, "maps", OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()).ok()?;
    let bytes = bounded::read_whole(std::fs::File::from(fd), MAPS_BYTES_MAX).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

fn in_maps(text: &str, scratch: u64, counted: &BTreeSet<(u64, u64)>) -> Sight {
    let unseen = text.lines().filter_map(unnamed).any(|id| id.0 != scratch && !counted.contains(&id));
    if unseen { Sight::Blind } else { Sight::Clear }
}

/// Device and number of a file without a name: `range rights offset major:minor inode path (deleted)`.
fn unnamed(line: &str) -> Option<(u64, u64)> {
    let path = line.strip_suffix(DELETED)?.find('/').and_then(|start| line.get(start..))?;
    if NO_FILES_OF_OURS.iter().any(|start| path.starts_with(start)) {
        return None;
    }
    let mut fields = line.split_ascii_whitespace().skip(3);
    let (major, minor) = fields.next()?.split_once(':')?;
    let number = |text| u32::from_str_radix(text, 16).ok();
    Some((makedev(number(major)?, number(minor)?), fields.next()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(device: &str, path: &str) -> String {
        format!("7f00-7f01 r--s 00000000 {device} 4711                       {path}\n")
    }

    #[test]
    fn box_4_a_mapped_file_without_a_name_makes_the_count_blind() {
        let text = line("fe:00", "/w/m0 (deleted)");
        let disk = makedev(0xfe, 0);
        assert_eq!(in_maps(&text, 0, &BTreeSet::new()), Sight::Blind);
        assert_eq!(in_maps(&text, disk, &BTreeSet::new()), Sight::Clear, "the private file system counts for itself");
        assert_eq!(
            in_maps(&text, 0, &BTreeSet::from([(disk, 4711)])),
            Sight::Clear,
            "it was counted by its descriptor"
        );
    }

    #[test]
    fn box_4_named_files_and_memory_leave_it_clear() {
        for path in [
            "/w/m0",
            "/dev/zero (deleted)",
            "/SYSV0000 (deleted)",
            "/memfd:x (deleted)",
            "/usr/lib/x (deleted)",
            "[heap]",
            "",
        ] {
            assert_eq!(in_maps(&line("fe:00", path), 0, &BTreeSet::new()), Sight::Clear, "{path}");
        }
    }
}
