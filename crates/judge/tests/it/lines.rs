//! The tables `lines.jsonl`, `more.jsonl`, `git_lines.jsonl`, `shell_lines.jsonl`, `pairs.jsonl`, `command_lines.jsonl`, `client_lines.jsonl` and `reading_lines.jsonl`: each line with the state it is judged in, what must come out, and where it matters the rule.
//!
//! Most lines of `reading_lines.jsonl` run a program `x` that nobody knows: what it is given in `readings.txt` is what the
//! judge made of an expansion, of what another program writes, or of a program that runs another.
//!
//! `readings.txt` holds what was read behind each of them: the rule, the commands that would run, and what would be lost. A
//! change of it is written with `TRIPWIRE_BLESS=1 cargo test --workspace --test it the_readings_are_those_of_the_tables`,
//! and read like any other change.

use super::situations::Situation;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use tripwire_judge::reading::{CommandReading, Extent, Reading};
use tripwire_judge::{Answer, Effect};

/// One line of the table.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Line {
    /// The state of the workspace.
    pub(crate) state: String,
    /// What must come out.
    pub(crate) verdict: String,
    /// The rule that must hold it.
    pub(crate) rule: Option<String>,
    /// The command line.
    pub(crate) command: String,
}

/// The table.
pub(crate) fn table() -> Vec<Line> {
    let files = [
        include_str!("lines.jsonl"),
        include_str!("more.jsonl"),
        include_str!("git_lines.jsonl"),
        include_str!("shell_lines.jsonl"),
        include_str!("pairs.jsonl"),
        include_str!("command_lines.jsonl"),
        include_str!("client_lines.jsonl"),
        include_str!("reading_lines.jsonl"),
    ];
    files.iter().flat_map(|file| file.lines()).map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// A line of the tables with the reading that is kept of it.
struct KnownLine {
    line: Line,
    reading: &'static str,
}

/// Judges every line of these states and tells all that came out wrong.
fn check(states: &[&str]) {
    let mut by_state: BTreeMap<String, Vec<KnownLine>> = BTreeMap::new();
    for (line, reading) in table().into_iter().zip(include_str!("readings.txt").lines()) {
        if states.contains(&line.state.as_str()) {
            by_state.entry(line.state.clone()).or_default().push(KnownLine { line, reading });
        }
    }
    let mut wrong = String::new();
    for (state, lines) in by_state {
        let situation = Situation::new(&state);
        let part = lines.len().div_ceil(std::thread::available_parallelism().map_or(1, usize::from));
        std::thread::scope(|scope| {
            let parts: Vec<_> =
                lines.chunks(part).map(|lines| scope.spawn(|| wrong_among(&situation, lines))).collect();
            wrong.extend(parts.into_iter().map(|part| part.join().unwrap()));
        });
    }
    assert!(wrong.is_empty(), "{wrong}");
}

fn wrong_among(situation: &Situation, lines: &[KnownLine]) -> String {
    let mut wrong = String::new();
    for KnownLine { line, reading } in lines {
        let read = situation.judge().read(&line.command);
        let now = shown(situation, &read);
        if now != *reading {
            writeln!(wrong, "{}: `{}` is read\n  as  {now}\n  not {reading}", line.state, line.command).unwrap();
        }
        let verdict = read.verdict;
        let answer = match verdict.verdict {
            Answer::Pass => "pass",
            Answer::Hold => "hold",
        };
        let rule = verdict.rule.map(|rule| rule.name());
        if answer != line.verdict || (line.rule.is_some() && line.rule.as_deref() != rule) {
            let Line { state, command, .. } = line;
            let expected = (&line.verdict, &line.rule);
            writeln!(wrong, "{state}: `{command}`: {answer} {rule:?}, not {expected:?}: {}", verdict.reason).unwrap();
        }
    }
    wrong
}

/// A reading as one line. Sizes and counts are left out: they differ between versions of git.
fn shown(situation: &Situation, reading: &Reading) -> String {
    let Reading { verdict, commands, extent } = reading;
    let folder = situation.path("").display().to_string().trim_end_matches('/').to_owned();
    // What lies elsewhere on this machine is of another kind on the next one.
    let is_far = |path: &str| path.starts_with('/') && !path.starts_with(&folder);
    let elsewhere = |effect: &&Effect| effect.targets.iter().any(|target| is_far(&target.path));
    let is_elsewhere = verdict.effect.as_ref().filter(elsewhere).is_some();
    // Which of these three it is depends on where this machine keeps its temporary files.
    let rule = match verdict.rule.map_or("pass", |rule| rule.name()) {
        "delete-system" | "delete-home" | "delete-outside" => "delete-elsewhere",
        named => named,
    };
    let mut parts = vec![rule.to_owned()];
    if *extent == Extent::Cut {
        parts.push("cut".to_owned());
    }
    for CommandReading { words, push, hosts, .. } in commands.iter().filter(|command| command.words != ["<"]) {
        let push = push.as_ref().map(|push| format!(" [{} {:?}]", push.remote, push.reaches)).unwrap_or_default();
        let hosts: String = hosts.iter().map(|host| format!(" (to {host})")).collect();
        parts.push(format!("{}{push}{hosts}", words.join(" ")));
    }
    if verdict.effect.is_none() && verdict.rule.is_some() && rule != "delete-elsewhere" {
        parts.push(format!("because {}", without_figures(&verdict.reason, &folder)));
    }
    if let Some(effect) = verdict.effect.as_ref().filter(|_| !is_elsewhere) {
        let mut lost: Vec<String> = effect.targets.iter().map(|target| target.path.clone()).collect();
        let names = [&effect.uncommitted, &effect.untracked, &effect.secrets, &effect.repositories];
        for (kind, names) in ["uncommitted", "untracked", "secret", "repository"].into_iter().zip(names) {
            let own = |name: &&String| !name.starts_with('/') || name.starts_with(&folder);
            // Which of many come first is the order of the disk.
            if names.count > names.first.len() {
                lost.push(format!("{kind} more than {}", names.first.len()));
                continue;
            }
            lost.extend(names.first.iter().filter(own).map(|name| format!("{kind} {name}")));
        }
        lost.sort();
        lost.extend(effect.branch.iter().map(|branch| format!("branch {branch}")));
        lost.extend(effect.commits.iter().map(|commits| format!("commits {commits}")));
        parts.push(format!("lost: {}", lost.join(", ")));
        let is_cut = names.iter().any(|names| names.count > names.first.len());
        if !is_cut && rule != "delete-elsewhere" {
            parts.push(format!("because {}", without_figures(&verdict.reason, &folder)));
        }
    }
    let text = parts.join(" | ").replace(&folder, "@").replace(['\n', '\r'], "⏎");
    text.chars().take(SHOWN_CHARS_MAX).collect()
}

/// A reason with `#` for each number and `@` for the situation's folder.
fn without_figures(reason: &str, folder: &str) -> String {
    let mut text = String::new();
    for letter in reason.replace(folder, "@").chars() {
        match letter.is_ascii_digit() {
            true if text.ends_with('#') => {}
            true => text.push('#'),
            false => text.push(letter),
        }
    }
    text
}

/// Longest reading that is kept.
const SHOWN_CHARS_MAX: usize = 600;

#[test]
fn the_readings_are_those_of_the_tables() {
    if std::env::var_os("TRIPWIRE_BLESS").is_some() {
        let mut situations = BTreeMap::new();
        let lines = table().into_iter().map(|line| {
            let situation = situations.entry(line.state.clone()).or_insert_with(|| Situation::new(&line.state));
            shown(situation, &situation.judge().read(&line.command)) + "\n"
        });
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/readings.txt");
        std::fs::write(path, lines.collect::<String>()).unwrap();
        return;
    }
    assert_eq!(include_str!("readings.txt").lines().count(), table().len(), "write them again with TRIPWIRE_BLESS=1");
}

#[test]
fn floor_1_lines_in_a_clean_repository() {
    check(&["clean"]);
}

#[test]
fn floor_1_lines_in_a_dirty_repository() {
    check(&["dirty"]);
}

#[test]
fn floor_1_lines_in_other_states() {
    check(&["feature", "trap", "stash", "plain"]);
}

#[test]
fn floor_1_lines_in_states_that_are_easily_forgotten() {
    check(&["unborn", "nested", "detached", "rebase", "fork", "lonely"]);
}

#[test]
fn floor_1_lines_with_names_that_are_partly_known() {
    check(&["heap"]);
}

#[test]
fn floor_1_lines_with_names_that_a_file_lists() {
    check(&["lists"]);
}

#[test]
fn floor_1_lines_while_git_is_at_something() {
    check(&["conflict", "resolved", "new", "modules"]);
}

#[test]
fn the_table_is_large_enough_on_both_sides() {
    let count = |verdict: &str| table().iter().filter(|line| line.verdict == verdict).count();
    assert!(count("hold") >= 60 && count("pass") >= 60);
}
