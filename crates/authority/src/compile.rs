//! Policies into a table: Cedar itself is asked once for every role, permission and class of resources.
//!
//! Two resources are of one class if they are, or lie below, the same names of the policies. For each name there are
//! two classes (the name itself and what is below it), and one for everything that lies below none of them.

use super::attribute::Attribute;
use super::error::{AuthorityError, AuthorityProblem};
use super::kind::Kind;
use super::role::{Attributes, Roles};
use super::source::Source;
use super::table::{Answers, Cell, Cells, Permissions, RoleRow};
use cedar_policy_core::ast::{
    Context, Eid, Entity, EntityType, EntityUID, Request, RequestSchemaAllPass, RestrictedExpr,
};
use cedar_policy_core::authorizer::{Authorizer, Decision};
use cedar_policy_core::entities::{Entities, NoEntitiesSchema, TCComputation};
use cedar_policy_core::extensions::Extensions;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use tripwire_core::input::{Grant, Permission};

/// Stands for every resource or agent that no policy names.
const OTHER: &str = "(any other)";

/// Compiles the policies for these roles.
pub(super) fn compile(source: &Source, roles: &Roles) -> Result<Permissions, AuthorityError> {
    if let Some(role) = source.literals.roles.iter().find(|role| !roles.contains_key(*role)) {
        let known = roles.keys().map(|role| format!("`{role}`")).collect::<Vec<_>>().join(", ");
        return Err(source.wrong(None, AuthorityProblem::UnknownRole { role: role.clone(), known }));
    }
    let mut rows = BTreeMap::new();
    for (role, attributes) in roles {
        let answers = |agent: &str| answers(source, &Principal { role, agent, attributes });
        let mut agents = BTreeMap::new();
        for agent in &source.literals.agents {
            agents.insert(agent.clone(), answers(agent)?);
        }
        let others = answers(OTHER)?;
        rows.insert(role.clone(), RoleRow { attributes: attributes.clone(), agents, others });
    }
    Ok(Permissions { policy: source.digest, roles: rows, rules: source.rules.clone() })
}

/// Who asks, as Cedar sees it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Principal<'a> {
    pub(super) role: &'a str,
    pub(super) agent: &'a str,
    pub(super) attributes: &'a Attributes,
}

impl<'a> Principal<'a> {
    /// An agent that no policy names.
    pub(super) fn any_of(role: &'a str, attributes: &'a Attributes) -> Self {
        Self { role, agent: OTHER, attributes }
    }
}

fn answers(source: &Source, principal: &Principal<'_>) -> Result<Answers, AuthorityError> {
    let cells = |permission| cells(source, principal, permission);
    Ok(Answers {
        can_execute_tasks: cells(Permission::CanExecuteTasks)?,
        can_edit_source: cells(Permission::CanEditSource)?,
        write: cells(Permission::Write)?,
        can_access_private_memories: cells(Permission::CanAccessPrivateMemories)?,
        can_write_memories: cells(Permission::CanWriteMemories)?,
        continue_after_convergence: cells(Permission::ContinueAfterConvergence)?,
        reach: cells(Permission::Reach)?,
        read: cells(Permission::Read)?,
    })
}

fn cells(source: &Source, principal: &Principal<'_>, permission: Permission) -> Result<Cells, AuthorityError> {
    let names = source.literals.of(Kind::of(permission));
    let grant = |name: &str, above: &BTreeSet<&str>| ask(source, principal, permission, name, above);
    let elsewhere = grant(OTHER, &BTreeSet::new())?;
    let mut named = BTreeMap::new();
    for name in &names {
        let mut above: BTreeSet<&str> = Kind::of(permission).above(name).filter(|up| names.contains(*up)).collect();
        let itself = grant(name, &above)?;
        above.insert(name);
        named.insert(name.clone(), Cell { itself, below: grant(OTHER, &above)? });
    }
    // Where every answer is the same one cell is enough, and lookups stay short.
    if named.values().all(|cell| cell.itself == elsewhere && cell.below == elsewhere) {
        named.clear();
    }
    Ok(Cells { elsewhere, named })
}

/// Asks Cedar about one resource, given by its name and the names above it.
pub(super) fn ask(
    source: &Source,
    principal: &Principal<'_>,
    permission: Permission,
    name: &str,
    above: &BTreeSet<&str>,
) -> Result<Grant, AuthorityError> {
    let broken = |cause: String| source.wrong(None, AuthorityProblem::Invalid { cause });
    let kind = Kind::of(permission).entity();
    let uid = |kind: &str, name: &str| -> Result<EntityUID, AuthorityError> {
        let kind: EntityType = kind.parse().map_err(|error| broken(format!("{error}")))?;
        Ok(EntityUID::from_components(kind, Eid::new(name), None))
    };
    let (who, action, what) = (uid("Agent", principal.agent)?, uid("Action", action(permission))?, uid(kind, name)?);
    let has = |attribute: Attribute| RestrictedExpr::val(principal.attributes.contains(&attribute));
    let attributes = Attribute::ALL.into_iter().map(|attribute| (attribute.name().into(), has(attribute)));
    let role = HashSet::from([uid("Role", principal.role)?]);
    let parents = above.iter().map(|up| uid(kind, up)).collect::<Result<HashSet<_>, _>>()?;
    let extensions = Extensions::none();
    let agent = Entity::new(who.clone(), attributes, HashSet::new(), role, [], extensions)
        .map_err(|error| broken(error.to_string()))?;
    let resource = Entity::new_with_attr_partial_value(what.clone(), [], HashSet::new(), parents, []);
    let schema = None::<&NoEntitiesSchema>;
    let entities = Entities::from_entities([agent, resource], schema, TCComputation::ComputeNow, extensions)
        .map_err(|error| broken(error.to_string()))?;
    let schema = None::<&RequestSchemaAllPass>;
    let request = Request::new((who, None), (action, None), (what, None), Context::empty(), schema, extensions)
        .map_err(|error| broken(error.to_string()))?;
    let response = Authorizer::new().is_authorized(request, &source.policies, &entities);
    if let Some(error) = response.diagnostics.errors.first() {
        // Cedar passes over a policy that fails; here that could be the one that forbids.
        return Err(broken(error.to_string()));
    }
    Ok(match response.decision {
        Decision::Allow => Grant::Granted,
        Decision::Deny => Grant::Denied,
    })
}

/// The action that a permission is called in policies.
pub(super) const fn action(permission: Permission) -> &'static str {
    match permission {
        Permission::CanExecuteTasks => "can_execute_tasks",
        Permission::CanEditSource => "can_edit_source",
        Permission::Write => "write",
        Permission::CanAccessPrivateMemories => "can_access_private_memories",
        Permission::CanWriteMemories => "can_write_memories",
        Permission::ContinueAfterConvergence => "continue_after_convergence",
        Permission::Reach => "reach",
        Permission::Read => "read",
        Permission::ControlTheGuard => "control_the_guard",
    }
}
