//! Killed at any moment: what was snapshot is there, what was half taken back can be brought back.

use crate::histories::Random;
use crate::world::{World, doer, held, settings};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;
use tripwire_testing::{sized, tiny_disk};
use tripwire_undo::{Selection, UndoStore};

const FOLDER: &str = "TRIPWIRE_UNDO_TEST_FOLDER";

#[test]
fn undo_6_killed_while_taking_back_nothing_is_lost_and_it_can_be_brought_back() {
    for seed in 1..=sized(8, 200) {
        let world = World::new();
        let mut random = Random(seed * 31 + 5);
        for name in 0..300 {
            world.write(&format!("d{}/f{name}", name % 7), format!("old {name}"));
        }
        let old = world.held();
        world.step(|| {
            for name in 0..300 {
                world.write(&format!("d{}/f{name}", name % 7), format!("new {name} {}", "x".repeat(name)));
            }
            std::fs::remove_dir_all(world.path("d3")).unwrap();
        });
        let new = world.held();
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "crash::helper_takes_the_last_step_back", "--ignored", "--nocapture"])
            .env(FOLDER, world.dir.path())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(Duration::from_millis(3 + random.next(60)));
        child.kill().unwrap();
        child.wait().unwrap();
        let undone = world.held() == old;
        match world.try_undo(Selection::LastAct) {
            Ok(done) => assert!(done.failed.is_empty() && done.kept.is_empty(), "seed {seed}: {done:?}"),
            // Killed before it began.
            Err(_) => assert!(!undone, "seed {seed}"),
        }
        assert_eq!(world.held(), new, "seed {seed}: everything is back");
        world.undo(Selection::Last);
        assert_eq!(world.held(), old, "seed {seed}: and the step can be taken back as ever");
    }
}

#[test]
#[ignore = "run and killed by undo_6_killed_while_taking_back_nothing_is_lost_and_it_can_be_brought_back"]
fn helper_takes_the_last_step_back() {
    let dir = PathBuf::from(std::env::var_os(FOLDER).unwrap());
    let store = UndoStore::of(&dir.join("state"), &dir.join("work"), settings());
    store.take_back(crate::world::SESSION, &Selection::Last, &[], &doer()).unwrap();
}

#[test]
fn undo_6_killed_while_taking_snapshots_the_earlier_ones_hold() {
    for seed in 1..=sized(5, 150) {
        let world = World::new();
        let mut random = Random(seed * 17 + 11);
        for name in 0..400 {
            world.write(&format!("d{}/f{name}", name % 5), format!("old {name}"));
        }
        let old = world.held();
        let step = world.step(|| world.write("d1/f1", "changed"));
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "crash::helper_takes_snapshots", "--ignored", "--nocapture"])
            .env(FOLDER, world.dir.path())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(Duration::from_millis(5 + random.next(120)));
        child.kill().unwrap();
        child.wait().unwrap();
        world.undo(Selection::From(step));
        assert_eq!(world.held(), old, "seed {seed}");
    }
}

#[test]
#[ignore = "run and killed by undo_6_killed_while_taking_snapshots_the_earlier_ones_hold"]
fn helper_takes_snapshots() {
    let dir = PathBuf::from(std::env::var_os(FOLDER).unwrap());
    let store = UndoStore::of(&dir.join("state"), &dir.join("work"), settings());
    for step in 1_001.. {
        store.before(&crate::world::mark(step, None), None).unwrap();
        for name in 0..40 {
            std::fs::write(dir.join(format!("work/d{}/f{name}", name % 5)), format!("{step} {name}")).unwrap();
        }
        store.after(crate::world::SESSION, &step.to_string(), None).unwrap();
    }
}

#[test]
fn undo_6_a_full_disk_is_said_and_the_steps_before_it_can_be_taken_back() {
    let Some(disk) = tiny_disk() else { return };
    let world = World::new();
    let store = UndoStore::of(disk.path(), &world.root(), settings());
    world.write("a", "one");
    store.before(&crate::world::mark(1, None), None).unwrap();
    world.write("a", "two");
    store.after(crate::world::SESSION, "1", None).unwrap();
    let old = held(&world.root());
    let mut random = Random(99);
    let noise: Vec<u8> = (0..3_000_000).map(|_| random.next(256) as u8).collect();
    world.write("large", &noise);
    let error = store.before(&crate::world::mark(2, None), None).unwrap_err();
    assert!(error.is_disk_full(), "{error}");
    std::fs::remove_file(world.path("large")).unwrap();
    let steps = store.history().unwrap();
    assert!(steps.steps().iter().filter(|step| step.step == 2).all(|step| step.missing.is_some()));
    assert_eq!(held(&world.root()), old);
    store.take_back(crate::world::SESSION, &Selection::From(1), &[], &doer()).unwrap();
    assert_eq!(world.read("a"), "one");
}
