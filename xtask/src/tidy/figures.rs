//! Counts that a reader wants beside the findings; they are shown and not judged.

use std::collections::BTreeMap;
use std::fmt;

use super::rust::Role;
use super::spec_names::RuleCounts;
use super::text_fields::FieldCounts;
use super::workspace::Workspace;

/// How large the project is, and how much of it is tests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Figures {
    files: usize,
    production_lines: usize,
    test_lines: usize,
    lengths: Lengths,
    packages: BTreeMap<String, usize>,
    rules: RuleCounts,
    fields: FieldCounts,
}

/// Lines of the production files, inline tests left out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Lengths {
    longest: usize,
    longest_path: String,
    p95: usize,
}

pub(crate) fn count(ws: &Workspace, rules: RuleCounts, fields: FieldCounts) -> Figures {
    let mut figures = Figures {
        files: ws.sources.len(),
        production_lines: 0,
        test_lines: 0,
        lengths: lengths(ws),
        packages: BTreeMap::new(),
        rules,
        fields,
    };
    for source in &ws.sources {
        match source.role {
            Role::Production => {
                figures.production_lines += source.own_lines();
                figures.test_lines += source.inline_test_lines();
                *figures.packages.entry(source.package_folder().to_owned()).or_default() += source.own_lines();
            }
            Role::Test => figures.test_lines += source.own_lines(),
        }
    }
    figures
}

fn lengths(ws: &Workspace) -> Lengths {
    let mut all: Vec<(usize, &str)> =
        ws.production().map(|source| (source.own_lines(), source.path.as_str())).collect();
    all.sort_unstable();
    let (longest, path) = all.last().copied().unwrap_or_default();
    let p95 = all.get(all.len().saturating_sub(1) * 95 / 100).map_or(0, |(lines, _)| *lines);
    Lengths { longest, longest_path: path.to_owned(), p95 }
}

impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { files, production_lines, test_lines, lengths, packages, rules, fields } = self;
        let balance = if test_lines >= production_lines {
            "test lines >= production lines"
        } else {
            "test lines < production lines"
        };
        write!(f, "{files} rust files, {production_lines} production lines, {test_lines} test lines ({balance}); ")?;
        let Lengths { longest, longest_path, p95 } = lengths;
        write!(f, "longest file {longest} lines ({longest_path}), p95 {p95}; lines per crate:")?;
        for (package, lines) in packages {
            write!(f, " {} {lines}", package.trim_start_matches("crates/"))?;
        }
        write!(f, "; core has {} bare texts in {} fields; {} promised rules", fields.text, fields.all, rules.promised)?;
        if !rules.planned.is_empty() {
            write!(f, ", {} planned: {}", rules.planned.len(), rules.planned.join(" "))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::member_files;
    use super::*;

    #[test]
    fn lines_are_counted_by_what_they_serve() {
        let ws = member_files(&[
            ("crates/a/src/lib.rs", "//! x\nfn a() {}\n#[cfg(test)]\nmod tests {\n}\n"),
            ("crates/a/tests/t.rs", "//! x\n//! y\n"),
        ]);
        let rules = RuleCounts { promised: 3, planned: vec!["BOX-1".to_owned(), "BOX-2".to_owned()] };
        let fields = FieldCounts { all: 50, text: 1 };
        assert_eq!(
            count(&ws, rules, fields).to_string(),
            "2 rust files, 2 production lines, 5 test lines (test lines >= production lines); longest file 2 lines \
             (crates/a/src/lib.rs), p95 2; lines per crate: a 2; core has 1 bare texts in 50 fields; 3 promised rules, \
             2 planned: BOX-1 BOX-2"
        );
    }

    #[test]
    fn too_few_tests_are_said_plainly() {
        let ws = member_files(&[("crates/a/src/lib.rs", "//! x\n")]);
        let text = count(&ws, RuleCounts::default(), FieldCounts::default()).to_string();
        assert!(text.contains("(test lines < production lines); longest file 1 lines"), "{text}");
    }
}
