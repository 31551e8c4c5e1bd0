//! `tripwire --help` lists what is tested, and nothing else.

use crate::session::fixture::Place;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

#[test]
fn every_verb_on_a_workspace_is_listed_and_the_inner_one_is_not() {
    let place = Place::new();
    let help = place.run(&["--help"]).ended(0).out;
    for verb in [
        "status",
        "stop",
        "pause",
        "resume",
        "ack",
        "log",
        "why",
        "not-a-loop",
        "verify",
        "export",
        "memory",
        "step",
        "replay",
    ] {
        assert!(help.lines().any(|line| line.trim_start().starts_with(&format!("{verb} "))), "{verb}:\n{help}");
        let inner: &[&str] = if verb == "memory" { &["memory", "put", "--help"] } else { &[verb, "--help"] };
        place.run(inner).ended(0).says("--json");
        assert_eq!(place.run(&[verb, "--nonsense"]).code, 2, "{verb}");
    }
    assert!(!help.contains("notify"), "{help}");
}

#[test]
fn help_events_prints_the_page_and_an_unknown_topic_is_an_error() {
    let place = Place::new();
    let page = include_str!("../../../../../docs/reference/events.md");
    assert_eq!(place.run(&["help", "events"]).ended(0).out, page);
    for topic in place.run(&["help", "topics"]).ended(0).out.lines() {
        let name = topic.split_whitespace().next().unwrap();
        place.run(&["help", name]).ended(0).says("# ");
    }
    place.run(&["--help"]).ended(0).says("tripwire help topics");
    place.run(&["help", "run"]).ended(0).says("tripwire run");
    assert_eq!(place.run(&["help", "nonsense"]).code, 2);
}

/// The names in the list of commands that a help text prints.
fn commands(help: &str) -> BTreeSet<String> {
    let is_title = |line: &str| line == "Commands:" || line == "Start:";
    let list = help.lines().skip_while(|line| !is_title(line)).skip(1).take_while(|line| *line != "Options:");
    list.filter(|line| line.starts_with("  "))
        .filter_map(|line| line.split_whitespace().next())
        .map(str::to_owned)
        .collect()
}

/// Every source of the crates, and every page beside them.
fn texts(folder: &Path, into: &mut Vec<PathBuf>) {
    for entry in folder.read_dir().unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() && name != "target" && !name.starts_with('.') {
            texts(&path, into);
        } else if path.extension().is_some_and(|ending| ending == "rs" || ending == "md") {
            into.push(path);
        }
    }
}

#[test]
fn every_command_that_a_text_names_exists() {
    let place = Place::new();
    let verbs = commands(&place.run(&["--help"]).ended(0).out);
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap();
    let mut files = Vec::new();
    texts(root, &mut files);
    let mut named: BTreeSet<(String, Option<String>)> = BTreeSet::new();
    for file in files {
        let text = std::fs::read_to_string(&file).unwrap();
        for after in text.split("`tripwire ").skip(1) {
            let command = after.split(['`', '\n']).next().unwrap();
            let plain = |word: &&str| word.chars().all(|letter| letter.is_ascii_lowercase() || letter == '-');
            let mut words =
                command.split(' ').map_while(|word| Some(word).filter(plain)).filter(|word| !word.starts_with('-'));
            if let Some(verb) = words.next().filter(|verb| !verb.is_empty()) {
                named.insert((verb.to_owned(), words.next().map(str::to_owned)));
            }
        }
    }
    assert!(named.len() > 30, "the search found next to nothing: {named:?}");
    for (verb, inner) in named {
        if verb == "help" {
            place.run(&["help", inner.as_deref().unwrap_or("topics")]).ended(0);
            continue;
        }
        assert!(verbs.contains(&verb), "a text names `tripwire {verb}`, which does not exist");
        let below = commands(&place.run(&[&verb, "--help"]).ended(0).out);
        let Some(inner) = inner.filter(|_| !below.is_empty()) else { continue };
        assert!(below.contains(&inner), "a text names `tripwire {verb} {inner}`, which does not exist");
    }
}
