//! Reading and replacing whole files, the names of segments, and following a journal from outside.

use super::journal::{Outcome, open, put};
use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use tripwire_journal::storage::simulated::{Faults, SimulatedDisk};
use tripwire_journal::storage::{Disk, OpenMode, Storage, read_file, read_range, replace};
use tripwire_journal::{Durability, Follower, SessionId, SessionPaths, names, wall_clock::WallClock};

#[test]
fn a_file_is_read_up_to_its_bound_and_not_a_byte_further() -> Outcome {
    let temp = tempfile::tempdir()?;
    let path = temp.path().join("file");
    assert_eq!(read_file(&Disk, &path, 9)?, None);
    fs::write(&path, b"12345")?;
    assert_eq!(read_file(&Disk, &path, 5)?.as_deref(), Some(&b"12345"[..]));
    assert_eq!(read_file(&Disk, &path, 6)?.as_deref(), Some(&b"12345"[..]));
    assert_eq!(read_file(&Disk, &path, 4).map_err(|error| error.kind()), Err(io::ErrorKind::FileTooLarge));
    assert!(read_file(&Disk, temp.path(), 9).is_err(), "a folder is no file");
    let file = Disk.open(&path, OpenMode::Read)?;
    for (at, length, found) in [(0, 0, ""), (0, 2, "12"), (1, 3, "234"), (3, 9, "45"), (5, 9, ""), (9, 9, "")] {
        assert_eq!(read_range(&Disk, &file, at, length)?, found.as_bytes(), "{at} {length}");
    }
    Ok(())
}

#[test]
fn replacing_a_file_leaves_no_draft_and_takes_the_place_of_an_old_one() -> Outcome {
    let temp = tempfile::tempdir()?;
    let path = temp.path().join("file.note");
    fs::write(temp.path().join("file.tmp"), "what a crash left")?;
    replace(&Disk, &path, b"new")?;
    replace(&Disk, &path, b"newer")?;
    assert_eq!(fs::read(&path)?, b"newer");
    assert_eq!(Disk.list(temp.path())?, ["file.note"]);
    assert_eq!(fs::metadata(&path)?.permissions().mode() & 0o777, 0o600);
    fs::create_dir(temp.path().join("file.tmp"))?;
    assert!(replace(&Disk, &path, b"x").is_err(), "a folder in the draft's place is not removed");
    Ok(())
}

#[test]
fn a_file_that_was_written_in_part_does_not_replace_the_old_one() -> Outcome {
    let mut refused = 0;
    for seed in 0..20 {
        let disk = SimulatedDisk::new(seed);
        let path = Path::new("/d/file.note");
        disk.create_dir(Path::new("/d"))?;
        replace(&disk, path, b"old")?;
        disk.set_faults(Faults { full_per_mille: 500, ..Faults::default() });
        let replaced = replace(&disk, path, b"the new contents");
        disk.set_faults(Faults::default());
        let found = read_file(&disk, path, 100)?.unwrap_or_default();
        match replaced {
            Ok(()) => assert_eq!(found, b"the new contents", "{seed}"),
            Err(error) => {
                assert_eq!((error.kind(), found.as_slice()), (io::ErrorKind::StorageFull, &b"old"[..]), "{seed}");
                refused += 1;
            }
        }
    }
    assert!((5..20).contains(&refused), "{refused}");
    Ok(())
}

#[test]
fn folders_are_made_with_their_parents_for_the_user_alone_and_nothing_else_is_taken_for_one() -> Outcome {
    let temp = tempfile::tempdir()?;
    let deep = temp.path().join("a/b/c");
    Disk.create_dir(&deep)?;
    Disk.create_dir(&deep)?;
    for folder in ["a", "a/b", "a/b/c"] {
        assert_eq!(fs::metadata(temp.path().join(folder))?.permissions().mode() & 0o777, 0o700, "{folder}");
    }
    fs::write(temp.path().join("file"), "")?;
    std::os::unix::fs::symlink(&deep, temp.path().join("link"))?;
    for name in ["file", "link"] {
        let refused = Disk.create_dir(&temp.path().join(name)).map_err(|error| error.kind());
        assert_eq!(refused, Err(io::ErrorKind::NotADirectory), "{name}");
    }
    assert!(Disk.create_dir(&temp.path().join("file/below")).is_err());
    Ok(())
}

#[test]
fn a_segment_is_named_by_its_number_and_found_by_a_record() -> Outcome {
    assert_eq!((names::segment(1), names::segment(123_456_789)), ("00000001.jsonl".into(), "123456789.jsonl".into()));
    let temp = tempfile::tempdir()?;
    let none = SessionPaths::new(temp.path(), &SessionId::first(WallClock::from_epoch_ms(0)));
    assert_eq!(none.segment_of(7), none.dir().join("00000001.jsonl"), "there is none yet");
    let mut journal = open(temp.path())?;
    for index in 0..40 {
        put(&mut journal, &[&index.to_string()], Durability::Grouped);
    }
    let paths = journal.paths();
    let of = |index| paths.segment_of(index).file_name().map(|name| name.to_string_lossy().into_owned());
    let mut index = 0;
    let segments = Disk.list(paths.dir())?.into_iter().filter(|name| name.ends_with(".jsonl"));
    for name in segments {
        let lines = fs::read_to_string(paths.dir().join(&name))?.lines().count() as u64;
        assert_eq!(of(index).as_deref(), Some(name.as_str()), "its first record");
        index += lines;
        assert_eq!(of(index - 1).as_deref(), Some(name.as_str()), "its last record");
    }
    assert_eq!((index, of(41)), (40, of(39)), "behind the end the last segment is named");
    Ok(())
}

#[test]
fn a_record_is_found_from_the_beginning_and_from_any_known_place() -> Outcome {
    let temp = tempfile::tempdir()?;
    let mut journal = open(temp.path())?;
    for index in 0..40 {
        put(&mut journal, &[&index.to_string()], Durability::Grouped);
    }
    for known in [0, 1, 17, 39, 40] {
        let known = journal.find(known)?;
        for index in [0, 1, 16, 17, 18, 39, 40, 99] {
            let place = journal.find_after(known, index)?;
            assert_eq!(place.records(), index.min(40), "{known:?}");
            let page = journal.read(place, 1)?;
            let bodies: Vec<String> = page.records.iter().map(|record| record.body.clone()).collect();
            assert_eq!(bodies, (index..40).take(1).map(|index| index.to_string()).collect::<Vec<_>>());
            assert!(page.records.iter().all(|record| record.previous == place.tail_hash()));
        }
    }
    Ok(())
}

#[test]
fn a_follower_from_the_end_starts_behind_the_last_whole_line() -> Outcome {
    let temp = tempfile::tempdir()?;
    let mut journal = open(temp.path())?;
    let paths = journal.paths().clone();
    let mut early = Follower::from_end(Disk, paths.clone())?;
    for index in 0..30 {
        put(&mut journal, &[&index.to_string()], Durability::Grouped);
    }
    assert_eq!(early.next(usize::MAX)?.len(), 30);
    let mut late = Follower::from_end(Disk, paths.clone())?;
    assert!(late.next(9)?.is_empty());
    put(&mut journal, &["30", "31"], Durability::Grouped);
    let bodies = |records: Vec<tripwire_journal::Record>| {
        records.into_iter().map(|record| record.body).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(bodies(late.next(1)?), "30");
    assert_eq!(bodies(late.next(0)?), "");
    assert_eq!(bodies(late.next(5)?), "31");
    let mut all = Follower::from_start(Disk, paths);
    assert_eq!((all.skip()?, all.skip()?), (32, 0));
    put(&mut journal, &["32"], Durability::Grouped);
    assert_eq!((early.skip()?, all.next(9)?.len()), (3, 1));
    Ok(())
}
