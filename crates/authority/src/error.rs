//! Why permissions cannot be used: the file, the line and column, and what to write instead.

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use tripwire_core::explain::Explain;

/// A policy file or a role that cannot be used. Nothing is allowed under it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{}`{}: {problem}", file.display(), place(*line, *column))]
pub struct AuthorityError {
    file: PathBuf,
    line: Option<u64>,
    column: Option<u64>,
    problem: AuthorityProblem,
}

fn place(line: Option<u64>, column: Option<u64>) -> String {
    match (line, column) {
        (Some(line), Some(column)) => format!(" line {line} column {column}"),
        (Some(line), None) => format!(" line {line}"),
        (None, _) => String::new(),
    }
}

impl AuthorityError {
    /// A problem at a place of a file: the line, and the column where it is known.
    pub(super) fn new(file: &Path, at: Option<(u64, Option<u64>)>, problem: AuthorityProblem) -> Self {
        let (line, column) = at.map_or((None, None), |(line, column)| (Some(line), column));
        Self { file: file.to_owned(), line, column, problem }
    }

    /// What is wrong.
    #[must_use]
    pub const fn problem(&self) -> &AuthorityProblem {
        &self.problem
    }

    /// The line, from 1.
    #[must_use]
    pub const fn line(&self) -> Option<u64> {
        self.line
    }
}

impl Explain for AuthorityError {
    fn hint(&self) -> Cow<'_, str> {
        match &self.problem {
            AuthorityProblem::Unreadable { .. } => "give yourself read access to the file".into(),
            AuthorityProblem::Syntax { .. } | AuthorityProblem::Invalid { .. } => {
                "fix it and run `tripwire policy check`; removing the file gives the default policies at the next session"
                    .into()
            }
            AuthorityProblem::Unsupported { .. } => {
                "compare the resource with `==` or `in` only; see `tripwire help authority`".into()
            }
            AuthorityProblem::Example { .. } => {
                "change the policy or the example, then run `tripwire policy check`".into()
            }
            AuthorityProblem::BadExample { .. } => {
                "write `ROLE PERMISSION RESOURCE`, for instance `tester can_execute_tasks Bash`".into()
            }
            AuthorityProblem::UnknownRole { known, .. } => format!("use one of {known}, or add it to `roles`").into(),
            AuthorityProblem::UnknownAttribute { .. } => {
                let names: Vec<_> = super::attribute::Attribute::ALL.iter().map(|attribute| attribute.name()).collect();
                format!("use {}", names.join(", ")).into()
            }
            AuthorityProblem::RoleName { .. } => "use letters, digits, `_` and `-`, at most 64".into(),
            AuthorityProblem::TooMany { .. } => "use fewer; one rule for a folder covers all below it".into(),
        }
    }
}

/// What is wrong with permissions.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AuthorityProblem {
    /// The file cannot be read.
    #[error("{cause}")]
    Unreadable {
        /// Why.
        cause: String,
    },
    /// It is no Cedar.
    #[error("{cause}")]
    Syntax {
        /// What the parser says.
        cause: String,
    },
    /// It is Cedar, but does not fit the schema.
    #[error("{cause}")]
    Invalid {
        /// What the validator says.
        cause: String,
    },
    /// It cannot be compiled into a table.
    #[error("{what} cannot be compiled into the table of permissions")]
    Unsupported {
        /// The expression or name.
        what: String,
    },
    /// An example does not hold.
    #[error("the example `{example}` must be {wanted}, but is {found}")]
    Example {
        /// The example as it stands.
        example: String,
        /// What it must be.
        wanted: &'static str,
        /// What it is.
        found: &'static str,
    },
    /// An example is none.
    #[error("the example `{example}` is not understood: {cause}")]
    BadExample {
        /// The example as it stands.
        example: String,
        /// What is wrong with it.
        cause: String,
    },
    /// A role that is not defined.
    #[error("there is no role `{role}`")]
    UnknownRole {
        /// The role.
        role: String,
        /// Those that there are.
        known: String,
    },
    /// An attribute that no role can have.
    #[error("role `{role}`: there is no attribute `{name}`")]
    UnknownAttribute {
        /// The role.
        role: String,
        /// The attribute.
        name: String,
    },
    /// A name that cannot be typed.
    #[error("`{name}` cannot be the name of a role")]
    RoleName {
        /// The name.
        name: String,
    },
    /// More than can be compiled at a session's start.
    #[error("there are more than {limit} {what}")]
    TooMany {
        /// Of what.
        what: &'static str,
        /// The bound.
        limit: usize,
    },
}
