//! Step 5 of the chain: the execution adapter. It is mechanical: it carries out what a permit allows, and nothing else.
//!
//! There is no implementation here that runs anything unconfined, and there will be none: `sandboxed` is the one that
//! runs commands, and tools that act inside this process spend their permit first.

pub mod sandboxed;

use std::borrow::Cow;
use std::time::Duration;
use tripwire_core::chain::feedback::ExecutionResult;
use tripwire_core::chain::gate::Permit;
use tripwire_core::explain::{ExitClass, Explain};
use tripwire_core::label::Fingerprint;

/// Something that can be carried out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Work {
    /// The action that it is, as the request named it; a permit for another action is refused.
    pub action: Fingerprint,
    /// The program and its arguments.
    pub command: Vec<String>,
    /// How long it may take at most, from the start of the first layer.
    pub time_limit: Duration,
}

/// What carrying it out gave: the result for the gate, what was written, and the permit, used up.
#[derive(Debug)]
pub struct Executed {
    /// The result that goes back to the gate.
    pub result: ExecutionResult,
    /// The permit, handed back. It cannot be used again, because nothing takes it.
    pub spent: SpentPermit,
    /// What the command wrote to its standard output.
    pub stdout: Stream,
    /// What it wrote to its standard error.
    pub stderr: Stream,
    /// How it ended.
    pub end: CommandEnd,
    /// What it planted for other programs to trip over, and what was done with it.
    pub planted: Vec<String>,
}

/// One captured stream: its first bytes within the cap, and how many there were.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Stream {
    /// The bytes that were kept.
    pub bytes: Vec<u8>,
    /// The bytes that were written.
    pub total: u64,
}

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommandEnd {
    /// By itself, with this code.
    Exited(i32),
    /// By a signal.
    Signaled(i32),
    /// Its time was over.
    TimedOut,
    /// A person or the session ended it.
    Interrupted,
    /// It spent the named budget.
    OverBudget(&'static str),
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
    /// The time was over, or it was ended, before the command began: nothing ran.
    #[error("not run: the sandbox did not start within {limit_ms} ms")]
    NotStarted {
        /// How long it could have taken.
        limit_ms: u128,
    },
    /// The command began and was ended, and the sandbox never said how: what it did is not known.
    #[error("the command began and the sandbox did not come back; look at the workspace before going on")]
    EndUnknown,
    /// The request itself makes no sense: nothing ran.
    #[error("not run: {problem}")]
    Unusable {
        /// What is wrong with it.
        problem: String,
    },
}

impl Explain for ExecutionError {
    fn hint(&self) -> Cow<'_, str> {
        Cow::Borrowed("this is a defect of tripwire; please report it")
    }

    fn exit_class(&self) -> ExitClass {
        ExitClass::Internal
    }
}

/// Carries out permitted work in confinement.
pub trait Executor {
    /// Carries out the work. The permit is consumed whatever happens.
    ///
    /// # Errors
    /// When nothing ran (the permit was for another action, or the confinement is not complete), and, told apart, when
    /// what ran is not known.
    fn execute(&mut self, permit: Permit, work: &Work) -> Result<Executed, ExecutionError>;
}

/// Checks that a permit is for this action and uses it up.
///
/// # Errors
/// When it is for another action.
pub fn spend(permit: Permit, action: Fingerprint) -> Result<SpentPermit, ExecutionError> {
    if permit.action() != action {
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
            agent_id: None,
            starts_agent: None,
            running: None,
        };
        let input = Input { at: RunMillis::ZERO, what: What::Request(request) };
        Chain::new(Policy::default()).unwrap().step(&input).permit.unwrap()
    }

    #[test]
    fn chain_4_a_permit_is_spent_on_its_own_action_and_refused_for_another() {
        let action = |tool| Action { tool: Label::cut(tool), ..Action::default() };
        assert!(spend(permit(&action("ls")), action("ls").exact()).is_ok());
        assert!(matches!(spend(permit(&action("rm")), action("ls").exact()), Err(ExecutionError::OtherAction { .. })));
    }
}
