//! An input with its decision as one line of a log, for the page and the report.

use crate::filter::{self, Verdict};
use crate::history::Pair;
use serde_json::{Value, json};
use tripwire_core::chain::event::{Action, AgentEvent};
use tripwire_core::input::What;
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
        "kind": filter::kind_of_input(&pair.input_text), "text": cut(&in_short(what)),
        "agent": filter::agent_of(what), "tool": action.map(|action| action.tool.as_str()),
        "verdict": Verdict::of(pair).map(Verdict::name),
    });
    if let What::Event(event) = what {
        of_event(event, &mut row);
    }
    if let Some(decided) = &pair.decision {
        let safety = &decided.parts.safety;
        row["health"] = json!(safety.health);
        if !safety.allowed {
            row["reason"] = json!(cut(&safety.reason));
            row["rule"] = json!(safety.rule);
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

/// What happened: the call as it was made, where it is known.
fn in_short(what: &What) -> String {
    match what.action().map(Action::named) {
        Some(words) if !words.is_empty() => words.to_owned(),
        Some(_) | None => words::in_short(what),
    }
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(TEXT_CHARS) {
        Some((at, _)) => format!("{}…", text.get(..at).unwrap_or_default()),
        None => text.to_owned(),
    }
}
