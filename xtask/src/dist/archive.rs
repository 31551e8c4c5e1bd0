//! Archives that are the same bytes for the same contents: tar with sorted names, one time and no owner; gzip; ar.

use miniz_oxide::deflate::compress_to_vec;

/// A file in an archive.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct ArchiveFile {
    pub(super) name: String,
    pub(super) mode: u32,
    pub(super) bytes: Vec<u8>,
}

const BLOCK: usize = 512;
/// The longest name that a plain header holds.
const NAME_BYTES_MAX: usize = 100;

impl ArchiveFile {
    pub(super) fn new(name: impl Into<String>, mode: u32, bytes: impl Into<Vec<u8>>) -> Self {
        Self { name: name.into(), mode, bytes: bytes.into() }
    }
}

/// Whether the folders of the files stand in the archive too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Folders {
    /// They do, as Debian wants it.
    Listed,
    /// They do not, as npm wants it.
    Implied,
}

/// A tar archive (ustar).
pub(super) fn tar(mut files: Vec<ArchiveFile>, folders: Folders, epoch: u64) -> Vec<u8> {
    files.sort();
    let mut out = Vec::new();
    let mut seen: Vec<String> = Vec::new();
    for file in &files {
        if folders == Folders::Listed {
            for (at, _) in file.name.match_indices('/') {
                let folder = file.name.get(..=at).unwrap_or_default().to_owned();
                if folder != "./" && !seen.contains(&folder) {
                    out.extend(header(&folder, 0o755, 0, epoch, b'5'));
                    seen.push(folder);
                }
            }
        }
        out.extend(header(&file.name, file.mode, file.bytes.len(), epoch, b'0'));
        out.extend(&file.bytes);
        out.resize(out.len().next_multiple_of(BLOCK), 0);
    }
    out.resize(out.len() + 2 * BLOCK, 0);
    out
}

fn header(name: &str, mode: u32, size: usize, epoch: u64, kind: u8) -> [u8; BLOCK] {
    debug_assert!(name.len() <= NAME_BYTES_MAX, "{name}");
    let mut block = [0_u8; BLOCK];
    let mut put = |at: usize, bytes: &[u8]| {
        if let Some(place) = block.get_mut(at..at + bytes.len()) {
            place.copy_from_slice(bytes);
        }
    };
    put(0, name.as_bytes().get(..name.len().min(NAME_BYTES_MAX)).unwrap_or_default());
    put(100, format!("{mode:07o}\0").as_bytes());
    put(108, b"0000000\0");
    put(116, b"0000000\0");
    put(124, format!("{size:011o}\0").as_bytes());
    put(136, format!("{epoch:011o}\0").as_bytes());
    put(148, b"        ");
    put(156, &[kind]);
    put(257, b"ustar\x0000");
    put(265, b"root");
    put(297, b"root");
    let sum: u32 = block.iter().map(|byte| u32::from(*byte)).sum();
    if let Some(place) = block.get_mut(148..156) {
        place.copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    }
    block
}

/// Packs bytes as gzip does, without a name and a time.
pub(super) fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut out = vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 2, 255];
    out.extend(compress_to_vec(bytes, 9));
    out.extend(crc32(bytes).to_le_bytes());
    // The format keeps the length modulo 2^32.
    let length = u32::try_from(bytes.len() & 0xffff_ffff).unwrap_or(0);
    out.extend(length.to_le_bytes());
    out
}

fn crc32(bytes: &[u8]) -> u32 {
    let mut table = [0_u32; 256];
    for (index, entry) in (0_u32..).zip(table.iter_mut()) {
        *entry = (0..8).fold(index, |value, _| if value & 1 == 1 { 0xedb8_8320 ^ (value >> 1) } else { value >> 1 });
    }
    let step = |crc: u32, byte: &u8| {
        let [low, ..] = (crc ^ u32::from(*byte)).to_le_bytes();
        table.get(usize::from(low)).copied().unwrap_or(0) ^ (crc >> 8)
    };
    !bytes.iter().fold(!0, step)
}

/// An `ar` archive, the outer form of a Debian package.
pub(super) fn ar(members: &[(&str, &[u8])], epoch: u64) -> Vec<u8> {
    let mut out = b"!<arch>\n".to_vec();
    for (name, bytes) in members {
        out.extend(format!("{name:<16}{epoch:<12}{:<6}{:<6}{:<8}{:<10}`\n", 0, 0, "100644", bytes.len()).as_bytes());
        out.extend(*bytes);
        if bytes.len() % 2 == 1 {
            out.push(b'\n');
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn the_checksum_is_that_of_the_format() {
        assert_eq!(crc32(b"123456789"), 0xcbf4_3926);
        assert_eq!(crc32(b""), 0);
    }

    #[test]
    fn tar_reads_what_is_written_and_the_bytes_are_the_same_in_any_order() {
        let files = [ArchiveFile::new("./b/two", 0o755, "2"), ArchiveFile::new("./a", 0o644, "1")];
        let packed = gzip(&tar(files.to_vec(), Folders::Listed, 1_700_000_000));
        assert_eq!(packed, gzip(&tar(files.iter().rev().cloned().collect(), Folders::Listed, 1_700_000_000)));
        let file = std::env::temp_dir().join(format!("xtask-archive-{}.tgz", std::process::id()));
        std::fs::write(&file, &packed).unwrap();
        let listed = Command::new("tar").arg("-tvzf").arg(&file).output().unwrap();
        let text = String::from_utf8_lossy(&listed.stdout).into_owned();
        std::fs::remove_file(&file).unwrap();
        assert!(listed.status.success(), "{listed:?}");
        let names: Vec<&str> = text.lines().filter_map(|line| line.split(' ').next_back()).collect();
        assert_eq!(names, ["./a", "./b/", "./b/two"], "{text}");
        assert!(text.contains("-rwxr-xr-x root/root"), "{text}");
    }
}
