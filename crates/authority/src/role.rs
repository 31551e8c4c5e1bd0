//! Roles: a name with the attributes of the seed. The manifest adds roles and redefines the built-in ones.

use super::attribute::Attribute;
use super::error::{AuthorityError, AuthorityProblem};
use std::collections::{BTreeMap, BTreeSet};
use tripwire_workspace::geometry::manifest::Manifest;

/// The attributes that a role has; all others it lacks.
pub type Attributes = BTreeSet<Attribute>;

/// Every role by its name.
pub type Roles = BTreeMap<String, Attributes>;

/// The role that an agent has by default.
pub const DEFAULT_ROLE: &str = "developer";
/// The most roles that a workspace may have, so that compiling stays short.
const ROLES_MAX: usize = 32;

/// The roles of a manifest: the built-in ones, and what its `roles` section adds or redefines.
///
/// # Errors
/// When an attribute is unknown or there are too many roles.
pub fn of_manifest(manifest: &Manifest) -> Result<Roles, AuthorityError> {
    let mut roles = built_in();
    for role in manifest.roles() {
        let wrong = |problem| AuthorityError::new(manifest.file(), Some((role.line, None)), problem);
        let mut attributes = Attributes::new();
        for name in &role.attributes {
            let attribute = Attribute::from_name(name).ok_or_else(|| {
                wrong(AuthorityProblem::UnknownAttribute { role: role.name.clone(), name: name.clone() })
            })?;
            attributes.insert(attribute);
        }
        if !is_name(&role.name) {
            return Err(wrong(AuthorityProblem::RoleName { name: role.name.clone() }));
        }
        roles.insert(role.name, attributes);
        if roles.len() > ROLES_MAX {
            let problem = AuthorityProblem::TooMany { what: "roles", limit: ROLES_MAX };
            return Err(AuthorityError::new(manifest.file(), Some((role.line, None)), problem));
        }
    }
    Ok(roles)
}

/// The roles that every workspace has.
#[must_use]
pub fn built_in() -> Roles {
    use Attribute::{
        CanAccessPrivateMemories, CanEditSource, CanExecuteTasks, CanWriteMemories, ReadOnly, StopOnConvergence,
    };
    let developer = [CanExecuteTasks, CanEditSource, CanAccessPrivateMemories, CanWriteMemories];
    Roles::from([
        (DEFAULT_ROLE.to_owned(), Attributes::from(developer)),
        ("tester".to_owned(), Attributes::from([CanExecuteTasks, CanWriteMemories])),
        ("reviewer".to_owned(), Attributes::from([CanExecuteTasks, ReadOnly, StopOnConvergence])),
        ("observer".to_owned(), Attributes::from([ReadOnly, StopOnConvergence])),
    ])
}

/// Whether a text can be a role's name: what can be typed on a command line and read in a message.
fn is_name(text: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    !text.is_empty() && text.len() <= 64 && text.bytes().all(fits)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn roles(text: &str) -> Result<Roles, AuthorityError> {
        of_manifest(&Manifest::parse(Path::new("MANIFEST.yaml"), text.as_bytes().to_vec()).unwrap())
    }

    #[test]
    fn perm_1_a_manifest_adds_and_redefines_roles_and_an_empty_list_takes_everything() {
        let found = roles("roles:\n  writer: [can_execute_tasks, can_edit_source]\n  developer: []\n").unwrap();
        assert_eq!(found["writer"], Attributes::from([Attribute::CanExecuteTasks, Attribute::CanEditSource]));
        assert!(found["developer"].is_empty(), "an empty list is a definition and not nothing");
        assert_eq!(found["tester"], built_in()["tester"]);
    }

    #[test]
    fn perm_1_an_unknown_attribute_or_a_strange_name_is_refused_with_its_line() {
        let error = roles("roles:\n  writer: [can_fly]\n").unwrap_err().to_string();
        assert!(error.contains("line 2") && error.contains("`can_fly`") && error.contains("`writer`"), "{error}");
        assert!(roles("roles:\n  \"a b\": [read_only]\n").unwrap_err().to_string().contains("`a b`"));
    }
}
