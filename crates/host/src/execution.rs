//! Step 5 of the chain: the execution adapter. It is mechanical: it carries out what a permit allows, and nothing else.
//!
//! There is no implementation here that runs anything unconfined, and there will be none: the sandbox implements this.

use std::time::Duration;
use tripwire_core::chain::feedback::ExecutionResult;
use tripwire_core::chain::gate::Permit;
use tripwire_core::label::Fingerprint;

/// Something that can be carried out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Work {
    /// The action that it is, as the request named it; a permit for another action is refused.
    pub action: Fingerprint,
    /// The program and its arguments.
    pub command: Vec<String>,
    /// How long it may take at most.
    pub time_limit: Duration,
}

/// What carrying it out gave: the result for the gate, what was written, and the permit, used up.
#[derive(Debug)]
pub struct Executed {
    /// The result that goes back to the gate.
    pub result: ExecutionResult,
    /// The permit, handed back. It cannot be used again, because nothing takes it.
    pub spent: SpentPermit,
    /// What the command wrote to its standard output, within the cap.
    pub stdout: Vec<u8>,
    /// What it wrote to its standard error, within the cap.
    pub stderr: Vec<u8>,
    /// Its exit code, if it ended by itself.
    pub exit_code: Option<i32>,
}

/// A permit that was used.
#[derive(Debug)]
pub struct SpentPermit(Permit);

impl SpentPermit {
    /// The permit that was used, for the record.
    pub const fn permit(&self) -> &Permit {
        &self.0
    }
}

/// Why work was not carried out.
#[derive(Debug, thiserror::Error)]
pub enum ExecutionError {
    /// The permit is for another action.
    #[error("the permit of request {request} is for another action")]
    OtherAction {
        /// The request that the permit answers.
        request: u64,
    },
    /// A layer of the sandbox is missing: nothing ran.
    #[error("not run: the layer `{layer}` is missing: {reason}; see `tripwire doctor sandbox`")]
    LayerMissing {
        /// The layer.
        layer: String,
        /// Why.
        reason: String,
    },
}

/// Carries out permitted work in confinement.
pub trait Executor {
    /// Carries out the work. The permit is consumed whatever happens.
    ///
    /// # Errors
    /// When nothing ran: the permit was for another action, or the confinement is not complete.
    fn execute(&mut self, permit: Permit, work: &Work) -> Result<Executed, ExecutionError>;
}

/// Checks that a permit is for this work and uses it up.
///
/// # Errors
/// When it is for another action.
pub fn spend(permit: Permit, work: &Work) -> Result<SpentPermit, ExecutionError> {
    if permit.action() != work.action {
        return Err(ExecutionError::OtherAction { request: permit.request().get() });
    }
    Ok(SpentPermit(permit))
}

#[cfg(test)]
mod tests {
    use super::*;
    use tripwire_core::chain::Chain;
    use tripwire_core::chain::event::Action;
    use tripwire_core::input::{Authority, Grant, Input, Permission, Request, What};
    use tripwire_core::label::Label;
    use tripwire_core::policy::Policy;
    use tripwire_core::units::RunMillis;

    fn permit(action: &Action) -> Permit {
        let authority = Authority {
            grant: Grant::Granted,
            identity: None,
            permission: Permission::CanExecuteTasks,
            role: Label::cut("developer"),
        };
        let request = Request {
            action: action.clone(),
            authority: Some(authority),
            floor: None,
            proposal: None,
            reserve_micro_usd: None,
        };
        let input = Input { at: RunMillis::ZERO, what: What::Request(request) };
        Chain::new(Policy::default()).unwrap().step(&input).permit.unwrap()
    }

    #[test]
    fn chain_4_a_permit_is_spent_on_its_own_action_and_refused_for_another() {
        let action = |tool| Action { tool: Label::cut(tool), ..Action::default() };
        let work = Work { action: action("ls").exact(), command: Vec::new(), time_limit: Duration::from_secs(1) };
        assert!(spend(permit(&action("ls")), &work).is_ok());
        assert!(matches!(spend(permit(&action("rm")), &work), Err(ExecutionError::OtherAction { .. })));
    }
}
