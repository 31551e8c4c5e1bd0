//! Tests of `file.rs`.

use super::*;
use tripwire_core::explain::Explain as _;
use tripwire_testing::{TestDir, as_ordinary_user, tiny_disk};

#[test]
fn a_replaced_file_holds_the_new_contents_and_leaves_no_draft() {
    let dir = TestDir::new();
    let path = dir.path().join("f");
    replace(&path, b"one").unwrap();
    replace(&path, b"two").unwrap();
    assert_eq!(std::fs::read(&path).unwrap(), b"two");
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
}

#[test]
fn a_symbolic_link_is_replaced_not_followed() {
    let dir = TestDir::new();
    let (outside, link) = (dir.path().join("outside"), dir.path().join("link"));
    std::fs::write(&outside, "keep").unwrap();
    std::os::unix::fs::symlink(&outside, &link).unwrap();
    assert!(read_bounded(&link, 10).is_err(), "a link is not read through");
    replace(&link, b"new").unwrap();
    assert_eq!(std::fs::read(&outside).unwrap(), b"keep");
    assert_eq!(std::fs::read(&link).unwrap(), b"new");
}

#[test]
fn a_read_stops_at_its_bound() {
    let dir = TestDir::new();
    let path = dir.path().join("f");
    std::fs::write(&path, "12345").unwrap();
    assert_eq!(read_bounded(&path, 5).unwrap(), b"12345");
    let error = read_bounded(&path, 4).unwrap_err();
    assert!(error.to_string().contains("more than 4 bytes"), "{error}");
}

#[test]
fn a_file_of_any_size_is_read_whole_and_one_that_tells_none_too() {
    let folder = TestDir::new();
    let path = folder.path().join("file");
    let largest = usize::try_from(SIZED_BYTES_MAX).unwrap();
    for size in [0, 1, 4_095, 4_096, largest - 1, largest, largest + 1] {
        let bytes: Vec<u8> = (0..size).map(|at| u8::try_from(at % 251).unwrap()).collect();
        std::fs::write(&path, &bytes).unwrap();
        let limit = u64::try_from(size).unwrap();
        assert!(read_bounded(&path, limit).unwrap() == bytes && read_bounded(&path, limit + 1).unwrap() == bytes);
        assert!(size == 0 || matches!(read_bounded(&path, limit - 1), Err(ReadError::TooBig { .. })));
        // It grew after it was looked at, or was cut.
        let file = File::open(&path).unwrap();
        assert!(size < 2 || read_sized(&file, limit, 1).unwrap() == bytes);
        let file = File::open(&path).unwrap();
        assert!(read_sized(&file, limit + 9, limit + 9).unwrap() == bytes);
        let file = File::open(&path).unwrap();
        assert!(size < 3 || matches!(read_sized(&file, limit - 1, 1), Err(BoundedError::TooBig { .. })));
    }
    #[cfg(target_os = "linux")]
    assert!(!read_bounded(Path::new("/proc/version"), 4_096).unwrap().is_empty());
}

#[test]
fn a_named_pipe_in_a_files_place_neither_hangs_nor_reads_as_empty() {
    let dir = TestDir::new();
    let path = dir.path().join("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
    let error = read_bounded(&path, 10).unwrap_err();
    assert!(error.to_string().contains("not a regular file"), "{error}");
    assert!(read_bounded(dir.path(), 10).is_err());
}

#[test]
fn drafts_of_dead_processes_are_swept_and_others_stay() {
    let dir = TestDir::new();
    let mut child = std::process::Command::new("true").spawn().unwrap();
    let dead = child.id();
    child.wait().unwrap();
    let alive = std::process::id();
    let names =
        [format!(".f.draft-{dead}-0"), format!(".f.draft-{alive}-0"), ".f.draft-x-0".into(), "f.draft-1-0".into()];
    let long_ago = std::time::SystemTime::now() - std::time::Duration::from_secs(3_600);
    for name in &names {
        let file = std::fs::File::create(dir.path().join(name)).unwrap();
        file.set_modified(long_ago).unwrap();
    }
    std::fs::write(dir.path().join(format!(".young.draft-{dead}-0")), "").unwrap();
    assert_eq!(sweep_drafts(dir.path()).unwrap(), 1);
    assert!(!dir.path().join(&names[0]).exists());
    assert!(names[1..].iter().all(|name| dir.path().join(name).exists()));
    assert!(dir.path().join(format!(".young.draft-{dead}-0")).exists());
}

#[test]
fn a_draft_that_a_killed_process_left_does_not_block_a_write() {
    let dir = TestDir::new();
    let path = dir.path().join("f");
    for number in 0..500 {
        std::fs::write(dir.path().join(format!(".f.draft-{}-{number}", std::process::id())), "").unwrap();
    }
    replace(&path, b"new").unwrap();
    assert_eq!(std::fs::read(&path).unwrap(), b"new");
}

#[test]
fn an_exchange_that_is_not_accepted_puts_the_old_file_back() {
    let dir = TestDir::new();
    let path = dir.path().join("f");
    replace(&path, b"old").unwrap();
    let mut draft = Draft::new(&path, FileMode::PRIVATE).unwrap();
    draft.write(b"new").unwrap();
    assert_eq!(draft.exchange(|_| Accept::No).unwrap(), Accept::No);
    assert_eq!(std::fs::read(&path).unwrap(), b"old");
    let mut draft = Draft::new(&path, FileMode::PRIVATE).unwrap();
    draft.write(b"new").unwrap();
    assert_eq!(draft.exchange(|displaced| accept_if(displaced, b"old")).unwrap(), Accept::Yes);
    assert_eq!(std::fs::read(&path).unwrap(), b"new");
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
    std::fs::remove_file(&path).unwrap();
    assert_eq!(
        Draft::new(&path, FileMode::PRIVATE).unwrap().exchange(|_| Accept::Yes).unwrap(),
        Accept::No,
        "it was removed"
    );
    assert!(!path.exists());
}

#[test]
fn a_file_that_replaces_ours_while_we_swap_back_stays() {
    let dir = TestDir::new();
    let (path, newer) = (dir.path().join("f"), dir.path().join("newer"));
    replace(&path, b"edited meanwhile").unwrap();
    replace(&newer, b"edited again").unwrap();
    let mut draft = Draft::new(&path, FileMode::PRIVATE).unwrap();
    draft.write(b"ours").unwrap();
    let refused = |_: &Path| {
        std::fs::rename(&newer, &path).unwrap();
        Accept::No
    };
    assert_eq!(draft.exchange(refused).unwrap(), Accept::No);
    assert_eq!(std::fs::read(&path).unwrap(), b"edited again");
}

fn accept_if(displaced: &Path, wanted: &[u8]) -> Accept {
    if std::fs::read(displaced).unwrap() == wanted { Accept::Yes } else { Accept::No }
}

#[test]
fn a_second_writer_of_a_new_file_is_told_so() {
    let dir = TestDir::new();
    let path = dir.path().join("f");
    assert_eq!(Draft::new(&path, FileMode::PRIVATE).unwrap().publish_new().unwrap(), Published::New);
    assert_eq!(Draft::new(&path, FileMode::PRIVATE).unwrap().publish_new().unwrap(), Published::AlreadyThere);
}

#[test]
fn a_full_disk_keeps_the_old_contents_and_says_how_to_go_on() {
    let Some(disk) = tiny_disk() else { return };
    let path = disk.path().join("f");
    replace(&path, b"old").unwrap();
    let error = replace(&path, &vec![b'x'; 4 << 20]).unwrap_err();
    assert!(error.hint().contains("free some space"), "{error}: {}", error.hint());
    assert_eq!(std::fs::read(&path).unwrap(), b"old");
    assert_eq!(std::fs::read_dir(disk.path()).unwrap().count(), 1, "the draft is gone");
}

#[test]
fn a_read_only_folder_keeps_the_old_contents_and_says_how_to_go_on() {
    as_ordinary_user("file::tests::a_read_only_folder_keeps_the_old_contents_and_says_how_to_go_on", || {
        let dir = TestDir::new();
        let path = dir.path().join("f");
        replace(&path, b"old").unwrap();
        dir.read_only();
        let error = replace(&path, b"new").unwrap_err();
        assert!(error.hint().contains("ls -ld"), "{error}: {}", error.hint());
        assert_eq!(std::fs::read(&path).unwrap(), b"old");
    });
}

#[test]
fn removing_twice_is_no_error_and_is_told_apart() {
    let dir = TestDir::new();
    let path = dir.path().join("f");
    replace(&path, b"x").unwrap();
    assert_eq!(remove(&path).unwrap(), Removed::Now);
    assert_eq!(remove(&path).unwrap(), Removed::NotThere);
}

#[test]
fn a_mode_is_exact_or_what_the_mask_leaves_and_long_names_have_drafts() {
    use std::os::unix::fs::PermissionsExt as _;
    let dir = TestDir::new();
    let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o7777;
    let exact = dir.path().join("x".repeat(255));
    replace_with_mode(&exact, b"x", FileMode::Exact(0o666)).unwrap();
    assert_eq!(mode(&exact), 0o666);
    let masked = dir.path().join("ä".repeat(120));
    replace_with_mode(&masked, b"x", FileMode::Masked(0o666)).unwrap();
    std::fs::write(dir.path().join("plain"), "x").unwrap();
    assert_eq!(mode(&masked), mode(&dir.path().join("plain")));
}

#[test]
fn a_draft_follows_its_open_folder_and_not_the_path() {
    let dir = TestDir::new();
    let (first, moved) = (dir.path().join("first"), dir.path().join("moved"));
    std::fs::create_dir(&first).unwrap();
    let mut draft = Draft::new(&first.join("f"), FileMode::PRIVATE).unwrap();
    draft.write(b"new").unwrap();
    std::fs::rename(&first, &moved).unwrap();
    std::os::unix::fs::symlink("/nowhere", &first).unwrap();
    draft.publish().unwrap();
    assert_eq!(std::fs::read(moved.join("f")).unwrap(), b"new");
    assert_eq!(std::fs::read_dir(&moved).unwrap().count(), 1);
}

#[test]
fn a_bare_name_lies_in_the_folder_of_the_command() {
    let denied = |path: &str| {
        let cause = std::io::Error::from(std::io::ErrorKind::PermissionDenied);
        FileError::at(std::path::Path::new(path), FileAction::Write)(cause).hint().into_owned()
    };
    assert_eq!(denied("x.html"), "check who may write there: `ls -ld .`");
    assert_eq!(denied("/a/x.html"), "check who may write there: `ls -ld /a`");
    assert_eq!(denied("/a b/x.html"), "check who may write there: `ls -ld '/a b'`");
}
