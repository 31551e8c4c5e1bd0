//! The examples that a policy file carries: each is tried at every load, and one that does not hold refuses the file.

use super::attribute::Attribute;
use super::compile::{self, Principal};
use super::error::{AuthorityError, AuthorityProblem};
use super::expression::{CommandContext, Question};
use super::kind::Kind;
use super::role::{Attributes, Roles};
use super::source::{Annotated, Source, Wanted};
use super::table::Permissions;
use std::collections::BTreeSet;
use tripwire_core::input::{Grant, Permission};
use tripwire_core::policy::List;

/// Tries all examples; gives how many hold, and every one that does not.
pub(super) fn check(source: &Source, roles: &Roles) -> (usize, Vec<AuthorityError>) {
    let (mut held, mut failed) = (0, Vec::new());
    for annotated in &source.examples {
        for text in annotated.text.split(';').map(str::trim).filter(|text| !text.is_empty()) {
            match check_one(source, roles, annotated, text) {
                Ok(()) => held += 1,
                Err(error) => failed.push(error),
            }
        }
    }
    (held, failed)
}

fn check_one(source: &Source, roles: &Roles, annotated: &Annotated, text: &str) -> Result<(), AuthorityError> {
    let wrong = |problem| source.wrong(Some(annotated.line), problem);
    let bad = |cause: String| wrong(AuthorityProblem::BadExample { example: text.to_owned(), cause });
    let mut words = text.split_whitespace();
    let (role, permission) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let resource = words.next().unwrap_or(".");
    if words.next().is_some() {
        return Err(bad("it has more than three words".to_owned()));
    }
    let attributes = attributes(role, roles).map_err(bad)?;
    let permission = Permission::ALL
        .into_iter()
        .find(|known| compile::action(*known) == permission)
        .ok_or_else(|| bad(format!("there is no permission `{permission}`")))?;
    let kind = Kind::of(permission);
    let (name, names) = (kind.normal(resource), source.literals.of(kind));
    let above: BTreeSet<&str> = kind.above(&name).filter(|up| names.contains(*up)).collect();
    let grant = compile::ask(source, &Principal::any_of(role, &attributes), permission, &name, &above)?;
    let question = Question {
        role,
        agent: None,
        attributes: &attributes,
        action: compile::action(permission),
        kind,
        resource: &name,
        context: &CommandContext::default(),
    };
    let grant = if grant == Grant::Granted { Permissions::denies(&source.rules, &question) } else { grant };
    let (wanted, found) = match (annotated.wanted, grant) {
        (Wanted::Allowed, Grant::Granted) | (Wanted::Denied, Grant::Denied) => return Ok(()),
        (Wanted::Allowed, Grant::Denied) => ("allowed", "denied"),
        (Wanted::Denied, Grant::Granted) => ("denied", "allowed"),
    };
    Err(wrong(AuthorityProblem::Example { example: text.to_owned(), wanted, found }))
}

/// The attributes of a role by its name, or those that stand in brackets.
fn attributes(role: &str, roles: &Roles) -> Result<Attributes, String> {
    let Some(inside) = role.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) else {
        return roles.get(role).cloned().ok_or_else(|| format!("there is no role `{role}`"));
    };
    List::new(inside)
        .iter()
        .map(|name| Attribute::from_name(name).ok_or_else(|| format!("there is no attribute `{name}`")))
        .collect()
}
