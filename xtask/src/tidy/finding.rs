//! What a check says: a place, the rule that was broken, and how to fix it.

use std::fmt;

/// The rules tidy holds; the printed name is what a person searches for in `CONTRIBUTING.md`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rule {
    /// A file that cannot be read as what its name says is never skipped in silence.
    Unreadable,
    /// A file longer than a person reads in one go.
    FileLength,
    /// A file without the line that says why it exists.
    FileDoc,
    /// A way from a pure crate into the standard library.
    Purity,
    /// A limit that a lint held and no longer holds.
    LintTable,
    /// Files of one crate that need each other.
    Circle,
    /// A type name that a crate uses twice.
    TypeName,
    /// Too much text without a type in the core.
    TextField,
    /// A dependency that crosses a wall between the crates.
    CrateWall,
    /// A dependency declared outside the one table, or from a foreign source.
    DependencyTable,
    /// A dependency without a written reason.
    DependencyReason,
    /// A changelog that tools and people cannot rely on.
    Changelog,
    /// A Rust file that no crate compiles.
    DeadFile,
    /// An example in docs that no test compiles.
    DocExample,
    /// A promise of the specification without a test that names it.
    SpecName,
    /// A test that a document names and that is not there.
    NamedTest,
    /// A path that exists only on the machine where it was written.
    MachinePath,
}

impl Rule {
    /// The stable name printed in a finding.
    pub fn name(self) -> &'static str {
        match self {
            Self::Unreadable => "unreadable",
            Self::FileLength => "file-length",
            Self::FileDoc => "file-doc",
            Self::Purity => "purity",
            Self::LintTable => "lint-table",
            Self::Circle => "file-circle",
            Self::TypeName => "type-name",
            Self::TextField => "text-field",
            Self::CrateWall => "crate-wall",
            Self::DependencyTable => "dependency-table",
            Self::DependencyReason => "dependency-reason",
            Self::Changelog => "changelog",
            Self::DeadFile => "dead-file",
            Self::DocExample => "doc-example",
            Self::SpecName => "spec-name",
            Self::NamedTest => "named-test",
            Self::MachinePath => "machine-path",
        }
    }
}

/// One broken rule at one place; the order is by place, so that output is stable.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Finding {
    path: String,
    line: usize,
    rule: Rule,
    message: String,
}

impl Finding {
    pub(crate) fn new(path: &str, line: usize, rule: Rule, message: impl Into<String>) -> Self {
        Self { path: path.to_owned(), line, rule, message: message.into() }
    }

    /// Which rule was broken, for callers that group findings.
    pub fn rule(&self) -> Rule {
        self.rule
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { path, line, rule, message } = self;
        write!(f, "{path}:{line}: {}: {message}", rule.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_finding_prints_as_one_line_that_editors_can_open() {
        let finding = Finding::new("crates/a/src/lib.rs", 7, Rule::FileLength, "too long");
        assert_eq!(finding.to_string(), "crates/a/src/lib.rs:7: file-length: too long");
        assert_eq!(finding.rule(), Rule::FileLength);
    }

    #[test]
    fn findings_sort_by_place_before_rule() {
        let late = Finding::new("b.rs", 1, Rule::Unreadable, "x");
        let early = Finding::new("a.rs", 9, Rule::MachinePath, "x");
        let mut both = vec![late.clone(), early.clone()];
        both.sort();
        assert_eq!(both, [early, late]);
    }
}
