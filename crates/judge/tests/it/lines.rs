//! The tables `lines.jsonl`, `more.jsonl`, `git_lines.jsonl` and `shell_lines.jsonl`: each line with the state it is judged in, what must come out, and where it matters the rule.

use super::situations::Situation;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use tripwire_judge::Answer;

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
    ];
    files.iter().flat_map(|file| file.lines()).map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Judges every line of these states and tells all that came out wrong.
fn check(states: &[&str]) {
    let mut by_state: BTreeMap<String, Vec<Line>> = BTreeMap::new();
    for line in table().into_iter().filter(|line| states.contains(&line.state.as_str())) {
        by_state.entry(line.state.clone()).or_default().push(line);
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

fn wrong_among(situation: &Situation, lines: &[Line]) -> String {
    let mut wrong = String::new();
    for line in lines {
        let verdict = situation.judge().judge(&line.command);
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
fn floor_1_lines_while_git_is_at_something() {
    check(&["conflict", "resolved", "new", "modules"]);
}

#[test]
fn the_table_is_large_enough_on_both_sides() {
    let count = |verdict: &str| table().iter().filter(|line| line.verdict == verdict).count();
    assert!(count("hold") >= 60 && count("pass") >= 60);
}
