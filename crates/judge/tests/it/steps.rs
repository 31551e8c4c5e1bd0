//! The steps of a line for those who watch over paths: `steps.txt` holds small lines with their steps, and how words stand to
//! the paths that are watched.
//!
//! A line begins with `$ ` (`⏎` in it is a line end). Below it stands each step: what runs with its words and what it reads,
//! or what is written, and behind `in` the folders. `?` lists the words that may mean `@/.guard/STOP`, and how.
//! `TRIPWIRE_BLESS=1 cargo test -p tripwire-judge --test it steps` writes the steps again.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use tripwire_judge::read_only::{line_only_reads, steps_only_read};
use tripwire_judge::steps::{Doing, Step};
use tripwire_judge::word::{Relation, Word};
use tripwire_judge::{Facts, Judge};

fn judge() -> Judge {
    Judge::new(facts())
}

fn facts() -> Facts {
    Facts { workspace: "/w".into(), cwd: "/w".into(), home: Some("/h".into()), ..Facts::default() }
}

fn words(words: &[Word]) -> String {
    words.iter().map(|word| format!(" [{}]", word.shown())).collect()
}

fn of_step(step: &Step) -> String {
    let doing = match &step.doing {
        Doing::Runs { program, words: given, input } => {
            let input = input.as_ref().map(|text| format!(" < {text:?}")).unwrap_or_default();
            format!("runs [{}]{}{input}", program.shown(), words(given))
        }
        Doing::Writes(word) => format!("writes [{}]", word.shown()),
    };
    let folders: Vec<String> = step.folders.iter().map(|folder| folder.display().to_string()).collect();
    format!("{doing} in {}", if folders.is_empty() { "an unknown folder".to_owned() } else { folders.join(", ") })
}

/// How the words of a step, and their parts, stand to the watched path.
fn relations(step: &Step) -> Vec<String> {
    let all: Vec<&Word> = match &step.doing {
        Doing::Runs { program, words, .. } => std::iter::once(program).chain(words).collect(),
        Doing::Writes(word) => vec![word],
    };
    let parts = all.iter().flat_map(|word| word.parts());
    let folder = step.folders.first().map(PathBuf::as_path);
    let named = |part: Word| match part.relation(folder, Path::new("/w/.guard/STOP"), &["STOP", ".guard"]) {
        Relation::Apart => None,
        found @ (Relation::Same | Relation::Below | Relation::Above) => Some(format!("[{}] {found:?}", part.shown())),
    };
    parts.filter_map(named).collect()
}

fn entry(line: &str) -> String {
    let text = line.replace('⏎', "\n");
    let steps = judge().steps(&text, &|| vec![PathBuf::from("/w/.guard/STOP"), PathBuf::from("/w/.guard/log/x.json")]);
    let mut entry = String::new();
    for step in &steps {
        writeln!(entry, "  {}", of_step(step).replace('\n', "⏎")).unwrap();
        let relations = relations(step);
        if !relations.is_empty() {
            writeln!(entry, "    ? {}", relations.join(", ").replace('\n', "⏎")).unwrap();
        }
    }
    if steps_only_read(&steps) {
        entry += "  only reads\n";
    }
    entry
}

#[test]
fn each_line_has_the_steps_of_the_table() {
    let table = include_str!("steps.txt");
    let lines = table.lines().filter_map(|row| row.strip_prefix("$ "));
    let now: String = lines.map(|line| format!("$ {line}\n{}", entry(line))).collect();
    if std::env::var_os("TRIPWIRE_BLESS").is_some() {
        std::fs::write(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/steps.txt"), now).unwrap();
        return;
    }
    for (now, expected) in now.split("$ ").zip(table.split("$ ")) {
        assert_eq!(now, expected);
    }
    assert_eq!(now.len(), table.len());
}

#[test]
fn a_line_without_a_step_does_not_count_as_reading() {
    for line in ["", "# nothing", "x=1", "f() { ls; }"] {
        assert!(!line_only_reads(line, &facts()), "{line}");
    }
    assert!(line_only_reads("ls", &facts()));
}

#[test]
fn a_word_stands_to_a_path_as_the_parts_of_both_do() {
    for (word, folder, path, expected) in [
        ("a/b", Some("/w"), "/w/a/b", Relation::Same),
        ("a/b/", Some("/w"), "/w/a/b", Relation::Same),
        ("./a//b", Some("/w"), "/w/a/b", Relation::Same),
        ("a", Some("/w"), "/w/a/b", Relation::Above),
        (".", Some("/w"), "/w/a/b", Relation::Above),
        ("..", Some("/w"), "/w/a/b", Relation::Above),
        ("/", Some("/w"), "/w/a/b", Relation::Above),
        ("a/b/c", Some("/w"), "/w/a/b", Relation::Below),
        ("a/c", Some("/w"), "/w/a/b", Relation::Apart),
        ("ab", Some("/w"), "/w/a/b", Relation::Apart),
        ("../w/a/b", Some("/w"), "/w/a/b", Relation::Same),
        ("x/../a/b", Some("/w"), "/w/a/b", Relation::Same),
        ("../../../w/a", Some("/w"), "/w/a/b", Relation::Above),
        ("/w/a/b", None, "/w/a/b", Relation::Same),
        ("/w/a/b", Some("/x"), "/w/a/b", Relation::Same),
        ("/v", None, "/w/a/b", Relation::Apart),
        ("a/b", Some("/x"), "/w/a/b", Relation::Apart),
        ("b", Some("/w/a"), "/w/a/b", Relation::Same),
        ("b", None, "/w/a/b", Relation::Same),
        ("c", None, "/w/a/b", Relation::Apart),
    ] {
        let found = Word::of(word).relation(folder.map(Path::new), Path::new(path), &["b"]);
        assert_eq!(found, expected, "`{word}` in {folder:?} to {path}");
    }
}

#[test]
fn the_parts_of_a_word_are_the_values_in_it() {
    for (word, expected) in [
        ("abc", "abc"),
        ("a=b", "a=b a b"),
        ("a:b,c", "a:b,c a b c"),
        ("--out=x:y", "--out=x:y --out x y"),
        ("-", "-"),
        ("-a", "-a"),
        ("-ab", "-ab b"),
        ("-so.x", "-so.x o.x .x"),
        ("-a.b", "-a.b .b"),
        ("-abcdefghij", "-abcdefghij bcdefghij cdefghij defghij efghij fghij ghij hij ij"),
        ("--abc", "--abc"),
        ("=", "=  "),
    ] {
        let parts: Vec<String> = Word::of(word).parts().iter().map(Word::shown).collect();
        assert_eq!(parts.join(" "), expected, "{word}");
    }
}

#[test]
fn a_known_word_names_a_path_and_has_its_parts() {
    let path = |word: &str, folder: Option<&str>| Word::of(word).path(folder.map(Path::new));
    assert_eq!(path("a/b", Some("/w")), Some("/w/a/b".into()));
    assert_eq!(path("/a", Some("/w")), Some("/a".into()));
    assert_eq!(path("/a", None), Some("/a".into()));
    assert_eq!((path("a", None), path("", Some("/w"))), (None, None));
    let has = |word: &str, folder: Option<&str>, name: &str| Word::of(word).has_part(folder.map(Path::new), name);
    assert!(has("x/.git/y", None, ".git") && has("y", Some("/w/.git"), ".git") && has("/x/.git", Some("/w"), ".git"));
    assert!(!has("/y", Some("/w/.git"), ".git") && !has("x.git", None, ".git") && !has("y", Some("/w"), ".git"));
    assert!(!Word::of("a").is_unknown() && !Word::of("").is_unknown());
    assert_eq!(Word::of("a*").known().as_deref(), Some("a*"));
}
