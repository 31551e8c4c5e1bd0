//! The verdict of all rules that look at a command line, as a door would ask them.

use crate::hooks::event::ToolCall;
use crate::protected::{self, ProtectedPaths};
use serde_json::json;
use tripwire_authority::identity::critical;
use tripwire_authority::{
    CommandRuling, Confinement, Need, Permissions, Surroundings, Who, command_needs, contexts, needs,
};
use tripwire_core::input::{FloorWeight, Grant, Permission};
use tripwire_core::policy::Policy;
use tripwire_core::rules::Rule;
use tripwire_judge::reading::{CallReading, Reading};
use tripwire_judge::{Answer, Facts, GuardRule, Judge, Verdict};
use tripwire_observe::{RawCall, nature};

/// The tool under which a command line would be asked for.
const TOOL: &str = "Bash";

/// Everything that is asked about a command line.
#[derive(Debug)]
pub struct Doors {
    /// The thresholds.
    pub policy: Policy,
    /// What the roles may do.
    pub permissions: Permissions,
    /// What is out of an agent's reach.
    pub protected: ProtectedPaths,
}

/// What all of them say together.
#[derive(Debug)]
pub struct DoorRuling {
    /// What would be done.
    pub act: DoorAct,
    /// The name of what was found: that of the guard's rule, or of a policy.
    pub name: &'static str,
    /// Why, in words for a person.
    pub reason: String,
    /// What else asks for something while decisions bind.
    pub notes: Vec<DoorNote>,
    /// What the guard against destructive commands says alone.
    pub verdict: Verdict,
}

/// A rule that asks for something which only a session can show.
#[derive(Debug)]
pub struct DoorNote {
    /// The rule.
    pub rule: Rule,
    /// What it asks for.
    pub text: String,
}

/// What would be done with a command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DoorAct {
    /// Nothing.
    Pass,
    /// It waits for a person.
    Hold(Rule),
    /// It is refused: no person is asked.
    Refuse(Rule),
}

impl Doors {
    /// Asks them all about one command line.
    #[must_use]
    pub fn judge(&self, facts: &Facts, command: &str) -> DoorRuling {
        let Reading { verdict, commands, extent } = Judge::new(facts.clone()).read(command);
        let reading = CallReading { floor: None, commands, extent };
        let input = json!({ "command": command });
        let call = ToolCall { name: TOOL.to_owned(), input: input.to_string(), call_id: None };
        let (act, name, reason) = if let Some(touched) = protected::touches(&self.protected, &call, &input, facts) {
            let reason = format!("it reaches for the guard itself: `{touched}`; that is a person's to do");
            (DoorAct::Refuse(Rule::Reach), "control-the-guard", reason)
        } else {
            self.by_policy(facts, &call, &reading, &verdict)
        };
        let critical = critical::operation(TOOL, &reading, &self.policy).map(|operation| DoorNote {
            rule: Rule::Identity,
            text: format!("while armed, `{operation}` needs an identity that a person vouched for"),
        });
        DoorRuling { act, name, reason, notes: critical.into_iter().collect(), verdict }
    }

    /// What the policies and the guard against destructive commands say.
    fn by_policy(
        &self,
        facts: &Facts,
        call: &ToolCall,
        reading: &CallReading,
        verdict: &Verdict,
    ) -> (DoorAct, &'static str, String) {
        let raw =
            RawCall { tool: TOOL, args: &call.input, workspace_root: facts.workspace.to_str(), ..RawCall::default() };
        let nature = nature(&raw);
        let at = Surroundings { root: &facts.workspace, confinement: Confinement::Open };
        let who = Who::role(self.policy.identity.role.as_str());
        let own = needs(TOOL, &nature, &self.policy, at);
        let named = command_needs(reading, &nature, at.root);
        let asked = |need: &&Need| need.permission != Permission::Reach;
        let denied = |need: &&Need| self.permissions.grant(who, need.permission, &need.resource) == Grant::Denied;
        if let Some(need) = own.iter().chain(named.iter().filter(asked)).find(denied) {
            let reason = format!("the role `{}` lacks `{}` for `{}`", who.role, need.permission.name(), need.resource);
            return (DoorAct::Refuse(Rule::Permission), "policy", reason);
        }
        let all: Vec<Need> = own.into_iter().chain(named).collect();
        match (self.permissions.ruling(who, &all, &contexts(reading, &nature, at.root)), verdict.verdict) {
            (CommandRuling::Forbidden(_), _) => (
                DoorAct::Refuse(Rule::Permission),
                "policy",
                "a policy of the workspace forbids this command".to_owned(),
            ),
            (_, Answer::Hold) => {
                let weight = verdict.rule.map_or(FloorWeight::Destroys, GuardRule::weight);
                (DoorAct::Hold(weight.rule()), verdict.rule.map_or("floor", GuardRule::name), verdict.reason.clone())
            }
            (CommandRuling::Ask(reason), Answer::Pass) => (DoorAct::Hold(Rule::Permission), "policy", reason),
            (CommandRuling::Silent, Answer::Pass) => (DoorAct::Pass, "", verdict.reason.clone()),
        }
    }
}
