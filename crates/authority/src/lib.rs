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
    parse(file, &source::read(file)?, roles)
}

/// Compiles policies from a text; `file` only names it in errors.
///
/// # Errors
/// See [`load`].
pub fn parse(file: &Path, text: &str, roles: &Roles) -> Result<Permissions, AuthorityError> {
    match embedded(text, roles) {
        Some(permissions) => Ok(permissions),
        None => compiled(&Source::parse(file, text)?, roles),
    }
}

/// The table of the default policies for the built-in roles, which is what most sessions begin with: Cedar takes far longer to come to
/// it than a hook may last. A test holds it against Cedar.
const DEFAULT_TABLE: &str = include_str!("default.table.json");

/// The embedded table, where it is the one that Cedar would come to.
fn embedded(text: &str, roles: &Roles) -> Option<Permissions> {
    if text != DEFAULT_POLICIES || *roles != built_in() {
        return None;
    }
    serde_json::from_str(DEFAULT_TABLE).ok()
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
    let source = Source::parse(file, &source::read(file)?)?;
    let permissions = compile::compile(&source, roles)?;
    let (examples, failed) = examples::check(&source, roles);
    let policies = source.policies.policies().count().saturating_sub(1) + source.rules.len();
    Ok(Checked { permissions: failed.is_empty().then_some(permissions), policies, examples, failed })
}

#[cfg(test)]
mod tests;
