//! Authority: who may do what. Cedar policies and roles are compiled once, when a session starts, into a table that is
//! frozen with the session; from then on every door asks the table (PERM-1).
//!
//! Cedar is used here and at no other time: parsing policies costs a millisecond, and a hook has not got one.

mod attribute;
mod command_rule;
mod compile;
pub mod current;
mod door;
mod error;
mod examples;
mod expression;
pub mod identity;
mod kind;
mod role;
mod source;
mod subset;
mod table;

pub use attribute::Attribute;
pub use command_rule::{CommandRuling, command_needs, contexts};
pub use door::{Confinement, Need, Surroundings, Writing, needs};
pub use error::{AuthorityError, AuthorityProblem};
pub use expression::CommandContext;
pub use role::{Attributes, DEFAULT_ROLE, Roles, built_in, of_manifest};
pub use source::{DEFAULT as DEFAULT_POLICIES, write_if_missing};
pub use table::{Permissions, Who};

use source::Source;
use std::path::Path;

/// What a check of a policy file found.
#[derive(Debug)]
pub struct Checked {
    /// The compiled permissions, if everything holds.
    pub permissions: Option<Permissions>,
    /// How many policies there are.
    pub policies: usize,
    /// How many examples hold.
    pub examples: usize,
    /// Every example that does not hold, in the file's order.
    pub failed: Vec<AuthorityError>,
}

/// Compiles a policy file for these roles.
///
/// # Errors
/// When the file cannot be read, parsed, validated or expressed as a table, or when an example in it does not hold.
pub fn load(file: &Path, roles: &Roles) -> Result<Permissions, AuthorityError> {
    compiled(&Source::load(file)?, roles)
}

/// Compiles policies from a text; `file` only names it in errors.
///
/// # Errors
/// See [`load`].
pub fn parse(file: &Path, text: &str, roles: &Roles) -> Result<Permissions, AuthorityError> {
    compiled(&Source::parse(file, text)?, roles)
}

fn compiled(source: &Source, roles: &Roles) -> Result<Permissions, AuthorityError> {
    let (_held, failed) = examples::check(source, roles);
    match failed.into_iter().next() {
        Some(error) => Err(error),
        None => compile::compile(source, roles),
    }
}

/// Checks a policy file and tells every example that does not hold, not only the first.
///
/// # Errors
/// When the file cannot be read, parsed, validated or expressed as a table.
pub fn check(file: &Path, roles: &Roles) -> Result<Checked, AuthorityError> {
    let source = Source::load(file)?;
    let permissions = compile::compile(&source, roles)?;
    let (examples, failed) = examples::check(&source, roles);
    let policies = source.policies.policies().count().saturating_sub(1) + source.rules.len();
    Ok(Checked { permissions: failed.is_empty().then_some(permissions), policies, examples, failed })
}

#[cfg(test)]
mod tests;
