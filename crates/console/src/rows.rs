//! An input with its decision as one line of a log, for the page and the report.

use crate::filter::{self, Verdict};
use crate::history::Pair;
use serde_json::{Value, json};
use tripwire_core::chain::event::{Action, AgentEvent};
use tripwire_core::input::{HumanAct, What};
use tripwire_session::driver::words;

/// Letters of a line; the whole text is in the decision.
const TEXT_CHARS: usize = 300;

/// One line.
#[must_use]
pub fn row(pair: &Pair) -> Value {
    let what = &pair.input.what;
    let action = what.action();
    let mut row = json!({
        "i": pair.number, "record": pair.record, "wall": pair.wall.epoch_ms(), "at": pair.input.at,
        "kind": filter::kind_of_input(&pair.input_text), "text": cut(&in_short(pair)),
        "agent": filter::agent_of(what), "tool": action.map(|action| action.tool.as_str()),
        "verdict": Verdict::of(pair).map(Verdict::name),
    });
    if let What::Event(event) = what {
        of_event(event, &mut row);
    }
    if let Some(decided) = &pair.decision {
        let safety = &decided.parts.safety;
        row["health"] = json!(safety.health);
        let against = match (safety.allowed, decided.parts.sent_back()) {
            (false, _) => Some((&safety.reason, &safety.rule)),
            (true, Some(missing)) => Some((&missing.reason, &missing.rule)),
            (true, None) => None,
        };
        if let Some((reason, rule)) = against {
            row["reason"] = json!(cut(reason));
            row["rule"] = json!(rule);
        }
        let findings = decided.parts.findings.iter().map(|finding| {
            json!({"level": finding.level, "kind": finding.kind, "rule": finding.rule, "reason": cut(&finding.reason)})
        });
        row["findings"] = findings.collect();
    }
    row
}

fn of_event(event: &AgentEvent, row: &mut Value) {
    if event.outcome.is_some() {
        row["status"] = json!(if event.failed() { "error" } else { "ok" });
    }
    row["ms"] = json!(event.latency_ms);
    row["micro_usd"] = json!(event.cost_micro_usd);
    row["error"] = json!(event.error_text.as_ref().map(|text| cut(text.as_str())));
}

/// What happened: the call as it was made, where it is known; a person's act with what came of it.
fn in_short(pair: &Pair) -> String {
    let what = &pair.input.what;
    if let What::Human(act) = what {
        let findings = pair.decision.as_ref().map(|decided| decided.parts.findings.as_slice()).unwrap_or_default();
        let came_of_it = findings.iter().find(|finding| finding.kind == MANUAL_OVERRIDE);
        return of_person(act, came_of_it.map(|finding| finding.reason.as_str()));
    }
    match what.action().map(Action::named) {
        Some(words) if !words.is_empty() => words.to_owned(),
        Some(_) | None => words::in_short(what),
    }
}

/// The name of the finding that says what came of a person's act.
const MANUAL_OVERRIDE: &str = "MANUAL_OVERRIDE";

/// A person's act in the words of what came of it: an answer that came too late had no effect.
pub(crate) fn of_person(act: &HumanAct, came_of_it: Option<&str>) -> String {
    let Some(said) = came_of_it else { return words::in_short(&What::Human(act.clone())) };
    match act.unsigned().0 {
        HumanAct::AllowOnce(code) | HumanAct::Deny(code) => format!("`{code}`: {said}"),
        HumanAct::Retune(set) => format!("`{}` to {}: {said}", set.key, set.value),
        HumanAct::RaiseBudget(by) => format!("by {}: {said}", by.in_dollars()),
        HumanAct::Stop
        | HumanAct::Pause
        | HumanAct::WithdrawStop
        | HumanAct::Resume
        | HumanAct::Restart
        | HumanAct::Acknowledge(_)
        | HumanAct::SetCounter(_)
        | HumanAct::SetDirtyBits(_)
        | HumanAct::MendGuard
        | HumanAct::Prompt
        | HumanAct::Signed(_)
        | HumanAct::ChangeFiles(_)
        | HumanAct::Other(_)
        | HumanAct::SetMode(_) => said.to_owned(),
    }
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(TEXT_CHARS) {
        Some((at, _)) => format!("{}…", text.get(..at).unwrap_or_default()),
        None => text.to_owned(),
    }
}
