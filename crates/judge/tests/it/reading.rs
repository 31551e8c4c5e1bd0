//! What a line would run, as the judge reads it: the same push behind every spelling, and none behind a look-alike.

use super::situations::Situation;
use tripwire_judge::reading::{Act, Branch, Extent, Reading};

const PROTECTED: [&str; 3] = ["main", "master", "release/*"];

fn reaches_protected(reading: &Reading) -> bool {
    let mut pushes = reading.commands.iter().filter_map(|command| command.push.as_ref());
    reading.extent == Extent::Cut || pushes.any(|push| push.reaches_any_of(PROTECTED.into_iter()))
}

#[test]
fn ident_1_a_push_is_found_however_it_is_spelled() {
    let here = Situation::new("feature");
    let lines = include_str!("pushes.txt").lines().filter(|line| !line.is_empty() && !line.starts_with("# "));
    let missed: Vec<&str> = lines.filter(|line| !reaches_protected(&here.judge().read(&unfolded(line)))).collect();
    assert!(missed.is_empty(), "{missed:#?}");
}

#[test]
fn ident_1_what_only_looks_like_a_push_is_none() {
    let here = Situation::new("feature");
    let lines = include_str!("no_pushes.txt").lines().filter(|line| !line.is_empty() && !line.starts_with("# "));
    let found: Vec<&str> = lines.filter(|line| reaches_protected(&here.judge().read(&unfolded(line)))).collect();
    assert!(found.is_empty(), "{found:#?}");
}

/// In the tables `⏎` ends a line of the command.
fn unfolded(line: &str) -> String {
    line.replace('⏎', "\n")
}

#[test]
fn a_reading_lists_every_command_with_its_words() {
    let here = Situation::new("clean");
    let words = |line: &str| -> Vec<String> {
        here.judge().read(line).commands.into_iter().map(|command| command.words.join(" ")).collect()
    };
    assert_eq!(
        words("x=publish; sudo cargo $x --dry-run"),
        ["sudo cargo publish --dry-run", "cargo publish --dry-run"]
    );
    assert_eq!(words("/usr/bin/git -C . -c a.b=c push origin topic"), ["git push origin topic"]);
    assert_eq!(words("f() { docker push \"$1\"; }; f image"), ["docker push image"]);
    assert_eq!(words("cargo $COMMAND"), ["cargo ${COMMAND}"]);
}

#[test]
fn a_command_starts_with_its_own_words_and_no_others() {
    let here = Situation::new("clean");
    let read = here.judge().read("cargo publish --dry-run").commands.remove(0);
    assert!(read.starts_with(&["cargo"]) && read.starts_with(&["cargo", "publish"]));
    assert!(!read.starts_with(&["cargo", "build"]) && !read.starts_with(&["cargo", "publish", "--dry-run", "more"]));
}

#[test]
fn a_push_says_what_it_does_to_which_branch() {
    let here = Situation::new("feature");
    let reaches = |line: &str| {
        let push = here.judge().read(line).commands.into_iter().find_map(|command| command.push).unwrap();
        let name = |branch| match branch {
            Branch::Named(name) => name,
            Branch::Any(_) => "*".to_owned(),
        };
        (push.remote, push.reaches.into_iter().map(|reach| (name(reach.branch), reach.act)).collect::<Vec<_>>())
    };
    let one = |remote: &str, branch: &str, act| (remote.to_owned(), vec![(branch.to_owned(), act)]);
    assert_eq!(reaches("git push origin main"), one("origin", "main", Act::Update));
    assert_eq!(reaches("git push -f fork HEAD:refs/heads/x"), one("fork", "x", Act::Rewrite));
    assert_eq!(reaches("git push origin :old"), one("origin", "old", Act::Delete));
    assert_eq!(reaches("git push"), one("origin", "feature/x", Act::Update));
    assert_eq!(reaches("git push --all"), one("origin", "*", Act::Update));
    assert_eq!(reaches("git push -n origin main"), ("origin".to_owned(), vec![]));
}

#[test]
fn a_line_that_is_too_complex_is_not_read_to_its_end() {
    let here = Situation::new("clean");
    let deep = format!("{}git push origin main{}", "( ".repeat(60), " )".repeat(60));
    assert_eq!(here.judge().read(&deep).extent, Extent::Cut);
    assert_eq!(here.judge().read("git status").extent, Extent::Whole);
    // As many commands as are kept, and one more.
    for (count, extent) in [(8_192, Extent::Whole), (8_193, Extent::Cut)] {
        let reading = here.judge().read(&"true;".repeat(count));
        assert_eq!((reading.extent, reading.commands.len()), (extent, 8_192), "{count}");
    }
}
