//! What is not kept is named, what is kept has bounds, and rights, attributes and large files come back too.

use crate::world::{World, chmod, mark, settings};
use std::path::Path;
use std::time::{Duration, Instant};
use tripwire_undo::{Selection, Settings, Uncovered, UndoError};

#[test]
fn undo_7_what_no_snapshot_keeps_is_named_before_and_when_it_is_missed() {
    let world = World::with(Settings { file_bytes_max: 1_000, ..settings() });
    world.write("node_modules/x", "x");
    world.write("big", vec![b'x'; 2_000]);
    world.write("small", "s");
    std::process::Command::new("mkfifo").arg(world.path("pipe")).status().unwrap();
    let step = world.step(|| {
        std::fs::remove_file(world.path("big")).unwrap();
        std::fs::remove_file(world.path("small")).unwrap();
        std::fs::remove_dir_all(world.path("node_modules")).unwrap();
    });
    let plan = world.store.plan(crate::world::SESSION, &Selection::From(step), &[]).unwrap();
    let lost = [
        (Path::new("big").to_owned(), Uncovered::TooLarge),
        (Path::new("node_modules").to_owned(), Uncovered::Excluded),
    ];
    assert_eq!(plan.lost, lost);
    assert!(!world.path("small").exists(), "a plan does nothing");
    world.undo(Selection::From(step));
    assert_eq!(world.read("small"), "s");
    let gaps = world.store.gaps().unwrap();
    assert_eq!(gaps.iter().map(|gap| gap.path.as_path()).collect::<Vec<_>>(), [Path::new("pipe")]);
}

#[test]
fn undo_7_large_files_rights_links_empty_folders_and_attributes_come_back() {
    let world = World::new();
    let large: Vec<u8> = (0..6_000_000_u32).map(|at| (at % 251) as u8).collect();
    world.write("large", &large);
    world.write("run.sh", "#!/bin/sh\n");
    chmod(&world.path("run.sh"), 0o755);
    std::fs::create_dir(world.path("empty")).unwrap();
    chmod(&world.path("empty"), 0o711);
    std::os::unix::fs::symlink("run.sh", world.path("link")).unwrap();
    world.write("closed/file", "x");
    chmod(&world.path("closed"), 0o555);
    let attribute = rustix_set(&world.path("run.sh"));
    let before = world.held();
    world.step(|| {
        chmod(&world.path("closed"), 0o755);
        for name in ["large", "run.sh", "link", "closed/file"] {
            std::fs::remove_file(world.path(name)).unwrap();
        }
        std::fs::remove_dir(world.path("empty")).unwrap();
        std::fs::remove_dir(world.path("closed")).unwrap();
    });
    world.undo(Selection::Last);
    assert_eq!(world.held(), before);
    if attribute {
        let mut value = [0_u8; 16];
        let length = rustix::fs::getxattr(world.path("run.sh"), "user.note", &mut value[..]).unwrap();
        assert_eq!(&value[..length], b"kept");
    }
    chmod(&world.path("closed"), 0o755);
}

fn rustix_set(path: &Path) -> bool {
    rustix::fs::setxattr(path, "user.note", b"kept", rustix::fs::XattrFlags::empty()).is_ok()
}

#[test]
fn undo_7_names_that_share_a_file_come_back_and_are_named() {
    let world = World::new();
    world.write("one", "x");
    std::fs::hard_link(world.path("one"), world.path("two")).unwrap();
    world.step(|| std::fs::write(world.path("one"), "changed").unwrap());
    assert_eq!(world.read("two"), "changed");
    let done = world.undo(Selection::Last);
    assert_eq!((world.read("one").as_str(), world.read("two").as_str()), ("x", "x"));
    assert!(!done.unlinked.is_empty());
}

#[test]
fn undo_7_rights_of_one_name_are_set_back_and_not_those_of_another_that_shares_its_file() {
    let world = World::new();
    for name in ["one", "two"] {
        world.write(name, "same");
    }
    chmod(&world.path("one"), 0o644);
    chmod(&world.path("two"), 0o600);
    let before = world.held();
    world.step(|| {
        std::fs::remove_file(world.path("two")).unwrap();
        std::fs::hard_link(world.path("one"), world.path("two")).unwrap();
    });
    let after = world.held();
    world.undo(Selection::Last);
    assert_eq!(world.held(), before);
    world.undo(Selection::LastAct);
    assert_eq!(world.held(), after);
}

#[test]
fn undo_7_a_change_of_the_same_size_in_the_same_moment_is_seen() {
    let world = World::new();
    world.write("a", "aaa");
    let trees: Vec<_> = (0..20)
        .map(|round: u8| {
            std::fs::write(world.path("a"), [b'a' + round; 3]).unwrap();
            world.store.look_now().unwrap().tree
        })
        .collect();
    let mut unique = trees.clone();
    unique.dedup();
    assert_eq!(unique.len(), trees.len());
}

#[test]
fn undo_7_a_look_that_takes_too_long_is_refused_and_goes_on_the_next_time() {
    let world = World::new();
    for name in 0..50 {
        world.write(&format!("d{name}/f"), format!("{name}"));
    }
    let before = world.held();
    let late = world.store.before(&mark(1, None), Some(Instant::now() + Duration::from_micros(1)));
    assert!(matches!(late, Err(UndoError::TimeOver | UndoError::File(_))), "{late:?}");
    let step = {
        world.store.before(&mark(3, None), None).unwrap();
        std::fs::remove_dir_all(world.path("d7")).unwrap();
        world.store.after(crate::world::SESSION, "3", None).unwrap();
        3
    };
    world.undo(Selection::From(step));
    assert_eq!(world.held(), before);
}

#[test]
fn undo_8_retention_drops_what_is_old_or_too_much_and_keeps_what_is_needed() {
    let world = World::with(Settings { keep_ms: 0, ..settings() });
    world.write("a", "0");
    for round in 0..5 {
        world.step(|| world.write("a", vec![b'0' + round; 100_000]));
    }
    world.write("a", "now");
    world.store.look_now().unwrap();
    std::thread::sleep(Duration::from_millis(5));
    let collected = world.store.collect().unwrap();
    assert!(collected.dropped >= 10 && collected.kept == 1, "{collected:?}");
    assert!(collected.bytes_after < collected.bytes_before / 2, "{collected:?}");
    let step = world.begin(None);
    world.write("a", "agent");
    world.undo(Selection::From(step));
    assert_eq!(world.read("a"), "now", "the next snapshots build on what was kept");
}

#[test]
fn undo_8_many_packs_become_few_and_every_step_still_goes_back() {
    let world = World::new();
    world.write("a", "0");
    let first = world.step(|| world.write("a", "1"));
    for round in 0..70 {
        world.step(|| world.write("b", format!("{round}")));
    }
    let collected = world.store.collect().unwrap();
    assert_eq!(collected.dropped, 0);
    let packs = std::fs::read_dir(world.store.folder().join("packs")).unwrap().count();
    assert!(packs < 5, "{packs}");
    world.undo(Selection::From(first));
    assert_eq!(world.read("a"), "0");
    assert!(!world.path("b").exists());
}

#[test]
fn undo_8_a_torn_line_and_a_damaged_pack_lose_no_other_step() {
    let world = World::new();
    world.write("a", "0");
    let first = world.step(|| world.write("a", "1"));
    world.step(|| world.write("b", "2"));
    let log = world.store.folder().join("snapshots.jsonl");
    let mut text = std::fs::read(&log).unwrap();
    text.extend_from_slice(b"{\"number\":99,\"atMs\":1,\"act\":{\"bef");
    std::fs::write(&log, text).unwrap();
    std::fs::write(world.store.folder().join("packs/0000009999.pack"), b"rubbish").unwrap();
    std::fs::write(world.store.folder().join("index"), b"rubbish").unwrap();
    world.undo(Selection::From(first));
    assert_eq!(world.read("a"), "0");
    assert!(!world.path("b").exists());
}
