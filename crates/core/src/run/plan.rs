//! The agent's plan: steps that it named itself, ticked off by the calls that were observed (TOOL-2).
//!
//! It binds nothing. A step counts as done when a call of its tool ended well and named its target; what the agent says of its
//! progress counts for nothing.

use crate::label::Label;
use crate::text::{Instruction, StepSummary, ToolName};
use crate::units::Count;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use serde::{Deserialize, Serialize};

/// A plan; empty without one.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// The steps in their order.
    pub steps: Vec<PlanStep>,
}

/// One step of a plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlanStep {
    /// Whether a call that fits it ended well.
    #[serde(default)]
    pub done: bool,
    /// What it is for, in the agent's words.
    pub purpose: StepSummary,
    /// What the call has to name: a file, a part of a command line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<Label>,
    /// The tool that does it.
    pub tool: ToolName,
}

impl Plan {
    /// Ticks off the first open step that a call of this tool with these arguments fits; gives its number, from 1.
    pub(super) fn tick(&mut self, tool: &ToolName, arguments: &str) -> Option<Count> {
        let names = |target: &Label| arguments.contains(target.as_str());
        let fits = |step: &PlanStep| !step.done && step.tool == *tool && step.target.as_ref().is_none_or(names);
        let at = self.steps.iter().position(fits)?;
        self.steps.get_mut(at)?.done = true;
        Some(Count::new(u32::try_from(at).ok()?.saturating_add(1)))
    }

    /// The plan as the model hears it again; nothing without one.
    pub(super) fn recited(&self) -> Option<Instruction> {
        if self.steps.is_empty() {
            return None;
        }
        let line = |step: &PlanStep| {
            let mark = if step.done { 'x' } else { ' ' };
            let target = step.target.as_ref().map_or_else(String::new, |target| format!(" {target}"));
            format!("[{mark}] {}{target}: {}", step.tool, step.purpose)
        };
        let lines: Vec<String> = self.steps.iter().map(line).collect();
        Some(format!("Your plan, as far as calls were observed:\n{}", lines.join("\n")).into())
    }
}
