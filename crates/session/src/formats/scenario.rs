//! Scenarios: event streams that carry their own expectations. They run with `tripwire decide --check FILE`.

use serde::Deserialize;
use std::collections::BTreeMap;
use tripwire_core::decision::Decision;
use tripwire_core::effect::Effect;

/// The head of a scenario.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Header {
    /// In one sentence: what must happen, or must not.
    pub title: String,
    /// The rule it is about.
    pub rule: String,
    /// Whether the rule must fire or stay quiet.
    pub must: Must,
    /// The sentence of the requirement that it proves, if it is one.
    #[serde(default)]
    pub source: Option<String>,
    /// The profile, if it matters.
    #[serde(default)]
    pub profile: Option<String>,
    /// Settings that differ from the defaults.
    #[serde(default)]
    pub policy: BTreeMap<String, String>,
}

/// What a scenario shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Must {
    /// The rule fires.
    Fire,
    /// The rule stays quiet.
    StayQuiet,
}

/// What a line expects of its decision; what is not named is not checked.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Expect {
    /// Whether the gate allows it.
    pub allowed: Option<bool>,
    /// The veto, or `none`.
    pub veto: Option<String>,
    /// The reported mode.
    pub mode: Option<String>,
    /// The intent.
    pub intent: Option<String>,
    /// The rule that decided.
    pub rule: Option<String>,
    /// The strictest level among the findings, or `none`.
    pub level: Option<String>,
    /// Types of findings, exactly these in this order.
    pub findings: Option<Vec<String>>,
    /// Names of effects, exactly these in this order.
    pub effects: Option<Vec<String>>,
    /// A part of the reason.
    pub reason: Option<String>,
    /// Health, as printed.
    pub health: Option<String>,
    /// Tokens left in this minute.
    pub remaining_budget: Option<u64>,
    /// How long to wait.
    pub retry_after_ms: Option<u64>,
    /// Indices of the decision's evidence, or of the strictest finding's.
    pub evidence: Option<Vec<u64>>,
}

/// One expectation that was not met.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{what}` was expected to be {expected} and is {found}")]
pub struct Mismatch {
    /// Which one.
    pub what: &'static str,
    /// What the scenario says.
    pub expected: String,
    /// What the engine said.
    pub found: String,
}

impl Expect {
    /// Compares with a decision; gives everything that differs.
    #[must_use]
    pub fn check(&self, decision: &Decision) -> Vec<Mismatch> {
        let mut wrong = Vec::new();
        let mut compare = |what, expected: Option<String>, found: String| {
            if let Some(expected) = expected.filter(|expected| *expected != found) {
                wrong.push(Mismatch { what, expected, found });
            }
        };
        let safety = &decision.safety;
        let list = |names: &[String]| format!("[{}]", names.join(", "));
        compare("allowed", self.allowed.map(|allowed| allowed.to_string()), safety.allowed.to_string());
        compare("veto", self.veto.clone(), safety.veto_reason.map_or_else(|| "none".to_owned(), |veto| name(&veto)));
        compare("mode", self.mode.clone(), name(&decision.activity.mode));
        compare("intent", self.intent.clone(), name(&decision.intent.intent));
        compare("rule", self.rule.clone(), safety.rule.id().to_owned());
        compare("level", self.level.clone(), decision.level().map_or_else(|| "none".to_owned(), |level| name(&level)));
        let findings: Vec<String> = decision.findings.iter().map(|finding| name(&finding.kind)).collect();
        compare("findings", self.findings.as_deref().map(list), list(&findings));
        let effects: Vec<String> = decision.effects.iter().map(effect_name).collect();
        compare("effects", self.effects.as_deref().map(list), list(&effects));
        compare("health", self.health.clone(), safety.health.to_string());
        let budget = safety.remaining_budget.to_string();
        compare("remainingBudget", self.remaining_budget.map(|tokens| tokens.to_string()), budget);
        let retry = safety.retry_after_ms.map_or_else(|| "none".to_owned(), |wait| wait.to_string());
        compare("retryAfterMs", self.retry_after_ms.map(|wait| wait.to_string()), retry);
        compare("evidence", self.evidence.as_ref().map(|indices| format!("{indices:?}")), evidence(decision));
        if let Some(part) = self.reason.as_ref().filter(|part| !safety.reason.contains(part.as_str())) {
            let expected = format!("a text with `{part}`");
            wrong.push(Mismatch { what: "reason", expected, found: safety.reason.to_string() });
        }
        wrong
    }
}

fn evidence(decision: &Decision) -> String {
    let strictest = decision.findings.iter().max_by_key(|finding| finding.level).map(|finding| &finding.evidence);
    let proof = strictest.unwrap_or(&decision.safety.evidence);
    let indices: Vec<u64> = proof.indices().iter().map(|index| index.get()).collect();
    format!("{indices:?}")
}

/// The JSON name of one of our enums' values.
fn name(value: &impl serde::Serialize) -> String {
    serde_json::to_value(value).ok().and_then(|value| value.as_str().map(str::to_owned)).unwrap_or_default()
}

/// The JSON name of an effect, without what it carries.
#[must_use]
pub fn effect_name(effect: &Effect) -> String {
    match serde_json::to_value(effect) {
        Ok(serde_json::Value::String(name)) => name,
        Ok(serde_json::Value::Object(fields)) => fields.keys().next().cloned().unwrap_or_default(),
        Ok(_) | Err(_) => String::new(),
    }
}
