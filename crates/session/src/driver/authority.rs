//! What a session freezes of its authority, and the facts about it that go with every request.
//!
//! The permissions are compiled when the session begins and stand in its first record. A request that claims to be
//! granted is looked up again: a claim can only make the answer stricter, never looser.

use super::dir::SessionDir;
use super::error::DriverError;
use crate::body::Frozen;
use tripwire_authority::identity::{Configuration, FrozenIdentity};
use tripwire_authority::{self as authority, Permissions, Who};
use tripwire_core::chain::event::Action;
use tripwire_core::input::{Grant, Input, Permission, Request, What};
use tripwire_core::label::Label;
use tripwire_core::policy::{Policy, Switch};
use tripwire_workspace::geometry::layout::Layout;
use tripwire_workspace::geometry::manifest::Manifest;
use tripwire_workspace::policy_file::PolicyFileError;

/// Compiles the permissions of a new session and lets its role bind the policy.
pub(super) fn compile(layout: &Layout, manifest: &Manifest, policy: &mut Policy) -> Result<Permissions, DriverError> {
    authority::write_if_missing(&layout.policy())?;
    let permissions = authority::load(&layout.policy(), &authority::of_manifest(manifest)?)?;
    let role = policy.identity.role.as_str();
    permissions.require_role(role, manifest.file())?;
    if permissions.stops_on_convergence(Who::role(role)) {
        policy.limits.stop_on_convergence = Switch::On;
    }
    Ok(permissions)
}

/// Freezes the authority of a new session, with the parts of the configuration that the program itself holds.
pub(super) fn freeze(
    dir: SessionDir<'_>,
    manifest: &Manifest,
    policy: &Policy,
    permissions: Permissions,
    own: Configuration,
) -> Result<Frozen, DriverError> {
    let mut parts = Configuration::observe(policy, &permissions, dir.layout.workspace())?;
    for (part, digest) in own.iter() {
        parts.set(part, Some(digest));
    }
    let binding = policy.identity.workflow_binding.as_str();
    let identity = FrozenIdentity {
        agent_checksum: parts.checksum()?,
        authorized_roles: manifest.identity().authorized_roles.clone(),
        parts,
        pinned: manifest.identity().agent_checksum.clone(),
        own,
        workflow_binding: if binding.is_empty() { dir.session.as_str() } else { binding }.to_owned(),
    };
    Ok(Frozen { permissions: Some(permissions), identity: Some(identity) })
}

/// Reads the manifest once more for what the policy does not carry.
pub(super) fn manifest(layout: &Layout) -> Result<Manifest, DriverError> {
    Ok(Manifest::load(&layout.manifest()).map_err(PolicyFileError::from)?)
}

/// A request with its claims looked up in the frozen table.
pub(super) fn confirm(frozen: &Frozen, input: Input) -> Input {
    let What::Request(Request {
        action,
        authority: Some(mut authority),
        floor,
        proposal,
        reserve_micro_usd,
        agent_id,
        starts_agent,
        running,
    }) = input.what
    else {
        return input;
    };
    let who = Who::role(authority.role.as_str());
    let found = match &frozen.permissions {
        Some(permissions) => permissions.grant(who, authority.permission, &resource(authority.permission, &action)),
        None => Grant::Denied,
    };
    if found == Grant::Denied {
        authority.grant = Grant::Denied;
    }
    Input {
        what: What::Request(Request {
            action,
            authority: Some(authority),
            floor,
            proposal,
            reserve_micro_usd,
            agent_id,
            starts_agent,
            running,
        }),
        ..input
    }
}

/// What a permission is about in an action.
fn resource(permission: Permission, action: &Action) -> String {
    let target = action.target.as_ref().map(Label::as_str);
    match permission {
        Permission::CanExecuteTasks => action.tool.as_str().to_owned(),
        Permission::CanEditSource | Permission::Write | Permission::Read | Permission::ContinueAfterConvergence => {
            target.unwrap_or(".").to_owned()
        }
        // A memory without a name is treated as a private one.
        Permission::CanAccessPrivateMemories | Permission::CanWriteMemories => target.unwrap_or("private").to_owned(),
        Permission::Reach | Permission::ControlTheGuard => target.unwrap_or_default().to_owned(),
    }
}
