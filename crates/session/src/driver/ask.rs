//! Asking for the right to do something: the facts of authority that go with a request, and requests without a tool call.

use super::Driver;
use super::error::AskError;
use super::sign::Signing;
use crate::body::Frozen;
use crate::execution::{self, SpentPermit};
use tripwire_authority::identity::critical;
use tripwire_authority::{CommandRuling, Need, Surroundings, Who, command_needs, contexts, needs};
use tripwire_core::chain::event::Action;
use tripwire_core::input::{Authority, Grant, Permission, Request, What};
use tripwire_core::label::Label;
use tripwire_core::policy::Approve;
use tripwire_journal::storage::Storage;
use tripwire_judge::reading::CallReading;
use tripwire_observe::{RawCall, nature};
use tripwire_workspace::geometry::wall_clock::WallClock;

impl<S: Storage> Driver<S> {
    /// What the session froze of its authority.
    #[must_use]
    pub const fn frozen(&self) -> &Frozen {
        &self.state.frozen
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

    /// The facts of authority for a call that is about to be made in a role: the fact that goes with a
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
        let nature = nature(&call);
        let own = needs(call.tool, &nature, self.policy(), at);
        let named = command_needs(reading, &nature, at.root);
        let read = named.iter().filter(|need| need.permission == Permission::Read).cloned();
        let needs: Vec<Need> = read.chain(own).collect();
        let mut authority = self.authority_of(who, &needs, critical::operation(call.tool, reading, self.policy()));
        if let CommandRuling::Forbidden(permission) = self.ruling(who, &call, reading, at) {
            (authority.grant, authority.permission) = (Grant::Denied, permission);
        }
        authority
    }

    /// What the policies about command lines say to a call: whether it is forbidden, or a person is to be asked.
    #[must_use]
    pub fn ruling(
        &self,
        who: Who<'_>,
        call: &RawCall<'_>,
        reading: &CallReading,
        at: Surroundings<'_>,
    ) -> CommandRuling {
        let Some(permissions) = &self.state.frozen.permissions else { return CommandRuling::Silent };
        if !permissions.has_command_rules() {
            return self.asks_first(call.tool);
        }
        let nature = nature(call);
        let own = needs(call.tool, &nature, self.policy(), at);
        let needs: Vec<Need> = own.into_iter().chain(command_needs(reading, &nature, at.root)).collect();
        match permissions.ruling(who, &needs, &contexts(reading, &nature, at.root)) {
            CommandRuling::Silent => self.asks_first(call.tool),
            ruling @ (CommandRuling::Ask(_) | CommandRuling::Forbidden(_)) => ruling,
        }
    }

    /// Whether the limits of a tool want a person asked about each call (TOOL-3).
    fn asks_first(&self, tool: &str) -> CommandRuling {
        match self.policy().tools.limits.of(tool) {
            Some((_, limit)) if limit.approve == Approve::Always => {
                CommandRuling::Ask(format!("each call of `{}` waits for a person (tools: approve)", limit.tool))
            }
            Some(_) | None => CommandRuling::Silent,
        }
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
        let permissions = self.state.frozen.permissions.as_ref();
        let authority = permissions.map(|permissions| permissions.authority(who, needs, None));
        let request = Request {
            action: action.clone(),
            authority,
            floor: None,
            proposal: None,
            reserve_micro_usd: None,
            agent_id: None,
            starts_agent: None,
            running: None,
        };
        let taken = self.take_now(What::Request(request), clock)?;
        let Some(permit) = taken.permit else { return Err(AskError::Refused(Box::new(taken.decision.safety))) };
        Ok(execution::spend(permit, action.exact())?)
    }

    /// The same for an action whose arguments were not kept.
    #[must_use]
    pub fn authority_for_action(&self, who: Who<'_>, action: &Action, at: Surroundings<'_>) -> Authority {
        let tool = action.tool.as_str();
        let mut nature = nature(&RawCall { tool, ..RawCall::default() });
        nature.targets = action.target.iter().map(|target| target.as_str().to_owned()).collect();
        let needs = needs(tool, &nature, self.policy(), at);
        self.authority_of(who, &needs, critical::operation(tool, &CallReading::default(), self.policy()))
    }

    fn authority_of(&self, who: Who<'_>, needs: &[Need], critical: Option<&str>) -> Authority {
        let Frozen { permissions: Some(permissions), identity } = &self.state.frozen else {
            let permission = Permission::CanExecuteTasks;
            return Authority { grant: Grant::Denied, identity: None, permission, role: Label::cut(who.role) };
        };
        let home = self.signing.as_ref().map(Signing::home);
        let fact = identity.as_ref().filter(|_| critical.is_some());
        let fact = fact.map(|identity| identity.fact(who.role, self.policy(), &self.layout, home));
        permissions.authority(who, needs, fact)
    }
}
