//! The simulated disk, without faults, must behave like the real one: else what it proves is worth nothing.

use std::io;
use std::path::Path;
use std::time::Duration;

use proptest::prelude::*;
use tripwire_journal::storage::kept::KeptDisk;
use tripwire_journal::storage::simulated::{Faults, SimulatedDisk};
use tripwire_journal::storage::{Disk, OpenMode, Storage, read_file, read_range, replace};

/// One thing to do with one of three names.
#[derive(Debug, Clone)]
enum Operation {
    Create(usize),
    Append(usize, Vec<u8>),
    WriteAt(usize, u64, Vec<u8>),
    Truncate(usize, u64),
    Read(usize, u64, usize),
    Rename(usize, usize),
    Remove(usize),
    Replace(usize, Vec<u8>),
    Sync(usize),
    List,
    Lock(usize),
}

fn any_operation() -> impl Strategy<Value = Operation> {
    let name = 0_usize..3;
    let bytes = || prop::collection::vec(any::<u8>(), 0..40);
    prop_oneof![
        name.clone().prop_map(Operation::Create),
        (name.clone(), bytes()).prop_map(|(name, bytes)| Operation::Append(name, bytes)),
        (name.clone(), 0_u64..80, bytes()).prop_map(|(name, at, bytes)| Operation::WriteAt(name, at, bytes)),
        // A journal only ever cuts, so growing by truncation is not modelled.
        (name.clone(), Just(0_u64)).prop_map(|(name, size)| Operation::Truncate(name, size)),
        (name.clone(), 0_u64..100, 0_usize..100).prop_map(|(name, at, length)| Operation::Read(name, at, length)),
        (name.clone(), name.clone()).prop_map(|(from, to)| Operation::Rename(from, to)),
        name.clone().prop_map(Operation::Remove),
        (name.clone(), bytes()).prop_map(|(name, bytes)| Operation::Replace(name, bytes)),
        name.clone().prop_map(Operation::Sync),
        Just(Operation::List),
        name.prop_map(Operation::Lock),
    ]
}

/// Does it and tells what was seen, in a form that two disks can be compared by.
fn perform<S: Storage>(storage: &S, dir: &Path, operation: &Operation) -> String {
    let path = |name: &usize| dir.join(["a", "b", "c"][*name]);
    let seen: io::Result<String> = match operation {
        Operation::Create(name) => storage.open(&path(name), OpenMode::Create).map(|_file| String::new()),
        Operation::Append(name, bytes) => storage
            .open(&path(name), OpenMode::Append)
            .and_then(|file| storage.append(&file, bytes))
            .map(|count| count.to_string()),
        Operation::WriteAt(name, at, bytes) => storage
            .open(&path(name), OpenMode::Update)
            .and_then(|file| storage.write_at(&file, *at, bytes))
            .map(|count| count.to_string()),
        Operation::Truncate(name, size) => storage
            .open(&path(name), OpenMode::Update)
            .and_then(|file| storage.truncate(&file, *size))
            .map(|()| String::new()),
        Operation::Read(name, at, length) => storage.open(&path(name), OpenMode::Read).and_then(|file| {
            let size = storage.size(&file)?;
            let bytes = read_range(storage, &file, *at, *length)?;
            Ok(format!("{size} {bytes:?}"))
        }),
        Operation::Rename(from, to) => storage.rename(&path(from), &path(to)).map(|()| String::new()),
        Operation::Remove(name) => storage.remove(&path(name)).map(|()| String::new()),
        Operation::Replace(name, bytes) => replace(storage, &path(name), bytes).map(|()| String::new()),
        Operation::Sync(name) => storage
            .open(&path(name), OpenMode::Read)
            .and_then(|file| storage.sync(&file))
            .and_then(|()| storage.sync_dir(dir))
            .map(|()| String::new()),
        Operation::List => storage.list(dir).map(|names| names.join(" ")),
        Operation::Lock(name) => storage.lock(&path(name), Duration::ZERO).map(|held| {
            let again = storage.lock(&path(name), Duration::ZERO).err();
            drop(held);
            format!("{:?}", again.map(|error| error.kind()))
        }),
    };
    seen.unwrap_or_else(|error| format!("{:?}", error.kind()))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn both_disks_answer_alike(operations in prop::collection::vec(any_operation(), 1..40)) {
        let temp = tempfile::tempdir()?;
        let simulated = SimulatedDisk::new(0);
        let dir = temp.path().join("dir");
        simulated.create_dir(&dir)?;
        Disk.create_dir(&dir)?;
        for operation in &operations {
            prop_assert_eq!(
                perform(&simulated, &dir, operation),
                perform(&Disk, &dir, operation),
                "{:?} of {:?}", operation, operations
            );
        }
    }

    /// Whatever happens, a replaced file is the old one or the new one, and the new one once it was said to be.
    #[test]
    fn a_replaced_file_is_never_half_of_anything(seed in any::<u64>(), cut in 0_u64..9) {
        let disk = SimulatedDisk::new(seed);
        let path = Path::new("/d/state");
        disk.create_dir(Path::new("/d"))?;
        replace(&disk, path, b"the old contents")?;
        disk.set_faults(Faults { power_cut_after: Some(cut), error_per_mille: 50, full_per_mille: 50 });
        let outcome = replace(&disk, path, b"the new contents, which are longer");
        disk.reboot();
        let found = read_file(&disk, path, 100)?.unwrap_or_default();
        if outcome.is_ok() {
            prop_assert_eq!(found, b"the new contents, which are longer");
        } else {
            prop_assert!(found == b"the old contents" || found == b"the new contents, which are longer");
        }
    }
}

#[test]
fn a_power_cut_keeps_what_was_synced_and_may_lose_the_rest() -> io::Result<()> {
    let mut lost = 0;
    for seed in 0..200 {
        let disk = SimulatedDisk::new(seed);
        let (dir, path) = (Path::new("/d"), Path::new("/d/file"));
        disk.create_dir(dir)?;
        let file = disk.open(path, OpenMode::Create)?;
        disk.append(&file, b"synced")?;
        disk.sync(&file)?;
        disk.sync_dir(dir)?;
        disk.append(&file, b" and not synced")?;
        disk.reboot();
        let found = read_file(&disk, path, 100)?.unwrap_or_default();
        assert!(found.starts_with(b"synced"), "seed {seed}");
        lost += usize::from(found != b"synced and not synced");
    }
    assert!((50..200).contains(&lost), "{lost} of 200 lost something");
    Ok(())
}

#[test]
fn a_failed_sync_is_not_healed_by_another_one() -> io::Result<()> {
    let mut lost = 0;
    for seed in 0..200 {
        let disk = SimulatedDisk::new(seed);
        let (dir, path) = (Path::new("/d"), Path::new("/d/file"));
        disk.create_dir(dir)?;
        let file = disk.open(path, OpenMode::Create)?;
        disk.sync_dir(dir)?;
        disk.append(&file, b"precious")?;
        disk.set_faults(Faults { error_per_mille: 1000, ..Faults::default() });
        assert!(disk.sync(&file).is_err());
        disk.set_faults(Faults::default());
        disk.sync(&file)?;
        assert_eq!(read_file(&disk, path, 100)?.as_deref(), Some(&b"precious"[..]));
        disk.reboot();
        lost += usize::from(read_file(&disk, path, 100)?.as_deref() != Some(b"precious"));
    }
    assert!(lost > 50, "{lost} of 200 lost something");
    Ok(())
}

#[test]
fn a_kept_disk_does_each_thing_to_the_files_themselves() -> io::Result<()> {
    let temp = tempfile::tempdir()?;
    let (disk, dir) = (KeptDisk::default(), temp.path().join("a/b"));
    let (path, other) = (dir.join("file"), dir.join("other"));
    disk.create_dir(&dir)?;
    assert!(dir.is_dir());
    let file = disk.open(&path, OpenMode::Create)?;
    assert_eq!(disk.append(&file, b"0123456789")?, 10);
    disk.sync(&file)?;
    disk.sync_dir(&dir)?;
    let file = disk.open(&path, OpenMode::Update)?;
    assert_eq!(disk.write_at(&file, 2, b"xy")?, 2);
    assert_eq!(read_range(&disk, &file, 1, 4)?, b"1xy4");
    disk.truncate(&file, 6)?;
    assert_eq!(std::fs::read(&path)?, b"01xy45");
    assert_eq!(disk.size(&disk.open(&path, OpenMode::Read)?)?, 6);
    disk.rename(&path, &other)?;
    assert_eq!(disk.list(&dir)?, ["other"]);
    disk.remove(&other)?;
    assert!(disk.list(&dir)?.is_empty() && !other.exists());
    let none = dir.join("none");
    for answer in [disk.sync_dir(&none), disk.list(&none).map(drop), disk.remove(&none), disk.rename(&none, &other)] {
        assert!(answer.is_err_and(|error| error.kind() == io::ErrorKind::NotFound));
    }
    Ok(())
}

#[test]
fn a_kept_disk_sees_what_was_cut_under_its_lock() -> io::Result<()> {
    let temp = tempfile::tempdir()?;
    let (disk, path) = (KeptDisk::default(), temp.path().join("file"));
    let lock = disk.lock(&temp.path().join("HEAD"), Duration::ZERO)?;
    disk.open(&path, OpenMode::Create)?;
    disk.append(&disk.open(&path, OpenMode::Append)?, b"0123456789")?;
    assert_eq!(disk.size(&disk.open(&path, OpenMode::Read)?)?, 10);
    disk.truncate(&disk.open(&path, OpenMode::Update)?, 4)?;
    assert_eq!(disk.size(&disk.open(&path, OpenMode::Read)?)?, 4);
    disk.append(&disk.open(&path, OpenMode::Append)?, b"x")?;
    assert_eq!(disk.size(&disk.open(&path, OpenMode::Read)?)?, 5);
    drop(lock);
    assert_eq!(std::fs::read(&path)?, b"0123x");
    Ok(())
}
