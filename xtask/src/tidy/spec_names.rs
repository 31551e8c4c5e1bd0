//! Every rule of `SPECIFICATION.md` has a test that carries its name.
//!
//! The specification is a table whose first column holds the name (`LOOP-1`) and one of whose columns is headed
//! `status`. A test carries the name if its own name holds the parts in a row: `loop_1_fires_…`, but not `loop_10_…`.
//! Rows whose status begins with `planned` are exempt, counted and shown.

use super::finding::{Finding, Rule};
use super::tokens;
use super::workspace::Workspace;

const PATH: &str = "SPECIFICATION.md";

/// What the specification promises, for the summary.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct RuleCounts {
    /// Rules that must have a test.
    pub(crate) promised: usize,
    /// Names of rules that are announced and not yet held.
    pub(crate) planned: Vec<String>,
}

pub(crate) fn check(ws: &Workspace, findings: &mut Vec<Finding>) -> RuleCounts {
    let Some(text) = ws.files.get(PATH) else {
        if ws.has_engine() {
            findings.push(Finding::new(PATH, 1, Rule::SpecName, "SPECIFICATION.md missing"));
        }
        return RuleCounts::default();
    };
    let rows = rows(text);
    if rows.is_empty() {
        findings.push(Finding::new(PATH, 1, Rule::SpecName, "no table row begins with a rule name such as `LOOP-1`"));
    }
    let tests: Vec<Vec<String>> = ws
        .sources
        .iter()
        .filter(|source| source.path.starts_with("crates/"))
        .flat_map(|source| tokens::test_names(&source.tokens))
        .map(|name| name.split('_').map(str::to_lowercase).collect())
        .collect();
    let mut counts = RuleCounts::default();
    for row in rows {
        if row.status == Status::Planned {
            counts.planned.push(row.name);
            continue;
        }
        counts.promised += 1;
        let parts = [row.family.to_lowercase(), row.number.clone()];
        let is_carried = tests.iter().any(|test| test.windows(parts.len()).any(|window| window == parts));
        if !is_carried {
            findings.push(Finding::new(
                PATH,
                row.line,
                Rule::SpecName,
                format!("no test carries `{}`; name one `{}_…`", row.name, parts.join("_")),
            ));
        }
    }
    counts
}

struct Row {
    line: usize,
    name: String,
    family: String,
    number: String,
    status: Status,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Status {
    Held,
    Planned,
}

fn rows(text: &str) -> Vec<Row> {
    let mut rows = Vec::new();
    let mut status_column = None;
    let mut in_table = false;
    for (index, line) in text.lines().enumerate() {
        let Some(cells) = cells(line) else {
            in_table = false;
            continue;
        };
        if !in_table {
            in_table = true;
            status_column = cells.iter().position(|cell| cell.eq_ignore_ascii_case("status"));
        }
        let Some((family, number)) = cells.first().and_then(|cell| rule_name(cell)) else {
            continue;
        };
        let is_planned = status_column
            .and_then(|column| cells.get(column))
            .is_some_and(|status| status.to_lowercase().starts_with("planned"));
        rows.push(Row {
            line: index + 1,
            name: format!("{family}-{number}"),
            family,
            number,
            status: if is_planned { Status::Planned } else { Status::Held },
        });
    }
    rows
}

fn cells(line: &str) -> Option<Vec<String>> {
    let inner = line.trim().strip_prefix('|')?;
    Some(
        inner
            .strip_suffix('|')
            .unwrap_or(inner)
            .split('|')
            .map(|cell| cell.trim().trim_matches(['`', '*']).to_owned())
            .collect(),
    )
}

/// Upper-case letters, a hyphen, a number: `LOOP-1`, which splits into its two parts.
fn rule_name(cell: &str) -> Option<(String, String)> {
    let (family, number) = cell.split_once('-')?;
    let is_name = !family.is_empty()
        && !number.is_empty()
        && family.chars().all(|letter| letter.is_ascii_uppercase())
        && number.chars().all(|digit| digit.is_ascii_digit());
    is_name.then(|| (family.to_owned(), number.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::super::testing::{member_files, printed};
    use super::*;

    const TABLE: &str = "# Specification

| rule | promise | status |
| --- | --- | --- |
| `LOOP-1` | a ladder | held |
| LOOP-10 | a bound | held |
| **BOX-1** | confinement | planned (issue 4) |

| name | figure |
| --- | --- |
| `GATE-2` | planned figures are no status |
";

    fn with_tests(tests: &str) -> Vec<String> {
        let ws = member_files(&[(PATH, TABLE), ("crates/a/tests/t.rs", tests)]);
        printed(&ws, |ws, findings| {
            check(ws, findings);
        })
    }

    #[test]
    fn a_rule_without_a_test_is_found_at_its_row() {
        let found = with_tests("#[test]\nfn loop_10_holds() {}\n#[test]\nfn gate_2_x() {}\n");
        assert_eq!(found, ["SPECIFICATION.md:5: spec-name: no test carries `LOOP-1`; name one `loop_1_…`"]);
    }

    #[test]
    fn names_count_in_every_place_where_tests_are_written() {
        let tests = "proptest! { #[test] fn never_loop_1_quiet(x in 0..2) {} }
            mod m { #[test] fn gate_2() {} }
            #[test] fn loop_10_end() {}";
        assert_eq!(with_tests(tests), Vec::<String>::new());
    }

    #[test]
    fn helpers_ignored_tests_and_look_alikes_do_not_count() {
        let tests = "fn loop_1_helper() {}
            #[test] #[ignore] fn loop_1_ignored() {}
            #[test] fn floop_1_x() {}
            #[test] fn gate_2_x() {}
            #[test] fn loop_10_x() {}";
        assert_eq!(with_tests(tests).len(), 1);
    }

    #[test]
    fn planned_rules_are_counted_and_exempt() {
        let ws = member_files(&[(PATH, TABLE)]);
        let mut findings = Vec::new();
        let counts = check(&ws, &mut findings);
        assert_eq!(counts.promised, 3);
        assert_eq!(counts.planned, ["BOX-1"]);
        assert_eq!(findings.len(), 3);
    }

    #[test]
    fn a_specification_without_rules_is_found() {
        let ws = member_files(&[(PATH, "# Specification\n\nWords - only.\n")]);
        let mut findings = Vec::new();
        check(&ws, &mut findings);
        assert_eq!(findings.len(), 1);
    }

    #[test]
    fn a_missing_specification_matters_once_there_is_an_engine() {
        let mut findings = Vec::new();
        check(&member_files(&[]), &mut findings);
        assert!(findings.is_empty());
        check(&member_files(&[("crates/core/src/chain.rs", "//! x\n")]), &mut findings);
        assert_eq!(findings[0].to_string(), "SPECIFICATION.md:1: spec-name: SPECIFICATION.md missing");
    }
}
