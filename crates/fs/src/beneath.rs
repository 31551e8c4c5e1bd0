//! Acting below a folder that a hostile program may be changing at the same time.
//!
//! A check of a path and a later act on the same path are two looks at the world. Here the folder that a thing is in is opened
//! at the moment of the act, and the act is relative to what was opened. No link is followed, except by
//! [`HeldFolder::find`], where the kernel refuses every link that leads out.

#[cfg(not(target_os = "linux"))]
mod elsewhere;
mod entry;
#[cfg(target_os = "linux")]
mod linux;

#[cfg(not(target_os = "linux"))]
pub use elsewhere::{FolderEntry, FoundFile, HeldFolder};
#[cfg(target_os = "linux")]
pub use linux::{FolderEntry, FoundFile, HeldFolder};

pub use entry::{EntryKind, SpecialKind};

use std::io;

/// Whether the way to a place ends early: a folder is missing, or a link or a file is where one would have to be.
#[must_use]
pub fn leads_nowhere(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
        || error.raw_os_error() == Some(LINK_ON_THE_WAY)
}

#[cfg(target_os = "linux")]
const LINK_ON_THE_WAY: i32 = rustix::io::Errno::LOOP.raw_os_error();
#[cfg(not(target_os = "linux"))]
const LINK_ON_THE_WAY: i32 = elsewhere::LINK_ON_THE_WAY;

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;
    use std::path::Path;
    use tripwire_testing::TestDir;

    #[test]
    fn links_are_followed_inside_and_refused_where_they_lead_out() {
        let dir = TestDir::new();
        let tree = dir.path().join("tree");
        std::fs::create_dir_all(tree.join("folder")).unwrap();
        std::fs::write(tree.join("folder/file"), "x").unwrap();
        std::fs::write(dir.path().join("outside"), "secret").unwrap();
        symlink("folder/file", tree.join("inside")).unwrap();
        symlink("../outside", tree.join("out")).unwrap();
        let held = HeldFolder::open(&tree).unwrap();
        let found = held.find(Path::new("inside")).unwrap();
        assert_eq!(found.real_path().unwrap(), tree.join("folder/file"));
        assert!(matches!(found.kind(), EntryKind::File { .. }));
        assert_eq!(std::io::read_to_string(found.open().unwrap()).unwrap(), "x");
        let out = held.find(Path::new("out")).unwrap_err();
        assert_eq!(out.raw_os_error(), Some(rustix::io::Errno::XDEV.raw_os_error()));
        assert!(held.entry(Path::new("inside")).unwrap().open_file().is_err(), "an entry is no link");
    }

    #[test]
    fn a_folder_that_became_a_link_is_not_walked_through() {
        let dir = TestDir::new();
        let tree = dir.path().join("tree");
        std::fs::create_dir_all(&tree).unwrap();
        symlink(dir.path(), tree.join("way")).unwrap();
        let held = HeldFolder::open(&tree).unwrap();
        assert!(leads_nowhere(&held.entry(Path::new("way/file")).unwrap_err()));
        assert!(leads_nowhere(&held.readable(Path::new("way")).unwrap_err()));
        assert!(HeldFolder::open(&tree.join("way")).is_err());
    }
}
