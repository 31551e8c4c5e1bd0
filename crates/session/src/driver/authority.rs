//! What a session freezes of its authority, and the facts about it that go with every request.
//!
//! The permissions are compiled when the session begins and stand in its first record. A request that claims to be
//! granted is looked up again: a claim can only make the answer stricter, never looser.

use super::{Driver, DriverError};
use crate::execution::{self, ExecutionError, SpentPermit};
use serde::{Deserialize, Serialize};
use tripwire_authority::identity::{Configuration, FrozenIdentity, critical};
use tripwire_authority::{self as authority, Need, Permissions, Surroundings, Who, needs};
use tripwire_core::chain::event::Action;
use tripwire_core::decision::SafetyDecision;
use tripwire_core::input::{Authority, Grant, Input, Permission, Request, What};
use tripwire_core::label::Label;
use tripwire_core::policy::{Policy, Switch};
use tripwire_journal::storage::Storage;
use tripwire_judge::reading::CallReading;
use tripwire_observe::{RawCall, nature};
use tripwire_workspace::geometry::layout::Layout;
use tripwire_workspace::geometry::manifest::Manifest;
use tripwire_workspace::geometry::wall_clock::WallClock;
use tripwire_workspace::policy_file::PolicyFileError;
use tripwire_workspace::session::SessionId;

/// Why something was not permitted.
#[derive(Debug, thiserror::Error)]
pub enum AskError {
    /// The engine said no.
    #[error("{}", .0.reason)]
    Refused(Box<SafetyDecision>),
    /// The engine could not be asked.
    #[error(transparent)]
    Driver(#[from] DriverError),
    /// The permit was for something else.
    #[error(transparent)]
    Execution(#[from] ExecutionError),
}

/// What a session froze of its authority.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Frozen {
    /// What the roles may do; a session without any denies every request.
    pub permissions: Option<Permissions>,
    /// Who the agent is.
    pub identity: Option<FrozenIdentity>,
}

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
    (layout, session): (&Layout, &SessionId),
    manifest: &Manifest,
    policy: &Policy,
    permissions: Permissions,
    own: Configuration,
) -> Result<Frozen, DriverError> {
    let mut parts = Configuration::observe(policy, &permissions, layout.workspace())?;
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
        workflow_binding: if binding.is_empty() { session.as_str() } else { binding }.to_owned(),
    };
    Ok(Frozen { permissions: Some(permissions), identity: Some(identity) })
}

/// Reads the manifest once more for what the policy does not carry.
pub(super) fn manifest(layout: &Layout) -> Result<Manifest, DriverError> {
    Ok(Manifest::load(&layout.manifest()).map_err(PolicyFileError::from)?)
}

impl Frozen {
    /// A request with its claims looked up in the table.
    pub(super) fn confirm(&self, input: Input) -> Input {
        let What::Request(Request { action, authority: Some(mut authority), floor, proposal, reserve_micro_usd }) =
            input.what
        else {
            return input;
        };
        let who = Who::role(authority.role.as_str());
        let found = match &self.permissions {
            Some(permissions) => permissions.grant(who, authority.permission, &resource(authority.permission, &action)),
            None => Grant::Denied,
        };
        if found == Grant::Denied {
            authority.grant = Grant::Denied;
        }
        Input {
            what: What::Request(Request { action, authority: Some(authority), floor, proposal, reserve_micro_usd }),
            ..input
        }
    }
}

/// What a permission is about in an action.
fn resource(permission: Permission, action: &Action) -> String {
    let target = action.target.as_ref().map(Label::as_str);
    match permission {
        Permission::CanExecuteTasks => action.tool.as_str().to_owned(),
        Permission::CanEditSource | Permission::Write | Permission::ContinueAfterConvergence => {
            target.unwrap_or(".").to_owned()
        }
        // A memory that nobody names is treated as a private one.
        Permission::CanAccessPrivateMemories | Permission::CanWriteMemories => target.unwrap_or("private").to_owned(),
        Permission::Reach | Permission::ControlTheGuard => target.unwrap_or_default().to_owned(),
    }
}

impl<S: Storage> Driver<S> {
    /// What the session froze of its authority.
    #[must_use]
    pub const fn frozen(&self) -> &Frozen {
        &self.kept.frozen
    }

    /// The role that requests are made in: this process's, else the session's.
    #[must_use]
    pub fn role(&self) -> &str {
        self.role.as_deref().unwrap_or(self.policy().identity.role.as_str())
    }

    /// Acts in another role than the session's from now on.
    #[must_use]
    pub fn acting_as(mut self, role: Option<String>) -> Self {
        self.role = role;
        self
    }

    /// The facts of authority for a call that somebody in a role is about to make: the fact that goes with a
    /// [`Request`]. `reading` is what the judge read in the call; paths are taken relative to the workspace.
    #[must_use]
    pub fn authority_for(
        &self,
        who: Who<'_>,
        call: &RawCall<'_>,
        reading: &CallReading,
        at: Surroundings<'_>,
    ) -> Authority {
        let root = at.root.to_string_lossy();
        let call = RawCall { workspace_root: call.workspace_root.or(Some(&root)), ..*call };
        let needs = needs(call.tool, &nature(&call), self.policy(), at);
        self.authority_of(who, &needs, critical::operation(call.tool, reading, self.policy()))
    }

    /// Asks for the right to do something that is no tool call: a memory, a confined command. It is journaled whatever
    /// the answer is, and the permit is spent on exactly this action.
    ///
    /// # Errors
    /// When the engine refuses, or cannot decide.
    pub fn ask(
        &mut self,
        who: Who<'_>,
        action: &Action,
        needs: &[Need],
        clock: impl FnOnce() -> WallClock,
    ) -> Result<SpentPermit, AskError> {
        let permissions = self.kept.frozen.permissions.as_ref();
        let authority = permissions.map(|permissions| permissions.authority(who, needs, None));
        let request =
            Request { action: action.clone(), authority, floor: None, proposal: None, reserve_micro_usd: None };
        let taken = self.take_now(What::Request(request), clock)?;
        let Some(permit) = taken.permit else { return Err(AskError::Refused(Box::new(taken.decision.safety))) };
        Ok(execution::spend(permit, action.exact())?)
    }

    /// The same for an action whose arguments nobody kept.
    #[must_use]
    pub fn authority_for_action(&self, who: Who<'_>, action: &Action, at: Surroundings<'_>) -> Authority {
        let tool = action.tool.as_str();
        let mut nature = nature(&RawCall { tool, ..RawCall::default() });
        nature.targets = action.target.iter().map(|target| target.as_str().to_owned()).collect();
        let needs = needs(tool, &nature, self.policy(), at);
        self.authority_of(who, &needs, critical::operation(tool, &CallReading::default(), self.policy()))
    }

    fn authority_of(&self, who: Who<'_>, needs: &[Need], critical: Option<&str>) -> Authority {
        let Frozen { permissions: Some(permissions), identity } = &self.kept.frozen else {
            let permission = Permission::CanExecuteTasks;
            return Authority { grant: Grant::Denied, identity: None, permission, role: Label::cut(who.role) };
        };
        let home = self.signing.as_ref().map(super::Signing::home);
        let fact = identity.as_ref().filter(|_| critical.is_some());
        let fact = fact.map(|identity| identity.fact(who.role, self.policy(), (&self.layout, home)));
        permissions.authority(who, needs, fact)
    }
}
