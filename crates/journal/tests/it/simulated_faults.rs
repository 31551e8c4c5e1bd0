//! What happens to files on the simulated disk, seed for seed: `simulated_faults.txt` holds it, because what the simulations prove is
//! worth as much as the faults are varied.
//!
//! A word for each step says what the process was told; behind `->` stands what the disk kept after a restart, each run of
//! equal bytes as its letter and its length. `TRIPWIRE_BLESS=1 cargo test -p tripwire-journal --test it simulated_faults` writes
//! it again.

use std::fmt::Write as _;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tripwire_journal::storage::simulated::{Faults, Random, SimulatedDisk};
use tripwire_journal::storage::{OpenMode, Storage, read_file};

fn name(file: &str) -> PathBuf {
    Path::new("/d").join(file)
}

/// `a12.3`: twelve letters, three zero bytes.
fn runs(bytes: &[u8]) -> String {
    let mut text = String::new();
    for run in bytes.chunk_by(|one, next| one == next) {
        let letter = if run[0] == 0 { '.' } else { char::from(run[0]) };
        write!(text, "{letter}{}", run.len()).unwrap();
    }
    text
}

fn told<T: ToString>(seen: io::Result<T>) -> String {
    match seen {
        Ok(value) => value.to_string(),
        Err(error) => format!("{:?}", error.kind()),
    }
}

/// What a process does: files that grow, change in place, shrink, move and go, some of it synced.
fn steps(disk: &SimulatedDisk) -> Vec<String> {
    let append = |file: &str, letter: u8, length: usize| {
        told(disk.open(&name(file), OpenMode::Append).and_then(|file| disk.append(&file, &vec![letter; length])))
    };
    let change = |file: &str, at: u64, length: usize| {
        told(disk.open(&name(file), OpenMode::Update).and_then(|file| disk.write_at(&file, at, &vec![b'w'; length])))
    };
    let sync =
        |file: &str| told(disk.open(&name(file), OpenMode::Read).and_then(|file| disk.sync(&file)).map(|()| "synced"));
    let done = |seen: io::Result<()>| told(seen.map(|()| "done"));
    vec![
        append("kept", b'b', 130),
        change("kept", 20, 60),
        append("grown", b'g', 100),
        append("grown", b'h', 100),
        sync("grown"),
        append("grown", b'i', 100),
        done(disk.open(&name("cut"), OpenMode::Update).and_then(|file| disk.truncate(&file, 30))),
        change("cut", 25, 20),
        done(disk.rename(&name("old"), &name("new"))),
        done(disk.remove(&name("gone"))),
        told(disk.open(&name("born"), OpenMode::Create).map(|_file| "made")),
        append("born", b'n', 50),
        sync("born"),
        done(disk.sync_dir(Path::new("/d"))),
        append("new", b'o', 10),
        told(disk.lock(&name("HEAD"), Duration::ZERO).map(|_lock| "locked")),
        told(disk.list(Path::new("/d")).map(|names| names.join(","))),
    ]
}

fn history(seed: u64, faults: Faults) -> String {
    let disk = SimulatedDisk::new(seed);
    disk.create_dir(Path::new("/d/sub")).unwrap();
    for file in ["kept", "grown", "cut", "old", "gone"] {
        let open = disk.open(&name(file), OpenMode::Create).unwrap();
        disk.append(&open, &[b'a'; 60]).unwrap();
        disk.sync(&open).unwrap();
    }
    disk.sync_dir(Path::new("/d")).unwrap();
    disk.set_faults(faults);
    let mut text = format!("{seed}: {}", steps(&disk).join(" "));
    write!(text, "\n  {} operations, off: {}", disk.operations(), disk.is_off()).unwrap();
    disk.reboot();
    assert!(!disk.is_off());
    let names = disk.list(Path::new("/d")).unwrap();
    let kept = names.iter().map(|file| {
        let bytes = read_file(&disk, &name(file), 1_000).unwrap().unwrap_or_default();
        format!("{file} {}", runs(&bytes))
    });
    let kept: Vec<String> = kept.collect();
    writeln!(text, " -> {}; {} bytes read", kept.join(", "), disk.bytes_read()).unwrap();
    text
}

fn histories() -> String {
    let quiet = Faults::default();
    let mut text = String::from("# the power is cut at the end\n");
    (0..24).for_each(|seed| text += &history(seed, quiet));
    text += "# the power is cut during an operation\n";
    (0..20).for_each(|seed| text += &history(seed, Faults { power_cut_after: Some(seed), ..quiet }));
    text += "# some operations fail\n";
    (0..8).for_each(|seed| text += &history(seed, Faults { error_per_mille: 200, ..quiet }));
    text += "# some writes meet a full disk\n";
    (0..8).for_each(|seed| text += &history(seed, Faults { full_per_mille: 400, ..quiet }));
    text
}

#[test]
fn the_faults_of_a_seed_are_always_the_same() {
    let now = histories();
    if std::env::var_os("TRIPWIRE_BLESS").is_some() {
        std::fs::write(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/simulated_faults.txt"), now).unwrap();
        return;
    }
    let expected = include_str!("simulated_faults.txt");
    for (now, expected) in now.lines().zip(expected.lines()) {
        assert_eq!(now, expected);
    }
    assert_eq!(now.lines().count(), expected.lines().count());
}

/// The first numbers of splitmix64 for the seed 0, as its authors publish them.
#[test]
fn the_generator_is_the_published_one() {
    let mut random = Random::new(0);
    assert_eq!(random.bits(), 0xe220_a839_7b1d_cdaf);
    assert_eq!(random.bits(), 0x6e78_9e6a_a1b9_65f4);
    assert_eq!(random.bits(), 0x06c4_5d18_8009_454f);
}

#[test]
fn numbers_stay_below_their_bound_and_chances_have_their_share() {
    let mut random = Random::new(7);
    assert_eq!((random.below(0), random.below(1)), (0, 0));
    let numbers: Vec<usize> = (0..1_000).map(|_| random.below(3)).collect();
    assert!((0..3).all(|wanted| numbers.iter().filter(|found| **found == wanted).count() > 250));
    assert!(numbers.iter().all(|found| *found < 3));
    let hits = |per_mille| {
        let mut random = Random::new(9);
        (0..10_000).filter(|_| random.chance(per_mille)).count()
    };
    assert_eq!((hits(0), hits(1_000)), (0, 10_000));
    assert!((2_200..2_800).contains(&hits(250)), "{}", hits(250));
}

#[test]
fn a_simulated_file_is_damaged_in_the_cache_and_on_the_disk() {
    let disk = SimulatedDisk::new(1);
    disk.create_dir(Path::new("/d")).unwrap();
    let file = disk.open(&name("x"), OpenMode::Create).unwrap();
    disk.append(&file, b"abc").unwrap();
    disk.sync_dir(Path::new("/d")).unwrap();
    disk.tamper(&name("x"), |bytes| bytes[1] = b'!').unwrap();
    assert_eq!(read_file(&disk, &name("x"), 9).unwrap().as_deref(), Some(&b"a!c"[..]));
    disk.reboot();
    assert_eq!(read_file(&disk, &name("x"), 9).unwrap().as_deref(), Some(&b"a!c"[..]));
    assert_eq!(disk.tamper(&name("y"), Vec::clear).unwrap_err().kind(), io::ErrorKind::NotFound);
}
