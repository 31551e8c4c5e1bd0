//! An input with its decision as one line of a log, for the page and the report.

use crate::filter::{self, Verdict};
use crate::history::Pair;
use serde_json::{Value, json};
use tripwire_core::chain::event::{Action, AgentEvent};
use tripwire_core::input::{Counter, DirtyBitsEdit, HumanAct, Mode, What};
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
        if let Some((reason, rule)) = decided.parts.objection() {
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
        let effect = findings.iter().find(|finding| finding.kind == MANUAL_OVERRIDE);
        return of_person(act, effect.map(|finding| finding.reason.as_str()));
    }
    match what.action().map(Action::named) {
        Some(words) if !words.is_empty() => words.into_owned(),
        Some(_) | None => words::in_short(what),
    }
}

/// The name of the finding that says what came of a person's act.
const MANUAL_OVERRIDE: &str = "MANUAL_OVERRIDE";

/// A person's act with what came of it: an answer that came too late had no effect.
pub(crate) fn of_person(act: &HumanAct, effect: Option<&str>) -> String {
    let Some(effect) = effect else { return words::in_short(&What::Human(act.clone())) };
    match act.unsigned().0 {
        HumanAct::AllowOnce(code) | HumanAct::Deny(code) => format!("`{code}`: {effect}"),
        HumanAct::Retune(set) => format!("`{}` to {}: {effect}", set.key, set.value),
        HumanAct::RaiseBudget(by) => format!("by {}: {effect}", by.in_dollars()),
        HumanAct::SetCounter(edit) => {
            let counter = match edit.counter {
                Counter::Iterations => "iteration_count",
                Counter::ConsecutiveFailures => "consecutive_failures",
            };
            format!("`safety.{counter}` to {}: {effect}", edit.value)
        }
        HumanAct::SetDirtyBits(edit) => format!("{}: {effect}", bits_set(*edit)),
        HumanAct::SetMode(Mode::Armed) => format!("armed: {effect}"),
        HumanAct::SetMode(Mode::Observe) => format!("observe: {effect}"),
        HumanAct::Stop
        | HumanAct::Pause
        | HumanAct::WithdrawStop
        | HumanAct::Resume
        | HumanAct::Restart
        | HumanAct::Acknowledge(_)
        | HumanAct::MendGuard
        | HumanAct::Prompt
        | HumanAct::Signed(_)
        | HumanAct::ChangeFiles(_)
        | HumanAct::Other(_) => effect.to_owned(),
    }
}

/// The dirty bits that an edit names, with their values.
fn bits_set(edit: DirtyBitsEdit) -> String {
    let DirtyBitsEdit { code_modified, docs_updated, tests_passing, tests_run } = edit;
    let bits = [
        ("code_modified", code_modified),
        ("docs_updated", docs_updated),
        ("tests_passing", tests_passing),
        ("tests_run", tests_run),
    ];
    let set = bits.into_iter().filter_map(|(name, value)| value.map(|value| format!("`dirty_bits.{name}` to {value}")));
    set.collect::<Vec<_>>().join(", ")
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(TEXT_CHARS) {
        Some((at, _)) => format!("{}…", text.get(..at).unwrap_or_default()),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tripwire_core::input::CounterEdit;
    use tripwire_core::label::Label;
    use tripwire_core::units::Count;

    #[test]
    fn a_persons_act_says_what_was_set_and_what_came_of_it() {
        let said = |act: HumanAct| of_person(&act.signed("ada", ""), Some("it was done"));
        let counter = CounterEdit { counter: Counter::Iterations, value: Count::new(7) };
        let bits = DirtyBitsEdit { tests_run: Some(true), docs_updated: Some(false), ..DirtyBitsEdit::default() };
        for (act, words) in [
            (HumanAct::AllowOnce(Label::cut("K7Q2-9F")), "`K7Q2-9F`: it was done"),
            (HumanAct::SetCounter(counter), "`safety.iteration_count` to 7: it was done"),
            (
                HumanAct::SetDirtyBits(bits),
                "`dirty_bits.docs_updated` to false, `dirty_bits.tests_run` to true: it was done",
            ),
            (HumanAct::SetMode(Mode::Observe), "observe: it was done"),
            (HumanAct::SetMode(Mode::Armed), "armed: it was done"),
            (HumanAct::Pause, "it was done"),
        ] {
            assert_eq!(said(act), words);
        }
        assert_eq!(of_person(&HumanAct::Pause, None), "a person: \"pause\"", "nothing is known to have come of it");
    }
}
