//! The docs: every block of every page says what it is, and every shell example runs as it is written.
//!
//! | fence | how it is handled |
//! | --- | --- |
//! | `console` | each line after `$ ` is run; the lines after it are the expected output, `…` matching any text or any lines |
//! | `sh` | the whole block runs as one script |
//! | `text` | output or a drawing; not run |
//! | `json`, `yaml` | read by a parser; `yaml` by `tripwire policy check` |
//!
//! A comment on the line above a `console` or `sh` block says where it runs, `<!-- in: PLACE -->` or
//! `<!-- in: PLACE, exit 7 -->` (the exit code of its last command), why it does not run, `<!-- not run: REASON -->`, or which
//! test runs it, `<!-- run by: FILE -->`. Blocks of one page with the same place run one after another in it.

mod example;
mod places;
mod transcript;

use crate::session::fixture::Place;
use example::{Example, Kind, read};
use places::ExamplePlace;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use transcript::{commands, differs};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap()
}

/// Every page, relative to the repository.
fn pages() -> Vec<String> {
    let outside = [
        "README.md",
        "ARCHITECTURE.md",
        "CONTRIBUTING.md",
        "SECURITY.md",
        "SPECIFICATION.md",
        "scenarios/README.md",
        "bindings/python/README.md",
        "packaging/npm/README.md",
    ];
    let mut pages: Vec<String> = outside.map(str::to_owned).to_vec();
    below(&root().join("docs"), &mut pages);
    pages
}

fn below(folder: &Path, into: &mut Vec<String>) {
    let mut entries: Vec<PathBuf> = folder.read_dir().unwrap().map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            below(&path, into);
        } else if path.extension().is_some_and(|ending| ending == "md") {
            into.push(path.strip_prefix(root()).unwrap().to_str().unwrap().to_owned());
        }
    }
}

fn examples(page: &str) -> Vec<Example> {
    let text = fs::read_to_string(root().join(page)).unwrap();
    read(page, &text, root()).unwrap_or_else(|problem| panic!("{problem}"))
}

#[test]
fn every_block_of_the_docs_says_what_it_is() {
    let mut kinds: BTreeMap<&str, usize> = BTreeMap::new();
    for page in pages() {
        for example in examples(&page) {
            *kinds.entry(example.kind.name()).or_default() += 1;
        }
    }
    eprintln!("blocks of the docs: {kinds:?}");
    let count = |kind: &str| kinds.get(kind).copied().unwrap_or(0);
    assert!(count("run") > count("not run"), "most examples run: {kinds:?}");
}

#[test]
fn the_settings_in_the_docs_are_settings() {
    let place = Place::new();
    for page in pages() {
        for example in examples(&page).iter().filter(|example| matches!(example.kind, Kind::Settings)) {
            fs::write(place.path().join("settings.yaml"), &example.text).unwrap();
            let file = place.path().join("settings.yaml");
            let said = place.run(&["policy", "check", file.to_str().unwrap()]);
            assert_eq!(said.code, 0, "{page}:{}: {}{}", example.line, said.out, said.err);
        }
    }
}

/// Runs the examples of a page and says what went wrong.
fn run(page: &str) -> Vec<String> {
    let mut places: BTreeMap<String, ExamplePlace> = BTreeMap::new();
    let mut problems = Vec::new();
    for example in examples(page) {
        let Kind::Run { place, exit } = &example.kind else { continue };
        if !places.contains_key(place) {
            let Some(made) = ExamplePlace::named(place, root()) else {
                problems.push(format!("{page}:{}: there is no place `{place}`", example.line));
                continue;
            };
            places.insert(place.clone(), made);
        }
        problems.extend(places.get(place).and_then(|there| run_in(there, page, &example, *exit)));
    }
    problems
}

fn run_in(place: &ExamplePlace, page: &str, example: &Example, exit: i32) -> Option<String> {
    let steps = commands(example);
    let last = steps.len().checked_sub(1)?;
    for (number, step) in steps.iter().enumerate() {
        let (code, said) = place.run(&step.command);
        let expected = if number == last { exit } else { 0 };
        if code != Some(expected) {
            return Some(format!("{page}:{}: `{}` ended with {code:?}:\n{said}", example.line, step.command));
        }
        if let Some(line) = differs(&step.output, &said) {
            return Some(format!("{page}:{}: `{}` does not print `{line}`:\n{said}", example.line, step.command));
        }
    }
    None
}

#[test]
fn every_shell_example_of_the_docs_runs() {
    let todo = Mutex::new(pages());
    let problems = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                loop {
                    let Some(page) = todo.lock().unwrap().pop() else { break };
                    let found = run(&page);
                    problems.lock().unwrap().extend(found);
                }
            });
        }
    });
    let problems = problems.into_inner().unwrap();
    assert!(problems.is_empty(), "{} examples do not hold:\n\n{}", problems.len(), problems.join("\n\n"));
}
