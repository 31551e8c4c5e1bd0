//! `finish`: the agent says that it is done. Whether it is, the gate decides from what was observed.

use super::error::ToolError;
use super::tool::{Tool, ToolDone, Unfit, World};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tripwire_core::chain::gate::Permit;
use tripwire_core::input::Permission;
use tripwire_session::memory::MemoryStore;

pub(crate) struct Finish;

/// Arguments of `finish`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct FinishArguments {
    /// What was done, and how it was verified.
    summary: String,
}

/// Result of `finish`.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Claimed {
    /// What is claimed; the verdict comes from the gate.
    claimed: String,
}

impl Tool for Finish {
    const NAME: &'static str = "finish";
    const ABOUT: &'static str = "Say that the objective is reached, with a summary. Run the tests before: a claim that \
        nothing observed supports is sent back.";
    type Arguments = FinishArguments;
    type Result = Claimed;

    fn check(arguments: &FinishArguments) -> Result<(), Unfit> {
        if arguments.summary.trim().is_empty() {
            return Err(Unfit { path: "/summary", why: "say what was done".to_owned() });
        }
        Ok(())
    }

    fn needs(_: &FinishArguments, _: &MemoryStore) -> Vec<Permission> {
        vec![Permission::CanExecuteTasks]
    }

    fn run(permit: Permit, arguments: &FinishArguments, world: &mut World<'_>) -> Result<ToolDone<Claimed>, ToolError> {
        let spent = world.spend(permit)?;
        let observed = arguments.summary.clone();
        Ok(ToolDone::well(spent, Claimed { claimed: arguments.summary.clone() }, observed))
    }
}
