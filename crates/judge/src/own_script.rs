//! Scripts that the run wrote itself. What an agent writes to a file and runs in the next call is its command as much as a line
//! that it runs at once, so both are read. A script that was there before the session, that a package brought along, that git
//! ignores or that came with a commit from before the session is a program like any other.

use crate::losses::is_of_the_run;
use crate::repository::Repo;
use crate::world::World;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::{Duration, SystemTime};

/// Folders with what packages bring along.
const PACKAGES: [&str; 12] = [
    "node_modules",
    "bower_components",
    ".pnpm-store",
    ".yarn",
    "site-packages",
    ".venv",
    "venv",
    ".tox",
    ".nox",
    "vendor",
    "Pods",
    ".cargo",
];

/// The text of a script that the run wrote.
pub(crate) fn own_text(world: &World, path: &Path) -> Option<Rc<str>> {
    world.script(path, || look(world, path))
}

fn look(world: &World, path: &Path) -> Option<String> {
    let real = path.canonicalize().ok()?;
    if !is_of_the_run(world, &real) || real.iter().any(|part| PACKAGES.iter().any(|package| part == *package)) {
        return None;
    }
    let text = world.short_text(&real)?;
    let repository = real.parent().and_then(|folder| world.repository(folder));
    let is_own =
        repository.is_none_or(|repo| is_uncommitted(&repo, &real) || is_committed_in_session(world, &repo, &real));
    is_own.then_some(text)
}

/// Whether no commit holds the script as it is. Where git does not answer, none may.
fn is_uncommitted(repo: &Repo, script: &Path) -> bool {
    repo.status().is_none_or(|status| {
        let mut changed = status.untracked.iter().chain(status.dirty());
        let is_it = |file: &PathBuf| file.canonicalize().is_ok_and(|real| real == script);
        changed.any(|file| file == script || (file.file_name() == script.file_name() && is_it(file)))
    })
}

/// Whether its last commit was made in this session, which needs no person.
fn is_committed_in_session(world: &World, repo: &Repo, script: &Path) -> bool {
    let name = script.display().to_string();
    let told = repo.ask("log", &["log", "-1", "--format=%ct", "--", &name]);
    let seconds = told.and_then(|told| told.trim().parse().ok());
    let committed = seconds.and_then(|seconds| SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(seconds)));
    // Git counts whole seconds.
    let second = Duration::from_secs(1);
    world.facts.began.zip(committed).is_some_and(|(began, committed)| committed + second > began)
}

/// The program that the kernel starts a script with: as its first line says, else the shell that was asked to run it.
pub(crate) fn interpreter(text: &str) -> &str {
    let Some(line) = text.lines().next().and_then(|line| line.strip_prefix("#!")) else { return "sh" };
    let mut words = line.split_whitespace().map(base_name);
    match words.next() {
        None => "sh",
        Some("env") => words.find(|word| !word.starts_with('-') && !word.contains('=')).unwrap_or("sh"),
        Some(program) => program,
    }
}

fn base_name(word: &str) -> &str {
    word.rsplit('/').next().unwrap_or(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floor_1_the_first_line_of_a_script_names_its_interpreter() {
        for (text, expected) in [
            ("rm a", "sh"),
            ("", "sh"),
            ("#!", "sh"),
            ("#!/bin/bash -eu\nrm a", "bash"),
            ("#! /usr/bin/env python3\n", "python3"),
            ("#!/usr/bin/env -S A=b node --x\n", "node"),
            ("#!/usr/bin/env", "sh"),
            ("\n#!/bin/bash", "sh"),
        ] {
            assert_eq!(interpreter(text), expected, "{text}");
        }
    }
}
