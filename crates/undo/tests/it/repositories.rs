//! Repositories: git's own files are never written while they work, and brought back when they are gone.

use crate::world::{Held, World};
use std::path::Path;
use std::process::Command;
use tripwire_undo::Selection;

fn git(world: &World, args: &[&str]) -> String {
    let mut command = Command::new("git");
    command.arg("-C").arg(world.root()).args(["-c", "user.name=n", "-c", "user.email=e@example.org"]).args(args);
    let out = command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_SYSTEM", "/dev/null").output().unwrap();
    assert!(out.status.success(), "{args:?}: {}", String::from_utf8_lossy(&out.stderr));
    String::from_utf8(out.stdout).unwrap()
}

fn repository() -> Option<World> {
    if Command::new("git").arg("--version").output().is_err() {
        tripwire_testing::skip("there is no git here");
        return None;
    }
    let world = World::new();
    git(&world, &["init", "-q", "-b", "main"]);
    world.write("tracked", "one");
    world.write(".gitignore", "ignored\n");
    git(&world, &["add", "."]);
    git(&world, &["commit", "-q", "-m", "first"]);
    world.write("staged", "s");
    git(&world, &["add", "staged"]);
    world.write("untracked/work", "hours");
    world.write("ignored", "secret");
    Some(world)
}

fn own(world: &World) -> Held {
    let mut held = world.held();
    held.retain(|path, _| path.starts_with(".git"));
    held
}

#[test]
fn undo_5_index_refs_stash_hooks_and_config_are_untouched() {
    let Some(world) = repository() else { return };
    world.write("stashed", "x");
    git(&world, &["stash", "-q", "-u"]);
    world.write(".git/hooks/pre-commit", "#!/bin/sh\nexit 1\n");
    world.write("untracked/work", "hours");
    let before = own(&world);
    let step = world.step(|| world.write("tracked", "two"));
    assert_eq!(own(&world), before, "taking snapshots writes nothing there");
    world.undo(Selection::From(step));
    world.undo(Selection::LastAct);
    world.store.collect().unwrap();
    assert_eq!(own(&world), before);
}

#[test]
fn undo_5_a_commit_of_the_agent_stays_and_the_files_go_back() {
    let Some(world) = repository() else { return };
    let step = world.step(|| {
        world.write("tracked", "two");
        git(&world, &["commit", "-q", "-a", "-m", "agent"]);
    });
    let before = own(&world);
    let done = world.undo(Selection::From(step));
    assert_eq!(world.read("tracked"), "one");
    assert_eq!(own(&world), before);
    assert_eq!(done.plan.repositories, [Path::new(".git")], "and that is said");
    assert!(git(&world, &["log", "--oneline"]).contains("agent"));
}

#[test]
fn undo_5_after_git_clean_everything_untracked_and_ignored_is_back() {
    let Some(world) = repository() else { return };
    let before = world.held();
    world.step(|| drop(git(&world, &["clean", "-fdxq"])));
    assert!(!world.path("untracked").exists() && !world.path("ignored").exists());
    world.undo(Selection::Last);
    assert_eq!(world.held(), before);
}

#[test]
fn undo_5_a_repository_that_was_removed_comes_back_whole() {
    let Some(world) = repository() else { return };
    world.write(".geometry/journal/x", "ours");
    let (before, log) = (own(&world), git(&world, &["log", "--format=%H"]));
    world.step(|| {
        std::fs::remove_dir_all(world.path(".git")).unwrap();
        std::fs::remove_dir_all(world.path(".geometry")).unwrap();
    });
    world.undo(Selection::Last);
    assert_eq!(own(&world), before);
    assert_eq!(git(&world, &["log", "--format=%H"]), log);
    assert!(git(&world, &["status", "--porcelain"]).contains("A  staged"));
}

#[test]
fn undo_5_after_the_folder_itself_was_removed_and_made_again() {
    let Some(world) = repository() else { return };
    let before = world.held();
    let step = world.begin(None);
    std::fs::remove_dir_all(world.root()).unwrap();
    std::fs::create_dir(world.root()).unwrap();
    let done = world.undo(Selection::From(step));
    assert_eq!(world.held(), before);
    assert_eq!(done.plan.unended, [step], "its end was never reported, and that is said");
}

#[test]
fn undo_5_a_merge_in_progress_and_a_submodule_stay_what_they_are() {
    let Some(world) = repository() else { return };
    git(&world, &["commit", "-q", "-a", "-m", "second"]);
    git(&world, &["checkout", "-q", "-b", "other"]);
    world.write("tracked", "theirs");
    git(&world, &["commit", "-q", "-a", "-m", "theirs"]);
    git(&world, &["checkout", "-q", "main"]);
    world.write("tracked", "ours");
    git(&world, &["commit", "-q", "-a", "-m", "ours"]);
    let merge = Command::new("git").arg("-C").arg(world.root()).args(["merge", "-q", "other"]).output().unwrap();
    assert!(!merge.status.success());
    world.write("sub/.git", "gitdir: ../.git/modules/sub\n");
    world.write("sub/file", "x");
    let before = world.held();
    assert!(before.contains_key(Path::new(".git/MERGE_HEAD")));
    world.step(|| {
        world.write("tracked", "resolved badly");
        std::fs::remove_dir_all(world.path("sub")).unwrap();
    });
    world.undo(Selection::Last);
    assert_eq!(world.held(), before);
}
