//! Inputs in a few words, for people: the log, `why` and the frozen replay tell them alike.

use serde::Serialize;
use tripwire_core::input::{HumanAct, What};

/// An input in a few words, for people: what was called or done.
#[must_use]
pub fn in_short(what: &What) -> String {
    match what {
        What::Event(event) => match &event.action {
            Some(action) => format!("call {}", action.shown()),
            None => format!("event of {} tokens", event.token_count.get()),
        },
        What::Request(request) => format!("asks for {}", request.action.shown()),
        What::Result(result) => format!("result {}", json(result)),
        What::Tick => "time passed".to_owned(),
        What::Human(act) => match act.unsigned() {
            (HumanAct::Other(said), _) => format!("a person: {said}"),
            (HumanAct::ChangeFiles(said), None) => format!("a person: {said}"),
            (HumanAct::ChangeFiles(said), Some(by)) => format!("a person: {said} ({by})"),
            (HumanAct::Retune(set), None) => format!("a person: sets {} to {}", set.key, set.value),
            (HumanAct::Retune(set), Some(by)) => format!("a person: sets {} to {} ({by})", set.key, set.value),
            (act, None) => format!("a person: {}", json(act)),
            (act, Some(by)) => format!("a person: {} {by}", json(act)),
        },
        What::Advisor(reply) => format!("the advisor: {}", reply.advice),
        What::Review(review) => format!("a review: {}", json(review)),
        What::IterationStarted => "an iteration began".to_owned(),
        What::WorkspaceMeasured(_) => "the workspace was measured".to_owned(),
        What::ReportStands(report) => format!("a report of an earlier session stands: {}", json(report)),
        What::Claim(_) => "the agent says that it is done".to_owned(),
        What::Compacted(_) => "the context was compacted".to_owned(),
        What::Fault(fault) => format!("the guard broke: {}", fault.cause),
        What::PolicyDrift(drift) => format!("`{}` is `{}` on disk", drift.key, drift.value),
        What::ToolsSeen(seen) => format!("tool server `{}`: {}", seen.server, seen.detail),
        What::EngineSwitched(switch) => format!("`{}` goes on for `{}`: {}", switch.to, switch.from, switch.reason),
        What::SandboxHeld(held) => format!("the sandbox held ({}): {}", held.wall.name(), held.what),
        What::ModelSpend(spend) => {
            format!("a call of {}: {} tokens, {}", spend.model, spend.price().tokens, spend.micro_usd.in_dollars())
        }
    }
}

/// The JSON text of a small value; these types have none that JSON cannot hold.
fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).unwrap_or_default()
}
