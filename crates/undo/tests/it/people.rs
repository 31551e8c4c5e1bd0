//! What a person changed is never lost: between steps, since, in the very moment, and beside a step that names its files.

use crate::histories::{Random, change};
use crate::world::World;
use tripwire_testing::sized;
use tripwire_undo::Selection;

#[test]
fn undo_4_what_a_person_changed_since_stays_and_the_other_version_is_put_beside_it() {
    let world = World::new();
    world.write("a", "first");
    world.write("gone", "work");
    let step = world.step(|| {
        world.write("a", "agent");
        world.write("new", "agent");
        std::fs::remove_file(world.path("gone")).unwrap();
    });
    world.write("a", "person");
    world.write("gone", "person");
    world.write("new", "person");
    let done = world.undo(Selection::From(step));
    assert_eq!(
        (world.read("a").as_str(), world.read("gone").as_str(), world.read("new").as_str()),
        ("person", "person", "person")
    );
    assert_eq!(world.read(&format!("a.before-step-{step}")), "first");
    assert_eq!(world.read(&format!("gone.before-step-{step}")), "work");
    assert_eq!(done.kept.len(), 3);
    assert!(done.changed.is_empty());
}

#[test]
fn undo_4_a_persons_work_between_steps_and_elsewhere_is_not_touched() {
    let world = World::new();
    world.write("code", "0");
    world.write("notes", "0");
    let first = world.step(|| world.write("code", "1"));
    world.write("notes", "mine");
    world.write("more/mine", "mine");
    world.step(|| world.write("code", "2"));
    world.write("late", "mine");
    let done = world.undo(Selection::From(first));
    assert_eq!(world.read("code"), "0");
    assert_eq!(
        (world.read("notes").as_str(), world.read("more/mine").as_str(), world.read("late").as_str()),
        ("mine", "mine", "mine")
    );
    assert!(done.kept.is_empty());
    assert!(!world.path("code.before-step-1").exists(), "there was no conflict");
}

#[test]
fn undo_4_beside_a_call_that_names_its_files_other_changes_are_a_persons() {
    let world = World::new();
    world.write("a", "0");
    world.write("b", "0");
    world.step_naming(Some(vec!["a".to_owned()]), || {
        world.write("a", "agent");
        world.write("b", "person");
    });
    world.undo(Selection::Last);
    assert_eq!((world.read("a").as_str(), world.read("b").as_str()), ("0", "person"));
}

#[test]
fn undo_4_a_folder_in_which_a_person_put_something_stays() {
    let world = World::new();
    let step = world.step(|| world.write("made/by/agent", "x"));
    world.write("made/mine", "mine");
    world.undo(Selection::From(step));
    assert_eq!(world.read("made/mine"), "mine");
    assert!(!world.path("made/by").exists());
}

#[test]
fn undo_4_another_sessions_steps_are_not_taken_back() {
    let world = World::new();
    let step = world.step(|| world.write("mine", "1"));
    let other = tripwire_undo::StepMark { session: "auto-2".to_owned(), ..crate::world::mark(9, None) };
    world.store.before(&other, None).unwrap();
    world.write("theirs", "2");
    world.store.after("auto-2", "9", None).unwrap();
    world.undo(Selection::From(step));
    assert!(!world.path("mine").exists());
    assert_eq!(world.read("theirs"), "2");
}

#[test]
fn undo_4_in_random_histories_no_word_of_a_person_is_lost() {
    for seed in 1..=sized(20, 1_000) {
        let (world, mut random) = (World::new(), Random(seed * 104_729 + 3));
        (0..4).for_each(|_| change(&world, &mut random));
        let mut mine = Vec::new();
        let first = world.step(|| change(&world, &mut random));
        for round in 0..4 {
            let name = format!("person{}", random.next(3));
            let path = world.path(&name);
            if !path.exists() {
                let text = format!("seed {seed} round {round}");
                std::fs::write(&path, &text).unwrap();
                mine.push((name, text));
            }
            world.step(|| {
                // The agent keeps off these, so nothing but taking back could touch them.
                let kept: Vec<_> =
                    mine.iter().map(|(name, _)| (name.clone(), std::fs::read(world.path(name)))).collect();
                change(&world, &mut random);
                for (name, text) in kept {
                    if world.path(&name).is_dir() {
                        std::fs::remove_dir_all(world.path(&name)).unwrap();
                    }
                    if world.path(&name).is_symlink() {
                        std::fs::remove_file(world.path(&name)).unwrap();
                    }
                    std::fs::write(world.path(&name), text.unwrap()).unwrap();
                }
            });
        }
        world.undo(Selection::From(first));
        for (name, text) in mine {
            assert_eq!(world.read(&name), text, "seed {seed}");
        }
    }
}
