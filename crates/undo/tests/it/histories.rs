//! Random histories: every step can be taken back and brought back, byte for byte.

use crate::world::{Held, World, chmod};
use std::path::PathBuf;
use tripwire_testing::sized;
use tripwire_undo::Selection;

/// Figures that look random and are the same each time.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self, below: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % below
    }
}

/// Anything that a tool or a shell command may do to a tree.
pub(crate) fn change(world: &World, random: &mut Random) {
    let root = world.root();
    let all: Vec<PathBuf> =
        world.held().into_keys().filter(|path| !path.starts_with(".git")).map(|path| root.join(path)).collect();
    let some = |random: &mut Random| {
        let at = random.next(all.len().max(1) as u64) as usize;
        all.get(at).cloned().unwrap_or_else(|| root.join("first"))
    };
    let folder = |random: &mut Random| {
        let path = some(random);
        if path.is_dir() && !path.is_symlink() { path } else { root.clone() }
    };
    let name = |random: &mut Random| format!("n{}", random.next(12));
    let text = |random: &mut Random| vec![b'a' + random.next(26) as u8; random.next(40) as usize];
    match random.next(12) {
        0 | 1 => drop(std::fs::write(folder(random).join(name(random)), text(random))),
        2 => drop(std::fs::write(some(random), text(random))),
        3 => drop(std::fs::create_dir(folder(random).join(name(random)))),
        4 => {
            let path = some(random);
            if path.is_dir() && !path.is_symlink() {
                std::fs::remove_dir_all(path).ok();
            } else {
                std::fs::remove_file(path).ok();
            }
        }
        5 | 6 => drop(std::fs::rename(some(random), folder(random).join(name(random)))),
        7 => drop(std::os::unix::fs::symlink(name(random), folder(random).join(name(random)))),
        8 => drop(std::fs::hard_link(some(random), folder(random).join(name(random)))),
        9 => {
            let path = some(random);
            if path.exists() && !path.is_symlink() {
                chmod(
                    &path,
                    if path.is_dir() { 0o700 | random.next(64) as u32 } else { 0o600 | random.next(64) as u32 },
                );
            }
        }
        10 => {
            let script = format!(
                "cd '{}' && for f in *; do [ -f \"$f\" ] && echo x >> \"$f\"; done; mkdir -p a/b && mv n1 a/b/ 2>/dev/null",
                root.display()
            );
            std::process::Command::new("sh").args(["-c", &script]).output().ok();
        }
        _ => {
            let path = some(random);
            if path.is_file() && !path.is_symlink() {
                // The same size, in the same moment, in place.
                let length = std::fs::metadata(&path).unwrap().len() as usize;
                std::fs::write(&path, vec![b'z'; length]).ok();
            }
        }
    }
}

/// What differs: the path, what is there, and what should be.
fn differing(one: &Held, two: &Held) -> Vec<String> {
    let paths = one.keys().chain(two.keys()).filter(|path| one.get(*path) != two.get(*path));
    paths.map(|path| format!("{}: {:?} for {:?}", path.display(), one.get(path), two.get(path))).collect()
}

#[test]
fn undo_3_random_histories_go_back_to_every_step_and_forth_again_byte_for_byte() {
    let git = std::process::Command::new("git").arg("--version").output().is_ok();
    let runs = std::env::var("TRIPWIRE_TEST_RUNS").ok().and_then(|runs| runs.parse().ok());
    for seed in 1..=runs.unwrap_or(sized(20, 300)) {
        let world = if seed % 2 == 0 { World::watched() } else { World::new() };
        let mut random = Random(seed * 7_919 + 1);
        if git && seed % 4 == 0 {
            let made = std::process::Command::new("git").arg("init").arg("-q").arg(world.root()).status().unwrap();
            assert!(made.success());
        }
        (0..6).for_each(|_| change(&world, &mut random));
        let mut trees = vec![world.held()];
        let mut steps = Vec::new();
        for _ in 0..5 {
            steps.push(world.step(|| (0..=random.next(4)).for_each(|_| change(&world, &mut random))));
            trees.push(world.held());
        }
        let last = trees.last().unwrap();
        for (at, step) in steps.iter().enumerate() {
            world.undo(Selection::From(*step));
            assert_eq!(differing(&world.held(), &trees[at]), Vec::<String>::new(), "seed {seed}, back to {step}");
            world.undo(Selection::LastAct);
            assert_eq!(differing(&world.held(), last), Vec::<String>::new(), "seed {seed}, forward from {step}");
        }
        // One by one, the last first.
        for (at, step) in steps.iter().enumerate().rev() {
            world.undo(Selection::From(*step));
            assert_eq!(differing(&world.held(), &trees[at]), Vec::<String>::new(), "seed {seed}, stepwise to {step}");
        }
        assert!(world.try_undo(Selection::Last).is_err(), "seed {seed}: everything was taken back");
    }
}

#[test]
fn undo_3_the_last_step_that_changed_files_is_taken_back_and_one_that_changed_none_is_passed_over() {
    let world = World::new();
    world.write("a", "one");
    world.step(|| world.write("a", "two"));
    let last = world.step(|| world.write("a", "three"));
    world.step(|| {});
    assert_eq!(world.undo(Selection::Last).plan.steps, [last]);
    assert_eq!(world.read("a"), "two");
    world.undo(Selection::Last);
    assert_eq!(world.read("a"), "one");
    assert!(world.try_undo(Selection::Last).is_err());
    world.undo(Selection::LastAct);
    assert_eq!(world.read("a"), "two", "the newest act comes back first");
    world.undo(Selection::LastAct);
    assert_eq!(world.read("a"), "three");
    assert!(world.try_undo(Selection::LastAct).is_err(), "nothing is left to bring back");
}

#[test]
fn undo_3_a_process_that_stays_sees_what_moves_comes_back_and_is_exchanged() {
    let world = World::watched();
    let looks = |world: &World| {
        let seen = world.store.look_now().unwrap().tree;
        // A store that knows nothing has to see the same.
        let fresh =
            tripwire_undo::UndoStore::of(&world.dir.path().join("other"), &world.root(), crate::world::settings());
        assert_eq!(seen, fresh.look_now().unwrap().tree);
        seen
    };
    for name in ["a/x/f", "b/x/f", "c"] {
        world.write(name, name);
    }
    let first = looks(&world);
    let root = world.root();
    let rename = |from: &str, to: &str| std::fs::rename(root.join(from), root.join(to)).unwrap();
    rename("a", "t");
    rename("b", "a");
    rename("t", "b");
    assert_ne!(looks(&world), first, "two folders were exchanged");
    world.write("a/x/f", "again");
    looks(&world);
    world.write("new/deep/er/f", "1");
    looks(&world);
    world.write("new/deep/er/f", "2");
    world.write("new/deep/g", "3");
    looks(&world);
    std::fs::remove_dir_all(world.path("new")).unwrap();
    world.write("new/deep/er/f", "4");
    looks(&world);
    world.write("new/deep/er/f", "5");
    looks(&world);
    for round in 0..8 {
        // A file system may give the new folder the number of the old one.
        std::fs::remove_dir_all(world.path("new")).unwrap();
        world.write("new/f", format!("{round}"));
        looks(&world);
        world.write("new/f", format!("again {round}"));
        looks(&world);
    }
    world.write("new/deep/er/f", "5");
    looks(&world);
    // Drafts that are renamed to their place, and one that was a second name of a file elsewhere.
    for round in 0..3 {
        world.write("draft", format!("{round}"));
        rename("draft", "c");
        looks(&world);
    }
    let second = |name: &str| std::fs::hard_link(root.join("a/x/f"), root.join(name)).unwrap();
    second("draft");
    world.write("draft", "by another name");
    rename("draft", "c");
    looks(&world);
    second("draft");
    world.write("draft", "and again");
    rename("draft", "e");
    std::fs::remove_file(world.path("e")).unwrap();
    looks(&world);
    second("draft");
    chmod(&world.path("draft"), 0o600);
    std::fs::remove_file(world.path("draft")).unwrap();
    looks(&world);
    second("draft");
    world.write("draft", "out of sight");
    std::fs::rename(root.join("draft"), world.dir.path().join("outside")).unwrap();
    looks(&world);
    rename("new", "moved");
    world.write("moved/deep/er/f", "6");
    looks(&world);
    world.write("moved/deep/er/f", "7");
    chmod(&world.path("moved/deep"), 0o711);
    looks(&world);
}

#[test]
fn undo_3_one_file_alone_is_set_back_and_its_step_stays() {
    let world = World::new();
    for name in ["a", "b", "c/d"] {
        world.write(name, "old");
    }
    let step = world.step(|| ["a", "b", "c/d"].iter().for_each(|name| world.write(name, "new")));
    let back = |only: &str| {
        world.store.take_back(crate::world::SESSION, &Selection::All, &[only.to_owned()], &crate::world::doer())
    };
    back("c").unwrap();
    assert_eq!((world.read("a").as_str(), world.read("c/d").as_str()), ("new", "old"));
    assert_eq!(world.undo(Selection::Last).plan.steps, [step]);
    assert_eq!((world.read("a").as_str(), world.read("b").as_str(), world.read("c/d").as_str()), ("old", "old", "old"));
}
