//! What git commands do to the guard's own folder, and what is inside of submodules.

use super::situations::{Situation, git_in};
use std::fs;
use tripwire_judge::Answer;

/// A repository without anything else that could be lost, with the guard's folder in it.
fn guarded() -> Situation {
    let here = Situation::new("clean");
    here.git(&["clean", "-qfdx"]);
    here.write("ws/.git/info/exclude", ".geometry/\n");
    here.write("ws/.geometry/journal/x/00000001.jsonl", "{}\n");
    here
}

fn answer(here: &Situation, line: &str) -> Answer {
    here.judge().judge(line).verdict
}

#[test]
fn floor_1_the_guards_folder_is_not_cleaned_or_stashed_away() {
    let here = guarded();
    for line in [
        "git clean -fdx",
        "git clean -xdf .",
        "git clean -dfX",
        "git clean -ffdx",
        "git stash -a",
        "git stash --all",
        "git stash push -a",
        "git stash push --all -- .",
    ] {
        assert_eq!(answer(&here, line), Answer::Hold, "{line}");
    }
}

#[test]
fn floor_1_cleaning_beside_the_guards_folder_passes() {
    let here = guarded();
    for line in [
        "git clean -fd",
        "git clean -fdx -e .geometry",
        "git clean -fdx --exclude=.geometry/",
        "git clean -ndx",
        "git clean -fdx src",
        "git clean -fx",
        "git stash",
        "git stash -u",
        "git stash push -a -- src",
        "git stash list",
    ] {
        assert_eq!(answer(&here, line), Answer::Pass, "{line}: {:?}", here.judge().judge(line));
    }
}

#[test]
fn floor_1_a_changed_submodule_is_lost_only_by_commands_that_go_into_it() {
    let here = Situation::new("clean");
    here.git(&["clean", "-qfdx"]);
    let sub = here.path("module");
    fs::create_dir(&sub).unwrap();
    for words in [&["init", "-q"][..], &["commit", "-q", "--allow-empty", "-m", "x"]] {
        git_in(&sub, words);
    }
    here.write("module/f", "1");
    git_in(&sub, &["add", "f"]);
    git_in(&sub, &["commit", "-q", "-m", "f"]);
    let from = sub.display().to_string();
    here.git(&["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", &from, "sub"]);
    here.git(&["commit", "-q", "-m", "sub"]);
    let reset = "git reset --hard --recurse-submodules";
    assert_eq!(answer(&here, reset), Answer::Pass, "nothing is changed: {:?}", here.judge().judge(reset));
    here.write("ws/sub/f", "2");
    assert_eq!(answer(&here, "git checkout -- ."), Answer::Pass);
    assert_eq!(answer(&here, "git reset --hard"), Answer::Pass, "it stays out of the submodule");
    assert_eq!(answer(&here, reset), Answer::Hold);
    assert_eq!(answer(&here, "git checkout -f --recurse-submodules main"), Answer::Hold);
    here.git(&["config", "submodule.recurse", "true"]);
    assert_eq!(answer(&here, "git reset --hard"), Answer::Hold);
}
