//! The files that this process itself writes: a log that its output is led into, a cassette that it records. They lie in
//! the workspace and change all the time, and they are not the work.

use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

/// Device and number of a file.
pub type FileId = (u64, u64);

/// Standard output and error, which come from outside.
const STREAMS: [&str; 2] = ["1", "2"];
/// The flag of a descriptor that this process opened for itself, in the form of `fdinfo`.
const CLOSE_ON_EXEC: u32 = 0o2_000_000;
/// The bits that say how a descriptor was opened; all others than reading write.
const ACCESS: u32 = 0o3;

/// Every regular file that this process has open for writing. A descriptor that it inherited beside the standard ones
/// does not count: the program that started it could hide a change behind it.
#[must_use]
pub fn own_outputs() -> Vec<FileId> {
    let entries = std::fs::read_dir("/proc/self/fd").into_iter().flatten().flatten();
    entries.filter(|entry| writes(&entry.file_name().to_string_lossy())).filter_map(|entry| id(&entry.path())).collect()
}

fn writes(descriptor: &str) -> bool {
    let info = std::fs::read_to_string(format!("/proc/self/fdinfo/{descriptor}")).unwrap_or_default();
    let flags = info.lines().find_map(|line| line.strip_prefix("flags:"));
    let Some(flags) = flags.and_then(|flags| u32::from_str_radix(flags.trim(), 8).ok()) else { return false };
    flags & ACCESS != 0 && (STREAMS.contains(&descriptor) || flags & CLOSE_ON_EXEC != 0)
}

fn id(path: &Path) -> Option<FileId> {
    let metadata = path.metadata().ok().filter(std::fs::Metadata::is_file)?;
    Some((metadata.dev(), metadata.ino()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use tripwire_testing::TestDir;

    #[test]
    fn what_this_process_writes_is_found_and_what_it_reads_is_not() {
        let dir = TestDir::new();
        let (log, source) = (dir.path().join("log"), dir.path().join("source"));
        std::fs::write(&source, "x").unwrap();
        let writer = std::fs::File::create(&log).unwrap();
        let reader = std::fs::File::open(&source).unwrap();
        let found = own_outputs();
        assert!(found.contains(&id(&log).unwrap()));
        assert!(!found.contains(&id(&source).unwrap()));
        drop((writer, reader));
        assert!(!own_outputs().contains(&id(&log).unwrap()));
    }
}
