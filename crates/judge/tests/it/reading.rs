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
}

#[test]
fn perm_1_a_reading_names_the_hosts_and_the_files_of_a_command() {
    let here = Situation::new("clean");
    let hosts = |line: &str| -> Vec<String> {
        here.judge().read(line).commands.into_iter().flat_map(|command| command.hosts).collect()
    };
    assert_eq!(hosts("curl -s https://Api.Example.com:8443/x"), ["api.example.com"]);
    assert_eq!(hosts("sudo ssh -p 22 me@box.example.com uptime"), ["box.example.com"]);
    assert_eq!(hosts("scp a.txt me@box:/tmp && rsync -a src other:dst"), ["box", "other"]);
    assert_eq!(hosts("git clone git@github.com:me/x.git"), ["github.com"]);
    assert_eq!(hosts("h=a.example.com; wget http://$h/x"), ["a.example.com"]);
    assert!(hosts("echo https-free text; ls src; cat README.md").is_empty());
    let paths = |line: &str| -> Vec<String> {
        let root = here.path("ws");
        let shown = |path: std::path::PathBuf| path.strip_prefix(&root).unwrap_or(&path).display().to_string();
        here.judge().read(line).commands.into_iter().flat_map(|command| command.paths).map(shown).collect()
    };
    assert_eq!(paths("cat README.md"), ["README.md"]);
    assert_eq!(paths("cd src && cat lib.rs ../.env"), ["src/lib.rs", ".env"]);
    assert_eq!(paths("wc -l < README.md"), ["README.md"]);
    assert_eq!(paths("bash -c 'head new/file'"), ["new/file"]);
    assert_eq!(paths("tool --config=src/lib.rs -x"), ["src/lib.rs"]);
    assert_eq!(paths("x=$(< .env)"), [".env"]);
    assert!(paths("echo README.md; printf src/lib.rs; grep -r word; git commit -m README").is_empty());
}
