//! `plan`: the agent writes its steps down. They are checked, kept, shown, and ticked off by the calls that are observed.

use super::error::ToolError;
use super::tool::{Tool, ToolDone, Unfit, World};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tripwire_core::chain::gate::Permit;
use tripwire_core::input::Permission;
use tripwire_core::label::Label;
use tripwire_core::run::plan::{Plan, PlanStep};
use tripwire_session::memory::MemoryStore;

/// Most steps of one plan.
const STEPS_MAX: usize = 32;
/// The tools that a step may name: those that do something.
const TOOLS: [&str; 8] = ["edit", "list", "read_file", "recall", "remember", "search", "shell", "write"];

pub(crate) struct WritePlan;

/// Arguments of `plan`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PlanArguments {
    /// The steps in the order in which you mean to do them, at most 32.
    steps: Vec<PlannedStep>,
}

/// One step.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PlannedStep {
    /// The tool that does it.
    tool: String,
    /// What the call will name, such as a path or a part of the command; leave it out if any call of the tool does it.
    #[serde(default)]
    target: Option<String>,
    /// What it is for, in one line.
    purpose: String,
}

/// Result of `plan`.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Planned {
    /// How many steps are written down.
    steps: u64,
}

impl Tool for WritePlan {
    const NAME: &'static str = "plan";
    const ABOUT: &'static str = "Write down the steps of your plan. Each is ticked off when a call of its tool that names its \
        target ended well. A new plan takes the place of the one before.";
    type Arguments = PlanArguments;
    type Result = Planned;

    fn check(arguments: &PlanArguments) -> Result<(), Unfit> {
        let unfit = |why: String| Err(Unfit { path: "/steps", why });
        if arguments.steps.is_empty() || arguments.steps.len() > STEPS_MAX {
            return unfit(format!("a plan has 1 to {STEPS_MAX} steps"));
        }
        for (at, step) in arguments.steps.iter().enumerate() {
            if !TOOLS.contains(&step.tool.as_str()) {
                return unfit(format!("step {}: `{}` is none of the tools {}", at + 1, step.tool, TOOLS.join(", ")));
            }
            if step.purpose.trim().is_empty() {
                return unfit(format!("step {}: say what it is for", at + 1));
            }
        }
        Ok(())
    }

    fn needs(_: &PlanArguments, _: &MemoryStore) -> Vec<Permission> {
        vec![Permission::CanExecuteTasks]
    }

    fn run(permit: Permit, arguments: &PlanArguments, world: &mut World<'_>) -> Result<ToolDone<Planned>, ToolError> {
        let spent = world.spend(permit)?;
        let steps = u64::try_from(arguments.steps.len()).unwrap_or(u64::MAX);
        Ok(ToolDone::well(spent, Planned { steps }, format!("{steps} steps")))
    }
}

/// The plan that a call of `plan` writes down; nothing for arguments that are none.
#[must_use]
pub fn plan_of(arguments: &str) -> Option<Plan> {
    let PlanArguments { steps } = serde_json::from_str(arguments).ok()?;
    let step = |PlannedStep { tool, target, purpose }: PlannedStep| PlanStep {
        done: false,
        purpose: purpose.trim().into(),
        target: target.as_deref().map(str::trim).filter(|target| !target.is_empty()).map(Label::cut),
        tool: tool.as_str().into(),
    };
    Some(Plan { steps: steps.into_iter().map(step).collect() })
}
