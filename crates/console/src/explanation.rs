//! What one decision rests on: the rule, its threshold, the inputs that prove it, the frozen policy, who acted. `why` and the page
//! tell it alike.

use crate::history::{self, Pair, Pairs, Parts};
use serde_json::json;
use serde_json::value::RawValue;
use std::collections::BTreeSet;
use tripwire_core::decision::Level;
use tripwire_core::input::{HumanAct, What};
use tripwire_core::policy::{Policy, SettingRow};
use tripwire_core::rules::{self, RuleEntry};
use tripwire_journal::Journal;
use tripwire_journal::storage::Disk;
use tripwire_session::driver::{DriverError, words};

impl<'a> Explanation<'a> {
    /// Gathers what a pair rests on.
    ///
    /// # Errors
    /// When the journal does not verify where it is read.
    pub fn gather(
        journal: &Journal<Disk>,
        pair: Pair,
        policy: &'a Policy,
        session: &'a str,
    ) -> Result<Self, DriverError> {
        let mut evidence = Vec::new();
        for number in evidence_of(&pair) {
            // Evidence of a decision is older than the decision, so it is there.
            evidence.extend(history::find(journal, number)?);
        }
        let hash = history::head(journal)?.policy_hash.to_string();
        Ok(Self { pair, evidence, hash, policy, session })
    }
}

/// The last decision of a session that warned the agent, sent it back or did not let it act. What was refused only because an earlier
/// decision still counts explains nothing, and is taken only where there is nothing else.
///
/// # Errors
/// When the journal does not verify.
pub fn last_alarm(journal: &Journal<Disk>) -> Result<Option<Pair>, DriverError> {
    let mut pairs = Pairs::new(journal);
    let (mut cause, mut followed, mut by_person) = (None, None, false);
    while let Some(pair) = pairs.next_pair()? {
        let Some(Parts { safety, findings, .. }) = pair.decision.as_ref().map(|decided| &decided.parts) else {
            continue;
        };
        let is_noticed = findings.iter().any(|finding| finding.level > Level::Note || finding.is_sent_back());
        if is_noticed || (!safety.allowed && (by_person || !safety.is_follow_up())) {
            (cause, by_person) = (Some(pair), false);
        } else if is_order(&pair.input.what) {
            // What is refused next follows from a person's word, and from no alarm before it.
            by_person = true;
        } else if !safety.allowed {
            followed = Some(pair);
        }
    }
    Ok(cause.or(followed))
}

/// Whether a person stops or pauses the session.
fn is_order(what: &What) -> bool {
    matches!(what, What::Human(act) if matches!(act.unsigned().0, HumanAct::Stop | HumanAct::Pause))
}

/// The inputs that prove a decision or one of its findings, oldest first.
fn evidence_of(pair: &Pair) -> BTreeSet<u64> {
    let Some(decided) = &pair.decision else { return BTreeSet::new() };
    let findings = decided.parts.findings.iter().flat_map(|finding| &finding.evidence);
    decided.parts.safety.evidence.iter().chain(findings).copied().filter(|number| *number != pair.number).collect()
}

/// A decision with everything that it rests on.
#[derive(Debug)]
pub struct Explanation<'a> {
    /// The input and the decision.
    pub pair: Pair,
    evidence: Vec<Pair>,
    hash: String,
    policy: &'a Policy,
    session: &'a str,
}

impl Explanation<'_> {
    /// Whether `tripwire tune` has something to offer: an alarm of a loop rule, or a wait of the minute.
    fn is_tunable(&self) -> bool {
        let Some(decided) = &self.pair.decision else { return false };
        let (safety, mut findings) = (&decided.parts.safety, decided.parts.findings.iter());
        let waits = !safety.allowed && safety.rule.starts_with("GATE-2");
        waits || findings.any(|found| found.level > Level::Note && found.rule.starts_with("LOOP-"))
    }

    /// The rules that spoke, the one that decided first.
    #[must_use]
    pub fn rules(&self) -> Vec<&str> {
        let Some(decided) = &self.pair.decision else { return Vec::new() };
        let mut rules = vec![decided.parts.safety.rule.as_str()];
        for finding in &decided.parts.findings {
            if !rules.contains(&finding.rule.as_str()) {
                rules.push(&finding.rule);
            }
        }
        rules
    }

    fn settings(&self, rule: &str) -> Vec<SettingRow> {
        rules::find(rule).map(|entry| in_force(entry, self.policy)).unwrap_or_default()
    }

    /// A person's act, if that is what was decided on.
    fn person(&self) -> Option<String> {
        let What::Human(act) = &self.pair.input.what else { return None };
        let (act, by) = act.unsigned();
        // Whatever has no words of its own is shown as it was journaled, also an act that is added later.
        let done = if let HumanAct::Other(said) | HumanAct::ChangeFiles(said) = act {
            said.to_string()
        } else {
            serde_json::to_string(act).unwrap_or_default()
        };
        Some(by.map_or(done.clone(), |by| format!("{done} {by}")))
    }

    /// The proofs, each with its number and in a few words.
    #[must_use]
    pub fn evidence_words(&self) -> Vec<(u64, String)> {
        self.evidence.iter().map(|proof| (proof.number, words::in_short(&proof.input.what))).collect()
    }

    /// For a person; the command that it advises gets these options, each with a space before it.
    #[must_use]
    pub fn in_words(&self, options: &str) -> Vec<String> {
        let pair = &self.pair;
        let mut lines = vec![
            format!("decision {} of {}, {}, journal record {}", pair.number, self.session, pair.wall, pair.record),
            format!("input      {}", words::in_short(&pair.input.what)),
        ];
        match &pair.decision {
            None => {
                lines.push("decision   none: a crash came first; the next process decided it in passing".to_owned())
            }
            Some(decided) => {
                let safety = &decided.parts.safety;
                let answer = match (safety.allowed, &safety.veto_reason, decided.parts.sent_back()) {
                    (true, _, None) => "allowed".to_owned(),
                    (true, _, Some(_)) => "sent back".to_owned(),
                    (false, Some(veto), _) => format!("refused, {veto}"),
                    (false, None, _) => "refused".to_owned(),
                };
                let (reason, rule) =
                    decided.parts.objection().unwrap_or((safety.reason.as_str(), safety.rule.as_str()));
                lines.push(format!("decision   {answer}: {reason} [{rule}]"));
                for finding in &decided.parts.findings {
                    let level = format!("{:?}", finding.level).to_lowercase();
                    lines.push(format!("finding    {level} {}: {} [{}]", finding.kind, finding.reason, finding.rule));
                }
                lines.push(format!("mode       {}", decided.parts.activity.mode));
            }
        }
        lines.extend(self.person().map(|act| format!("who        a person: {act}")));
        for rule in self.rules() {
            let Some(entry) = rules::find(rule) else { continue };
            lines.push(format!("rule       {rule}: {}; {}", entry.title, entry.threshold));
            lines.extend(self.settings(rule).iter().map(|row| format!("           {} = {}", row.path, row.shown())));
        }
        for proof in &self.evidence {
            lines.push(format!("evidence   {:>6}  {}", proof.number, words::in_short(&proof.input.what)));
        }
        lines.push(format!("policy     sha256:{}, frozen at the session's start", self.hash));
        if self.is_tunable() {
            lines.push(format!("next       `tripwire tune {}{options}` if it was a false alarm", self.pair.number));
        }
        lines
    }

    /// For programs.
    ///
    /// # Errors
    /// When a record is no JSON.
    pub fn as_json(&self) -> Result<serde_json::Value, DriverError> {
        let raw = |text: &str| RawValue::from_string(text.to_owned()).map_err(|error| bad_text(&error));
        let mut rules_read = Vec::new();
        for rule in self.rules() {
            let settings: serde_json::Map<String, serde_json::Value> = self
                .settings(rule)
                .into_iter()
                .map(|row| (row.path.to_owned(), row.in_force.unwrap_or(row.value).into()))
                .collect();
            let threshold = rules::find(rule).map(|entry| entry.threshold);
            rules_read.push(json!({"id": rule, "threshold": threshold, "settings": settings}));
        }
        let mut evidence = Vec::new();
        for proof in &self.evidence {
            evidence.push(json!({"i": proof.number, "record": proof.record, "input": raw(&proof.input_text)?}));
        }
        let decision = self.pair.decision.as_ref().map(|decided| raw(&decided.text)).transpose()?;
        let answer = json!({
            "session": self.session, "i": self.pair.number, "record": self.pair.record,
            "wall": self.pair.wall.to_string(), "input": raw(&self.pair.input_text)?, "decision": decision,
            "who": self.person(), "rules": rules_read, "evidence": evidence, "policyHash": self.hash,
        });
        Ok(answer)
    }
}

/// The settings that a rule reads, as they are in force.
#[must_use]
pub fn in_force(entry: &RuleEntry, policy: &Policy) -> Vec<SettingRow> {
    policy.rows().into_iter().filter(|row| entry.settings.contains(&row.path)).collect()
}

fn bad_text(error: &serde_json::Error) -> DriverError {
    DriverError::Record { index: 0, problem: error.to_string() }
}
