//! Past alarms, decided again: under the policy that a session froze, and under the same with one change.

use crate::error::Problem;
use crate::history::Pairs;
use std::collections::BTreeSet;
use tripwire_core::chain::Chain;
use tripwire_core::decision::{Decision, Level};
use tripwire_core::input::Input;
use tripwire_core::policy::Policy;
use tripwire_core::rules::Rule;

/// Something that stopped, held, warned or throttled the agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PastAlarm {
    /// The decision's number.
    pub(super) decision: u64,
    /// The rule.
    pub(super) rule: Rule,
    /// The action, as the rules know it.
    pub(super) signature: String,
    /// The tool, where the input says it.
    pub(super) tool: String,
    /// In one sentence.
    pub(super) reason: String,
}

/// What a change would do to the alarms of a session.
#[derive(Debug, Default)]
pub(super) struct Difference {
    /// Alarms that would not come any more.
    pub(super) gone: Vec<PastAlarm>,
    /// Alarms that stay.
    pub(super) stay: usize,
    /// Alarms that would come instead, because the session would have gone on.
    pub(super) new: usize,
}

/// The inputs of a journal, at most so many.
pub(super) fn inputs(mut pairs: Pairs<'_>, at_most: usize) -> Result<Vec<Input>, Problem> {
    let mut inputs = Vec::new();
    while inputs.len() < at_most
        && let Some(pair) = pairs.next_pair()?
    {
        inputs.push(pair.input);
    }
    Ok(inputs)
}

/// The alarms of a session under a policy; a policy that contradicts itself has none to show.
pub(super) fn alarms(inputs: &[Input], policy: &Policy) -> Option<Vec<PastAlarm>> {
    let mut chain = Chain::new(policy.clone()).ok()?;
    Some(inputs.iter().filter_map(|input| alarm(input, &chain.step(input).decision)).collect())
}

/// The refusal of one decision, whatever refused.
pub(super) fn refusal(inputs: &[Input], policy: &Policy, asked: u64) -> Option<(Rule, String)> {
    let mut chain = Chain::new(policy.clone()).ok()?;
    let upto = usize::try_from(asked).unwrap_or(usize::MAX).saturating_add(1).min(inputs.len());
    let decisions = inputs.get(..upto)?.iter().map(|input| chain.step(input).decision);
    let safety = decisions.last()?.safety;
    (!safety.allowed).then(|| (safety.rule, safety.reason.to_string()))
}

/// The alarm of a decision: the strictest finding above a note, or a mere wait. What is refused because the session is held
/// or over follows from an alarm and is none.
fn alarm(input: &Input, decision: &Decision) -> Option<PastAlarm> {
    let tool = input.what.action().map(|action| action.tool.to_string());
    let found = decision.findings.iter().filter(|finding| finding.level > Level::Note);
    let strictest = found.max_by_key(|finding| finding.level);
    let (rule, signature, reason) = match strictest {
        Some(finding) => (finding.rule, finding.signature.to_string(), finding.reason.to_string()),
        None if !decision.safety.allowed && decision.safety.error.is_none() => {
            (decision.safety.rule, String::new(), decision.safety.reason.to_string())
        }
        None => return None,
    };
    Some(PastAlarm { decision: decision.i.get(), rule, signature, tool: tool.unwrap_or_default(), reason })
}

/// What a change would do: both policies decide on the same inputs.
pub(super) fn difference(inputs: &[Input], frozen: &Policy, changed: &Policy) -> Difference {
    let (Some(before), Some(after)) = (alarms(inputs, frozen), alarms(inputs, changed)) else {
        return Difference::default();
    };
    let numbers = |alarms: &[PastAlarm]| alarms.iter().map(|alarm| alarm.decision).collect::<BTreeSet<_>>();
    let (old, left) = (numbers(&before), numbers(&after));
    let new = left.difference(&old).count();
    let (stay, gone): (Vec<_>, Vec<_>) = before.into_iter().partition(|alarm| left.contains(&alarm.decision));
    Difference { gone, stay: stay.len(), new }
}
